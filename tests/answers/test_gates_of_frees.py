#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""--error-exitcode counts frees that were wrong, as memcheck does, with and without a search for leaks; all forms tell them."""

import json
import shutil
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
UNDECIDED = 3
BAD, MISMATCHED = hw.ANSWERS / "bad_frees", hw.ANSWERS / "mismatched_frees"


def run(folder, *words, options=("--leak-check=full", "--error-exitcode=9")):
    return hw.heapwise("run", "-q", "-f", *options, "-o", folder / "a.hpw", "--", *words)


@TESTS.test
def mismatched(folder):
    """malloc/delete and new[]/free fail `run --error-exitcode`, whether leaks are searched for or not, and `leaks`"""
    for options in (("--leak-check=full", "--error-exitcode=9"), ("--error-exitcode=9",), ("--leak-check=no", "--error-exitcode=9")):
        ended = run(folder, MISMATCHED, options=options)
        hw.need(ended.status == 9, f"{options}: {ended}")
        hw.need("MismatchedFree, 3 times" in ended.errors and "free() of a block from operator new[]" in ended.errors and "make_array" in ended.errors, f"{ended.errors}")
        ended = hw.heapwise("leaks", "-q", "--error-exitcode=7", folder / "a.hpw")
        hw.need(ended.status == 7 and ended.text.count("MismatchedFree") == 2, f"{ended} {ended.text}")
    hw.need(run(folder, MISMATCHED, options=("--leak-check=full",)).status == 0, "a status that nobody asked for")


@TESTS.test
def clean(folder):
    """A program without errors passes, and nothing is said of any; what a child frees of its parent's is right"""
    for words in ((BAD, "none"), (BAD, "fork"), (hw.ANSWERS / "hello_cxx",)):
        for options in (("--error-exitcode=9",), ("--leak-check=full", "--error-exitcode=9")):
            if words[-1] == "fork" and len(options) > 1:
                continue  # of a forked process a search knows a part of the blocks
            for old in folder.glob("a*.hpw"):
                old.unlink()
            ended = run(folder, *words, options=options)
            hw.need(ended.status == 0 and "Free" not in ended.errors, f"{words}: {ended}")
    ended = run(folder, hw.ANSWERS / "killed", "exit", "lost", options=("--error-exitcode=9",))
    hw.need(ended.status == 0 and "12.1" not in ended.errors, f"leaks are told that nobody asked for: {ended}")


@TESTS.test
def forms(folder):
    """Text, JSON, JUnit, SARIF, annotations and memcheck's form have the errors, with their places"""
    run(folder, MISMATCHED)
    form = {name: hw.heapwise("leaks", "--error-exitcode=7", f"--format={name}", folder / "a.hpw")
            for name in ("text", "json", "junit", "sarif", "github", "memcheck")}
    for name, ended in form.items():
        hw.need(ended.status == 7, f"{name}: {ended}")
        hw.need("make_plain" in ended.text, f"{name}: {ended.text}")
    others = json.loads(form["json"].text)["other_errors"]
    hw.need((others["errors_total"], others["error_count"], others["decided"]) == (2, 5, True), f"{others}")
    suite = xml.etree.ElementTree.fromstring(form["junit"].text).find("testsuite")
    failures = suite.findall("testcase/failure")
    hw.need([one.get("type") for one in failures] == ["MismatchedFree"] * 2 and suite.get("failures") == "2", form["junit"].text)
    hw.need(suite.get("tests") == str(len(suite.findall("testcase"))), form["junit"].text)
    results = json.loads(form["sarif"].text)["runs"][0]
    hw.need([one["ruleId"] for one in results["results"]] == ["memory-error"] * 2, f"{results['results']}")
    hw.need(results["tool"]["driver"]["rules"][results["results"][0]["ruleIndex"]]["id"] == "memory-error", "the rule's index")
    hw.need(form["github"].text.count("::error ") == 2, form["github"].text)
    hw.need("ERROR SUMMARY: 5 errors from 2 contexts" in form["memcheck"].text, form["memcheck"].text)


