# SPDX-License-Identifier: LGPL-2.1-or-later
"""Limits of heap memory for single tests: a plugin of pytest, for runs under `heapwise run`.

    @pytest.mark.limit_heap("10 MB")
    def test_parse(): ...

    $ heapwise run -q -o tests.hpw -- python3 -m pytest -p heapwise_pytest

Each test is a range of the recording, between two marks: reports can be made of it later. The limit is for the highest point of that
range above what was live when the test began, without its fixtures' setup and teardown. A test whose limit can't be decided fails, with
the reason; without heapwise, limits are not checked, and the summary says so.
"""

import ctypes
import json
import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

try:
    import pytest
except ImportError:  # what is below Recording needs it
    pytest = None

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
MARK_BYTES = 255  # of a mark's name the first ones count
WAIT_SECONDS = 30  # for the end of a test to be in the recording's file, which takes less than one second
# What this module itself may have allocated between asking for the state and the mark.
OWN_BYTES = 1 << 20


def parse_size(text):
    """Bytes of 4096, "10 MB", "1.5GiB"; units are powers of 1024, as heapwise's options have them."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    found = isinstance(text, str) and re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if not found:
        raise ValueError(f"invalid size {text!r}: expected a number of bytes, or one with a unit, like '10 MB'")
    return int(float(found[1]) * UNITS[found[2].lower()])


def show_size(size):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size} B" if unit == "B" else f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"
        size /= 1024


class Undecided(Exception):
    """Why a limit can't be decided."""


def find_function(name):
    """A function of heapwise's library in this process; None: it is not there."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None


def find_command():
    """The command heapwise: that of PATH, or the one beside the library that is in this process; None: neither."""
    found = shutil.which("heapwise")
    if found:
        return found
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return None
    library = re.search(r"(/\S*)/libheapwise-rt\.so", maps)
    for folder in Path(library[1]).parents if library else ():
        for place in (folder / "heapwise", folder / "bin/heapwise"):
            if place.is_file() and os.access(place, os.X_OK):
                return str(place)
    return None


def clean_environment():
    """Without what would record the command as well."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEAPWISE_")}
    preloads = [name for name in re.split(r"[ :]", kept.pop("LD_PRELOAD", "")) if name and "libheapwise" not in name]
    if preloads:
        kept["LD_PRELOAD"] = ":".join(preloads)
    return kept


class Test:
    """A test that has begun."""

    def __init__(self, number, name, live):
        self.number, self.live = number, live
        shown = "".join(c if c.isprintable() else "?" for c in name)
        self.begin = f"test {number}: {shown}".encode(errors="replace")[:MARK_BYTES].decode(errors="ignore")
        self.end = f"test {number} ends"

    def moment(self):
        """What options of heapwise call its begin: of a name that ends as "#2" does, the first of that name."""
        return f"mark:{self.begin}" + ("#1" if re.search(r"#[0-9]+$", self.begin) else "")

    def range(self):
        return ["--from", self.moment(), "--to", f"mark:{self.end}"]


