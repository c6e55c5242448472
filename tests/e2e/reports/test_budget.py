#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise budget`: limits kept and exceeded, stacks to blame, forms, and the recipes of docs/howto/ci.md."""

import csv
import importlib.util
import io
import json
import os
import re
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from ci_forms import wrong_junit, wrong_sarif
from documented import undocumented

TESTS = hw.Tests()
DIFF = hw.TARGETS / "diff"
FORMS = ("text", "json", "sarif", "junit", "github", "markdown")
# What diff_new leaves: leaks 6 × 211, grows 25 × 307, steady 10 × 101, small 7 × 23, read_config 11 × 67, helper 3 × 41,
# shrinks 5 × 53.
LEFT = 6 * 211 + 25 * 307 + 10 * 101 + 7 * 23 + 11 * 67 + 3 * 41 + 5 * 53
COUNT = 6 + 25 + 10 + 7 + 11 + 3 + 5


def heapwise(*arguments, **more):
    return hw.run([hw.HEAPWISE, *map(str, arguments)], **more)


def recording(folder, program="diff_new-O2", options=("-q",), name=None):
    path = folder / f"{name or program}.hpw"
    ended = hw.record([DIFF / program], path, options=options)
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def budget(status, *arguments):
    ended = heapwise("budget", "--json", *arguments)
    hw.need(ended.status == status, f"{arguments}: expected status {status}: {ended}")
    found = json.loads(ended.text)
    hw.need(found["passed"] == (status == 0), f"{arguments}: passed is {found['passed']}")
    return found["checks"]


def blamed(check):
    return [next(frame["function"] for frame in finding["stack"] if frame["function"] != "xalloc")
            for finding in check["findings"]]


@TESTS.test
def totals(folder):
    """Each limit is kept at the figure itself and exceeded below it; the fewest stacks are blamed"""
    path = recording(folder)
    for option, value in (("peak", LEFT), ("never-freed", LEFT), ("allocations", COUNT)):
        hw.need(budget(0, f"--max-{option}", value, path)[0]["value"] == value, f"{option} is another")
        check = budget(1, f"--max-{option}", value - 1, path)[0]
        hw.need(blamed(check) == ["grows"], f"{option}: {blamed(check)}")
    check = budget(1, "--max-never-freed", 1000, path)[0]
    hw.need(blamed(check) == ["grows", "leaks", "steady", "read_config"], f"{blamed(check)}")
    budget(0, "--max-temporary", 0, path)
    checks = budget(1, "--max-peak", "1M", "--max-allocations", 1, "--max-temporary", 0, path)
    hw.need([check["state"] for check in checks] == ["kept", "exceeded", "kept"], f"{checks}")


@TESTS.test
def per_stack(folder):
    """Of a limit for each stack all that exceed it are blamed"""
    path = recording(folder)
    budget(0, "--max-per-stack", 25 * 307, path)
    check = budget(1, "--max-per-stack", "1K", path)[0]
    hw.need(blamed(check) == ["grows", "leaks"], f"{blamed(check)}")
    hw.need([finding["value"] for finding in check["findings"]] == [25 * 307, 6 * 211], f"{check}")


@TESTS.test
def growth(folder):
    """Growth over a baseline of another build is judged, in bytes and percents"""
    old, new = recording(folder, "diff_old-O0"), recording(folder)
    before = 10 * 101 + 7 * 23 + 11 * 67 + 3 * 41 + 5 * 307 + 15 * 53 + 4 * 79
    grown = LEFT - before
    for limit, status in ((grown, 0), (grown - 1, 1), ("1000%", 0), ("1%", 1)):
        check = budget(status, "--baseline", old, "--max-growth", limit, new)[0]
        hw.need(check["base"] == before and check["value"] == grown, f"{check}")
    check = budget(1, "--baseline", old, new)[0]
    hw.need(blamed(check) == ["grows", "leaks"], f"{blamed(check)}")
    hw.need(check["findings"][0]["value"] == 20 * 307, "not what it grew by")
    budget(0, "--baseline", new, old)
    budget(0, "--baseline", new, new)


