#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors of memcheck's files: suppressed, written in all forms, judged.

What Valgrind itself says of the same program is the measure: which errors there are, and which of them its own suppressions fit.
"""

import json
import re
import shutil
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import ci_forms
import hw

TESTS = hw.Tests()
BAD = hw.TARGETS / "engine/engine_errors"
CXX = hw.TARGETS / "engine/engine_mangled"
# What each makes, in memcheck's words.
KINDS = {
    "read1": "InvalidRead", "read4": "InvalidRead", "read8": "InvalidRead", "write2": "InvalidWrite", "write4": "InvalidWrite",
    "cond": "UninitCondition", "value8": "UninitValue", "param": "SyscallParam", "free_twice": "InvalidFree",
    "free_inside": "InvalidFree", "overlap": "Overlap", "fishy": "FishyValue", "length": "InvalidRead",
}


def valgrind(folder, name, *words, options=()):
    """Valgrind's own word on a program: its XML, and the entries that it wrote."""
    if not shutil.which("valgrind"):
        raise hw.Skip("no Valgrind here (./dev deps --peers installs it)")
    file = folder / f"{name}.xml"
    ended = hw.run(["valgrind", "--xml=yes", f"--xml-file={file}", "--num-callers=24", "--leak-check=no", *options, *words])
    hw.need(file.exists(), str(ended))
    return file


def errors_of(file):
    """(unique, kind, entry or None) of each error in a file that no suppression fits."""
    found = []
    for error in xml.etree.ElementTree.parse(file).getroot().findall("error"):
        raw = error.find("suppression/rawtext")
        found.append((error.find("unique").text, error.find("kind").text, raw.text.strip() + "\n" if raw is not None else None))
    return found


def shown(file, *options, status=0):
    """What heapwise shows of a file."""
    ended = hw.heapwise("report", "--view", "errors", "--json", *options, file)
    hw.need(ended.status == status, str(ended))
    return json.loads(ended.text)


def kinds_shown(file, *options):
    return sorted(error["kind"] for error in shown(file, *options)["errors"])


# --- suppressions ---------------------------------------------------------------------------------


def suppressed_alike(folder, words):
    """Entry by entry that Valgrind wrote: the same errors are left in Valgrind and here."""
    file = valgrind(folder, "all", *words, options=["--gen-suppressions=all"])
    errors = errors_of(file)
    hw.need(len(errors) >= 5 and all(entry for *_, entry in errors), f"{errors}")
    hw.need(kinds_shown(file) == sorted(kind for _, kind, _ in errors), f"{errors}")
    for number, (_, kind, entry) in enumerate(errors):
        one = folder / f"{number}.supp"
        one.write_text(entry)
        there = sorted(kind for _, kind, _ in errors_of(valgrind(folder, "left", *words, options=[f"--suppressions={one}"])))
        answer = shown(file, "--suppressions", one)
        here = sorted(error["kind"] for error in answer["errors"])
        hw.need(here == there, f"{kind}:\n{entry}\nleaves {there} in Valgrind, {here} here")
        used = [row for row in answer["suppressions"] if row["from"]]
        hw.need([row["count"] > 0 for row in used] == [True] and used[0]["from"] == f"{one}:2", f"{used}")
    every = folder / "every.supp"
    every.write_text("".join(entry for *_, entry in errors))
    hw.need(not kinds_shown(file, "--suppressions", every), "some are left when all entries are given")


@TESTS.test
def suppressed_c(folder):
    """Entries that Valgrind generates suppress exactly the errors that they suppress in Valgrind: each kind"""
    suppressed_alike(folder, [BAD, *KINDS])


@TESTS.test
def suppressed_cxx(folder):
    """So do entries with mangled names, though Valgrind's XML has the names that these stand for"""
    suppressed_alike(folder, [CXX])


@TESTS.test
def written(folder):
    """Entries that heapwise writes suppress all these errors here and in Valgrind"""
    file = valgrind(folder, "all", BAD, *KINDS)
    for form in ("text", "memcheck"):
        ended = hw.heapwise("report", "--view", "errors", "--gen-suppressions=yes", "--format", form, file)
        hw.need(ended.status == 0, str(ended))
        entries = re.findall(r"^\{\n.*?^\}\n", ended.text, re.MULTILINE | re.DOTALL)
        hw.need(len(entries) == len(KINDS), f"{form}: {ended.text}")
        own = folder / f"{form}.supp"
        own.write_text("".join(entries))
        hw.need(not kinds_shown(file, "--suppressions", own), "some are left here")
        left = errors_of(valgrind(folder, "left", BAD, *KINDS, options=[f"--suppressions={own}"]))
        hw.need(not left, f"left in Valgrind: {left}")


