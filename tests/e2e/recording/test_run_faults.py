#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise run` when something goes wrong around it: programs that do not start, limits, full disks, processes
of ours that are stopped or killed. The program is never disturbed, and what is said is true."""

import os
import re
import resource
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import state
from recorded import recorded
from sessions import environment, wait_sessions

TESTS = hw.Tests()
PERL = "/usr/bin/perl"
ONE_BLOCK = hw.TARGETS / "one_block"
STATIC = hw.TARGETS / "refused_static"


def heapwise_run(*arguments, **more):
    return hw.run([hw.HEAPWISE, "run", *arguments], **more)


def executable(path, content):
    path.write_bytes(content)
    path.chmod(0o755)
    return path


# ---- the file


@TESTS.test
def kept_until_started(folder):
    """With -f the old recording stays as it is when the program cannot be executed"""
    path = folder / "x.hpw"
    path.write_text("precious")
    broken = executable(folder / "broken", b"#!/bin/sh\r\necho it ran\n")
    ended = heapwise_run("-f", "-o", path, "--", broken)
    hw.need(ended.status == 127 and not ended.text, str(ended))
    hw.need(path.read_text() == "precious", "the old recording was touched")
    hw.need(sorted(p.name for p in folder.iterdir()) == ["broken", "x.hpw"], "a file is left")
    ended = heapwise_run("-f", "-o", path, "--", ONE_BLOCK)
    hw.need(ended.status == 0, str(ended))
    hw.need(hw.report(path)["totals"]["allocations"] == 1, "not replaced")
    hw.need(path.stat().st_mode & 0o777 == 0o600, f"mode {path.stat().st_mode:o}")
    hw.need(sorted(p.name for p in folder.iterdir()) == ["broken", "x.hpw"], "a file is left")


@TESTS.test
def not_regular(folder):
    """A FILE that is a device, a FIFO or a folder is refused with a reason, with -f and without"""
    os.mkfifo(folder / "fifo")
    reader = os.open(folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    (folder / "folder").mkdir()
    for path in ("/dev/null", folder / "fifo", folder / "folder"):
        for options in ((), ("-f",)):
            ended = heapwise_run(*options, "-o", path, "--", "/bin/echo", "it ran")
            hw.need(ended.status == 125 and not ended.text, f"{path} {options}: {ended}")
            hw.need("not a regular file" in ended.errors, f"{path} {options}: {ended}")
            hw.need(len(ended.errors.splitlines()) == 1, f"{path} {options}: {ended}")
    hw.need(Path("/dev/null").is_char_device() and (folder / "fifo").is_fifo(), "they are gone")
    hw.need(os.read(reader, 1) == b"", "written into the FIFO")
    os.close(reader)


# ---- programs


@TESTS.test
def junk_behind_magic(folder):
    """Junk behind the ELF magic is said to be no valid ELF program, with 126"""
    for number, junk in enumerate((b"", b"\x01\x01\x01", b"junk" * 30, b"\x02\x01\x01" + bytes(80))):
        path = executable(folder / f"junk{number}", b"\x7fELF" + junk)
        ended = heapwise_run("-o", folder / "x.hpw", "--", path)
        hw.need(ended.status == 126, f"{junk[:8]}: {ended}")
        hw.need("not a valid ELF program" in ended.errors, f"{junk[:8]}: {ended}")


@TESTS.test
def script_without_interpreter(folder):
    """A script without #! is run by /bin/sh, with its arguments, as execvp does"""
    path = executable(folder / "script", b'echo "$0|$1|$2|$#"\nexit 5\n')
    native = hw.run(["/usr/bin/env", path, "a b", ""])
    ended = hw.record([path, "a b", ""], folder / "x.hpw")
    hw.need(native.text == f"{path}|a b||2\n", f"natively: {native.text}")
    hw.need((ended.text, ended.status) == (native.text, 5), f"{ended.text!r} {ended}")
    hw.need(hw.report(folder / "x.hpw")["target"]["exit"].get("code") == 5, "not recorded")
    empty = executable(folder / "empty", b"")
    ended = hw.record([empty], folder / "y.hpw")
    hw.need(ended.status == 0, str(ended))


# ---- what it says


@TESTS.test
def one_of_each(folder):
    """One event, one allocation, one block: no plural"""
    ended = heapwise_run("-o", folder / "x.hpw", "--", ONE_BLOCK)
    for words in ("1 event ", "1 allocation ", "in 1 block was never freed"):
        hw.need(words in ended.errors, f"no {words!r}: {ended}")
    hw.need(not re.search(r"\b1 (events|allocations|blocks|recordings|processes)", ended.errors), str(ended))


