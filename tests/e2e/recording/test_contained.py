#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs in containers: the first process of a PID namespace takes its collector along; what the collector wants
is forbidden or not there."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from sessions import PERL, environment, wait_sessions

TESTS = hw.Tests()
LIBRARY = hw.BUILD / "src/runtime/libheapwise-rt.so"
ONE_BLOCK = hw.TARGETS / "one_block"
# As in the targets.
ENDS = {"end_exit-O2": 24, "end__exit-O2": 26, "end_quick_exit-O2": 25}
EPERM, ENOSYS = 1, 38


def namespaces(*more):
    """A command that runs what follows it in a PID and mount namespace of its own."""
    return mount_namespace("--pid", "--fork", "--mount-proc", *more)


def mount_namespace(*more):
    """A command that runs what follows it in a mount namespace of its own."""
    unshare = [hw.need_program("unshare"), "--mount", *more]
    for user in ([], ["--map-root-user"]):
        if hw.run([*unshare, *user, "true"]).status == 0:
            return [*unshare, *user]
    raise hw.Skip("no namespaces may be made here")


def preloaded(name):
    return ["env", f"LD_PRELOAD={LIBRARY}", f"HEAPWISE_OPTIONS=-o {name}"]


def complete(path):
    report = hw.report(path, "--view", "sizes")
    hw.need(report["recording"]["complete"], f"{path.name} is incomplete")
    hw.need(report["recording"]["lost_events"] == 0, "events are lost")
    return report


@TESTS.test
def recorded_from_outside(folder):
    """Processes in PID namespaces, recorded from outside, have their numbers there too: who started whom is known"""
    inner = "my $pid = fork; my @a = map { 'x' x 500 } 1 .. 50; waitpid $pid, 0 if $pid; print qq($$\n)"
    script = 'for n in 1 2; do "$@" & done; wait'
    ended = hw.record(["/bin/sh", "-c", script, "sh", *namespaces(), PERL, "-e", inner], folder / "x.hpw",
                      env=environment(folder))
    hw.need(ended.status == 0 and sorted(ended.text.split()) == ["1", "1", "2", "2"], f"{ended} {ended.text}")
    tree = hw.run([hw.HEAPWISE, "report", folder, "--json"])
    rows = json.loads(tree.text)["recordings"]
    by_number = {row["outer_pid"]: row for row in rows}
    first = [row for row in rows if row["pid"] == 1 and row["program"].startswith(PERL)]
    children = [row for row in rows if row["pid"] == 2]
    hw.need(len(first) == len(children) == 2, f"{rows}")
    for row in first:
        hw.need(row["outer_pid"] != 1 and by_number[row["outer_ppid"]]["program"].startswith(namespaces()[0]), f"{row}")
    hw.need({row["outer_ppid"] for row in children} == {row["outer_pid"] for row in first}, f"{children}")
    for row in children:
        parent = by_number[row["outer_ppid"]]
        hw.need(row["forked"] and row["depth"] == parent["depth"] + 1, f"{row}")
        found = hw.report(row["file"], "--view", "inherited")["inherited"]
        hw.need(found and found["from"] == Path(parent["file"]).name, f"{found}, not {parent['file']}")


@TESTS.test
def without_devices(folder):
    """Where there is no /dev/null the collector does its work and ends, with LD_PRELOAD alone too"""
    def started(name):
        return {"alone": preloaded(name), "run": [hw.HEAPWISE, "run", "-q", "-o", name]}

    # Collectors end in other ways in a PID namespace of their own.
    for kind, contained in (("pid", namespaces()), ("mount", mount_namespace())):
        for way in started(""):
            name = f"{way}-{kind}.hpw"
            ended = hw.run([*contained, "/bin/sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh",
                            *started(name)[way], hw.TARGETS / "end_exit-O2"], env=environment(folder), cwd=folder)
            hw.need(ended.status == 24, f"{name}: {ended}")
            wait_sessions(folder)
            report = complete(folder / name)
            hw.need(report["target"]["exit"] == {"code": 24}, f"{name}: {report['target']['exit']}")


