#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded stacks, address by address, against those of libgcc and libunwind for the same allocations.

What is known to differ, each found by looking at the code in question:
- libunwind goes on behind the return address that makecontext puts at a coroutine's end, by whatever is
  in rbp. libgcc and the recorder end there.
- libgcc ends at code without unwind information (node's and java's own). libunwind and the recorder go on
  by frame pointers; the recorder says so. Where such code has none, libunwind shows one frame of nonsense.
"""

import os
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

LIBRARY = hw.LIBRARIES / "libsecond_opinion.so"
COMPARE = hw.BUILD / "tests/unit/compare_stacks"

SQL = (
    "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 9000) "
    "insert into t select x, hex(x) from c; create index i on t(b); select b, count(*) from t group by b "
    "order by length(b), b desc limit 3; select sum(a) from t where b like '%3%'; vacuum;"
)
PERL = (
    "my %h; for (1..20000) { $h{$_ % 977} .= join(',', map { sprintf '%x', $_ } 1..3); "
    "$h{x} =~ s/(\\d+),/<$1>/g if $_ % 100 == 0 } print sort { $a <=> $b } map { length } values %h"
)
PYTHON = (
    "import collections, decimal, json, re\n"
    "d = [{'a': i, 'b': str(i) * 5, 'c': [decimal.Decimal(i) / 7]} for i in range(3000)]\n"
    "print(len(json.dumps(d, default=str)), len(re.sub(r'(\\d)\\1', r'\\1', str(d))))\n"
    "def deep(n): return [n, deep(n - 1)] if n else []\n"
    "print(len(str(deep(300))), collections.Counter(str(d)).most_common(2))\n"
)


def compiler_proper(driver, source):
    """The program that a compiler's driver starts for a source, and its arguments."""
    hw.need_program(driver)
    asked = subprocess.run(
        [driver, "-###", "-O2", "-D_GNU_SOURCE", f"-I{hw.SOURCE}/src", f"-I{hw.SOURCE}/tests/targets", "-c", source, "-o", os.devnull],
        stderr=subprocess.PIPE, check=True, text=True).stderr
    line = next((line for line in asked.splitlines() if "cc1" in line.split()[0]), None)
    hw.need(line, f"{driver} -### names no compiler")
    words = [word.strip('"') for word in line.split()]
    return words[: words.index("-o")] + ["-o", os.devnull]


JAVASCRIPT = (
    "const zlib = require('zlib');"
    "function deep(n) { return n ? deep(n - 1) : zlib.deflateSync(Buffer.from('x'.repeat(1000))).length }"
    "let s = 0; for (let i = 0; i < 3000; i++) { s += deep(i % 20);"
    " JSON.parse(JSON.stringify({a: [i, i + 1], b: 'y' + i})); } console.log(s);"
)


def xml(folder):
    """A document with what parsers allocate for: attributes, entities, namespaces, comments."""
    rows = (f'<a:i n="{i}"><v>{"x" * (i % 50)}&amp;</v><!--c--></a:i>' for i in range(3000))
    path = folder / "big.xml"
    path.write_text(f'<r xmlns:a="urn:a">{"".join(rows)}</r>')
    return path


def blob(folder):
    """Three megabytes for compressors."""
    path = folder / "blob"
    path.write_bytes(b"".join(struct.pack("<IQ", i, i * i % 977) for i in range(250000)))
    return path


# Name: (one allocation in so many, program and arguments for a folder).
PROGRAMS = {
    "bash": (1, lambda f: ["bash", "-c", "for i in {1..50}; do x[$i]=$(echo $i | tr 1 2); done; echo ${x[@]}"]),
    "cc1 (C)": (20, lambda f: compiler_proper("gcc", hw.SOURCE / "src/base/json.c")),
    "cc1plus (C++)": (50, lambda f: compiler_proper("g++", hw.SOURCE / "tests/targets/calls/containers.cc")),
    "clang (LLVM)": (20, lambda f: ["clang", "-c", "-O2", "-D_GNU_SOURCE", f"-I{hw.SOURCE}/src",
                                    hw.SOURCE / "src/base/json.c", "-o", os.devnull]),
    "git": (1, lambda f: ["git", "-c", "safe.directory=*", "grep", "--no-index", "-c", "-E", "(alloc|free)[a-z]*", hw.SOURCE / "src"]),
    "java, if installed": (1, lambda f: ["java", "-Xint", "-XX:-UsePerfData", "-version"]),
    "jq": (1, lambda f: ["jq", "-n", "[range(2000)] | map({(tostring): (. * 7 | @text)}) | add | length"]),
    "node, if installed": (10, lambda f: ["node", "-e", JAVASCRIPT]),
    "perl": (5, lambda f: ["perl", "-e", PERL]),
    "python3": (1, lambda f: [sys.executable, "-c", PYTHON]),
    "sort, two threads": (1, lambda f: ["sort", "--parallel=2", blob(f)]),
    "sqlite3": (2, lambda f: ["sqlite3", ":memory:", SQL]),
    "xmllint": (5, lambda f: ["xmllint", "--xpath", "count(//v[string-length(.) > 20])", xml(f)]),
    "xz, two threads": (1, lambda f: ["xz", "-T2", "-0", "-c", blob(f)]),
}