def images(folder, count):
    """The recordings of a shell that execs one_block, which is the count-th image."""
    script = "exec " + "sh -c 'exec \"$@\"' sh " * (count - 2) + '"$0"'
    return heapwise_run("-o", folder / "x.hpw", "--", "/bin/sh", "-c", script, ONE_BLOCK)


@TESTS.test
def images_named(folder):
    """After exec each image has its recording; the figures of each are told with its own name"""
    ended = images(folder, 3)
    hw.need(ended.status == 0, str(ended))
    found = sorted(folder.iterdir())
    hw.need(len(found) == 3, f"{[p.name for p in found]}")
    kinds = []
    for path in found:
        report = hw.report(path)
        kinds.append(report["target"]["exit"].get("code"))
        count = report["totals"]["allocations"]
        line = next((l for l in ended.errors.splitlines() if f"{path}: " in l), "")
        hw.need(f" {count:,} allocation" in line, f"{path.name} has {count}: {line!r}")
        hw.need(report["recording"]["complete"], f"{path.name} is incomplete")
    hw.need(sorted(map(str, kinds)) == ["0", "None", "None"], f"exits are {kinds}")
    hw.need("3 recordings of 1 process:" in ended.errors, str(ended))
    last = ended.errors.splitlines()[-1]
    most = max(found, key=lambda p: hw.report(p)["totals"]["allocations"])
    hw.need(f"heapwise report {most} " in last, last)


# ---- limits

LIMITS = """
my $limits = `cat /proc/$$/limits`;
for my $name ('file size', 'cpu time', 'open files', 'address space', 'data size') {
	print "$1\\n" if $limits =~ /^(Max $name\\s+\\S+\\s+\\S+)/m;
}
open my $file, '>', $ARGV[0] or die; my @kept = map { "x" x 1000 } 1 .. 3000; close $file;
"""


@TESTS.test
def soft_limits(folder):
    """Soft limits of file size, files and processor time are the program's, not the collector's"""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_NOFILE, (7, 256))
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (600, hard))

    command = [PERL, "-e", LIMITS, folder / "output"]
    native = hw.run(command, preexec_fn=limit)
    ended = heapwise_run("-o", folder / "x.hpw", "--", *command, preexec_fn=limit)
    hw.need(native.status == 0 and native.text.count("\n") == 5, f"{native} {native.text}")
    hw.need((ended.status, ended.text) == (0, native.text), f"{ended} {ended.text}")
    report = hw.report(folder / "x.hpw")
    hw.need(report["recording"]["complete"], "the recording is incomplete")
    hw.need((folder / "x.hpw").stat().st_size > 4096, "nothing is in it")


@TESTS.test
def hard_file_size(folder):
    """A hard limit of file sizes that leaves no room for the rings: works, or is refused and says why"""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    ended = heapwise_run("-o", folder / "x.hpw", "--", "/bin/echo", "it ran", preexec_fn=limit)
    if ended.status == 0:  # whoever may raise hard limits
        hw.need(hw.report(folder / "x.hpw")["recording"]["complete"], "incomplete")
        return
    hw.need(ended.status == 125 and not ended.text, str(ended))
    hw.need("ulimit" in ended.errors and "1024 KiB" in ended.errors, str(ended))
    hw.need(not list(folder.iterdir()), "a file is left")


@TESTS.test
def hard_address_space(folder):
    """A hard limit of address space that leaves the collector no room: the program runs, no file is left, it is said"""
    hw.need_no_sanitizer("little address space")
    library = hw.BUILD / "src/runtime/libheapwise-rt.so"
    bound = ["setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource"]
    if hw.run([*bound, "true"]).status:
        bound = []  # who may not drop the right does not have it

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (150 << 20, 150 << 20))

    env = environment(folder, LD_PRELOAD=library, HEAPWISE_OPTIONS="-o alone.hpw")
    for ended in (hw.run([*bound, hw.HEAPWISE, "run", "-o", folder / "x.hpw", "--", "/bin/echo", "it ran"], preexec_fn=limit),
                  hw.run([*bound, "env", *[f"{k}={env[k]}" for k in ("LD_PRELOAD", "HEAPWISE_OPTIONS")], "/bin/echo", "it ran"],
                         cwd=folder, preexec_fn=limit)):
        hw.need((ended.status, ended.text) == (0, "it ran\n"), str(ended))
        hw.need("no room to record" in ended.errors and "150 MiB" in ended.errors and "ulimit -S -v" in ended.errors, str(ended))
        wait_sessions(folder)
        hw.need(not list(folder.glob("**/*.hpw")), "a file is left")
    ended = hw.run([*bound, hw.HEAPWISE, "doctor"], preexec_fn=limit)
    hw.need(ended.status == 1 and "nothing can be recorded" in ended.text and "150 MiB" in ended.text, ended.text)


