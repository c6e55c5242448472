#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad days: no descriptors, no memory, quotas, clocks that jump, stops, debuggers, core dumps. The program does what
it would have done without us; its recording opens, and says what it lost."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import state
import truth
from recorded import recorded

TESTS = hw.Tests()
PERL = "/usr/bin/perl"
ONE_BLOCK = hw.TARGETS / "one_block"

# What is done for each line, and how often a block of that size is asked for.
WORK = "my @kept = map { 'x' x ($_ % 500) } 1 .. 20000; my $sum = 0; $sum += length for @kept;"
# Says its PID, works once for each line that it reads, and ends with 9 at the end of its input.
WORKER = f'$| = 1; print "$$\\n"; while (<STDIN>) {{ {WORK} print "$sum\\n" }} exit 9'
SUM = f"{sum(i % 500 for i in range(1, 20001))}\n".encode()


def heapwise_run(*arguments, **more):
    return hw.run([hw.HEAPWISE, "run", "--all-processes", *arguments], **more)


def need_complete(recording):
    report = hw.report(recording)
    hw.need(report["recording"]["complete"], f"{recording.name} is incomplete")
    return report


def need_same(folder, arguments, *, options=(), status=None, **more):
    """The program does the same natively and recorded; its report."""
    native = hw.run(arguments, **more)
    ended = hw.record(arguments, folder / "x.hpw", options=options or ("-q",), **more)
    hw.need(status is None or native.status == status, f"natively: {native}")
    hw.need((ended.status, ended.text) == (native.status, native.text),
            f"recorded: {ended} {hw.shorten(ended.text)}; natively: {native} {hw.shorten(native.text)}")
    return need_complete(folder / "x.hpw"), ended


def work(one):
    """The program under recording does its work once, as ever."""
    one.run.stdin.write(b"\n")
    one.run.stdin.flush()
    line = one.run.stdout.readline()
    hw.need(line == SUM, f"the program says {line}, not {SUM}")


def finish(one):
    """The program ends as it always does; what the command says."""
    _, errors = one.run.communicate(timeout=hw.TIMEOUT / 2)
    hw.need(one.run.returncode == 9, f"{hw.describe(one.run.returncode)}: {errors.decode()}")
    return errors.decode()


def wait_for(what, condition):
    hw.wait_until(condition, f"{what}: does not happen")


# ---- descriptors


DESCRIPTORS = 20


