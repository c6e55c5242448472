#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Gates of programs that a signal killed: what was live then decides nothing of an end that never came."""

import json
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
UNDECIDED = 3
WAYS = {"kill": 9, "segv": 11, "abort": 6}
BYTES = 12370  # of ten blocks


def recorded(folder, way, what, *options):
    path = folder / "killed.hpw"
    ended = hw.heapwise("run", "-q", "-f", *options, "-o", path, "--", hw.ANSWERS / "killed", way, what)
    hw.need(ended.status == (-WAYS[way] if way in WAYS else 0), f"{way}: run ends by {ended.status}")
    return path


def judge(path, status, *gate):
    ended = hw.heapwise(*gate, path)
    hw.need(ended.status == status, f"{gate}: expected {status}: {ended} {ended.text}")
    return ended


@TESTS.test
def what_is_live(folder):
    """What was never freed, grew or leaked can't be judged of a killed program, were it nothing or plenty"""
    for way, number in WAYS.items():
        for what in ("freed", "held", "lost"):
            path = recorded(folder, way, what, "--leak-check=full")
            for gate in (("--max-never-freed", "0"), ("--max-per-stack", "0"), ("--max-never-freed", "1G"), ("--max-leak", "0"),
                         ("--fail-on", "all"), ("--max-leak", "1G")):
                text = judge(path, UNDECIDED, "budget", *gate).text
                hw.need("killed" in text and f"signal {number}" in text, text)
                if way != "kill":
                    break  # the ways are one: a part of the gates is enough
            ended = judge(path, UNDECIDED, "leaks", "--error-exitcode=5")
            hw.need("cannot be decided" in ended.errors and "killed" in ended.errors, f"{ended}")
            hw.need("Every block was freed.\n" not in ended.text and "no leaks are possible" not in ended.text, ended.text)
    held = json.loads(judge(path, UNDECIDED, "budget", "--json", "--max-never-freed", "0").text)
    hw.need(not held["passed"] and held["checks"][0]["state"] == "unknown" and held["checks"][0]["value"] == BYTES, f"{held}")
    hw.need("signal" in held["checks"][0]["reason"] and any("signal 6" in line for line in held["verdict"]), f"{held}")


@TESTS.test
def of_others(folder):
    """JUnit has an error, SARIF no success; growth against a killed run, and of one, is undecided"""
    path = recorded(folder, "segv", "freed")
    junit = xml.etree.ElementTree.fromstring(judge(path, UNDECIDED, "budget", "--format=junit", "--max-never-freed", "0").text)
    hw.need(junit.find("testsuite").get("errors") == "1", "JUnit passes")
    sarif = json.loads(judge(path, UNDECIDED, "budget", "--format=sarif", "--max-never-freed", "0").text)
    hw.need(not sarif["runs"][0]["invocations"][0]["executionSuccessful"], "SARIF passes")
    whole = folder / "whole.hpw"
    hw.record([hw.ANSWERS / "killed", "exit", "held"], whole, options=("-q",))
    judge(path, UNDECIDED, "diff", "--fail-on-growth", "0", whole)
    judge(whole, UNDECIDED, "diff", "--fail-on-growth", "0", path)
    judge(path, UNDECIDED, "budget", "--baseline", whole)


@TESTS.test
def what_was_done(folder):
    """Peak and counts of a killed program are judged as far as it came, and the verdict says so"""
    path = recorded(folder, "kill", "held")
    for gate, status in ((("--max-peak", "1M"), 0), (("--max-peak", "12369"), 1), (("--max-allocations", "10"), 0),
                         (("--max-allocations", "9"), 1)):
        text = judge(path, status, "budget", *gate).text
        hw.need("killed by signal 9 (SIGKILL): peaks and counts cover only the time until then" in text, text)
    whole = recorded(folder, "exit", "freed")
    text = judge(whole, 0, "budget", "--max-never-freed", "0", "--max-peak", "1M", "--max-leak", "0").text
    hw.need("until then" not in text, text)


@TESTS.test
def searched_at_death(folder):
    """Searched at its death what was lost decides, whichever kinds count; what was held then its end might have freed"""
    path = recorded(folder, "segv", "lost", "--leak-check=full", "--leak-check-on-death")
    judge(path, 1, "budget", "--max-leak", "0")
    judge(path, 5, "leaks", "--error-exitcode=5", "--errors-for-leak-kinds=definite")
    for kinds in ("definite,possible", "all"):
        judge(path, 5, "leaks", "--error-exitcode=5", f"--errors-for-leak-kinds={kinds}")
        judge(path, 1, "budget", "--fail-on", kinds)
    suite = xml.etree.ElementTree.fromstring(hw.ask("leaks", path, "--format=junit", "--errors-for-leak-kinds=all")).find("testsuite")
    hw.need((suite.get("failures"), suite.get("errors")) == ("1", "0"), f"{suite.attrib}")
    path = recorded(folder, "segv", "held", "--leak-check=full", "--leak-check-on-death")
    for kinds in ("reachable", "all"):
        judge(path, UNDECIDED, "leaks", "--error-exitcode=5", f"--errors-for-leak-kinds={kinds}")
    suite = xml.etree.ElementTree.fromstring(hw.ask("leaks", path, "--format=junit", "--errors-for-leak-kinds=all")).find("testsuite")
    hw.need((suite.get("failures"), suite.get("errors")) == ("0", "1"), f"{suite.attrib}")
    judge(path, 0, "budget", "--max-leak", "0")
    judge(path, UNDECIDED, "budget", "--fail-on", "reachable")


TESTS.main()
