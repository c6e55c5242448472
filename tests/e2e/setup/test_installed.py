#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the command finds the library that it loads into programs: installed, in the build folder, moved,
by way of links and of PATH, from any folder.

Argument: meson.
"""

import os
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from sessions import environment, wait_sessions

MESON = sys.argv.pop(1)
TESTS = hw.Tests()


def install(folder):
    """The installed command, below the folder."""
    root = folder / "root"
    ended = hw.run([MESON, "install", "-C", hw.BUILD, "--no-rebuild", "--destdir", root])
    hw.need(ended.status == 0, f"{ended}; {hw.shorten(ended.text)}")
    found = list(root.rglob("bin/heapwise"))
    hw.need(len(found) == 1, f"installed: {found}")
    return found[0]


def need_recording(command, folder, **more):
    """The command, started somewhere else, sees what a program allocates."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    recording = folder / "x.hpw"
    recording.unlink(missing_ok=True)
    ended = hw.run([command, "run", "-q", "-o", recording, "--", "ls", "/"], cwd=elsewhere, **more)
    hw.need(ended.status == 0 and not ended.stderr, f"{command}: {ended}")
    hw.need(hw.report(recording)["totals"]["allocations"] > 0, f"{command}: nothing was seen")


@TESTS.test
def installed(folder):
    """The installed command finds its library, and again when all of it was moved"""
    command = install(folder)
    need_recording(command, folder)
    (folder / "root").rename(folder / "moved")
    need_recording(folder / "moved" / command.relative_to(folder / "root"), folder)


@TESTS.test
def preloaded(folder):
    """The installed library, preloaded alone, finds its command, through a link as well"""
    library = next(install(folder).parents[1].rglob("libheapwise-rt.so"))
    link = folder / "link.so"
    link.symlink_to(library)
    for number, path in enumerate((library, link)):
        place = folder / str(number)
        place.mkdir()
        ended = hw.run(["ls", "/"], cwd=place,
                       env=environment(place, LD_PRELOAD=path, HEAPWISE_OPTIONS="-o x.hpw"))
        hw.need(ended.status == 0 and not ended.stderr, str(ended))
        wait_sessions(place)
        hw.need(hw.report(place / "x.hpw")["totals"]["allocations"] > 0, "nothing was seen")


@TESTS.test
def library_alone(folder):
    """A copy of the library without its command says so, and the program runs"""
    library = folder / "lib/heapwise/libheapwise-rt.so"
    library.parent.mkdir(parents=True)
    shutil.copy2(hw.BUILD / "src/runtime/libheapwise-rt.so", library)
    ended = hw.run(["echo", "ran"], cwd=folder, env=hw.clean_environment(LD_PRELOAD=library))
    hw.need(ended.status == 0 and ended.text == "ran\n", str(ended))
    hw.need(ended.errors.count("\n") == 1 and "not recorded" in ended.errors, str(ended))


@TESTS.test
def links(folder):
    """Through links to links, also by PATH, the command finds its library"""
    for name, command in (("installed", install(folder)), ("built", hw.HEAPWISE)):
        place = folder / name
        (place / "bin").mkdir(parents=True)
        (place / "one").symlink_to(command)
        (place / "bin/two").symlink_to("../one")
        need_recording(place / "bin/two", folder)
        path = f"{place / 'bin'}:{os.environ['PATH']}"
        ended = hw.run(["sh", "-c", "two run -q -o by-path.hpw ls /"], cwd=place,
                       env=hw.clean_environment(PATH=path))
        hw.need(ended.status == 0 and not ended.stderr, f"by PATH: {ended}")
        hw.need(hw.report(place / "by-path.hpw")["totals"]["allocations"] > 0, "nothing was seen")


BLANKS = "a folder: with  blanks"
# Users that no system has; OTHER finds a stranger's folder in the place of its own.
USER, OTHER = 54321, 54323


