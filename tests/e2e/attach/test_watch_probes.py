#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise watch --probes`: in each way to probe functions, what is seen is what the process says."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import hw
import test_watch as watch

TESTS = hw.Tests()
WAYS = {"auto": None, "multi": None, "perf": "uprobes of perf"}


def need_way(way, name):
    hw.need(WAYS[way] in (None, name) and (way == "perf") == (name == "uprobes of perf"), f"--probes={way} is {name}")


@TESTS.test
def truths(_):
    """All allocations are counted at their callers, in a dynamic and in a static program"""
    for way in WAYS:
        for program in (watch.WATCHED, watch.WATCHED_STATIC):
            with watch.running(program) as target, \
                 watch.watching(target.pid, "--all", "-o", "0", "-T", "100", "--json", f"--probes={way}") as command:
                watch.tell(target)
                expected = watch.expectations(watch.answer(target, "done"))
                written = json.loads(watch.last_look(command))
            need_way(way, written["way"])
            stacks = written["intervals"][-1]["stacks"]
            for function, truth in expected.items():
                rows = [stack for stack in stacks if stack["frames"][0].get("function") == function]
                seen = (sum(row["live_bytes"] for row in rows), sum(row["live_blocks"] for row in rows))
                hw.need(seen == truth, f"{way}, {program.name}, {function}: {seen}, the truth is {truth}")


@TESTS.test
def cases(_):
    """Of commands that end at once the largest leak is 30,000 bytes, by each of eight functions"""
    for function in ("malloc", "calloc", "realloc", "posix_memalign", "valloc", "memalign", "pvalloc", "aligned_alloc"):
        stacks = watch.looks(watch.watch_command(f"{watch.CASES} '{function}'", "--probes=perf"))[-1]
        hw.need(stacks and (stacks[0].bytes, stacks[0].blocks) == (30000, 1), f"{function}: {stacks}")


@TESTS.test
def samples(_):
    """Samples give an estimate that is near the truth by events of perf, too"""
    with watch.running(watch.LOOP, "3") as target, \
         watch.watching(target.pid, "--sample-bytes", "16K", "-o", "0", "--probes=perf") as command:
        watch.tell(target)
        watch.answer(target, "done")
        stack = watch.looks(watch.last_look(command))[-1][0]
    hw.need(stack.estimate and abs(stack.bytes / watch.KEPT_BYTES - 1) < 0.2, f"{stack}")


@TESTS.test
def throwing(_):
    """operator new may throw and be caught: its return is not probed"""
    target = watch.start(["prlimit", "--as=1000000000", watch.THROWS, 2000000000])
    try:
        watch.answer(target, "ready")
        with watch.watching(target.pid, "--all", "-o", "0", "--json", "-T", "100", "--probes=perf") as command:
            watch.tell(target)
            hw.need(watch.answer(target, "caught")[-1] == "caught 10\n", "exceptions are lost")
            interval = json.loads(watch.last_look(command))["intervals"][-1]
        watch.tell(target)
        hw.need(target.wait(hw.TIMEOUT) == 0, f"the program failed: {target.returncode}")
    finally:
        watch.end(target)
    hw.need(interval["lost"]["may_throw"] >= 10, f"{interval}")


@TESTS.test
def let_go(_):
    """A watcher that is killed leaves no probe of perf"""
    def code(process):
        for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines():
            if "libc.so" in line and " r-xp " in line:
                first, last = (int(word, 16) for word in line.split()[0].split("-"))
                with open(f"/proc/{process.pid}/mem", "rb") as memory:
                    memory.seek(first)
                    return memory.read(last - first)
        raise hw.Failure("no libc")
    with watch.running(watch.LOOP, "3") as target:
        before = code(target)
        with watch.watching(target.pid, "--all", "--probes=perf") as command:
            hw.need(code(target) != before, "no probe was there")
            command.kill()
            command.wait()
            hw.wait_until(lambda: code(target) == before, "probes are gone")
        watch.tell(target)
        watch.answer(target, "done")


@TESTS.test
def rights(_):
    """Events of perf take CAP_SYS_ADMIN, and an error names it and the other way"""
    if os.getuid() != 0:
        raise hw.Skip("not root")
    hw.need_program("setpriv")
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    own = watch.start([*nobody, watch.LOOP, "3"])
    try:
        watch.answer(own, "ready")
        capable = (*nobody, "--inh-caps", "+bpf,+perfmon", "--ambient-caps", "+bpf,+perfmon")
        result = hw.run([*capable, str(hw.HEAPWISE), "watch", str(own.pid), "1", "1", "--probes=perf"])
        watch.skip_if_refused(result.errors.replace("CAP_BPF and CAP_PERFMON alone", ""))
        hw.need(result.status == 4 and "uprobes of perf take CAP_SYS_ADMIN" in result.errors, f"{result}")
    finally:
        watch.end(own)
    result = hw.heapwise("watch", "1", "--probes=some")
    hw.need(result.status == 2 and "expected auto, multi or perf" in result.errors, f"{result}")


if __name__ == "__main__":
    TESTS.main()
