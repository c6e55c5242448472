#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A process that ends, or becomes another program, at any moment of `heapwise attach` and `detach`; threads that end in the
middle of calls; small stacks.

    test_attach_ends.py [CYCLES]     that many moments for each way to end (default: 4; one with a sanitized command, which takes
                                     many times as long, if HW_TEST_LONG is not set)
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from attaching import IMAGE, RINGS, attached, detach, need_let_go, need_sound, running
from processes import state, status_line
from told import collector_of

TESTS = hw.Tests()
CYCLES = 4 if hw.SANITIZERS == "none" or "HW_TEST_LONG" in os.environ else 1
ENDS = hw.TARGETS / "attached_ends"
WAYS = ("exit", "quick", "exec", "thread-exec", "killed")
EXIT_CODE = 7
# What a command says of a process that has ended, or is no more what it was, while it looked at it.
REASONS = ("no such process", "has ended", "has become another program", "is not attached", "ended while", "it is being started")


def begin_attach(target, file):
    return subprocess.Popen([hw.HEAPWISE, "attach", "-q", str(target.pid), "-f", "-o", file, "--pause", "10s", "--before", "none",
                             "--for", "1ms"], stderr=subprocess.PIPE, env=hw.clean_environment(), start_new_session=True, text=True)


def need_clear(what, status, errors):
    """A command has succeeded, or says in one sentence that the process has ended."""
    if status == 0:
        return
    hw.need(status in (3, 4) and len(errors.strip().splitlines()) == 1 and any(reason in errors for reason in REASONS),
            f"{what}: status {status}: {errors}")


def need_ended(target, way):
    """It has ended as it was to, or is the other program, and runs."""
    if way in ("exec", "thread-exec"):
        hw.need(target.answer() == f"again {target.pid}\n", "it has not become the other program")
        for _ in range(3):
            hw.need(target.tell("here", 5) == 5, "the other program does not answer")
        hw.need(state(target.pid) in "SRD", f"the other program is {state(target.pid)}")
        hw.need("TracerPid:\t0\n" in Path(f"/proc/{target.pid}/status").read_text(), "it is traced still")
    else:
        status = target.process.wait(hw.TIMEOUT)
        hw.need(status == (-9 if way == "killed" else EXIT_CODE), f"it has ended with status {status}")


def end_at(folder, way, delay):
    """Attaches to a target that ends so many seconds later."""
    with running(folder, "exit" if way == "killed" else way, program=ENDS) as target:
        command = begin_attach(target, folder / "x.hpw")
        if way == "killed":
            time.sleep(delay)
            target.process.kill()
        else:
            target.ask("go", int(delay * 1e6))
        _, errors = command.communicate(timeout=hw.TIMEOUT)
        need_clear(f"{way} after {delay * 1e3:.2f} ms", command.returncode, errors)
        need_ended(target, way)
        if command.returncode == 0:
            recording = hw.report(folder / "x.hpw")["recording"]
            hw.need(recording["complete"] and recording["repairs"] == 0, f"{way}: {recording}")
        return command.returncode


@TESTS.test
def at_any_moment(folder):
    """It ends or executes another program at any moment of attaching and letting go: the command says so, nothing is left"""
    seed = random.randrange(1 << 32)
    choose = random.Random(seed)
    with running(folder, "exit", program=ENDS) as target:
        began = time.monotonic()
        need_clear("attach", begin_attach(target, folder / "x.hpw").wait(hw.TIMEOUT), "")
        whole = time.monotonic() - began
        need_let_go(target)
    ended = {0: 0, 3: 0, 4: 0}
    for cycle in range(CYCLES):
        for way in WAYS:
            try:
                ended[end_at(folder, way, choose.uniform(0, 1.1 * whole))] += 1
            except hw.Failure as failure:
                raise hw.Failure(f"cycle {cycle}, {way} of seed {seed}: {failure}") from failure
    print(f"# {ended[0]} recorded, {ended[3] + ended[4]} refused; attaching and letting go took {whole * 1e3:.0f} ms")


