#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that are started with LD_PRELOAD alone, as services are: recorded like those of `run`, by a collector
that the program never sees."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from sessions import PERL, environment, wait_sessions

TESTS = hw.Tests()
LIBRARY = hw.BUILD / "src/runtime/libheapwise-rt.so"
FAMILY = hw.TARGETS / "family"
ONE_BLOCK = hw.TARGETS / "one_block"
LEAF_BLOCKS, LEAF_BYTES, LEAF_STATUS = 40, 3001, 7  # as in family.c
# What waits for any child without waiting: no child is -1 and ECHILD.
NO_CHILD = "-1 10"
WAIT_ANY = 'my $p = waitpid(-1, 1); printf "%d %d", $p, $!; '


def alone(folder, *command, options=None, **more):
    env = environment(folder, LD_PRELOAD=LIBRARY, **more)
    if options is not None:
        env["HEAPWISE_OPTIONS"] = options
    ended = hw.run(command, env=env, cwd=folder)
    wait_sessions(folder)
    return ended


def only_report(folder, pattern="*.hpw"):
    found = list(folder.glob(pattern))
    hw.need(len(found) == 1, f"recordings: {found}")
    report = hw.report(found[0], "--view", "sizes")
    hw.need(report["recording"]["complete"], "incomplete")
    hw.need(report["recording"]["lost_events"] == 0, "events are lost")
    return report


@TESTS.test
def preload_alone(folder):
    """LD_PRELOAD alone records, silently, in the folder where the program started"""
    ended = alone(folder, ONE_BLOCK)
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    report = only_report(folder, "heapwise.one_block.*.hpw")
    hw.need(report["totals"]["allocations"] == 1, f"{report['totals']}")
    hw.need(str(report["target"]["pid"]) in report["recording"]["file"], report["recording"]["file"])


@TESTS.test
def children(folder):
    """The children of such a program belong to its session, however they are started"""
    for way in ("fork", "vfork", "posix_spawn", "clone", "system", "popen", "threads"):
        place = folder / way
        place.mkdir()
        ended = alone(place, FAMILY, way, options="-o x.hpw")
        hw.need(ended.status == 0 and not ended.errors, f"{way}: {ended}")
        pids = {int(line) for line in ended.text.split()}
        blocks = {}
        for path in place.glob("*.hpw"):
            hw.need(path.name.startswith("x."), f"{way}: {path.name} is of another session")
            report = hw.report(path, "--view", "sizes")
            hw.need(report["recording"]["complete"], f"{way}: {path.name} is incomplete")
            count = sum(r["allocations"] for r in report["sizes"] if r["size"] == LEAF_BYTES)
            blocks[report["target"]["pid"]] = blocks.get(report["target"]["pid"], 0) + count
        for pid in pids:
            hw.need(blocks.get(pid) == LEAF_BLOCKS, f"{way}: {pid} has {blocks.get(pid)} of {blocks}")


@TESTS.test
def no_child(folder):
    """wait(-1) of the program finds no child"""
    ended = alone(folder, PERL, "-e", WAIT_ANY)
    hw.need(ended.text == NO_CHILD and not ended.errors, f"{ended} {ended.text}")
    only_report(folder)


@TESTS.test
def subreaper(folder):
    """A subreaper does not find the collector among its children"""
    script = 'syscall(157, 36, 1, 0, 0, 0); $ENV{LD_PRELOAD} = shift; exec @ARGV'
    ended = hw.run([PERL, "-e", script, LIBRARY, PERL, "-e", WAIT_ANY + "sleep 0"],
                   env=environment(folder), cwd=folder)
    hw.need(ended.text == NO_CHILD and not ended.errors, f"{ended} {ended.text}")
    wait_sessions(folder)
    only_report(folder)


@TESTS.test
def first_process(folder):
    """The first process of a PID namespace does not find the collector among its children"""
    unshare = [hw.need_program("unshare"), "--pid", "--mount", "--fork", "--mount-proc"]
    if hw.run([*unshare, "true"]).status != 0:
        unshare.append("--map-root-user")
        if hw.run([*unshare, "true"]).status != 0:
            raise hw.Skip("no namespaces may be made here")
    ended = hw.run([*unshare, "env", f"LD_PRELOAD={LIBRARY}", "HEAPWISE_OPTIONS=-o inside.hpw", PERL, "-e",
                    'print "$$ "; ' + WAIT_ANY], env=environment(folder), cwd=folder)
    hw.need(ended.text == f"1 {NO_CHILD}" and not ended.errors, f"{ended} {ended.text}")
    report = hw.report(folder / "inside.hpw")
    hw.need(report["target"]["pid"] == 1, f"{report['target']}")


