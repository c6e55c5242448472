#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that a recorded one starts and that cannot be recorded: each is listed by program, reason and process in
the recording of who started it, and shown by `run`, by the report, and in the table of several recordings. The
target is tests/targets/processes/starts.c."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from sessions import environment, wait_sessions

TESTS = hw.Tests()
STARTS = hw.TARGETS / "starts"
STATIC = hw.TARGETS / "refused_static"
ONE_BLOCK = hw.TARGETS / "one_block"
NAMED_MAX = 1000  # HPW_UNRECORDED_MAX


def record(folder, *command, options=(), **more):
    """The program under `run`: it must end with 0. Returns what it printed, and the reports by file name."""
    ended = hw.record(command, folder / "x.hpw", options=options, env=environment(folder), **more)
    wait_sessions(folder)
    hw.need(ended.status == 0, str(ended))
    reports = {path.name: hw.report(path) for path in folder.glob("*.hpw")}
    for name, report in reports.items():
        hw.need(report["recording"]["complete"], f"{name} is incomplete")
        named = sum(group["count"] for group in report["recording"]["unrecorded"])
        hw.need(named == min(report["recording"]["children_unrecorded"], NAMED_MAX) or "untold" in command,
                f"{name} names {named} of {report['recording']['children_unrecorded']}")
    return ended, reports


def listed(reports):
    """[(file name, program, reason, itself, PID)] of all that the recordings list."""
    return [(name, group["program"], group["reason"], group["itself"], process["pid"])
            for name, report in sorted(reports.items())
            for group in report["recording"]["unrecorded"] for process in group["processes"]]


def compiled(folder, compiler, *arguments):
    program = folder / "program"
    ended = hw.run([hw.need_program(compiler), "-o", program, *arguments])
    if ended.status != 0:
        raise hw.Skip(f"{compiler} can't build it: {hw.shorten(ended.errors, 200)}")
    return program


def static(_):
    return STATIC


def sanitized(kind):
    def find(_):
        program = hw.TARGETS / f"refused_{kind}"
        if not program.exists():
            raise hw.Skip(f"this compiler has no {kind} sanitizer")
        return program

    return find


def narrow(folder):
    source = folder / "narrow.S"
    # exit_group(0), as a 32-bit program asks for it.
    source.write_text(".globl _start\n_start:\nmov $0, %ebx\nmov $252, %eax\nint $0x80\n"
                      '.section .note.GNU-stack,"",@progbits\n')
    program = compiled(folder, "gcc", "-m32", "-nostdlib", "-static", source)
    try:
        hw.run([program])
    except OSError as error:
        raise hw.Skip(f"this kernel runs no 32-bit program: {error}") from None
    return program


def with_musl(folder):
    return compiled(folder, "musl-gcc", hw.SOURCE / "tests/targets/calls/refused.c")


def with_rights(folder):
    if os.geteuid():
        raise hw.Skip("only root can make one")
    if os.statvfs(folder).f_flag & os.ST_NOSUID:
        raise hw.Skip("set-user-ID means nothing in this folder")
    folder.chmod(0o755)
    program = shutil.copy(ONE_BLOCK, folder / "other")
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    return program


def script_of_static(folder):
    """A script is as its interpreter."""
    program = folder / "script"
    program.write_text(f"#!{STATIC}\n")
    program.chmod(0o700)
    return program


KINDS = {
    "static": (static, "static"),
    "set-user-ID": (with_rights, "setuid"),
    "32-bit": (narrow, "32-bit"),
    "musl": (with_musl, "musl"),
    "-fsanitize=address": (sanitized("address"), "sanitizer"),
    "-fsanitize=thread": (sanitized("thread"), "sanitizer"),
    "script of a static one": (script_of_static, "static"),
}


def started(kind, way):
    find, reason = KINDS[kind]

    def test(folder):
        program = find(folder)
        ended, reports = record(folder, STARTS, way, program)
        pids = [int(line) for line in ended.text.split() if line.isdigit()]
        rows = listed(reports)
        hw.need(len(rows) == 1 and rows[0][1:3] == (str(program), reason), f"{rows}")
        hw.need(way == "system" or rows[0][4] == pids[0], f"process {pids}, listed {rows}")
        hw.need(way in ("fork", "system") or rows[0][0] == "x.hpw", f"{rows}")
        hw.need(f": {program.name} (" in ended.errors, ended.errors)

    return test