def one_descriptor():
    """In a child: of the descriptors that it may have all but one are taken, for good."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    os.closerange(3, DESCRIPTORS)
    for fd in range(3, DESCRIPTORS - 1):
        os.dup2(0, fd)


@TESTS.test
def no_descriptor_at_start(folder):
    """A program that starts with all but one descriptor taken is recorded, and finds its limit as it was"""
    script = f"""open my $f, '<', '/proc/self/limits' or die; print grep /open files/, <$f>;
    open my $g, '<', '/dev/null' or print "$!\\n"; -e "/proc/self/fd/{DESCRIPTORS - 2}" or print "closed\\n"; exit 3"""
    report, ended = need_same(folder, [PERL, "-e", script], status=3, preexec_fn=one_descriptor, close_fds=False)
    hw.need("Too many open files" in ended.text and re.search(rf"files +{DESCRIPTORS} ", ended.text), ended.text)
    hw.need("closed" not in ended.text, ended.text)
    hw.need(report["totals"]["allocations"] > 100, f"{report['totals']}")


FORKS_WITHOUT_DESCRIPTORS = """
use POSIX; my @held; while (open my $f, '<', '/dev/null') { push @held, $f }
print "none left: $!\\n"; my $pid = fork; die unless defined $pid;
if (!$pid) { my @kept = map { 'y' x 777 } 1 .. 1000; POSIX::_exit(@kept == 1000 ? 4 : 5) }
waitpid $pid, 0; print $? >> 8, "\\n"; open my $f, '<', '/dev/null' and print "one more\\n"; exit 6
"""


@TESTS.test
def no_descriptor_later(folder):
    """A child forked when every descriptor is taken is recorded too"""
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    _, ended = need_same(folder, [PERL, "-e", FORKS_WITHOUT_DESCRIPTORS], preexec_fn=limit, options=("--children=all",), status=6)
    hw.need("none left" in ended.text and "\n4\n" in ended.text and "one more" not in ended.text, ended.text)
    children = [p for p in folder.glob("x.*.hpw")]
    hw.need(len(children) == 1, f"{children}: {ended}")
    hw.need(need_complete(children[0])["totals"]["allocations"] >= 1000, "its blocks are not there")


@TESTS.test
def no_descriptor_hard(folder):
    """With a hard limit and every descriptor taken: recorded, or said not to be; never harmed"""
    native = hw.run([PERL, "-e", FORKS_WITHOUT_DESCRIPTORS], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    ended = heapwise_run("-o", folder / "x.hpw", "--", "/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh", PERL, "-e", FORKS_WITHOUT_DESCRIPTORS)
    hw.need((ended.status, ended.text) == (native.status, native.text) and native.status == 6, f"{ended} {ended.text}")
    reports = [need_complete(path) for path in folder.glob("*.hpw")]
    told = len([r for r in reports if r["totals"]["allocated_bytes"] > 700000])
    hw.need(told or "not recorded" in ended.errors, ended.errors)


# ---- memory


@TESTS.test
def memory_limits(folder):
    """Programs that reach a limit of address space or data fail as they do natively; failures are counted"""
    hw.need_no_sanitizer("little address space")
    script = "my $n = shift; my $x = 'x' x ($n << 20); print length $x; exit 5"
    for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        where = folder / str(which)
        where.mkdir()
        limit = lambda: resource.setrlimit(which, (600 << 20, resource.getrlimit(which)[1]))
        native = hw.run([PERL, "-e", script, "900"], preexec_fn=limit)
        ended = hw.record([PERL, "-e", script, "900"], where / "x.hpw", preexec_fn=limit)
        hw.need(native.status == ended.status == 1 and "Out of memory" in ended.errors, f"{native}; {ended}")
        hw.need(need_complete(where / "x.hpw")["totals"]["failed"] == 1, "the failure is not counted")


# Takes the first argument's MiB, says what it has got of its limit, and frees.
TAKES = "my $n = shift; my $x = 'x' x ($n << 20); print length $x, qq(\\n); undef $x; exit 5"


@TESTS.test
def memory_limit_around_the_command(folder):
    """Under a limit that leaves the recorder no room the program runs; where the command itself can't be loaded, 127"""
    hw.need_no_sanitizer("little address space")
    low = lambda: resource.setrlimit(resource.RLIMIT_AS, (50_000 << 10, resource.RLIM_INFINITY))
    lowest = lambda: resource.setrlimit(resource.RLIMIT_AS, (6_000 << 10, resource.RLIM_INFINITY))
    ended = heapwise_run("-o", folder / "low.hpw", "--", ONE_BLOCK, preexec_fn=low)
    hw.need(ended.status == 0 and "NOTHING was recorded" in ended.errors, f"{ended}")
    ended = heapwise_run("-o", folder / "x.hpw", "--", ONE_BLOCK, preexec_fn=lowest)
    hw.need(ended.status == 127 and "error while loading shared libraries" in ended.errors, f"{ended}")
    hw.need(not (folder / "x.hpw").exists(), "a file is left")
    native = hw.run([ONE_BLOCK], preexec_fn=low)
    ended = heapwise_run("-o", folder / "x.hpw", "--", "/bin/sh", "-c", 'ulimit -S -v 50000; exec "$0"', ONE_BLOCK)
    hw.need((ended.status, ended.text) == (native.status, native.text), f"{ended}; natively: {native}")


