#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured beside allocations, as series have it: sizes of stacks, instructions."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

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


def compared(older, newer):
    """What diff says of the stacks of both: text, and `stacks`."""
    lists = hw.run([hw.HEAPWISE, "diff", older, newer])
    whole = hw.run([hw.HEAPWISE, "diff", "--json", older, newer])
    hw.need(lists.status == 0 and whole.status == 0, f"{lists} {whole}")
    return lists.text, json.loads(whole.text)["stacks"]


@TESTS.test
def differences(folder):
    """diff says how large stacks were at both of its moments, by thread, and that they grew more than the heap; or that it is not known"""
    file = folder / "x.hpw"
    ended = hw.record([hw.TARGETS / "stack_sizes"], file, options=("-q", "-f"))
    hw.need(ended.status == 0, str(ended))
    every = series(file)[0]
    # A moment is the last row of its time.
    rows = [row for row, later in zip(every, [*every[1:], (0, sys.maxsize)]) if later[1] > row[1]]
    deep = [row for row in rows if row[3] > 1 << 20]
    flat = [row for row in rows if deep and 0 < row[1] < deep[0][1] and row[3]]
    threads = [row for row in rows if deep and row[1] > deep[-1][1] and row[3] > 300 << 10]
    hw.need(flat and threads, f"no row before the stack grew, or none after it: {rows}")
    older, newer = flat[len(flat) // 2], deep[len(deep) // 2]
    text, sizes = compared(f"{file}@{older[1]}ns", f"{file}@{newer[1]}ns")
    hw.need((sizes["older"], sizes["newer"]) == (older[3], newer[3]), f"{sizes} of {older} {newer}")
    hw.need(sizes["change"] == newer[3] - older[3] and len(sizes["threads"]) == 1, f"{sizes}")
    hw.need(sizes["threads"][0]["name"] == "stack_sizes", f"{sizes}")
    hw.need("Thread stacks grew by 1.0" in text and "Stacks of threads: from " in text, text)
    _, sizes = compared(f"{file}@{older[1]}ns", f"{file}@{threads[len(threads) // 2][1]}ns")
    found = sorted((row["older"] is None, row["newer"] > 300 << 10) for row in sizes["threads"])
    hw.need(found == [(False, False), (True, True)], f"{sizes}")
    hw.record(["true"], folder / "sample.hpw", options=("-q", "--mode", "sample"))
    text, sizes = compared(folder / "sample.hpw", f"{file}@{newer[1]}ns")
    hw.need(sizes["older"] is None and sizes["newer"] == newer[3], f"{sizes}")
    hw.need("not known in the older" in text and "Thread stacks grew" not in text, text)


TESTS.main(width=2)
