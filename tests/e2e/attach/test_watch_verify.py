#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise watch --verify`: of the outstanding blocks those are leaked that nothing references."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import hw
from test_watch import answer, last_look, running, skip_if_refused, tell, watching

TESTS = hw.Tests()
LEAKS = hw.TARGETS / "watched_leaks"
FIGURES = [f"{what}_{unit}" for what in ("leaked", "referenced", "unjudged") for unit in ("bytes", "blocks")]


def truth(lines):
    """{function: (what, bytes, blocks)}"""
    found = (re.match(r"# (leaked|referenced): (\w+) (\d+) (\d+)$", line) for line in lines)
    return {row[2]: (row[1], int(row[3]), int(row[4])) for row in found if row}


def verified(*options):
    """The last interval, and what is true of it."""
    with running(LEAKS) as target, watching(target.pid, "--all", "-o", "0", "-T", "1000", "--verify", "--json", *options) as command:
        tell(target)
        expected = truth(answer(target, "done"))
        interval = json.loads(last_look(command))["intervals"][-1]
        hw.need(target.poll() is None, "the process has ended")
        tell(target)
        hw.need(target.wait(hw.TIMEOUT) == 0, "the process was harmed")
    return interval, expected


def by_function(interval):
    found = {}
    for stack in interval["stacks"]:
        name = stack["frames"][0].get("function")
        sums = found.setdefault(name, dict.fromkeys(["live_bytes", "live_blocks", *FIGURES], 0))
        for key in sums:
            sums[key] += stack[key]
    return found


@TESTS.test
def known(_):
    """Blocks that globals, stacks, lists and interior pointers hold are referenced; others, rings too, are leaked"""
    interval, expected = verified()
    hw.need(interval["verified"].get("way") == "copy" and interval["verified"]["pause_ns"] > 0, f"{interval['verified']}")
    found = by_function(interval)
    for name, (what, bytes_, blocks) in expected.items():
        row = found[name]
        hw.need((row[f"{what}_bytes"], row[f"{what}_blocks"]) == (bytes_, blocks), f"{name}: {row}, not {what} {bytes_} {blocks}")
        hw.need(sum(row[key] for key in FIGURES) == bytes_ + blocks, f"{name} is something else, too: {row}")


@TESTS.test
def in_motion(_):
    """What comes and goes while it is looked is never called leaked, and all figures add up"""
    interval, _ = verified()
    found = by_function(interval)
    busy = found.get("site_replaced")
    hw.need(not busy or busy["leaked_blocks"] == 0, f"{busy}")
    for name, row in found.items():
        for unit in ("bytes", "blocks"):
            hw.need(sum(row[f"{what}_{unit}"] for what in ("leaked", "referenced", "unjudged")) == row[f"live_{unit}"], f"{name}: {row}")
    for key in FIGURES:
        total = sum(row[key] for row in found.values())
        hw.need(total == interval["verified"][key], f"{key}: {total}, {interval['verified']}")


@TESTS.test
def as_text(_):
    """The text says it of each stack, and how long the process stood still"""
    with running(LEAKS) as target, watching(target.pid, "--all", "-o", "0", "-T", "100", "--verify") as command:
        tell(target)
        expected = truth(answer(target, "done"))
        text = last_look(command)
    _, bytes_, blocks = expected["site_lost"]
    hw.need(f"of these {bytes_} bytes in {blocks} allocations leaked, 0 bytes in 0 allocations referenced, 0 bytes in 0 allocations not judged" in text, text)
    hw.need(re.search(r"\[verified: .*; the process was copied, and stood still for ", text), text)


@TESTS.test
def ended(_):
    """Of a process that has ended nothing is judged, and nothing is called leaked"""
    result = hw.heapwise("watch", "-c", f"{hw.TARGETS / 'watched_cases'} malloc", "1000", "--all", "-o", "0", "--verify")
    skip_if_refused(result.errors)
    hw.need(result.status == 0 and "[not verified: " in result.text and "leaked" not in result.text, f"{result}")


@TESTS.test
def wrong_uses(folder):
    """It judges what is shown, not sums, nor a recording"""
    for words in (("1", "--verify", "-C"), ("1", "--verify", "-o", str(folder / "x.hpw"))):
        result = hw.heapwise("watch", *words)
        hw.need(result.status == 2, f"{words}: {result}")


if __name__ == "__main__":
    TESTS.main()
