#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise watch --growth`: which stacks touched the memory that is new is what the process says."""

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

TESTS = hw.Tests()
GROWN = hw.TARGETS / "grown"
PAGE = 4096
REFUSALS = ("CAP_BPF", "refuses eBPF", "refuses the programs", "libbpf.so", "built without 'watch'", "Linux 6.7")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def start(arguments, **more):
    return subprocess.Popen([str(word) for word in arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env=hw.clean_environment(), start_new_session=True, text=True, **more)


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


def skip_if_refused(reason):
    if any(word in reason for word in REFUSALS):
        raise hw.Skip(f"eBPF is not allowed here: {reason.strip()}")


@contextlib.contextmanager
def running(*command):
    """A target that waits for a line."""
    process = start(command)
    try:
        answer(process, "ready")
        yield process
    finally:
        end(process)


@contextlib.contextmanager
def following(pid, *options, before=()):
    """The command, from when the start is noted. It looks once more when it is asked to end."""
    process = start([*before, hw.HEAPWISE, "watch", "-p", str(pid), "1000", "--growth", "-T", "1000", *options],
                    stderr=subprocess.PIPE)
    try:
        said = process.stderr.readline()
        if "are followed" not in said:
            said += process.stderr.read()
            skip_if_refused(said)
            raise hw.Failure(said)
        yield process
    finally:
        end(process)


def last_look(process):
    process.send_signal(signal.SIGINT)
    text = process.stdout.read()
    hw.need(process.wait(hw.TIMEOUT) == 0, f"exit status {process.returncode}: {process.stderr.read()}")
    return text


def document_of(process):
    """The document, while others may hold the pipe"""
    text = b""
    while True:
        part = os.read(process.stdout.fileno(), 65536)
        hw.need(part, f"the document is cut: {text[-200:]}")
        text += part
        with contextlib.suppress(ValueError):
            return json.loads(text)


def truth_of(lines):
    """{function: bytes} that were touched, and {(how, function, call): bytes} of mappings"""
    text = "".join(lines)
    return ({name: int(count) for name, count in re.findall(r"^# expect: (\w+) (\d+)$", text, re.M)},
            {row[:3]: int(row[3]) for row in re.findall(r"^# (mapped|unmapped): (\w+) (\w+) (\d+)$", text, re.M)})


def has_frame(stack, function):
    return any(frame.get("function") == function for frame in stack["frames"])


def need_touched(interval, expected):
    for function, truth in expected.items():
        stacks = [stack for stack in interval["touched"] if has_frame(stack, function)]
        hw.need(sum(stack["bytes"] for stack in stacks) == truth, f"{function}: {stacks}, the truth is {truth}")
        for stack in stacks:
            hw.need(stack["complete"] and "start" in stack["frames"][-1].get("function", "") or
                    "clone" in stack["frames"][-1].get("function", ""), f"incomplete: {stack}")


def need_sum(interval):
    """The change of what is in memory is what is touched, not explained and gone; nothing is left over"""
    change = interval["resident_bytes"] - interval["start_resident_bytes"]
    parts = interval["touched_bytes"] + interval["unexplained_bytes"] - interval["gone_bytes"]
    hw.need(change == parts, f"{change} is not {parts}: {interval}")
    hw.need(sum(stack["bytes"] for stack in interval["touched"]) == interval["touched_bytes"], f"{interval}")
    hw.need(not any(interval["lost"].values()), f"{interval['lost']}")


def grow(*words):
    """The last interval, and what the target says."""
    with running(GROWN, *words) as target, following(target.pid, "--json") as command:
        tell(target)
        lines = answer(target, "done")
        document = json.loads(last_look(command))
    hw.need((document["schema"], document["pid"]) == ("heapwise.growth/1", target.pid), f"{document}")
    interval = document["intervals"][-1]
    need_sum(interval)
    return interval, *truth_of(lines)


@TESTS.test
def truth(_):
    """Pages of 4 KiB are counted exactly at the functions that touched them, also by threads, by the kernel in a call, and after reading zeros; given back or copied after fork they are none"""
    interval, expected, mapped = grow()
    need_touched(interval, expected)
    for (how, function, call), truth in mapped.items():
        rows = [stack for stack in interval["mapped"] if has_frame(stack, function) and stack.get("call") == call]
        hw.need(sum(row[how + "_bytes"] for row in rows) == truth, f"{how} {function} {call}: {rows}, the truth is {truth}")
    # Page tables and counters are read one after the other, and the counters of threads that run are behind.
    change = interval["rss_bytes"] - interval["start_rss_bytes"]
    parts = interval["resident_bytes"] - interval["start_resident_bytes"]
    hw.need(abs(change - parts) <= 64 * PAGE * os.cpu_count(), f"RSS grew by {change}, pages by {parts}")
    hw.need(interval["unexplained_bytes"] <= 16 * PAGE, f"{interval['unexplained_bytes']} bytes are not explained")


@TESTS.test
def stack_growth(_):
    """The program's own stack grows where a function goes deeper"""
    interval, _expected, _mapped = grow()
    stacks = [stack for stack in interval["touched"] if has_frame(stack, "site_deep")]
    grown = sum(stack["bytes"] for stack in stacks)
    hw.need(100 * PAGE < grown < 200 * PAGE, f"{grown}: {stacks}")


@TESTS.test
def huge(_):
    """A huge page belongs to the stack that touched one byte of it, and it is said what came with it"""
    if not HUGE_PAGES.exists() or "[never]" in HUGE_PAGES.read_text():
        raise hw.Skip("no transparent huge pages")
    interval, expected, _mapped = grow("huge")
    stacks = [stack for stack in interval["touched"] if has_frame(stack, "site_huge")]
    if stacks and stacks[0]["bytes"] == PAGE:
        raise hw.Skip("the kernel had no huge page left")
    need_touched(interval, {"site_huge": expected["site_huge"]})
    hw.need(stacks[0]["neighbour_bytes"] == expected["site_huge"] - PAGE, f"{stacks}")


@TESTS.test
def text(_):
    """The text has the stacks and the sum"""
    with running(GROWN) as target, following(target.pid) as command:
        tell(target)
        expected, _mapped = truth_of(answer(target, "done"))
        written = last_look(command)
    row = f"\t{expected['site_mapped']} bytes in {expected['site_mapped'] // PAGE} pages touched from stack\n\t\t"
    hw.need(row in written and "stacks that touched new memory:" in written, written)
    frames = written[written.index(row):].split("\n")[1:3]
    hw.need("site_mapped grown.c:" in "".join(frames), f"{frames}")
    sums = re.search(r"^\t(\d+) bytes in memory, \+(\d+) since the start: (\d+) touched \+ (\d+) not explained - (\d+) gone$", written, re.M)
    hw.need(sums and int(sums[2]) == int(sums[3]) + int(sums[4]) - int(sums[5]), written)
    hw.need(re.search(r"^\t2048000 bytes unmapped in 1 call of munmap from stack$", written, re.M), written)


@TESTS.test
def command_growth(_):
    """A command that has ended shows what it touched, from its start on"""
    result = hw.heapwise("watch", "-c", f"{GROWN}", "1000", "--growth", "-T", "1000", "--json")
    skip_if_refused(result.errors)
    hw.need(result.status == 0, f"{result}")
    interval = json.loads(result.text[result.text.index("{"):])["intervals"][-1]  # after the command's own words
    hw.need(interval["has_ended"] and any(has_frame(stack, "main") for stack in interval["touched"]), f"{interval}")


@TESTS.test
def executed(folder):
    """A program that is executed begins with no page: what the one before had is neither gone nor there"""
    said_by_target = folder / "said"
    command = start([hw.HEAPWISE, "watch", "-c", f"/bin/sh -c 'exec {GROWN} > {said_by_target}'", "1000", "--growth",
                     "-T", "1000", "--json"], stderr=subprocess.PIPE)
    try:
        said = command.stderr.readline()
        if "are followed" not in said:
            skip_if_refused(said + command.stderr.read())
            raise hw.Failure(said)
        hw.wait_until(lambda: said_by_target.exists() and "ready" in said_by_target.read_text(), "the target is ready")
        tell(command)
        hw.wait_until(lambda: "done" in said_by_target.read_text(), "the target is done")
        command.send_signal(signal.SIGINT)
        interval = document_of(command)["intervals"][-1]
        hw.need(command.wait(hw.TIMEOUT) == 0, f"exit status {command.returncode}")
    finally:
        end(command)
    hw.need(interval["programs_executed"] >= 1 and not interval["gone_bytes"] and not interval["start_resident_bytes"], f"{interval}")
    need_sum(interval)
    expected, _mapped = truth_of(said_by_target.read_text())
    calls = [stack for stack in interval["mapped"] if stack.get("call") == "brk"]
    hw.need(not any(stack["unmapped_bytes"] for stack in calls), f"the break of another program: {calls}")
    # There was no start at which it had them.
    need_touched(interval, {name: count for name, count in expected.items() if name != "site_copied"})


@TESTS.test
def many_threads(_):
    """500 threads are followed, more than the usual number of descriptors allows"""
    script = ("import threading, mmap; b = threading.Barrier(501)\n"
              "def run(): m = mmap.mmap(-1, 40960); b.wait(); b.wait(); m[0:40960] = bytes(40960); b.wait(); b.wait()\n"
              "threading.stack_size(65536)\n"
              "for i in range(500): threading.Thread(target=run, daemon=True).start()\n"
              "b.wait(); print('ready', flush=True); input(); b.wait(); b.wait(); print('done', flush=True); input()")
    with running("prlimit", "--nofile=100:600", "/usr/bin/python3", "-c", script) as target, \
         following(target.pid, "--json", before=("prlimit", "--nofile=100:600")) as command:
        tell(target)
        answer(target, "done")
        interval = json.loads(last_look(command))["intervals"][-1]
    need_sum(interval)
    # bytes(40960) is one block at a time, or some; the mappings are 500 times ten pages.
    hw.need(interval["touched_bytes"] >= 500 * 10 * PAGE, f"{interval['touched_bytes']}")
    hw.need(interval["unexplained_bytes"] <= 64 * PAGE, f"{interval['unexplained_bytes']} bytes are not explained")


@TESTS.test
def intervals(_):
    """Each interval says what grew since the last; COUNT ends it"""
    with running(GROWN) as target:
        process = start([hw.HEAPWISE, "watch", str(target.pid), "1", "3", "--growth", "-T", "1000"], stderr=subprocess.PIPE)
        try:
            said = process.stderr.readline()
            if "are followed" not in said:
                skip_if_refused(said + process.stderr.read())
                raise hw.Failure(said)
            answer(process, "[")
            tell(target)
            rest = process.stdout.read()
        finally:
            end(process)
    hw.need(rest.count("stacks that touched new memory:") == 2, rest)
    hw.need(re.search(r"pages touched from stack, \+4100096 bytes since the last$", rest, re.M), rest)


@TESTS.test
def rights(_):
    """CAP_BPF and CAP_PERFMON are enough for the user's own process; without, an error names them"""
    if os.getuid() != 0:
        raise hw.Skip("not root")
    hw.need_program("setpriv")
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    with running(*nobody, GROWN) as target:
        capable = (*nobody, "--inh-caps", "+bpf,+perfmon", "--ambient-caps", "+bpf,+perfmon")
        with following(target.pid, "--json", before=capable) as command:
            tell(target)
            expected, _mapped = truth_of(answer(target, "done"))
            need_touched(json.loads(last_look(command))["intervals"][-1], {"site_mapped": expected["site_mapped"]})
        result = hw.run([*nobody, str(hw.HEAPWISE), "watch", str(target.pid), "1", "1", "--growth"])
    hw.need(result.status == 4 and "CAP_BPF and CAP_PERFMON" in result.errors, f"{result}")


@TESTS.test
def refusals(_):
    """Options of allocations are refused, and a process that is not there"""
    for words in (("1", "--growth", "--all"), ("1", "--growth", "-o", "0"), ("1", "--growth", "-a"), ("--growth",)):
        result = hw.heapwise("watch", *words)
        hw.need(result.status == 2, f"{words}: {result}")
    result = hw.heapwise("watch", "4194303", "--growth")
    skip_if_refused(result.errors)
    hw.need(result.status == 3 and "no such process" in result.errors, f"{result}")


if __name__ == "__main__":
    TESTS.main()