def as_user(uid):
    return [hw.need_program("setpriv"), f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def links_of(uid):
    return [path for place in ("/tmp", "/var/tmp", "/dev/shm", "/run") for path in Path(place).glob(f"heapwise-{uid}*")]


def below_blanks(folder):
    """The installed command below a folder with blanks and a colon, for every user."""
    folder.chmod(0o777)
    place = folder / BLANKS
    command = install(place)
    ended = hw.run(["chmod", "-R", "a+rX", place])
    hw.need(ended.status == 0, str(ended))
    return command


def need_family(command, folder, *, user=(), target_user=()):
    """The command, as some user, records a program, its children, also those with an environment of their own."""
    place = folder / "recordings"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    place.chmod(0o777)
    env = environment(folder)
    (folder / "sessions").chmod(0o777)
    script = "ls / >/dev/null; env -i ls / >/dev/null; setsid ls / >/dev/null; exit 3"
    ended = hw.run([*user, command, "run", "-q", "--all-processes", "-o", place / "x.hpw", "--", *target_user,
                    "/bin/sh", "-c", script], cwd=place, env=env)
    hw.need(ended.status == 3 and not ended.stderr, f"{command}: {ended}")
    wait_sessions(folder)
    seen = [hw.report(path) for path in place.glob("*.hpw")]
    names = [Path(report["target"]["command"][0]).name for report in seen if report["totals"]["allocations"] > 0]
    hw.need(names.count("ls") == 3 and "sh" in names, f"{command}: recorded: {names}")


@TESTS.test
def blanks(folder):
    """Below a folder with blanks and a colon: recorded with its children, directly and through a link"""
    command = below_blanks(folder)
    need_family(command, folder)
    (folder / "link").symlink_to(command)
    need_family(folder / "link", folder)
    ended = hw.run([command, "doctor"])
    hw.need("runtime library: /" in ended.text and f"/heapwise-{os.geteuid()}" in ended.text, ended.text)


@TESTS.test
def dollars(folder):
    """Below a folder whose name the loader would replace: as below one with blanks"""
    command = install(folder / "of-$LIB")
    need_family(command, folder)
    ended = hw.run([command, "doctor"])
    hw.need(f"/heapwise-{os.geteuid()}" in ended.text, ended.text)


@TESTS.test
def blanks_and_users(folder):
    """There a user without rights records, and root what becomes another user"""
    if os.geteuid() != 0:
        raise hw.Skip("only root can become another user")
    command = below_blanks(folder)
    need_family(command, folder, user=as_user(USER))
    need_family(command, folder, target_user=as_user(USER))


@TESTS.test
def blanks_and_strangers(folder):
    """Where the folder for the link is somebody else's another is made; links that lead nowhere go"""
    if os.geteuid() != 0:
        raise hw.Skip("only root can become another user")
    command = below_blanks(folder)
    squatted = Path(f"/tmp/heapwise-{OTHER}")
    for path in links_of(OTHER):
        shutil.rmtree(path)
    try:
        squatted.mkdir()
        squatted.chmod(0o777)
        need_family(command, folder, user=as_user(OTHER))
        hw.need(not list(squatted.iterdir()), "the link is in a folder of somebody else")
        made = Path(f"/tmp/heapwise-{OTHER}-1")
        first = list(made.iterdir())
        hw.need(len(first) == 1, f"{made}: {first}")
        (folder / BLANKS).rename(folder / "moved elsewhere")
        need_family(folder / "moved elsewhere" / command.relative_to(folder / BLANKS), folder, user=as_user(OTHER))
        second = list(made.iterdir())
        hw.need(len(second) == 1 and second != first, f"{first} and then {second}")
    finally:
        for path in links_of(OTHER):
            shutil.rmtree(path)


@TESTS.test
def blanks_and_owners(folder):
    """A link is in no folder whose owner is somebody else, who could put another one in its place"""
    if os.geteuid() != 0 or hw.run(["unshare", "-m", "true"]).status:
        raise hw.Skip("mount namespaces can't be made here")
    command = below_blanks(folder)
    script = ('mount --bind "$1" /mnt && mount -t tmpfs -o "uid=$2,mode=755" none /tmp && '
              'exec "/mnt/$3" env -o /mnt/x.hpw')
    for owner, place in ((0, "/tmp/"), (OTHER, "/var/tmp/")):
        ended = hw.run(["unshare", "-m", "sh", "-c", script, "sh", folder, str(owner), command.relative_to(folder)])
        named = re.search("LD_PRELOAD=([^$]*)[$]", ended.text)
        hw.need(ended.status == 0 and named and named[1].startswith(place), f"{owner}: {ended}")


@TESTS.test
def blanks_and_env(folder):
    """What `env` prints there records too, and it says what the link is"""
    command = below_blanks(folder)
    ended = hw.run([command, "env", "-o", folder / "x.hpw"])
    hw.need(ended.status == 0 and "blanks" in ended.errors, str(ended))
    named = re.search("LD_PRELOAD=([^$]*)[$]", ended.text)
    hw.need(named and " " not in named[1] and os.path.exists(named[1]), ended.text)
    ended = hw.run(["sh", "-c", f"{ended.text}exec ls /"], env=environment(folder))
    hw.need(ended.status == 0 and not ended.stderr, str(ended))
    wait_sessions(folder)
    hw.need(hw.report(folder / "x.hpw")["totals"]["allocations"] > 0, "nothing was seen")


@TESTS.test
def alone(folder):
    """A copy of the command without its library says so and does not start the program"""
    command = folder / "bin/heapwise"
    command.parent.mkdir()
    shutil.copy2(hw.HEAPWISE, command)
    ended = hw.run([command, "run", "-o", folder / "x.hpw", "--", "touch", folder / "it-ran"])
    hw.need(ended.status == 125 and "libheapwise-rt.so" in ended.errors, str(ended))
    hw.need(not (folder / "it-ran").exists(), "the program was started")


if __name__ == "__main__":
    TESTS.main(width=1)  # meson has one log of installations
