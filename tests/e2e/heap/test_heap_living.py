#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that run, in bad company: who looks at them is killed, others look or trace at the same time, their files
are gone. What can be told is told, what can't is said, and they go on as they were."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask  # noqa: E402
from processes import children, status_line  # noqa: E402
from terminal import Terminal  # noqa: E402

tests = hw.Tests()

ODD = hw.TARGETS / "heaps/heap_odd"
SMALL = hw.TARGETS / "heaps/heap_small"
CLASSES = hw.TARGETS / "heaps/heap_classes"


def of_threads(pid, name):
    """What the status of each of its threads says by that name."""
    return {status_line(f"{pid}/task/{task.name}", name) for task in Path(f"/proc/{pid}/task").iterdir()}


def need_untouched(pid):
    hw.wait_until(lambda: not children(pid), "a child was left to it")
    hw.wait_until(lambda: of_threads(pid, "TracerPid") == {"0"}, "it is still traced")


def need_unharmed(pid):
    need_untouched(pid)
    hw.wait_until(lambda: {state[0] for state in of_threads(pid, "State")} == {"S"}, "it does not wait any more")


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
def ended_at_the_prompt(folder):
    """A signal that comes while the prompt answers ends it after that answer, as one that comes while it waits"""
    hw.need_no_sanitizer("it may not trace")
    with Waiting(SMALL, folder) as pid:
        for words in ("", "blocks --limit 1000000\n"):
            with Terminal([hw.HEAPWISE, "heap", "--no-pager", str(pid)], hw.clean_environment(HOME=folder, TERM="dumb")) as terminal:
                terminal.wait("(heapwise) ")
                hw.wait_until(lambda: status_line(terminal.process.pid, "State")[0] == "S", "it waits for no line")
                if words:
                    terminal.type(words)
                    terminal.wait("ADDRESS")  # nobody reads the rest, so it goes on
                terminal.process.send_signal(signal.SIGTERM)
                status, _ = terminal.end()
                hw.need(status == -signal.SIGTERM, f"status {status} after '{words}'")
                need_unharmed(pid)