@TESTS.test
def memory_limits_low(folder):
    """Programs under low limits of address space or data get most of it, and are recorded"""
    hw.need_no_sanitizer("little address space")
    for which, limit, mib, recorded_too in (
            (resource.RLIMIT_AS, 300_000 << 10, 200, True), (resource.RLIMIT_AS, 100_000 << 10, 40, True),
            (resource.RLIMIT_AS, 70_000 << 10, 50, False), (resource.RLIMIT_DATA, 100_000 << 10, 80, True),
            (resource.RLIMIT_DATA, 40_000 << 10, 24, True)):
        where = folder / f"{which}-{limit}"
        where.mkdir()
        low = lambda: resource.setrlimit(which, (limit, resource.RLIM_INFINITY))
        report, ended = need_same(where, [PERL, "-e", TAKES, str(mib)], status=5, preexec_fn=low)
        seen = report["totals"]["peak_bytes"] > mib << 20
        hw.need(seen == recorded_too and report["recording"]["not_attached"] != recorded_too,
                f"{mib} MiB of {limit >> 20}: {report['totals']} {report['recording']}; {ended}")


@TESTS.test
def memory_limits_threads(folder):
    """200 threads under a low limit of address space, where there are fewer rings: recorded exactly"""
    hw.need_no_sanitizer("little address space")
    low = lambda: resource.setrlimit(resource.RLIMIT_AS, (200_000 << 10, resource.RLIM_INFINITY))
    ended = hw.record([hw.TARGETS / "threads_many", "200", "100"], folder / "x.hpw", preexec_fn=low,
                      env=hw.clean_environment(MALLOC_ARENA_MAX=1))
    expectations, problems = truth.parse(ended.text)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    problems += truth.check_itself(report) + truth.check(expectations, report)
    hw.need(ended.status == 0 and not problems, f"{ended}: {problems[:10]}")


@TESTS.test
def memory_locked(folder):
    """mlockall() succeeds, fails and locks as natively, under limits and without; our mappings stay out of it"""
    outcomes = set()
    for limit in ("-", "0", "1000", "7000", "8000"):
        where = folder / limit
        where.mkdir()
        _, ended = need_same(where, [hw.TARGETS / "memory_locked", limit], status=0)
        outcomes |= set(re.findall(r"^(?:both|current): ([^,]*)", ended.text, re.M))
    hw.need(len(outcomes) >= 3, f"only {outcomes}: the limits show nothing")


# ---- places for files


def mounted(folder, options, *arguments, before="", **more):
    """Runs a command in a mount namespace where folder/small is a tmpfs; copies what is in it to folder/kept."""
    (folder / "small").mkdir()
    (folder / "kept").mkdir()
    script = f"""
    mount -t tmpfs -o {options} none small || exit 99
    {before}
    "$@"
    status=$?
    cp small/*.hpw kept/ 2>/dev/null
    exit $status
    """
    ended = hw.run(["unshare", "-m", "/bin/sh", "-c", script, "sh", *arguments], cwd=folder, **more)
    if ended.status == 99 or "unshare" in ended.errors:
        raise hw.Skip(f"no such mount here: {hw.shorten(ended.errors)}")
    return ended


@TESTS.test
def write_errors(folder):
    """Each error of writing (quota, device, limit): the program's status is its own, the loss is said, the rest can be read"""
    hw.need_no_sanitizer("LeakSanitizer does not work under ptrace")
    strace = hw.need_program("strace")
    perl = 'my @a = map { "x" x $_ } 1 .. 30000; exit 7'
    for error in ("EDQUOT", "EIO", "EFBIG", "ENOSPC"):
        path = folder / f"{error}.hpw"
        ended = hw.run([strace, "-f", "-o", "/dev/null", "-e", "trace=writev", "-e", f"inject=writev:error={error}:when=4+",
                        hw.HEAPWISE, "run", "-o", path, "--", PERL, "-e", perl])
        hw.need(ended.status == 7, f"{error}: {ended}")
        hw.need("can't write past" in ended.errors and "the file is not" in ended.errors, f"{error}: {ended}")
        hw.need("to see the report: heapwise report" not in ended.errors, f"{error}: {ended}")
        report = hw.report(path)
        hw.need(not report["recording"]["complete"], f"{error}: taken for complete")