@TESTS.test
def disk_full(folder):
    """A full disk: the program's status is its own, what is lost is said, the rest can be read"""
    script = f"""
    mount -t tmpfs -o size=8k none "$1" || exit 99
    shift
    "$@"
    status=$?
    cp full/x.hpw kept.hpw
    exit $status
    """
    (folder / "full").mkdir()
    perl = 'my @a = map { "x" x $_ } 1 .. 30000; exit 7'
    ended = hw.run(
        ["unshare", "-m", "/bin/sh", "-c", script, "sh", "full", hw.HEAPWISE, "run", "-o",
         "full/x.hpw", "--", PERL, "-e", perl],
        cwd=folder,
    )
    if ended.status in (1, 99) and not (folder / "kept.hpw").exists():
        raise hw.Skip("no mounting here")
    hw.need(ended.status == 7, str(ended))
    hw.need("No space left on device" in ended.errors, str(ended))
    hw.need("to see the report" not in ended.errors and "the file is not" in ended.errors, str(ended))
    report = hw.report(folder / "kept.hpw")
    hw.need(not report["recording"]["complete"], "taken for complete")


# ---- our own processes, stopped and killed


def stop_collector(one):
    os.kill(one.collector, signal.SIGSTOP)
    hw.wait_until(lambda: state(one.collector) == "T", "the collector does not stop")


@TESTS.test
def collector_stopped(folder):
    """A collector that is stopped does not keep run from ending, which says so; let go, it completes"""
    with recorded(folder) as one:
        hw.need(len(one.sessions()) == 1, f"sessions: {one.sessions()}")
        stop_collector(one)
        _, errors = one.run.communicate(b"\n", timeout=hw.TIMEOUT / 2)
        hw.need(one.run.returncode == 9, hw.describe(one.run.returncode))
        hw.need(b"the collector is stopped" in errors, errors.decode())
        os.kill(one.collector, signal.SIGCONT)
        one.wait(one.collector_end, "the collector")
        report = hw.report(one.recording)
        hw.need(report["recording"]["complete"], "incomplete")
        hw.need(report["target"]["exit"].get("code") == 9, f"{report['target']['exit']}")
        hw.need(not one.sessions(), f"left: {one.sessions()}")


STARTS_ANOTHER = """
$| = 1; print "$$\\n"; <STDIN>;
open my $child, '-|', "PROGRAM" and close $child; print "started\\n"; <STDIN>; exit 9
"""


def start_asleep(one):
    """Lets it start another program while the collector is stopped, which then goes on."""
    stop_collector(one)
    one.run.stdin.write(b"\n")
    one.run.stdin.flush()
    line = one.run.stdout.readline()
    hw.need(line == b"started\n", f"the program says {line}")
    os.kill(one.collector, signal.SIGCONT)


def start_another_asleep(one):
    """As start_asleep(), and lets it end; what `run` says of that."""
    start_asleep(one)
    _, errors = one.run.communicate(b"\n", timeout=hw.TIMEOUT / 2)
    hw.need(one.run.returncode == 9, hw.describe(one.run.returncode))
    one.wait(one.collector_end, "the collector")
    return errors


@TESTS.test
def collector_asleep(folder):
    """A process started while the collector is stopped runs unrecorded, which is said; no empty recording"""
    with recorded(folder, STARTS_ANOTHER.replace("PROGRAM", str(ONE_BLOCK))) as one:
        errors = start_another_asleep(one)
        # The fork of the program, which became the other: one process.
        hw.need(b"1 other process that it started was not recorded" in errors, errors.decode())
        for path in folder.glob("*.hpw"):
            report = hw.report(path)
            hw.need(report["recording"]["complete"], f"{path.name} is incomplete")
            hw.need(not report["recording"]["not_attached"], f"{path.name} is empty")


BURST = 40
FORKS_MANY = f"""
$| = 1; print "$$\\n"; <STDIN>;
for (1 .. {BURST}) {{ fork or do {{ my @blocks = map {{ "x" x 5000 }} 1 .. 20; require POSIX; POSIX::_exit(0) }} }}
1 while wait > 0; print "started\\n"; <STDIN>; exit 9
"""


