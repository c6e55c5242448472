#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A handler that forks at any instruction of a call leaves a child that goes on: what the fork wiped from its memory is not taken for
the parent's. The target steps through its calls, and each of its children ends a call, allocates and ends well."""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()


def stepped(folder, mode, before=lambda pid: None, stride=1):
    """How many instructions the calls took, for people; each had a fork, or one of so many."""
    command = [hw.HEAPWISE, "run", "-q", "--children=no", f"--mode={mode}", "-o", folder / "x.hpw", "--", hw.TARGETS / "fork_at_each_step"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=hw.clean_environment()) as process:
        try:
            word, pid = process.stdout.readline().split()
            hw.need(word == "ready", word)
            before(pid)
            text, _ = process.communicate(f"{stride}\n", timeout=hw.TIMEOUT)
        finally:
            process.kill()
    hw.need(process.returncode == 0, text)
    taken = dict(re.findall(r"(\w+): (\d+) instructions", text))
    hw.need(set(taken) == {"malloc", "free", "realloc"} and min(map(int, taken.values())) > 20, text)
    return ", ".join(f"{name} {count}" for name, count in taken.items())


@TESTS.test
def exact(folder):
    """In an exact recording"""
    return stepped(folder, "exact")


@TESTS.test
def sampled(folder):
    """In a sampled one, while each block is a sample"""
    # Thousands of instructions: each third of them, of the three functions another one.
    return stepped(folder, "sample:1", stride=1 if "HW_TEST_LONG" in os.environ else 3)


@TESTS.test
def stopped(folder):
    """In one that is stopped"""
    return stepped(folder, "exact", lambda pid: hw.ask("ctl", pid, "stop"))


if __name__ == "__main__":
    TESTS.main()
