#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Suppressions go both ways between Valgrind and recordings: stacks have the same names in both.

The program makes the C library keep blocks of its own, by stacks through libc, the loader and the
program (tests/unit/samples/library_blocks.c).
"""

import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

UNIT = hw.BUILD / "tests/unit"
SITES = UNIT / "suppressed_sites"
# Without the changed environment: Valgrind replaces setenv() by a function of its own.
WAYS = "dlopen stdio unwinder newlocale locale iconv time users hosts".split()
C = [UNIT / "library_blocks", UNIT / "library_blocks_tls.so", *WAYS]
CXX = [UNIT / "inlined_blocks"]
FIGURES = ("definitely lost", "indirectly lost", "possibly lost", "still reachable")

TESTS = hw.Tests()


def valgrind(program, *options):
    if not shutil.which("valgrind"):
        raise hw.Skip("no Valgrind here (./dev deps --peers installs it)")
    return hw.run(["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=24",
                   "--default-suppressions=no", "--run-cxx-freeres=no", *options, *program])


def left(ended, name):
    """Bytes and blocks of a line of the leak summary."""
    found = re.search(rf"{name}: ([\d,]+) bytes in ([\d,]+) blocks", ended.errors)
    hw.need(found or "All heap blocks were freed" in ended.errors, ended.errors)
    return tuple(int(word.replace(",", "")) for word in found.groups()) if found else (0, 0)


def sites(recording, *suppressions):
    """{name of suppression: [bytes, blocks]}, with what is not suppressed under `-`; the entries."""
    ended = hw.run([SITES, recording, *suppressions])
    hw.need(ended.status == 0, str(ended))
    found = {}
    for line in re.findall(r"^(\S+) (\d+) (\d+)$", ended.text, re.MULTILINE):
        sums = found.setdefault(line[0], [0, 0])
        sums[0] += int(line[2])
        sums[1] += int(line[1])
    entries = re.findall(r"^\{\n.*?^\}\n", ended.text, re.MULTILINE | re.DOTALL)
    return found, "".join(entries)


def record(program, folder):
    ended = hw.record(program, folder / "x.hpw")
    hw.need(ended.status == 0, str(ended))
    return folder / "x.hpw"


def entries_of(text):
    """What --gen-suppressions wrote, for leaks of each kind."""
    found = re.findall(r"^\{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL)
    return re.sub("match-leak-kinds: .*", "match-leak-kinds: all", "".join(found))


def leaks(ended):
    """The end of Valgrind's output."""
    return ended.errors[-4000:]


@TESTS.test
def built_in(folder):
    """Without the libraries' own blocks a recording has the figures of Valgrind, which frees them."""
    # It leaves the loader's books of libraries that are still loaded.
    books = folder / "books.supp"
    books.write_text("{\nbooks\nMemcheck:Leak\nfun:*alloc\nobj:*/ld-linux*.so.?\n...\nfun:_dl_catch_exception\n}\n")
    freed = valgrind(C, "--run-libc-freeres=yes", f"--suppressions={books}")
    wanted = [sum(column) for column in zip(*(left(freed, name) for name in FIGURES))]
    found, entries = sites(record(C, folder))
    hw.need(found.pop("-", [0, 0]) == wanted, f"{wanted} in Valgrind; not suppressed here:\n{entries}")
    hw.need(len(found) > 15, f"only these entries were needed: {found}")


def to_valgrind(program, folder):
    (folder / "none.supp").write_text("# none\n")
    found, entries = sites(record(program, folder), folder / "none.supp")
    (folder / "all.supp").write_text(entries_of(entries))
    ended = valgrind(program, "--run-libc-freeres=no", f"--suppressions={folder}/all.supp")
    rest = [left(ended, name) for name in FIGURES]
    hw.need(rest == [(0, 0)] * 4, leaks(ended))
    hw.need(list(left(ended, "suppressed")) == found["-"], f"{found['-']} here, there: {leaks(ended)}")


def from_valgrind(program, folder):
    ended = valgrind(program, "--run-libc-freeres=no", "--gen-suppressions=all")
    entries = entries_of(ended.errors)
    hw.need(entries.count("Memcheck:Leak") >= 10, ended.errors)
    (folder / "all.supp").write_text(entries)
    found, missed = sites(record(program, folder), folder / "all.supp")
    hw.need("-" not in found and found, f"not suppressed:\n{missed}")


for name, program in (("the libraries' stacks", C), ("inlined C++", CXX)):
    TESTS.add(f"what is written for the stacks of a recording suppresses all of them in Valgrind: {name}",
              lambda folder, program=program: to_valgrind(program, folder))
    TESTS.add(f"what Valgrind writes for its stacks suppresses all of them in a recording: {name}",
              lambda folder, program=program: from_valgrind(program, folder))

if __name__ == "__main__":
    TESTS.main()