@TESTS.test
def wrong_options(folder):
    """Wrong HEAPWISE_OPTIONS: one sentence, and the program runs unrecorded"""
    for options, reason in (("--colour", "--colour"), ("-o '", "quote"), ("-o x%z", "%z"),
                            ("--mode fast", "fast"), ("word", "word"), ("-h", "-h"),
                            ("--format=pdf", "pdf"), ("--show-leak-kinds=all,many", "many")):
        ended = alone(folder, ONE_BLOCK, options=options)
        hw.need(ended.status == 0, str(ended))
        lines = ended.errors.splitlines()
        hw.need(len(lines) == 1 and "HEAPWISE_OPTIONS" in lines[0] and reason in lines[0], f"{options}: {ended}")
        hw.need(lines[0].endswith("; nothing is recorded"), f"{options}: {ended}")
        hw.need(not list(folder.glob("*.hpw")), f"{options}: recorded")
        ended = hw.run([hw.HEAPWISE, "run", ONE_BLOCK], cwd=folder,
                       env=environment(folder, HEAPWISE_OPTIONS=options))
        hw.need(ended.status == 125 and ended.errors.splitlines() == lines, f"run: {options}: {ended}")


@TESTS.test
def printed_for_shells(folder):
    """env prints what a shell evaluates, whatever quotes and blanks FILE has"""
    for name in ("x.hpw", "it's a \"$HOME\" %% \\ `x`.hpw"):
        ended = hw.run([hw.HEAPWISE, "env", "-o", name, "--children=no"])
        hw.need(ended.status == 0 and ended.text.count("\n") == 1, str(ended))
        ended = hw.run(["/bin/sh", "-c", f"{ended.text}\nexec {ONE_BLOCK}"], env=environment(folder), cwd=folder)
        hw.need(ended.status == 0 and not ended.errors, str(ended))
        wait_sessions(folder)
        hw.need(only_report(folder)["totals"]["allocations"] == 1, "not recorded")
        (folder / name.replace("%%", "%")).unlink()


@TESTS.test
def printed_for_others(folder):
    """env --format quotes as systemd units and Dockerfiles want it; what an image preloads stays, a unit's is named"""
    for format_name, wanted in (
        ("systemd", f"[Service]\n# This replaces an LD_PRELOAD of the unit: if it has one, append it after a colon.\n"
         "# The recording goes to the unit's WorkingDirectory= (/ if it has none), where its\n"
         "# user must be able to write; -o names another place.\n"
         f'Environment="LD_PRELOAD={LIBRARY}" "HEAPWISE_OPTIONS=--output=%%n$.hpw"\n'),
        ("docker", f'ENV LD_PRELOAD="{LIBRARY}${{LD_PRELOAD:+:${{LD_PRELOAD}}}}" HEAPWISE_OPTIONS="--output=%n\\$.hpw"\n'),
    ):
        ended = hw.run([hw.HEAPWISE, "env", f"--format={format_name}", "-o", "%n$.hpw"])
        hw.need(ended.text.replace("'", "") == wanted.replace("'", "") and ended.status == 0, f"{ended.text} {ended}")
    ended = hw.run([hw.HEAPWISE, "env", "--format=systemd", "-o", "/var/lib/x.hpw"])
    hw.need("WorkingDirectory" not in ended.text, ended.text)


@TESTS.test
def printed_wrong(folder):
    """env refuses what run would refuse, in the same words"""
    for options in (["--mode=fast"], ["-o", "%z"], ["--colour"], ["-o"]):
        env_says = hw.run([hw.HEAPWISE, "env", *options])
        run_says = hw.run([hw.HEAPWISE, "run", *options])
        hw.need(env_says.status == 2 and not env_says.text, str(env_says))
        if run_says.errors.startswith("heapwise: missing PROGRAM"):
            run_says = hw.run([hw.HEAPWISE, "run", *options, "true"])
        hw.need(env_says.errors.splitlines()[0] == run_says.errors.splitlines()[0], f"{env_says} {run_says}")
    ended = hw.run([hw.HEAPWISE, "env", "--format=csh"])
    hw.need(ended.status == 2 and "csh" in ended.errors, str(ended))


@TESTS.test
def options_of_run(folder):
    """HEAPWISE_OPTIONS are read by run too; its command line wins"""
    env = environment(folder, HEAPWISE_OPTIONS="-q -o 'first one.hpw'")
    for more, name in (([], "first one.hpw"), (["-o", "second.hpw"], "second.hpw")):
        ended = hw.run([hw.HEAPWISE, "run", *more, ONE_BLOCK], cwd=folder, env=env)
        hw.need(ended.status == 0 and not ended.errors, str(ended))
        hw.need((folder / name).exists(), f"no {name}")