def with_quota(folder):
    """How to mount a file system with a quota of 300 KiB on the folder `small`, for a shell."""
    types = Path("/proc/filesystems").read_text().split()
    tmpfs = "mount -t tmpfs -o usrquota,usrquota_block_hardlimit=300k none small"
    if hw.run(["unshare", "-m", "true"]).status:
        raise hw.Skip("no mounts of one's own here: not root's")
    if hw.run(["unshare", "-m", "/bin/sh", "-c", tmpfs], cwd=folder).status == 0:
        return f"{tmpfs} && chmod 777 small", ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    if "btrfs" not in types or not shutil.which("mkfs.btrfs") or not shutil.which("btrfs"):
        raise hw.Skip("no file system with quotas here (tmpfs with CONFIG_TMPFS_QUOTA, or btrfs and btrfs-progs)")
    return ("truncate -s 128M image && mkfs.btrfs -q image && mount -o loop image small && btrfs quota enable small && "
            "btrfs qgroup limit 300k 0/5 small"), []


@TESTS.test
def quota_reached(folder):
    """A real quota is reached: the program's status is its own, the loss is said, the rest can be read"""
    (folder / "small").mkdir()
    folder.chmod(0o777)
    mount, user = with_quota(folder)
    script = f'{mount} || exit 99; "$@"; status=$?; cp small/x.hpw .; exit $status'
    perl = 'my @a = map { "x" x $_ } 1 .. 30000; my %b; $b{$_ * 7919 % 100003} .= "y" x ($_ % 97) for 1 .. 300000; exit 7'
    ended = hw.run(["unshare", "-m", "/bin/sh", "-c", script, "sh", *user, hw.HEAPWISE, "run", "-o", "small/x.hpw", "--", PERL, "-e", perl],
                   cwd=folder)
    if ended.status == 99:
        raise hw.Skip(f"no such mount here: {hw.shorten(ended.errors)}")
    hw.need(ended.status == 7, str(ended))
    hw.need("can't write past" in ended.errors and "quota exceeded" in ended.errors and "to see the report" not in ended.errors, str(ended))
    report = hw.report(folder / "x.hpw")
    hw.need(not report["recording"]["complete"] and report["recording"]["events"] > 1000, f"{report['recording']}")


@TESTS.test
def read_only(folder):
    """A read-only folder: refused with the reason, the program is not started"""
    ended = mounted(folder, "size=1m", hw.HEAPWISE, "run", "-o", "small/x.hpw", "--", "/bin/echo", "it ran",
                    before="mount -o remount,ro small || exit 99")
    hw.need(ended.status == 125 and not ended.text and "Read-only file system" in ended.errors, str(ended))


@TESTS.test
def full_for_children(folder):
    """A disk without room for another file: children run, and are said not to be recorded"""
    script = "for (1 .. 3) { system $ARGV[0] and die } exit 8"
    ended = mounted(folder, "size=1m,nr_inodes=3", hw.HEAPWISE, "run", "-o", "small/x.hpw", "--", PERL, "-e", script, ONE_BLOCK)
    hw.need(ended.status == 8, str(ended))
    hw.need("No space left on device" in ended.errors and "not recorded" in ended.errors, str(ended))
    need_complete(folder / "kept/x.hpw")


# ---- two at once


@TESTS.test
def no_place(folder):
    """Where no file can be created the message says how to name another place"""
    ended = hw.run([hw.HEAPWISE, "run", "/bin/true"], cwd="/proc")
    hw.need(ended.status == 125 and "can't create /proc/heapwise.true." in ended.errors, str(ended))
    hw.need("choose another place with -o FILE" in ended.errors, str(ended))


@TESTS.test
def same_file(folder):
    """A second run to the same file is refused while the first records, which is not disturbed"""
    with recorded(folder, WORKER) as one:
        work(one)
        ended = heapwise_run("-o", one.recording, "--", "/bin/echo", "it ran")
        hw.need(ended.status == 125 and not ended.text and "already exists" in ended.errors, str(ended))
        work(one)
        finish(one)
        need_complete(one.recording)


