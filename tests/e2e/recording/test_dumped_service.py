#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A service with many live blocks that is dumped again and again while its threads work: no request is held for long, and
nothing is left behind.

    test_dumped_service.py BLOCKS DUMPS
"""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import children, status_line
from sessions import environment
from told import collector_of

BLOCKS, DUMPS = int(sys.argv.pop(1)), int(sys.argv.pop(1))
TESTS = hw.Tests()
PROGRAM = hw.TARGETS / "dumped_service"
THREADS = 4
IDLE_MS = 3000
# The program counts requests that were held for 20 ms, in which it did not just wait for a processor. The machine
# itself may do that to one now and then: a dump that does it does it each time.
SLOW_MOST = max(1, DUMPS // 100)
# The collector's memory goes up and down by pieces of its allocator, and grows slowly with the recording.
GROWTH_KIB = 400 + DUMPS // 4
KEPT = 3


def held(pid):
    """What a process has: descriptors, and memory of its own in KiB."""
    return len(os.listdir(f"/proc/{pid}/fd")), int(status_line(pid, "RssAnon").split()[0])


class Service:
    """The program; without options it runs natively."""

    def __init__(self, folder, *options):
        words = [hw.HEAPWISE, "run", *options, "-o", folder / "x.hpw", "--"] if options else []
        self.process = subprocess.Popen([*words, PROGRAM, str(BLOCKS), str(THREADS), str(DUMPS), str(IDLE_MS)], cwd=folder,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(folder))

    def line(self, name):
        found = self.process.stdout.readline().split()
        hw.need(found and found[0] == name, f"{found}, not {name}")
        return found[1:]

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        self.process.communicate(timeout=hw.TIMEOUT)
        hw.need(self.process.returncode == 0, f"status {self.process.returncode}")


@TESTS.test
def dumped(folder):
    """Dumps in a row hold no request for 20 ms, and leave no memory, descriptors, processes or files"""
    hw.need_no_sanitizer("it keeps what is freed")
    native = Service(folder)
    alone = native.line("idle")
    native.go_on()
    native.go_on()
    native.end()
    service = Service(folder, "-q", "--dump-file", "own.%i", "--keep", str(KEPT))
    idle = service.line("idle")
    collector = collector_of(folder)
    before = held(collector)
    service.go_on()
    busy, dumps = service.line("dumped"), service.line("dumps")
    hw.need(dumps[2] == "0", f"{dumps[2]} dumps failed")
    hw.wait_until(lambda: not children(collector), "processes are left")
    hw.wait_until(lambda: held(collector)[0] <= before[0], "descriptors are left")
    after = held(collector)
    service.go_on()
    service.end()
    said = f"longest request {busy[0]} ms, {busy[1]} of it held; without dumps {idle[0]} and {idle[1]}, natively {alone[0]} and {alone[1]}"
    hw.need(int(busy[2]) <= SLOW_MOST, f"{busy[2]} requests were held for 20 ms: {said}")
    hw.need(after[1] <= before[1] + GROWTH_KIB, f"{before} became {after}")
    names = sorted(path.name for path in folder.iterdir())
    hw.need(len(names) == KEPT + 2 and not list((folder / "sessions").iterdir()), f"{names}")
    report = hw.report(folder / f"own.{5 + DUMPS:04}")
    hw.need(report["totals"]["live_blocks_at_end"] >= BLOCKS and report["recording"]["complete"], f"{report['totals']}")
    recording = hw.report(folder / "x.hpw")["recording"]
    hw.need(recording["complete"] and not recording["lost_events"], f"{recording}")
    each = float(dumps[4]) / DUMPS
    return f"{DUMPS} dumps of {BLOCKS} blocks, {each:.0f} ms each; {said}; the collector has {after[1]} KiB, had {before[1]}"


TESTS.main()
