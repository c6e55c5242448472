# SPDX-License-Identifier: GPL-2.0-or-later
"""What the end-to-end tests share: the places, the command under test, the preload that counts, TAP.

HW_BUILD_DIR and HW_SOURCE_DIR come from the build; without them the tree around this file is taken.
"""

import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(os.environ.get("HW_SOURCE_DIR") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("HW_BUILD_DIR") or SOURCE / "build").resolve()
HEAPWISE = BUILD / "heapwise"
# Programs under test have no sanitizers: those of another build folder are as good.
PROGRAMS = Path(os.environ.get("HW_PROGRAMS_DIR") or BUILD).resolve()
TARGETS = PROGRAMS / "tests/targets"
ANSWERS = PROGRAMS / "tests/answers"
EXAMPLES = PROGRAMS / "examples"
LIBRARIES = PROGRAMS / "tests/lib"
COUNT_LIBRARY = LIBRARIES / "libcount.so"

# What the command is built with ("none", "address,undefined", …).
SANITIZERS = os.environ.get("HW_SANITIZERS") or "none"

# Where commands keep names of functions, histories and what bundles hold: never in anybody's home.
CACHE = tempfile.TemporaryDirectory(prefix="heapwise-cache-")
STATE = tempfile.TemporaryDirectory(prefix="heapwise-state-")

# Generous: a loaded machine must not fail a test, a hang must.
TIMEOUT = float(os.environ.get("HW_TEST_TIMEOUT", "120"))


def clean_environment(**more):
    """The environment of a test's programs: the caller's without what changes allocators or output. With
    HW_TEST_PROCESSORS they see that number of processors (processors.c), unless they preload something else."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HEAPWISE_", "LD_", "MALLOC_", "GLIBC_", "GIT_", "PYTHON"))
    }
    if "HW_TEST_PROCESSORS" in os.environ:
        kept.update({"LD_PRELOAD": str(LIBRARIES / "libprocessors.so"), "TEST_PROCESSORS": os.environ["HW_TEST_PROCESSORS"]})
    kept.update({"LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_CACHE_HOME": CACHE.name, "XDG_STATE_HOME": STATE.name})
    kept.update({name: str(value) for name, value in more.items()})
    return kept


def no_core_dumps():
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


class Ended:
    """How a program ended. status is as in subprocess: minus the number for a signal."""

    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr

    @property
    def text(self):
        return self.stdout.decode(errors="replace")

    @property
    def errors(self):
        return self.stderr.decode(errors="replace")

    def __str__(self):
        return f"{describe(self.status)}; stderr: {shorten(self.errors)}"


def describe(status):
    return f"signal {-status}" if status < 0 else f"status {status}"


def shorten(text, limit=600):
    text = text.strip()
    return text if len(text) <= limit else text[:limit] + " …"


def process_state(pid):
    """What a process that should have ended is doing, for people: each thread's state and place."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        try:
            state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
            found.append(f"{state} {(thread / 'wchan').read_text()}")
        except OSError:
            continue
    return ", ".join(found) or "gone"


def run(arguments, *, env=None, cwd=None, stdin=b"", timeout=TIMEOUT, session=True, **more):
    """Runs a program to its end, in a session of its own or in ours. It fails the test if it hangs:
    then it is killed, and its whole group if that is its own."""
    process = subprocess.Popen(
        [os.fspath(a) for a in arguments],
        env=clean_environment() if env is None else env,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=session,
        **more,
    )
    try:
        stdout, stderr = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        state = process_state(process.pid)
        if session:
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        stdout, stderr = process.communicate()
        raise Failure(f"hangs ({state}): {' '.join(map(str, arguments))}; stderr: "
                      + shorten(stderr.decode(errors="replace"))) from None
    return Ended(process.returncode, stdout, stderr)


def heapwise(*arguments, **more):
    """Runs the command."""
    return run([HEAPWISE, *arguments], **more)


