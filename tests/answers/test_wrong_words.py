#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Words that fit nothing, in options and filters, are said to, with what may be meant."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
VIEWS = (("report",), ("report", "--view", "sites"), ("report", "--view", "functions"), ("tree",), ("flame",), ("list", "main"))


def refused(status, *words):
    ended = hw.heapwise(*words)
    hw.need(ended.status == status and not ended.text.strip(), f"{words}: {ended} {ended.text}")
    return ended.errors


@TESTS.test
def options(folder):
    """An option that there is not names the nearest, those it begins, those whose help has the word, or the command that has it"""
    for words, said in ((("report", "--focs", "x"), "did you mean --focus"), (("budget", "--max-nevr-freed=3"), "--max-never-freed"),
                        (("report", "--min", "3"), "ambiguous option '--min': it may be --min-size, --min-lifetime, --min-age"),
                        (("report", "--json=yes"), "option '--json' takes no value: '--json=yes'"),
                        (("report", "--leak-check"), "heapwise commands that have it: run, check, env, leaks")):
        hw.need(said in refused(2, *words), f"{words}: {hw.heapwise(*words).errors}")
    said = refused(125, "run", "--sample", "--", "true")
    hw.need("unknown option '--sample'; see --mode" in said, said)
    said = refused(2, "report", "--zzzzzz")
    hw.need("unknown option '--zzzzzz'\n" in said, said)


@TESTS.test
def filters(folder):
    """A filter that leaves no stack is refused, and which pattern fits no frame is said; one that fits shows something"""
    path = folder / "a.hpw"
    hw.record([hw.ANSWERS / "peaks_more", "10", "20"], path, options=("-q",))
    for command in VIEWS:
        for option in ("--focus", "--show", "--show-from"):
            said = refused(3, *command, f"{option}=no_such_thing", path)
            hw.need("leaves none of" in said and f"name matches {option} 'no_such_thing'" in said, f"{command}: {said}")
        said = refused(3, *command, "--focus=build", "--ignore=main", path)
        hw.need("leaves none" in said and "matches" not in said, f"{command}: {said}")
        said = refused(3, *command, "--kind=realloc", path)
        hw.need("--kind 'realloc' leaves none of" in said, said)
        ended = hw.heapwise(*command, "--focus=main", path)
        hw.need(ended.status == 0 and ended.text.strip(), f"{command}: {ended}")
    for option in ("--ignore", "--hide"):
        ended = hw.heapwise("report", f"{option}=no_such_thing", path)
        hw.need(ended.status == 0 and f"No frame matches {option} 'no_such_thing'." in ended.text, f"{option}: {ended.text}")


@TESTS.test
def blocks(folder):
    """Where no block is chosen the program has not allocated nothing; of several recordings a filter may leave nothing of some, not of all"""
    path = folder / "a.hpw"
    hw.record([hw.ANSWERS / "peaks_more", "10", "20"], path, options=("-q",))
    text = hw.ask("report", "--min-size", "100G", path)
    hw.need("No block matches" in text and "allocated nothing" not in text, text)
    hw.need("leaves none" in refused(3, "diff", "--trend", "--focus=no_such_thing", path, path, path), "a trend of nothing")


@TESTS.test
def of_two(folder):
    """Against a base a filter may leave nothing of one of both, not of both"""
    older, newer = folder / "older.hpw", folder / "newer.hpw"
    hw.record([hw.ANSWERS / "peaks_more", "10", "0"], older, options=("-q",))
    hw.record([hw.ANSWERS / "peaks_more", "10", "20"], newer, options=("-q",))
    for command in VIEWS[1:4]:
        for pair in ((older, newer), (newer, older)):
            ended = hw.heapwise(*command, "--focus=build", "--base", *pair)
            hw.need(ended.status == 0, f"{command}: {ended}")
        hw.need("leaves none" in refused(3, *command, "--focus=nowhere", "--base", older, newer), f"{command}")


TESTS.main()
