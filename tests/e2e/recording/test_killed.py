#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGKILL at random moments: what a recording holds then is a gap-free prefix of each thread's events.

The target (tests/targets/processes/killed.c) makes the size of each allocation its serial number and keeps its own
count in a shared page, so the sizes of the recording tell which events it holds, and the page tells up to
which one it must: each finished call, and at most the one in flight. In half of the cases the collector is
stopped before the kill and goes on only after it.

HW_KILLS: how many moments (50); HW_SEED: of the randomness (printed).
"""

import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

PROGRAM = (hw.TARGETS / "killed").resolve()
SERIAL_BASE = 4096  # as in killed.c
LATEST = 150_000  # events of both threads at the moment of the kill, at most about this
AFTER_STOP = 20_000  # events more once the collector has been stopped


class SharedCount:
    """The target's own count: one word for each thread, in a page that outlives it."""

    def __init__(self, path):
        path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            self.page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def finished(self):
        return struct.unpack("<2Q", self.page[:16])

    def wait_beyond(self, threshold, process, *, or_stands_still=False):
        """Returns once the sum passes the threshold; or, if allowed, once the target sleeps."""
        deadline = time.monotonic() + hw.TIMEOUT
        last, since = -1, time.monotonic()
        while (now := sum(self.finished())) < threshold:
            hw.need(process.poll() is None, f"heapwise run ended by itself: {process.poll()}")
            hw.need(time.monotonic() < deadline, f"the target stands at {now} events")
            if now != last:
                last, since = now, time.monotonic()
            elif or_stands_still and time.monotonic() - since > 0.05:
                return
            os.sched_yield()


def processes():
    """(pid, executable, environment) of every process that may be looked at."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            executable = os.readlink(f"/proc/{entry}/exe")
            environment = Path(f"/proc/{entry}/environ").read_bytes()
            parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        yield int(entry), executable, environment, parent


def find_target(tag):
    for pid, executable, environment, _ in processes():
        if executable == str(PROGRAM) and tag in environment:
            return pid
    raise hw.Failure("the target is not to be found")


def find_collector(tag, run):
    """The collector of this run: our command, with this run's environment or as its child."""
    found = [
        pid
        for pid, executable, environment, parent in processes()
        if executable == str(hw.HEAPWISE.resolve()) and pid != run and (tag in environment or parent == run)
    ]
    hw.need(len(found) == 1, f"{len(found)} processes look like the collector")
    return found[0]


def serials(sizes):
    """For each thread the serial numbers that the recording holds, as {serial: times}."""
    found = ({}, {})
    for row in sizes:
        number = row["size"] - SERIAL_BASE
        if number >= 0:
            found[number & 1][number >> 1] = row["allocations"]
    return found


def check_prefix(held, finished, thread):
    count = len(held)
    twice = [serial for serial, times in held.items() if times != 1]
    hw.need(not twice, f"thread {thread}: serial {twice[:5]} more than once")
    missing = next((serial for serial in range(count) if serial not in held), None)
    hw.need(
        missing is None,
        f"thread {thread}: serial {missing} is missing, {count} are there, up to {max(held or [0])}",
    )
    hw.need(
        finished <= count <= finished + 1,
        f"thread {thread}: {count} events recorded, {finished} calls were finished",
    )


def check_recording(recording, finished):
    report = hw.report(recording, "--view", "sizes")
    found = {k: v for k, v in (report["target"].get("exit") or {}).items() if v is not None}
    hw.need(found == {"signal": 9}, f"target.exit is {found}")
    lost = report["recording"]["lost_events"]
    hw.need(lost == 0, f"{lost} events lost")
    hw.need(report["recording"].get("repairs") == 0, "the merger had to repair")
    for thread, held in enumerate(serials(report["sizes"])):
        check_prefix(held, finished[thread], thread)
    hw.need(len(report["sizes"]) > 2 or sum(finished) < 4, "hardly any size is there")


def kill_once(folder, threshold, stop_after):
    """One run, killed beyond `threshold` events; stop_after: events between SIGSTOP and SIGKILL."""
    count = SharedCount(folder / "count")
    recording = folder / "killed.hpw"
    tag = f"HW_KILLED_TAG={uuid.uuid4()}"
    name, _, value = tag.partition("=")
    errors = folder / "stderr"
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            [hw.HEAPWISE, "run", "-q", "-o", recording, "--", PROGRAM, folder / "count"],
            env=hw.clean_environment(**{name: value}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
    target = collector = None
    try:
        count.wait_beyond(1, process)
        target = find_target(tag.encode())
        count.wait_beyond(threshold, process)
        if stop_after is not None:
            collector = find_collector(tag.encode(), process.pid)
            os.kill(collector, signal.SIGSTOP)
            count.wait_beyond(sum(count.finished()) + stop_after, process, or_stands_still=True)
        os.kill(target, signal.SIGKILL)
        if collector:
            os.kill(collector, signal.SIGCONT)
        status = process.wait(hw.TIMEOUT)
    finally:
        if process.poll() is None:
            for pid in filter(None, (target, collector)):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.kill()
            process.wait()
    hw.need(status == -signal.SIGKILL, f"heapwise run ended with {hw.describe(status)}")
    said = errors.read_text(errors="replace")
    hw.need(not said, f"on stderr: {hw.shorten(said)}")
    check_recording(recording, count.finished())


def main():
    seed = int(os.environ.get("HW_SEED") or random.SystemRandom().randrange(10**9))
    kills = int(os.environ.get("HW_KILLS", "50"))
    print(f"# HW_SEED={seed} HW_KILLS={kills}")
    chance = random.Random(seed)
    tests = hw.Tests()
    for number in range(kills):
        # Early moments are as telling as late ones: spread the thresholds over the orders.
        threshold = int(LATEST ** chance.random())
        stop_after = chance.randrange(AFTER_STOP) if number % 2 else None
        how = "running" if stop_after is None else f"stopped, {stop_after} events later"
        tests.add(
            f"kill {number}: beyond event {threshold}, collector {how}",
            lambda folder, t=threshold, s=stop_after: kill_once(folder, t, s),
        )
    # One at a time: a target with two threads and a collector fill the machine.
    tests.main(width=1)


if __name__ == "__main__":
    main()