# Where the truth of a target is hard to unwind.
TARGETS = (
    "called_in_turn cold_part containers coroutines deep deep_cut exceptions frame_large frames_variable "
    "libc_callers siglongjmp signal_at_start signal_handler single_step stack_overflow static_objects std_thread "
    "tail_calls threads_200 threads_small"
).split()
VARIANTS = "O0 O2 clang Os cet hardened gold gaps stripped".split()


def take(arguments, every, folder):
    """Records a program with the other unwinders beside; gives the paths of recording and opinions."""
    program = Path(hw.need_program(os.fspath(arguments[0]))).resolve()
    recording, opinions = folder / "stacks.hpw", folder / "opinions"
    opinions.write_bytes(b"")
    environment = hw.clean_environment(
        LD_PRELOAD=LIBRARY, OPINION_FILE=opinions, OPINION_EVERY=every, OPINION_PROGRAM=program)
    # Of Python's objects the interpreter's frames are recorded.
    recorded = hw.record([program, *arguments[1:]], recording, env=environment, options=("-q", "--no-pyobjects"))
    hw.need(recorded.status == 0, f"{program.name}: {recorded}")
    return recording, opinions


def check_program(arguments, every, folder):
    compared = hw.run([COMPARE, *take(arguments, every, folder)])
    hw.need(compared.status == 0, hw.shorten(compared.text, 6000))
    return f"{Path(arguments[0]).name}: {compared.text.strip().splitlines()[-1]}"


def check_judge(folder):
    """One stack in 500 with one frame changed, one frame less or no allocation to it is too much"""
    recording, opinions = take([hw.TARGETS / "libc_callers-O2"], 1, folder)
    hw.need(hw.run([COMPARE, recording, opinions]).status == 0, "the true stacks are refused")
    words = list(struct.unpack(f"<{opinions.stat().st_size // 8}Q", opinions.read_bytes()))
    records, at = [], 0
    while at < len(words):
        head = words[at : at + 4]
        end = at + 4 + head[2] + head[3]
        records.append((head, words[at + 4 : at + 4 + head[2]], words[at + 4 + head[2] : end]))
        at = end

    def other_frame(head, unwind, gcc):
        return head, [unwind[0] + 1, *unwind[1:]], [gcc[0] + 1, *gcc[1:]]

    def one_less(head, unwind, gcc):
        return [head[0], head[1], head[2] - 1, head[3] - 1], unwind[:-1], gcc[:-1]

    def interrupted(head, unwind, gcc):
        return head, [unwind[0] | 1 << 63, *unwind[1:]], [gcc[0] | 1 << 63, *gcc[1:]]

    def unknown(head, unwind, gcc):
        return [head[0], 1 << 40, *head[2:]], unwind, gcc

    for change in (other_frame, one_less, interrupted, unknown):
        changed = [change(*r) if n % 500 == 0 else r for n, r in enumerate(records)]
        flat = [word for head, unwind, gcc in changed for word in (*head, *unwind, *gcc)]
        opinions.write_bytes(struct.pack(f"<{len(flat)}Q", *flat))
        hw.need(hw.run([COMPARE, recording, opinions]).status == 1, f"{change.__name__}: accepted")


def main():
    tests = hw.Tests()
    tests.add("the comparison refuses stacks that differ", check_judge)
    for name, (every, arguments) in PROGRAMS.items():
        tests.add(name, lambda f, e=every, a=arguments: check_program(a(f), e, f))
    for name in (f"{target}-{variant}" for target in TARGETS for variant in VARIANTS):
        if (hw.TARGETS / name).exists():
            tests.add(name, lambda f, n=name: check_program([hw.TARGETS / n], 1, f))
    tests.main(sanitized_part=3)


if __name__ == "__main__":
    main()
