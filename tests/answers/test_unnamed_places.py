#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Code without names in another build is told apart by its module alone: what is compared says so, and gives several places no one address."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
SOURCE = hw.SOURCE / "tests/answers/programs/unnamed_places.c"
# C library and start-up code have names or not, as the machine has debug files.
OWN = "Code of prog has no names"


def recorded(folder, name, *options, words=()):
    """Of a build of its own: NAME/prog → NAME.hpw."""
    program = folder / name / "prog"
    program.parent.mkdir()
    ended = hw.run([hw.need_program("gcc"), "-O0", "-o", program, *options, SOURCE])
    hw.need(ended.status == 0, str(ended))
    path = folder / f"{name}.hpw"
    hw.need(hw.record([program, *words], path).status == 0, f"{name} is not recorded")
    return path


def compared(older, newer):
    found = json.loads(hw.ask("diff", "--json", older, newer))
    return found, [note for note in found["notes"] if note.startswith(OWN)]


def offsets(row):
    return [frame["offset"] for frame in row["stack"] if (frame["module"] or "").endswith("/prog")]


@TESTS.test
def neither(folder):
    """Two stripped builds: their places are one, of which no address is shown, and the notes say why"""
    old = recorded(folder, "old", "-s")
    for name, more in (("new", ()), ("new_without_id", ("-Wl,--build-id=none",))):
        new = recorded(folder, name, "-s", "-DNEWER", *more, words=("30",))
        found, notes = compared(old, new)
        hw.need(notes and "recording" not in notes[0] and "counts as one place" in notes[0], f"{found['notes']}")
        top = next(line for line in found["verdict"] if line.startswith("What grew most"))
        hw.need(top.startswith("What grew most: prog, +2.93 KiB"), top)
        hw.need(len(found["rows"]) == 1 and found["rows"][0]["live_bytes"]["change"] == 3000, f"{found['rows']}")
        hw.need(set(offsets(found["rows"][0])) == {None}, f"{found['rows'][0]['stack']}")
        text = hw.ask("diff", "--view", "tree", old, new)
        hw.need(OWN in text and "prog+0x" not in text, text)
        text = hw.ask("report", "--view", "never-freed", "--base", old, new)
        hw.need(OWN in text and "prog+0x" not in text, text)
        ended = hw.heapwise("budget", "--baseline", old, "--max-growth", "0", new)
        hw.need(ended.status == 1 and OWN in ended.text and "prog+0x" not in ended.text, str(ended))
        text = hw.ask("report", "--merge", old, new)
        hw.need(OWN in text and "prog+0x" not in text, text)
        text = hw.ask("diff", "--trend", old, new)
        hw.need(OWN in text and "prog+0x" not in text, text)


@TESTS.test
def one(folder):
    """Where one of two builds has names, the notes say which has none: what is gone and what is new may be the same"""
    named, bare = recorded(folder, "named"), recorded(folder, "bare", "-s", "-DNEWER")
    for pair, which in (((named, bare), "newer"), ((bare, named), "older")):
        found, notes = compared(*pair)
        hw.need(notes and f"in the {which} recording" in notes[0], f"{found['notes']}")
        hw.need({row["status"] for row in found["rows"]} == {"new", "gone"}, f"{found['rows']}")


@TESTS.test
def known(folder):
    """Where names or a build-id tell the functions apart nothing is said, and code without names has its address"""
    found, notes = compared(recorded(folder, "named"), recorded(folder, "named_newer", "-DNEWER", words=("30",)))
    hw.need(not notes and [row["stack"][0]["function"] for row in found["rows"]] == ["third"], f"{found}")
    bare = recorded(folder, "bare", "-s")
    again = folder / "again.hpw"
    hw.record([folder / "bare/prog", "30"], again)
    found, notes = compared(bare, again)
    hw.need(not notes and len(found["rows"]) == 1, f"{found['notes']} {found['rows']}")
    hw.need(all(offsets(found["rows"][0])), f"{found['rows'][0]['stack']}")
    text = hw.ask("report", "--merge", bare, again)
    hw.need(OWN not in text and "prog+0x" in text, text)


TESTS.main()
