# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs to look for memory errors: `heapwise check` beside memcheck and AddressSanitizer."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from statistics import median

from figures import say

TOOLS = ("heapwise check", "heapwise check --full", "heapwise check --uninit", "memcheck", "ASan")
ONCE = ("heapwise check --uninit", "memcheck")  # one round is enough for an order of magnitude
MOST_CPU = {"heapwise check": 1.3, "heapwise check --full": 15.0}
MOST_MEMORY, MORE_MEMORY_KB = 2.0, 64 << 10  # of heapwise check, beside the native figure
NO_ALLOCATION_MOST = 1.02  # CPU where nothing is allocated

PYTHON = """import json, re, sys
rows = [{"id": i, "name": "n%d" % (i * 7919 % 1000), "tags": ["a%d" % (i % 7), "b"]} for i in range(int(sys.argv[1]))]
for _ in range(4):
    back = json.loads(json.dumps(rows))
found = sum(len(re.findall(r"[0-9]+", row["name"])) for row in back)
print(len(back), found)
"""
BUSY = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	unsigned long sum = 1, n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	for (unsigned long i = 0; i < n; i++)
		sum = sum * 6364136223846793005ul + (sum >> 17 ^ i);
	printf("%lu\\n", sum);
	return 0;
}
"""


@dataclass
class Checked:
    """A program to check. source: it can be built with AddressSanitizer, too."""

    name: str
    command: str
    source: str = ""
    full: str = "1"  # what {size} becomes
    quick: str = "1"
    full_budget: float = 0  # CPU, of --full; 0: none
    uninit: bool = False  # run with --uninit, too, which runs it some 20 times


PROGRAMS = [
    Checked("sqlite3", "sqlite3 :memory: '.read {in}/people.sql'", full_budget=15.0, uninit=True),
    Checked("jq", "jq -c '.[] | select(.age > 30) | {id, name: (.name | ascii_upcase)}' {in}/people.json"),
    Checked("python3", "python3 {scratch}/check.py {size}", full="100000", quick="20000"),
    Checked("containers", "{bin}/containers 4 {size}", "containers.cc", quick="1 200000"),
    Checked("no allocation", "{scratch}/busy {size}", "busy.c", full="300000000", quick="60000000"),
]


def build(bench, name, source, flags):
    """A C or C++ program, built here. None: the compiler is not there, or can't."""
    compiler = "c++" if source.endswith(".cc") else "cc"
    if not shutil.which(compiler):
        return None
    out = os.path.join(bench.scratch, name)
    done = subprocess.run([compiler, "-O2", "-g", *flags, "-pthread", "-o", out, source], check=False,
                          capture_output=True)
    return out if done.returncode == 0 else None


def prepare(bench):
    with open(os.path.join(bench.scratch, "check.py"), "w", encoding="ascii") as f:
        f.write(PYTHON)
    with open(os.path.join(bench.scratch, "busy.c"), "w", encoding="ascii") as f:
        f.write(BUSY)
    build(bench, "busy", os.path.join(bench.scratch, "busy.c"), [])


def under(bench, heapwise, tool, program, target):
    """The command under that tool, and its environment; None: it can't be run so."""
    if tool == "native":
        return target, {}
    if tool.startswith("heapwise check"):
        options = tool.split()[2:]
        if "--uninit" in options and not program.uninit:
            return None
        return [heapwise, "check", "-q", *options, "--", *target], {}
    if tool == "memcheck":
        return (["valgrind", "-q", "--leak-check=no", *target], {}) if shutil.which("valgrind") else None
    source = program.source and next(
        (path for folder in (bench.scratch, os.path.join(os.path.dirname(__file__), "workloads"))
         if os.path.exists(path := os.path.join(folder, program.source))), None)
    built = source and build(bench, "asan-" + program.name.replace(" ", "-"), source, ["-fsanitize=address"])
    return ([built, *target[1:]], {"ASAN_OPTIONS": "detect_leaks=0"}) if built else None


def one_run(bench, command, environment):
    result = os.path.join(bench.scratch, "result")
    with open(os.path.join(bench.scratch, "stderr"), "wb") as stderr:
        process = subprocess.Popen(
            [os.path.join(bench.bin, "timed"), result, *command], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=stderr, cwd=bench.scratch, env={**os.environ, **environment})
        output = process.stdout.read()
    return bench.finish(process, result), output


def rounds(bench, heapwise, program, target):
    """By tool: the runs, in turns; a tool that fails is left out, and that is said."""
    commands = {tool: under(bench, heapwise, tool, program, target) for tool in ("native", *TOOLS)}
    runs = {tool: [] for tool, command in commands.items() if command}
    expected = None
    for number in range(bench.options.runs + 1):
        for tool in list(runs):
            if tool in ONCE and number > 1:
                continue
            run, output = one_run(bench, *commands[tool])
            expected = output if expected is None else expected
            if output != expected:
                raise ValueError(f"{program.name} under {tool}: the output differs from the native run's")
            if number:
                runs[tool].append(run)
    return runs


def row_of(program, tool, runs):
    native = runs["native"]
    pairs = list(zip(runs[tool], native))
    return {
        "program": program.name, "tool": tool,
        "wall_x": median(a["wall_ns"] / b["wall_ns"] for a, b in pairs),
        "cpu_x": median(a["cpu_ns"] / b["cpu_ns"] for a, b in pairs),
        "best_x": min(a["cpu_ns"] for a in runs[tool]) / min(b["cpu_ns"] for b in native),
        "rss_kb": max(a["peak_rss_kb"] for a in runs[tool]),
        "native_rss_kb": max(b["peak_rss_kb"] for b in native),
        "native_s": min(b["wall_ns"] for b in native) / 1e9,
        "budget": budget_of(program, tool),
    }


def budget_of(program, tool):
    if tool == "heapwise check":
        return NO_ALLOCATION_MOST if program.name == "no allocation" else MOST_CPU[tool]
    return program.full_budget or None if tool == "heapwise check --full" else None


def check(bench, heapwise):
    """Rows of figures, medians of ratios to the native run of the same round."""
    rows = []
    size = "quick" if bench.options.quick else "full"
    prepare(bench)
    for program in PROGRAMS:
        target = [word.replace("{scratch}", bench.scratch) for word in bench.command(program, size)]
        if not shutil.which(target[0]):
            say(f"skipped: {program.name} is not there")
            continue
        runs = rounds(bench, heapwise, program, target)
        rows += [row_of(program, tool, runs) for tool in runs if tool != "native" and runs[tool]]
    return rows


def over_budget(row):
    over = []
    if row["budget"] and row["best_x"] > row["budget"]:
        over.append(f"{row['budget']} of CPU")
    most = row["native_rss_kb"] * MOST_MEMORY + MORE_MEMORY_KB
    if row["tool"] == "heapwise check" and row["rss_kb"] > most:
        over.append(f"{most // 1024:.0f} MB")
    return over


def print_check(rows):
    print(f"check: looking for memory errors; ratios to native runs of the same round; {', '.join(ONCE)}: one run")
    print(f"  {'program':<14} {'tool':<23} {'wall x':>7} {'cpu x':>7} {'best x':>7} {'RSS MB':>7} {'native':>7}")
    for row in rows:
        print(f"  {row['program']:<14} {row['tool']:<23} {row['wall_x']:7.2f} {row['cpu_x']:7.2f} {row['best_x']:7.2f}"
              f" {row['rss_kb'] / 1024:7.0f} {row['native_rss_kb'] / 1024:7.0f}")
        for over in over_budget(row):
            print(f"  over budget: {over}")
    print(flush=True)
