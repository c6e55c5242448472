#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A search for leaks does no harm: what the searched program, its parent, its children and its debugger see of it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw
import sessions

TESTS = hw.Tests()
STOPS = hw.TARGETS / "stops"
SECONDS = 3


class Recorded:
    """A program under `heapwise run` that has said "ready PID"."""

    def __init__(self, folder, arguments, options=("-q",), **more):
        self.folder = folder
        self.environment = sessions.environment(folder)
        self.recording = folder / "a.hpw"
        self.runner = subprocess.Popen(
            [hw.HEAPWISE, "run", *options, "-o", self.recording, "--", *arguments],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, **more)
        self.pid = None

    def __enter__(self):
        line = self.runner.stdout.readline().split()
        hw.need(len(line) == 2 and line[0] == "ready", f"not ready: {line} {self.runner.poll()}")
        self.pid = int(line[1])
        return self

    def __exit__(self, *_):
        if self.runner.poll() is None:
            os.killpg(self.runner.pid, signal.SIGKILL)
        self.runner.wait()
        for stream in (self.runner.stdin, self.runner.stdout, self.runner.stderr):
            stream.close()

    def leaks(self, *options, **more):
        """How `heapwise leaks PID` ended, and what it says of the search."""
        ended = hw.run([hw.HEAPWISE, "leaks", "--json", *options, str(self.pid)], env=self.environment, **more)
        return ended, json.loads(ended.text)["leaks"]["search"] if ended.status == 0 else None

    def search(self, *options):
        """A search that must succeed."""
        ended, search = self.leaks(*options)
        hw.need(search and not search["problem"], f"no search: {ended} {search}")
        return search

    def is_running(self):
        try:
            return state(self.pid) not in "ZX"
        except FileNotFoundError:
            return False

    def end(self, said=""):
        """Tells it something, waits until it has ended; its status and output."""
        stdout, stderr = self.runner.communicate(said, timeout=hw.TIMEOUT)
        sessions.wait_sessions(self.folder)
        return hw.Ended(self.runner.returncode, stdout.encode(), stderr.encode())


def status_line(pid, name):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    raise hw.Failure(f"{name} is not in the status of {pid}")


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@TESTS.test
def waits_undisturbed(folder):
    """No wait of any kind returns EINTR or loses its deadline, however often a program is searched"""
    with Recorded(folder, [STOPS / "waits", str(SECONDS)]) as program:
        until, searches = time.monotonic() + SECONDS - 0.3, 0
        while time.monotonic() < until:
            hw.need(program.search()["threads_missed"] == 0, "a waiting thread was not stopped")
            searches += 1
        ended = program.end()
        bad = [line for line in ended.text.splitlines() if "broken" in line]
        hw.need(ended.status == 0 and not bad, f"after {searches} searches: {ended}\n" + "\n".join(bad))
        skipped = [line.split()[0] for line in ended.text.splitlines() if line.endswith("skipped")]
        hw.need(searches >= 3, f"only {searches} searches")
        return f"{searches} searches" + (f"; not here: {' '.join(skipped)}" if skipped else "")


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += (task / "children").read_text().split()
        except FileNotFoundError:
            continue
    return found


def need_untouched(program, kept="SRD"):
    """As if nothing had happened to it."""
    hw.need(status_line(program.pid, "TracerPid") == "0", "it is still traced")
    left = [child for child in children(program.pid) if child not in program.children]
    hw.need(not left, f"it has children that it did not make: {left}")
    # While it is being let go it may still be found in between.
    until = time.monotonic() + 10
    while state(program.pid) not in kept:
        hw.need(time.monotonic() < until, f"its state is {state(program.pid)}")
        time.sleep(0.01)


def searched(folder, *arguments, times=20, ways=("snapshot",), lost=1234, status=7, said="x", kept="SRD", **more):
    """Searches a program some times, then has it end; its own checks must hold. Returns the last search."""
    with Recorded(folder, [STOPS / "searched", *map(str, arguments)], **more) as program:
        program.children = children(program.pid)
        for _ in range(times):
            search = program.search()
            hw.need(search["way"] in ways, f"searched by {search}")
            need_untouched(program, kept)
        if lost is not None:
            need_lost(program, lost)
        ended = program.end(said)
        hw.need(ended.status == status and "broken" not in ended.text, f"{ended} {ended.text}")
        return search


def need_lost(program, size):
    """The newest search has found one block that is lost, of this size."""
    ended = hw.run([hw.HEAPWISE, "leaks", "--json", "--show-leak-kinds=all", str(program.pid)], env=program.environment)
    hw.need(ended.status == 0, str(ended))
    leaks = json.loads(ended.text)["leaks"]
    found = [(record["blocks"], record["bytes"]) for record in leaks["records"] if record["kind"] == "definite"]
    hw.need(found == [(1, size)], f"lost: {found} of {leaks['summary']}")


for NAME, ARGUMENTS, WHAT in (
        ("idle", {}, "a program that waits"),
        ("threads", {"arguments": (500,), "times": 10, "lost": None}, "500 threads"),
        ("churn", {}, "threads that begin and end all the while"),
        ("busy", {}, "a thread that never enters the kernel"),
        ("compute", {}, "a program that computes, with all its registers"),
        ("leaderless", {"kept": "Z"}, "a program whose first thread has ended"),
        ("handlers", {}, "handlers of signals: none is run, none is lost"),
        ("ignored", {}, "ignored signals stay so"),
        ("blocked", {}, "blocked signals stay so, and none is pending"),
        ("signals", {}, "queued signals: all come, in order, with who sent them"),
        ("parent", {"lost": None}, "a parent that waits for stops of its child"),
        ("confined", {"ways": ("held",)}, "a seccomp filter that kills"),
        ("undumpable", {}, "a program that may not be dumped"),
        ("unforked", {"ways": ("held",)}, "pages that fork leaves out hold what they hold"),
        ("reserved", {}, "4 GiB of untouched memory, private and shared, stay untouched"),
        ("faulty", {"lost": None}, "memory that can't be read")):
    def story(folder, name=NAME, more=ARGUMENTS):
        more = dict(more)
        search = searched(folder, name, *more.pop("arguments", ()), **more)
        return f"{name}: held for {search['pause_ns'] / 1e6:.2f} ms, {search['threads']} threads"
    TESTS.add(f"searched unharmed: {WHAT}", story)


if __name__ == "__main__":
    TESTS.main(width=2)
