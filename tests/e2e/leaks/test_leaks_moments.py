#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""When a program is searched for leaks: while it runs, and at the moment when a signal ends it."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import state

TESTS = hw.Tests()
TARGET = hw.TARGETS / "leak_moments"
MAX_S = 60


class Program:
    """The target under `heapwise run`."""

    def __init__(self, folder, *options):
        self.file = folder / "x.hpw"
        self.process = subprocess.Popen(
            [hw.HEAPWISE, "run", "-q", "-o", self.file, "--show-leak-kinds=none", *options, "--", TARGET],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env=hw.clean_environment())
        self.pid = int(self.line().split()[2])

    def line(self):
        line = self.process.stdout.readline().decode()
        hw.need(line.startswith("# "), f"the target said {line!r}")
        return line.strip()

    def tell(self, letter):
        self.process.stdin.write(letter.encode())
        self.process.stdin.flush()

    def do(self, letter):
        self.tell(letter)
        return self.line()

    def end(self, letter=None):
        """Its status, as `heapwise run` ended, and what stands on stderr."""
        if letter:
            self.tell(letter)
        self.process.stdin.close()
        status = self.process.wait(MAX_S)
        return status, self.process.stderr.read().decode()


@contextlib.contextmanager
def program(folder, *options):
    one = Program(folder, *options)
    try:
        yield one
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.wait()


def wait_for_rest(pid):
    """It has said something, but is perhaps still at it, with frames that have old words in them."""
    hw.wait_until(lambda: state(pid) != "R", "it does not come to rest")


def leaks(what):
    if isinstance(what, str) and what.isdigit():
        wait_for_rest(what)
    ended = hw.run([hw.HEAPWISE, "leaks", "--json", "--show-leak-kinds=all", what])
    hw.need(ended.status == 0, str(ended))
    return json.loads(ended.text)


def blocks(found, site, kind):
    """Blocks of that kind that the site allocated."""
    return sum(record["blocks"] for record in found["leaks"]["records"]
               if record["kind"] == kind and any(f["function"] == site for f in record["stack"]))


def need_kinds(found, lost=1, of_thread=1):
    for site, kind, expected in (("site_lost", "definite", lost), ("site_held", "reachable", 1),
                                 ("site_of_thread", "reachable", of_thread)):
        got = blocks(found, site, kind)
        hw.need(got == expected, f"{site}: {got} {kind}, expected {expected}: {found['leaks']['summary']}")


def tracer(pid):
    return int(re.search(r"^TracerPid:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE).group(1))


@TESTS.test
def running(folder):
    """A running process is searched as often as one likes: new leaks are seen, and it goes on"""
    with program(folder) as one:
        for lost in range(1, 6):
            found = leaks(str(one.pid))
            need_kinds(found, lost=lost)
            hw.need(found["target"]["exit"] == {"running": True} and found["recording"]["complete"], str(found["target"]))
            pause = found["leaks"]["search"]["pause_ns"]
            hw.need(0 < pause < 20e9, f"a pause of {pause} ns")
            hw.need(one.do("l") == "# lost", "it did not go on")
        text = hw.run([hw.HEAPWISE, "leaks", str(one.pid)]).text
        hw.need("is still running" in text and re.search(r"the program was paused for [\d.]+ (µs|ms|s)", text), hw.shorten(text))
        hw.need(one.do("f") == "# child 6" and tracer(one.pid) == 0, "a child or a tracer too many")
        status, errors = one.end("x")
        hw.need(status == 5 and not errors, f"status {status}: {errors}")
    found = leaks(one.file)
    hw.need(found["target"]["exit"] == {"code": 5}, f"{found['target']}")


@TESTS.test
def not_recorded(folder):
    """A process that nobody records, or that is none, is refused with the reason"""
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            ended = hw.run([hw.HEAPWISE, "leaks", str(other.pid)])
            hw.need(ended.status == 3 and "is not being recorded" in ended.errors, str(ended))
        finally:
            other.kill()
    ended = hw.run([hw.HEAPWISE, "leaks", str(other.pid)])
    hw.need(ended.status == 3 and str(other.pid) in ended.errors, str(ended))


def dies(letter, number, of_thread):
    def test(folder):
        with program(folder, "--leak-check-on-death") as one:
            status, _ = one.end(letter)
            hw.need(status == -number, f"status {status}")
        found = leaks(one.file)
        hw.need(found["target"]["exit"] == {"signal": number} and found["recording"]["complete"], f"{found['target']}")
        hw.need(found["leaks"]["search"]["moment"] == "death", f"{found['leaks']['search']}")
        need_kinds(found, of_thread=of_thread)
    return test


for name, letter, number, of_thread in (("abort()", "a", signal.SIGABRT, 1), ("SIGSEGV of another thread", "s", signal.SIGSEGV, 2),
                                        ("SIGTERM", "t", signal.SIGTERM, 1)):
    TESTS.add(f"{name} ends it: what was lost then is known, and it dies of the same signal", dies(letter, number, of_thread))


@TESTS.test
def killed(folder):
    """After SIGKILL, and after a fatal signal without --leak-check-on-death, only never freed is known, and said"""
    for letter, number, options in (("k", signal.SIGKILL, ["--leak-check-on-death"]), ("a", signal.SIGABRT, ["--leak-check=full"])):
        with program(folder, "-f", *options) as one:
            status, _ = one.end(letter)
            hw.need(status == -number, f"status {status}")
        found = leaks(one.file)
        hw.need(found["leaks"]["search"] is None and found["leaks"]["summary"]["never_freed"]["blocks"] >= 3, f"{found['leaks']}")
        hw.need("Also unknown" in " ".join(found["verdict"]), f"{found['verdict']}")


@TESTS.test
def traced_for_life(folder):
    """Traced for life, a program has its signals, threads, children and stops as ever, and its end is searched too"""
    with program(folder, "--leak-check-on-death") as one:
        hw.need(tracer(one.pid) != 0, "it is not traced")
        hw.need(one.do("u") == "# signals 1000 undisturbed", "signals")
        hw.need(one.do("c") == "# threads", "threads")
        hw.need(one.do("f") == "# child 6", "child")
        one.tell("p")
        hw.wait_until(lambda: state(one.pid) in "Tt", "it does not stop")
        os.kill(one.pid, signal.SIGCONT)
        hw.need(one.line() == "# continued", "it stopped for good")
        need_kinds(leaks(str(one.pid)))
        hw.need(tracer(one.pid) != 0, "it is not traced any more")
        status, _ = one.end("x")
        hw.need(status == 5, f"status {status}")
    found = leaks(one.file)
    hw.need(found["leaks"]["search"]["moment"] == "exit", f"{found['leaks']['search']}")
    need_kinds(found)


TESTS.main(width=2)
