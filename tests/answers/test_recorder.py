#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A recorded process can harm its own recording alone, and nothing is lost silently: processes that speak to the
collector in their own words, children behind a chroot, statuses of children, target and collector killed together."""

import os
import random
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw
from processes import children
from recorded import recorded

TESTS = hw.Tests()
ROUNDS, KEPT, KEPT_BYTES = 20_000, 100, 1001  # as in hostile.c

# What the collector says of the attempt, where that is certain.
WAYS = {
    "cut_off": "Operation not permitted", "cut_short": "Operation not permitted", "longer": "Operation not permitted",
    "holes": "", "garbage": "", "counts": "", "again": "", "root_again": "", "many_hellos": "", "silent": "", "silent_few": "", "flood": "",
    "messages": "", "lies": "", "asks": "", "requests": "",
}


def need_whole(recording, what):
    """All that the two processes without guile have done is there, and nothing else."""
    report = hw.report(recording)
    hw.need(report["recording"]["complete"], f"{what} is incomplete")
    lost = report["recording"]["lost_events"]
    hw.need(not lost, f"{what}: {lost} events lost")
    totals = report["totals"]
    hw.need(totals["allocations"] >= 2 * ROUNDS + KEPT, f"{what}: {totals}")
    hw.need(totals["live_bytes_at_end"] == KEPT * KEPT_BYTES, f"{what}: {totals}")
    return report


def need_believable(recording):
    """Of the hostile process too nothing is said that can't be: a call takes a nanosecond at least."""
    found = hw.report(recording)["recording"]
    processors = os.cpu_count()
    hw.need(found["lost_events"] <= 6 * processors * found["duration_ns"], f"{recording.name}: {found}")
    hw.need(found["longest_wait_ns"] <= found["duration_ns"] and found["children_unrecorded"] < 1000, f"{recording.name}: {found}")
    hw.need(found["stacks_full"] <= processors * found["duration_ns"], f"{recording.name}: {found}")


def try_way(folder, way, answer):
    where = folder / way
    where.mkdir()
    ended = hw.record([hw.ANSWERS / "hostile", way], where / "x.hpw")
    hw.need(ended.status == 0 and not ended.errors, f"{way}: {ended}")
    hw.need(answer in ended.text and "strange" not in ended.text, f"{way}: {ended.text}")
    pid = ended.text.split()[-1]
    report = need_whole(where / "x.hpw", f"{way}: the first process")
    hw.need(report["target"]["exit"]["code"] == 0, f"{way}: {report['target']}")
    report = need_whole(where / f"x.{pid}.hpw", f"{way}: the innocent process")
    hw.need(report["target"]["exit"]["code"] == 17, f"{way}: {report['target']}")
    for path in where.glob("*.hpw"):
        need_believable(path)


for way, answer in WAYS.items():
    TESTS.add(f"Beside a process that does '{way}' others are recorded whole",
              lambda folder, way=way, answer=answer: try_way(folder, way, answer))


