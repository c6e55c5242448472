#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A search for leaks does no harm: what the searched program, its parent, its children and its debugger see of it."""

import json
import mmap
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import children, state, status_line
import sessions

TESTS = hw.Tests()
STOPS = hw.TARGETS / "stops"
SECONDS = 3


class Recorded:
    """A program under `heapwise run` that has said "ready PID"."""

    def __init__(self, folder, arguments, options=("-q",), prefix=(), **more):
        self.folder, self.arguments = folder, arguments
        self.environment = sessions.environment(folder)
        self.recording = folder / "a.hpw"
        self.runner = subprocess.Popen(
            [*prefix, hw.HEAPWISE, "run", *options, "-o", self.recording, "--", *arguments],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, **more)
        self.pid = None

    def __enter__(self):
        line = self.runner.stdout.readline().split()
        if line == ["skipped"]:
            raise hw.Skip("the kernel does not let us")
        hw.need(len(line) == 2 and line[0] == "ready", f"not ready: {line} {self.runner.poll()}")
        self.pid = int(line[1])
        return self

    def __exit__(self, *_):
        if self.runner.poll() is None:
            os.killpg(self.runner.pid, signal.SIGKILL)
        self.runner.wait()
        for stream in (self.runner.stdin, self.runner.stdout, self.runner.stderr):
            stream.close()

    def leaks(self, *options, prefix=(), **more):
        """How `heapwise leaks PID` ended, and what it says of the search."""
        ended = hw.run([*prefix, hw.HEAPWISE, "leaks", "--json", *options, str(self.pid)], env=self.environment, **more)
        return ended, json.loads(ended.text)["leaks"]["search"] if ended.status == 0 else None

    def search(self, *options):
        """A search that must succeed."""
        ended, search = self.leaks(*options)
        hw.need(search and not search["problem"], f"no search: {ended} {search}")
        return search

    def is_running(self):
        return state(self.pid) not in "ZX"

    def end(self, said=""):
        """Tells it something, waits until it has ended; its status and output."""
        stdout, stderr = self.runner.communicate(said, timeout=hw.TIMEOUT)
        sessions.wait_sessions(self.folder)
        return hw.Ended(self.runner.returncode, stdout.encode(), stderr.encode())


@TESTS.test
def waits_undisturbed(folder):
    """No wait of any kind returns EINTR or loses its deadline, however often a program is searched"""
    with Recorded(folder, [STOPS / "waits", str(SECONDS)]) as program:
        until, searches = time.monotonic() + SECONDS - 0.3, 0
        while time.monotonic() < until:
            hw.need(program.search()["threads_missed"] == 0, "a waiting thread was not stopped")
            searches += 1
        ended = program.end()
        bad = [line for line in ended.text.splitlines() if "broken" in line]
        hw.need(ended.status == 0 and not bad, f"after {searches} searches: {ended}\n" + "\n".join(bad))
        skipped = [line.split()[0] for line in ended.text.splitlines() if line.endswith("skipped")]
        hw.need(searches >= 3, f"only {searches} searches")
        return f"{searches} searches" + (f"; not here: {' '.join(skipped)}" if skipped else "")


def need_untouched(program, kept="SRD"):
    """As if nothing had happened to it."""
    hw.need(status_line(program.pid, "TracerPid") == "0", "it is still traced")
    left = [child for child in children(program.pid) if child not in program.children]
    hw.need(not left, f"it has children that it did not make: {left}")
    # While it is being let go it may still be found in between.
    hw.wait_until(lambda: state(program.pid) in kept, f"it does not come to be as it was: {kept}")


def searched(folder, *arguments, times=20, ways=("snapshot",), lost=1234, status=7, said="x", kept="SRD", **more):
    """Searches a program some times, then has it end; its own checks must hold. Returns the last search."""
    with Recorded(folder, [STOPS / "searched", *map(str, arguments)], **more) as program:
        program.children = children(program.pid)
        for _ in range(times):
            search = program.search()
            hw.need(search["way"] in ways, f"searched by {search}")
            need_untouched(program, kept)
        if lost is not None:
            need_lost(program, lost)
        ended = program.end(said)
        hw.need(ended.status == status and "broken" not in ended.text, f"{ended} {ended.text}")
        return search


