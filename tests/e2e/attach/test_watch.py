#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise watch`: what a running process allocates, seen from the kernel, is what the process says."""

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
WATCHED, WATCHED_STATIC, CASES, LOOP, THROWS = (hw.TARGETS / name for name in (
    "watched", "watched_static", "watched_cases", "watched_loop", "watched_throws"))
JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
KEPT_BLOCKS, KEPT_BYTES = 40000, 40000 * 1003
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


def start(arguments, preload=None, **more):
    variables = {"LD_PRELOAD": str(preload)} if preload else {}
    return subprocess.Popen([str(word) for word in arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env=hw.clean_environment(**variables), start_new_session=True, text=True, **more)


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
def running(*command, preload=None):
    """A target that waits for a line."""
    process = start(command, preload)
    try:
        answer(process, "ready")
        yield process
    finally:
        end(process)


def skip_if_refused(reason):
    if any(word in reason for word in REFUSALS):
        raise hw.Skip(f"eBPF is not allowed here: {reason.strip()}")


@contextlib.contextmanager
def watching(pid, *options, before=()):
    """The command, from when the probes are there. It looks once more when it is asked to end."""
    process = start([*before, hw.HEAPWISE, "watch", "-p", str(pid), "1000", *options], stderr=subprocess.PIPE)
    try:
        said = process.stderr.readline()
        if "probed" not in said:
            said += process.stderr.read()
            skip_if_refused(said)
            raise hw.Failure(said)
        yield process
    finally:
        end(process)


def watch_command(command, *options):
    """What is printed of a command that ends by itself."""
    result = hw.heapwise("watch", "-c", command, "1000", "--all", "-o", "0", *options)
    skip_if_refused(result.errors)
    hw.need(result.status == 0, f"{result}")
    return result.text


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


@TESTS.test
def jemalloc(_):
    """An allocator that is a library of its own: its functions, and nothing twice"""
    if not JEMALLOC.exists():
        raise hw.Skip("no libjemalloc.so.2")
    with running(WATCHED, preload=JEMALLOC) as target, watching(target.pid, "--all", "-o", "0", "-T", "100") as command:
        tell(target)
        expected = expectations(answer(target, "done"))
        stacks = need_truth(last_look(command), expected)
    hw.need(not [stack for stack in stacks if stack.mapping and "site_partly_unmapped" not in str(stack)], f"{stacks}")


@TESTS.test
def cases(_):
    """Of commands that end at once the largest leak is 30,000 bytes, by each of eight functions"""
    for function in ("malloc", "calloc", "realloc", "posix_memalign", "valloc", "memalign", "pvalloc", "aligned_alloc"):
        stacks = looks(watch_command(f"{CASES} '{function}'"))[-1]
        hw.need(stacks and (stacks[0].bytes, stacks[0].blocks) == (30000, 1), f"{function}: {stacks}")
        hw.need([frame.split()[0] for frame in stacks[0].frames[:2]] == ["allocate", "main"], f"{stacks[0]}")


@TESTS.test
def static_command(_):
    """A static program is started and watched from its first allocation on"""
    text = watch_command(str(WATCHED_STATIC))  # without a line on stdin it ends
    hw.need(looks(text)[-1], text)


@TESTS.test
def command_missing(_):
    """A command that is not there, and quotes without an end, are errors"""
    for command, reason, status in (("/nowhere/x", "can't execute /nowhere/x", 3), ("'x", "a quote has no end", 2), (" ", "expected a command", 2)):
        result = hw.heapwise("watch", "-c", command)
        skip_if_refused(result.errors)
        hw.need(result.status == status and reason in result.errors, f"{result}")


@TESTS.test
def samples(_):
    """Samples give an estimate that is near the truth, and say how many they are"""
    with running(LOOP, "3") as target, watching(target.pid, "--sample-bytes", "16K", "-o", "0") as command:
        tell(target)
        answer(target, "done")
        text = last_look(command)
    stack = looks(text)[-1][0]
    taken = int(re.search(r"\((\d+) samples\)", stack.growth)[1])
    hw.need(stack.estimate and 2150 < taken < 2750, text)  # 2,450 are expected, and 50 their deviation
    hw.need(abs(stack.bytes / KEPT_BYTES - 1) < 0.2 and abs(stack.blocks / KEPT_BLOCKS - 1) < 0.2, text)


@TESTS.test
def rate(_):
    """One of N allocations is followed with -s N, and stands for N"""
    with running(LOOP, "3") as target, watching(target.pid, "-s", "10", "-o", "0", "-C") as command:
        tell(target)
        answer(target, "done")
        stacks = looks(last_look(command))[-1]
    total = sum(stack.blocks for stack in stacks)
    hw.need(abs(total / KEPT_BLOCKS - 1) < 0.25, f"{stacks}")


@TESTS.test
def sizes(_):
    """Bounds of sizes are inclusive"""
    for options, expected in ((("-z", "1003", "-Z", "1003"), KEPT_BYTES), (("-z", "1004"), 0), (("-Z", "1002"), 0)):
        with running(LOOP, "1") as target, watching(target.pid, "--all", "-o", "0", *options) as command:
            tell(target)
            answer(target, "done")
            stacks = looks(last_look(command))[-1]
        hw.need(sum(stack.bytes for stack in stacks if "allocate_both" in str(stack)) == expected, f"{options}: {stacks}")


@TESTS.test
def deep(_):
    """Stacks without frame pointers are whole, and one with more frames than are kept says so"""
    for depth, is_whole in ((20, True), (300, False)):
        with running(LOOP, depth) as target, watching(target.pid, "--all", "-o", "0") as command:
            tell(target)
            answer(target, "done")
            text = last_look(command)
        stack = looks(text)[-1][0]
        hw.need(stack.bytes == KEPT_BYTES and stack.frames[0].startswith("allocate_both "), text)
        hw.need(("_start" in stack.frames[-1]) == is_whole and ("% of the stacks are incomplete" in text) != is_whole, text)


@TESTS.test
def many_stacks(_):
    """A table of stacks that is full is said, and no byte is lost"""
    with running(LOOP, "17", "40000") as target, watching(target.pid, "--all", "-o", "0", "--json", "-T", "3") as command:
        tell(target)
        answer(target, "done")
        document = json.loads(last_look(command))
    interval = document["intervals"][-1]
    hw.need(interval["lost"]["stacks_full"] > 10000 and interval["live_bytes"] == KEPT_BYTES, f"{interval}")
    others = [stack for stack in interval["stacks"] if "allocator" not in stack]
    hw.need(others and others[0] == interval["stacks"][0] and not others[0]["complete"], f"{interval['stacks']}")


@TESTS.test
def document(_):
    """JSON has what the text has"""
    with running(WATCHED) as target, watching(target.pid, "--all", "-o", "0", "--json", "-T", "100") as command:
        tell(target)
        expected = expectations(answer(target, "done"))
        written = json.loads(last_look(command))
    hw.need((written["schema"], written["pid"], written["exact"]) == ("heapwise.watch/1", target.pid, True), f"{written}")
    interval = written["intervals"][-1]
    for function, truth in expected.items():
        rows = [stack for stack in interval["stacks"] if stack["frames"][0].get("function") == function]
        hw.need((sum(row["live_bytes"] for row in rows), sum(row["live_blocks"] for row in rows)) == truth, f"{function}: {rows}")
    temporary = [stack for stack in interval["stacks"] if stack["frames"][0].get("function") == "site_temporary"]
    hw.need(not temporary and not any(interval["lost"].values()), f"{temporary} {interval['lost']}")


@TESTS.test
def intervals(_):
    """Each interval says what grew since the last one and since the start; COUNT ends it"""
    with running(LOOP, "3") as target, watching(target.pid, "--all", "-o", "0") as _unused:
        result = start([hw.HEAPWISE, "watch", str(target.pid), "1", "3", "--all", "-o", "0"])
        try:
            answer(result, "[")
            tell(target)
            text = result.stdout.read()
        finally:
            end(result)
    found = looks("[00:00:00] Top 10 stacks with outstanding allocations:\n" + text)
    hw.need(len(found) == 3, text)
    hw.need("bytes since the last" in text or not found[1], text)


@TESTS.test
def unharmed(_):
    """A watcher that is killed leaves no probe, and the program's code is as it was"""
    def code(process):
        for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines():
            if "libc.so" in line and " r-xp " in line:
                first, last = (int(word, 16) for word in line.split()[0].split("-"))
                with open(f"/proc/{process.pid}/mem", "rb") as memory:
                    memory.seek(first)
                    return memory.read(last - first)
        raise hw.Failure("no libc")
    with running(LOOP, "3") as target:
        before = code(target)
        with watching(target.pid, "--all") as command:
            hw.need(code(target) != before, "no probe was there")
            command.kill()
            command.wait()
            hw.wait_until(lambda: code(target) == before, "probes are gone")
        tell(target)
        answer(target, "done")
        tell(target)
        hw.need(target.wait(hw.TIMEOUT) == 0, "the program failed")


@TESTS.test
def throwing(_):
    """operator new may throw and be caught, with and without a limit of the address space"""
    for limit, large in (("unlimited", 1 << 46), ("1000000000", 2000000000)):
        target = start(["prlimit", f"--as={limit}", THROWS, large])
        try:
            answer(target, "ready")
            with watching(target.pid, "--all", "-o", "0", "--json", "-T", "100") as command:
                tell(target)
                hw.need(answer(target, "caught")[-1] == "caught 10\n", "exceptions are lost")
                interval = json.loads(last_look(command))["intervals"][-1]
            tell(target)
            hw.need(target.wait(hw.TIMEOUT) == 0, f"the program failed: {target.returncode}")
        finally:
            end(target)
        kept = [stack for stack in interval["stacks"] if "keep_some" in str(stack["frames"])]
        hw.need([(row["live_bytes"], row["live_blocks"]) for row in kept] == [(5 * 1234, 5)], f"{limit}: {kept}")
        hw.need(interval["lost"]["may_throw"] >= 10, f"{limit}: {interval}")


@TESTS.test
def executed(_):
    """What a program had before it executed another one is left out, if both begin at once"""
    command = f"/bin/sh -c 'exec env A=1 {CASES} malloc'"
    for _unused in range(5):
        stacks = looks(watch_command(command))[-1]
        left = [stack for stack in stacks if "[sh]" in str(stack) or "[env]" in str(stack) or "[dash]" in str(stack)]
        hw.need(not left, f"{left}")


@TESTS.test
def rights(folder):
    """CAP_BPF and CAP_PERFMON are enough; without, an error names them"""
    if os.getuid() != 0:
        raise hw.Skip("not root")
    hw.need_program("setpriv")
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    own = start([*nobody, LOOP, "3"])
    try:
        answer(own, "ready")
        capable = (*nobody, "--inh-caps", "+bpf,+perfmon", "--ambient-caps", "+bpf,+perfmon")
        with watching(own.pid, "--all", "-o", "0", before=capable) as command:
            tell(own)
            answer(own, "done")
            stacks = looks(last_look(command))[-1]
        hw.need(stacks and stacks[0].bytes == KEPT_BYTES, f"{stacks}")
        result = hw.run([*nobody, str(hw.HEAPWISE), "watch", str(own.pid), "1", "1"])
        hw.need(result.status == 4 and "CAP_BPF and CAP_PERFMON" in result.errors and "setcap" in result.errors, f"{result}")
        # Of another user's process the kernel may want CAP_SYS_PTRACE, too: older ones do.
        result = hw.run([*capable, str(hw.HEAPWISE), "watch", str(os.getpid()), "1", "1"])
        hw.need(result.status == 0 or "run heapwise as root, or as its user" in result.errors, f"{result}")
    finally:
        end(own)


def completeness(command, most_percent=1):
    interval = json.loads(last_look(command))["intervals"][-1]
    samples, incomplete = interval["samples"], interval["samples_with_incomplete_stacks"]
    hw.need(samples > 1000 and incomplete * 100 <= samples * most_percent, f"{incomplete} of {samples} stacks are incomplete")
    return f"{incomplete} of {samples} stacks are incomplete"


@TESTS.test
def python(_):
    """Of Python's stacks 97 % are complete, also through modules that are loaded meanwhile, whose tables come some milliseconds later"""
    script = ("import sys; print('ready', flush=True); input(); import sqlite3, ctypes, json, decimal; print('loaded', flush=True); input();\n"
              "for i in range(10000): json.loads('[1, {\"a\": [2.5, \"' + 'x' * 600 + '\"]}]'); bytes(1000 + i)\n"
              "c = sqlite3.connect(':memory:'); c.execute('create table t (a)')\n"
              "for i in range(1500): c.execute('insert into t values (?)', ('y' * 900,))\n"
              "print('done', flush=True); input()")
    with running("/usr/bin/python3", "-c", script) as target, watching(target.pid, "--all", "-o", "0", "--json", "-z", "513") as command:
        tell(target)
        answer(target, "loaded")
        tell(target)
        answer(target, "done")
        return completeness(command, 3)


@TESTS.test
def redis(folder):
    """Of the stacks of redis-server under load 99 % are complete"""
    hw.need_program("redis-server")
    hw.need_program("redis-benchmark")
    socket = folder / "socket"
    server = start(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder])
    try:
        hw.wait_until(socket.exists, "redis-server listens")
        with watching(server.pid, "--all", "-o", "0", "--json", "-T", "1") as command:
            hw.run(["redis-benchmark", "-s", str(socket), "-n", "5000", "-t", "set", "-r", "1000", "-q"])
            return completeness(command)
    finally:
        end(server)