def ask(*arguments):
    """What the command says, which must succeed."""
    ended = heapwise(*arguments)
    need(ended.status == 0, f"{arguments}: {ended}")
    return ended.text


def record(arguments, recording, *, options=("-q",), all_processes=True, **more):
    """Runs a program under `heapwise run`, with a file for each process unless that is not wanted."""
    all_of_them = ["--all-processes"] if all_processes else []
    return run([HEAPWISE, "run", *all_of_them, *options, "-o", recording, "--", *arguments], **more)


def report(recording, *options):
    """The recording's report as JSON."""
    ended = run([HEAPWISE, "report", recording, "--json", *options])
    if ended.status != 0:
        raise Failure(f"report of {Path(recording).name}: {ended}")
    found = json.loads(ended.text)
    if found.get("schema") != "heapwise.report/1":
        raise Failure(f"schema is {found.get('schema')!r}")
    return found


class Counts:
    """The counting preload (count.c): environment for one run, and what it counted."""

    FIELDS = ("pid", "allocations", "allocated_bytes", "frees", "failed", "calls")

    def __init__(self, folder, program):
        self.path = Path(folder) / "counts"
        self.path.write_bytes(b"")
        self.program = Path(program).resolve()

    def environment(self):
        return {
            "LD_PRELOAD": COUNT_LIBRARY,
            "COUNT_FILE": self.path,
            "COUNT_PROGRAM": self.program,
        }

    def read(self):
        data = self.path.read_bytes()
        size = 8 * len(self.FIELDS)
        if len(data) < size:
            raise Failure("the counting preload was not loaded")
        found = dict(zip(self.FIELDS, struct.unpack(f"<{len(self.FIELDS)}Q", data[:size])))
        found["live_blocks"] = found["allocations"] - found["frees"]
        return found


class Failure(Exception):
    """A test does not hold, for the reason given."""


class Skip(Exception):
    """A test cannot run here, for the reason given."""


def target_source(below, name):
    """The source of a target, of tests/targets/BELOW or the folders there."""
    folder = SOURCE / "tests/targets" / below
    found = [path for path in (folder / name, *folder.glob(f"*/{name}")) if path.is_file()]
    need(len(found) == 1, f"{name} below {folder}: {found}")
    return found[0]


def need(holds, reason):
    if not holds:
        raise Failure(reason)