@TESTS.test
def first_process_ends(folder):
    """The first process of a PID namespace has a complete recording, however it exits"""
    contained = namespaces()
    for target, status in ENDS.items():
        name = f"{target}.hpw"
        ended = hw.run([*contained, *preloaded(name), hw.TARGETS / target], env=environment(folder), cwd=folder)
        hw.need(ended.status == status, f"{target}: {ended}")
        report = complete(folder / name)
        hw.need(report["target"]["pid"] == 1, f"{report['target']}")
        blocks = {row["size"]: row["allocations"] for row in report["sizes"]}
        hw.need(all(blocks.get(size) for size in (35, 501, 600, 1001, 1003)), f"{target}: {blocks}")
        # Without the status as an argument, quick_exit's included, this would be "not recorded".
        hw.need(report["target"]["exit"] == {"code": status}, f"{target}: {report['target']['exit']}")


@TESTS.test
def first_process_with_many_blocks(folder):
    """The recording of a first process that ends with many live blocks, right after they came, is complete"""
    script = "my @a = map { 'x' x 3000 } 1 .. 80000; POSIX::_exit(4)"
    ended = hw.run([*namespaces(), *preloaded("x.hpw"), PERL, "-MPOSIX", "-e", script],
                   env=environment(folder), cwd=folder)
    hw.need(ended.status == 4, str(ended))
    report = complete(folder / "x.hpw")
    hw.need(report["totals"]["live_blocks_at_end"] > 80000, f"{report['totals']}")


@TESTS.test
def first_process_leaves_children(folder):
    """What the kernel kills with the first process has complete recordings too, which say so"""
    script = r"""
    pipe(my $in, my $out);
    if (!fork) { my @a = map { 'x' x 3000 } 1 .. 100; syswrite($out, 'x'); sleep 1000 }
    sysread($in, my $ready, 1);
    """
    ended = hw.run([*namespaces(), *preloaded("x.hpw"), PERL, "-e", script], env=environment(folder), cwd=folder)
    hw.need(ended.status == 0, str(ended))
    reports = [complete(path) for path in folder.glob("*.hpw")]
    hw.need(len(reports) == 2, f"{len(reports)} recordings")
    child = next(report for report in reports if report["target"]["pid"] != 1)
    hw.need(child["target"]["exit"] == {"signal": 9}, f"{child['target']['exit']}")
    hw.need(child["totals"]["live_bytes_at_end"] >= 300000, f"{child['totals']}")


@TESTS.test
def first_process_is_no_program_of_ours(folder):
    """A program is recorded completely if the first process ends, unrecorded, as soon as it does"""
    script = f"LD_PRELOAD={LIBRARY} HEAPWISE_OPTIONS='-o x.hpw' {ONE_BLOCK}; exit 5"
    ended = hw.run([*namespaces(), "/bin/sh", "-c", script], env=environment(folder), cwd=folder)
    hw.need(ended.status == 5 and not ended.errors, str(ended))
    hw.need(complete(folder / "x.hpw")["totals"]["allocations"] == 1, "not recorded")


@TESTS.test
def first_process_and_stopped_collector(folder):
    """A first process whose collector is stopped ends all the same, with its status"""
    script = """for place in /proc/[0-9]*; do
        read -r name <$place/comm && [ "$name" = heapwise-collec ] && kill -STOP ${place#/proc/} && echo stopped
    done; exit 9"""
    ended = hw.run([*namespaces(), *preloaded("x.hpw"), "/bin/sh", "-c", script], env=environment(folder), cwd=folder)
    hw.need(ended.status == 9 and ended.text == "stopped\n", f"{ended} {ended.text}")
    hw.need(not hw.report(folder / "x.hpw")["recording"]["complete"], "by whom was it completed?")


# A filter (seccomp(2)) that answers system calls with an error.
FORBID = r"""
sub forbid {
    my ($error, @calls) = @_;
    my @code = ([0x20, 0, 0, 0], (map { [0x15, $#calls - $_, $_ < $#calls ? 0 : 1, $calls[$_]] } 0 .. $#calls),
        [0x06, 0, 0, 0x50000 | $error], [0x06, 0, 0, 0x7fff0000]);
    my $code = join '', map { pack 'SCCL', @$_ } @code;
    syscall(157, 38, 1, 0, 0, 0) == 0 && syscall(157, 22, 2, pack('S x6 P', scalar @code, $code), 0, 0) == 0 or exit 99;
}
"""
MEMFD_CREATE = 319
NEW_PROCESSES = (56, 57, 58, 435)  # clone, fork, vfork, clone3


def forbidding(error, *calls):
    """A command that runs what follows it without these calls."""
    script = f"{FORBID} forbid({error}, {', '.join(map(str, calls))}); exec @ARGV"
    if hw.run([PERL, "-e", script, "true"]).status != 0:
        raise hw.Skip("no seccomp filter may be installed here")
    return [PERL, "-e", script]


