#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""heapwise timeline: the same peak and the same layout as Massif and ms_print of the same program."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from terminal import Terminal

TESTS = hw.Tests()
PROGRAM = "peak_middle-O2"
RULER = "-" * 80
TABLE = re.compile(r"^ +n +time\((ms|B)\) +total\(B\) +useful-heap\(B\) +extra-heap\(B\) +stacks\(B\)$", re.M)
ROW = re.compile(r"^ *(\d+)" + r" +([\d,]+)" * 5 + "$", re.M)
TREE = re.compile(r"^(\d\d+\.\d\d)% \(([\d,]+)B\) \(heap allocation functions\) malloc/new/new\[\], --alloc-fns, etc\.$",
                  re.M)
BRANCH = re.compile(r"^((?:\| |  )*)->(\d\d+\.\d\d)% \(([\d,]+)B\) (?:0x[0-9A-F]+: |in \d+ place)", re.M)


def recording(folder, program=PROGRAM):
    path = folder / "a.hpw"
    ended = hw.record([hw.TARGETS / program], path)
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def timeline(*arguments):
    ended = heapwise("timeline", *arguments)
    hw.need(ended.status == 0, f"{arguments}: {ended}")
    return ended.text


def read_json(*arguments):
    found = json.loads(timeline(*arguments, "--json"))
    hw.need(found["schema"] == "heapwise.timeline/1", found["schema"])
    return found


def number(text):
    return int(text.replace(",", ""))


class Page:
    """What ms_print wrote, or who writes like it; fails where the layout is another."""

    def __init__(self, text, unit):
        lines = text.splitlines()
        hw.need(lines[0] == RULER, f"begins with {lines[0]!r}")
        top = next((i for i, line in enumerate(lines) if re.fullmatch(r"[ \d.]{5}\^[ :@#]{72}", line)), None)
        hw.need(top is not None, "no top of a graph 72 columns wide")
        hw.need(re.fullmatch(r"    ([KMG]B| B)", lines[top - 1]), f"unit of the graph: {lines[top - 1]!r}")
        for line in lines[top + 1:top + 20]:
            hw.need(re.fullmatch(r"     \|[ :@#]{72}", line), f"row of the graph: {line!r}")
        hw.need(re.fullmatch(r"   0 \+-{71}>(ms|s|h|[KMG]?B)", lines[top + 20]), f"axis: {lines[top + 20]!r}")
        hw.need(re.fullmatch(r"     0 {67} *[\d.]+", lines[top + 21]), f"end of the axis: {lines[top + 21]!r}")
        hw.need("#" in lines[top], "the peak does not reach the top")
        count = re.search(r"^Number of snapshots: (\d+)\n Detailed snapshots: \[(.*)\]$", text, re.M)
        hw.need(count, "no numbers of snapshots")
        self.detailed = [int(word.split()[0]) for word in count[2].split(", ")]
        peaks = [int(word.split()[0]) for word in count[2].split(", ") if word.endswith(" (peak)")]
        hw.need(len(peaks) == 1, f"peaks: {count[2]}")
        self.rows = [[number(cell) for cell in row] for row in ROW.findall(text)]
        hw.need([row[0] for row in self.rows] == list(range(int(count[1]))), "rows of the table")
        hw.need(all(row[2] == row[3] + row[4] + row[5] for row in self.rows), "totals are no sums")
        hw.need(set(TABLE.findall(text)) == {unit}, "heads of the table")
        self.trees = [(number(bytes_), float(percent)) for percent, bytes_ in TREE.findall(text)]
        hw.need(len(self.trees) == len(self.detailed), f"{len(self.trees)} trees of {self.detailed}")
        hw.need(BRANCH.search(text), "no branches")
        self.peak = self.rows[peaks[0]]


@TESTS.test
def as_massif(folder):
    """Massif's peak is ours: useful and extra heap to the byte, the tree's sums; and its layout is ours"""
    hw.need_no_sanitizer("Valgrind runs the target alone, the command's figures are the same without")
    valgrind, ms_print = hw.need_program("valgrind"), hw.need_program("ms_print")
    out = folder / "massif.out"
    ended = hw.run([valgrind, "-q", "--tool=massif", "--time-unit=B", "--peak-inaccuracy=0.0",
                    f"--massif-out-file={out}", hw.TARGETS / PROGRAM])
    hw.need(out.exists(), f"Massif: {ended}")
    theirs = Page(hw.run([ms_print, out]).text, "B")
    text = timeline(recording(folder), "--time-unit=B")
    ours = Page(text, "B")
    hw.need(ours.peak[2:] == theirs.peak[2:], f"peak {ours.peak}, Massif's {theirs.peak}")
    for page in (ours, theirs):
        tree = page.trees[page.detailed.index(page.peak[0])]
        hw.need(tree[0] == page.peak[3], f"the tree of the peak has {tree}")
        hw.need(abs(tree[1] - 100 * page.peak[3] / page.peak[2]) < 0.006, f"percents {tree}")
    branches = {(percent, bytes_) for before, percent, bytes_ in BRANCH.findall(text) if not before}
    theirs_text = hw.run([ms_print, out]).text
    peak_tree = theirs_text[theirs_text.index(f"({theirs.peak[3]:,}B) (heap"):]
    wanted = {(percent, bytes_) for before, percent, bytes_ in BRANCH.findall(peak_tree.split(RULER)[0]) if not before}
    hw.need(wanted and wanted <= branches, f"Massif's branches {wanted}, ours {branches}")


