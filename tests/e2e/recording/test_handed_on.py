#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that hand blocks on to each other (tests/targets/threads/handed_on.c), for as many events as given: nothing is
lost or repaired, and each site's figures are the program's own, of which about half of the blocks are freed by another thread
than the one that allocated them.

    test_handed_on.py EVENTS THREADS…
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import truth

EVENTS = int(sys.argv.pop(1))
THREADS = [int(argument) for argument in sys.argv[1:]]
del sys.argv[1:]
# Half a microsecond an event, on a machine that does other things.
TIMEOUT = hw.TIMEOUT + EVENTS / 2_000_000
# A thread that gets no processor for so long within an event is waited for no longer while another has no room (BUSY_SECONDS_FULL).
HELD_NS = 800_000_000


def handed_on(threads):
    def test(folder, tries=3):
        recording = folder / "x.hpw"
        began = time.monotonic()
        ended = hw.record([hw.TARGETS / "handed_on", str(EVENTS), str(threads)], recording, timeout=TIMEOUT)
        seconds = time.monotonic() - began
        hw.need(ended.status == 0 and not ended.stderr, str(ended))
        expectations, problems = truth.parse(ended.text)
        report = hw.report(recording, "--view", "sites")
        found = report["recording"]
        if found["repairs"] and found["longest_wait_ns"] >= HELD_NS and tries > 1:
            recording.unlink()
            return test(folder, tries - 1)
        problems += truth.check(expectations, report) + truth.check_itself(report)
        for figure in ("lost_events", "repairs", "unknown_frees", "mismatched_frees", "stacks_full", "dropped_steps"):
            if found[figure]:
                problems.append(f"{figure} is {found[figure]}; a thread waited for {found['longest_wait_ns']} ns at most")
        if not found["complete"] or found["kept_steps"] < EVENTS:
            problems.append(f"complete: {found['complete']}, {found['kept_steps']} events of {EVENTS}")
        hw.need(not problems, "\n".join(problems[:20]))
        said = next(line for line in ended.text.splitlines() if line.endswith("freed by others"))
        return f"{threads} threads: {said}; {seconds:.0f} s, {recording.stat().st_size / found['kept_steps']:.2f} bytes an event"

    return test


TESTS = hw.Tests()
for number in THREADS:
    TESTS.add(f"blocks go from hand to hand in {number} threads", handed_on(number))
TESTS.main(width=1)