@TESTS.test
def statuses_of_children(folder):
    """An ordinary user's recordings say how each of 60 children ended"""
    who = [hw.need_program("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    os.chmod(folder, 0o777)
    ended = hw.run([*who, hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", "--", hw.ANSWERS / "children_end"], cwd="/",
                   env=hw.clean_environment(XDG_CACHE_HOME=folder, XDG_STATE_HOME=folder))
    hw.need(ended.status == 0, str(ended))
    ends = [hw.report(path)["target"]["exit"] or {} for path in folder.glob("x.*.hpw")]
    found = sorted(end.get("code", 0) or -end.get("signal", 0) for end in ends)
    hw.need(found == 10 * [-6] + list(range(1, 51)), f"{len(ends)} children ended: {found}")


def chroot_forks(folder, *arguments):
    if os.geteuid() != 0:
        raise hw.Skip("chroot needs root")
    (folder / "empty").mkdir()
    ended = hw.record([hw.ANSWERS / "chroot_forks", *arguments], folder / "x.hpw", cwd=folder / "empty")
    if ended.status == 77:
        raise hw.Skip("chroot is not allowed here")
    hw.need(ended.status == 0, str(ended))
    children = [hw.report(path) for path in folder.glob("x.*.hpw")]
    return hw.report(folder / "x.hpw"), children


@TESTS.test
def behind_chroot(folder):
    """Children forked behind a chroot are recorded"""
    _, children = chroot_forks(folder)
    hw.need(len(children) == 3, f"{len(children)} of 3 children are recorded")
    for child in children:
        hw.need(child["totals"]["live_bytes_at_end"] == 500 * 321 and child["target"]["exit"] == {"code": 3}, str(child["totals"]))


@TESTS.test
def out_of_reach(folder):
    """Children that can reach no collector are counted"""
    first, children = chroot_forks(folder, "apart")
    unrecorded = first["recording"]["children_unrecorded"]
    hw.need(len(children) + unrecorded == 3 and unrecorded, f"{len(children)} recorded, {unrecorded} counted as unrecorded")


def started(process):
    """The program's process under `heapwise run`, and the collector, which was started later."""
    found = hw.wait_until(lambda: (ids := children(process.pid)) and len(ids) == 2 and ids, "two processes do not start")
    return sorted(int(pid) for pid in found)


def kill_both(folder, number, seconds, options):
    told, recording = folder / f"told{number}", folder / f"x{number}.hpw"
    process = subprocess.Popen([hw.HEAPWISE, "run", "-q", *options, "-o", recording, "--", hw.ANSWERS / "counted_calls", told],
                               env=hw.clean_environment(), stderr=subprocess.DEVNULL)
    ids = started(process)
    count = lambda: struct.unpack("<Q", told.read_bytes()[:8])[0] if told.exists() and told.stat().st_size else 0
    hw.wait_until(count, "the program does not start")
    time.sleep(seconds)  # time is the subject
    target, collector = ids
    os.kill(collector, signal.SIGSTOP)  # so that it has no time between the two
    killed = time.monotonic_ns()
    os.kill(target, signal.SIGKILL)
    os.kill(collector, signal.SIGKILL)
    process.wait()
    times = struct.unpack("<65536Q", told.read_bytes())
    recorded = hw.report(recording)["totals"]["allocations"]
    own = 16  # what libc allocates, at most
    first_lost = max(1, recorded - own)
    lost = times[0] - first_lost
    late = killed - times[1 + first_lost % 65535] if lost > 0 else 0
    what = f"killed after {seconds:.2f} s: of {times[0]} calls {recorded} are recorded, the first lost one is {late / 1e9:.2f} s old"
    hw.need(late <= 1.2e9 and (seconds < 0.4 or recorded), what)
    return late / 1e9


@TESTS.test
def killed_together(folder):
    """Of target and collector killed together only the last second is lost, in every mode"""
    if hw.SANITIZERS != "none":
        raise hw.Skip("it is slow then")
    random.seed(int(os.environ.get("HW_SEED", "1")))
    rounds = int(os.environ.get("HW_KILLS", "8"))
    modes = [(), ("--mode=aggregate",), ("--ring=1M",), ()]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: kill_both(folder, i, random.uniform(0.2, 2.5), modes[i % len(modes)]), range(rounds)))
    return f"at most {max(found):.2f} s are lost"


@TESTS.test
def marks_with_control_characters(folder):
    """A mark is called nothing that moves a terminal, whoever sets it"""
    with recorded(folder, arguments=[hw.ANSWERS / "marks_control"]) as one:
        for name in ("x\033[31my", "x\ny", b"x\xff", "x\x7f"):
            ended = hw.heapwise("mark", str(one.program), name)
            hw.need(ended.status == 64 or ended.status == 2, f"{name!r}: {ended}")
            hw.need("control characters" in ended.errors, ended.errors)
        ended = hw.heapwise("mark", str(one.program), "äöü €")
        hw.need(ended.status == 0, str(ended))
        one.run.communicate(b"")
    marks = hw.ask("report", one.recording, "--view", "marks")
    hw.need("a?]0;x?b" in marks and "äöü €" in marks and "\x1b" not in marks, marks)


@TESTS.test
def fake_collectors(folder):
    """Who only says that it is the collector of a process is not asked"""
    environment = hw.clean_environment()
    process = subprocess.Popen([hw.ANSWERS / "fake_collector", folder / "session"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    said = [process.stdout.readline().strip() for _ in range(2)]
    pid = next(word for word in said if word.isdigit()).decode()
    for command in (("leaks", pid), ("mark", pid, "here")):
        ended = hw.heapwise(*command)
        hw.need(ended.status != 0 and "collector can't be reached" in ended.errors, f"{command}: {ended}")
    process.stdin.close()
    rest = process.stdout.read()
    process.wait()
    hw.need(b"asked" not in rest, "the fake collector was asked")


@TESTS.test
def limits_itself(folder):
    """A program that lowers its limit of address space after its start has it for itself"""
    native = hw.run([hw.ANSWERS / "limits_itself"])
    ended = hw.record([hw.ANSWERS / "limits_itself"], folder / "x.hpw")
    hw.need(native.status == ended.status == 0, f"natively {native}, recorded {ended}")
    report = hw.report(folder / "x.hpw")
    hw.need(not report["recording"]["lost_events"] and report["recording"]["complete"], str(report["recording"]))
    hw.need(report["totals"]["live_bytes_at_end"] >= (120 << 20) + 120_000, str(report["totals"]))


TESTS.main(sanitized_part=2)