@TESTS.test
def exact(folder):
    """A snapshot says what a report of that moment says, the peak is the report's, options limit what they say"""
    path = recording(folder)
    totals = hw.report(path)["totals"]
    for options in (["--max-snapshots=10"], ["--max-snapshots=25", "--time-unit=B"], ["--max-snapshots=1000"]):
        found = read_json(path, *options)
        snapshots = found["snapshots"]
        hw.need(len(snapshots) <= int(options[0].split("=")[1]), f"{options}: {len(snapshots)} snapshots")
        peaks = [snapshot for snapshot in snapshots if snapshot["peak"]]
        hw.need([peak["useful_bytes"] for peak in peaks] == [totals["peak_bytes"]], f"{options}: peaks {peaks}")
        hw.need(snapshots[-1]["useful_bytes"] == totals["live_bytes_at_end"], f"{options}: the end")
        for i, snapshot in enumerate(snapshots):
            hw.need((snapshot["tree"] is not None) == (snapshot["peak"] or i % 10 == 9), f"{options}: tree of {i}")
            if snapshot["tree"]:
                below = sum(child["bytes"] for child in snapshot["tree"]["children"])
                hw.need(below == snapshot["tree"]["bytes"] == snapshot["useful_bytes"], f"{options}: sums of {i}")


@TESTS.test
def left_out(folder):
    """--ignore-fn leaves blocks out wholly, peak and extra heap included; --alloc-fn shows who called"""
    path = recording(folder)
    truth = {site["stack"][0]["function"]: site for site in hw.report(path)["sites"]}
    ignored = read_json(path, "--time-unit=B", "--ignore-fn=site_at_peak", "--ignore-fn=site_early")
    peak = max(ignored["snapshots"], key=lambda snapshot: snapshot["useful_bytes"])
    late = truth["site_late"]["allocated_bytes"] + truth["site_always"]["allocated_bytes"]
    hw.need(peak["peak"] and peak["useful_bytes"] == late, f"peak {peak}, allocated {late}")
    hw.need(ignored["snapshots"][-1]["allocated_bytes"] == late, "others are in the sums")
    text = timeline(path, "--alloc-fn=site_at_peak")
    hw.need("site_at_peak" not in text and re.search(r"^->\S+ \(4,808,220B\) 0x[0-9A-F]+: fill", text, re.M),
            "callers are not shown")
    plain = read_json(path, "--heap-admin=0", "--alignment=1")
    hw.need(all(snapshot["extra_bytes"] == 0 for snapshot in plain["snapshots"]), "extra heap")


@TESTS.test
def parts(folder):
    """Of a part the peak is the part's, and the first and last snapshot are its ends"""
    path = recording(folder)
    duration = hw.report(path)["recording"]["duration_ns"]
    part = ("--from", f"{duration // 2}ns", "--to", f"{duration * 9 // 10}ns")
    totals = hw.report(path, *part)["totals"]
    snapshots = read_json(path, *part)["snapshots"]
    peaks = [snapshot["useful_bytes"] for snapshot in snapshots if snapshot["peak"]]
    hw.need(peaks == ([totals["peak_bytes"]] if totals["peak_bytes"] else []), f"{peaks}, {totals['peak_bytes']}")
    hw.need(snapshots[-1]["useful_bytes"] == totals["live_bytes_at_end"], "the end of the part")


def dots_of(line):
    """A row of the chart behind its axis: how many dots there are in each column of characters."""
    return [bin(ord(c) - 0x2800).count("1") if 0x2800 <= ord(c) < 0x2900 else 0 for c in line.split("\u2502")[-1].split("\u2524")[-1]]


