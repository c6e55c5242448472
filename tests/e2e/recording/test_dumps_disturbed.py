#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Dumps at bad moments: no place on the disk, and processes that are killed, fork or execute others in the middle. No
half file has a final name, the recording is whole, and what happened is said."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import children, state
from told import collector_of, is_readable, of_site, stop_writer, told

TESTS = hw.Tests()
# So many blocks make a dump that takes long enough to be caught.
BLOCKS = 300_000
LIVE = BLOCKS * 64
TRIES = 30


def files(folder):
    """All that is there, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def live(dump):
    report = hw.report(dump, "--view", "sites")
    hw.need(report["recording"]["complete"], f"{dump.name} is not whole")
    return of_site(report, "live_bytes")


def need_whole(folder, name="x.hpw"):
    hw.need(hw.report(folder / name)["recording"]["complete"], f"{name} is not whole")


def caught(target, collector, word="dump", number=1):
    """The stopped writer of a dump that the target has asked for and waits for."""
    for _ in range(TRIES):
        writer = stop_writer(collector, lambda: target.ask(word, number), lambda: is_readable(target.process.stdout))
        if writer:
            return writer
        target.told(word)
        (target.folder / "own.dump").unlink(missing_ok=True)
    raise hw.Failure("each dump is done before it can be stopped")


def caught_command(target, collector, *options):
    """The stopped writer of a dump that a command waits for, and the command."""
    for _ in range(TRIES):
        ran = []
        words = [os.fspath(word) for word in (hw.HEAPWISE, "dump", target.name, *options)]
        writer = stop_writer(collector, lambda: ran.append(
            subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=target.folder, env=hw.clean_environment())),
            lambda: ran[0].poll() is not None)
        if writer:
            return writer, ran[0]
        ran[0].communicate(timeout=hw.TIMEOUT)
    raise hw.Failure("each dump is done before it can be stopped")


def ended(command):
    errors = command.communicate(timeout=hw.TIMEOUT / 2)[1]
    return command.returncode, errors


@TESTS.test
def writer_killed(folder):
    """The writer is killed: an error for who asked, no file, and the next dump is one"""
    with told(folder, "-q") as target:
        target.tell("keep64", BLOCKS)
        collector = collector_of(folder)
        os.kill(caught(target, collector), signal.SIGKILL)
        hw.need(target.told("dump") != 0 and files(folder) == ["x.hpw"], f"{files(folder)}")
        writer, command = caught_command(target, collector, "-f", "-o", "a.dump")
        (folder / "a.dump").unlink(missing_ok=True)
        os.kill(writer, signal.SIGKILL)
        status, errors = ended(command)
        hw.need(status not in (0, -signal.SIGKILL) and "the process that writes it has died" in errors, f"{status} {errors}")
        hw.need(files(folder) == ["x.hpw"], f"{files(folder)}")
        hw.need(target.tell("dump", 1) == 0 and live(folder / "own.dump") == LIVE, "the next dump")
        hw.need(not children(collector), "processes are left")
    need_whole(folder)


@TESTS.test
def converter_killed(folder):
    """With --dump-format what converts ends with the writer, and writes nothing later"""
    with told(folder, "-q", "--dump-format", "folded", "--dump-file", "%i.folded") as target:
        target.tell("keep64", BLOCKS)
        collector = collector_of(folder)
        found = []
        def is_converting():
            for writer in children(collector):
                with contextlib.suppress(OSError):
                    found[:] = [(int(writer), int(pid)) for pid in children(writer)]
                if found:
                    return True
            return False
        target.ask("dump")
        hw.wait_until(is_converting, "nothing converts")
        writer, converter = found[0]
        os.kill(converter, signal.SIGSTOP)
        os.kill(writer, signal.SIGKILL)
        hw.wait_until(lambda: state(writer) in "ZX", "the writer does not die")
        with contextlib.suppress(ProcessLookupError):
            os.kill(converter, signal.SIGCONT)  # it may have been stopped before it said that it wants to end, too
        hw.wait_until(lambda: state(converter) in "ZX", "the converter goes on")
        hw.need(target.told("dump") != 0 and files(folder) == ["x.hpw"], f"{files(folder)}")
    need_whole(folder)


@TESTS.test
def target_killed(folder):
    """The program is killed in the middle: its dumps are completed, for commands too, and so is the recording"""
    with told(folder, "-q", status=-signal.SIGKILL) as target:
        target.tell("keep64", BLOCKS)
        collector = collector_of(folder)
        first, command = caught_command(target, collector, "-f", "-o", "a.dump")
        (folder / "a.dump").unlink(missing_ok=True)
        second = caught(target, collector)
        os.kill(target.pid, signal.SIGKILL)
        hw.wait_until(lambda: state(target.pid) in "ZX", "it does not die")
        hw.need("own.dump" not in files(folder), f"{files(folder)}")
        for writer in (first, second):
            os.kill(writer, signal.SIGCONT)
        status, errors = ended(command)
        hw.need(status == 0, errors)
    hw.need(files(folder) == ["a.dump", "own.dump", "x.hpw"], f"{files(folder)}")
    hw.need(live(folder / "a.dump") == LIVE and live(folder / "own.dump") == LIVE, "live bytes")
    need_whole(folder)


@TESTS.test
def collector_killed(folder):
    """The collector is killed: who asked hears of it, no file comes later, the program goes on, the recording can be read"""
    with told(folder) as target:
        target.tell("keep64", BLOCKS)
        collector = collector_of(folder)
        first, command = caught_command(target, collector, "-f", "-o", "a.dump")
        (folder / "a.dump").unlink(missing_ok=True)
        second = caught(target, collector)
        os.kill(collector, signal.SIGKILL)
        for writer in (first, second):
            with contextlib.suppress(ProcessLookupError):
                os.kill(writer, signal.SIGCONT)  # it may have been stopped before it said that it wants to end, too
            hw.wait_until(lambda: state(writer) in "ZX", "a writer lives on")
        hw.need(target.told("dump") != 0, "the program takes the dump for written")
        status, errors = ended(command)
        hw.need(status > 0 and "does not answer" in errors, f"{status} {errors}")
        again = hw.heapwise("dump", target.name, "-o", folder / "b.dump")
        hw.need(again.status > 0 and "its collector can't be reached" in again.errors, f"{again}")
        target.tell("keep64", 10)
    hw.need(files(folder) == ["x.hpw"], f"{files(folder)}")
    hw.ask("report", folder / "x.hpw")


@TESTS.test
def executes(folder):
    """The program executes another in the middle: it waits for no dump, the dump is the old one's, numbers go on"""
    with told(folder, "-q", "--dump-file", "%p.%i") as target:
        target.tell("keep64", BLOCKS)
        writer = caught(target, collector_of(folder), number=0)
        os.kill(writer, signal.SIGCONT)
        hw.need(target.told("dump") == 0, "the first dump")
        number = len(files(folder)) - 1
        writer, command = caught_command(target, collector_of(folder), "-f", "-o", "a.dump")
        (folder / "a.dump").unlink(missing_ok=True)
        target.ask("exec")
        hw.need(target.answer().split() == ["pid", target.name], "it is not executed")
        target.tell("keep", 77)
        hw.need(target.tell("dump") == 0, "it is not recorded")
        os.kill(writer, signal.SIGCONT)
        status, errors = ended(command)
        hw.need(status == 0 and live(folder / "a.dump") == LIVE, f"{status} {errors}")
    names = [f"{target.name}.{i:04}" for i in range(1, number + 2)]
    hw.need([name for name in files(folder) if name.startswith(target.name)] == names, f"{files(folder)}")
    hw.need(live(folder / names[-2]) == LIVE and live(folder / names[-1]) == 77, "the dumps")
    for path in folder.glob("*.hpw"):
        need_whole(folder, path.name)


