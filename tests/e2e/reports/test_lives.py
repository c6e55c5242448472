#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Views of the lives of blocks, of a program that says itself how long they live and how they grow."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
PROGRAM = hw.TARGETS / "lives"


def recorded(folder, *options):
    """The recording, and what the program says."""
    path = folder / "x.hpw"
    ended = hw.record([PROGRAM], path, options=("-q", *options))
    hw.need(ended.status == 0, str(ended))
    return path, {line.split()[0]: int(line.split()[1]) for line in ended.text.splitlines()}


def total(rows, name):
    return sum(row[name] for row in rows)


@TESTS.test
def lifetimes(folder):
    """Lifetimes by time and by allocations in between add up to the totals, and each kind is where it belongs"""
    path, truth = recorded(folder)
    report = hw.report(path, "--view", "lifetimes")
    for rows in (report["lifetimes"]["by_time"], report["lifetimes"]["by_allocations"]):
        hw.need(total(rows, "freed_blocks") == report["totals"]["frees"], f"freed: {rows}")
        hw.need(total(rows, "live_blocks") == truth["stays"], f"never freed: {rows}")
        hw.need(total(rows, "live_bytes") == truth["stays_bytes"], f"never freed: {rows}")
        both = total(rows, "freed_bytes") + total(rows, "live_bytes")
        hw.need(both == report["totals"]["allocated_bytes"], f"bytes: {rows}")
    # On a busy machine two clocks that are read one after the other may be some way apart.
    longer = [row for row in report["lifetimes"]["by_time"] if row["up_to_ns"] > truth["pause_ns"] // 4]
    hw.need(total(longer, "freed_blocks") == truth["later"], f"after the pause: {longer}")
    hw.need(total(longer, "freed_bytes") == truth["later_bytes"], f"after the pause: {longer}")
    hw.need(total(longer, "live_blocks") == truth["stays"], f"over the pause: {longer}")
    by_others = {row["up_to"]: row for row in report["lifetimes"]["by_allocations"]}
    # A block lives on while at_once() has allocated that often.
    hw.need(by_others[1000]["freed_blocks"] + by_others[2000]["freed_blocks"] == truth["later"], f"{by_others}")
    hw.need(by_others[0]["freed_blocks"] == report["totals"]["frees"] - truth["later"], f"{by_others}")


@TESTS.test
def reallocs(folder):
    """What grows step by step is named with its figures; what doubles or shrinks is not blamed"""
    path, truth = recorded(folder)
    report = hw.report(path, "--view", "realloc")
    rows = {row["stack"][0]["function"]: row for row in report["reallocs"]}
    hw.need(set(rows) == {"add_one", "doubles", "trims"}, f"{set(rows)}")
    one, double, trim = rows["add_one"], rows["doubles"], rows["trims"]
    hw.need(one["calls"] == one["grown"] == one["longest_chain"] == one["step_count"] == truth["steps"], f"{one}")
    hw.need(one["step_bytes"] == truth["step"] and one["copied_bytes"] == truth["copied"], f"{one}")
    hw.need(one["longest_from"] == truth["step"] and one["chains"] == 1, f"{one}")
    hw.need(one["longest_to"] == truth["step"] * (truth["steps"] + 1) and one["doublings"] == 9, f"{one}")
    hw.need(double["calls"] == double["longest_chain"] == truth["doublings"] and double["chains"] == 1, f"{double}")
    hw.need(abs(double["mean_factor"] - 2) < 1e-9 and double["doublings"] == truth["doublings"], f"{double}")
    hw.need(trim["calls"] == trim["shrunk"] == truth["trims"] and not trim["grown"] and not trim["chains"], f"{trim}")
    hw.need([row["stepwise"] for row in (one, double, trim)] == [True, False, False], f"{rows}")
    verdict = report["verdict"]
    hw.need(len(verdict) == 1 and verdict[0].startswith("add_one ") and "24 B at a time" in verdict[0], f"{verdict}")


@TESTS.test
def parts(folder):
    """Of a part only blocks that are allocated in it count; those live at its end were never freed in it"""
    path, truth = recorded(folder)
    first = hw.report(path, "--to", "start", "--view", "lifetimes")["lifetimes"]
    hw.need(not first["by_time"] and not first["by_allocations"], f"{first}")
    duration = hw.report(path)["recording"]["duration_ns"]
    half = f"{duration - truth['pause_ns'] // 2}ns" if duration > 2 * truth["pause_ns"] else "30ms"
    for options in (("--to", half), ("--from", half)):
        report = hw.report(path, *options, "--view", "lifetimes")
        rows = report["lifetimes"]["by_time"]
        hw.need(total(rows, "freed_blocks") + total(rows, "live_blocks") == report["totals"]["allocations"],
                f"{options}: {rows}")
    later = hw.report(path, "--from", "end", "--view", "realloc")
    hw.need(later["reallocs"] == [] and later["verdict"] == ["No block was reallocated."], f"{later['verdict']}")


@TESTS.test
def refuses(folder):
    """Sums have no lives, and what cannot be chosen is said"""
    path, _ = recorded(folder, "--mode", "aggregate")
    for view in ("lifetimes", "realloc"):
        for status, word, arguments in ((3, "aggregate", [path]), (2, "--min-size", [path, "--min-size=10"]),
                                        (2, "shows one recording", ["--merge", path, path])):
            ended = hw.run([hw.HEAPWISE, "report", "--view", view, *arguments])
            hw.need(ended.status == status and word in ended.errors and not ended.text, f"{view}: {ended}")


@TESTS.test
def size_classes(folder):
    """Classes of sizes add up to the list of sizes"""
    path, truth = recorded(folder)
    report = hw.report(path, "--view", "sizes")
    hw.need(total(report["size_classes"], "allocations") == report["totals"]["allocations"], "allocations")
    hw.need(total(report["size_classes"], "bytes") == report["totals"]["allocated_bytes"], "bytes")
    hundred = [row for row in report["size_classes"] if row["up_to"] == 128]
    hw.need(hundred and hundred[0]["allocations"] >= truth["at_once"], f"{hundred}")


TESTS.main()