@tests.test
def many_at_once(folder):
    """Several look at one process at the same time: one after the other, and all are told the same"""
    hw.need_no_sanitizer("it may not trace")
    for program, options in ((SMALL, {}), (ODD, {"ODD": "crowd"})):
        with Waiting(program, folder, hw.clean_environment(**options)) as pid:
            looking = [subprocess.Popen([hw.HEAPWISE, "heap", "--json", str(pid), "types"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=hw.clean_environment()) for _ in range(6)]
            told = [one.communicate(timeout=hw.TIMEOUT) + (one.returncode,) for one in looking]
            hw.need(all(not status for _, _, status in told), f"refused: {[errors for _, errors, _ in told]}")
            types = [json.loads(text)["types"] for text, _, _ in told]
            hw.need(all(one == types[0] for one in types), "they differ")
            need_unharmed(pid)


def times(pid):
    """The processor's time that each thread has had, in ticks."""
    return {task.name: int((task / "stat").read_text().rpartition(")")[2].split()[11]) for task in Path(f"/proc/{pid}/task").iterdir()}


@tests.test
def many_at_once_of_busy(folder):
    """Several look at a process whose threads allocate without an end: no dead child is left to it, and all threads go on"""
    hw.need_no_sanitizer("it may not trace")
    with Waiting(hw.TARGETS / "heaps/heap_churn", folder) as pid:
        threads = set(times(pid))
        looking = [subprocess.Popen([hw.HEAPWISE, "heap", "--no-inference", "--json", str(pid), "types"], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, env=hw.clean_environment()) for _ in range(4)]
        told = [(one.communicate(timeout=hw.TIMEOUT)[1], one.returncode) for one in looking]
        hw.need(all(not status for _, status in told), f"refused: {told}")
        need_untouched(pid)
        before = times(pid)
        hw.need(set(before) == threads, f"it has other threads: {before}, not {threads}")
        # All but the first, which waits for the others.
        hw.wait_until(lambda: all(now > before[thread] for thread, now in times(pid).items() if int(thread) != pid), "a thread stands still")


@tests.test
def traced(folder):
    """Who traces a process already is named, by number and name"""
    strace = hw.need_program("strace")
    with Waiting(SMALL, folder) as pid:
        tracer = subprocess.Popen([strace, "-qq", "-o", folder / "trace", "-p", str(pid)], env=hw.clean_environment())
        try:
            hw.wait_until(lambda: status_line(pid, "TracerPid") == str(tracer.pid) or tracer.poll() is not None, "it is not traced")
            if tracer.poll() is not None:
                raise hw.Skip("strace can't trace here")
            ended = hw.run([hw.HEAPWISE, "heap", str(pid)])
            wanted = f"process {tracer.pid} (strace) is already tracing it"
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
            terminal.wait("expected a whole number")
            terminal.type("types --pointers start\n")
            terminal.wait("only works on the command line")
            terminal.type("quit\n")
            hw.need(terminal.end()[0] == 0, "it does not end well")
        need_unharmed(pid)


COLOUR = re.compile(r"\033\[[0-9;]*m")


@tests.test
def colours_at_the_prompt(folder):
    """--color never and always: of one line of the prompt, or of all; the text is the same"""
    hw.need_no_sanitizer("it may not trace")

    def answers(pid, options, lines):
        with Terminal([hw.HEAPWISE, "heap", "--no-pager", *options, str(pid)], hw.clean_environment(HOME=folder, TERM="xterm")) as terminal:
            terminal.wait("(heapwise) ")
            for line in lines:
                terminal.type(f"{line}\n")
                terminal.wait("\n")  # the line itself, as it is typed
                yield terminal.wait("(heapwise) ")
            terminal.type("quit\n")
            hw.need(terminal.end()[0] == 0, "it does not end well")

    with Waiting(SMALL, folder) as pid:
        usual, plain, again = answers(pid, [], ["leaks --limit 3", "leaks --limit 3 --color never", "leaks --limit 3"])
        hw.need(COLOUR.search(usual) and again == usual, f"no colours: {usual}")
        hw.need("\033" not in plain.replace("\033[?2004", "") and COLOUR.sub("", usual) == plain, f"--color never: {plain}")
        without, coloured = answers(pid, ["--color", "never"], ["leaks --limit 3", "leaks --limit 3 --color always"])
        hw.need(without == plain and coloured == usual, f"--color never for all lines: {without}, {coloured}")
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


def squares(ended):
    """How many objects of a class are named: by the program's own file, or its symbols."""
    return {row["name"]: row["blocks"] for row in json.loads(ended.text)["types"]}.get("geometry::Square")


@tests.test
def replaced(folder):
    """A program whose file was removed, or replaced by another one, is read from what it still holds, which is said once"""
    hw.need_no_sanitizer("it may not trace")
    program = folder / "app"
    shutil.copy(CLASSES, program)
    with Waiting(program, folder) as pid:
        look = [hw.HEAPWISE, "heap", "--json", str(pid), "types"]
        before = hw.run(look)
        hw.need(squares(before) and not before.errors, f"nothing is named, or too much is said: {before}")
        program.unlink()
        removed = hw.run(look)
        shutil.copy(SMALL, program)
        other = hw.run(look)
        for after in (removed, other):
            hw.need(squares(after) == squares(before), f"other names: {after}")
            hw.need(after.errors.count("was removed or replaced") == 1 and str(program) in after.errors,
                    f"it is not said once: {after.errors}")
        need_unharmed(pid)


@tests.test
def debug_information(folder):
    """Debug information that is damaged, packed by zstd or cut off is named once, and all else is told"""
    hw.need_no_sanitizer("it may not trace")
    objcopy = hw.need_program("objcopy")
    damaged, packed, cut = folder / "damaged", folder / "packed", folder / "cut"
    noise, links = folder / "noise", folder / "links"
    noise.write_bytes(bytes([0xFF]) * 4096)
    links.mkdir()

    def make(*arguments):
        return hw.run([objcopy, *map(str, arguments)]).status == 0

    hw.need(make("--update-section", f".debug_info={noise}", CLASSES, damaged), "objcopy makes no damaged file")
    cases = [(damaged, damaged, "is damaged")]
    if make("--compress-debug-sections=zstd", CLASSES, packed):
        cases.append((packed, packed, "compressed with zstd"))
    apart = links / "cut.debug"
    hw.need(make("--only-keep-debug", CLASSES, apart), "objcopy makes no debug file")
    hw.need(make("--strip-debug", f"--add-gnu-debuglink={apart}", CLASSES, cut), "objcopy makes no stripped file")
    apart.write_bytes(apart.read_bytes()[:apart.stat().st_size // 2])
    cases.append((cut, apart, "is truncated"))
    for program, file, words in cases:
        with Waiting(program, folder) as pid:
            ended = hw.run([hw.HEAPWISE, "heap", "--json", "--symbol-path", links, str(pid), "types"])
            lines = [line for line in ended.errors.splitlines() if str(file) in line]
            if words == "compressed with zstd" and not lines:
                continue  # elfutils can read it here
            hw.need(squares(ended) and len(lines) == 1 and words in lines[0], f"{program.name}: {ended.errors or ended}")


PF_KTHREAD = 0x00200000  # include/linux/sched.h


def is_kernel(pid):
    """Also where its other files in /proc are for root alone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return bool(int(stat.rpartition(")")[2].split()[6]) & PF_KTHREAD)


@tests.test
def nobody_there(folder):
    """Dead processes, those of the kernel, and none at all: each is refused with its reason"""
    process = subprocess.Popen(["true"])
    child = process.pid
    hw.wait_until(lambda: status_line(child, "State")[0] == "Z", "it does not end")
    try:
        for pid, words in ((child, "has ended"), (2, "is a kernel thread"), (0x3FFFFFFF, "no such process")):
            if pid == 2 and not is_kernel(pid):
                continue
            ended = hw.run([hw.HEAPWISE, "heap", str(pid)])
            hw.need(ended.status in (3, 4) and str(pid) in ended.errors and words in ended.errors, f"{pid}: {ended}")
            hw.need(not ended.text, f"{pid}: something is shown: {ended}")
    finally:
        process.wait()


@tests.test
def other_root(folder):
    """A process in mounts, a root and PIDs of its own: its files are found there, and what it was before it stays"""
    hw.need_no_sanitizer("it may not trace")
    unshare = hw.need_program("unshare")
    root = folder / "root"
    needed = hw.run(["ldd", CLASSES]).text.split()
    for path in [str(CLASSES)] + [word for word in needed if word.startswith("/")]:
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.move(root / str(CLASSES).lstrip("/"), root / "only-here")
    process = subprocess.Popen([unshare, "--fork", "--pid", "--mount", "--kill-child", "chroot", root, "/only-here", "account", "wait"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=hw.clean_environment(), cwd=folder)
    try:
        if process.stdout.readline() != b"ready\n":
            raise hw.Skip("no namespaces can be made here")
        (pid,) = children(process.pid)
        ended = hw.run([hw.HEAPWISE, "heap", "--json", str(pid), "types"])
        hw.need(squares(ended) and not ended.errors, f"its files are not found: {ended}")
        need_unharmed(pid)
    finally:
        process.kill()
        process.communicate()


@tests.test
def stopped(folder):
    """A process that was stopped (SIGSTOP) is read and stays stopped; SIGCONT has it go on"""
    hw.need_no_sanitizer("it may not trace")
    with Waiting(SMALL, folder) as pid:
        os.kill(pid, signal.SIGSTOP)
        hw.wait_until(lambda: status_line(pid, "State")[0] == "T", "it does not stop")
        ask("heap", "--json", str(pid))
        hw.wait_until(lambda: status_line(pid, "State").startswith("T (stopped)") and not children(pid), "it is not stopped any more")
        os.kill(pid, signal.SIGCONT)
        need_unharmed(pid)


@tests.test
def narrow(folder):
    """A 32-bit process is refused, and goes on"""
    hw.need_no_sanitizer("it may not trace")
    source, program = folder / "narrow.S", folder / "narrow"
    # Says "ready" and waits: write(1, words, 6), then pause().
    source.write_text(".globl _start\n_start: mov $4, %eax\nmov $1, %ebx\nmov $words, %ecx\nmov $6, %edx\nint $0x80\n"
                      "1: mov $29, %eax\nint $0x80\njmp 1b\n.data\nwords: .ascii \"ready\\n\"\n")
    if hw.run([hw.need_program("cc"), "-m32", "-nostdlib", "-static", "-o", program, source]).status:
        raise hw.Skip("no 32-bit program can be made here")
    try:
        waiting = Waiting(program, folder)
    except (OSError, hw.Failure):
        raise hw.Skip("no 32-bit program runs here") from None
    with waiting as pid:
        ended = hw.run([hw.HEAPWISE, "heap", str(pid)])
        hw.need(ended.status == 3 and "32-bit" in ended.errors and not ended.text, f"it is not refused: {ended}")
        need_unharmed(pid)


tests.main()