def without_memfd(error):
    return forbidding(error, MEMFD_CREATE)


@TESTS.test
def forbidden_after_start(folder):
    """A program that forbids itself new processes and memfd_create once it runs is recorded to its end"""
    forbidding(EPERM, *NEW_PROCESSES)
    for error in (EPERM, ENOSYS):
        script = f"""{FORBID} forbid({error}, {MEMFD_CREATE}, {", ".join(map(str, NEW_PROCESSES))});
        my @kept = map {{ 'x' x 3000 }} 1 .. 300; my $pid = fork; print defined $pid ? 'forked' : $! + 0; exit 6"""
        for name, command, env in (
            ("alone", [], environment(folder, LD_PRELOAD=LIBRARY, HEAPWISE_OPTIONS=f"-o alone{error}.hpw")),
            ("run", [hw.HEAPWISE, "run", "-q", "-o", f"run{error}.hpw", "--"], environment(folder)),
        ):
            ended = hw.run([*command, PERL, "-e", script], env=env, cwd=folder)
            hw.need((ended.status, ended.text, ended.errors) == (6, str(error), ""), f"{name}: {ended} {ended.text}")
            wait_sessions(folder)
            hw.need(complete(folder / f"{name}{error}.hpw")["totals"]["live_blocks_at_end"] > 300, "blocks are missing")


@TESTS.test
def first_process_forbids_calls(folder):
    """The first process of a PID namespace forbids itself system calls: its recording is complete when it exits"""
    forbidding(EPERM, *NEW_PROCESSES)
    script = f"""{FORBID} forbid({EPERM}, {MEMFD_CREATE}, {", ".join(map(str, NEW_PROCESSES))});
    my @kept = map {{ 'x' x 3000 }} 1 .. 3000; exit 6"""
    ended = hw.run([*namespaces(), *preloaded("x.hpw"), PERL, "-e", script], env=environment(folder), cwd=folder)
    hw.need(ended.status == 6 and not ended.errors, str(ended))
    report = complete(folder / "x.hpw")
    hw.need(report["totals"]["peak_blocks"] > 3000, f"{report['totals']}")
    hw.need(report["target"]["exit"] == {"code": 6}, f"{report['target']['exit']}")


@TESTS.test
def forked_after_forbidding(folder):
    """What a program forks after it has forbidden itself system calls is not recorded, and its report says so"""
    forbidding(EPERM, MEMFD_CREATE)
    script = f"""{FORBID} forbid({EPERM}, {MEMFD_CREATE}); my $pid = fork; my @kept = map {{ 'x' x 3000 }} 1 .. 300;
    waitpid $pid, 0 if $pid; exit 6 if !$pid || $? >> 8 == 6"""
    ended = hw.run([*preloaded("x.hpw"), PERL, "-e", script], env=environment(folder), cwd=folder)
    hw.need(ended.status == 6 and not ended.errors, str(ended))
    wait_sessions(folder)
    hw.need([path.name for path in folder.glob("*.hpw")] == ["x.hpw"], "the child is recorded too")
    notes = complete(folder / "x.hpw")["notes"]
    hw.need(any("disabled system calls" in note and "not recorded" in note for note in notes), f"{notes}")


@TESTS.test
def collector_killed_by_filter(folder):
    """A filter kills who makes a call that the collector needs and the program does not: one sentence, and the program runs"""
    command = forbidding(EPERM, MEMFD_CREATE)
    script = command[-1].replace(f"forbid({EPERM}, {MEMFD_CREATE})", "forbid_to_death(291)").replace(FORBID, "") + ";"
    kill = FORBID.replace("sub forbid ", "sub forbid_to_death ").replace("my ($error, @calls) = @_;", "my @calls = @_;")
    kill = kill.replace("0x50000 | $error", "0x80000000")
    ended = hw.run([PERL, "-e", kill + script, *preloaded("x.hpw"), PERL, "-e", "print 'ran'; exit 6"],
                   env=environment(folder), cwd=folder)
    hw.need((ended.status, ended.text) == (6, "ran"), f"{ended} {ended.text}")
    lines = ended.errors.splitlines()
    hw.need(len(lines) == 1 and "the collector has ended without an answer; not recorded" in lines[0], str(ended))