@TESTS.test
def executes_unrecorded(folder):
    """The dump of a program that executes one that is not recorded is written, though the process ends before it is"""
    script = '/usr/bin/perl -e "my @a = map { q(x) x 100 } 1 .. 200000; exec q(/bin/true)"; true'
    ended = hw.run([hw.HEAPWISE, "run", "-q", "--children", "perl", "--dump-at-exit", "--dump-file", "%n.%i", "-o", "x.hpw", "--",
                    "/bin/sh", "-c", script], cwd=folder)
    hw.need(ended.status == 0 and not ended.errors, f"{ended}")
    found = [path for path in folder.glob("perl.*")]
    hw.need(len(found) == 1, f"{files(folder)}")
    hw.need(hw.report(found[0])["totals"]["live_blocks_at_end"] > 200_000, "its blocks")


# What ends a program, and its status as a shell has it.
ENDS = {"exit 3": 3, "POSIX::_exit(5)": 5, "POSIX::abort()": -6, "kill 'TERM', $$; sleep 60": -15, "kill 'SEGV', $$; sleep 60": -11,
        "kill 'KILL', $$; sleep 60": -9}


@TESTS.test
def at_each_end(folder):
    """--dump-at-exit: exit, _exit, abort and signals, those that can't be handled as well, with what was live"""
    for number, (how, status) in enumerate(ENDS.items()):
        name = f"e{number}"
        ended = hw.run([hw.HEAPWISE, "run", "-q", "--dump-at-exit", "-o", folder / f"{name}.hpw", "--", "/usr/bin/perl", "-MPOSIX",
                        "-e", f"our $x = 'x' x 7654321; {how}"])
        hw.need(ended.status == status, f"{how}: {ended}")
        report = hw.report(folder / f"{name}.0001.dump")
        expected = {"code": status} if status > 0 else {"signal": -status}
        hw.need(report["target"]["exit"] == expected and report["totals"]["live_bytes_at_end"] > 7654321,
                f"{how}: {report['target']} {report['totals']}")


