#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that run, in bad company: who looks at them is killed, others look or trace at the same time, their files
are gone. What can be told is told, what can't is said, and they go on as they were."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask  # noqa: E402
from terminal import Terminal  # noqa: E402

tests = hw.Tests()

SMALL = hw.TARGETS / "heaps/heap_small"
CLASSES = hw.TARGETS / "heaps/heap_classes"


def children(pid):
    return [int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()]


def field(pid, name):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(name + ":"))


def wait_until(holds, what):
    """There is no event that tells of another's child."""
    end = time.monotonic() + hw.TIMEOUT
    while not holds():
        hw.need(time.monotonic() < end, what)
        os.sched_yield()


def need_unharmed(pid):
    wait_until(lambda: not children(pid), "a child was left to it")
    wait_until(lambda: field(pid, "TracerPid") == "0", "it is still traced")
    wait_until(lambda: field(pid, "State")[0] == "S", "it does not wait any more")


@tests.test
def killed_at_the_prompt(folder):
    """SIGKILL while a process has a copy: the copy ends, and no dead child is left to it"""
    hw.need_no_sanitizer("it may not trace")
    with Waiting(SMALL, folder) as pid:
        for whole_group in (False, True):
            with Terminal([hw.HEAPWISE, "heap", "--no-pager", str(pid)], hw.clean_environment(HOME=folder, TERM="dumb")) as terminal:
                terminal.wait("in use")
                hw.need(len(children(pid)) == 1, "there is no copy")
                (os.killpg if whole_group else os.kill)(terminal.process.pid, signal.SIGKILL)
                need_unharmed(pid)


@tests.test
def many_at_once(folder):
    """Several look at one process at the same time: one after the other, and all are told the same"""
    hw.need_no_sanitizer("it may not trace")
    with Waiting(SMALL, folder) as pid:
        looking = [subprocess.Popen([hw.HEAPWISE, "heap", "--json", str(pid), "types"], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env=hw.clean_environment()) for _ in range(6)]
        told = [one.communicate(timeout=hw.TIMEOUT) + (one.returncode,) for one in looking]
        hw.need(all(not status for _, _, status in told), f"refused: {[errors for _, errors, _ in told]}")
        types = [json.loads(text)["types"] for text, _, _ in told]
        hw.need(all(one == types[0] for one in types), "they differ")
        need_unharmed(pid)


@tests.test
def traced(folder):
    """Who traces a process already is named, by number and name"""
    strace = hw.need_program("strace")
    with Waiting(SMALL, folder) as pid:
        tracer = subprocess.Popen([strace, "-qq", "-o", folder / "trace", "-p", str(pid)], env=hw.clean_environment())
        try:
            wait_until(lambda: field(pid, "TracerPid") == str(tracer.pid) or tracer.poll() is not None, "it is not traced")
            if tracer.poll() is not None:
                raise hw.Skip("strace can't trace here")
            ended = hw.run([hw.HEAPWISE, "heap", str(pid)])
            wanted = f"process {tracer.pid} (strace) traces it already"
            hw.need(ended.status == 4 and wanted in ended.errors, f"it does not say who: {ended}")
        finally:
            tracer.terminate()
            tracer.wait()
        need_unharmed(pid)


@tests.test
def options_at_the_prompt(folder):
    """Options go with each line of the prompt, as on the command line, and for that line alone"""
    hw.need_no_sanitizer("it may not trace")
    with Waiting(SMALL, folder) as pid:
        with Terminal([hw.HEAPWISE, "heap", "--no-pager", str(pid)], hw.clean_environment(HOME=folder, TERM="dumb")) as terminal:
            terminal.wait("in use")
            terminal.type("types --json --limit 2\n")
            shown = terminal.wait("\n}")
            hw.need(len(json.loads(shown[shown.index("{"):])["types"]) == 2, f"not two types: {shown}")
            terminal.type("types\n")
            hw.need("{" not in terminal.wait("more"), "the option stays")
            terminal.type("types --limit none\n")
            terminal.wait("wants a whole number")
            terminal.type("types --pointers start\n")
            terminal.wait("is for the command line")
            terminal.type("quit\n")
            hw.need(terminal.end()[0] == 0, "it does not end well")
        need_unharmed(pid)


@tests.test
def beyond_mappings(folder):
    """Memory that is not there, addresses that are none: said, not passed over"""
    hw.need_no_sanitizer("it may not trace")
    with Waiting(SMALL, folder) as pid:
        end = next(int(line.split()[0].split("-")[1], 16) for line in Path(f"/proc/{pid}/maps").read_text().splitlines()
                   if line.endswith("[heap]"))
        for verb in (["hexdump"], ["strings"]):
            ended = hw.run([hw.HEAPWISE, "heap", str(pid), *verb, hex(end - 64), "8192"])
            hw.need(ended.status == 0 and f"from {end:#x} on" in ended.errors, f"{verb}: it is not said: {ended}")
            ended = hw.run([hw.HEAPWISE, "heap", str(pid), *verb, hex(end - 64), "64"])
            hw.need(ended.status == 0 and not ended.errors, f"{verb}: too much is said: {ended}")
            ended = hw.run([hw.HEAPWISE, "heap", str(pid), *verb, hex(end), "64"])
            hw.need(ended.status == 3 and "nothing can be read" in ended.errors, f"{verb}: {ended}")
        for verb in ("why", "block", "hexdump"):
            ended = hw.run([hw.HEAPWISE, "heap", str(pid), verb, "0x10000000000000001"])
            hw.need(ended.status == 2 and "more than 64 bits" in ended.errors, f"{verb}: {ended}")


tests.main()