def wait_until(holds, what, seconds=TIMEOUT / 2):
    """Waits for what happens elsewhere and sends no event: returns what `holds` does once that is true. It is a failure,
    `what`, if that takes so long that it hangs."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        need(time.monotonic() < end, what)
        time.sleep(0.002)
    return found


def need_no_sanitizer(reason):
    if SANITIZERS != "none":
        raise Skip(f"the command is built with sanitizers: {reason}")


def need_program(name):
    found = shutil.which(name)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


class SanitizerReports:
    """What sanitizers have to say about any process of the command, by way of files: the collector
    has no standard error, and some tests drop that of the others. Made before there are threads."""

    NAME = "no process of the command had a sanitizer's report"

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="heapwise-reports-")
        self.prefix = os.fsencode(self.folder.name)
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            options = [os.environ[name]] if os.environ.get(name) else []
            os.environ[name] = ":".join(options + [f"log_path={self.folder.name}/report"])

    def is_writer(self, process):
        try:
            return (os.path.samefile(process / "exe", HEAPWISE)
                    and self.prefix in (process / "environ").read_bytes())
        except OSError:  # it is gone
            return False

    def wait_for_writers(self):
        """A collector may outlive the `run` that started it."""
        wait_until(lambda: not any(self.is_writer(process) for process in Path("/proc").glob("[0-9]*")),
                   "some process of the command does not end", TIMEOUT)

    def check(self, _):
        self.wait_for_writers()
        reports = [path.read_text(errors="replace") for path in Path(self.folder.name).iterdir()]
        need(not reports, "\n".join(shorten(report, 6000) for report in reports))


def sanitized_share(tests, part, always):
    """One in `part` of the tests, spread by their names; in HW_SANITIZED_PART where that is set, and of these parts
    number HW_SANITIZED_TURN: each test is in one of them. With them all whose name contains `always`."""
    turns = "HW_SANITIZED_PART" in os.environ
    part = int(os.environ["HW_SANITIZED_PART"]) if turns else part
    turn = int(os.environ.get("HW_SANITIZED_TURN") or 0) % part
    chosen = [test for test in tests if zlib.crc32(test[0].encode()) % part == turn
              or always is not None and always in test[0]]
    return chosen if turns else chosen or tests[:1]


class Tests:
    """A list of named tests and a TAP printer. A test is a function of one argument, its folder; what
    it returns, if anything, is printed as a remark. Tests run in threads, so they print nothing
    themselves, and leave alone what is the whole process's: folder, environment, umask, signals."""

    def __init__(self):
        self.tests = []

    def add(self, name, function):
        self.tests.append((name, function))

    def test(self, function):
        """As a decorator: the docstring's first line is the name."""
        self.add(function.__doc__.strip().splitlines()[0].rstrip("."), function)
        return function

    @staticmethod
    def perform(test):
        name, function = test
        with tempfile.TemporaryDirectory(prefix="heapwise-test-") as folder:
            try:
                remark = function(Path(folder)) or ""
            except Skip as reason:
                return "ok", f"{name} # SKIP {reason}", "", ""
            except Failure as reason:
                return "not ok", name, "", str(reason)
            except Exception as error:  # a broken test fails alone
                line = error.__traceback__
                while line.tb_next:
                    line = line.tb_next
                why = f"{type(error).__name__}: {error} (line {line.tb_lineno})"
                return "not ok", name, "", why
        return "ok", name, remark, ""

    @staticmethod
    def show(number, result):
        """Each line in one piece, whatever the buffering."""
        verdict, name, remark, why = result
        for line in remark.splitlines():
            sys.stdout.write(f"# {line}\n")
        sys.stdout.write(f"{verdict} {number} - {name}\n")
        sys.stdout.flush()
        # By standard error: the runner shows that of a test that failed.
        for line in why.splitlines():
            sys.stderr.write(f"# {name}: {line}\n")
        sys.stderr.flush()
        return verdict == "ok"

    def main(self, width=2, needs_command=True, sanitized_part=1, always=None):
        """Runs all tests, or those whose name contains an argument; never returns. With sanitizers, of suites of the
        command: one in so many of them, sanitized_part, of a table of cases of which most take the command the same way;
        or as `./dev test` says (sanitized_share). always: but all whose name contains this, for cases of hostile input."""
        wanted = [t for t in self.tests if all(word in t[0] for word in sys.argv[1:])]
        if needs_command and SANITIZERS != "none" and not sys.argv[1:]:
            wanted = sanitized_share(wanted, sanitized_part, always)
        if needs_command and not HEAPWISE.exists():
            print(f"1..0 # SKIP {HEAPWISE.name} is not built")
            sys.exit(0)
        if self.tests and not wanted and not sys.argv[1:]:
            print(f"1..0 # SKIP none of {len(self.tests)} cases is in this run's share of those with sanitizers")
            sys.exit(0)
        no_core_dumps()
        reports = SanitizerReports() if needs_command and SANITIZERS != "none" else None
        print(f"1..{len(wanted) + (reports is not None)}", flush=True)
        with ThreadPoolExecutor(width) as pool:
            results = pool.map(self.perform, wanted)
            good = [self.show(number, result) for number, result in enumerate(results, 1)]
        if reports:  # when all else has ended
            good.append(self.show(len(good) + 1, self.perform((reports.NAME, reports.check))))
        sys.exit(0 if all(good) else 1)
