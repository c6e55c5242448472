# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that run already and are attached, for tests of `heapwise attach`."""

import contextlib
import math
import os
import re
import signal
import subprocess
from pathlib import Path

import hw
from processes import status_line
from told import Told

TARGET = hw.TARGETS / "attached"
HOOKED = ("malloc", "calloc", "realloc", "reallocarray", "free", "posix_memalign", "aligned_alloc", "dlclose")
IMAGE, RINGS = "/memfd:heapwise-attach", "heapwise-rings."
GONE = "nothing is recorded there any more"


@contextlib.contextmanager
def running(folder, *arguments, program=TARGET, preload=None, before=(), keep=()):
    """A target that was started without heapwise."""
    more = {"LD_PRELOAD": preload} if preload else {}
    process = subprocess.Popen([*before, program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=folder, start_new_session=True, pass_fds=keep,
                               env=hw.clean_environment(**more))
    try:
        yield Told(folder, process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def pid_of(target):
    """A target, or a process by its number."""
    return str(getattr(target, "pid", target))


@contextlib.contextmanager
def attached(target, file, *options, by=()):
    """The command, from when the target is recorded. A busy machine may take its time to stop all threads. `by`: what runs it."""
    process = subprocess.Popen([*by, hw.HEAPWISE, "attach", pid_of(target), "-f", "-o", file, "--pause", "10s", *options], stderr=subprocess.PIPE,
                               env=hw.clean_environment(), start_new_session=True, text=True)
    try:
        said = process.stderr.readline()
        hw.need("is recorded to" in said, f"attach: {said}{process.stderr.read() if not said.strip() else ''}")
        yield process
        if process.poll() is None:
            process.wait(hw.TIMEOUT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stderr.close()
        process.wait()


def detach(target, by=()):
    result = hw.run([*by, hw.HEAPWISE, "detach", pid_of(target)])
    hw.need(result.status == 0, f"detach: {result}")
    return result.errors


def maps(target):
    return Path(f"/proc/{target.pid}/maps").read_text()


def need_going_on(pid):
    """It goes to sleep and wakes up some more times."""
    def slept():
        try:
            return int(status_line(pid, "voluntary_ctxt_switches"))
        except (FileNotFoundError, ProcessLookupError) as error:
            raise hw.Failure(f"process {pid} has gone") from error
    until = slept() + 5
    hw.wait_until(lambda: slept() >= until, f"process {pid} does not go on")


def need_let_go(target):
    """Of what was mapped the code alone is left, once."""
    text = maps(target)
    hw.need(RINGS not in text, "its rings are still mapped")
    hw.need(len([line for line in text.splitlines() if IMAGE in line and " r-xp " in line]) == 1, text)


def need_sound(recording, detached=True):
    hw.need(recording["complete"], f"{recording}")
    hw.need(recording.get("detached", False) == detached, f"{recording}")
    hw.need(recording["attached_ns"] > 0, f"{recording}")
    for figure in ("lost_events", "repairs", "unknown_frees", "mismatched_frees", "stacks_full"):
        hw.need(recording[figure] == 0, f"{figure}: {recording}")


def program_slots(target, program=TARGET):
    """What a program's or a library's own references to functions of libc lead to, by name: the words themselves."""
    start = min(int(line.split("-")[0], 16) for line in maps(target).splitlines() if line.endswith(str(program)))
    listed = subprocess.run(["readelf", "-rW", program], capture_output=True, text=True, check=True).stdout
    found = {}
    with open(f"/proc/{target.pid}/mem", "rb") as memory:
        for offset, name in re.findall(r"^([0-9a-f]+) .* (\w+)(?:@GLIBC\S*)? \+ 0$", listed, re.M):
            memory.seek(start + int(offset, 16))
            found[name] = memory.read(8)
    return {name: word for name, word in found.items() if name in HOOKED}


def kept_sizes(count):
    """Of the blocks that `keep` allocates."""
    return [100 + number % 900 for number in range(count)]


def deviation(sizes, mean, of_bytes=True):
    """The standard deviation of the estimate of a sum over blocks that are sampled each by itself (Horvitz and Thompson)."""
    spread = 0.0
    for size in sizes:
        chance = -math.expm1(-(size + 1) / mean)
        spread += (size * size if of_bytes else 1) * (1 - chance) / chance
    return math.sqrt(spread)


def need_near(found, sizes, mean, what, of_bytes=True):
    truth, off = sum(sizes) if of_bytes else len(sizes), 5 * deviation(sizes, mean, of_bytes)
    hw.need(abs(found - truth) <= off + 1, f"{what}: {found}, not {truth} within {off:.0f}")