@TESTS.test
def same_file_replaced(folder):
    """A second run that replaces the file (-f) of one that records: its own is whole, the first one says so"""
    with recorded(folder, WORKER) as one:
        work(one)
        ended = heapwise_run("-f", "-o", one.recording, "--", ONE_BLOCK)
        hw.need(ended.status == 0, str(ended))
        work(one)
        errors = finish(one)
        hw.need("removed or replaced" in errors and "to see the report" not in errors, errors)
        hw.need(need_complete(one.recording)["totals"]["allocations"] == 1, "it is not the second's")


# ---- the collector


@TESTS.test
def collector_killed_busy(folder):
    """A collector killed while the program allocates: the program does all its work, the file can be read"""
    with recorded(folder, WORKER) as one:
        work(one)
        os.kill(one.collector, signal.SIGKILL)
        one.wait(one.collector_end, "the collector")
        for _ in range(20):
            work(one)
        errors = finish(one)
        hw.need("the collector was killed" in errors, errors)
        hw.need(not hw.report(one.recording)["recording"]["complete"], "taken for complete")


def check_killed_with_less(option, folder):
    """What is not kept event by event is kept up to date in sums, and the last events are there."""
    with recorded(folder, WORKER, options=(option,)) as one:
        for _ in range(16):
            work(one)
        # The file while it is being written is what it will be when the collector is killed.
        wait_for("a state of the sums", lambda: hw.report(one.recording)["totals"]["allocations"] > 320000)
        os.kill(one.collector, signal.SIGKILL)
        one.wait(one.collector_end, "the collector")
        work(one)
        errors = finish(one)
        hw.need("the collector was killed" in errors, errors)
    report = hw.report(one.recording)
    said = report["recording"]
    hw.need(not said["complete"] and "was not closed" in said["damage"][0], f"{said}")
    hw.need("its figures are as of " in said["damage"][0] and len(said["damage"]) == 1, f"{said['damage']}")
    hw.need(320000 < report["totals"]["allocations"] < 800000 and report["totals"]["threads"] == 1, f"{report['totals']}")
    hw.need(sum(site["allocations"] for site in report["sites"]) == report["totals"]["allocations"], "sites and totals differ")
    hw.need(said["lost_events"] == 0 and said["duration_ns"] > 0, f"{said}")
    hw.need(bool(said["kept_steps"]) == (option != "--mode=aggregate"), f"{said}")
    if option.startswith("--ring"):
        hw.need(said["kept_from_ns"] > 0 and said["kept_steps"] > 5000 and said["dropped_steps"] > 50000, f"{said}")
    used = one.recording.stat().st_blocks * 512
    hw.need(used < 2_000_000, f"{used} bytes on the disk")


for kept in ("--mode=aggregate", "--ring=64K", "--max-file=64K"):
    TESTS.add(f"A collector killed with {kept}: the sums are there, and say of when they are",
              lambda folder, kept=kept: check_killed_with_less(kept, folder))


@TESTS.test
def collector_stopped_busy(folder):
    """A collector stopped while the program allocates and let go later: what was lost is counted"""
    with recorded(folder, WORKER) as one:
        work(one)
        os.kill(one.collector, signal.SIGSTOP)
        wait_for("the collector's stop", lambda: state(one.collector) == "T")
        for _ in range(60):
            work(one)
        os.kill(one.collector, signal.SIGCONT)
        for _ in range(3):
            work(one)
        finish(one)
        report = need_complete(one.recording)
        whole = hw.report(reference(folder, 64))
        events = lambda r: r["recording"]["events"] + r["recording"]["lost_events"]
        hw.need(report["recording"]["lost_events"] > 0, "nothing was lost: the test shows nothing")
        hw.need(report["recording"]["lost"] == {"stalled": report["recording"]["lost_events"]}, str(report["recording"]))
        # A free that was lost is made up for when its address is given out again; the blocks were at most so many.
        # Perl's start differs by a few from run to run.
        more = events(report) - events(whole)
        hw.need(-100 < more <= 30000, f"{report['recording']} of {whole['recording']}")
        doctor = hw.run([hw.HEAPWISE, "doctor", "--json", one.recording])
        found = {f["id"]: (f["level"], f["what"]) for f in json.loads(doctor.text)["findings"]}
        hw.need(doctor.status == 1, str(doctor))
        hw.need(found["lost-events"] == ("problem", f"{report['recording']['lost_events']:,} events were lost"), f"{found}")
        waits = report["recording"]["waits"]
        hw.need(waits >= 1 and report["recording"]["wait_ns"] >= report["recording"]["longest_wait_ns"] > 0, f"{report['recording']}")
        hw.need("the program's threads waited " in found["waits"][1] and f" in {waits:,} wait" in found["waits"][1], f"{found}")