for kind in KINDS:
    for way in ("fork", "vfork", "posix_spawn", "system"):
        TESTS.add(f"Started by {way}, {kind}: listed with program, reason and process", started(kind, way))


@TESTS.test
def itself(folder):
    """A program that goes on as one that can't be recorded says so, in the words of the process itself"""
    ended, reports = record(folder, STARTS, "exec", STATIC)
    hw.need(listed(reports) == [("x.hpw", str(STATIC), "static", True, int(ended.text.split()[0]))], f"{listed(reports)}")
    notes = reports["x.hpw"]["notes"]
    hw.need(f"After exec, the process ran unrecorded as {STATIC} (static)." in notes, f"{notes}")


@TESTS.test
def failing(folder):
    """Programs that could not be started after all are not listed, and the error is the kernel's"""
    ended, reports = record(folder, STARTS, "failing", STATIC)
    hw.need([row[4] for row in listed(reports)] == [int(word) for word in ended.text.split() if word.isdigit()],
            f"{ended.text} {listed(reports)}")
    hw.need(sum(r["recording"]["children_unrecorded"] for r in reports.values()) == 1, "more are counted")
    hw.need("1 other process that it started was not recorded: refused_static (static)" in ended.errors, ended.errors)


@TESTS.test
def untold(folder):
    """Started where the session's path leads nowhere: the collector is reached by its other name, and told"""
    _, reports = record(folder, STARTS, "untold", STATIC)
    recording = reports["x.hpw"]["recording"]
    rows = [(row["reason"], row["count"]) for row in recording["unrecorded"]]
    hw.need(recording["children_unrecorded"] == 1 and rows == [("static", 1)], f"{recording}")


def need_pids(ended, reports, reason="static"):
    """Exactly the processes whose PIDs were printed are listed."""
    printed = sorted(int(line) for line in ended.text.split() if line.isdigit())
    found = sorted(row[4] for row in listed(reports))
    hw.need(printed and found == printed, f"printed {printed}, listed {found}")
    hw.need(all(row[2] == reason for row in listed(reports)), f"{listed(reports)}")


@TESTS.test
def last_words(folder):
    """A program that ends as soon as it has started many: all are in its recording"""
    ended, reports = record(folder, STARTS, "unwaited", STATIC, "400")
    hw.need(reports["x.hpw"]["recording"]["children_unrecorded"] == 400, f"{reports['x.hpw']['recording']}")
    need_pids(ended, reports)


@TESTS.test
def grandchildren(folder):
    """A recorded child's children are listed in that child's recording"""
    ended, reports = record(folder, STARTS, "child", STATIC)
    need_pids(ended, reports)
    hw.need(len(reports) == 2 and not reports["x.hpw"]["recording"]["unrecorded"], f"{listed(reports)}")


def full(program, reason):
    def test(folder):
        path = program(folder)
        ended, reports = record(folder, STARTS, "full", path)
        need_pids(ended, reports, reason)

    return test


TESTS.add("Started by a program without a free descriptor: listed", full(static, "static"))
TESTS.add("Started by a program without a free descriptor, -fsanitize=address: runs, and is listed",
          full(sanitized("address"), "sanitizer"))


@TESTS.test
def small_stack(folder):
    """Started by a thread with the smallest stack there is: listed, and nothing breaks"""
    ended, reports = record(folder, STARTS, "small", STATIC)
    need_pids(ended, reports)


@TESTS.test
def kept_few(folder):
    """They are listed too where the events are not kept"""
    for options in (("--ring=64K",), ("--max-file=64K",), ("--mode=aggregate",), ("--mode=sample",)):
        ended, reports = record(folder, STARTS, "vfork", STATIC, "20", options=("-f", *options))
        need_pids(ended, reports)


@TESTS.test
def alone(folder):
    """Without the command, by LD_PRELOAD alone"""
    library = hw.BUILD / "src/runtime/libheapwise-rt.so"
    ended = hw.run([STARTS, "posix_spawn", STATIC, "3"], cwd=folder,
                   env=environment(folder, LD_PRELOAD=library, HEAPWISE_OPTIONS="-o x.hpw"))
    wait_sessions(folder)
    hw.need(ended.status == 0, str(ended))
    need_pids(ended, {"x.hpw": hw.report(folder / "x.hpw")})


