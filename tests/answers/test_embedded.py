#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that has heapwise in it (tests/embed/ask.c: src/query and what is below it, without the command) gets the same
answers as the command gives, errors and notes as values, and nothing printed."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import gcore  # noqa: E402

tests = hw.Tests()

ASK = hw.BUILD / "tests/embed/ask"
TRUTH = hw.ANSWERS / "embedded_truth"


def ask(*words, status=0):
    """The lines of the answer, and those of notes and errors."""
    ended = subprocess.run([ASK, *map(str, words)], capture_output=True, text=True, timeout=hw.TIMEOUT, env=hw.clean_environment(), check=False)
    hw.need(ended.returncode == status, f"{words}: {ended}")
    return ended.stdout.splitlines(), ended.stderr.splitlines()


def record(folder):
    """The recording, and the sizes of rows and of lost blocks."""
    recording = folder / "x.hpw"
    ended = hw.record([TRUTH], recording, options=("-q", "--leak-check=full"))
    row, lost = map(int, ended.stdout.split()[:2])
    return recording, row, lost


@tests.test
def sites(folder):
    """allocation sites of a moment, chosen by a filter"""
    recording, row, _ = record(folder)
    found, said = ask("sites", recording, "mark:held", "^hold_rows$")
    hw.need(found == [f"30 {30 * row} hold_rows"], f"{found} {said}")
    found, _ = ask("sites", recording, "end", "^hold_rows$")
    hw.need(found == [], found)


@tests.test
def leaks(folder):
    """leaks of a recording that was searched"""
    recording, _, lost = record(folder)
    found, said = ask("leaks", recording)
    hw.need(f"definite 7 {7 * lost} lose_blocks" in found, f"{found} {said}")
    hw.need(not any("hold_rows" in line for line in found), found)


@tests.test
def core(folder):
    """blocks by type of a core, and what is lost in it"""
    program = subprocess.Popen([TRUTH, "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hw.clean_environment())
    try:
        row, _ = map(int, program.stdout.readline().split())
        dumped = gcore(program.pid, folder)
    finally:
        program.kill()
        program.communicate()
    found, said = ask("types", dumped)
    rows = [line.split(" ", 2) for line in found if line.endswith(" row")]
    hw.need(len(rows) == 1 and rows[0][0] == "30" and int(rows[0][1]) >= 30 * row, f"{found} {said}")
    found, said = ask("leaks", dumped)
    hw.need(sum(int(line.split()[1]) for line in found if line.startswith("definite ")) == 7, f"{found} {said}")


@tests.test
def other_files(folder):
    """a bundle is unpacked and removed again; a pipe is read"""
    recording, row, _ = record(folder)
    bundle = folder / "x.tar.zst"
    hw.need(hw.heapwise("bundle", "-o", bundle, recording).status == 0, "no bundle")
    state = folder / "state"
    environment = hw.clean_environment(XDG_STATE_HOME=state)
    ended = subprocess.run([ASK, "sites", bundle, "mark:held", "hold_rows"], capture_output=True, text=True, env=environment, check=True)
    hw.need(ended.stdout == f"30 {30 * row} hold_rows\n", str(ended))
    hw.need(list((state / "heapwise/bundles").iterdir()) == [], "the bundle's folder is left")
    with recording.open("rb") as pipe, subprocess.Popen(["cat"], stdin=pipe, stdout=subprocess.PIPE) as cat:
        ended = subprocess.run([ASK, "sites", "-", "mark:held", "hold_rows"], capture_output=True, text=True, stdin=cat.stdout, check=True, env=hw.clean_environment())
    hw.need(ended.stdout == f"30 {30 * row} hold_rows\n", str(ended))


@tests.test
def errors(folder):
    """what is wrong comes back as an error with its kind, what limits an answer as a note"""
    recording, _, _ = record(folder)
    for words, code, text in (
            (("sites", recording, "noon", "x"), 2, "invalid moment 'noon'"),
            (("sites", recording, "mark:none", "x"), 3, "none"),
            (("sites", folder / "none.hpw", "end", "x"), 3, "none.hpw"),
            (("sites", recording, "mark:held", "no_such_function"), 3, "no_such_function"),
            (("types", recording), 3, "x.hpw"),
            (("leaks", folder / "none.hpw"), 3, "none.hpw")):
        found, said = ask(*words, status=1)
        hw.need(found == [] and said[-2].startswith(f"error {code}: ") and text in said[-2], f"{words}: {said}")
    cut = folder / "cut.hpw"
    cut.write_bytes(recording.read_bytes()[:-200])
    _, said = ask("sites", cut, "mark:held", "hold_rows")
    hw.need(any(line.startswith("note: ") and "incomplete" in line for line in said), said)


tests.main()