SLOW_END = """
my @first = ('/usr/bin/perl', '-e', q(my @kept = map { [$_] } 1 .. 1500000; require POSIX; POSIX::_exit(0)));
system(@first) and die; system($ARGV[0]) and die; exit 4
"""


@TESTS.test
def slow_disk(folder):
    """While a large recording is completed on a slow disk, processes that start are recorded"""
    ended = heapwise_run("-o", folder / "x.hpw", "--", PERL, "-e", SLOW_END, ONE_BLOCK,
                         env=hw.clean_environment(LD_PRELOAD=hw.LIBRARIES / "libslow_disk.so"))
    hw.need(ended.status == 4, str(ended))
    hw.need("not recorded" not in ended.errors and "did not wait" not in ended.errors, str(ended))
    reports = [need_complete(path) for path in folder.glob("*.hpw")]
    blocks = [r["totals"]["live_blocks_at_end"] for r in reports]
    hw.need(max(blocks) > 1500000, f"{blocks}")
    hw.need(any(r["target"]["command"][0] == str(ONE_BLOCK) for r in reports), "the second program is not recorded")


def reference(folder, times):
    """The recording of the worker when nothing interferes."""
    (folder / "reference").mkdir()
    with recorded(folder / "reference", WORKER) as one:
        for _ in range(times):
            work(one)
        finish(one)
        return one.recording


# ---- clocks


@TESTS.test
def clock_jumps(folder):
    """The clock of the wall jumps to and fro by years: durations and the order of events are as ever"""
    library = hw.TARGETS / "libclock_jumps.so"
    with recorded(folder, WORKER, environment={"LD_PRELOAD": library}) as one:
        for _ in range(5):
            work(one)
        finish(one)
        report = need_complete(one.recording)
    hw.need(str(library) in Path(f"{folder}/x.hpw").read_bytes().decode("latin-1") or report["recording"]["events"] > 100000, "not recorded")
    hw.need(report["recording"]["repairs"] == 0, f"{report['recording']}")
    hw.need(report["recording"]["duration_ns"] < hw.TIMEOUT * 1e9, f"{report['recording']}")


@TESTS.test
def clocks_differ(folder):
    """The program's clocks are others than the recorder's (a time namespace, as after a checkpoint): complete, times as ever"""
    offsets = {"ahead": ("--monotonic", "100000", "--boottime", "8000000"), "behind": ("--monotonic", "-3000", "--boottime", "-3000")}
    for name, offset in offsets.items():
        (folder / name).mkdir()
        unshare = [hw.need_program("unshare"), "--time", "--fork", *offset]
        if hw.run([*unshare, "true"]).status != 0:
            raise hw.Skip("no time namespaces here")
        script = f'{WORK} print "$sum\n"; exit 9'
        before = time.monotonic_ns()
        ended = hw.record([*unshare, PERL, "-e", script], folder / name / "x.hpw")
        took = time.monotonic_ns() - before
        hw.need(ended.status == 9 and ended.text.encode() == SUM, f"{name}: {ended}")
        reports = [need_complete(path) for path in (folder / name).glob("*.hpw")]
        hw.need(max(r["totals"]["allocations"] for r in reports) > 20000, f"{name}: not recorded")
        for report in reports:
            found = report["recording"]
            hw.need(found["duration_ns"] <= took and not found["repairs"] and not found["lost_events"], f"{name}: {found}")
            hw.need(report["totals"]["peak_time_ns"] <= found["duration_ns"], f"{name}: {report['totals']}")
            hw.need(found["longest_wait_ns"] <= took, f"{name}: {found}")


