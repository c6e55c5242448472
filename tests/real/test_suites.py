#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs' own test suites, natively and recorded: the same results, test by test, and a whole recording
of every process they start.

CPython's come with Debian's libpython3.11-testsuite. perl's core tests are in its source only, and run
with Debian's perl: HW_PERL_SOURCE is the folder that `apt-get source perl` makes; HW_JQ_SOURCE that of
`apt-get source jq`, for jq's own tests, with Debian's jq.

Arguments: `slice` for a minute's worth of CPython's; words that the names of the tests have.
"""

import os
import re
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw
from sessions import environment, wait_sessions

PYTHON = "/usr/bin/python3.11"
PERL = "/usr/bin/perl"
LONG = 900.0  # seconds
# VM sockets lead nowhere in many containers and wait there for ever.
LEFT_OUT = ("*VSOCK*",)

PERL_FOLDERS = ("base", "cmd", "comp", "io", "lib", "mro", "op", "opbasic", "re", "run", "uni")
# Debian's modules, as the tests expect them: all in ../lib.
PERL_MODULES = ("/usr/share/perl/5.36.0", "/usr/lib/x86_64-linux-gnu/perl/5.36.0",
                "/usr/lib/x86_64-linux-gnu/perl-base")
TAP_LINE = re.compile(r"^(ok|not ok) (\d+)(.*)", re.MULTILINE)
# What differs from run to run: numbers of processes, addresses, times.
CHANGES = re.compile(r"0x[0-9a-f]+|\b\d{3,}\b|\b\d+\.\d+\b")

TESTS = hw.Tests()


def check_recordings(folder):
    """Every one whole and exact, once the last process has ended; returns how many."""
    wait_sessions(folder)
    problems, paths = [], sorted(folder.glob("x*.hpw"))
    for path in paths:
        # A site has its whole stack, and a recursion some thousand frames: not all of them.
        found = hw.report(path, "--limit", "1")["recording"]
        wrong = [f"{figure} {found[figure]}" for figure in (
            "lost_events", "repairs", "unknown_frees", "stacks_full") if found[figure]]
        if not found["complete"]:
            wrong.append("; ".join(found["damage"]))
        if found["longest_wait_ns"] >= 1_000_000_000:
            wrong.append(f"a wait of {found['longest_wait_ns']} ns")
        if wrong:
            problems.append(f"{path.name}: {', '.join(wrong)}")
    hw.need(paths and not problems, "\n".join(problems[:20]) or "no recordings")
    return len(paths)


# ---- CPython


def python_results(path):
    """{test: what became of it}, of the file that `--junit-xml` made: the printed lines have other texts between them."""
    return {case.get("name"): [case.get("result"), *(f"{child.tag}: {child.text}" for child in case if child.tag == "skipped"),
                               *(child.tag for child in case if child.tag in ("error", "failure"))]
            for case in ElementTree.parse(path).iter("testcase")}


def python_suite(module, only, **variables):
    def test(folder):
        if not Path(f"/usr/lib/python3.11/test/{module}.py").exists():
            raise hw.Skip("libpython3.11-testsuite is not installed")
        command = [PYTHON, "-m", "test", "-v", "--junit-xml", "results.xml", module]
        for pattern in LEFT_OUT:
            command += ["-i", pattern]
        if only:
            command += ["-m", only]
        env = environment(folder, **variables)
        (folder / "native").mkdir()
        (folder / "recorded").mkdir()
        native = hw.run(command, env=env, cwd=folder / "native", timeout=LONG)
        recorded = hw.record(
            command, folder / "x.hpw", env=env, cwd=folder / "recorded", timeout=LONG)
        hw.need(native.status == 0, f"natively {native}")
        wanted, found = (python_results(folder / where / "results.xml") for where in ("native", "recorded"))
        hw.need(len(wanted) >= 10, f"natively {len(wanted)} results")
        differ = [f"{name}: {found.get(name)}, natively {wanted.get(name)}"
                  for name in sorted(wanted.keys() | found.keys())
                  if wanted.get(name) != found.get(name)]
        hw.need(not differ, "\n".join(differ[:20]))
        hw.need(recorded.status == 0, str(recorded))
        return f"{module}: {len(found)} results, {check_recordings(folder)} recordings"

    return test


# ---- jq


def jq_file(name):
    def test(folder):
        source = Path(os.environ.get("HW_JQ_SOURCE", "/nonexistent")) / "tests"
        jq = hw.need_program("jq")
        if not (source / f"{name}.test").exists():
            raise hw.Skip("HW_JQ_SOURCE is no folder with jq's source (apt-get source jq)")
        command = [jq, "-L", "modules", "--run-tests", f"{name}.test"]
        native = hw.run(command, cwd=source)
        recorded = hw.record(command, folder / "x.hpw", cwd=source, env=environment(folder))
        passed = re.search(r"^(\d+) of \1 tests passed", native.text, re.MULTILINE)
        hw.need(native.status == 0 and passed, f"natively {native}")
        hw.need(recorded.status == 0 and recorded.text == native.text, f"recorded {recorded}")
        return f"{passed[0]}, {check_recordings(folder)} recordings"

    return test


# ---- perl


def perl_tree(source, folder):
    """The folder t of perl's source, with Debian's modules beside it."""
    shutil.copytree(source / "t", folder / "t", symlinks=True)
    (folder / "lib").mkdir()
    for modules in PERL_MODULES:
        for path in sorted(Path(modules).rglob("*")):
            place = folder / "lib" / path.relative_to(modules)
            if path.is_dir():
                place.mkdir(exist_ok=True)
            elif not place.exists():
                place.symlink_to(path)
    (folder / "t/perl").unlink(missing_ok=True)
    (folder / "t/perl").symlink_to(PERL)
    return folder / "t"


def tap(text):
    """{number of a test: its verdicts with their names}; children print some too."""
    found = {}
    for verdict, number, name in TAP_LINE.findall(text):
        found.setdefault(number, []).append(verdict + CHANGES.sub("#", name))
    return {number: sorted(verdicts) for number, verdicts in found.items()}


def perl_file(tree, folder, name):
    """Runs one file of tests. What is wrong, how many verdicts were compared, how many recordings were made."""
    command = [PERL, name]
    # Else the order of hashes, and with it that of some tests, is another each time.
    more = {"cwd": tree, "timeout": LONG, "env": environment(folder, PERL_HASH_SEED=0)}
    # A child of somebody, as under recording: setpgrp(2) fails for who leads a session.
    once, again = (hw.run(["/bin/sh", "-c", '"$@"; exit $?', "sh", *command], **more) for _ in range(2))
    recorded = hw.record(command, folder / "x.hpw", **more)
    first, second, found = (tap(ended.text) for ended in (once, again, recorded))
    steady = {number for number in first.keys() | second.keys() if first.get(number) == second.get(number)}
    if first.keys() == second.keys():
        steady |= found.keys() - first.keys()
    problems = [f"{name}: test {number}: {found.get(number)}, natively {first.get(number)}"
                for number in sorted(steady, key=int) if found.get(number) != first.get(number)]
    if once.status == again.status != recorded.status:
        problems.append(f"{name}: {recorded}, natively {once}")
    try:
        return problems, len(steady), check_recordings(folder)
    except hw.Failure as failure:
        return [*problems, f"{name}: {failure}"], len(steady), 0


def perl_folder(name):
    def test(folder):
        source = Path(os.environ.get("HW_PERL_SOURCE", "/nonexistent"))
        if not (source / "t/test.pl").exists():
            raise hw.Skip("HW_PERL_SOURCE is no folder with perl's source (apt-get source perl)")
        tree = perl_tree(source, folder)
        problems, files, results, recordings = [], 0, 0, 0
        for path in sorted((tree / name).glob("*.t")):
            place = folder / "recordings"
            place.mkdir()
            wrong, verdicts, count = perl_file(tree, place, str(path.relative_to(tree)))
            problems += wrong
            files, results, recordings = files + 1, results + verdicts, recordings + count
            shutil.rmtree(place)
        hw.need(not problems, "\n".join(problems[:40]))
        return f"perl's t/{name}: {files} files, {results} results, {recordings} recordings"

    return test


if sys.argv[1:2] == ["slice"]:
    del sys.argv[1]
    TESTS.add("CPython's test_threading, in part",
              python_suite("test_threading", "*.ThreadTests.*"))
    TESTS.add("CPython's test_subprocess, in part",
              python_suite("test_subprocess", "*.POSIXProcessTestCase.test_[cps]*"))
else:
    for module in ("test_threading", "test_subprocess", "test_socket"):
        TESTS.add(f"CPython's {module}", python_suite(module, None))
        TESTS.add(f"CPython's {module} on malloc",
                  python_suite(module, None, PYTHONMALLOC="malloc"))
    for name in ("jq", "onig", "base64", "optional"):
        TESTS.add(f"jq's {name}.test", jq_file(name))
    for name in PERL_FOLDERS:
        TESTS.add(f"perl's t/{name}", perl_folder(name))

if __name__ == "__main__":
    TESTS.main(width=2)
