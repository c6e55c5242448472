#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that call mtrace(), beside glibc's own log of them: the script mtrace says the same of both."""

import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
MTRACED = hw.TARGETS / "mtraced"
STORIES = ("whole", "part", "again", "nothing_lost", "signals")
SHIM = "libheapwise-mtrace.so"


def script(log, *program):
    """What the script says: exit status, sorted (size, place) of what was not freed, complaints without addresses."""
    hw.need(log.exists(), f"there is no {log.name}")
    ended = hw.run([hw.need_program("mtrace"), *program, log])
    left = re.findall(r"^0x[0-9a-f]{16}\s+(0x[0-9a-f]+|0)\s+at (.*)$", ended.text, re.M)
    complaints = re.findall(r"^([-+]) 0x[0-9a-f]+ (\S+ \d+ \S+ \S+)", ended.text, re.M)
    return ended.status, sorted((int(size, 16), place) for size, place in left), complaints


def glibc_log(folder, story):
    """The log of glibc's own functions."""
    if not any(Path(where, "libc_malloc_debug.so.0").exists() for where in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")):
        raise hw.Skip("no libc_malloc_debug.so.0 here")
    log = folder / f"{story}.glibc"
    ended = hw.run([MTRACED, story], env=hw.clean_environment(LD_PRELOAD="libc_malloc_debug.so.0", MALLOC_TRACE=log))
    hw.need(ended.status == 0, str(ended))
    return log


def run(folder, *program, options=(), variable="a.log"):
    env = hw.clean_environment(**({"MALLOC_TRACE": variable} if variable else {}))
    return hw.run([hw.HEAPWISE, "run", "--as=mtrace", "-f", "-o", folder / "a.hpw", *options, "--", *program], env=env, cwd=folder)


@TESTS.test
def as_glibc(folder):
    """The script finds in our log what it finds in glibc's: sizes and lines of what was not freed, unknown frees, status"""
    for story in STORIES:
        ended = run(folder, MTRACED, story)
        hw.need(ended.status == 0 and "the log of mtrace() is in a.log" in ended.errors, f"{story}: {ended}")
        log = folder / "a.log"
        hw.need(log.read_text().startswith("= Start\n") and log.read_text().endswith("= End\n"), log.read_text())
        ours, theirs = script(log, MTRACED), script(glibc_log(folder, story), MTRACED)
        hw.need(ours == theirs, f"{story}: {ours}, of glibc's log {theirs}")
        hw.need(all("mtraced.c:" in place for _, place in ours[1]), f"{story}: {ours}")
        status, left, complaints = script(log)
        hw.need((status, [size for size, _ in left], complaints) == (ours[0], [size for size, _ in ours[1]], ours[2]),
                f"{story}: without the program {left} {complaints}, with it {ours}")


@TESTS.test
def report_elsewhere(folder):
    """--exe names the program of a log: the report has the script's lines, also where the program is no more where it was"""
    for story in ("whole", "part"):
        program, moved = folder / "prog", folder / "moved" / "renamed"
        shutil.copy(MTRACED, program)
        moved.parent.mkdir(exist_ok=True)
        env = hw.clean_environment(LD_PRELOAD="libc_malloc_debug.so.0", MALLOC_TRACE="a.log")
        _, left, _ = script(glibc_log(folder, story), MTRACED)
        hw.need(hw.run(["./prog", story], env=env, cwd=folder).status == 0, "not run")
        expected = {}
        for size, place in left:
            place = place.rpartition("/")[2]
            expected[place] = expected.get(place, 0) + size
        program.rename(moved)
        said = hw.report(folder / "a.log", "--view", "lines", "--all-frames", "--exe", moved)
        found = {f"{Path(spot['file']).name}:{spot['line']}": spot["cum"]["live_bytes"]
                 for spot in said["spots"] if spot["line"] and spot["cum"]["live_bytes"]}
        hw.need(found == expected, f"{story}: {found}, the script {expected}")
        unnamed = hw.report(folder / "a.log", "--view", "lines", "--all-frames")
        hw.need(not any(spot["line"] for spot in unnamed["spots"]), f"without --exe: {unnamed['spots'][:2]}")
    ended = hw.run([hw.HEAPWISE, "report", "--exe", folder / "none", folder / "a.log"])
    hw.need(ended.status == 2 and "no file that can be read" in ended.errors, str(ended))
    run(folder, MTRACED, "never")
    ended = hw.run([hw.HEAPWISE, "report", "--exe", moved, folder / "a.hpw"])
    hw.need(ended.status == 0 and "no mtrace log" in ended.errors, str(ended))


@TESTS.test
def same_calls(folder):
    """Line by line, our log has glibc's calls: what each did, its size and its caller"""
    def calls(log):
        found = re.findall(r"^(?:@ \S*?:?(?:\(\S*\))?\[(0x[0-9a-f]+)\] )?([-+<>!]) \S+(?: (\S+))?$", log.read_text(), re.M)
        return [(what, size, caller if what in "+>" else "") for caller, what, size in found]
    for story in STORIES:
        run(folder, MTRACED, story)
        ours, theirs = calls(folder / "a.log"), calls(glibc_log(folder, story))
        hw.need(ours == theirs and ours, f"{story}: {ours}, glibc's {theirs}")


@TESTS.test
def nothing_written(folder):
    """Without MALLOC_TRACE, or without a call of mtrace(), no log is written, and that is told once, but not with -q"""
    for story, variable, words in (("whole", None, "MALLOC_TRACE is not set"), ("never", "a.log", "never called mtrace()"),
                                   ("own_file", None, "MALLOC_TRACE is not set in heapwise's environment")):
        ended = run(folder, MTRACED, story, variable=variable)
        hw.need(ended.status == 0 and ended.errors.count(words) == 1, f"{story}: {ended}")
        quiet = run(folder, MTRACED, story, variable=variable, options=("-q",))
        hw.need(quiet.status == 0 and not quiet.errors, f"{story}: {quiet}")
        hw.need(not list(folder.glob("*.log")), f"{story}: {list(folder.iterdir())}")
    found = run(folder, MTRACED, "whole", variable=None).errors
    command = re.search(r"heapwise (export .*) -o LOG (\S+)", found)
    hw.need(command, found)
    hw.ask(*command.group(1).split(), "-o", folder / "later.log", command.group(2))
    hw.need([size for size, _ in script(folder / "later.log", MTRACED)[1]] == [101, 107], (folder / "later.log").read_text())


@TESTS.test
def child_logged(folder):
    """A child that calls mtrace() is logged, however little it allocates"""
    ended = run(folder, MTRACED, "child")
    hw.need(ended.status == 0, str(ended))
    hw.need([size for size, _ in script(folder / "a.log", MTRACED)[1]] == [701], (folder / "a.log").read_text())


@TESTS.test
def both_logged(folder):
    """A child that calls mtrace() has a log of its own, though its parent's had begun before the fork"""
    ended = run(folder, MTRACED, "both")
    hw.need(ended.status == 0 and "other process called mtrace(), too" in ended.errors, str(ended))
    hw.need([size for size, _ in script(folder / "a.log", MTRACED)[1]] == [709], (folder / "a.log").read_text())
    child = next(path for path in folder.glob("a.*.hpw"))
    hw.ask("export", "--format", "mtrace", "--from", "mark:mtrace", "-o", folder / "child.log", child)
    hw.need([size for size, _ in script(folder / "child.log", MTRACED)[1]] == [701], (folder / "child.log").read_text())


@TESTS.test
def not_writable(folder):
    """A log that can't be written is an error that is told, after the program has run"""
    ended = run(folder, MTRACED, "whole", variable=str(folder / "none" / "a.log"))
    hw.need(ended.status == 125 and "none/a.log" in ended.errors, str(ended))
    hw.need((folder / "a.hpw").exists(), "the recording is gone, too")


@TESTS.test
def old_log_kept(folder):
    """A log of before is replaced by a whole one, and stays where none is written"""
    log = folder / "a.log"
    log.write_text("old\n")
    run(folder, MTRACED, "never")
    hw.need(log.read_text() == "old\n", log.read_text())
    run(folder, MTRACED, "whole")
    hw.need(log.read_text().startswith("= Start\n") and log.read_text().endswith("= End\n"), log.read_text())


@TESTS.test
def by_environment(folder):
    """What env prints logs a program that is started without the command"""
    recording, log = folder / "a.hpw", folder / "a.log"
    printed = hw.ask("env", "--as=mtrace", "-o", recording)
    hw.need(SHIM in printed, printed)
    script_file = folder / "start"
    script_file.write_text(f"{printed}exec {MTRACED} part\n")
    ended = hw.run(["/bin/sh", script_file], env=hw.clean_environment(MALLOC_TRACE="a.log"), cwd=folder)
    hw.need(ended.status == 0, str(ended))
    hw.wait_until(lambda: log.exists(), "the log")
    theirs = script(glibc_log(folder, "part"), MTRACED)
    hw.need(script(log, MTRACED) == theirs, f"{log.read_text()} {theirs}")


@TESTS.test
def asked_for(folder):
    """The library is loaded on request alone; modes without all events are refused"""
    ended = run(folder, "/usr/bin/env")
    hw.need(SHIM in ended.text, ended.text)
    hw.need(SHIM not in hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "a.hpw", "/usr/bin/env"]).text, "unasked")
    for options in (("--mode=sample",), ("--mode=aggregate",), ("--ring=1M",), ("--max-file=1M",)):
        ended = run(folder, MTRACED, "whole", options=options)
        hw.need(ended.status == 125 and "--as=mtrace needs all events" in ended.errors, f"{options}: {ended}")


@TESTS.test
def alone_unaffected(folder):
    """The library without a recorder leaves the program as it is"""
    library = hw.BUILD / "src/runtime" / SHIM
    ended = hw.run([MTRACED, "part"], env=hw.clean_environment(LD_PRELOAD=library, MALLOC_TRACE=folder / "a.log"))
    hw.need(ended.status == 0 and not ended.errors and not list(folder.iterdir()), str(ended))


TESTS.main()