def need_lost(program, size):
    """The newest search has found one block that is lost, of this size."""
    ended = hw.run([hw.HEAPWISE, "leaks", "--json", "--show-leak-kinds=all", str(program.pid)], env=program.environment)
    hw.need(ended.status == 0, str(ended))
    leaks = json.loads(ended.text)["leaks"]
    found = [(record["blocks"], record["bytes"]) for record in leaks["records"] if record["kind"] == "definite"]
    hw.need(found == [(1, size)], f"lost: {found} of {leaks['summary']}")


for NAME, ARGUMENTS, WHAT in (
        ("idle", {}, "a program that waits"),
        ("threads", {"arguments": (500,), "times": 10, "lost": None}, "500 threads"),
        ("churn", {"ways": ("snapshot", "held")}, "threads that begin and end all the while"),
        ("busy", {}, "a thread that never enters the kernel"),
        ("compute", {}, "a program that computes, with all its registers"),
        ("leaderless", {"kept": "Z"}, "a program whose first thread has ended"),
        ("handlers", {}, "handlers of signals: none is run, none is lost"),
        ("ignored", {}, "ignored signals stay so"),
        ("blocked", {}, "blocked signals stay so, and none is pending"),
        ("signals", {}, "queued signals: all come, in order, with who sent them"),
        ("parent", {"lost": None}, "a parent that waits for stops of its child"),
        ("confined", {"ways": ("held",)}, "a seccomp filter that kills"),
        ("undumpable", {}, "a program that may not be dumped"),
        ("unforked", {"ways": ("held",)}, "pages that fork leaves out hold what they hold"),
        ("reserved", {}, "4 GiB of untouched memory, private and shared, stay untouched"),
        ("unfaulted", {"ways": ("held",), "times": 3}, "memory that somebody else has to provide (userfaultfd)"),
        ("hugetlb", {"ways": ("snapshot", "held")}, "huge pages"),
        ("io_uring", {}, "a read that io_uring waits for"),
        ("unforkable", {"ways": ("held",)}, "where no process can be made"),
        ("faulty", {"lost": None}, "memory that can't be read")):
    def story(folder, name=NAME, more=ARGUMENTS):
        if name == "undumpable" and os.geteuid():
            raise hw.Skip("who is not root may not look at it")
        more = dict(more)
        search = searched(folder, name, *more.pop("arguments", ()), **more)
        hw.need((search["way"] == "held") == bool(search["uncopied"]), f"{search}")
        return f"{name}: held for {search['pause_ns'] / 1e6:.2f} ms, {search['threads']} threads"
    TESTS.add(f"searched unharmed: {WHAT}", story)


@TESTS.test
def held_why(folder):
    """Why a program was held, and not copied, is said"""
    for name, why in (("unforkable", "Cannot allocate memory"), ("unforked", "fork would not have copied"),
                      ("confined", "made to fork")):
        place = folder / name
        place.mkdir()
        with program(place, name) as running:
            text = hw.run([hw.HEAPWISE, "leaks", str(running.pid)], env=running.environment).text
            hw.need("could not be copied" in text and why in text, f"{name}: {text}")
            need_end(running)


def program(folder, *arguments, **more):
    return Recorded(folder, [STOPS / "searched", *map(str, arguments)], **more)


def need_end(running, status=7, said="x"):
    ended = running.end(said)
    hw.need(ended.status == status and "broken" not in ended.text, f"{running.arguments}: {ended} {ended.text}")
    return ended


def collector_of(running):
    """Its process's number. (Forked from `run`, it is called so too; what it forks has what it has.)"""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if not os.path.samefile(process / "exe", hw.HEAPWISE):
                continue
            held = " ".join(os.readlink(fd) for fd in (process / "fd").iterdir())
            if "[eventpoll]" in held and str(running.folder) in held:
                parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [pid for pid, parent in parents.items() if parent not in parents and pid != running.runner.pid]
    hw.need(len(found) == 1, f"{len(found)} collectors")
    return found[0]


