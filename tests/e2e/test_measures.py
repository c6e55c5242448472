#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured beside allocations, as series have it: sizes of stacks, instructions."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
# Of the functions between the one that says so and malloc, and the last frame itself.
SLACK = 2000


def series(file):
    """Rows of (step, ns, live bytes, bytes of stacks, instructions), and whether the last are counted."""
    ended = hw.run([hw.BUILD / "tests/unit/series_rows", file])
    hw.need(ended.status == 0, str(ended))
    *lines, last = ended.text.splitlines()
    return [tuple(map(int, line.split())) for line in lines], last.removeprefix("instructions: ")


@TESTS.test
def stacks(folder):
    """Stacks grow and shrink as the program's do, threads count while they live, coroutines and signal stacks do not"""
    ended = hw.record([hw.TARGETS / "stack_sizes"], folder / "x.hpw")
    truth = [int(line.split()[2]) for line in ended.text.splitlines() if line.startswith("# stack ")]
    hw.need(ended.status == 0 and len(truth) == 5, f"{ended} {ended.text}")
    found = [row[3] for row in series(folder / "x.hpw")[0]]
    phases = iter(found)
    for expected in truth:
        fits = any(expected <= size <= expected + SLACK for size in phases)
        hw.need(fits, f"{expected} is missing, or in another order: {found}")
    hw.need(max(found) <= max(truth) + SLACK, f"{max(found)} of {max(truth)}")


@TESTS.test
def instructions(folder):
    """Instructions are counted and ascend, at least some for each allocation; or the reason why they are not stands there"""
    ended = hw.record([hw.TARGETS / "stack_sizes"], folder / "x.hpw")
    hw.need(ended.status == 0, str(ended))
    rows, counted = series(folder / "x.hpw")
    found = [row[4] for row in rows]
    if counted == "counted":
        hw.need(found == sorted(found) and found[-1] > 20 * rows[-1][0], f"{found}")
    else:
        hw.need(re.fullmatch("E[A-Z]+", counted) and not any(found), f"{counted}: {found}")
    hw.record(["true"], folder / "y.hpw", options=("-q", "--ring", "1M"))
    hw.need(series(folder / "y.hpw")[1] == "unknown", "nobody has tried")


TESTS.main(width=2)