@TESTS.test
def numbers_shared(folder):
    """Names without the process's number are used once, whoever is dumped: a child, and the program after an exec"""
    with told(folder, "-q", "--dump-at-exit", "--dump-file", "own.%i") as target:
        target.tell("keep", 100)
        target.tell("fork", 2000)
        hw.wait_until(lambda: (folder / "own.0001").exists(), "no dump of the child")
        target.ask("exec")
        target.answer()
        target.tell("keep", 33)
    found = sorted(folder.glob("own.*"))
    hw.need([path.name for path in found] == ["own.0001", "own.0002", "own.0003"], f"{files(folder)}")
    hw.need([live(path) for path in found] == [2000, 100, 33], f"{[live(path) for path in found]}")
    whys = [hw.report(path)["recording"]["dump"] for path in found]
    hw.need(whys == ["the process ended", "the process executed another program", "the process ended"], f"{whys}")


@TESTS.test
def forks(folder):
    """The program forks in the middle: parent, child and dump are what they would be"""
    with told(folder, "-q") as target:
        target.tell("keep64", BLOCKS)
        writer, command = caught_command(target, collector_of(folder), "-f", "-o", "a.dump")
        (folder / "a.dump").unlink(missing_ok=True)
        target.tell("fork", 2000)
        os.kill(writer, signal.SIGCONT)
        status, errors = ended(command)
        hw.need(status == 0 and live(folder / "a.dump") == LIVE, f"{status} {errors}")
    recordings = list(folder.glob("*.hpw"))
    hw.need(len(recordings) == 2, f"{files(folder)}")
    for path in recordings:
        need_whole(folder, path.name)


@TESTS.test
def many_at_once(folder):
    """Twelve `heapwise dump` at once, more than are written at a time: each is whole"""
    with told(folder, "-q") as target:
        target.tell("keep64", 50_000)
        commands = [subprocess.Popen([hw.HEAPWISE, "dump", target.name, "-q", "-o", folder / f"{i}.dump"], text=True,
                                     stderr=subprocess.PIPE, env=hw.clean_environment()) for i in range(12)]
        for command in commands:
            status, errors = ended(command)
            hw.need((status, errors) == (0, ""), f"{status} {errors}")
        for i in range(12):
            hw.need(live(folder / f"{i}.dump") == 50_000 * 64, f"{i}.dump")
    hw.need(len(files(folder)) == 13, f"{files(folder)}")


