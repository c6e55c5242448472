#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise watch --kernel`: what the kernel allocates for a process that does so on purpose is at the stacks that say so."""

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
PAGE = 4096
# Others on the machine allocate, too.
OTHERS = 100
REFUSALS = ("CAP_BPF", "refuses eBPF", "refuses the programs", "libbpf.so", "built without 'watch'", "tracefs",
            "no tracepoint", "at the tracepoint")


def end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
    process.wait()


def skip_if_refused(reason):
    if any(word in reason for word in REFUSALS):
        raise hw.Skip(f"not allowed here: {reason.strip()}")


@contextlib.contextmanager
def following(folder, *options):
    """The command, from when the tracepoints are there. It looks once more when it is asked to end."""
    words = [str(hw.HEAPWISE), "watch", "--kernel", "1000", "-T", "100000", "-o", "0", *options]
    with (folder / "seen").open("w") as seen:
        process = subprocess.Popen(words, stdout=seen, stderr=subprocess.PIPE, env=hw.clean_environment(),
                                   start_new_session=True, text=True)
    process.said = ""
    try:
        while "are followed" not in process.said:
            line = process.stderr.readline()
            process.said += line
            if not line:
                skip_if_refused(process.said)
                raise hw.Failure(process.said)
        yield process
    finally:
        end(process)


def last_look(folder, process):
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    hw.need(process.wait(hw.TIMEOUT) == 0, f"exit status {process.returncode}: {said}")
    return (folder / "seen").read_text()


def last_interval(folder, process):
    document = json.loads(last_look(folder, process))
    hw.need(document["schema"] == "heapwise.watch/1" and document["kernel"] and "pid" not in document, f"{document.keys()}")
    if "shows no addresses" in process.said:
        raise hw.Skip("names of the kernel are hidden here")
    return document["intervals"][-1]


def at(interval, allocator, function):
    """The stacks of an allocator with a function whose name has that word"""
    return [stack for stack in interval["stacks"] if stack.get("allocator") == allocator and
            any(function in frame.get("function", "") for frame in stack["frames"])]


def total(stacks, member):
    return sum(stack[member] for stack in stacks)


def need_about(stacks, member, truth, interval, each=1):
    """As many, but for what others have, and what the kernel says that it left out"""
    lost = (interval["lost"]["skipped"] or 0) * each
    figure = total(stacks, member)
    hw.need(truth - lost <= figure <= truth + OTHERS * each, f"{member}: {figure}, the truth is {truth}: {stacks}, {interval['lost']}")


@contextlib.contextmanager
def events_open(count):
    numbers = [os.eventfd(0) for _ in range(count)]
    try:
        yield
    finally:
        for number in numbers:
            os.close(number)


@TESTS.test
def objects(folder):
    """Objects that stay are outstanding at one stack, with their size"""
    with following(folder, "--json") as command, events_open(331):
        interval = last_interval(folder, command)
    stacks = at(interval, "kmalloc", "eventfd")
    need_about(stacks, "live_blocks", 331, interval)
    most = max(stacks, key=lambda stack: stack["live_blocks"])
    hw.need(most["live_blocks"] >= 331 - (interval["lost"]["skipped"] or 0), f"not one stack: {stacks}")
    hw.need(most["complete"] and "entry_SYSCALL" in most["frames"][-1]["function"], f"{most}")
    size = most["live_bytes"] / most["live_blocks"]
    hw.need(size in (32, 48, 64, 96, 128), f"an eventfd of {size} bytes")
    hw.need(all(frame["module"] == "kernel" and frame["offset"] > 0 for frame in most["frames"]), f"{most}")


@TESTS.test
def freed(folder):
    """Objects that are gone are not outstanding"""
    with following(folder, "--json") as command:
        with events_open(1331):
            pass
        interval = last_interval(folder, command)
    # Of stacks without outstanding blocks there is no row.
    stacks = at(interval, "kmalloc", "eventfd")
    hw.need(total(stacks, "live_blocks") <= OTHERS + (interval["lost"]["skipped"] or 0), f"{stacks}")


@TESTS.test
def pages(folder):
    """Pages of filled pipes are outstanding, 4096 bytes each"""
    with following(folder, "--json") as command:
        pipes = [os.pipe() for _ in range(16)]
        for _, end_in in pipes:
            os.write(end_in, bytes(16 * PAGE))
        interval = last_interval(folder, command)
        for ends in pipes:
            os.close(ends[0])
            os.close(ends[1])
    stacks = at(interval, "mm_page_alloc", "pipe_write")
    need_about(stacks, "live_blocks", 16 * 16, interval)
    hw.need(total(stacks, "live_bytes") == PAGE * total(stacks, "live_blocks"), f"{stacks}")