@TESTS.test
def refusals(_):
    """What can't be watched is said: no such process, no malloc, wrong words"""
    result = hw.heapwise("watch", "4194303")
    skip_if_refused(result.errors)
    hw.need(result.status == 3 and "no such process" in result.errors, f"{result}")
    for words in (("x",), ("-p", "1", "-c", "x"), ("1", "1", "1", "1"), ("1", "0"), ("1", "-z", "many"), ("1", "-t", "--json"),
                  ("1", "-z", "10", "-Z", "5")):
        result = hw.heapwise("watch", *words)
        hw.need(result.status == 2, f"{words}: {result}")


@TESTS.test
def no_malloc(folder):
    """A program without malloc and without unwind tables, such as one of Go, is not taken for one that can't be read"""
    source, program = folder / "bare.c", folder / "bare"
    source.write_text("void _start(void) { for (;;) __asm__ volatile(\"syscall\" : : \"a\"(34) : \"rcx\", \"r11\", \"memory\"); }\n")
    hw.run([hw.need_program("gcc"), "-static", "-nostdlib", "-fno-asynchronous-unwind-tables", str(source), "-o", str(program)])
    result = hw.heapwise("watch", "-c", str(program), "1", "1")
    skip_if_refused(result.errors)
    hw.need(result.status == 3 and "no malloc that could be found" in result.errors, f"{result}")


if __name__ == "__main__":
    TESTS.main()
