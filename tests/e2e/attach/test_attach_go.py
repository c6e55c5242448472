#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise attach` of programs in Go (targets/golang): the heap profile of their runtime, read from outside."""

import contextlib
import gzip
import json
import math
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import children

TESTS = hw.Tests()
GO = hw.TARGETS / "golang"
LEAKED = 1024
RATE = 16384
# Nobody's: processes of other tests have others.
USER = 1800000000 + os.getpid()
AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")


class Program:
    """A program of targets/golang that runs."""

    def __init__(self, process):
        self.process = process
        self.pid = int(self.answer().split()[1])

    def answer(self):
        return self.process.stdout.readline().strip()

    def tell(self, *words):
        """What it answers: its MemProfileRate."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        said = self.answer()
        hw.need(said.startswith("done"), f"{words}: {said}, {self.process.poll()}")
        return int(said.split()[1]) if " " in said else None


@contextlib.contextmanager
def program(name, before=(), **more):
    path = GO / name
    if not path.exists():
        raise hw.Skip("go was not there when this was built: ./dev deps --peers installs it")
    process = subprocess.Popen([*before, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True, env=hw.clean_environment(**more))
    try:
        yield Program(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdin.close()
        process.stdout.close()
        process.wait()


@contextlib.contextmanager
def sampled(target, file, *options, by=()):
    """The command, from when the runtime samples; what it said until then is in `.said`."""
    command = subprocess.Popen([*by, hw.HEAPWISE, "attach", str(target.pid), "-o", file, *map(str, options)], stderr=subprocess.PIPE, text=True,
                               env=hw.clean_environment(), start_new_session=True)
    try:
        command.said = ""
        while "its runtime samples" not in command.said:
            line = command.stderr.readline()
            hw.need(line, f"attach: {command.said}")
            command.said += line
        yield command
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)
        command.stderr.close()
        command.wait()


def finish(command):
    """Ends it by ^C, or waits for it; returns what it said."""
    command.send_signal(signal.SIGINT)
    said = command.stderr.read()
    hw.need(command.wait() == 0, f"{command.returncode}: {command.said}{said}")
    return said


def fields(data):
    """Of a message of protocol buffers: numbers of fields with their values."""
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    at = 0
    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        else:
            size = number()
            yield key >> 3, data[at:at + size]
            at += size


def numbers(value):
    """One number, or several packed."""
    if isinstance(value, int):
        return [value]
    found, shift, part = [], 0, 0
    for byte in value:
        part |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(part)
            part = shift = 0
    return found


def read_profile(path):
    """Lists of values by stack, as lines of frames, and size of block (stacks may differ by addresses alone); and the period."""
    data = gzip.decompress(path.read_bytes())
    strings, functions, locations, samples, period = [], {}, {}, [], 0
    for field, value in fields(data):
        if field == 6:
            strings.append(value.decode())
        elif field == 5:
            functions[dict(fields(value))[1]] = dict(fields(value))
        elif field == 4:
            lines = [dict(fields(v)) for f, v in fields(value) if f == 4]
            locations[dict(fields(value))[1]] = [(line[1], line.get(2, 0)) for line in lines]
        elif field == 2:
            samples.append(list(fields(value)))
        elif field == 12:
            period = value
    found = {}
    for sample in samples:
        places = [n for f, v in sample if f == 1 for n in numbers(v)]
        values = tuple(n for f, v in sample if f == 2 for n in numbers(v))
        sizes = [dict(fields(v))[3] for f, v in sample if f == 3]
        frames = tuple((strings[functions[function][2]], strings[functions[function].get(4, 0)], line)
                       for place in places for function, line in locations[place])
        if any(values):
            found.setdefault((frames, sizes[0]), []).append(values)
    return {key: sorted(values) for key, values in found.items()}, period


def of_function(profile, name, size):
    """Sums of the stacks whose innermost frame is a function, of blocks of a size."""
    rows = [row for (frames, block), values in profile.items() if frames[0][0] == name and block == size for row in values]
    return [sum(column) for column in zip(*rows)] if rows else [0, 0, 0, 0]


def need_leak(profile, count):
    """The estimate of what was leaked is within five standard deviations of the truth: each block of a size is sampled
    with the same probability."""
    found = of_function(profile, "main.leakBlocks", LEAKED)
    chance = 1 - math.exp(-LEAKED / RATE)
    spread = 5 * math.sqrt((1 - chance) / (chance * count))
    for blocks, size in ((found[0], found[1]), (found[2], found[3])):
        hw.need(abs(blocks / count - 1) < spread and abs(size / (count * LEAKED) - 1) < spread, f"{found}, not {count} ± {spread:.3f}")


def need_views(file, folder):
    """The views, comparisons, gates and exports work on the profile."""
    report = hw.report(file)
    hw.need(report["recording"]["mode"] == "sample", f"{report['recording']}")
    hw.need("main.leakBlocks  sampled.go:" in hw.ask("report", file), "the report lacks the function or its line")
    hw.need("what it had before is not in it. It is the state of then" in " ".join(hw.ask("report", file).split()), "what figures they are is not said")
    hw.need("main.leakBlocks" in hw.ask("peek", "leakBlocks", file), "peek lacks it")
    hw.need("main.main;main.leakBlocks" in hw.ask("export", "--format=folded", file), "it is not exported")
    hw.need("main.leakBlocks" not in hw.ask("diff", file, file), "it differs from itself")
    hw.need(hw.heapwise("budget", "--max-never-freed=1K", file).status == 1, "no limit is exceeded")
    hw.need(hw.heapwise("budget", "--max-never-freed=1G", file).status == 0, "a limit is exceeded")
    page = folder / "page.html"
    hw.ask("html", file, "-o", page)
    hw.need(page.stat().st_size > 1000, "no page")


def leaking(name, folder):
    file = folder / "leak.pb.gz"
    with program(name) as target:
        hw.need(target.tell("leak", 1000) == 0, "its runtime samples by itself")
        with sampled(target, file, "--memprofilerate", RATE) as command:
            hw.need("route go" in command.said and "MemProfileRate was 0" in command.said, command.said)
            for _ in range(50):
                hw.need(target.tell("leak", 1000) == RATE, "the rate was not set")
            target.tell("churn", 20000)
            target.tell("deep", 40)
            said = finish(command)
        hw.need("MemProfileRate" in said and "is 0 again" in said and "live now: about" in said, said)
        hw.need(target.tell("churn", 1) == 0, "the rate is not what it was")
    profile, period = read_profile(file)
    hw.need(period == RATE, f"period {period}")
    need_leak(profile, 50000)
    inlined = [[name for name, _, _ in frames] for frames, _ in profile if frames[0][0] == "main.makeBlock"]
    hw.need(["main.makeBlock", "main.keepBlock", "main.churnBlocks", "main.main", "runtime.main"] in inlined, f"{inlined}")
    return file


@TESTS.test
def leak(folder):
    """A program without runtime/pprof: estimates within their errors, since it is attached; the rate is put back"""
    need_views(leaking("go_sampled", folder), folder)


@TESTS.test
def forms(folder):
    """Programs that are stripped, and at any address"""
    for name in ("go_sampled_stripped", "go_sampled_pie", "go_sampled_pie_stripped"):
        own = folder / name
        own.mkdir()
        leaking(name, own)


@TESTS.test
def equal(folder):
    """At a collection all is as runtime/pprof of the same program writes it: stacks, lines, inlined calls, estimates"""
    for rate in (4096, 1):
        own, ours = folder / f"own{rate}", folder / f"ours{rate}.pb.gz"
        with program("go_profiled", RATE=rate) as target:
            target.tell("leak", 20000)
            target.tell("churn", 5000)
            target.tell("deep", 40)
            target.tell("profile", own)
            with sampled(target, ours, "--at=gc") as command:
                hw.need("samples already" in command.said, command.said)
                said = finish(command)
            hw.need("again" not in said, said)
            hw.need(target.tell("leak", 1) == rate, "the rate was changed")
        (theirs, their_period), (found, period) = read_profile(own), read_profile(ours)
        hw.need(period == their_period == rate, f"{period}, {their_period}")
        wrong = {key: (values, found.get(key)) for key, values in theirs.items() if values != found.get(key)}
        hw.need(len(theirs) > 3 and not wrong and theirs.keys() == found.keys(), f"rate {rate}: {list(wrong.items())[:3]}, {found.keys() - theirs.keys()}")


@TESTS.test
def states(folder):
    """What is freed is gone in the state of now; that of the last collection has what came before it alone"""
    with program("go_profiled", RATE=1) as target:
        target.tell("leak", 300)
        target.tell("profile", folder / "own")
        target.tell("leak", 200)
        for state, count in (("now", 500), ("gc", 300)):
            hw.ask("attach", str(target.pid), "--at", state, "-o", folder / state, "--for", "1ms")
            hw.need(of_function(read_profile(folder / state)[0], "main.leakBlocks", LEAKED)[2] == count, f"{state}: not {count}")
            said = " ".join(hw.ask("report", folder / state).split())
            hw.need(("the last complete garbage collection" in said) == (state == "gc") and "not in it" not in said, said)


@TESTS.test
def killed(folder):
    """A command that is killed leaves the rate as it was, and no file"""
    with program("go_sampled") as target:
        with sampled(target, folder / "x.pb.gz") as command:
            hw.need(target.tell("leak", 10) == 524288, "the rate was not set")
            command.kill()
            command.wait()
            hw.wait_until(lambda: target.tell("leak", 1) == 0, "the rate is put back")
    hw.need(not list(folder.iterdir()), f"{list(folder.iterdir())}")


@TESTS.test
def other_rate(folder):
    """A rate that the program sets meanwhile stays"""
    with program("go_sampled") as target, sampled(target, folder / "x.pb.gz") as command:
        hw.need(target.tell("set", 1000) == 1000, "not set")
        said = finish(command)
        hw.need("was changed meanwhile" in said, said)
        hw.need(target.tell("leak", 1) == 1000, "its rate was changed")


@TESTS.test
def both(folder):
    """Of two commands the second one says that the first one has put the rate back"""
    with program("go_sampled") as target, sampled(target, folder / "1") as first, sampled(target, folder / "2") as second:
        hw.need("samples already" in second.said, second.said)
        finish(first)
        hw.need(target.tell("leak", 1) == 0, "the rate was not put back")
        hw.need("was changed meanwhile" in finish(second), "it is not said")


@TESTS.test
def rate_beyond_runtime(folder):
    """Estimates of a program whose rate is above what the runtime goes by (112 MiB) are made with that"""
    with program("go_profiled", RATE=1 << 40) as target:
        target.tell("churn", 3000000)
        hw.ask("attach", str(target.pid), "-o", folder / "x.pb.gz", "--for", "1ms")
    found = hw.report(folder / "x.pb.gz")
    hw.need(found["recording"]["sample_bytes"] == 7 << 24, f"{found['recording']}")
    # Blocks of 3000 to 3006 bytes take 3072; of 78 samples, expected, 40 are fewer than chance explains.
    bytes_in_all = found["totals"]["allocated_bytes"]
    hw.need(0.5 < bytes_in_all / (3072 * 3000000) < 2, f"{bytes_in_all} bytes")


@TESTS.test
def other_rate_is_in_file(folder):
    """That the rate was another one meanwhile is said in the file, also if heapwise never set it"""
    for name, more in (("go_sampled", {}), ("go_profiled", {"RATE": 1})):
        file = folder / f"{name}.pb.gz"
        with program(name, **more) as target, sampled(target, file, "--memprofilerate", "1") as command:
            hw.need(target.tell("set", 0) == 0, "not set")
            target.tell("leak", 500)
            said = finish(command)
            hw.need("MemProfileRate was changed while this was taken" in said, said)
        told = " ".join(hw.ask("report", file).split())
        hw.need("MemProfileRate was changed while this was taken" in told, told)


@TESTS.test
def ends(folder):
    """Of a program that ends, is killed as by a lack of memory, or executes another one, the figures of before are written"""
    for way in ("end", "kill", "exec"):
        file = folder / f"{way}.pb.gz"
        with program("go_sampled") as target, sampled(target, file, "--memprofilerate", "1") as command:
            target.tell("leak", 100)
            if way == "end":
                target.process.stdin.close()
                target.process.wait()
            elif way == "kill":
                target.process.kill()
                target.process.wait()
            else:
                target.process.stdin.write("exec\n")
                target.process.stdin.flush()
                hw.wait_until(lambda: Path(f"/proc/{target.pid}/comm").read_text() == "sleep\n", "it executes another program")
            said = command.stderr.read()
            hw.need(command.wait() == 0 and "has ended or executes another program" in said, f"{way}: {said}")
        read_profile(file)


@TESTS.test
def again(folder):
    """A second time, at the same rate; samples of before are mentioned"""
    with program("go_sampled") as target:
        for turn in range(2):
            with sampled(target, folder / f"{turn}", "--memprofilerate", "1") as command:
                target.tell("leak", 100)
                command.said += finish(command)
            hw.need(("samples from earlier" in command.said) == (turn == 1), command.said)
        hw.need(of_function(read_profile(folder / "1")[0], "main.leakBlocks", LEAKED)[2] == 200, "not both")


@TESTS.test
def dry(_):
    """--dry-run says what would be changed, and changes nothing"""
    for name, words in (("go_sampled", ("none yet", "runtime.MemProfileRate, 8 bytes")), ("go_profiled", ("already", "nothing"))):
        with program(name) as target:
            said = hw.ask("attach", "--dry-run", str(target.pid))
            hw.need("route          go" in said and all(word in said for word in words), said)
            hw.need(target.tell("leak", 1) == (0 if name == "go_sampled" else 524288), "the rate was changed")


@TESTS.test
def with_c(folder):
    """A program with C (cgo): its mallocs are attached, or its Go objects by the route; run records its mallocs"""
    with program("go_with_c") as target:
        said = hw.heapwise("attach", "--dry-run", str(target.pid))
        hw.need("route          inject" in said.text and "heapwise attach --route=go" in said.errors, f"{said}")
        file = folder / "go.pb.gz"
        with sampled(target, file, "--route=go", "--memprofilerate=1") as command:
            target.tell("go")
            finish(command)
        hw.need(of_function(read_profile(file)[0], "main.allocateBoth", 4096)[2] == 50, f"{read_profile(file)[0]}")
    hw.run([hw.HEAPWISE, "run", "-q", "-o", folder / "c.hpw", GO / "go_with_c"], stdin=b"go\n")
    sites = json.loads(hw.ask("report", "--json", "--view", "sites", folder / "c.hpw"))["sites"]
    hw.need(any(site["live_bytes"] == 776 * 50 and any("allocate_c" in f"{frame}" for frame in site["stack"]) for site in sites), f"{sites}")


@TESTS.test
def refused(folder):
    """What is no Go program, other rates, options of other routes, files that exist"""
    with program("go_profiled", RATE=4096) as target:
        (folder / "there").write_text("x")
        for status, reason, *words in ((3, "samples every 4096 bytes already", "--memprofilerate=1"), (2, "see --memprofilerate", "--mode=exact"),
                                       (2, "is not known", "--before=none"), (2, "expected now or gc", "--at=peak"),
                                       (2, "expected bytes", "--memprofilerate=0"), (2, "up to 112M", "--memprofilerate=113M"), (4, "already exists", "-o", folder / "there")):
            ended = hw.heapwise("attach", str(target.pid), *(() if "-o" in words else ("-o", folder / "x")), "--for=1ms", *words)
            hw.need(ended.status == status and reason in ended.errors, f"{words}: {ended}")
        hw.need(target.tell("leak", 1) == 4096 and (folder / "there").read_text() == "x", "it was changed")
    other = subprocess.Popen(["sleep", "100"])
    try:
        ended = hw.heapwise("attach", "--route=go", str(other.pid), "-o", folder / "x")
        hw.need(ended.status == 3 and "no program in Go" in ended.errors, f"{ended}")
        ended = hw.heapwise("attach", "--memprofilerate=1", str(other.pid), "-o", folder / "x")
        hw.need(ended.status == 2 and "--route=go" in ended.errors, f"{ended}")
    finally:
        other.kill()
        other.wait()
    ended = hw.heapwise("attach", "--route=go", "99999999", "-o", folder / "x")
    hw.need(ended.status == 3 and "no such process" in ended.errors, f"{ended}")
    hw.need([path.name for path in folder.iterdir()] == ["there"], f"{list(folder.iterdir())}")


@TESTS.test
def unrecorded(folder):
    """Marks, dumps, modes and detaching are for recorded processes: of one that is profiled it is said how that ends, and it goes on"""
    with program("go_sampled") as target, sampled(target, folder / "x", "--memprofilerate=1") as command:
        pid = str(target.pid)
        target.tell("leak", 33)
        for words in (("mark", pid, "here"), ("dump", pid), ("detach", pid), ("ctl", pid, "stop"), ("ctl", pid, "mode", "exact"), ("ctl", pid, "status")):
            ended = hw.heapwise(*words, cwd=folder)
            hw.need(ended.status == 3 and "is not recorded but profiled" in ended.errors and f"'heapwise attach {pid}'" in ended.errors, f"{words}: {ended}")
        finish(command)
    hw.need(of_function(read_profile(folder / "x")[0], "main.leakBlocks", LEAKED)[2] == 33, "not its blocks")


def other_layout(file, to):
    """Writes a program whose symbol of its list of buckets leads to something else: as in a version with another layout."""
    data = bytearray((GO / "go_sampled").read_bytes())
    sections, size, count = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3a)
    places = {}
    for number in range(count):
        kind, _, _, at, length, link = struct.unpack_from("<IQQQQI", data, sections + number * size + 4)
        if kind != 2:  # SHT_SYMTAB
            continue
        text = struct.unpack_from("<Q", data, sections + link * size + 0x18)[0]
        for symbol in range(at, at + length, 24):
            name = text + struct.unpack_from("<I", data, symbol)[0]
            places[bytes(data[name:data.index(0, name)])] = symbol + 8
    start = places[b"runtime.mbuckets"]
    data[start:start + 8] = data[places[to]:places[to] + 8]
    file.write_bytes(data)
    file.chmod(0o755)


@TESTS.test
def unknown_layout(folder):
    """A program whose buckets are not where, or not as those of known versions are is refused, with its version, and left as it is"""
    if not (GO / "go_sampled").exists():
        raise hw.Skip("go was not there when this was built: ./dev deps --peers installs it")
    other_layout(folder / "other", b"runtime.buildVersion")
    with program(folder / "other") as target:
        ended = hw.heapwise("attach", str(target.pid), "-o", folder / "x", "--for=1ms")
        hw.need(ended.status == 3 and "has another layout than that of Go 1.19" in ended.errors and ", go1." in ended.errors
                and "nothing was changed" in ended.errors, f"{ended}")
        hw.need(target.tell("leak", 1) == 0 and not (folder / "x").exists(), "it was changed")


@TESTS.test
def users(folder):
    """A user's own program as that user; another's is refused, in words"""
    if os.geteuid() != 0:
        raise hw.Skip("only root can be other users")
    folder.chmod(0o777)
    with program("go_sampled") as target:
        ended = hw.run([*AS_USER, hw.HEAPWISE, "attach", str(target.pid), "-o", folder / "x"])
        hw.need(ended.status in (2, 3, 4) and ("as root" in ended.errors or "another user" in ended.errors), f"{ended}")
        hw.need(target.tell("leak", 1) == 0, "the rate was changed")
    with program("go_sampled", before=AS_USER) as target, sampled(target, folder / "own", "--memprofilerate=1", by=AS_USER) as command:
        target.tell("leak", 77)
        finish(command)
    hw.need(of_function(read_profile(folder / "own")[0], "main.leakBlocks", LEAKED)[2] == 77, "not its blocks")


@TESTS.test
def namespaces(folder):
    """A process in PID, mount and user namespaces of its own, as in a container: its program is at no path there"""
    hw.need_program("unshare")
    unshare = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "--kill-child")
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        raise hw.Skip("namespaces of their own are not allowed here")
    hidden = f'exec 9<"$0"; mount -t tmpfs none {GO} && exec /proc/self/fd/9'
    with program("go_sampled", before=(*unshare, "sh", "-c", hidden)) as target:
        hw.need(target.pid < 100, f"it has number {target.pid} in its own namespace")
        target.pid = int(children(target.process.pid)[0])
        with sampled(target, folder / "x", "--memprofilerate=1") as command:
            target.tell("leak", 55)
            finish(command)
        hw.need(target.tell("leak", 1) == 0, "the rate is not what it was")
    hw.need(of_function(read_profile(folder / "x")[0], "main.leakBlocks", LEAKED)[2] == 55, "not its blocks")


if __name__ == "__main__":
    TESTS.main()
