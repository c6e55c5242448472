#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of Node.js, written by the node that is installed: they say what the program knows about itself."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
THINGS = 60000
# Line 3 leaks; line 6 does not, although it allocates more.
LEAK = """globalThis.kept = [];
function Thing(i) { this.number = i; this.word = 'x' + i; }
function leakHere(n) {
    for (let i = 0; i < n; i++) kept.push(new Thing(i));
}
function dropHere(n) { for (let i = 0; i < n; i++) globalThis.last = { number: i, word: 'y' + i }; }
dropHere(2 * COUNT); leakHere(COUNT); dropHere(2 * COUNT);
""".replace("COUNT", str(THINGS))


def need_node():
    node = hw.need_program("node")
    if hw.run([node, "-e", "0"]).status:
        raise hw.Skip("node does not run here")
    return node


@TESTS.test
def heapprofile(folder):
    """Of a program that leaks node --heap-prof names the function, its file and line, within the range that is said"""
    script = folder / "leak of mine.js"
    script.write_text(LEAK)
    ended = hw.run([need_node(), "--heap-prof", "--heap-prof-interval=4096", "--heap-prof-name=x.heapprofile", script],
                   cwd=folder)
    file = folder / "x.heapprofile"
    hw.need(ended.status == 0 and file.exists(), f"no profile: {ended}")
    found = hw.report(file, "--view", "functions")
    hw.need(found["recording"]["source"] == "heapprofile" and found["recording"]["mode"] == "sample", f"{found}")
    hw.need(found["recording"]["sample_bytes"] == 4096, f"distance {found['recording']['sample_bytes']}")
    flat = {spot["name"]: spot["flat"]["live_bytes"] for spot in found["spots"]}
    hw.need(max(flat, key=flat.get) in ("leakHere", "Thing"), f"{flat}")
    hw.need(flat.get("dropHere", 0) < flat["leakHere"] / 20, f"{flat}")
    # An object with two fields (and room for more), its string, and a word in the array: 40 to 200 bytes each.
    cum = {spot["name"]: spot["cum"]["live_bytes"] for spot in found["spots"]}
    hw.need(40 * THINGS < cum["leakHere"] < 200 * THINGS, f"{cum}")
    summary = hw.report(file)
    frame = summary["top"]["never_freed"][0]["stack"]
    names = {(f["function"], f["file"], f["line"]) for f in frame}
    hw.need(("leakHere", str(script), 3) in names, f"{names}")
    hw.need("leakHere" in summary["verdict"][0] or "Thing" in summary["verdict"][0], f"{summary['verdict']}")


TESTS.main(width=2)
