#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise watch`: what a running process allocates, seen from the kernel, is what the process says."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
WATCHED, WATCHED_STATIC = hw.TARGETS / "watched", hw.TARGETS / "watched_static"
ROW = re.compile(r"^\t(about )?(\d+) bytes in (?:about )?(\d+) (mmap )?allocations from stack(.*)$")
REFUSALS = ("CAP_BPF", "refuses eBPF", "refuses the programs", "libbpf.so", "built without 'watch'")


class Stack:
    def __init__(self, found):
        self.bytes, self.blocks = int(found[2]), int(found[3])
        self.estimate, self.mapping, self.growth = bool(found[1]), bool(found[4]), found[5]
        self.frames = []

    def __repr__(self):
        return f"{self.bytes} in {self.blocks}: {' < '.join(self.frames)}"


def looks(text):
    """The stacks of each interval."""
    result = []
    for line in text.splitlines():
        row = ROW.match(line)
        if re.match(r"^\[\d\d:\d\d:\d\d\] Top \d+ stacks with outstanding allocations:$", line):
            result.append([])
        elif row and result:
            result[-1].append(Stack(row))
        elif line.startswith("\t\t") and result and result[-1]:
            result[-1][-1].frames.append(line.strip())
    return result


def start(arguments, **more):
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hw.clean_environment(),
                            start_new_session=True, text=True, **more)


def end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
    process.wait()


def answer(process, word):
    """Lines up to one that begins with a word."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith(word):
            return lines
    raise hw.Failure(f"no '{word}': {''.join(lines)}")


def tell(process):
    process.stdin.write("\n")
    process.stdin.flush()


@contextlib.contextmanager
def running(program):
    """A target that waits for a line."""
    process = start([program])
    try:
        answer(process, "ready")
        yield process
    finally:
        end(process)


@contextlib.contextmanager
def watching(pid, *options):
    """The command, from when the probes are there. It looks once more when it is asked to end."""
    process = start([hw.HEAPWISE, "watch", "-p", str(pid), "1000", *options], stderr=subprocess.PIPE)
    try:
        first = process.stdout.readline()
        if not first:
            reason = process.stderr.read()
            if any(word in reason for word in REFUSALS):
                raise hw.Skip(f"eBPF is not allowed here: {reason.strip()}")
            raise hw.Failure(reason)
        yield process
    finally:
        end(process)


def last_look(process):
    process.send_signal(signal.SIGINT)
    text = process.stdout.read()
    hw.need(process.wait(hw.TIMEOUT) == 0, f"exit status {process.returncode}: {process.stderr.read()}")
    return text


def expectations(lines):
    """{function: (bytes, blocks)}"""
    found = (re.match(r"# expect: (\w+) (\d+) (\d+)$", line) for line in lines)
    return {row[1]: (int(row[2]), int(row[3])) for row in found if row}


def need_truth(text, expected):
    stacks = looks(text)[-1]
    for function, truth in expected.items():
        rows = [stack for stack in stacks if stack.frames and stack.frames[0].split()[0] == function]
        seen = (sum(row.bytes for row in rows), sum(row.blocks for row in rows))
        hw.need(seen == truth, f"{function}: {seen}, the truth is {truth}\n{text}")
    wrong = [stack for stack in stacks if "site_" in str(stack)
             and not any(stack.frames[0].startswith(name + " ") for name in expected)]
    hw.need(not wrong, f"what is not there: {wrong}")
    return stacks


def watched_truth(program):
    with running(program) as target, watching(target.pid, "--all", "-o", "0", "-T", "100") as command:
        tell(target)
        lines = answer(target, "done")
        return need_truth(last_look(command), expectations(lines))


@TESTS.test
def truth(_):
    """All allocations are counted at their callers, in each way to allocate"""
    stacks = watched_truth(WATCHED)
    for stack in stacks:
        if any("site_" in frame for frame in stack.frames):
            hw.need(re.search(r"_start|clone", stack.frames[-1]), f"the stack is incomplete: {stack}")


@TESTS.test
def static(_):
    """A static program is watched, too"""
    watched_truth(WATCHED_STATIC)


if __name__ == "__main__":
    TESTS.main()