@TESTS.test
def looked_at(folder):
    """It ends or executes another program at any moment of a look at its heap: the command says so, nothing is left"""
    seed = random.randrange(1 << 32)
    choose = random.Random(seed)

    def look(target):
        return subprocess.Popen([hw.HEAPWISE, "heap", str(target.pid), "--json"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, env=hw.clean_environment(), start_new_session=True, text=True)

    with running(folder, "exit", program=ENDS) as target:
        began = time.monotonic()
        need_clear("heap", look(target).wait(hw.TIMEOUT), "")
        whole = time.monotonic() - began
    for cycle in range((CYCLES + 1) // 2):
        for way in WAYS:
            delay = choose.uniform(0, whole)
            with running(folder, "exit" if way == "killed" else way, program=ENDS) as target:
                command = look(target)
                if way == "killed":
                    time.sleep(delay)
                    target.process.kill()
                else:
                    target.ask("go", int(delay * 1e6))
                _, errors = command.communicate(timeout=hw.TIMEOUT)
                try:
                    need_clear(f"{way} after {delay * 1e3:.2f} ms", command.returncode, errors)
                    need_ended(target, way)
                except hw.Failure as failure:
                    raise hw.Failure(f"cycle {cycle}, {way} of seed {seed}: {failure}") from failure


@TESTS.test
def executes_itself(folder):
    """A look at a process that executes itself again and again, with 200 threads that end in it: neither waits for the other"""
    looks = 30 if CYCLES > 1 else 8
    process = subprocess.Popen([hw.TARGETS / "executes_itself", "100000"], start_new_session=True)
    try:
        for look in range(looks):
            looked = subprocess.run([hw.HEAPWISE, "heap", str(process.pid), "--json"], stdout=subprocess.DEVNULL, text=True,
                                    stderr=subprocess.PIPE, env=hw.clean_environment(), timeout=hw.TIMEOUT, check=False)
            need_clear(f"look {look}", looked.returncode, looked.stderr)
        hw.need(process.poll() is None, f"it ended with status {process.returncode}")
    finally:
        process.kill()
        process.wait()


@TESTS.test
def asked_again(folder):
    """It is let go although the command is told so again and again before the collector has heard it once"""
    with running(folder) as target:
        target.tell("old", 100)
        with attached(target, folder / "x.hpw", "--before", "none") as command:
            target.tell("new", 10)
            collector = collector_of(folder)
            os.kill(collector, signal.SIGSTOP)
            hw.wait_until(lambda: state(collector) == "T", "the collector is not stopped")
            try:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
                    command.send_signal(number)
                    hw.wait_until(lambda: int(status_line(command.pid, "ShdPnd"), 16) == 0, "the command takes no signal")
            finally:
                os.kill(collector, signal.SIGCONT)
            _, errors = command.communicate(timeout=hw.TIMEOUT)
        hw.need(command.returncode == 0 and "killed" not in errors, f"status {command.returncode}: {errors}")
        hw.need(errors.count("recorded ") == 1, f"{errors}")
        need_let_go(target)
        target.ask("end", 0)
    need_sound(hw.report(folder / "x.hpw")["recording"])


@TESTS.test
def first_thread(folder):
    """A process whose first thread has ended, before it is attached or meanwhile, and whose others go on"""
    def end_first(target):
        target.ask("go", 0)
        hw.wait_until(lambda: state(target.pid) == "Z", "its first thread has ended")

    for early in (True, False):
        with running(folder, "thread", program=ENDS) as target:
            if early:
                end_first(target)
            said = hw.heapwise("attach", str(target.pid), "--for", "1ms", "-o", folder / "early.hpw") if early else None
            if said and "Linux 6.9" in said.errors:
                hw.need(said.status == 4, f"{said}")
                continue
            with attached(target, folder / "x.hpw", "--before", "none") as command:
                if not early:
                    end_first(target)
                wait_for_events(target)
                detach(target)
                _, errors = command.communicate(timeout=hw.TIMEOUT)
            hw.need("another allocator" not in errors, f"{errors}")
            alive = next(task.name for task in Path(f"/proc/{target.pid}/task").iterdir() if state(task.name) != "Z")
            text = Path(f"/proc/{alive}/maps").read_text()
            hw.need(RINGS not in text and text.count(f"{IMAGE} (deleted)") and target.process.poll() is None, "it was not let go")
        report = hw.report(folder / "x.hpw")
        hw.need(report["recording"]["complete"] and report["recording"]["repairs"] == 0, f"{report['recording']}")
        hw.need(report["totals"]["allocations"] > 1000, f"{report['totals']}")
        hw.need("[in no file]" not in hw.heapwise("report", folder / "x.hpw").text, "the program's file is not known")


def wait_for_events(target):
    """Until some thousands have been recorded."""
    hw.wait_until(lambda: json.loads(hw.ask("ctl", str(target.pid), "status", "--json"))["events"] > 5000, "nothing is recorded")


@TESTS.test
def cancelled(folder):
    """Threads that are cancelled, at a point or anywhere in a call, harm nothing: all of it is let go, and can be attached again"""
    for program, word in (("attached_threads", "cancel-deferred"), ("attached_cancelled", "cancel-at-once")):
        with running(folder, program=hw.TARGETS / program) as target:
            hw.need(target.tell(word, 20) == 20, "not all threads clean up")
            for _ in range(3):
                with attached(target, folder / "x.hpw", "--before", "none"):
                    hw.need(target.tell(word, 60) == 60, f"{word}: not all threads clean up")
                    target.tell("round", 100)
                    detach(target)
                need_let_go(target)
                recording = hw.report(folder / "x.hpw")["recording"]
                hw.need(recording["complete"] and recording["lost_events"] == 0, f"{word}: {recording}")
                if word == "cancel-deferred":
                    need_sound(recording)
            hw.need(target.tell("round", 100) == 100, "it was harmed")


# Of the hooks, in bytes: once all is known, and at a first event. (Measured: 408 and 1,296.)
STACK_USUAL, STACK_FIRST = 1024, 4096


@TESTS.test
def small_stacks(folder):
    """The least stacks that there are have room for events, of threads (PTHREAD_STACK_MIN) and of handlers; how deep they are"""
    with running(folder, program=hw.TARGETS / "attached_threads") as target:
        target.tell("depth", 1)
        native = target.tell("depth", 10)
        for options in ((), ("--mode", "sample:1")):
            with attached(target, folder / "x.hpw", "--before", "none", *options):
                first, usual = target.tell("depth", 1), target.tell("depth", 100)
                hw.need(first <= native + STACK_FIRST and usual <= native + STACK_USUAL,
                        f"{first} and {usual} bytes of stack, without events {native}")
                hw.need(target.tell("small", 30) == 30 and target.tell("handlers", 200) == 200, "it was harmed")
                detach(target)
            need_let_go(target)
            need_sound(hw.report(folder / "x.hpw")["recording"])
            print(f"# {first:.0f} bytes of stack at a first event, {usual:.0f} then, {native:.0f} without events")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        CYCLES = int(sys.argv.pop(1))
    TESTS.main()