QUALIFIED = """#include <cstdlib>
namespace shop { struct Cart { __attribute__((noinline)) int spoil(int); }; }
int shop::Cart::spoil(int n) { volatile char *p = (char *)malloc(n); free((void *)p); return p[3]; }
int main() { shop::Cart cart; return cart.spoil(40) & 0; }
"""


@TESTS.test
def written_qualified(folder):
    """An entry for a qualified C++ function from memcheck's file fits it here and in Valgrind"""
    source, program = folder / "q.cc", folder / "q"
    source.write_text(QUALIFIED)
    built = hw.run(["g++", "-g", "-O0", "-o", str(program), str(source)])
    hw.need(built.status == 0, str(built))
    file = valgrind(folder, "all", program)
    hw.need(kinds_shown(file) == ["InvalidRead"], f"{kinds_shown(file)}")
    ended = hw.heapwise("report", "--view", "errors", "--gen-suppressions=yes", file)
    hw.need("fun:*shop*Cart*spoil*\n" in ended.text and "only demangled names" in ended.text, ended.text)
    own = folder / "own.supp"
    own.write_text("".join(re.findall(r"^\{\n.*?^\}\n", ended.text, re.MULTILINE | re.DOTALL)))
    hw.need(not kinds_shown(file, "--suppressions", own), "left here")
    left = errors_of(valgrind(folder, "left", program, options=[f"--suppressions={own}"]))
    hw.need(not left, f"left in Valgrind: {left}")


@TESTS.test
def mixed(folder):
    """A file with entries for leaks and errors, of Valgrind's, LSan's and ASan's form, works in both verbs"""
    mix = folder / "mix.supp"
    mix.write_text("{\nthe leak\nMemcheck:Leak\nfun:malloc\nfun:leak\n}\n"
                   "{\nthe read\nMemcheck:Addr4\nfun:read4\n}\n"
                   "{\nno read\nMemcheck:Addr8\nfun:read4\n}\n"
                   "{\nof another tool\nHelgrind:Race\nfun:read4\n}\n"
                   "interceptor_via_fun:^length$\nleak:nothing_like_this\nodr_violation:x\n")
    words = [BAD, "read4", "length", "write4", "leak"]
    file = valgrind(folder, "all", *words, options=["--leak-check=full", "--show-leak-kinds=all"])
    hw.need(kinds_shown(file, "--suppressions", mix) == ["InvalidWrite"], f"{kinds_shown(file, '--suppressions', mix)}")
    rows = {row["name"]: row["count"] for row in shown(file, "--suppressions", mix)["suppressions"] if row["from"]}
    hw.need(rows == {"the read": 1, "no read": 0, "^length$": 1}, f"{rows}")
    ended = hw.heapwise("leaks", "--suppressions", mix, "--json", file)
    answer = json.loads(ended.text)
    hw.need([error["kind"] for error in answer["other_errors"]["errors"]] == ["InvalidWrite"], ended.text)
    hw.need(answer["leaks"]["errors"] == 0, ended.text)
    entries = answer["leaks"]["suppressions"]
    hw.need({row["name"] for row in entries["used"]} == {"the leak", "the read", "^length$"}, f"{entries}")
    hw.need(entries["passed_over"] == 2, f"{entries}")


# Each of AddressSanitizer's and LeakSanitizer's forms, and a twin that fits nothing.
ASAN_FORMS = (
    ("interceptor_name:^strlen$", "interceptor_name:^trlen$", "length"), ("interceptor_name:str*n", "interceptor_name:length", "length"),
    ("interceptor_via_fun:^length$", "interceptor_via_fun:^read4$", "length"), ("interceptor_via_fun:eng*h", "interceptor_via_fun:lengths", "length"),
    ("interceptor_via_lib:engine_errors$", "interceptor_via_lib:^engine_errors", "length"),
    ("interceptor_name:^strcpy", "interceptor_name:strncpy", "overlap"), ("interceptor_name:write$", "interceptor_name:^rite", "param"))