@TESTS.test
def collector_asleep_burst(folder):
    """Children that are forked while the collector is stopped, and end before it goes on: each of them is counted"""
    with recorded(folder, FORKS_MANY) as one:
        errors = start_another_asleep(one).decode()
        hw.need(f"{BURST} other processes that it started were not recorded: {BURST} × perl (" in errors, errors)
        hw.need("came too late" in errors, errors)
        hw.need([path.name for path in folder.glob("*.hpw")] == ["x.hpw"], "a child has a recording")
        report = hw.report(one.recording)["recording"]
        hw.need(report["children_unrecorded"] == BURST, f"{report['children_unrecorded']} in the report")
        groups = [(g["reason"], g["itself"], g["count"]) for g in report["unrecorded"]]
        hw.need(groups == [("late", False, BURST)], f"{groups}")


BECOMES_ANOTHER = f"""
$| = 1; print "$$\\n"; <STDIN>;
exec "{PERL}", "-e", '$| = 1; print "started\\n"; <STDIN>; exit 9'
"""


@TESTS.test
def collector_asleep_exec(folder):
    """A program that becomes another one while the collector is stopped: what it was is complete, what it is is counted"""
    with recorded(folder, BECOMES_ANOTHER) as one:
        start_asleep(one)
        hw.wait_until(lambda: hw.report(one.recording)["recording"]["complete"], "the first image's recording is open")
        _, errors = one.run.communicate(b"\n", timeout=hw.TIMEOUT / 2)
        hw.need(one.run.returncode == 9, hw.describe(one.run.returncode))
        hw.need(b"perl (the collector's answer came too late)" in errors, errors.decode())
        text = hw.run([hw.HEAPWISE, "report", one.recording]).text
        hw.need("executed another program (exec)" in text, text)


@TESTS.test
def collector_asleep_static(folder):
    """A static program started while the collector is stopped is listed when that goes on, once"""
    with recorded(folder, STARTS_ANOTHER.replace("PROGRAM", str(STATIC))) as one:
        errors = start_another_asleep(one)
        hw.need(b"1 other process that it started was not recorded: refused_static (static)" in errors, errors.decode())
        groups = hw.report(one.recording)["recording"]["unrecorded"]
        hw.need([(g["program"], g["reason"], g["count"]) for g in groups] == [(str(STATIC), "static", 1)], f"{groups}")


@TESTS.test
def collector_killed(folder):
    """A killed collector: the program goes on, run ends like it, says so and cleans up"""
    with recorded(folder) as one:
        os.kill(one.collector, signal.SIGKILL)
        _, errors = one.run.communicate(b"\n", timeout=hw.TIMEOUT / 2)
        hw.need(one.run.returncode == 9, hw.describe(one.run.returncode))
        hw.need(b"the collector was killed" in errors, errors.decode())
        hw.need(not one.sessions(), f"left: {one.sessions()}")


@TESTS.test
def run_killed(folder):
    """When run alone is killed the collector completes the recording and cleans up"""
    with recorded(folder) as one:
        one.run.kill()
        one.run.wait()
        hw.need(len(one.sessions()) == 1, f"sessions: {one.sessions()}")
        one.run.stdin.write(b"\n")
        one.run.stdin.flush()
        one.wait(one.program_end, "the program")
        one.wait(one.collector_end, "the collector")
        hw.need(hw.report(one.recording)["recording"]["complete"], "incomplete")
        hw.need(not one.sessions(), f"left: {one.sessions()}")


@TESTS.test
def both_killed(folder):
    """When both are killed the next run cleans up, and leaves living sessions and others' folders alone"""
    (folder / "session").mkdir()
    (folder / "session/heapwise.others").mkdir()
    (folder / "session/heapwise.others/file").write_text("x")
    with recorded(folder) as living:
        before = living.sessions()
        (folder / "dead").mkdir()
        dead_folder = folder / "dead"
        dead_folder.joinpath("session").symlink_to(folder / "session")
        with recorded(dead_folder) as dead:
            hw.need(len(dead.sessions()) == 3, f"sessions: {dead.sessions()}")
            os.kill(dead.collector, signal.SIGKILL)
            dead.run.kill()
            dead.run.wait()
            dead.wait(dead.collector_end, "the collector")
            hw.need(len(dead.sessions()) == 3, "somebody else cleaned up")
            ended = heapwise_run("-q", "-o", folder / "y.hpw", "--", ONE_BLOCK, env=living.environment)
            hw.need(ended.status == 0, str(ended))
            hw.need(sorted(dead.sessions()) == sorted(before), f"left: {dead.sessions()}")
        living.run.communicate(b"\n", timeout=hw.TIMEOUT / 2)
        hw.need(hw.report(living.recording)["recording"]["complete"], "the living one was hurt")
        hw.need(living.sessions() == ["heapwise.others"], f"left: {living.sessions()}")


if __name__ == "__main__":
    TESTS.main()