@TESTS.test
def disk_full(folder):
    """No room, or a limit of size: who asked hears of it, nothing is left, the recording is whole"""
    with told(folder, "-q") as target:
        target.tell("keep64", 20_000)
        (folder / "own.dump").symlink_to("/dev/full")
        hw.need(target.tell("dump", 1) != 0, "a dump to a full device")
        full = hw.heapwise("dump", target.name, "-f", "-o", "/dev/full")
        hw.need(full.status > 0 and "No space left on device" in full.errors, f"{full}")
        limited = hw.heapwise("dump", target.name, "-o", folder / "a.dump",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        hw.need(limited.status > 0 and "File too large" in limited.errors, f"{limited}")
        hw.need(files(folder) == ["own.dump", "x.hpw"], f"{files(folder)}")
    need_whole(folder)


@TESTS.test
def file_system_full(folder):
    """A file system without room for one more dump: the earlier ones are whole, the summary says why, nothing is left"""
    script = """mount -t tmpfs -o size=300k none small || exit 99
    "$0" run --dump-allocated 20M --dump-file "$PWD/small/%i" -o x.hpw -- /usr/bin/perl -e '
        my @a; for my $i (1 .. 400) { push @a, map { "x" x $_ } 1 .. 900; }'
    status=$?; cp -a small/. kept/; exit $status"""
    for name in ("small", "kept"):
        (folder / name).mkdir()
    ran = hw.run(["unshare", "-m", "/bin/sh", "-c", script, hw.HEAPWISE], cwd=folder)
    if ran.status == 99 or "unshare" in ran.errors:
        raise hw.Skip(f"no such mount here: {hw.shorten(ran.errors)}")
    hw.need(ran.status == 0 and ran.errors.count("a dump was not written") == 1 and "No space left" in ran.errors
            and "readable" not in ran.errors, f"{ran}")
    names = files(folder / "kept")
    hw.need(names and all(name.isdigit() for name in names), f"{names}")
    for name in names:
        need_whole(folder / "kept", name)
    need_whole(folder)


@TESTS.test
def folder_lost(folder):
    """A folder that vanishes, or can't be written to: an error, and a dump elsewhere is written"""
    work = folder / "work"
    work.mkdir()
    with told(work, "-q", "-f", "--dump-file", "own.%i") as target:
        target.tell("keep", 501)
        hw.need(target.tell("dump") == 0 and live(work / "own.0001") == 501, "the first")
        refused = hw.heapwise("dump", target.name, "-o", "/proc/heapwise.dump")
        hw.need(refused.status > 0 and "/proc/heapwise.dump" in refused.errors, f"{refused}")
        work.rename(folder / "moved")
        hw.need(target.tell("dump") == 0 and live(folder / "moved/own.0002") == 501, "its folder has another name")
        for path in (folder / "moved").iterdir():
            path.unlink()
        (folder / "moved").rmdir()
        hw.need(target.tell("dump") != 0, "a dump in a folder that is gone")
        hw.ask("dump", target.name, "-o", folder / "a.dump")
    hw.need(files(folder) == ["a.dump"] and live(folder / "a.dump") == 501, f"{files(folder)}")


@TESTS.test
def killed_elsewhere(folder):
    """The dump of the end of a program that is killed is where the program was, not where the recording is"""
    place = folder / "place"
    place.mkdir()
    before = ("/bin/sh", "-c", f'cd "{place}"; exec "$0" "$@"')
    with told(folder, "-q", "--dump-at-exit", "--dump-file", "own.%i", before=before, status=-signal.SIGKILL) as target:
        target.tell("keep", 501)
        os.kill(target.pid, signal.SIGKILL)
    hw.need("own.0002" in files(place) and live(place / "own.0002") == 501, f"{files(folder)} {files(place)}")


CGROUPS = Path("/sys/fs/cgroup")
# Takes memory in steps, until it is killed.
GREEDY = "my @a; while (1) { push @a, 'x' x (1 << 20); select undef, undef, undef, 0.004 }"


@contextlib.contextmanager
def memory_cgroup(limit):
    """A cgroup of that size, if this machine lets us make one."""
    v1 = (CGROUPS / "memory/memory.limit_in_bytes").exists()
    place = (CGROUPS / "memory" if v1 else CGROUPS) / f"heapwise-test-{os.getpid()}"
    try:
        place.mkdir()
    except OSError as error:
        raise hw.Skip(f"no cgroup can be made: {error.strerror}") from error
    try:
        (place / ("memory.limit_in_bytes" if v1 else "memory.max")).write_text(str(limit))
        with contextlib.suppress(OSError):
            (place / ("memory.memsw.limit_in_bytes" if v1 else "memory.swap.max")).write_text(str(limit if v1 else 0))
        yield place
    except OSError as error:
        raise hw.Skip(f"the cgroup has no limit: {error}") from error
    finally:
        def is_removed():
            with contextlib.suppress(OSError):
                place.rmdir()
            return not place.exists()
        hw.wait_until(is_removed, "the cgroup is in use")


@TESTS.test
def out_of_memory(folder):
    """Killed for want of memory in a cgroup: the dump of --dump-pressure was there before, and the recording is whole"""
    limit = 96 << 20
    with memory_cgroup(limit) as place:
        for options in (("--dump-pressure",), ("--dump-rss", "80%")):
            ended = hw.run(["/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', place, hw.HEAPWISE, "run", "-f", "-o",
                            folder / "x.hpw", *options, "--", "/usr/bin/perl", "-e", GREEDY])
            hw.need(ended.status == -signal.SIGKILL, f"{ended}")
            need_whole(folder)
            report = hw.report(folder / "x.0001.dump")
            share = report["totals"]["live_bytes_at_end"] / limit
            hw.need(report["target"]["exit"] == {"running": True} and 0.6 < share < 1, f"{options}: {share}")
            (folder / "x.0001.dump").unlink()


TESTS.main(width=2)
