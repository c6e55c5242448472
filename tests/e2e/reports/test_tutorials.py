#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of examples/tutorials, each with the command that answers what the documentation of another tool asks of
such a program: the answer is what the program does."""

import json
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import pythons

TESTS = hw.Tests()
PROGRAMS = hw.SOURCE / "examples/tutorials"
MIB = 1 << 20


def line_of(name, text):
    lines = (PROGRAMS / name).read_text(encoding="utf-8").splitlines()
    return next(i + 1 for i, line in enumerate(lines) if text in line)


@TESTS.test
def memory_profiler(folder):
    """memory_profiler's README: which line of a function takes memory"""
    file = folder / "lines.hpw"
    ended = hw.record([pythons.debians(), PROGRAMS / "lines.py"], file, options=("-q", "--line-rss", "fill"))
    hw.need(ended.status == 0, f"{ended}")
    table = {int(row[0]): float(row[1]) for row in re.findall(
        r"^ +(\d+) +[\d.]+ MiB +(-?[\d.]+) MiB +1   ", hw.ask("list", "fill", file, "--format", "memory_profiler"), re.M)}
    for text, grown in (("small =", 8e6 / MIB), ("large =", 16e7 / MIB), ("del large", -16e7 / MIB)):
        hw.need(abs(table[line_of("lines.py", text)] - grown) < 0.6, f"{text}: {table}")


@TESTS.test
def tracemalloc(folder):
    """tracemalloc's documentation: what keeps memory, and what has grown"""
    for name, times in (("old.hpw", 1000), ("new.hpw", 3000)):
        ended = hw.record([pythons.debians(), PROGRAMS / "cache.py", str(times)], folder / name)
        hw.need(ended.status == 0, f"{ended}")
    at = "@mark:python-exit"
    line = str(PROGRAMS / "cache.py") + ":" + str(line_of("cache.py", 'return "x"'))
    first = hw.ask("report", folder / "old.hpw", "--at", "mark:python-exit", "--format", "tracemalloc", "--limit", "1")
    hw.need(re.match(re.escape(line) + r": size=10\d\d KiB, count=1000, average=10\d\d B$", first.strip()), first)
    first = hw.ask("diff", f"{folder}/old.hpw{at}", f"{folder}/new.hpw{at}", "--format", "tracemalloc", "--limit", "1")
    hw.need(re.match(re.escape(line) + r": size=\d+ KiB \(\+20\d\d KiB\), count=3000 \(\+2000\), average=10\d\d B$", first.strip()), first)


@TESTS.test
def async_profiler(folder):
    """async-profiler's README: which code allocates, and what stays"""
    for name in ("java", "javac"):
        hw.need_program(name)
    hw.need(hw.run(["javac", "-g", "-d", folder, PROGRAMS / "Shop.java"]).status == 0, "javac")
    ended = hw.record(["java", "-cp", folder, "Shop"], folder / "x.hpw", options=("-q", "-f"), all_processes=False)
    hw.need(ended.status == 0, f"{ended}")
    (profile,) = folder.glob("x.*.pb")
    answer = hw.report(profile)
    sums = {"Shop.parse": 0, "Shop.order": 0}
    for site in answer["sites"]:
        for name in {frame["function"] for frame in site["stack"]} & set(sums):
            sums[name] += site["allocated_bytes"]
    hw.need(abs(sums["Shop.parse"] - 2e8) < 6e7 and abs(sums["Shop.order"] - 4e7) < 3e7, f"{sums}")
    # What stays is what is live without what no collection has looked at, which the report says.
    (note,) = (note for note in answer["notes"] if "after the last garbage collection" in note)
    young = int(re.search(r"About (\d+) KiB", note)[1]) << 10
    hw.need(re.search(r"After a garbage collection \(there were \d+\) HotSpot may sample the next object", note), note)
    live = answer["totals"]["live_bytes_at_end"]
    hw.need(live - young < 4e7 + 2.5e7 and live > 1.5e7, f"{live} live, {young} of it young")


@TESTS.test
def go_blog(folder):
    """The Go blog's "Profiling Go Programs": which function and line allocates"""
    if not shutil.which("go"):
        raise hw.Skip("go is not installed")
    environment = {**hw.clean_environment(), "HOME": str(folder), "GOFLAGS": "-mod=mod", "GOCACHE": str(folder / "cache")}
    built = hw.run(["go", "build", "-o", folder / "loops", PROGRAMS / "loops.go"], env=environment, cwd=folder)
    hw.need(built.status == 0, f"{built}")
    hw.need(hw.run([folder / "loops", folder / "loops.pb.gz"]).status == 0, "loops")
    (part,) = json.loads(hw.ask("list", "search", folder / "loops.pb.gz", "--json"))["parts"]
    figures = {line["line"]: line["flat"]["allocated_bytes"] for line in part["lines"] if line["flat"]}
    most = max(figures, key=figures.get)
    hw.need(most == line_of("loops.go", "number[b] = i"), f"{figures}")
    tree = hw.ask("tree", folder / "loops.pb.gz", "--metric", "allocated_bytes")
    hw.need("main.search" in tree, tree)


TESTS.main(width=2)
