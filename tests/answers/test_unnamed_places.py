#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Code without names, without build-ids, or with few debug information: what is told apart by too little says so, and gives several places no one address."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
SOURCE = hw.SOURCE / "tests/answers/programs/leaks/unnamed_places.c"
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
        hw.need(notes and "recording" not in notes[0] and "count as one allocation site" in notes[0], f"{found['notes']}")
        top = next(line for line in found["verdict"] if line.startswith("Largest growth"))
        hw.need(top.startswith("Largest growth: prog, +2.93 KiB"), top)
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


@TESTS.test
def lines_alone(folder):
    """Functions in debug information of lines alone (-g1), which has no scopes, are called as with all of it"""
    source = folder / "scopes.cc"
    source.write_text("""#include <stdlib.h>
void *volatile kept;
namespace {
__attribute__((noinline)) void hidden(int n) { while (n--) kept = malloc(100); }
}
static __attribute__((noinline)) void bare(int n) { while (n--) kept = malloc(200); }
int main()
{
	auto inner = [](int n) __attribute__((noinline)) { while (n--) kept = malloc(300); };
	hidden(3);
	bare(4);
	inner(5);
}
""", encoding="utf-8")
    paths = []
    for name, words in (("whole", ("-g",)), ("lines", ("-g1",))):
        program = folder / name / "prog"
        program.parent.mkdir()
        made = hw.run([hw.need_program("g++"), "-O2", *words, "-o", program, source])
        hw.need(made.status == 0, str(made))
        paths.append(folder / f"{name}.hpw")
        hw.need(hw.record([program], paths[-1]).status == 0, name)
        sites = hw.report(paths[-1], "--view", "sites", "--focus", "main")["sites"]
        names = {site["min_size"]: site["stack"][0]["short"] or site["stack"][0]["function"] for site in sites if site["min_size"] <= 300}
        hw.need(names == {100: "(anonymous namespace)::hidden", 200: "bare", 300: "main::{lambda#1}"}, f"{name}: {names}")
    found = json.loads(hw.ask("diff", "--json", *paths))
    hw.need(found["rows"] == [] and found["verdict"][1].startswith("Nothing changed"), f"{found['verdict']}")


@TESTS.test
def one_after_the_other(folder):
    """Two libraries of one path are two; without build-ids nobody can tell, and a report says so"""
    source = hw.SOURCE / "tests/answers/programs/processes/loads_in_turn.c"
    for kind, words in (("told", ("-Wl,--build-id",)), ("alike", ("-Wl,--build-id=none",))):
        place = folder / kind
        place.mkdir()
        for size in (100, 200):
            made = hw.run([hw.need_program("gcc"), "-g", "-fPIC", "-shared", f"-DPLUGIN={size}", *words, "-o", place / f"{size}.so", source])
            hw.need(made.status == 0, str(made))
        for times in (["100.so"], ["100.so", "200.so", "100.so"]):
            path = place / f"{len(times)}.hpw"
            hw.need(hw.record([hw.ANSWERS / "loads_in_turn", *times], path, cwd=place).status == 0, f"{kind} {times}")
            found = hw.report(path, "--view", "sites")
            sites = [site for site in found["sites"] if (site["stack"][0]["module"] or "").endswith("current.so")]
            said = [note for note in found["notes"] if "current.so has no build-id and was loaded more than once" in note]
            hw.need(bool(said) == (kind == "alike" and len(times) > 1), f"{kind} {times}: {found['notes']}")
            if kind == "told":
                hw.need(sorted(site["max_size"] for site in sites) == sorted({int(name[:3]) for name in times}), f"{sites}")
                hw.need(all(site["min_size"] == site["max_size"] for site in sites), f"{sites}")
        added = hw.report(place / "1.hpw", "--merge", place / "1.hpw")
        hw.need(not any("loaded more than once" in note for note in added["notes"]), f"{added['notes']}")


TESTS.main()