@TESTS.test
def chart(folder):
    """On a terminal a chart: as high as the figures, with the peak's arrow at its place; elsewhere as ms_print has it"""
    path = recording(folder)
    text = timeline(path, "--format=chart", "--width=80", "--height=10")
    rows = [line for line in text.splitlines() if "\u2502" in line or "\u2524" in line]
    hw.need(len(rows) == 10, text)
    snapshots = read_json(path)["snapshots"]
    end, highest = snapshots[-1]["time_ns"], max(one["useful_bytes"] for one in snapshots)
    dots = [dots_of(row) + [0] * 80 for row in rows]
    for i, one in enumerate(snapshots[:-1]):
        # A column shows the highest that was live in its time, so at least what a snapshot there says.
        column = min(int(one["time_ns"] / end * 80), 79)
        height = sum(row[column] > 0 for row in dots)
        least = one["useful_bytes"] / highest * 10
        hw.need(height >= int(least), f"snapshot {i}: {height} rows, expected {least}:\n{text}")
    area = sum(sum(row) for row in dots)
    exact = sum(one["useful_bytes"] * (after["time_ns"] - one["time_ns"]) for one, after in zip(snapshots, snapshots[1:]))
    hw.need(abs(area / (80 * 10 * 8) - exact / highest / end) < 0.15, f"{area} dots of 6400, exactly {exact / highest / end:.3f} of all:\n{text}")
    peak = next(one for one in snapshots if one["peak"])
    arrow = next(line for line in text.splitlines() if "\u25b2" in line)
    hw.need(arrow.index("\u25b2") - 11 == min(int(peak["time_ns"] / end * 160), 159) // 2, f"{peak}:\n{text}")
    hw.need("Live at the peak" in text and "Number of snapshots" not in text, text)
    plain = hw.run([hw.HEAPWISE, "timeline", "--format=chart", path], env=hw.clean_environment(LC_ALL="C")).text
    hw.need(plain.isascii() and "###" in plain and "peak" in plain and "^" in plain, plain)
    with Terminal([hw.HEAPWISE, "timeline", "--no-pager", path], hw.clean_environment(TERM="dumb")) as terminal:
        shown = terminal.wait("ms_print")
    hw.need("\u2524" in shown and "Number of snapshots" not in shown, shown)
    hw.need(timeline(path) == timeline(path, "--format=ms_print"), "a pipe does not get what ms_print has")
    empty = timeline(path, "--format=chart", "--at=start")
    hw.need("\u25b2" not in empty and "\u253c" in empty, f"nothing was live, so there is no peak: {empty}")
    for options in (("--format=x",), ("--format=chart", "--json"), ("--format=chart", "--base", path)):
        ended = heapwise("timeline", path, *options)
        hw.need(ended.status == 2 and "--format" in ended.errors and ended.text == "", f"{options}: {ended}")


@TESTS.test
def refuses(folder):
    """What cannot be shown, and why"""
    path = recording(folder)
    for status, words, options in (
            (3, "no instruction counts", ["--time-unit=i"]), (2, "i, ms or B", ["--time-unit=s"]),
            (2, "from 10 to 1000", ["--max-snapshots=9"]), (2, "from 1 to 200", ["--depth=201"]),
            (2, "from 4 to 1000", ["--width=3"]), (2, "16 or 1", ["--alignment=32"]),
            (2, "0 to 100", ["--threshold=101"]), (2, "shows one recording", [str(path)])):
        ended = heapwise("timeline", path, *options)
        hw.need(ended.status == status and words in ended.errors and not ended.text, f"{options}: {ended}")
    sums = folder / "sums.hpw"
    hw.record([hw.TARGETS / PROGRAM], sums, options=("-q", "--mode", "aggregate"))
    ended = heapwise("timeline", sums)
    hw.need(ended.status == 3 and "aggregate" in ended.errors, str(ended))
    ended = heapwise("report", "--view", "timeline", "--merge", path, path)
    hw.need(ended.status == 2 and "shows one recording" in ended.errors, str(ended))
    text = heapwise("report", "--view", "timeline", path)
    hw.need(text.text == timeline(path), "the view is not the command's")


@TESTS.test
def beside_an_older_run(folder):
    """--base: the older run's outline and its totals at the same part of the run, the same in JSON; other units, and what is left out, go for both"""
    path = recording(folder)
    older = folder / "older.hpw"
    hw.record([hw.TARGETS / "peak_twice-O2"], older)
    hw.need(older.exists(), "no older recording")
    for base, options in ((older, ()), (f"{older}@peak", ("--time-unit=B",)), (path, ("--time-unit=B",))):
        text = timeline(path, "--base", base, *options)
        found = read_json(path, "--base", base, *options)
        hw.need(f"\no: {base}\n" in text and "stacks(B)         older(B)\n" in text, text)
        hw.need(found["older"]["label"] == str(base), f"{found['older']['label']}")
        totals = [row["total_bytes"] for row in found["older"]["snapshots"]]
        hw.need(all(row["older_total_bytes"] in totals for row in found["snapshots"]), "totals of no moment")
        hw.need(found["snapshots"][-1]["older_total_bytes"] == totals[-1], "the ends differ")
        if base == path:
            hw.need(all(row["older_total_bytes"] == row["total_bytes"] for row in found["snapshots"]), f"{found}")
    whole = read_json(path)
    without = read_json(path, "--base", path, "--ignore-fn=site_at_peak")
    peaks = [max(row["useful_bytes"] for row in rows)
             for rows in (whole["snapshots"], without["snapshots"], without["older"]["snapshots"])]
    hw.need(peaks[1] == peaks[2] < peaks[0], f"{peaks}")
    same = json.loads(heapwise("report", path, "--view", "timeline", "--base", older, "--json").text)
    hw.need(same["older"]["label"] == str(older), "report --view timeline")
    sums = folder / "sums.hpw"
    hw.record([hw.TARGETS / PROGRAM], sums, options=("-q", "--mode", "aggregate"))
    for base, status in ((sums, 3), (folder / "none.hpw", 3), (f"{older}@soon", 2)):
        ended = heapwise("timeline", path, "--base", base)
        hw.need(ended.status == status and str(base).split("@")[0] in ended.errors + str(older), str(ended))


TESTS.main()
