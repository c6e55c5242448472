# SPDX-License-Identifier: GPL-2.0-or-later
"""What names of a large C++ program take: its debug information is made here, some 200 MB of it."""

import json
import os
import shutil
import subprocess
import time
from statistics import median

from figures import say

# Units with long names and much that is never asked for; units with many functions.
HEAVY, LIGHT, QUICK_HEAVY, QUICK_LIGHT = 16, 32, 1, 2
HEAVY_PARTS, LIGHT_PARTS = 155, 250
EU_ADDRESSES, EU_QUICK_ADDRESSES = 20000, 200  # it takes milliseconds for each
BUDGET_SECONDS, CACHED_BUDGET_SECONDS = 3.0, 1.0  # on a machine that has other work too
NO_CACHE, CACHED = "report, nothing kept", "report, names kept"

HEAVY_HEADERS = ("functional", "map", "string", "unordered_map", "vector")
HEAVY_MEMBERS = """	std::map<std::string, std::vector<Part>> parts;
	std::function<int(int)> call;
	std::unordered_map<int, std::string> names;
"""


def unit(number, headers, members, parts):
    return "".join(f"#include <{header}>\n" for header in ("cstdlib", *headers)) + f"""
namespace unit{number} {{
template <int N> struct Part {{
{members}	__attribute__((noinline)) void *make(unsigned n)
	{{
		void *made = std::malloc(n);
		static_cast<char *>(made)[0] = 1;
		return made;
	}}
}};
template <int N> __attribute__((noinline)) void make_all(unsigned n)
{{
	if constexpr (N > 0)
		make_all<N - 1>(n);
	static Part<N> part;
	if (!part.make(n))
		std::abort();
}}
}}
void make{number}(unsigned n)
{{
	unit{number}::make_all<{parts - 1}>(n);
}}
"""


def build(bench):
    heavy, light = (QUICK_HEAVY, QUICK_LIGHT) if bench.options.quick else (HEAVY, LIGHT)
    folder = os.path.join(bench.scratch, "symbols")
    os.makedirs(folder)
    units = [unit(i, HEAVY_HEADERS, HEAVY_MEMBERS, HEAVY_PARTS) for i in range(heavy)]
    units += [unit(heavy + i, (), "", LIGHT_PARTS) for i in range(light)]
    units.append("".join(f"void make{i}(unsigned);\n" for i in range(heavy + light)) + "int main()\n{\n"
                 + "".join(f"\tmake{i}(16);\n" for i in range(heavy + light)) + "}\n")
    for number, text in enumerate(units):
        with open(os.path.join(folder, f"u{number}.cc"), "w", encoding="utf-8") as file:
            file.write(text)
    objects = " ".join(f"u{i}.o" for i in range(len(units)))
    with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as file:
        file.write(f"large: {objects}\n\tg++ -o $@ {objects}\n"
                   "%.o: %.cc\n\tg++ -g -O0 -ftemplate-depth=2000 -c $<\n")
    subprocess.run(["make", "-s", "-j2", "-C", folder, "large"], check=True)
    return os.path.join(folder, "large")


def seconds(command, stdin=None):
    began = time.monotonic()
    subprocess.run(command, check=True, input=stdin, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def heapwise_seconds(command, *, known, forgotten=None):
    """What a report takes with names that are kept, or none; `forgotten`: a file that is not in memory."""
    if not known:
        shutil.rmtree(os.environ["HEAPWISE_SYMBOL_CACHE"], ignore_errors=True)
    if forgotten:
        forget(forgotten)
    return seconds(command)


def forget(path):
    """Drops what the kernel keeps of a file."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def addresses_of(heapwise, recording, program):
    out = subprocess.run([heapwise, "report", "--json", "--view", "sites", recording], check=True,
                         capture_output=True).stdout
    return sorted({frame["offset"] for site in json.loads(out)["sites"] for frame in site["stack"]
                   if frame["module"] == program})


def symbols(bench, heapwise):
    """Rows of figures, medians of the rounds."""
    program = build(bench)
    recording = os.path.join(bench.scratch, "symbols.hpw")
    subprocess.run([heapwise, "run", "-q", "-f", "-o", recording, "--", program], check=True)
    addresses = addresses_of(heapwise, recording, program)
    nowhere = os.path.join(bench.scratch, "nowhere")
    os.makedirs(nowhere)
    report = [heapwise, "report", "--view", "functions", "--limit", "100000", recording]
    rows = []

    def add(what, count, took, runs=bench.options.runs):
        rows.append({"what": what, "addresses": count, "seconds": median(took() for _ in range(runs))})

    def add_report(what, count=len(addresses), more=(), **how):
        add(what, count, lambda: heapwise_seconds([*report, *more], **how))

    add_report(f"{NO_CACHE}, program not in memory", known=False, forgotten=program)
    add_report(NO_CACHE, known=False)
    add_report(CACHED, known=True)
    add_report(f"{CACHED}, program not in memory", known=True, forgotten=program)
    add_report("--no-symbol-cache", more=["--no-symbol-cache"], known=True)
    add_report("report without names", 0, ["--sysroot", nowhere], known=True)
    text = "\n".join(addresses).encode() + b"\n"
    llvm = ["llvm-symbolizer-14", "-e", program]
    if not shutil.which(llvm[0]):
        say(f"skipped: {llvm[0]} is not there")
    else:
        add(f"{llvm[0]}, program not in memory", len(addresses), lambda: (forget(program), seconds(llvm, text))[1])
        add(llvm[0], len(addresses), lambda: seconds(llvm, text))
    if not shutil.which("eu-addr2line"):
        say("skipped: eu-addr2line is not there")
    else:
        asked = addresses[: EU_QUICK_ADDRESSES if bench.options.quick else EU_ADDRESSES]
        text = "\n".join(asked).encode() + b"\n"
        add("eu-addr2line, once", len(asked),
            lambda: seconds(["eu-addr2line", "-f", "-i", "-C", "-e", program], text), 1)
    return {"program_mb": os.path.getsize(program) >> 20, "rows": rows}


def print_symbols(found):
    print(f"symbols: names of a program of {found['program_mb']} MB")
    budgets = {NO_CACHE: BUDGET_SECONDS, CACHED: CACHED_BUDGET_SECONDS}
    for row in found["rows"]:
        print(f"  {row['addresses']:>9,} addresses  {row['what']:<44} {row['seconds']:7.3f} s")
        if row["seconds"] > budgets.get(row["what"], float("inf")):
            print(f"  over budget: {budgets[row['what']]} s")
    print(flush=True)