# ---- stops


@TESTS.test
def everything_stopped(folder):
    """Program, collector and run are stopped at once, as by a suspended machine, and let go in either order: complete"""
    with recorded(folder, WORKER) as one:
        work(one)
        everybody = [one.program, one.collector, one.run.pid]
        for order in (everybody, everybody[::-1]):
            one.run.stdin.write(b"\n")
            one.run.stdin.flush()
            for pid in order:
                os.kill(pid, signal.SIGSTOP)
            wait_for("the stop", lambda: all(state(pid) == "T" for pid in everybody))
            for pid in order:
                os.kill(pid, signal.SIGCONT)
            line = one.run.stdout.readline()
            hw.need(line == SUM, f"the program says {line}")
        finish(one)
        hw.need(need_complete(one.recording)["recording"]["lost_events"] == 0, "events are lost")


@TESTS.test
def program_stopped(folder):
    """The program alone is stopped in its work and let go: same result, complete"""
    with recorded(folder, WORKER) as one:
        work(one)
        for _ in range(10):
            one.run.stdin.write(b"\n")
            one.run.stdin.flush()
            os.kill(one.program, signal.SIGSTOP)
            wait_for("the program's stop", lambda: state(one.program) == "T")
            os.kill(one.program, signal.SIGCONT)
            line = one.run.stdout.readline()
            hw.need(line == SUM, f"the program says {line}")
        finish(one)
        need_complete(one.recording)


@TESTS.test
def program_killed_while_stopped(folder):
    """A program that is killed while it is stopped: run ends like it"""
    with recorded(folder, WORKER) as one:
        work(one)
        os.kill(one.program, signal.SIGSTOP)
        wait_for("run's stop", lambda: state(one.run.pid) == "T")
        os.kill(one.program, signal.SIGKILL)
        one.run.communicate(timeout=hw.TIMEOUT / 2)
        hw.need(one.run.returncode == -signal.SIGKILL, hw.describe(one.run.returncode))
        hw.need(need_complete(one.recording)["target"]["exit"].get("signal") == 9, "the exit")


@TESTS.test
def group_stopped(folder):
    """The whole group is stopped and let go: same result, complete"""
    with recorded(folder, WORKER) as one:
        work(one)
        os.killpg(one.run.pid, signal.SIGSTOP)
        wait_for("the stop", lambda: state(one.program) == "T" and state(one.run.pid) == "T")
        os.killpg(one.run.pid, signal.SIGCONT)
        work(one)
        finish(one)
        need_complete(one.recording)


# ---- debuggers


@TESTS.test
def gdb_attaches(folder):
    """gdb attaches to a recorded program, calls a function in it and leaves: recorded, nothing else changes"""
    gdb = hw.need_program("gdb")
    with recorded(folder, WORKER) as one:
        work(one)
        ended = hw.run([gdb, "-batch", "-nx", "-p", str(one.program), "-ex", "bt 3", "-ex", "call (void *) malloc(4321)",
                        "-ex", "detach"])
        hw.need(ended.status == 0 and "$1 = (void *)" in ended.text, f"{ended} {hw.shorten(ended.text)}")
        work(one)
        finish(one)
        need_complete(one.recording)
    sizes = hw.report(one.recording, "--view", "sizes")["sizes"]
    hw.need([s["allocations"] for s in sizes if s["size"] == 4321] == [1], "the call is not recorded")