@TESTS.test
def stopped_stays_stopped(folder):
    """A program that was stopped by a signal is searched and stays stopped"""
    with program(folder, "idle") as running:
        running.children = []
        os.kill(running.pid, signal.SIGSTOP)
        hw.wait_until(lambda: state(running.pid) == "T", "it does not stop")
        for _ in range(10):
            hw.need(running.search()["way"] == "snapshot", "no snapshot")
            need_untouched(running, "T")
        need_lost(running, 1234)
        os.kill(running.pid, signal.SIGCONT)
        hw.wait_until(lambda: state(running.pid) == "S", "it does not go on")
        need_end(running)


@TESTS.test
def in_vfork(folder):
    """A program that waits for its vfork child is searched, and goes on when the child has ended"""
    with program(folder, "vfork") as running:
        hw.wait_until(lambda: state(running.pid) == "D", "it does not wait for its child")
        for _ in range(5):
            search = running.search()
            hw.need(search["threads_missed"] == 1, f"{search}")
        need_end(running)


@TESTS.test
def files_closed(folder):
    """What a program closes while a copy of it is searched is closed"""
    with program(folder, "closes", 64) as running:
        asking = subprocess.Popen([hw.HEAPWISE, "leaks", "-q", str(running.pid)], env=running.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        need_end(running)
        asking.communicate(timeout=hw.TIMEOUT)


@TESTS.test
def traced_by_gdb(folder):
    """What a debugger holds is left alone, and the answer says so"""
    gdb = hw.need_program("gdb")
    with program(folder, "idle", options=("-q", "--leak-check=full", "--show-leak-kinds=none")) as running:
        debugger = subprocess.Popen([gdb, "-q", "-nx", "-batch", "-p", str(running.pid), "-ex", "shell echo attached",
                                     "-ex", "shell read line", "-ex", "info threads", "-ex", "detach"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = ""
        while "attached" not in line:
            line = debugger.stdout.readline()
            hw.need(line, "gdb does not attach")
        ended, search = running.leaks()
        said = ended.errors + str(search)
        hw.need("is already tracing it" in said, f"{ended} {search}")
        text, _ = debugger.communicate("\n", timeout=hw.TIMEOUT)
        hw.need("searched" in text and "detached" in text, f"gdb: {text}")
        running.children = []
        need_untouched(running)
        hw.need(running.search()["way"] == "snapshot", "no snapshot after gdb has gone")
        need_end(running)


@TESTS.test
def run_under_strace(folder):
    """A program that strace runs is searched at its end as it is, and its exit status is its own"""
    strace = hw.need_program("strace")
    recording = folder / "a.hpw"
    ended = hw.run([hw.HEAPWISE, "run", "-q", "-o", recording, "--leak-check=full", "--show-leak-kinds=none", "--",
                    strace, "-f", "-o", folder / "log", STOPS / "searched", "idle"], stdin=b"x",
                   env=sessions.environment(folder))
    hw.need(ended.status == 7 and "broken" not in ended.text, f"{ended}")
    sessions.wait_sessions(folder)
    found = [path for path in folder.glob("*.hpw") if "searched" in hw.report(path)["target"]["command"][0]]
    shown = json.loads(hw.run([hw.HEAPWISE, "leaks", "--json", found[0]]).text)["leaks"]
    # It stands still, and need not be stopped: its only thread waits for the answer.
    hw.need(shown["search"]["way"] == "held", f"{shown['search']}")
    hw.need(shown["summary"]["definite"]["blocks"] == 1, f"{shown['summary']}")


@TESTS.test
def killed_while_searched(folder):
    """A program that is killed while it is searched is dead at once, and nothing of it is left"""
    for number in range(10):
        place = folder / str(number)
        place.mkdir()
        with program(place, "large", 200) as running:
            asking = subprocess.Popen([hw.HEAPWISE, "leaks", "-q", str(running.pid)], env=running.environment,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(0.01 * number)
            os.kill(running.pid, signal.SIGKILL)
            ended = running.end()
            hw.need(ended.status == -signal.SIGKILL, f"{ended}")
            _, errors = asking.communicate(timeout=hw.TIMEOUT)
            hw.need(asking.returncode in (0, 3, 4), f"leaks: {asking.returncode} {errors}")


@TESTS.test
def collector_killed_at_exit(folder):
    """A program whose collector is killed while it searches ends within seconds, as it would have"""
    for number in range(8):
        place = folder / str(number)
        place.mkdir()
        options = ("-q", "--leak-check=full", "--show-leak-kinds=none")
        with program(place, "large", 200, options=options) as running:
            collector = collector_of(running)
            if number == 0:  # before it has done anything
                os.kill(collector, signal.SIGSTOP)
            running.runner.stdin.write("x")
            running.runner.stdin.flush()
            time.sleep(0.03 * number)
            try:
                os.kill(collector, signal.SIGKILL)
            except ProcessLookupError:
                pass
            since = time.monotonic()
            hw.wait_until(lambda: not running.is_running(), "it does not end")
            took = time.monotonic() - since
            hw.need(took < 10, f"it ended only after {took:.1f} s")
            stdout, errors = running.runner.communicate(timeout=hw.TIMEOUT)
            hw.need(running.runner.returncode == 7 and "broken" not in stdout,
                    f"status {running.runner.returncode} {stdout}")
            hw.need(number or "leak search is lost" in errors, f"it does not say what is lost: {errors}")


@TESTS.test
def signals_that_end_it(folder):
    """While a program waits for its search, a signal that ends it does so: only its own handlers wait"""
    script = "trap : USR1; echo ready $$; read line"
    with Recorded(folder, ["sh", "-c", script], options=("-q", "--leak-check")) as running:
        collector = collector_of(running)
        os.kill(collector, signal.SIGSTOP)  # the program waits a second for its answer
        try:
            running.runner.stdin.write("\n")
            running.runner.stdin.flush()
            handled = 1 << signal.SIGUSR1 - 1
            blocked = hw.wait_until(lambda: (mask := int(status_line(running.pid, "SigBlk"), 16)) & handled and mask,
                                    "it does not wait")
            for number in (signal.SIGTERM, signal.SIGALRM):  # dash has a handler for SIGINT
                hw.need(not blocked & 1 << number - 1, f"signal {number} waits for the search: {blocked:x}")
            os.kill(running.pid, signal.SIGTERM)
        finally:
            os.kill(collector, signal.SIGCONT)
        hw.need(running.runner.wait() == -signal.SIGTERM, f"ended with {running.runner.returncode}")


@TESTS.test
def collector_killed_on_demand(folder):
    """A program whose collector is killed while it is searched goes on, and no copy of it is left running"""
    for number in range(8):
        place = folder / str(number)
        place.mkdir()
        with program(place, "large", 200) as running:
            collector = collector_of(running)
            asking = subprocess.Popen([hw.HEAPWISE, "leaks", "-q", str(running.pid)], env=running.environment,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(0.02 * number)
            os.kill(collector, signal.SIGKILL)
            _, errors = asking.communicate(timeout=hw.TIMEOUT)
            hw.need(asking.returncode in (0, 3, 4), f"leaks: {asking.returncode} {errors}")
            hw.wait_until(lambda: status_line(running.pid, "TracerPid") == "0", "it is still traced")
            hw.wait_until(lambda: all(state(child) in "ZX" for child in children(running.pid)), "a copy of it is left")
            stdout, _ = running.runner.communicate("x", timeout=hw.TIMEOUT)
            hw.need(running.runner.returncode == 7 and "broken" not in stdout,
                    f"status {running.runner.returncode} {stdout}")


@TESTS.test
def exits_while_searched(folder):
    """A program that ends in any way at the moment of a search ends so"""
    ends = {"idle": 7, "thread_exits": 7, "execs": 7, "aborts": -signal.SIGABRT, "killed": -signal.SIGKILL,
            "churn": 7}
    for number in range(48):
        place = folder / str(number)
        place.mkdir()
        name = list(ends)[number % len(ends)]
        more = {"options": ("-q", "--leak-check=full", "--show-leak-kinds=none")} if number % 2 else {}
        with program(place, name, **more) as running:
            asking = subprocess.Popen([hw.HEAPWISE, "leaks", "-q", str(running.pid)], env=running.environment,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(0.0015 * (number // len(ends)))
            need_end(running, ends[name])
            _, errors = asking.communicate(timeout=hw.TIMEOUT)
            hw.need(asking.returncode in (0, 3, 4), f"leaks: {asking.returncode} {errors}")


@TESTS.test
def many_at_once(folder):
    """Processes of one session are searched at the same time, and again while a search goes on"""
    with program(folder, "large", 100) as running:
        asking = [subprocess.Popen([hw.HEAPWISE, "leaks", "-q", str(running.pid)], env=running.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        for one in asking:
            _, errors = one.communicate(timeout=hw.TIMEOUT)
            hw.need(one.returncode == 0 or "another search" in errors, f"{one.returncode} {errors}")
        running.children = []
        need_untouched(running)
        need_end(running)
    shell = f"for i in 1 2 3 4 5 6; do {STOPS}/searched large 40 < /dev/null & done; wait"
    ended = hw.run([hw.HEAPWISE, "run", "-q", "-o", folder / "b.hpw", "--leak-check=full", "--show-leak-kinds=none",
                    "--", "/bin/sh", "-c", shell], env=sessions.environment(folder))
    hw.need(ended.status == 0, f"{ended}")


@TESTS.test
def without_rights(folder):
    """As another user, without rights, where no process may be made: held instead, or said why not"""
    if os.geteuid() != 0:
        raise hw.Skip("not root")
    folder.chmod(0o777)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]
    with Recorded(folder, [STOPS / "searched", "alone"], prefix=user) as running:
        refused, _ = running.leaks(prefix=["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"])
        hw.need(refused.status in (3, 4) and refused.errors, f"another user: {refused}")
        hw.need(running.search()["way"] == "held", "it was copied")
        running.children = []
        need_untouched(running)
        need_end(running)


@TESTS.test
def under_yama(folder):
    """Where only ancestors may trace, a program is searched at its end all the same; on demand, or it is said why not"""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if not scope.exists() or int(scope.read_text()) not in (1, 2) or os.geteuid() != 0:
        raise hw.Skip("ptrace_scope is not 1 or 2, or not root")
    folder.chmod(0o777)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]
    with Recorded(folder, [STOPS / "searched", "idle"], ("-q", "--leak-check=full", "--show-leak-kinds=none"),
                  user) as running:
        ended, search = running.leaks(prefix=user)
        hw.need(search or "ptrace_scope" in ended.errors, f"{ended}")
        need_end(running)
    shown = json.loads(hw.run([hw.HEAPWISE, "leaks", "--json", running.recording]).text)["leaks"]
    hw.need(shown["search"]["way"] in ("held", "unstopped") and shown["summary"]["definite"]["blocks"] == 1, f"{shown}")


def in_namespace(folder, *unshare):
    ended = hw.run(["unshare", *unshare, "--", hw.HEAPWISE, "run", "-q", "-o", folder / "a.hpw", "--leak-check=full",
                    "--show-leak-kinds=none", "--", STOPS / "searched", "idle"], stdin=b"x",
                   env=sessions.environment(folder))
    if "unshare" in ended.errors and ("denied" in ended.errors or "not permitted" in ended.errors):
        raise hw.Skip(ended.errors)
    hw.need(ended.status == 7, str(ended))
    shown = json.loads(hw.run([hw.HEAPWISE, "leaks", "--json", folder / "a.hpw"]).text)["leaks"]
    hw.need(shown["search"]["way"] == "held" and shown["summary"]["definite"]["blocks"] == 1, f"{shown}")


TESTS.add("searched at its end in a user namespace of its own", lambda folder: in_namespace(folder, "--user"))
TESTS.add("searched at its end in a PID namespace of its own",
          lambda folder: in_namespace(folder, "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"))


def number_outside(ancestor, number):
    """Of the process below `ancestor` that has this number in a PID namespace of its own."""
    for child in children(ancestor):
        numbers = re.search(r"^NSpid:(.*)$", Path(f"/proc/{child}/status").read_text(), re.MULTILINE)[1].split()
        found = int(child) if len(numbers) > 1 and int(numbers[-1]) == number else number_outside(child, number)
        if found:
            return found
    return 0


@TESTS.test
def in_pid_namespace(folder):
    """A program in a PID namespace of its own is searched from outside of it, and no child is left there"""
    inside = ["unshare", "--pid", "--fork", "--mount-proc"]
    if hw.run([*inside, "/bin/true"]).status:
        raise hw.Skip("no PID namespace can be made")
    with Recorded(folder, [*inside, STOPS / "searched", "idle"]) as running:
        # It says its number as it sees itself.
        hw.need(running.pid < 100, f"{running.pid}")
        running.pid = number_outside(running.runner.pid, running.pid)
        running.children = []
        for _ in range(5):
            hw.need(running.search()["way"] == "snapshot", "no snapshot")
            need_untouched(running)
        need_end(running)


MAGIC, VERSION = 0x6B736177, int(re.search(r"HW_SHM_VERSION (\d+)u", (hw.SOURCE / "src/format/shm.h").read_text())[1])


def request(pid, alignment=8, heuristics=15, magic=MAGIC, version=VERSION, what=0, anyhow=0, text=b""):
    """struct hw_request of src/format/request.h."""
    return struct.pack("<IIiIIIII4096s", magic, version, pid, what, alignment, heuristics, anyhow, 0, text)


def ask(path, message, wait):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asker:
        asker.settimeout(hw.TIMEOUT)
        asker.connect(os.fspath(path))
        if message is not None:
            asker.send(message)
        return asker.recv(65536) if wait else None


@TESTS.test
def malformed_requests(folder):
    """A collector answers or drops what makes no sense, and goes on; so does the program"""
    with program(folder, "idle") as running:
        path, = (folder / "sessions").glob("*/session")
        good = request(running.pid)
        for message in (None, b"x", good[:-1], good + b"x", request(running.pid, magic=1),
                        request(running.pid, version=VERSION + 1), os.urandom(len(good)), b"\0" * 5000):
            answer = ask(path, message, wait=message is not None)
            hw.need(not answer, f"{message}: {answer}")
        for message in (request(0), request(-1), request(1), request(0x7FFFFFFF), request(running.pid, alignment=3),
                        request(running.pid, alignment=16), request(running.pid, alignment=0x80000000),
                        request(running.pid, heuristics=16), request(running.pid, heuristics=0xFFFFFFFF),
                        request(running.pid, what=99), request(running.pid, what=0xFFFFFFFF),
                        request(running.pid, what=1)):
            answer = ask(path, message, wait=True)
            hw.need(answer[:4] == b"\0\0\0\0" and answer[-1024:].strip(b"\0"), f"{message}: {answer[:4]}")
        ask(path, good, wait=False)  # somebody who does not wait for the answer
        hw.wait_until(lambda: running.leaks()[0].status == 0, "the collector does not answer any more")
        running.children = []
        need_lost(running, 1234)
        need_untouched(running)
        need_end(running)


def need_refusal(listener, pid, env, answer):
    asking = subprocess.Popen([hw.HEAPWISE, "leaks", str(pid)], env=env, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(hw.TIMEOUT)
        hw.need(len(connection.recv(65536)) == len(request(1)), "the request has another form")
        if answer:
            connection.send(answer)
    _, errors = asking.communicate(timeout=hw.TIMEOUT)
    hw.need(asking.returncode in (3, 4) and errors.startswith("heapwise: "),
            f"{answer[:8]}: {asking.returncode} {errors}")


@TESTS.test
def malformed_replies(folder):
    """A collector that answers nonsense makes `leaks PID` fail, and say so"""
    path = folder / "session"
    size = 32 + 4200 + 1024
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        listener.settimeout(hw.TIMEOUT)
        env = sessions.environment(folder, HEAPWISE_SESSION=path)
        # The collector of a process has that one's rings mapped, as it has: nobody else is asked.
        rings = os.memfd_create("heapwise-rings.none")
        os.ftruncate(rings, 4096)
        own = mmap.mmap(rings, 4096)
        script = f"import mmap; own = mmap.mmap({rings}, 4096); print('mapped', flush=True); import time; time.sleep(600)"
        sleeper = subprocess.Popen([sys.executable, "-c", script], env=env, pass_fds=[rings], stdout=subprocess.PIPE)
        sleeper.stdout.readline()
        try:
            for answer in (b"", b"x", b"\1\0\0\0", b"\1" * (size - 1), b"\0" * size, b"\xff" * size,
                           b"\1\0\0\0" + b"/nowhere\0".ljust(size - 4, b"x"), b"\1" + b"\0" * (size - 1)):
                need_refusal(listener, sleeper.pid, env, answer)
        finally:
            sleeper.kill()
            sleeper.wait()
            sleeper.stdout.close()
            own.close()
            os.close(rings)


if __name__ == "__main__":
    TESTS.main(width=2)
