#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin of pytest: heap limits of single tests, judged by the recording of the run that they are in. Its hooks are called here as pytest
calls them, and by pytest itself where that is installed."""

import importlib.util
import json
import os
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
FOLDER = hw.SOURCE / "share/heapwise-pytest"
PYTHON = os.path.realpath("/usr/bin/python3")
MIB = 1 << 20

# A run of tests with the hooks in the order in which pytest calls them: of each its name, mark and what it does.
RUNNER = """
import json, sys, types

stub = types.ModuleType("pytest")
stub.hookimpl = lambda **_: lambda function: function
stub.UsageError = ValueError
sys.modules["pytest"] = stub
sys.path.insert(0, sys.argv[1])
import heapwise_pytest

options = {"limit_heap": None, "heapwise_required": False, "heapwise_command": None, **json.loads(sys.argv[2])}

class Config:
    def __init__(self): self.pluginmanager, self.registered = self, []
    def register(self, plugin, _): self.registered.append(plugin)
    def addinivalue_line(self, *_): pass
    def getoption(self, name): return options[name]

class Item:
    def __init__(self, name, marks):
        self.nodeid, self.config, self.marks = name, config, marks
    def get_closest_marker(self, name):
        return types.SimpleNamespace(args=tuple(self.marks), kwargs={}) if name == "limit_heap" and self.marks is not None else None

def call(item, size, fails):
    outcome = heapwise_pytest.pytest_runtest_call(item)
    next(outcome)
    block = bytearray(size)
    del block
    try:
        outcome.send(None)
    except StopIteration:
        pass
    report = types.SimpleNamespace(when="call", passed=not fails, outcome="failed" if fails else "passed", longrepr=None)
    made = heapwise_pytest.pytest_runtest_makereport(item, None)
    next(made)
    try:
        made.send(types.SimpleNamespace(get_result=lambda: report))
    except StopIteration:
        pass
    # As pytest-xdist and pytest-forked do, another process may get the report; it has simple attributes alone.
    for plugin in shown.registered:
        plugin.pytest_runtest_logreport(types.SimpleNamespace(**json.loads(json.dumps(vars(report)))))
    return report.outcome, report.longrepr

config = Config()
heapwise_pytest.pytest_configure(config)
shown = config
if options.get("apart"):
    shown = Config()
    heapwise_pytest.pytest_configure(shown)
found = {name: call(Item(name, marks), size, fails) for name, marks, size, fails in json.loads(sys.argv[3])}
lines = []
heapwise_pytest.pytest_terminal_summary(types.SimpleNamespace(write_line=lines.append), shown)
print(json.dumps([found, lines]))
"""


def run(folder, tests, *, options=(), recorded=True, path=True, **plugin):
    """Runs such tests; returns what came of each, the lines of the summary and the recording."""
    script = folder / "runner.py"
    script.write_text(RUNNER)
    arguments = [PYTHON, script, FOLDER, json.dumps(plugin), json.dumps(tests)]
    env = hw.clean_environment(PATH=f"{hw.BUILD if path else folder}:/usr/bin:/bin")
    file = folder / "tests.hpw"
    if recorded:
        ended = hw.record(arguments, file, options=("-q", "-f", *options), env=env)
    else:
        ended = hw.run(arguments, env=env)
    hw.need(ended.status == 0, f"{ended}")
    found, lines = json.loads(ended.text)
    return found, lines, file


@TESTS.test
def limits(folder):
    """A test fails if its peak is above its limit, whatever was before it; what it was is a command to paste"""
    found, lines, file = run(folder, [
        ["before", None, 40 * MIB, False],
        ["kept", ["10 MB"], 3 * MIB, False],
        ["exceeded", ["2 MB"], 3 * MIB, False],
        ["by default", None, 9 * MIB, False],
        ["new peak", ["40 MiB"], 60 * MIB, False],
        ["just kept", [4 * MIB], 3 * MIB, False],
        ["far below", ["1 GB"], 3 * MIB, False],
        ["it's #2", ["1 KB"], 3 * MIB, False],
    ], limit_heap="8MB")
    hw.need([name for name, (outcome, _) in found.items() if outcome == "failed"]
            == ["before", "exceeded", "by default", "new peak", "it's #2"], f"{found}")
    hw.need("3 MiB more live" in found["exceeded"][1] and "limit is 2 MiB" in found["exceeded"][1], f"{found['exceeded']}")
    hw.need("60 MiB more live" in found["new peak"][1] and not lines, f"{found}, {lines}")
    for name in ("exceeded", "it's #2"):
        words = shlex.split(found[name][1].rpartition("what that was: ")[2])
        hw.need(words[0] == "heapwise" and words[-1] == str(file), f"{words}")
        peak = json.loads(hw.ask(*words[1:], "--json"))["totals"]["peak_bytes"]
        before = json.loads(hw.ask("report", file, "--at", words[words.index("--from") + 1], "--json"))["totals"]["live_bytes_at_end"]
        hw.need(abs(peak - before - 3 * MIB) < 100000, f"{name}: {peak} - {before}")


@TESTS.test
def own_failure_first(folder):
    """A test that fails anyway keeps its own report"""
    found, _, _ = run(folder, [["fails", ["1 KB"], 3 * MIB, True]])
    hw.need(found["fails"] == ["failed", None], f"{found}")


@TESTS.test
def wrong_words(folder):
    """A limit that is none fails its test, with what is expected"""
    found, _, _ = run(folder, [["word", ["ten"], 1, False], ["two", [1, 2], 1, False], ["none", [], 1, False], ["negative", ["-1"], 1, False]])
    hw.need(all(outcome == "failed" for outcome, _ in found.values()), f"{found}")
    hw.need("invalid size 'ten'" in found["word"][1] and "takes one size" in found["two"][1], f"{found}")


@TESTS.test
def undecided(folder):
    """Where the recording can't decide, no limit is kept: samples, totals alone, no command"""
    tests = [["limited", ["1 GB"], MIB, False], ["free", None, MIB, False]]
    for options, reason in ((("--mode", "sample"), "sample"), (("--mode", "aggregate"), "aggregate")):
        found, _, _ = run(folder, tests, options=options)
        hw.need(found["limited"][0] == "failed" and "can't be decided" in found["limited"][1] and reason in found["limited"][1], f"{found}")
        hw.need(found["free"] == ["passed", None], f"{found}")
    found, _, _ = run(folder, tests, heapwise_command="/nowhere/heapwise")
    hw.need(found["limited"][0] == "failed" and "/nowhere/heapwise: No such file" in found["limited"][1], f"{found}")
    found, _, _ = run(folder, tests, path=False)
    hw.need(found["limited"][0] == "passed", f"the command beside the library is not found: {found}")