@TESTS.test
def sanitizers_forms(folder):
    """Each of AddressSanitizer's forms leaves out what it fits, and its twin nothing: natively and of memcheck's file"""
    known = folder / "known.supp"
    file = valgrind(folder, "all", BAD, "read4", *sorted({word for *_, word in ASAN_FORMS}))
    every = kinds_shown(file)
    for fits, twin, word in ASAN_FORMS:
        known.write_text(f"# known\n\n{twin}\nodr_violation:{word}\n")
        hw.need(kinds_shown(file, "--suppressions", known) == every, f"{twin} fits")
        known.write_text(f"# known\n  {fits}\n")
        left = kinds_shown(file, "--suppressions", known)
        count = 3 if "via_lib" in fits else 1  # the program itself is in all three stacks
        hw.need(len(left) == len(every) - count, f"{fits}: {left}")
        row = [row for row in shown(file, "--suppressions", known)["suppressions"] if row["from"]]
        hw.need([one["count"] for one in row] == [count], f"{row}")
        if word == "length":
            for line, errors in ((fits, 0), (twin, 1)):
                known.write_text(line + "\n")
                ended = hw.heapwise("check", "--full", "--error-exitcode=9", "--suppressions", known, "--", BAD, word)
                hw.need(ended.status == 9 * errors, f"{line}: {ended}")
    known.write_text("interceptor_via_fun:read4\ninterceptor_name:read4\n")
    hw.need(kinds_shown(file, "--suppressions", known) == every, "an access of the program's own function read4 is no call")
    known.write_text("leak:x\nrace:read4\n")
    ended = hw.heapwise("report", "--view", "errors", "--suppressions", known, file)
    hw.need(ended.status not in (0, 1) and "known.supp:2: 'race:read4' is a suppression of ThreadSanitizer" in ended.errors, str(ended))


@TESTS.test
def wrong_files(folder):
    """Files that can't be read, or have mistakes, and options where they have no effect are refused"""
    file = valgrind(folder, "all", BAD, "read4")
    bad = folder / "bad.supp"
    bad.write_text("{\na\nMemcheck:Addr5\nfun:x\n}\n")
    for options, says in ((["--suppressions", bad], "bad.supp:3: unknown Memcheck error kind 'Addr5'"),
                          (["--suppressions", folder / "none"], "none"),
                          (["--format", "xml"], "invalid --format 'xml'"),
                          (["--error-exitcode", "256"], "invalid --error-exitcode '256'"),
                          (["--format", "sarif", "--json"], "excludes --json"),
                          (["--suppressions", bad, "--anonymize"], "--anonymize")):
        ended = hw.heapwise("report", "--view", "errors", *options, file)
        hw.need(ended.status not in (0, 1) and says in ended.errors, f"{options}: {ended}")
    ended = hw.heapwise("report", "--suppressions", bad, file)
    hw.need(ended.status == 2 and "--suppressions needs --view errors" in ended.errors, str(ended))


# --- forms ----------------------------------------------------------------------------------------


@TESTS.test
def forms(folder):
    """memcheck's text and XML, SARIF, JUnit and annotations have all errors, with kind and place"""
    # "loop" calls what is called before it: functions agree in part, and lines do not.
    file = valgrind(folder, "all", BAD, "read4", "write4", "loop", "free_twice")
    form = {}
    for name in ("memcheck", "valgrind", "sarif", "junit", "github"):
        ended = hw.heapwise("report", "--view", "errors", "--format", name, file)
        hw.need(ended.status == 0, f"{name}: {ended}")
        hw.need("write4" in ended.text and "engine_errors.c" in ended.text, f"{name}: {ended.text}")
        form[name] = ended.text
    hw.need(re.search(r"ERROR SUMMARY: 8 errors from 4 contexts", form["memcheck"]), form["memcheck"])
    again = folder / "again.xml"
    again.write_text(form["valgrind"])
    hw.need(kinds_shown(again) == kinds_shown(file), form["valgrind"])
    hw.need(sorted(error["count"] for error in shown(again)["errors"]) == [1, 1, 1, 5], form["valgrind"])
    results = json.loads(form["sarif"])["runs"][0]
    rules = [rule["id"] for rule in results["tool"]["driver"]["rules"]]
    hw.need(sorted(rules) == ["InvalidFree", "InvalidRead", "InvalidWrite"], f"{rules}")
    for result in results["results"]:
        hw.need(rules[result["ruleIndex"]] == result["ruleId"], f"{result}")
        place = result["locations"][0]["physicalLocation"]
        hw.need(place["artifactLocation"]["uri"].endswith("engine_errors.c") and place["region"]["startLine"] > 0, f"{result}")
    prints = [json.dumps(result["partialFingerprints"]) for result in results["results"]]
    hw.need(len(set(prints)) == 4 and results["invocations"][0]["executionSuccessful"] is True, f"{prints}")
    suite = xml.etree.ElementTree.fromstring(form["junit"]).find("testsuite")
    hw.need((suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "4", "0"), form["junit"])
    hw.need(not ci_forms.wrong_junit([suite]), f"{ci_forms.wrong_junit([suite])}")
    wrong = ci_forms.wrong_sarif(json.loads(form["sarif"]))
    hw.need(not wrong, f"{wrong}")
    hw.need(len(suite.findall("testcase/failure")) == 4, form["junit"])
    hw.need(form["github"].count("::error file=") == 4, form["github"])


