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


if __name__ == "__main__":
    TESTS.main(width=2)
