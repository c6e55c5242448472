#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The first sentence is the one a person needs: what libraries keep for themselves is not in it, nor in budgets."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
# The documented line of docs/howto/ci.md.
GATE = ("--max-peak", "1M", "--max-never-freed", "0")


def record(folder, program, *options):
    path = folder / f"{program}{''.join(options)}.hpw"
    ended = hw.record([hw.ANSWERS / program], path, options=("-q", *options))
    hw.need(ended.status == 0, f"{program}: {ended}")
    return path


def debug_files(folder):
    """With the debug files of this machine, and without any."""
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    return (), ("--debug-file-directory", str(empty))


def judge(status, path, *options):
    ended = hw.heapwise("budget", "--json", *options, str(path))
    hw.need(ended.status == status, f"{path.name} {options}: expected status {status}: {ended.text}")
    return {check["rule"]: check for check in json.loads(ended.text)["checks"]}


@TESTS.test
def gate_passes_on_hello_world(folder):
    """The documented gate passes on hello world in C and C++, searched or not, with and without debug files"""
    for program in ("hello", "hello_cxx"):
        for search in ((), ("--leak-check=full",)):
            path = record(folder, program, *search)
            for debug in debug_files(folder):
                judge(0, path, *GATE, *debug)
                judge(0, path, "--max-per-stack", "0", *debug)
            judge(1, path, *GATE, "--count-libraries")


@TESTS.test
def first_sentence_of_hello_world(folder):
    """The first sentence says that nothing was left, what libraries keep comes with the view that lists it"""
    for program in ("hello", "hello_cxx"):
        path = record(folder, program)
        for debug in debug_files(folder):
            found = hw.report(path, *debug)
            total = found["totals"]
            hw.need(found["verdict"][0].startswith("Nothing was left: every block was freed, but for "),
                    found["verdict"][0])
            hw.need("one place" not in " ".join(found["verdict"]), str(found["verdict"]))
            hw.need(found["libraries"] == {"blocks": total["live_blocks_at_end"], "bytes": total["live_bytes_at_end"]},
                    f"{found['libraries']} of {total}")
            hw.need(found["top"]["never_freed"] == [], "a library's block is in the list")
            listed = hw.report(path, "--view", "libraries", *debug)["sites"]
            hw.need(sum(site["live_blocks"] for site in listed) == total["live_blocks_at_end"], f"{len(listed)} rows")
            hw.need(all(site["library"] for site in listed), "a row without a name")
        counted = hw.report(path, "--count-libraries")
        hw.need("never freed" in counted["verdict"][0], counted["verdict"][0])


@TESTS.test
def report_and_leaks_agree(folder):
    """report and leaks have the same blocks of each kind, and the same for the libraries"""
    for program in ("hello", "hello_cxx", "file_not_closed", "own_like_library"):
        path = record(folder, program, "--leak-check=full")
        ours = hw.report(path)["leaks"]
        theirs = json.loads(hw.ask("leaks", "--format", "json", path))["leaks"]["summary"]
        for kind in ("definite", "indirect", "possible", "reachable", "library"):
            hw.need(ours[kind]["blocks"] == theirs[kind]["blocks"], f"{program}: {kind}: {ours} and {theirs}")


@TESTS.test
def file_not_closed_is_the_programs(folder):
    """A file that is never closed is the program's, its buffer libc's; the gate fails and blames fopen's caller"""
    path = record(folder, "file_not_closed")
    for debug in debug_files(folder):
        check = judge(1, path, "--max-never-freed", "0", *debug)["max-never-freed"]
        hw.need(sum(finding["blocks"] for finding in check["findings"]) == 3, str(check["findings"]))
        sentence = hw.report(path, *debug)["verdict"][0]
        hw.need("in 3 blocks" in sentence and "main (" in sentence, sentence)


@TESTS.test
def nothing_of_the_programs_is_a_librarys(folder):
    """What libc allocates for the program, or a callback of libc's, counts as the program's"""
    path = record(folder, "own_like_library")
    for debug in debug_files(folder):
        found = hw.report(path, "--view", "libraries", *debug)["sites"]
        hw.need([site["library"] for site in found] == ["stdio-buffer"], str([site["library"] for site in found]))
        judge(1, path, "--max-never-freed", "0", *debug)


@TESTS.test
def libraries_of_many_recordings(folder):
    """What libraries keep in each of many recordings is theirs in the sum of them"""
    paths = [record(folder, "hello")] * 17  # 68 KiB of buffers
    found = hw.report("--merge", *paths)
    hw.need(found["totals"]["live_blocks_at_end"] >= len(paths), f"{found['totals']}")
    hw.need(found["verdict"][0].startswith("Nothing was left: every block was freed, but for "), found["verdict"][0])


@TESTS.test
def what_grows_is_no_librarys_own(folder):
    """Values of setenv() in a loop, buffers of files that are never closed: what grows with the work is told, with debug files and without"""
    for words, most in ((("1000",), 1000000), (("300", "files"), 300 * 4096)):
        path = folder / "grows.hpw"
        for options in ((), ("--leak-check=full",)):
            hw.record([hw.ANSWERS / "sets_variables", *words], path, options=("-q", "-f", *options))
            for debug in debug_files(folder):
                judge(1, path, "--max-never-freed", str(most - 1), *debug)
                found = hw.report(path, *debug)
                hw.need("was never freed" in found["verdict"][0] or "were never freed" in found["verdict"][0], f"{found['verdict']}")
                hw.need(found["libraries"]["bytes"] < most // 10, f"{found['libraries']}")
            if options:
                kinds = [json.loads(hw.ask("leaks", "--format", "json", *debug, path))["leaks"]["summary"] for debug in debug_files(folder)]
                hw.need(kinds[0]["library"]["bytes"] < most // 10, f"{kinds[0]}")
                hw.need(kinds[0]["reachable"]["bytes"] + kinds[0]["possible"]["bytes"] >= most, f"{kinds[0]}")
                hw.need(kinds[0]["reachable"] == kinds[1]["reachable"] and kinds[0]["library"] == kinds[1]["library"], f"{kinds}")


@TESTS.test
def no_answer_needs_debug_files(folder):
    """What only debug files can name is no library's own in reports and gates, with these files or without"""
    path = folder / "one.hpw"
    hw.record([hw.ANSWERS / "sets_variables", "1"], path, options=("-q",))
    own = [hw.report(path, *debug)["libraries"] for debug in debug_files(folder)]
    hw.need(own[0] == own[1], f"{own}")
    for debug in debug_files(folder):
        judge(1, path, "--max-never-freed", "0", *debug)


@TESTS.test
def growth_leaves_libraries_out(folder):
    """A baseline that wrote nothing: the buffer that a later program has of libc is no growth"""
    path = record(folder, "hello_cxx")
    base = record(folder, "hello")
    judge(0, path, "--baseline", base, "--max-growth", "0")
    judge(1, path, "--baseline", base, "--max-growth", "0", "--count-libraries")


TESTS.main()
