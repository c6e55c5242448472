#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise attach` of processes in namespaces of their own, of other users, and of programs whose file is not there any more."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from attaching import IMAGE, RINGS, TARGET, attached, detach, need_let_go, need_sound, running
from processes import children
from told import of_site

TESTS = hw.Tests()
# Nobody's: processes of other tests have others.
USER = 1900000000 + os.getpid()
AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")


def as_user(folder):
    """What runs a command as that user."""
    return (*AS_USER, "env", f"XDG_STATE_HOME={folder}/state", f"XDG_CACHE_HOME={folder}/cache")


def record(target, folder, by=()):
    """Attaches to the target, which then does what is known, and is let go."""
    with attached(target, folder / "x.hpw", by=by):
        target.tell("new", 60)
        target.tell("kinds")
        target.tell("threads", 5)
        hw.need(target.tell("child") == 7, "its child was harmed")
        detach(target, by)
    need_let_go(target)
    target.tell("new", 5000)


def need_recorded(folder):
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    hw.need(of_site(report, "live_bytes", "site_new") == 60 and of_site(report, "live_bytes", "site_kinds") == 77, f"{report['sites']}")
    hw.need(of_site(report, "allocations", "one_block") == 5, f"{report['sites']}")


@TESTS.test
def namespaces(folder):
    """A process in PID, mount and user namespaces of its own, as in a container: its program is at no path there"""
    hw.need_program("unshare")
    unshare = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "--kill-child")
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        raise hw.Skip("namespaces of their own are not allowed here")
    hidden = f'exec 9<"$0"; mount -t tmpfs none {TARGET.parent} && exec /proc/self/fd/9'
    with running(folder, before=(*unshare, "sh", "-c", hidden)) as target:
        hw.need(target.pid < 100, f"it has number {target.pid} in its own namespace")
        target.pid = int(children(target.process.pid)[0])
        record(target, folder)
        need_recorded(folder)
        record(target, folder)
        target.ask("end", 0)
    need_recorded(folder)


@TESTS.test
def other_users(folder):
    """Root attaches to a process of another user, and a user to one of his own; another's is refused, and nothing is done to it"""
    if os.geteuid() or not shutil.which("setpriv"):
        raise hw.Skip("needs root, and setpriv")
    os.chmod(folder, 0o777)
    with running(folder, before=AS_USER) as target:
        hw.need(os.stat(f"/proc/{target.pid}").st_uid == USER, "it is not that user's")
        record(target, folder)
        need_recorded(folder)
        os.unlink(folder / "x.hpw")
        record(target, folder, as_user(folder))
        hw.need((folder / "x.hpw").stat().st_uid == USER, "the recording is not that user's")
        need_recorded(folder)
        target.ask("end", 0)
    with running(folder) as target:
        for command in (("attach", "--route=inject", str(target.pid), "-o", folder / "y.hpw"),
                        ("attach", "--route=inject", "--dry-run", str(target.pid)),
                        ("detach", str(target.pid))):
            result = hw.run([*as_user(folder), hw.HEAPWISE, *command])
            hw.need(result.status in (3, 4) and len(result.errors.strip().splitlines()) == 1, f"{command}: {result}")
            hw.need("root" in result.errors or "not permitted" in result.errors, f"{command}: {result}")
        hw.need(not (folder / "y.hpw").exists(), "there is a recording")
        text = Path(f"/proc/{target.pid}/maps").read_text()
        hw.need(IMAGE not in text and RINGS not in text, "something was mapped")
        hw.need(target.tell("new", 9) == 9, "it was harmed")


@TESTS.test
def yama(folder):
    """Where Yama lets a process trace its descendants alone, a user is told so"""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if not scope.exists() or scope.read_text().strip() != "1":
        raise hw.Skip("/proc/sys/kernel/yama/ptrace_scope is not 1 here")
    if os.geteuid() or not shutil.which("setpriv"):
        raise hw.Skip("needs root, and setpriv")
    os.chmod(folder, 0o777)
    with running(folder, before=AS_USER) as target:
        result = hw.run([*as_user(folder), hw.HEAPWISE, "attach", str(target.pid), "-o", folder / "x.hpw"])
        hw.need(result.status == 4 and "yama/ptrace_scope" in result.errors, f"{result}")
        hw.need(target.tell("new", 9) == 9, "it was harmed")


@TESTS.test
def file_gone(folder):
    """A program whose file was removed, or replaced by another one, as an upgrade does: it is recorded, and has no names that are
    another program's"""
    for how in ("removed", "replaced"):
        program = folder / "program"
        shutil.copy(TARGET, program)
        with running(folder, program=program) as target:
            program.unlink()
            if how == "replaced":
                shutil.copy(hw.TARGETS / "forks_in_handler", program)
            record(target, folder)
            target.ask("end", 0)
        report = hw.report(folder / "x.hpw", "--view", "sites")
        need_sound(report["recording"])
        # new, kinds and its strdup, threads
        hw.need(hw.report(folder / "x.hpw")["totals"]["allocations"] == 1 + 8 + 5, f"{how}: {hw.report(folder / 'x.hpw')['totals']}")
        frames = [frame for site in report["sites"] for frame in site["stack"] if (frame["module"] or "").startswith(str(program))]
        hw.need(frames and all(frame["module"].endswith("(deleted)") and not frame["function"] for frame in frames), f"{how}: {frames[:3]}")


if __name__ == "__main__":
    TESTS.main()