@TESTS.test
def leaks(folder):
    """Leaks are judged by kind, with suppressions; without a search they cannot be"""
    path = recording(folder, options=("-q", "--leak-check=full", "--show-leak-kinds=none"))
    check = budget(1, "--max-leak", 0, "--fail-on", "all", path)[0]
    hw.need(check["value"] == LEFT, f"{check}")
    check = budget(1, "--max-leak-per-stack", "1K", "--fail-on", "all", path)[0]
    hw.need(blamed(check) == ["grows", "leaks"], f"{blamed(check)}")
    known = folder / "known.supp"
    known.write_text("{\n   known\n   Memcheck:Leak\n   ...\n   fun:grows\n}\n", encoding="utf-8")
    check = budget(1, "--fail-on", "all", "--suppressions", known, path)[0]
    hw.need(check["value"] == LEFT - 25 * 307, f"{check}")
    unsearched = recording(folder, name="unsearched")
    check = budget(3, "--max-leak", 0, unsearched)[0]
    hw.need(check["state"] == "unknown" and "--leak-check" in check["reason"], f"{check}")
    budget(1, "--max-leak", 0, "--max-never-freed", 0, unsearched)


def cut(path):
    """The recording without its last third."""
    short = path.with_name("cut.hpw")
    short.write_bytes(path.read_bytes()[:path.stat().st_size * 2 // 3])
    return short


@TESTS.test
def unseen(folder):
    """A limit is not kept by what is missing: a recording that is cut, a baseline that is, a malloc that was not seen"""
    path = recording(folder)
    short = cut(path)
    for limit in ("peak", "never-freed", "per-stack", "allocations"):
        check = budget(3, f"--max-{limit}", "1M", short)[0]
        hw.need(check["state"] == "unknown" and "incomplete" in check["reason"], f"{check}")
    reason = budget(3, "--baseline", short, "--max-growth", "1M", path)[0]["reason"]
    hw.need("of the baseline: the recording is incomplete" in reason, reason)
    budget(0, "--max-peak", "1M", f"{short}@start")
    budget(1, "--max-peak", 0, "--max-allocations", "1M", path.with_name(f"{path.name}@peak"))
    own = folder / "own.hpw"
    hw.record([hw.TARGETS / "own_malloc"], own, options=("-q",))
    hw.need("its own malloc" in budget(3, "--max-peak", "1M", own)[0]["reason"], "an unseen malloc")


def field(number, content):
    return bytes([number << 3 | 2, len(content)]) + content


@TESTS.test
def unsaid(folder):
    """What a file of another kind does not say is no 0: a profile without what is live keeps no limit of that"""
    profile = folder / "allocated.pb"
    profile.write_bytes(field(1, b"\x08\x01\x10\x02") + field(2, b"\x0a\x01\x01\x12\x01\x64") + field(4, b"\x08\x01\x18\x10")
                        + field(6, b"") + field(6, b"alloc_space") + field(6, b"bytes"))
    path = recording(folder)
    for arguments, word in ((("--max-never-freed", "1G", profile), "this format"), (("--max-per-stack", "1G", profile), "this format"),
                            (("--baseline", profile, "--max-growth", "1G", path), "of the baseline"),
                            (("--baseline", path, "--max-growth", "1G", profile), "this format")):
        check = budget(3, *arguments)[0]
        hw.need(check["state"] == "unknown" and word in check["reason"], f"{arguments}: {check}")


@TESTS.test
def samples(folder):
    """Of a sample only what is certain is kept or exceeded; what it cannot tell is said"""
    path = recording(folder, options=("-q", "--mode", "sample:64"))
    value = json.loads(heapwise("report", "--json", path).text)["totals"]["live_bytes_at_end"]
    budget(0, "--max-never-freed", value * 4, path)
    check = budget(3, "--max-never-freed", value - 1, path)[0]
    hw.need(check["range"][0] < check["value"] < check["range"][1] and "range" in check["reason"], f"{check}")
    budget(1, "--max-never-freed", value // 4, path)
    hw.need(budget(3, "--max-temporary", 0, path)[0]["state"] == "unknown", "temporary ones are known")


@TESTS.test
def comma_separated(folder):
    """CSV has a line for each limit, with the figures that JSON has"""
    path = recording(folder)
    arguments = ("--max-never-freed", "0", "--max-per-stack", "1K", "--max-peak", "1G", "--max-leak", "0", path)
    rows = list(csv.DictReader(io.StringIO(heapwise("budget", "--csv", *arguments).text)))
    checks = budget(1, *arguments)
    hw.need([(row["rule"], row["state"]) for row in rows] == [(check["rule"], check["state"]) for check in checks],
            f"{rows}")
    for row, check in zip(rows, checks):
        hw.need(row["value"] == ("" if check["value"] is None else str(check["value"])), f"{row}")
        hw.need(row["findings"].split(";") == ([finding["fingerprint"] for finding in check["findings"]] or [""]),
                f"{row}")


@TESTS.test
def forms(folder):
    """Every form is what its standard asks for, and says that a limit is exceeded"""
    path = recording(folder)
    arguments = ("--max-never-freed", "0", "--max-per-stack", "1K", "--max-peak", "1G", "--max-leak", "0", path)
    for form in FORMS:
        ended = heapwise("budget", "--format", form, *arguments)
        hw.need(ended.status == 1 and "grows" in ended.text, f"{form}: {ended}")
        hw.need(heapwise("budget", "--format", form, *arguments).text == ended.text, f"{form}: two differ")
        if form == "sarif":
            found = json.loads(ended.text)
            hw.need(not wrong_sarif(found), f"{wrong_sarif(found)}")
            hw.need({result["ruleId"] for result in found["runs"][0]["results"]} == {"max-never-freed", "max-per-stack"},
                    "other rules")
        elif form == "junit":
            suites = xml.etree.ElementTree.fromstring(ended.text)
            hw.need(not wrong_junit(suites), f"{wrong_junit(suites)}")
            hw.need(len(suites.findall("testsuite/testcase/error")) == 1, "the limit for leaks is judged")
        elif form == "github":
            lines = ended.text.splitlines()
            hw.need(all(re.match(r"::(error|notice) [^:]*::.", line) for line in lines), ended.text)
            hw.need(any("app.c,line=" in line for line in lines), ended.text)
        elif form == "markdown":
            hw.need("| `--max-peak` | ✅ kept |" in ended.text, ended.text)
            hw.need("| `--max-never-freed` | ❌ exceeded |" in ended.text, ended.text)
    found = json.loads(heapwise("budget", "--json", *arguments).text)
    pages = [hw.SOURCE / "docs/schema" / name for name in ("budget-1.md", "report-1.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    known = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]*)`", text))))
    hw.need(found["schema"] == "heapwise.budget/1" and not undocumented(found, known), f"{undocumented(found, known)}")


ODD = """#include <stdlib.h>
#line 1 "we<i>rd\\033[31m`|\\n.c"
int main(void) { return !malloc(77); }
"""


@TESTS.test
def odd_names(folder):
    """Names from outside end no line of a text and no code in Markdown, and are no tags there"""
    program = folder / "odd<b>"
    ended = hw.run([hw.need_program("gcc"), "-g", "-O0", "-x", "c", "-", "-o", program], stdin=ODD.encode())
    hw.need(ended.status == 0, str(ended))
    path = folder / "odd.hpw"
    hw.record([program], path, options=("-q",))
    text = heapwise("budget", "--max-peak", 0, path).text
    hw.need("      main  we<i>rd?[31m`|?.c:1  [odd<b>]\n" in text, text)
    page = heapwise("budget", "--max-peak", 0, "--format", "markdown", path).text
    hw.need("- 77 B in 1 block, from `malloc` in `main (we<i>rd?[31m  ?.c:1)`\n" in page, page)
    report = heapwise("report", path).text
    hw.need("from one allocation site: main (we<i>rd?[31m`|?.c:1).\n" in report and "\033" not in report, report)


def fingerprints(path):
    sarif = json.loads(heapwise("budget", "--format", "sarif", "--max-never-freed", "0", path).text)
    return {result["message"]["text"].rpartition(" in ")[2].partition(" ")[0]: result["partialFingerprints"]["heapwiseStack/v1"]
            for result in sarif["runs"][0]["results"]}


@TESTS.test
def stable(folder):
    """Fingerprints stay when lines and figures change"""
    (folder / "a").mkdir(), (folder / "b").mkdir()
    source = ("#include <stdlib.h>\nvoid *volatile kept;\n"
              "__attribute__((noinline)) void stays(void) { kept = malloc(SIZE); }\nint main(void) { stays(); return 0; }\n")
    found = []
    for name, text, size in (("a", source, 100), ("b", "\n\n\n" + source, 200)):
        (folder / name / "app.c").write_text(text, encoding="utf-8")
        program = folder / name / "app"
        built = hw.run([hw.need_program("gcc"), "-g", "-O1", f"-DSIZE={size}", "-o", program, folder / name / "app.c"])
        hw.need(built.status == 0, str(built))
        hw.record([program], folder / f"{name}.hpw")
        found.append(fingerprints(folder / f"{name}.hpw"))
    hw.need(found[0] == found[1] and "stays" in found[0], f"{found}")


@TESTS.test
def refused(folder):
    """Wrong use is refused and says what would be right"""
    path = recording(folder)
    for arguments, status, word in (
            ((path,), 2, "--max-peak"),
            (("--max-peak", "much", path), 2, "--max-peak"),
            (("--max-peak", "5%", path), 2, "--max-peak"),
            (("--max-growth", "5%", path), 2, "--baseline"),
            (("--fail-on", "some", path), 2, "--fail-on"),
            (("--format", "html", "--max-peak", "1", path), 2, "markdown"),
            (("--max-peak", "1", path, path), 2, "one recording"),
            (("--max-peak", "1", folder / "none.hpw"), 3, "none.hpw"),
            (("--baseline", folder / "none.hpw", path), 3, "none.hpw"),
            (("--suppressions", folder / "none.supp", "--max-leak", "0", path), 3, "none.supp")):
        ended = heapwise("budget", *arguments)
        hw.need(ended.status == status and ended.text == "" and word in ended.errors, f"{arguments}: {ended}")


APP = """#include <stdlib.h>
void *volatile kept;
int main(int argc, char **argv)
{
	kept = malloc(100);
#ifndef LEAK
	free(kept);
#endif
	return 0;
}
"""


def recipe(language):
    """The block of docs/howto/ci.md in that language, for limits: errors have recipes of their own."""
    page = (hw.SOURCE / "docs/howto/ci.md").read_text(encoding="utf-8")
    page = re.sub(r"\n## Memory errors\n.*?(?=\n## )", "", page, flags=re.DOTALL)
    blocks = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    hw.need(len(blocks) == 1, f"{len(blocks)} blocks of {language}")
    return blocks[0]


def project(folder, leak):
    """A folder with app.c and app, an environment where heapwise is found."""
    place = folder / ("leaks" if leak else "clean")
    place.mkdir()
    (place / "app.c").write_text(("#define LEAK\n" if leak else "") + APP, encoding="utf-8")
    built = hw.run([hw.need_program("gcc"), "-g", "-o", place / "app", place / "app.c"])
    hw.need(built.status == 0, str(built))
    path = f"{hw.HEAPWISE.parent}:{os.environ.get('PATH', '')}"
    return place, hw.clean_environment(PATH=path, GITHUB_STEP_SUMMARY=place / "summary.md")


def try_recipe(folder, judge):
    """judge(place, environment) says how each project fares; the clean one alone passes."""
    for leak in (False, True):
        place, environment = project(folder, leak)
        ended = judge(place, environment)
        hw.need((ended.status != 0) == leak, f"{place.name}: {ended.text} {ended}")


@TESTS.test
def ci_shell(folder):
    """The recipe for a shell holds"""
    try_recipe(folder, lambda place, env: hw.run(["sh", "-ec", recipe("sh")], cwd=place, env=env))


@TESTS.test
def ci_make(folder):
    """The recipe for make holds"""
    make = hw.need_program("make")

    def judge(place, env):
        (place / "Makefile").write_text("app: app.c\n\n" + recipe("make"), encoding="utf-8")
        return hw.run([make, "check-heap"], cwd=place, env=env)
    try_recipe(folder, judge)


@TESTS.test
def ci_ctest(folder):
    """The recipe for ctest holds"""
    cmake, ctest = hw.need_program("cmake"), hw.need_program("ctest")

    def judge(place, env):
        (place / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.10)\nproject(app C)\nadd_executable(app app.c)\n" + recipe("cmake"),
            encoding="utf-8")
        for command in ([cmake, "-S", ".", "-B", "build"], [cmake, "--build", "build"]):
            built = hw.run(command, cwd=place, env=env)
            hw.need(built.status == 0, f"{built.text} {built}")
        return hw.run([ctest, "--output-on-failure"], cwd=place / "build", env=env)
    try_recipe(folder, judge)


