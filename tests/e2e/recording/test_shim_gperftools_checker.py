#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs made for gperftools' HeapLeakChecker, beside the real one: the same answers and figures in all modes of HEAPCHECK."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
CHECKED = hw.TARGETS / "heap_checked"
REAL = [path for where in ("/usr/lib/x86_64-linux-gnu", "/usr/local/lib") for path in Path(where).glob("libtcmalloc.so.4")]
NONE = re.compile(r'No leaks found for check "(\w+)" \(but no 100% guarantee that there aren\'t any\): found \d+ reachable heap objects of \d+ bytes$')
SOME = re.compile(r"Leak check (\w+) detected leaks of (\d+) bytes in (\d+) objects$")


def said(ended):
    """What was said of each check but that of the end, in order: its name, and the leaks, or 0 and 0."""
    lines = [(SOME.match(line) or NONE.match(line)) for line in ended.errors.splitlines()]
    return [(one[1], *map(int, one.groups()[1:] or (0, 0))) for one in lines if one and one[1] != "_main_"]


def ours(folder, stories, **variables):
    return hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "a.hpw", "--as=gperftools", "--", CHECKED, *stories],
                  env=hw.clean_environment(**variables), cwd=folder)


def theirs(folder, stories, **variables):
    """The same with the real library; None: it is not here."""
    if not REAL:
        print("# libtcmalloc.so.4 is not here: not compared with it")
        return None
    env = hw.clean_environment(LD_PRELOAD=REAL[0], HEAP_CHECK_DUMP_DIRECTORY=str(folder), **variables)
    return hw.run([CHECKED, *stories], env=env, cwd=folder)


def compare(folder, stories, wanted, status, **variables):
    """Runs both; `wanted` are the lines on standard output after the first. Returns ours."""
    ended = ours(folder, stories, **variables)
    lines = ended.text.splitlines()
    hw.need(lines[1:] == wanted and ended.status == status, f"{stories} {variables}: {ended}")
    real = theirs(folder, stories, **variables)
    if real:
        hw.need(real.text == ended.text and real.status == status, f"{stories} {variables}: {ended}, really {real}")
        hw.need(said(real) == said(ended), f"{stories} {variables}: {said(ended)} {ended}, really {said(real)}")
    return ended


CHECKS_SEEN = ["kept 1 0 0", "lost 0 666 2", "older 1 0 0", "chain 0 129 2", "thread 0 999 1", "outer 0 2016 6"]


@TESTS.test
def checks(folder):
    """Each check finds what was allocated since it began and is lost, in any thread, and nothing older"""
    ended = compare(folder, ["checks"], CHECKS_SEEN, 0, HEAPCHECK="local")
    hw.need(said(ended) == [(name, int(size), int(count)) for name, _, size, count in map(str.split, CHECKS_SEEN)], str(ended))


@TESTS.test
def modes(folder):
    """What holds blocks depends on the mode, and with as-is and local on variables"""
    for variables, kept, stack in (
            ({"HEAPCHECK": "minimal"}, "kept 1 0 0", "stack 1 0 0"),
            ({"HEAPCHECK": "normal"}, "kept 1 0 0", "stack 1 0 0"),
            ({"HEAPCHECK": "strict", "HEAP_CHECK_IGNORE_GLOBAL_LIVE": "0"}, "kept 1 0 0", "stack 1 0 0"),
            ({"HEAPCHECK": "draconian"}, "kept 0 600 1", "stack 0 650 1"),
            ({"HEAPCHECK": "local", "HEAP_CHECK_IGNORE_GLOBAL_LIVE": "0"}, "kept 0 600 1", "stack 0 650 1"),
            ({"HEAPCHECK": "local", "HEAP_CHECK_IGNORE_THREAD_LIVE": "0"}, "kept 1 0 0", "stack 1 0 0")):
        compare(folder, ["kept", "stack"], [kept, stack], int(variables["HEAPCHECK"] == "draconian"), **variables)
    # Of another thread: with glibc 2.34 and later the real one takes its stack for global data.
    ended = ours(folder, ["other"], HEAPCHECK="local", HEAP_CHECK_IGNORE_THREAD_LIVE="0")
    hw.need(ended.text.splitlines()[1:] == ["stack 0 650 1"], str(ended))
    ended = hw.run([hw.HEAPWISE, "leaks", folder / "a.hpw"])
    hw.need("As HEAPCHECK wants it, references from registers and other threads' stacks did not count." in ended.text, str(ended))