OF_LEAKS = ("--leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --error-exitcode=44 --suppressions=none.supp "
            "--default-suppressions=no --gen-suppressions=all --num-callers=7 --leak-resolution=med --run-libc-freeres=no "
            "--format=json --json --log-file=leaks.%p --limit=5 --show-reachable=yes --show-possibly-lost=yes -s -v -q")


@TESTS.test
def leak_report_options(folder):
    """HEAPWISE_OPTIONS carry the options of the leak report too: run goes by them, LD_PRELOAD alone records with them"""
    ended = alone(folder, ONE_BLOCK, options=f"{OF_LEAKS} -o alone.hpw")
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    only_report(folder, "alone.hpw")
    hw.need(not list(folder.glob("leaks.*")), "shown by nobody")
    (folder / "none.supp").write_text("")
    leaky = [PERL, "-e", "exit 3"]
    env = environment(folder, HEAPWISE_OPTIONS=f"{OF_LEAKS} -f -o run.hpw")
    ended = hw.run([hw.HEAPWISE, "run", *leaky], cwd=folder, env=env)
    shown = list(folder.glob("leaks.*"))
    hw.need(ended.status == 44 and len(shown) == 1 and "heapwise.leaks/1" in shown[0].read_text(), f"{ended} {shown}")
    ended = hw.run([hw.HEAPWISE, "run", "--error-exitcode=45", *leaky], cwd=folder, env=env)
    hw.need(ended.status == 45, f"the command line does not win: {ended}")


@TESTS.test
def file_exists(folder):
    """A recording that is there already is kept: one sentence, and the program runs unrecorded"""
    (folder / "x.hpw").write_text("precious")
    ended = alone(folder, ONE_BLOCK, options="-o x.hpw")
    hw.need(ended.status == 0 and "x.hpw already exists" in ended.errors, str(ended))
    hw.need((folder / "x.hpw").read_text() == "precious", "overwritten")
    ended = alone(folder, ONE_BLOCK, options="-f -o x.hpw")
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    only_report(folder)


@TESTS.test
def command_itself(folder):
    """The command itself, preloaded by an exported LD_PRELOAD, records only what it is asked to"""
    hw.need_no_sanitizer("it wants to be loaded before any preload")
    ended = alone(folder, hw.HEAPWISE, "run", "-q", "-o", "x.hpw", ONE_BLOCK)
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    only_report(folder)


DAEMON = r"""
use POSIX; use Fcntl;
exit if fork; POSIX::setsid(); exit if fork;
chdir '/'; POSIX::close($_) for 0 .. 255;
my @kept = map { 'x' x 3000 } 1 .. 200;
"""


@TESTS.test
def daemon(folder):
    """A daemon that forks twice, closes every descriptor and changes its folder is recorded to its end"""
    ended = alone(folder, PERL, "-e", DAEMON, options="-o x.hpw")
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    reports = [hw.report(path) for path in folder.glob("*.hpw")]
    hw.need(len(reports) == 3, f"{len(reports)} recordings")
    for report in reports:
        hw.need(report["recording"]["complete"] and not report["recording"]["lost_events"], "not whole")
    hw.need(max(r["totals"]["allocated_bytes"] for r in reports) > 600000, "the daemon's own blocks")


@TESTS.test
def stopped_service(folder):
    """A service stopped with SIGTERM, with and without a handler, has a complete recording"""
    for number, handler in enumerate(("", "$SIG{TERM} = sub { exit 3 };")):
        name = f"x{number}.hpw"
        process = subprocess.Popen(
            [PERL, "-e", f'{handler} $| = 1; my @a = map {{ "x" x 3000 }} 1 .. 100; print "ready\\n"; sleep 1000'],
            env=environment(folder, LD_PRELOAD=LIBRARY, HEAPWISE_OPTIONS=f"-o {name}"),
            cwd=folder, stdout=subprocess.PIPE, start_new_session=True)
        process.stdout.readline()
        process.terminate()
        status = process.wait(hw.TIMEOUT)
        process.stdout.close()
        wait_sessions(folder)
        report = only_report(folder, name)
        hw.need(status == (3 if handler else -15), hw.describe(status))
        hw.need(report["totals"]["allocated_bytes"] > 300000, f"{report['totals']}")


if __name__ == "__main__":
    hw.need(os.access(LIBRARY, os.R_OK), f"{LIBRARY} is not built")
    TESTS.main(width=1)