@TESTS.test
def gdb_runs(folder):
    """gdb runs `heapwise run`, follows it into the program, stops there and goes on: same status, complete"""
    hw.need_no_sanitizer("LeakSanitizer does not work under ptrace")
    gdb = hw.need_program("gdb")
    ended = hw.run([gdb, "-batch", "-nx", "-ex", "set follow-fork-mode child", "-ex", "set breakpoint pending on", "-ex", "break exit",
                    "-ex", "run", "-ex", "bt 2", "-ex", "delete", "-ex", "continue", "--args",
                    hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", "--", ONE_BLOCK])
    hw.need(ended.status == 0 and "exited normally" in ended.text and re.search(r"Breakpoint 1(\.\d+)?, ", ended.text), f"{ended} {ended.text}")
    wait_for("the recording's end", lambda: (folder / "x.hpw").exists() and hw.report(folder / "x.hpw")["recording"]["complete"])
    hw.need(hw.report(folder / "x.hpw")["totals"]["allocations"] >= 1, "nothing was recorded")


@TESTS.test
def strace_around(folder):
    """strace -f around `heapwise run`: same output and status, complete"""
    hw.need_no_sanitizer("LeakSanitizer does not work under ptrace")
    strace = hw.need_program("strace")
    script = f'{WORK} print "$sum\\n"; my $pid = fork; exit 3 unless $pid; waitpid $pid, 0; exit $? >> 8'
    ended = hw.run([strace, "-f", "-o", folder / "trace", hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", "--", PERL, "-e", script])
    hw.need(ended.status == 3 and ended.text.encode() == SUM, f"{ended} {ended.text}")
    hw.need(need_complete(folder / "x.hpw")["totals"]["allocations"] > 20000, "not recorded")
    hw.need("heapwise-rings" in (folder / "trace").read_text(), "nothing was traced")


@TESTS.test
def strace_attaches(folder):
    """strace attaches to a recorded program and leaves: nothing changes"""
    strace = hw.need_program("strace")
    with recorded(folder, WORKER) as one:
        work(one)
        tracer = subprocess.Popen([strace, "-f", "-p", str(one.program), "-o", folder / "trace"], stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, start_new_session=True)
        try:
            line = tracer.stderr.readline()
            hw.need(b"attached" in line, f"strace says {line}")
            work(one)
        finally:
            tracer.terminate()
            tracer.communicate()
        work(one)
        finish(one)
        need_complete(one.recording)


# ---- core dumps


def cores():
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))


def core_of(folder, arguments):
    """Runs it in folder; where its core file is."""
    folder.mkdir()
    ended = hw.run(arguments, cwd=folder, preexec_fn=cores)
    hw.need(ended.status == -signal.SIGABRT, str(ended))
    found = [p for p in folder.iterdir() if p.name.startswith("core")]
    if not found:
        raise hw.Skip("no core files are written here")
    return found[0]


@TESTS.test
def core_dump(folder):
    """A recorded program dumps core: gdb opens it, its size is that of a native one, the command dumps none"""
    if Path("/proc/sys/kernel/core_pattern").read_text()[:1] in "|/" or resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        raise hw.Skip("core files go elsewhere here")
    gdb = hw.need_program("gdb")
    script = "my @kept = map { 'x' x 1000 } 1 .. 2000; kill 'ABRT', $$"
    native = core_of(folder / "native", [PERL, "-e", script])
    core = core_of(folder / "recorded", [hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", "--", PERL, "-e", script])
    hw.need(len([p for p in (folder / "recorded").iterdir()]) == 1, "the command dumped core too")
    grown = core.stat().st_size - native.stat().st_size
    hw.need(grown < 2 << 20, f"the core is {grown} bytes larger")
    blocks = (core.stat().st_blocks - native.stat().st_blocks) * 512
    hw.need(blocks < 2 << 20, f"the core takes {blocks} bytes more")
    ended = hw.run([gdb, "-batch", "-nx", "-ex", "bt 2", "-ex", "info sharedlibrary", PERL, core])
    hw.need("SIGABRT" in ended.text and "libheapwise-rt" in ended.text, f"{ended} {ended.text}")
    hw.need(need_complete(folder / "x.hpw")["target"]["exit"].get("signal") == 6, "the exit")
    return f"core: {native.stat().st_size} bytes natively, {core.stat().st_size} recorded"


if __name__ == "__main__":
    TESTS.main()