@TESTS.test
def pointers(folder):
    """Pointers far into a block hold nothing, unless a variable says so; unaligned ones likewise"""
    local = {"HEAPCHECK": "local"}
    compare(folder, ["offset", "unaligned"], ["offset 0 9000 1", "unaligned 0 777 1"], 0, **local)
    compare(folder, ["offset"], ["offset 1 0 0"], 0, HEAP_CHECK_MAX_POINTER_OFFSET="-1", **local)
    compare(folder, ["offset"], ["offset 1 0 0"], 0, HEAP_CHECK_MAX_POINTER_OFFSET="4000", **local)
    compare(folder, ["unaligned"], ["unaligned 1 0 0"], 0, HEAP_CHECK_POINTER_SOURCE_ALIGNMENT="1", **local)


@TESTS.test
def whole(folder):
    """NoGlobalLeaks() searches all, as the end does; CancelGlobalCheck() leaves that out"""
    ended = compare(folder, ["global"], ["_main_ 0 111 1"], 1, HEAPCHECK="normal")
    hw.need(ended.errors.count("Leak check _main_ detected leaks of 111 bytes in 1 objects\n") == 2, str(ended))
    ended = compare(folder, ["global", "cancel"], ["_main_ 0 111 1"], 0, HEAPCHECK="normal")
    hw.need("Canceling the automatic at-exit whole-program memory leak check\n" in ended.errors, str(ended))
    compare(folder, ["global"], ["_main_ 1"], 0, HEAPCHECK="local")


@TESTS.test
def ignored(folder):
    """IgnoreObject() keeps a block until UnIgnoreObject(); cleanups run before the end's search"""
    compare(folder, ["ignored"], ["ignored 1 0 0", "unignored 0 501 1"], 0, HEAPCHECK="local")
    # The real one counts what libraries keep, too.
    ended = ours(folder, ["cleanup"], HEAPCHECK="draconian")
    hw.need(not ended.status and 'No leaks found for check "_main_"' in ended.errors, str(ended))


@TESTS.test
def inactive(folder):
    """Without HEAPCHECK checks do nothing, which is said; wrong use aborts"""
    ended = compare(folder, ["kept", "global"], ["kept 1 -1 -1", "_main_ 1"], 0)
    hw.need('Heap checker is not active, hence checker "kept" will do nothing!\n' in ended.errors, str(ended))
    for story, words in (("unused", "Some *NoLeaks|SameHeap method must be called on any created HeapLeakChecker"),
                         ("early", "*NoLeaks|SameHeap must execute before this call")):
        ended = compare(folder, [story], [], -6, HEAPCHECK="local")
        hw.need(words in ended.errors, str(ended))


@TESTS.test
def variables(folder):
    """Variables without a meaning here are named"""
    ended = ours(folder, ["kept"], HEAPCHECK="local", HEAP_CHECK_IDENTIFY_LEAKS="1", HEAP_CHECK_POINTER_SOURCE_ALIGNMENT="3")
    hw.need("HEAP_CHECK_IDENTIFY_LEAKS counts for nothing here" in ended.errors, str(ended))
    hw.need("HEAP_CHECK_POINTER_SOURCE_ALIGNMENT=3 counts for nothing here" in ended.errors, str(ended))
    ended = ours(folder, ["unaligned"], HEAPCHECK="local", HEAP_CHECK_TEST_POINTER_ALIGNMENT="1", HEAP_CHECK_IDENTIFY_LEAKS="0")
    hw.need("HEAP_CHECK_TEST_POINTER_ALIGNMENT counts for nothing here" in ended.errors, str(ended))
    hw.need("run again with HEAP_CHECK_POINTER_SOURCE_ALIGNMENT=1" in ended.errors, str(ended))
    hw.need("IDENTIFY" not in ended.errors, f"a variable that is off is said to count for nothing: {ended}")


TESTS.main()