@TESTS.test
def forms_of_like(folder):
    """Errors whose functions agree, on different lines, are told apart in JUnit and SARIF"""
    file = valgrind(folder, "two", BAD, "twins")
    hw.need(kinds_shown(file) == ["InvalidRead"] * 2, f"{kinds_shown(file)}")
    report = {form: hw.heapwise("report", "--view", "errors", "--format", form, file).text for form in ("junit", "sarif")}
    suite = xml.etree.ElementTree.fromstring(report["junit"]).find("testsuite")
    hw.need(not ci_forms.wrong_junit([suite]) and suite.get("failures") == "2", report["junit"])
    wrong = ci_forms.wrong_sarif(json.loads(report["sarif"]))
    hw.need(not wrong, f"{wrong}")


@TESTS.test
def forms_of_none(folder):
    """Without errors JUnit has a case that passed; with a file that is cut off one that is undecided"""
    clean = valgrind(folder, "clean", BAD)
    junit = hw.heapwise("report", "--view", "errors", "--format", "junit", clean)
    suite = xml.etree.ElementTree.fromstring(junit.text).find("testsuite")
    hw.need((suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "0"), junit.text)
    cut = folder / "cut.xml"
    cut.write_text(clean.read_text().split("<errorcounts>")[0])
    junit = hw.heapwise("report", "--view", "errors", "--format", "junit", cut)
    suite = xml.etree.ElementTree.fromstring(junit.text).find("testsuite")
    hw.need((suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "1"), junit.text)
    sarif = json.loads(hw.heapwise("report", "--view", "errors", "--format", "sarif", cut).text)
    hw.need(sarif["runs"][0]["invocations"][0]["executionSuccessful"] is False, f"{sarif}")
    github = hw.heapwise("report", "--view", "errors", "--format", "github", cut)
    hw.need("can't be decided" in github.text, github.text)


@TESTS.test
def merged(folder):
    """--merge adds up several processes: equal errors are one, with the sum of their counts"""
    files = [valgrind(folder, "a", BAD, "loop", "write4"), valgrind(folder, "b", BAD, "loop", "read1")]
    answer = shown(files[0], "--merge", files[1])
    found = sorted((error["kind"], error["count"]) for error in answer["errors"])
    hw.need(found == [("InvalidRead", 1), ("InvalidRead", 10), ("InvalidWrite", 1)], f"{found}")
    hw.need((answer["errors_total"], answer["error_count"]) == (3, 12), f"{answer['errors_total']}")


# --- gates ----------------------------------------------------------------------------------------


def gate(file, *options):
    """The statuses of both gates."""
    report = hw.heapwise("report", "--view", "errors", "--error-exitcode=9", *options, file)
    budget = hw.heapwise("budget", "--max-errors", "0", *options, file)
    return report.status, budget.status


@TESTS.test
def gates(folder):
    """A gate fails for an error that nothing suppresses, and passes only where errors were looked for to the end"""
    known = folder / "known.supp"
    known.write_text("{\nknown\nMemcheck:Addr4\nfun:read4\n}\n")
    bad, clean = valgrind(folder, "bad", BAD, "read4"), valgrind(folder, "clean", BAD)
    hw.need(gate(bad) == (9, 1), f"{gate(bad)}")
    hw.need(gate(bad, "--suppressions", known) == (0, 0), f"{gate(bad, '--suppressions', known)}")
    hw.need(gate(clean) == (0, 0), f"{gate(clean)}")
    for file, says in ((bad, (9, 1)), (clean, (3, 3))):
        cut = folder / "cut.xml"
        cut.write_text(file.read_text().split("<errorcounts>")[0])
        hw.need(gate(cut) == says, f"{file}: {gate(cut)}")
    hw.need(hw.heapwise("run", "-q", "-f", "-o", folder / "a.hpw", "--", BAD).status == 0, "run")
    hw.need(gate(folder / "a.hpw") == (3, 3), "a recording in which frees alone were checked passes")
    for form in ("text", "json", "csv", "sarif", "junit", "github", "markdown"):
        ended = hw.heapwise("budget", "--max-errors", "0", "--format", form, bad)
        wanted = "max-errors,errors,exceeded" if form == "csv" else "read4"
        hw.need(ended.status == 1 and wanted in ended.text, f"{form}: {ended} {ended.text}")


if __name__ == "__main__":
    TESTS.main()
