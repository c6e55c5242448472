#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Dumps of processes whose mappings are recorded (run --mmap): who has mapped what, and what is resident."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from told import of_site, told

TESTS = hw.Tests()
MIB = 1 << 20


def mapped(path, figure="live_bytes"):
    return of_site(hw.report(path, "--class", "mapping", "--view", "sites"), figure, "site_mapped")


@TESTS.test
def of_a_moment(folder):
    """A dump has what was mapped by then, with peaks and calls; what was resident adds up; the heap is as without"""
    with told(folder, "-q", "--mmap") as target:
        target.tell("keep", 1001)
        target.tell("map", 8 * MIB)
        hw.ask("dump", target.name, "-o", folder / "a.dump")
        target.tell("unmap", 3 * MIB)
        target.tell("map", MIB)
        hw.ask("dump", target.name, "-o", folder / "b.dump")
    a, b = folder / "a.dump", folder / "b.dump"
    hw.need((mapped(a), mapped(b)) == (8 * MIB, 6 * MIB), f"live: {mapped(a)}, {mapped(b)}")
    hw.need((mapped(b, "allocations"), mapped(b, "peak_bytes")) == (2, 8 * MIB), "calls and the peak")
    hw.need(of_site(hw.report(b, "--view", "sites"), "live_bytes") == 1001, "of the heap")
    diff = hw.ask("diff", "--class", "mapping", a, b)
    hw.need("site_mapped" in diff and "2.00 MiB" in diff, diff)
    for dump, bytes_live in ((a, 8 * MIB), (b, 6 * MIB)):
        document = hw.report(dump, "--view", "rss")
        rows = document["rss"]
        hw.need(sum(row["bytes"] for row in rows) == document["resident_bytes"], f"it does not add up: {rows}")
        of_program = sum(row["bytes"] for row in rows if row["what"] == "mapped")
        hw.need(of_program == bytes_live, f"{of_program} resident of {bytes_live}: {rows}")


@TESTS.test
def after_a_reset(folder):
    """Calls count from the reset on, in dumps; what is mapped, and the peak, are of all time"""
    with told(folder, "-q", "--mmap") as target:
        target.tell("map", 8 * MIB)
        hw.ask("ctl", target.name, "reset")
        target.tell("map", MIB)
        hw.ask("dump", target.name, "-o", folder / "a.dump")
    found = [mapped(folder / "a.dump", figure) for figure in ("allocations", "allocated_bytes", "live_bytes", "peak_bytes")]
    hw.need(found == [1, MIB, 9 * MIB, 9 * MIB], f"{found}")
    hw.need(mapped(folder / "x.hpw", "allocations") == 2, "the recording keeps all")


@TESTS.test
def without(folder):
    """A dump of a recording without mappings says so"""
    with told(folder, "-q") as target:
        target.tell("map", MIB)
        hw.ask("dump", target.name, "-o", folder / "a.dump")
    ended = hw.heapwise("report", "--class", "mapping", folder / "a.dump")
    hw.need(ended.status and "--mmap" in ended.errors, f"{ended}")


TESTS.main()
