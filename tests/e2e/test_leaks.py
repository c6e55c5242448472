#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of leaks: every target of tests/targets/leaks against its own word, searched by heapwise and by Valgrind's
memcheck, with the options that the target names.

    test_leaks.py heapwise|memcheck NAME…     variants of targets (as `trees-O2`)
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw
import leaks_differences
import leaktruth
import ourleaks
import memcheck

LEAKS = hw.TARGETS / "leaks"
# Those of our options that memcheck does not have.
OURS_ALONE = ("--leak-check-at", "--leak-check-alignment")
# Options that do not concern the search but what is shown of it.
OF_THE_VIEW = ("--run-libc-freeres",)


def told(ended, native):
    """The sections of a target's output, if it ended as it does natively."""
    hw.need(ended.status == native.status, f"ended with {ended}; natively with {hw.describe(native.status)}")
    sections = leaktruth.sections(ended.text)
    problems = [problem for section in sections for problem in section.problems]
    hw.need(not problems, f"{ended}: " + "; ".join(problems))
    return sections


def each_section(name, folder, table, search):
    """search(program, options, folder) → (how it ended, records), for each section that is meant. The truth is what the
    searched process itself says; what differs from that is in the table."""
    program = LEAKS / name
    native = hw.run([program])
    problems, reasons = [], []
    for number, section in enumerate(told(native, native)):
        place = folder / str(number)
        place.mkdir()
        found = search(program, section.options, place)
        if not found:
            continue
        ended, records = found
        why, differences = leaks_differences.of(table, name, section.options)
        reasons += [f"{name}: differs: {why}"] if why else []
        same = told(ended, native)[number]
        words = " ".join(section.options)
        problems += [f"{words + ': ' if words else ''}{p}" for p in leaktruth.check(same, records, differences)]
    hw.need(not problems, "\n".join(problems))
    return "\n".join(reasons)


def check_memcheck(name, folder):
    def search(program, options, place):
        if any(option.startswith(OURS_ALONE) for option in options):
            return None
        ended, records, others = memcheck.run([program], place, options)
        hw.need(not others, "; ".join(others))
        return ended, records

    return each_section(name, folder, leaks_differences.MEMCHECK, search)


def check_heapwise(name, folder):
    ourleaks.need_search()
    def search(program, options, place):
        recording = place / "x.hpw"
        view = [option for option in options if option.startswith(OF_THE_VIEW)]
        search = [option for option in options if option not in view]
        ended = hw.record([program], recording, options=("-q", "--leak-check=full", *search))
        return ended, ourleaks.records(recording, *view)

    return each_section(name, folder, leaks_differences.HEAPWISE, search)


def main():
    tests = hw.Tests()
    searcher, *names = sys.argv[1:]
    check = {"heapwise": check_heapwise, "memcheck": check_memcheck}[searcher]
    sys.argv[1:] = []
    for name in names:
        tests.add(name, lambda folder, name=name: check(name, folder))
    tests.main(width=2, needs_command=searcher == "heapwise")


if __name__ == "__main__":
    main()
