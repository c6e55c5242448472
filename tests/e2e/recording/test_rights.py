#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Users without a home, without a name, without rights; programs with more rights than their starter."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from sessions import PERL, environment, wait_sessions

TESTS = hw.Tests()
LIBRARY = hw.BUILD / "src/runtime/libheapwise-rt.so"
ONE_BLOCK = hw.TARGETS / "one_block"
# No entry in the password file; another that the set-user-ID programs here become.
NOBODY_KNOWN, OTHER = 54321, 54322
# A library of libc's own that nothing needs, where the loader finds it for programs with raised rights too.
TRUSTED_NAME = "libBrokenLocale.so.1"
TRUSTED = Path("/lib/x86_64-linux-gnu") / TRUSTED_NAME


def as_user(uid=NOBODY_KNOWN):
    """A command that runs what follows it as that user, without any right."""
    if os.geteuid() != 0:
        raise hw.Skip("only root can become another user")
    command = [hw.need_program("setpriv"), f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    if hw.run([*command, "test", "-x", hw.HEAPWISE, "-a", "-r", LIBRARY]).status != 0:
        raise hw.Skip("the build is in a place that other users can't enter")
    return command


def open_to_all(folder):
    """The test's folder, for every user; the environment with a place for sessions of the test alone."""
    folder.chmod(0o777)
    env = environment(folder)
    (folder / "sessions").chmod(0o777)
    return env


def complete(path):
    report = hw.report(path)
    hw.need(report["recording"]["complete"] and not report["recording"]["lost_events"], f"{path.name} is not whole")
    return report


@TESTS.test
def user_without_home_and_name(folder):
    """A user without a home, a name and a place for sessions: recorded, by run and by LD_PRELOAD alone"""
    user = as_user()
    env = open_to_all(folder)
    for name in ("HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR"):
        env.pop(name, None)
    for number, home in enumerate(({}, {"HOME": "/nonexistent"}, {"HOME": "/", "XDG_RUNTIME_DIR": "/run/user/54321"})):
        ended = hw.run([*user, hw.HEAPWISE, "run", "-q", "-o", f"run{number}.hpw", ONE_BLOCK], env={**env, **home}, cwd=folder)
        hw.need(ended.status == 0 and not ended.errors, str(ended))
        script = f"LD_PRELOAD={LIBRARY} HEAPWISE_OPTIONS='-o alone{number}.hpw' {ONE_BLOCK}"
        ended = hw.run([*user, "/bin/sh", "-c", script], env={**env, **home}, cwd=folder)
        hw.need(ended.status == 0 and not ended.errors, str(ended))
        for way in ("run", "alone"):
            path = folder / f"{way}{number}.hpw"
            hw.need(path.stat().st_uid == NOBODY_KNOWN, f"{path.name} belongs to {path.stat().st_uid}")
    wait_for_all(folder)
    for path in folder.glob("*.hpw"):
        hw.need(complete(path)["totals"]["allocations"] == 1, f"{path.name} is not of the program")


def wait_for_all(folder):
    """Until each recording's collector is done: without a session folder of the test, the files tell."""
    hw.wait_until(lambda: all(hw.report(path)["recording"]["complete"] for path in folder.glob("*.hpw")),
                  "a recording is not completed")


@TESTS.test
def namespaces_without_rights(folder):
    """A container that a normal user makes (its own root): its first process is recorded, from inside and outside"""
    user = as_user()
    env = open_to_all(folder)
    unshare = [hw.need_program("unshare"), "--user", "--map-root-user", "--pid", "--mount", "--fork", "--mount-proc"]
    if hw.run([*user, *unshare, "true"]).status != 0:
        raise hw.Skip("users may make no namespaces here")
    script = "my @kept = map { 'x' x 3000 } 1 .. 300; print qq($$ $<); exit 5"
    inside = ["env", f"LD_PRELOAD={LIBRARY}", "HEAPWISE_OPTIONS=-o inside.hpw"]
    for command, name in (([*unshare, *inside], "inside.hpw"),
                          ([hw.HEAPWISE, "run", "-q", "-o", "run.hpw", "--", *unshare], "run.*.hpw"),
                          ([*unshare, hw.HEAPWISE, "run", "-q", "-o", "first.hpw", "--"], "first.hpw")):
        ended = hw.run([*user, *command, PERL, "-e", script], env=env, cwd=folder)
        hw.need(ended.status == 5 and not ended.errors, f"{name}: {ended}")
        hw.need(ended.text == ("2 0" if name.startswith("first") else "1 0"), f"{name}: {ended.text}")
        wait_sessions(folder)
        found = [complete(path) for path in folder.glob(name)]
        hw.need(found and max(report["totals"]["peak_blocks"] for report in found) > 300, f"{name}: {len(found)}")


@TESTS.test
def other_user_from_now_on(folder):
    """A program of root's that becomes another user goes on to be recorded: what it executes, and what that forks"""
    user = as_user()
    env = open_to_all(folder)
    for name, program in (("executes", [ONE_BLOCK]), ("forks", ["/bin/sh", "-c", f"{ONE_BLOCK}; {ONE_BLOCK}; exit 3"])):
        place = folder / name
        place.mkdir()
        ended = hw.run([hw.HEAPWISE, "run", "-q", "-o", place / "x.hpw", *user, *program], env=env, cwd=folder)
        hw.need(ended.status == (0 if name == "executes" else 3) and not ended.errors, f"{name}: {ended}")
        wait_sessions(folder)
        found = [hw.report(path) for path in place.glob("*.hpw")]
        blocks = [report for report in found if report["target"]["command"][0] == str(ONE_BLOCK)]
        hw.need(len(blocks) == (1 if name == "executes" else 2), f"{name}: {len(blocks)} of {len(found)} recordings")
        hw.need(all(report["recording"]["complete"] for report in found), f"{name}: incomplete")
        hw.need(all(report["totals"]["allocations"] == 1 for report in blocks), f"{name}: {blocks}")


# Of a program that is recorded: REQUEST TEXT, which must be answered with success.
ASK = """
import ctypes, os, sys
def ask(what, text=None):
    error = ctypes.CDLL(None).heapwise_rt_request(what, text and os.fsencode(text), None, 0)
    if error:
        sys.exit(f"request {what} {text}: {os.strerror(error)}")
CONFIGURE, DUMP = 4, 3
"""


def run_as_other(folder, env, *options, script):
    """Root's recording of a Python program of another user, in a folder that this one can write to."""
    ended = hw.run([hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", *options, *as_user(), sys.executable, "-c", ASK + script],
                   env=env, cwd=folder)
    hw.need(ended.status == 0 and not ended.errors, f"{ended}")
    wait_sessions(folder)


@TESTS.test
def dumps_that_others_name(folder):
    """Of another user's process, --keep removes with that user's rights what it has had written"""
    env = open_to_all(folder)
    (folder / "root").mkdir(0o755)
    precious = folder / "root" / "dump.0001"
    precious.write_text("root's")
    run_as_other(folder, env, script="""
os.mkdir("mine")
os.mkdir("further")
ask(CONFIGURE, "keep=1\\nfile=mine/dump.%i")
ask(DUMP)
os.rename("mine", "before")
os.symlink("root", "mine")
ask(CONFIGURE, "keep=1\\nfile=further/dump.%i")
ask(DUMP)
ask(DUMP)
""")
    further = folder / "further"
    hw.need((folder / "before" / "dump.0001").exists(), "the first was not written where it should be")
    hw.wait_until(lambda: len(list(further.iterdir())) == 1, "the second of three remains")
    hw.need(precious.exists() and (further / "dump.0003").exists(), f"the third, or root's file, is gone: {list(further.iterdir())}")
    hw.need((further / "dump.0003").stat().st_uid == NOBODY_KNOWN, "whose dump it is")


@TESTS.test
def dumps_where_others_are(folder):
    """What root writes by its own plan is not written where another user's process has gone to"""
    env = open_to_all(folder)
    (folder / "root").mkdir(0o755)
    run_as_other(folder, env, "--dump-file", "d.%i", script='os.chdir("root")\nask(DUMP)\nask(DUMP)\n')
    hw.need(not list((folder / "root").iterdir()), f"{list((folder / 'root').iterdir())}")
    hw.need(sorted(path.name for path in folder.glob("d.*")) == ["d.0001", "d.0002"], f"{list(folder.iterdir())}")


@TESTS.test
def strangers(folder):
    """Another user's process that knows a session of root's has itself recorded by nobody"""
    user = as_user()
    env = open_to_all(folder)
    script = '$| = 1; print "$ENV{HEAPWISE_SESSION}\n"; <STDIN>'
    with subprocess.Popen([hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", PERL, "-e", script], env=env, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as recorded:
        session = recorded.stdout.readline().strip()
        hw.need(Path(session).is_socket(), f"no session: {session!r}")
        stranger = [*user, "env", f"HEAPWISE_SESSION={session}", f"LD_PRELOAD={LIBRARY}", ONE_BLOCK]
        ended = hw.run(stranger, env=env, cwd=folder)
        hw.need(ended.status == 0, str(ended))
        recorded.communicate("\n", timeout=hw.TIMEOUT)
    wait_sessions(folder)
    names = [path.name for path in folder.glob("x*.hpw")]
    hw.need(names == ["x.hpw"], f"{names}")


def with_capability(path):
    """cap_net_bind_service=ep, as setcap(8) writes it (linux/capability.h: vfs_cap_data)."""
    bind_service = 1 << 10
    data = b"".join(n.to_bytes(4, "little") for n in (0x02000001, bind_service, 0, 0, 0))
    try:
        os.setxattr(path, "security.capability", data)
    except OSError as error:
        raise hw.Skip(f"no file capabilities here: {error}") from None


def privileged(folder):
    """Programs with more rights than who starts them: {name: program}."""
    found = {}
    for name in ("capabilities", "set_user_id"):
        found[name] = folder / name
        shutil.copy(ONE_BLOCK, found[name])
        found[name].chmod(0o755)
    with_capability(found["capabilities"])
    os.chown(found["set_user_id"], OTHER, OTHER)
    found["set_user_id"].chmod(0o4755)
    if os.statvfs(folder).f_flag & os.ST_NOSUID:
        raise hw.Skip("programs get no rights in this folder (nosuid)")
    return found


@TESTS.test
def more_rights(folder):
    """A program with more rights than its starter is not touched: refused by run, ignored by the loader, child or not"""
    user = as_user()
    env = open_to_all(folder)
    for name, program in privileged(folder).items():
        ended = hw.run([*user, hw.HEAPWISE, "run", "-o", f"{name}.hpw", program], env=env, cwd=folder)
        hw.need(ended.status == 125 and "can't be recorded" in ended.errors, f"{name}: {ended}")
        ended = hw.run([*user, "/bin/sh", "-c", f"LD_PRELOAD={LIBRARY} {program}"], env=env, cwd=folder)
        hw.need(ended.status == 0 and not ended.errors, f"{name}: {ended}")
        ended = hw.run([*user, hw.HEAPWISE, "run", "-o", f"child-{name}.hpw", "/bin/sh", "-c", f"{program}; exit 4"],
                       env=env, cwd=folder)
        hw.need(ended.status == 4, f"{name}: {ended}")
        recordings = [path.name for path in folder.glob("*.hpw")]
        hw.need(recordings == [f"child-{name}.hpw"], f"{recordings}")
        complete(folder / recordings[0])
        (folder / recordings[0]).unlink()


@TESTS.test
def more_rights_and_trusted_library(folder):
    """Loaded into a program with more rights all the same (a trusted library): it stays away from what its starter says"""
    user = as_user()
    env = open_to_all(folder)
    program = privileged(folder)["set_user_id"]
    if not TRUSTED.exists():
        raise hw.Skip(f"no {TRUSTED}")
    library = folder / TRUSTED_NAME
    shutil.copy(LIBRARY, library)
    library.chmod(0o4755)
    trap = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    trap.bind(str(folder / "trap"))
    trap.listen()
    trap.setblocking(False)
    (folder / "trap").chmod(0o777)
    script = f"mount --bind {library} {TRUSTED} || exit 98; exec \"$@\""
    for session in ({}, {"HEAPWISE_SESSION": str(folder / "trap")}):
        words = [f"{name}={value}" for name, value in session.items()]
        ended = hw.run([hw.need_program("unshare"), "--mount", "/bin/sh", "-c", script, "sh", *user,
                        "env", f"LD_PRELOAD={TRUSTED_NAME}", *words, program], env=env, cwd=folder)
        if ended.status == 98:
            raise hw.Skip("no file systems may be mounted here")
        hw.need(ended.status == 0 and not list(folder.glob("*.hpw")), str(ended))
        lines = ended.errors.splitlines()
        hw.need(len(lines) == 1 and "other rights than who started it; not recorded" in lines[0], str(ended))
        try:
            trap.accept()
            hw.need(False, "it has called its starter's collector")
        except BlockingIOError:
            pass
    trap.close()


if __name__ == "__main__":
    TESTS.main(width=1)