class Recording:
    """This process as heapwise records it."""

    def __init__(self, command=None):
        is_recording = find_function("heapwise_rt_is_recording")
        self.mark = find_function("heapwise_rt_mark")
        self.is_there = bool(is_recording and self.mark and is_recording())
        self.command = command or (self.is_there and find_command())
        self.count = 0

    def ask(self, *words):
        if not self.command:
            raise Undecided("the command heapwise is not in PATH; --heapwise-command says where it is")
        try:
            return subprocess.run([self.command, *words], env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except OSError as error:
            raise Undecided(f"{self.command}: {error.strerror}") from None

    def status(self):
        """What `heapwise ctl PID status` says of this process."""
        ended = self.ask("ctl", str(os.getpid()), "status", "--json")
        if ended.returncode:
            raise Undecided(ended.stderr.decode(errors="replace").strip())
        found = json.loads(ended.stdout)
        if not found["recording"]:
            raise Undecided("the recording is stopped")
        if found["mode"] != "exact":
            raise Undecided(f"the mode of the recording is {found['mode']}: only an exact one has what each test allocates")
        return found

    def set_mark(self, name):
        self.mark(ctypes.c_char_p(name.encode()))

    def begin(self, name, limited):
        """A test begins. Of one with a limit it is asked how much is live. None: nothing is recorded."""
        if not self.is_there:
            return None
        self.count += 1
        live = None
        if limited:
            try:
                live = self.status()["live_bytes"]
            except Undecided:
                pass  # judge() says why, of the end
        test = Test(self.count, name, live)
        self.set_mark(test.begin)
        return test

    def end(self, test):
        if test:
            self.set_mark(test.end)

    def report(self, file, *words):
        """Figures of all of a report; None: a mark is not in the file yet."""
        ended = self.ask("report", file, "--json", "--view", "sites", "--limit", "1", *words)
        if ended.returncode == 0:
            return json.loads(ended.stdout)["totals"]
        errors = ended.stderr.decode(errors="replace").strip()
        if "has no mark" in errors:
            return None
        raise Undecided(errors)

    def peak_of(self, test, file):
        """The highest point of a test above what was live before it, of the file, which the recorder is still writing."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            found = self.report(file, *test.range())
            if found:
                before = self.report(file, "--at", test.moment())
                if found["peak_bytes"] is None or not before or before["live_bytes_at_end"] is None:
                    raise Undecided("the recording does not say how much was live")
                return max(0, found["peak_bytes"] - before["live_bytes_at_end"])
            if time.monotonic() > deadline:
                raise Undecided(f"the marks of this test did not get into {file} within {WAIT_SECONDS} s")
            time.sleep(0.1)

    def judge(self, test, limit):
        """Why a test that has ended does not keep its limit, in bytes; None: it does."""
        try:
            status = self.status()
            if status["lost_events"]:
                raise Undecided(f"{status['lost_events']} events were lost")
            # The highest point of the process is none lower than that of the test.
            if test.live is not None and status["peak_bytes"] - test.live + OWN_BYTES <= limit:
                return None
            peak = self.peak_of(test, status["file"])
        except Undecided as reason:
            return f"it can't be decided whether this test keeps its heap limit of {show_size(limit)}: {reason}"
        if peak <= limit:
            return None
        words = shlex.join(["heapwise", "report", "--view", "peak", *test.range(), status["file"]])
        return (f"this test had {show_size(peak)} more live in the heap than when it began: its limit is {show_size(limit)}\n"
                f"what that was: {words}")


class Plugin:
    """The hooks of a run."""

    def __init__(self, config):
        self.recording = Recording(config.getoption("heapwise_command"))
        self.default = config.getoption("limit_heap")
        self.required = config.getoption("heapwise_required")
        self.unchecked = 0

    def limit_of(self, item):
        """In bytes; None: it has none."""
        mark = item.get_closest_marker("limit_heap")
        if mark and (len(mark.args) != 1 or mark.kwargs):
            raise ValueError("limit_heap takes one size, like '10 MB'")
        size = mark.args[0] if mark else self.default
        return None if size is None else parse_size(size)

    def judge(self, item, test, limit):
        if test:
            return self.recording.judge(test, limit)
        item.heapwise_unchecked = True
        return "its heap limit can't be checked: this process is not recorded by heapwise" if self.required else None

    def run(self, item):
        """Around the call of a test: a generator of one step."""
        item.heapwise_problem, item.heapwise_unchecked = None, False
        try:
            limit = self.limit_of(item)
        except ValueError as error:
            item.heapwise_problem = str(error)
            yield
            return
        test = self.recording.begin(item.nodeid, limit is not None)
        yield
        self.recording.end(test)
        if limit is not None:
            item.heapwise_problem = self.judge(item, test, limit)

    def pytest_runtest_logreport(self, report):
        """Counts what reports say: those of other processes (pytest-xdist, pytest-forked) get here as well."""
        self.unchecked += bool(getattr(report, "heapwise_unchecked", False))

    def summary(self):
        """A sentence for the end of the run; None: there is nothing to say."""
        if not self.unchecked or self.required:
            return None
        return (f"heapwise: {self.unchecked} heap limit{'s were' if self.unchecked != 1 else ' was'} not checked: run as "
                "'heapwise run -q -o tests.hpw -- python3 -m pytest …'")


def report_problem(report, problem):
    """Lets a test that passed fail for its memory; a failure of its own comes first."""
    if problem and report.when == "call" and report.passed:
        report.outcome = "failed"
        report.longrepr = problem


def pytest_addoption(parser):
    group = parser.getgroup("heapwise", "heap limits of tests, under `heapwise run`")
    group.addoption("--limit-heap", metavar="SIZE", help="limit of tests without a mark limit_heap, like '10 MB'")
    group.addoption("--heapwise-required", action="store_true", help="fail tests with a limit if this process is not recorded")
    group.addoption("--heapwise-command", metavar="FILE", help="the command heapwise (default: that of PATH)")


def pytest_configure(config):
    config.addinivalue_line("markers", "limit_heap(size): how much more may be live in the heap while the test runs than when it begins")
    if config.getoption("limit_heap") is not None:
        try:
            parse_size(config.getoption("limit_heap"))
        except ValueError as error:
            raise pytest.UsageError(f"--limit-heap: {error}") from None
    config.heapwise_plugin = Plugin(config)
    config.pluginmanager.register(config.heapwise_plugin, "heapwise limits")


if pytest:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(item):
        yield from item.config.heapwise_plugin.run(item)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        outcome = yield
        report = outcome.get_result()
        if report.when == "call" and getattr(item, "heapwise_unchecked", False):
            report.heapwise_unchecked = True
        report_problem(report, getattr(item, "heapwise_problem", None))


def pytest_terminal_summary(terminalreporter, config):
    sentence = config.heapwise_plugin.summary()
    if sentence:
        terminalreporter.write_line(sentence)