@TESTS.test
def valgrinds_form(folder):
    """memcheck's XML has the errors before the program's end, with its kinds and all stacks, and is read back so"""
    for words, kinds in (((MISMATCHED,), ["MismatchedFree"] * 2), ((BAD, "small"), ["InvalidFree"])):
        run(folder, *words, options=("--leak-check=full", "--free-stacks"))
        ended = hw.heapwise("leaks", "--format=valgrind", folder / "a.hpw")
        document = xml.etree.ElementTree.fromstring(ended.text)
        names = [part.tag for part in document]
        errors = [part for part in document.findall("error") if part.find("what") is not None]
        hw.need([one.find("kind").text for one in errors] == kinds, ended.text)
        hw.need(names.index("error") < len(names) - 1 - names[::-1].index("status"), f"after the end: {names}")
        for one in errors:
            hw.need(len(one.findall("stack")) >= 2 and len(one.findall("auxwhat")) >= 1, ended.text)
            counted = [pair.find("count").text for pair in document.iter("pair") if pair.find("unique").text == one.find("unique").text]
            hw.need(len(counted) == 1 and int(counted[0]) >= 1, f"count {counted}")
        (folder / "a.xml").write_text(ended.text)
        read = hw.report(folder / "a.xml", "--view", "errors")
        hw.need([one["kind"] for one in read["errors"]] == kinds, f"{read['errors']}")


FOREIGN = """<?xml version="1.0"?>
<valgrindoutput>
<protocolversion>4</protocolversion>
<protocoltool>memcheck</protocoltool>
<pid>7</pid><ppid>1</ppid><tool>memcheck</tool>
<args><vargv><exe>valgrind</exe></vargv><argv><exe>./app</exe></argv></args>
<status><state>RUNNING</state><time>00:00:00:00.001 </time></status>
<error><unique>0x0</unique><tid>1</tid><kind>UninitCondition</kind>
<what>Conditional jump or move depends on uninitialised value(s)</what>
<stack><frame><ip>0x401136</ip><obj>/app</obj><fn>main</fn></frame></stack></error>
<status><state>FINISHED</state><time>00:00:00:00.002 </time></status>
<error><unique>0x1</unique><tid>1</tid><kind>Leak_DefinitelyLost</kind>
<xwhat><text>10 bytes in 1 blocks are definitely lost in loss record 1 of 1</text>
<leakedbytes>10</leakedbytes><leakedblocks>1</leakedblocks></xwhat>
<stack><frame><ip>0x401146</ip><obj>/app</obj><fn>main</fn></frame></stack></error>
<errorcounts><pair><count>3</count><unique>0x0</unique></pair><pair><count>1</count><unique>0x1</unique></pair></errorcounts>
</valgrindoutput>
"""


@TESTS.test
def others_errors(folder):
    """What another checker found is told in its words, not as a wrong free; of leaks that nobody asked for nothing is decided"""
    (folder / "x.xml").write_text(FOREIGN)
    ended = hw.heapwise("leaks", "--format=memcheck", folder / "x.xml")
    hw.need("Conditional jump" in ended.text and "free()" not in ended.text, f"{ended} {ended.text}")
    ended = run(folder, MISMATCHED, options=("--error-exitcode=9", "--format=json", f"--log-file={folder / 'log'}"))
    said = json.loads((folder / "log").read_text())
    hw.need(ended.status == 9 and said["leaks"]["decided"] is None and said["other_errors"]["decided"] is True, f"{ended} {said['leaks']}")


@TESTS.test
def killed_by_it(folder):
    """A double free that ends the program is an error of its recording, wherever else it can't be judged"""
    ended = run(folder, BAD, "small")
    hw.need(ended.status < 0 and "DoubleFree" in ended.errors, f"{ended}")
    hw.need(hw.heapwise("leaks", "--error-exitcode=7", folder / "a.hpw").status == 7, "a double free passes")


@TESTS.test
def samples(folder):
    """A sample does not tell which frees were wrong: the gate says so"""
    ended = run(folder, MISMATCHED, options=("--mode=sample", "--error-exitcode=9"))
    hw.need(ended.status == 125 and "a sample does not record" in ended.errors, f"{ended}")


@TESTS.test
def memcheck(folder):
    """memcheck's --error-exitcode fails on the same programs"""
    if not shutil.which("valgrind"):
        raise hw.Skip("valgrind is not installed")
    for words in ((str(MISMATCHED),), (str(BAD), "none")):
        theirs = hw.run(["valgrind", "-q", "--error-exitcode=9", *words])
        ours = run(folder, *words, options=("--error-exitcode=9",))
        hw.need(theirs.status == ours.status, f"{words}: memcheck {theirs.status}, ours {ours.status}")


TESTS.main()
