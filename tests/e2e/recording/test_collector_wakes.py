#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How often the collector wakes: it shares the processors with the program that it records."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import children, status_line
from told import told

TESTS = hw.Tests()
STEPS = 4000
STEP_BLOCKS = 600  # of 1,000 bytes: about one sample
# Sleeps are up to 10 ms long. If each step woke it, there were a thousand and more.
SAMPLED_A_SECOND_MOST = 250


def collector_of(target):
    for pid in children(target.process.pid):
        if Path(f"/proc/{pid}/comm").read_text().startswith("heapwise-collec"):
            return pid
    raise hw.Failure("no collector")


def wakes_while(target):
    """How often the collector has woken while the target allocated, and in how many seconds that was."""
    collector = collector_of(target)
    before, began = int(status_line(collector, "voluntary_ctxt_switches")), time.monotonic()
    for _ in range(STEPS):
        target.tell("brief1000", STEP_BLOCKS)
    seconds = time.monotonic() - began
    return int(status_line(collector, "voluntary_ctxt_switches")) - before, seconds


@TESTS.test
def few_samples(folder):
    """Samples that come now and then are collected some at a time; none is lost"""
    with told(folder, "--mode", "sample:512K", "--dump-every", "1h") as target:
        wakes, seconds = wakes_while(target)
    hw.need(wakes < SAMPLED_A_SECOND_MOST * seconds + 50, f"{wakes} times in {seconds:.1f} s")
    report = hw.report(folder / "x.hpw")
    hw.need(report["recording"]["lost_events"] == 0, f"{report['recording']}")
    allocations = report["totals"]["allocations"]
    # Of some 4,600 samples the standard deviation is 1.5 %.
    hw.need(0.9 < allocations / (STEPS * STEP_BLOCKS) < 1.1, f"{allocations} allocations")
    return f"{wakes} times in {seconds:.1f} s"


if __name__ == "__main__":
    TESTS.main(width=1)