@TESTS.test
def contained(folder):
    """In a PID namespace of its own: by the numbers that the program sees"""
    inside = ("unshare", "--pid", "--fork", "--mount-proc", "--map-root-user")
    if hw.run([*inside, "true"]).status:
        raise hw.Skip("no namespaces here")
    ended, reports = record(folder, *inside, STARTS, "fork", STATIC, "2")
    need_pids(ended, reports)
    ended, reports = record(folder, *inside, STARTS, "posix_spawn", STATIC, "2", options=("-f",))
    need_pids(ended, {name: report for name, report in reports.items()
                      if report["target"]["command"][1:2] == ["posix_spawn"]})


def storm(way, count):
    def test(folder):
        ended, reports = record(folder, STARTS, way, STATIC, str(count))
        recording = reports["x.hpw"]["recording"]
        hw.need(recording["children_unrecorded"] == count, f"{recording['children_unrecorded']} are counted")
        pids = [int(line) for line in ended.text.split() if line.isdigit()]
        told = [process["pid"] for group in recording["unrecorded"] for process in group["processes"]]
        hw.need(len(pids) == count and told == pids[:NAMED_MAX], f"{len(told)} are named, or others")
        times = [process["start_ns"] for group in recording["unrecorded"] for process in group["processes"]]
        hw.need(times == sorted(times) and times[0] > 0, "their times do not ascend")
        words = f"2,000 child processes ran unrecorded: 1,000 × {STATIC} (static) and 1,000 more."
        hw.need(words in reports["x.hpw"]["notes"], f"{reports['x.hpw']['notes']}")
        hw.need("2,000 other processes that it started were not recorded: 2,000 × refused_static (static)"
                in ended.errors, ended.errors)
        return f"{way}: {count} in {recording['duration_ns'] / 1e9:.1f} s"

    return test


for way in ("vfork", "posix_spawn"):
    TESTS.add(f"A storm of 2,000 by {way}: all counted, the first 1,000 named", storm(way, 2000))


@TESTS.test
def unwanted(folder):
    """What --children leaves out is listed as that, static or not, and a process once, as what it became"""
    script = f'{STATIC}; {ONE_BLOCK}; env {ONE_BLOCK}; true'
    ended, reports = record(folder, "/bin/sh", "-c", script, options=("--children=no",))
    found = sorted((Path(row[1]).name, row[2]) for row in listed(reports))
    hw.need(found == [("one_block", "unwanted"), ("one_block", "unwanted"), ("refused_static", "unwanted")], f"{found}")
    for words in ("2 × one_block (left out by --children)", "refused_static (left out by --children)"):
        hw.need(words in ended.errors, ended.errors)


@TESTS.test
def wanted(folder):
    """What --children=PATTERN asks for and can't be recorded has its own reason"""
    _, reports = record(folder, "/bin/sh", "-c", f"{STATIC}; {ONE_BLOCK}; true", options=("--children=refused*",))
    found = sorted((Path(row[1]).name, row[2]) for row in listed(reports))
    hw.need(found == [("one_block", "unwanted"), ("refused_static", "static")], f"{found}")


@TESTS.test
def table(folder):
    """The table of several recordings lists them below who started them, as text and JSON"""
    script = f"{STATIC}; {STATIC}; {STARTS} fork {STATIC}; true"
    _, reports = record(folder, "/bin/sh", "-c", script, cwd=folder)
    ended = hw.run([hw.HEAPWISE, "report", folder])
    lines = ended.text.splitlines()
    hw.need(lines[0].endswith("; 3 programs ran unrecorded"), ended.text)
    hw.need(f"    + unrecorded: 2 × {STATIC} (static)" in lines, ended.text)
    hw.need(any(re.fullmatch(rf" +[+=] unrecorded: {STATIC} \(static\)", line) for line in lines), ended.text)
    tree = json.loads(hw.run([hw.HEAPWISE, "report", "--json", folder]).text)
    hw.need(tree["children_unrecorded"] == 3, f"{tree}")
    rows = [(Path(row["file"]).name, group["program"], group["reason"], group["count"])
            for row in tree["recordings"] for group in row["unrecorded"]]
    hw.need(("x.hpw", str(STATIC), "static", 2) in rows and len(rows) == 2, f"{rows}")
    hw.need(len(reports) == len(tree["recordings"]), f"{len(reports)} recordings")


if __name__ == "__main__":
    TESTS.main()
