#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory errors of small programs, by libheapwise-guard.so: each class in each back-end, and the same programs without
the errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import guarded
import hw

TESTS = hw.Tests()
BACKENDS = ("madvise", "uffd", "mprotect")
# What the inaccessible page shows, by where it is; and what is exact in any case.
BEHIND = ("over_read", "over_write_far", "several_errors", "many_errors", "repeated_errors")
BEFORE = ("under_read",)
FREED = ("freed_read", "freed_write", "realloc_old", "in_child", "in_thread")
EITHER = ("over_write", "free_twice", "free_twice_late", "free_others", "usable", "realloc_to_zero", "silly_sizes",
          "alignments", "never_freed", "unusual_ends")
CXX = ("mismatches", "sizes", "alignments", "out_of_memory")
VARIANTS = ("O0", "O2")
# Where an allocator with fault handlers can do harm; errors are found there too, but for those with limits.
HOSTILE = ("own_handler", "own_settings", "masks", "ends", "threads", "thread_ends", "forks", "processes", "chains", "libraries",
           "own_pages", "own_traps", "trap_ends", "same_errors", "jumped", "asked")
NO_PAGES = tuple(story for story in HOSTILE if story not in ("same_errors", "jumped"))  # found without inaccessible pages, too
HARMLESS = HOSTILE + ("interrupted", "own_limit", "limited", "locked", "zero_and_end", "confined", "refused")


def tell(stories, options, program="wrongs"):
    errors = 0
    for variant in VARIANTS:
        for story in stories:
            errors += guarded.need_story(guarded.TARGETS / f"{program}-{variant}", story, options)
    return f"{errors} errors"


def every_block(backend):
    guarded.need_backend(backend)
    errors = tell(BEHIND + FREED + EITHER, f"full=1,before=0,backend={backend}")
    tell(BEFORE + FREED + EITHER + ("under_write",), f"full=1,before=100,backend={backend}")
    tell(CXX + ("containers",), f"full=1,before=0,backend={backend}", "wrongs_cxx")
    return errors


def by_stack(backend):
    guarded.need_backend(backend)
    errors = tell(BEHIND + FREED + EITHER, f"before=0,backend={backend}")
    tell(CXX + ("containers",), f"before=0,backend={backend}", "wrongs_cxx")
    return errors


for name in BACKENDS:
    TESTS.add(f"Every class of errors is found where {name} guards every block", lambda _, name=name: every_block(name))
    TESTS.add(f"So they are where {name} guards the first blocks of each call stack", lambda _, name=name: by_stack(name))


@TESTS.test
def first_block(_):
    """The first block of a call stack has the inaccessible page after it, whatever is chosen for others"""
    for seed in range(1, 41):
        for options in ("full=1,", ""):
            ended, reports = guarded.LAUNCHER.run([guarded.TARGETS / "wrongs-O2", "over_write_far"], f"{options}seed={seed:x}")
            first = guarded.key_of(next(guarded.EXPECTED.finditer(ended.text)))
            hw.need(reports and guarded.key_of(reports[0]) == first, f"{options}{seed:x}: {first}, found {reports[:1]}; {ended}")


def harmless(backend):
    guarded.need_backend(backend)
    program = guarded.TARGETS / "hostile-O2"
    for options in (f"backend={backend}", f"full=1,backend={backend}"):
        for story in HARMLESS:
            if story == "locked" and not guarded.can_lock_all():
                continue
            guarded.need_same([program, story, "good"], options)
    for story in HOSTILE if backend != "none" else NO_PAGES:
        guarded.need_story(program, story, f"before=0,full=1,backend={backend}")


for name in BACKENDS + ("none",):
    TESTS.add(f"Handlers, masks, threads, forks, limits and processes are as without it with {name}, and errors are found there",
              lambda _, name=name: harmless(name))


@TESTS.test
def interrupted(_):
    """A thread that handlers interrupt all the time makes errors at a page that is open meanwhile: some are found, and no other"""
    for name in BACKENDS:
        if not guarded.kernel_has(name):
            continue
        ended, reports = guarded.LAUNCHER.run([guarded.TARGETS / "hostile-O2", "interrupted"], f"before=0,full=1,backend={name}")
        hw.need(ended.status == 0 and ended.text.endswith("end\n"), f"{name}: {ended}")
        wanted = set(map(guarded.key_of, guarded.EXPECTED.finditer(ended.text)))
        found = [guarded.key_of(report) for report in reports]
        hw.need(found and set(found) <= wanted and len(found) == len(set(found)), f"{name}: {found}, expected of {wanted}")


@TESTS.test
def refused(_):
    """Where containers refuse madvise and userfaultfd, mprotect guards blocks"""
    for options in ("full=1", "full=1,backend=mprotect"):
        guarded.need_story(guarded.TARGETS / "hostile-O2", "refused", options + ",before=0")


@TESTS.test
def without_guards(_):
    """Without any back-end: writes next to blocks and to freed ones are found late, wrong frees at once"""
    tell(EITHER + ("freed_write", "freed_write_late"), "backend=none")
    tell(CXX, "backend=none", "wrongs_cxx")


@TESTS.test
def byte_exact(_):
    """With align=1 the byte behind a block is inaccessible, whatever the size"""
    ended, reports = guarded.LAUNCHER.run([guarded.TARGETS / "wrongs-O2", "over_write"], "full=1,before=0,align=1")
    hw.need(ended.status == 0 and len(reports) == ended.text.count("expect "), f"{len(reports)} reports: {ended}")
    late = [found.group(0) for found in reports if found["late"]]
    hw.need(not late, f"found late: {late}")


@TESTS.test
def ends_at_first(_):
    """errors=first ends the program with the first error, by a status or a signal, and one report"""
    for ending, status in (("exit=77", 77), ("signal=6", -6), ("signal=9", -9), ("signal=11", -11)):
        ended, reports = guarded.LAUNCHER.run([guarded.TARGETS / "wrongs-O2", "freed_write"], f"full=1,errors=first,{ending}")
        hw.need((ended.status, len(reports)) == (status, 1), f"{ending}: {ended}, {len(reports)} reports")


if __name__ == "__main__":
    TESTS.main()