@TESTS.test
def processes_forbidden(folder):
    """No process may be started, from the start: one sentence says that nothing is recorded, and the program runs"""
    for error in (EPERM, ENOSYS):
        ended = hw.run([*forbidding(error, *NEW_PROCESSES), *preloaded("x.hpw"), PERL, "-e", "print 'ran'; exit 6"],
                       env=environment(folder), cwd=folder)
        hw.need((ended.status, ended.text) == (6, "ran"), f"{ended} {ended.text}")
        lines = ended.errors.splitlines()
        hw.need(len(lines) == 1 and "can't start a process for the collector; not recorded" in lines[0], str(ended))
        hw.need(not list(folder.glob("*.hpw")), "recorded")


@TESTS.test
def memfd_forbidden(folder):
    """A filter forbids memfd_create: the rings are an unlinked file"""
    for error in (EPERM, ENOSYS):
        name = f"x{error}.hpw"
        ended = hw.run([*without_memfd(error), *preloaded(name), ONE_BLOCK], env=environment(folder), cwd=folder)
        hw.need(ended.status == 0 and not ended.errors, str(ended))
        wait_sessions(folder)
        hw.need(complete(folder / name)["totals"]["allocations"] == 1, "not recorded")
        ended = hw.run([*without_memfd(error), hw.HEAPWISE, "run", "-q", "-o", f"run{error}.hpw", ONE_BLOCK],
                       env=environment(folder), cwd=folder)
        hw.need(ended.status == 0 and not ended.errors, str(ended))
        complete(folder / f"run{error}.hpw")


@TESTS.test
def memfd_forbidden_and_forked(folder):
    """Without memfd_create too a forked child that allocates late is waited for"""
    script = r"""pipe(my $in, my $out); exit if fork; close $out; sysread($in, my $x, 1); my @a = map { 'x' x 3000 } 1..50;"""
    ended = hw.run([*without_memfd(EPERM), *preloaded("x.hpw"), PERL, "-e", script],
                   env=environment(folder), cwd=folder)
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    wait_sessions(folder)
    reports = [complete(path) for path in folder.glob("*.hpw")]
    hw.need(len(reports) == 2, f"{len(reports)} recordings")


def in_bare_root(folder, script):
    """A shell script in a mount namespace where nothing but the folder, as /mnt, may be written to."""
    inside = f"""mount --bind '{folder}' /mnt && cd /mnt || exit 98
for place in /dev/shm /run /var/tmp /tmp; do mount -t tmpfs -o ro none $place || exit 98; done
{script}"""
    return [*namespaces(), "/bin/sh", "-c", inside]


@TESTS.test
def nowhere_to_write(folder):
    """No place but the recording's folder: that is where the session is, and the rings without memfd_create"""
    if str(hw.BUILD).startswith(("/tmp/", "/run/", "/var/tmp/", "/mnt/")):
        raise hw.Skip("the build is in a place that is to be hidden")
    env = hw.clean_environment()
    for number, prefix in enumerate(([], without_memfd(EPERM))):
        quoted = " ".join("'" + str(word).replace("'", "'\\''") + "'" for word in
                          [*prefix, *preloaded(f"x{number}.hpw"), ONE_BLOCK])
        ended = hw.run(in_bare_root(folder, quoted + "\nexit 7"), env=env, cwd=folder)
        if ended.status == 98:
            raise hw.Skip("no file systems may be mounted here")
        hw.need(ended.status == 7 and not ended.errors, str(ended))
        hw.need(complete(folder / f"x{number}.hpw")["totals"]["allocations"] == 1, "not recorded")
    left = [path.name for path in folder.iterdir() if path.suffix != ".hpw"]
    hw.need(not left, f"left behind: {left}")


@TESTS.test
def folder_read_only(folder):
    """The recording can't be written: one sentence, and the program runs"""
    script = f"mount -o bind,ro '{folder}' '{folder}' || exit 98; cd '{folder}'; " \
             f"LD_PRELOAD={LIBRARY} {ONE_BLOCK}; exit $?"
    ended = hw.run([*namespaces(), "/bin/sh", "-c", script], env=environment(folder), cwd=folder)
    if ended.status == 98:
        raise hw.Skip("no file systems may be mounted here")
    hw.need(ended.status == 0 and len(ended.errors.splitlines()) == 1, str(ended))
    hw.need(not list(folder.glob("*.hpw")), "recorded")


if __name__ == "__main__":
    TESTS.main(width=1)
