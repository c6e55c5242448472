#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Dumps that are due, or requested, while others are written: pipes that nobody reads yet hold these."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from told import collector_of, of_site, told

TESTS = hw.Tests()
MIB = 1 << 20
# Of one process, at a time.
JOBS_MAX = 4
# That `heapwise dump` tries, and where files cost the least.
NAMES_MAX = 9999
MEMORY = "/dev/shm"
SIGNAL_AND_GROWTH = ("-q", "--dump-signal", "USR2", "--dump-growth", "1M", "--dump-file", "%i.%r")


def live(dump):
    return of_site(hw.report(dump, "--view", "sites"), "live_bytes")


def writers(collector):
    """How many copies of it there are."""
    found = 0
    for task in os.listdir(f"/proc/{collector}/task"):
        with contextlib.suppress(OSError):
            found += len(Path(f"/proc/{collector}/task/{task}/children").read_text().split())
    return found


def looks(target):
    """Gives the collector time to look at the counts: each of these is several of its rounds."""
    for _ in range(8):
        hw.ask("ctl", target.name, "status")


def read_pipe(path):
    with open(path, "rb") as file:
        return file.read()


def hold_first(folder, target):
    """A dump by signal that is being written to the pipe 0001.s, and meanwhile one more of it, twice, and one of growth."""
    collector = collector_of(folder)
    target.tell("keep", 1000)
    target.tell("raise", signal.SIGUSR2)
    hw.wait_until(lambda: writers(collector), "no dump has begun")
    target.tell("keep", 2 * MIB)
    target.tell("raise", signal.SIGUSR2)
    looks(target)
    target.tell("raise", signal.SIGUSR2)
    looks(target)


def need_all_three(folder, held):
    """What was held, and then one dump for each reason, the signal's first."""
    (folder / "first.dump").write_bytes(held)
    hw.need(live(folder / "first.dump") == 1000, "the first has what came later")
    names = sorted(path.name for path in folder.glob("*.[a-z]") if path.is_file())
    hw.need(names == ["0002.s", "0003.u"], f"{names}")
    for name in names:
        hw.need(live(folder / name) == 2 * MIB + 1000, name)
    hw.need("got the signal" in hw.report(folder / "0002.s")["recording"]["dump"], "0002.s")
    hw.need("were live" in hw.report(folder / "0003.u")["recording"]["dump"], "0003.u")


@TESTS.test
def others_follow(folder):
    """What is due while a dump is written comes after it: each reason once, none is lost"""
    os.mkfifo(folder / "0001.s")
    with told(folder, *SIGNAL_AND_GROWTH) as target:
        hold_first(folder, target)
        held = read_pipe(folder / "0001.s")
        hw.wait_until((folder / "0003.u").exists, "no third dump")
    need_all_three(folder, held)


@TESTS.test
def at_the_end(folder):
    """The same when the process ends meanwhile"""
    os.mkfifo(folder / "0001.s")
    held = []

    def release(pid):
        hw.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "it does not end")
        held.append(read_pipe(folder / "0001.s"))

    with told(folder, *SIGNAL_AND_GROWTH) as target:
        hold_first(folder, target)
        releaser = threading.Thread(target=release, args=(target.pid,))
        releaser.start()
    releaser.join()
    need_all_three(folder, held[0])
    hw.need(hw.report(folder / "0003.u")["target"]["exit"] != {"running": True}, "it says that the process runs")


@TESTS.test
def end_is_last(folder):
    """The dump of the end is the last one, by its number too, so that --keep keeps it"""
    os.mkfifo(folder / "0001.s")
    with told(folder, *SIGNAL_AND_GROWTH, "--dump-at-exit", "--keep", "1") as target:
        hold_first(folder, target)
        target.process.stdin.close()
        target.process.stdin = None
        hw.wait_until((folder / "0004.f").exists, "no dump of the end")
        read_pipe(folder / "0001.s")
    names = sorted(path.name for path in folder.glob("*.[a-z]") if path.is_file())
    hw.need(names == ["0004.f"] and not (folder / "0001.s").exists(), f"{names}")


@TESTS.test
def named_stay(folder):
    """--keep removes files of the plan's names, not those that the program has named"""
    with told(folder, "-q", "--keep", "1", "--dump-file", "%i.next") as target:
        for number in (1, 0, 0):
            hw.need(target.tell("dump", number) == 0, "it was not written")
    hw.need(sorted(path.name for path in folder.glob("*.*[!w]")) == ["0002.next", "own.dump"], f"{list(folder.iterdir())}")


@TESTS.test
def signal_at_the_end(folder):
    """A signal that comes right before the end still gives its dump"""
    for number in range(5):
        with told(folder, "-q", "-f", "--dump-signal", "USR2", "--dump-file", f"{number}.%i") as target:
            target.tell("keep", 1000 + number)
            target.tell("raise", signal.SIGUSR2)
        hw.need(live(folder / f"{number}.0001") == 1000 + number, f"{list(folder.iterdir())}")


def pipes(folder, pattern):
    found = [folder / pattern.format(i + 1) for i in range(JOBS_MAX)]
    for path in found:
        os.mkfifo(path)
    return found


@TESTS.test
def too_many_requests(folder):
    """A request beyond the bound is told so, the others have their file, and a command waits for its turn"""
    held = pipes(folder, "{:04}.own")
    with told(folder, "-q", "--dump-file", "%i.own") as target:
        target.tell("dumps", JOBS_MAX + 1)
        target.tell("refused")
        waits = subprocess.Popen([hw.HEAPWISE, "dump", "-q", target.name, "-o", folder / "a.dump"], env=hw.clean_environment())
        for path in held:
            hw.need(read_pipe(path), f"{path} is empty")
        hw.need(target.tell("dumped") == JOBS_MAX, "not all others were written")
        hw.need(waits.wait(hw.TIMEOUT) == 0 and (folder / "a.dump").exists(), "the command did not wait")


@TESTS.test
def end_after_requests(folder):
    """The dump of the end comes although as many as there may be are being written"""
    held = pipes(folder, "{:04}.m")
    with told(folder, "-q", "--dump-at-exit", "--dump-file", "%i.%r") as target:
        target.tell("keep", 77)
        target.tell("dumps", JOBS_MAX + 1)
        target.tell("refused")
        target.process.stdin.close()
        target.process.stdin = None
        for path in held:
            hw.need(read_pipe(path), f"{path} is empty")
    last = [path for path in folder.glob("*.f") if path.is_file()]
    hw.need(len(last) == 1 and live(last[0]) == 77, f"{sorted(folder.iterdir())}")


@TESTS.test
def seconds_and_names(folder):
    """What --seconds takes at most, and no name that is free"""
    with told(folder, "-q") as target:
        for seconds in ("0", "86401", "0x10", "-1", "18446744073709551617"):
            said = hw.heapwise("dump", target.name, "--format", "pprof", "--seconds", seconds, "-o", folder / "a.pb.gz")
            hw.need(said.status == 2 and "--seconds" in said.errors, f"{seconds}: {said}")
        with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else folder) as many:
            hw.need(hw.heapwise("dump", target.name, cwd=many).status == 0, "a dump failed")
            first = f"{many}/heapwise.dumps.{target.pid}.m0001.dump"
            hw.need(os.path.exists(first), f"{os.listdir(many)}")
            for number in range(2, NAMES_MAX + 1):
                os.symlink("/", first.replace("0001", f"{number:04}"))
            said = hw.heapwise("dump", target.name, cwd=many)
    hw.need(said.status != 0 and "-o FILE" in said.errors, f"{said}")


TESTS.main(width=2)