@TESTS.test
def ci_meson(folder):
    """The recipe for meson holds"""
    meson = hw.need_program("meson")

    def judge(place, env):
        (place / "meson.build").write_text(
            "project('app', 'c')\napp = executable('app', 'app.c')\n" + recipe("meson"), encoding="utf-8")
        built = hw.run([meson, "setup", "build"], cwd=place, env=env)
        hw.need(built.status == 0, f"{built.text} {built}")
        return hw.run([meson, "test", "-C", "build"], cwd=place, env=env)
    try_recipe(folder, judge)


@TESTS.test
def ci_pytest(folder):
    """The recipe for pytest holds"""
    runs = "import sys, pathlib; sys.path.insert(0, '.'); import test_heap; test_heap.test_heap(pathlib.Path('.'))"
    if importlib.util.find_spec("pytest"):
        runs = "import sys, pytest; sys.exit(pytest.main(['-q', 'test_heap.py']))"

    def judge(place, env):
        (place / "test_heap.py").write_text(recipe("python"), encoding="utf-8")
        return hw.run([sys.executable, "-c", runs], cwd=place, env=env)
    try_recipe(folder, judge)


@TESTS.test
def ci_workflow(folder):
    """The recipe for a workflow holds: its commands do, one by one"""
    steps = re.findall(r"^- name: (.*)\n(?:  if: .*\n)?  run: (.*)$", recipe("yaml"), re.MULTILINE)
    hw.need(len(steps) == 4, f"{len(steps)} steps")

    def judge(place, env):
        ends = [hw.run(["sh", "-ec", command], cwd=place, env=env) for _, command in steps]
        hw.need(ends[0].status == 0, str(ends[0]))
        hw.need("max-never-freed" in (place / "summary.md").read_text(encoding="utf-8"), "no summary")
        hw.need(not wrong_sarif(json.loads((place / "heap.sarif").read_text(encoding="utf-8"))), "no SARIF")
        return ends[1]
    try_recipe(folder, judge)


@TESTS.test
def every_option(folder):
    """Each option that the help of a command lists is taken: none ends it by a signal, or is no option after all"""
    values = {"FILE": "/dev/null", "DIR": str(folder), "DIR[:DIR]": str(folder), "OLD": "none.hpw"}
    commands = re.findall(r"^  (\w+) +[A-Z]", hw.heapwise("--help").text, re.MULTILINE)
    hw.need("budget" in commands and "leaks" in commands, f"commands: {commands}")
    for command in commands:
        for option, value in re.findall(r"^ +(?:-\w, +)?(--[\w-]+)(?:\[?[= ]([A-Z][^ ]*))?",
                                        hw.heapwise(command, "--help").text, re.MULTILINE):
            if option == "--help":
                continue
            words = [option] if not value else [f"{option}={values.get(value, '1')}"]
            ended = hw.heapwise(command, *words, folder / "none.hpw")
            hw.need(0 <= ended.status < 128, f"{command} {words}: {ended}")
            hw.need("unknown option" not in ended.errors, f"{command} {words}: {ended}")


TESTS.main()