@TESTS.test
def not_recorded(folder):
    """Without heapwise nothing is checked, which is said; or it is a failure, if that is wanted"""
    tests = [["limited", ["1 KB"], MIB, False], ["free", None, MIB, False]]
    found, lines, _ = run(folder, tests, recorded=False)
    hw.need(found["limited"][0] == "passed" and len(lines) == 1 and "1 heap limit was not checked" in lines[0], f"{found}, {lines}")
    found, lines, _ = run(folder, tests, recorded=False, apart=True)
    hw.need(found["limited"][0] == "passed" and len(lines) == 1 and "1 heap limit was not checked" in lines[0], f"in another process: {found}, {lines}")
    found, lines, _ = run(folder, tests, recorded=False, heapwise_required=True)
    hw.need(found["limited"][0] == "failed" and "not recorded" in found["limited"][1] and found["free"][0] == "passed", f"{found}")


@TESTS.test
def sizes(_):
    """Sizes are those of heapwise's options, and a few more"""
    spec = importlib.util.spec_from_file_location("heapwise_pytest", FOLDER / "heapwise_pytest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    known = {4096: 4096, "4096": 4096, "4K": 4096, "4 kB": 4096, "4KiB": 4096, "1.5 MB": 3 * MIB // 2, " 2 g ": 2 << 30, "0": 0, 0: 0}
    for text, size in known.items():
        hw.need(module.parse_size(text) == size, f"{text}: {module.parse_size(text)}")
    for text in ("", "MB", "-4K", "4X", "4 M B", None, 1.5, True, -1, "1e6", "٤"):
        try:
            module.parse_size(text)
        except ValueError:
            continue
        raise hw.Failure(f"{text!r} is a size")


@TESTS.test
def in_pytest(folder):
    """pytest itself, where it is installed"""
    if hw.run([PYTHON, "-c", "import pytest"]).status:
        raise hw.Skip("pytest is not installed")
    (folder / "test_some.py").write_text("""
import pytest

@pytest.mark.limit_heap("10 MB")
def test_kept():
    bytearray(3 << 20)

@pytest.mark.limit_heap("2 MB")
def test_exceeded():
    bytearray(3 << 20)
""")
    env = hw.clean_environment(PATH=f"{hw.BUILD}:/usr/bin:/bin", PYTHONPATH=FOLDER)
    ended = hw.record([PYTHON, "-m", "pytest", "-p", "heapwise_pytest", "--strict-markers", "test_some.py"], folder / "tests.hpw", env=env, cwd=folder)
    hw.need(ended.status == 1 and "1 failed, 1 passed" in ended.text and "3 MiB more live" in ended.text, f"{ended.text}")


TESTS.main()
