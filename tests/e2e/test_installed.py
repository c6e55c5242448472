#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the command finds the library that it loads into programs: installed, in the build folder, moved,
by way of links and of PATH, from any folder.

Argument: meson.
"""

import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

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