@TESTS.test
def percpu(folder):
    """With --percpu, memory of each processor alone: each process that is forked has some"""
    script = ("import os\nread, write = os.pipe()\n"
              "for i in range(21):\n"
              "    if not os.fork(): os.close(write); os.read(read, 1); os._exit(0)\n"
              "print('ready', flush=True); input()\n")
    with following(folder, "--percpu", "--json") as command:
        target = subprocess.Popen(["/usr/bin/python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  start_new_session=True, text=True)
        try:
            hw.need(target.stdout.readline() == "ready\n", "the target did not start")
            interval = last_interval(folder, command)
        finally:
            end(target)
    hw.need({stack["allocator"] for stack in interval["stacks"]} == {"percpu_alloc_percpu"}, f"{interval['stacks']}")
    hw.need(total(at(interval, "percpu_alloc_percpu", "clone"), "live_blocks") >= 21, f"{interval['stacks']}")


@TESTS.test
def sampled(folder):
    """With -s N figures are estimates, N blocks for each that is followed"""
    with following(folder, "--json", "-s", "3") as command, events_open(900):
        document = json.loads(last_look(folder, command))
    interval = document["intervals"][-1]
    stacks = at(interval, "kmalloc", "eventfd")
    blocks = total(stacks, "live_blocks")
    # Six standard deviations.
    hw.need(not document["exact"] and blocks == 3 * total(stacks, "live_samples"), f"{stacks}")
    hw.need(abs(blocks - 900) <= 6 * 3 * (900 * 2 / 9) ** 0.5 + OTHERS + 3 * (interval["lost"]["skipped"] or 0), f"{stacks}")


@TESTS.test
def text(folder):
    """The text is memleak's: header, sums, names with offsets and modules; -a has each block, -z and -Z choose by size"""
    with following(folder, "-a", "-z", "16", "-Z", "128") as command, events_open(331):
        written = last_look(folder, command)
    hw.need(written.startswith("Attaching to kernel allocators, Ctrl+C to quit.\n["), written[:200])
    hw.need("Top 100000 stacks with outstanding allocations:\n" in written, written[:200])
    blocks = re.findall(r"^\taddr = ([0-9a-f]+) size = (\d+)$", written, re.M)
    hw.need(len(blocks) >= 300 and all(16 <= int(size) <= 128 for _, size in blocks), f"{blocks[:20]}")
    hw.need(any(address.startswith("ffff") for address, _ in blocks), f"{blocks[:20]}")
    if "shows no addresses" not in command.said:
        found = re.search(r"^\t\d+ bytes in \d+ allocations from stack\n(\t\t.*\n)*?\t\t\S*eventfd\S*\+0x[0-9a-f]+ \[kernel\]$", written, re.M)
        hw.need(found, written[-3000:])


@TESTS.test
def ages(folder):
    """Younger blocks are left out"""
    with following(folder, "--json", "-o", "1000000") as command, events_open(10):
        interval = json.loads(last_look(folder, command))["intervals"][-1]
    hw.need(not interval["stacks"] and interval["live_blocks"] == 0 and interval["samples"] > 0, f"{interval}")


@TESTS.test
def no_operand(_):
    """Without a process it is the kernel, as for memleak; INTERVAL and COUNT come after --kernel"""
    result = hw.heapwise("watch", "--kernel", "1", "1", "-T", "2")
    skip_if_refused(result.errors)
    hw.need(result.status == 0 and "Top 2 stacks" in result.text and "the whole machine" in result.errors, f"{result}")
    process = subprocess.Popen([str(hw.HEAPWISE), "watch"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=hw.clean_environment(), start_new_session=True, text=True)
    try:
        said = process.stderr.readline()
        hw.need("tracepoints are followed, on the whole machine" in said, said)
    finally:
        end(process)


@TESTS.test
def killed(folder):
    """Of a command that is killed nothing stays in the kernel"""
    bpf_call, link_by_id = 321, 30
    libc = ctypes.CDLL(None, use_errno=True)

    def exists(number):
        attribute = (ctypes.c_uint32 * 32)(number)
        descriptor = libc.syscall(bpf_call, link_by_id, attribute, 128)
        if descriptor >= 0:
            os.close(descriptor)
        return descriptor >= 0

    with following(folder) as command:
        links = []
        for info in Path(f"/proc/{command.pid}/fdinfo").iterdir():
            links += [int(number) for number in re.findall(r"^link_id:\s*(\d+)$", info.read_text(), re.M)]
        hw.need(len(links) >= 6 and all(exists(number) for number in links), f"{links}")
        command.kill()
        command.wait()
    hw.wait_until(lambda: not any(exists(number) for number in links), "the links are gone")


@TESTS.test
def rights(_):
    """Errors name what is missing, and what else there is"""
    if os.getuid() != 0:
        raise hw.Skip("not root")
    hw.need_program("setpriv")
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    for words in (("--kernel", "1", "1"), ()):
        result = hw.run([*nobody, str(hw.HEAPWISE), "watch", *words])
        hw.need(result.status == 4 and "'heapwise watch PID'" in result.errors and
                ("CAP_BPF and CAP_PERFMON" in result.errors or "built without" in result.errors), f"{result}")
    capable = (*nobody, "--inh-caps", "+bpf,+perfmon", "--ambient-caps", "+bpf,+perfmon")
    result = hw.run([*capable, str(hw.HEAPWISE), "watch", "--kernel", "1", "1"])
    hw.need(result.status in (0, 4), f"{result}")
    if result.status == 4 and "tracefs" not in result.errors:
        skip_if_refused(result.errors)
    hw.need(result.status == 0 or "root (CAP_SYS_ADMIN)" in result.errors, f"{result}")


@TESTS.test
def refusals(_):
    """What is of processes alone is refused"""
    for words in (("--kernel", "-p", "1"), ("--kernel", "-c", "true"), ("--percpu", "-p", "1"), ("--kernel", "--growth"),
                  ("--kernel", "--verify"), ("--kernel", "--sample-bytes", "1M"), ("--kernel", "-t"), ("--kernel", "-O", "c"),
                  ("--kernel", "-o", "x.hpw"), ("--kernel", "1", "1", "1"), ("--growth",), ("-o", "x.hpw"), ("--verify",)):
        result = hw.heapwise("watch", *words)
        hw.need(result.status == 2, f"{words}: {result}")


if __name__ == "__main__":
    # One at a time: each sees what the others do.
    TESTS.main(width=1)
