#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Moments in a page of heapwise html: what each stack had live then is what the report at that time says."""

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pagefile import Page

TESTS = hw.Tests()
PEAK = 1


def page_of(path, *options):
    ended = heapwise("html", path, "-o", "-", *options)
    hw.need(ended.status == 0, f"{path} {options}: {ended}")
    return Page(ended.text)


def recording(folder, *options):
    path = folder / "grows.hpw"
    hw.record([hw.TARGETS / "grows"], path, options=("-q", *options))
    return path


def moments(page):
    """Of each moment: time, whether it is the peak, by row [bytes, blocks]. As docs/schema/page-1.md says."""
    columns, at, now = page.columns, 0, {}
    for time, flags, count in zip(columns["moment.time_ns"], columns["moment.flags"], columns["moment.cells"]):
        row = 0
        for i in range(at, at + count):
            row += columns["cell.row"][i]
            had = now.get(row, (0, 0))
            now[row] = (had[0] + columns["cell.bytes"][i], had[1] + columns["cell.blocks"][i])
            hw.need(now[row][0] >= 0 and now[row][1] >= 0, f"row {row} has {now[row]}")
        at += count
        yield int(time), bool(flags & PEAK), dict(now)
    hw.need(at == len(columns["cell.row"]), f"{at} of {len(columns['cell.row'])} cells are of a moment")


def by_stack(page, rows):
    kinds, stacks = page.words("row.kind"), page.stacks()
    found = Counter()
    for row, (size, _) in rows.items():
        if size:
            found[kinds[row], stacks[row]] += size
    return found


def reported(path, *options):
    """As by_stack(), of the report's sites."""
    found = Counter()
    for site in hw.report(path, "--view", "sites", *options)["sites"]:
        names = tuple(frame["function"] or f"{Path(frame['module']).name}+{frame['offset']}" for frame in reversed(site["stack"]))
        if site["live_bytes"]:
            found[site["kind"], names] += site["live_bytes"]
    return found


@TESTS.test
def timeline(folder):
    """Moments are the timeline's, and rows add up to what was live then"""
    for options in ((), ("--mode", "sample:2000")):
        path = recording(folder, *options)
        page = page_of(path)
        found = list(moments(page))
        snapshots = page.documents["timeline"]["snapshots"]
        hw.need(len(found) > 20 and len(found) == len(snapshots), f"{len(found)} moments, {len(snapshots)} snapshots")
        for (time, is_peak, rows), snapshot in zip(found, snapshots):
            hw.need(time == snapshot["time_ns"], f"{time}, timeline: {snapshot['time_ns']}")
            # Of a sample each row is rounded.
            size, blocks = (sum(row[i] for row in rows.values()) for i in (0, 1))
            near = len(rows) if options else 0
            hw.need(abs(size - snapshot["useful_bytes"]) <= near, f"{time}: {size}, timeline: {snapshot['useful_bytes']}")
            hw.need(abs(blocks - snapshot["live_blocks"]) <= near, f"{time}: {blocks}, timeline: {snapshot['live_blocks']}")
            hw.need(not is_peak or snapshot["peak"], f"{time} is not the peak")
        hw.need(page.header["cut"]["moments"] is None, str(page.header["cut"]))
        path.unlink()


@TESTS.test
def stacks(folder):
    """Each stack has what the report at that time says; growth is what diff says"""
    path = recording(folder)
    page = page_of(path)
    found = list(moments(page))
    peak = next(i for i, (_, is_peak, _) in enumerate(found) if is_peak)
    for i, word in ((len(found) // 4, None), (len(found) // 2, None), (peak, "peak"), (len(found) - 1, "end")):
        time, _, rows = found[i]
        wanted = reported(path, "--at", word or f"{time}ns")
        hw.need(by_stack(page, rows) == wanted, f"moment {i} at {time}: {by_stack(page, rows)}, report: {wanted}")
    first, last = found[len(found) // 4], found[len(found) // 2]
    older, newer = by_stack(page, first[2]), by_stack(page, last[2])
    changes = json.loads(heapwise("diff", "--json", f"{path}@{first[0]}ns", f"{path}@{last[0]}ns").text)
    total = changes["totals"]["live_bytes"]["change"]
    hw.need(sum(newer.values()) - sum(older.values()) == total, f"{total}")


@TESTS.test
def marks(folder):
    """Marks are moments, with what the report at each says; those beyond the first 16 are not"""
    for options in ((), ("--mode", "sample:200")):
        path = folder / "marks.hpw"
        hw.record([hw.TARGETS / "marks"], path, options=("-q", *options))
        page = page_of(path)
        all_marks = page.documents["marks"]["marks"]
        found = dict(zip(page.columns["moment.mark"], moments(page)))
        found.pop(0)
        hw.need(all_marks and sorted(found) == list(range(1, min(16, len(all_marks)) + 1)), f"{sorted(found)} of {len(all_marks)} marks")
        for number, (time, _, rows) in found.items():
            mark = all_marks[number - 1]
            wanted = reported(path, "--at", f"mark:{mark['name']}#{mark['nth']}")
            hw.need(time == mark["time_ns"] and by_stack(page, rows) == wanted, f"{mark}: {time}, {by_stack(page, rows)}, report: {wanted}")
        path.unlink()


@TESTS.test
def filters(folder):
    """With a filter moments are of the stacks that it leaves"""
    path = recording(folder)
    page = page_of(path, "--focus", "^(leaks|caches)$")
    found = list(moments(page))
    time, _, rows = found[len(found) // 2]
    wanted = reported(path, "--focus", "^(leaks|caches)$", "--at", f"{time}ns")
    hw.need(wanted and by_stack(page, rows) == wanted, f"{by_stack(page, rows)}, report: {wanted}")
    page = page_of(path, "--min-size", "4000")
    time, _, rows = list(moments(page))[20]
    wanted = reported(path, "--min-size", "4000", "--at", f"{time}ns")
    hw.need(wanted and by_stack(page, rows) == wanted, f"{by_stack(page, rows)}, report: {wanted}")


@TESTS.test
def limited(folder):
    """In a small page stacks are summed up, moments left out, and what is left adds up"""
    path = recording(folder)
    least = int(heapwise("html", path, "-o", "-", "--page-limit", "100").errors.split()[-1])
    left, all_of_them = set(), len(list(moments(page_of(path))))
    for room in (100, 2000, 5000, 10000, 40000):
        page = page_of(path, "--page-limit", str(least + room))
        hw.need(len(page.html) <= least + room, f"{len(page.html)} bytes")
        said = page.header["cut"]
        if "moment.time_ns" not in page.columns:
            hw.need("room" in said["missing"]["moments"], str(said))
            left.add(0)
            continue
        had = Counter((one["time_ns"], one["useful_bytes"]) for one in page.documents["timeline"]["snapshots"])
        found = list(moments(page))
        for time, _, rows in found:
            size = sum(row[0] for row in rows.values())
            hw.need(had[time, size], f"{time}: {size} of {had}")
        hw.need(len(found) + (said["moments"] or 0) == all_of_them, f"{len(found)} moments, {said}")
        hw.need(any(is_peak for _, is_peak, _ in found), "the peak is not there")
        left.add(len(found))
    hw.need(0 in left and all_of_them in left and len(left) > 2, f"moments: {left} of {all_of_them}")


@TESTS.test
def missing(folder):
    """Without moments the page says why"""
    path = recording(folder)
    folded = folder / "a.folded"
    folded.write_text("main;read_all 4096\n")
    sums = folder / "sums.hpw"
    hw.record([hw.TARGETS / "grows"], sums, options=("-q", "--mode", "aggregate"))
    for page, word in ((page_of(path, "--from", "peak"), "begins"), (page_of(folded), "when"), (page_of(sums), "when")):
        hw.need(not any(name.startswith(("moment.", "cell.")) for name in page.columns), str(page.columns.keys()))
        hw.need(word in page.header["cut"]["missing"]["moments"], str(page.header["cut"]))
    hw.need("moment.time_ns" in page_of(path, "--to", "peak").columns, "a page up to a moment has those before it")


TESTS.main()
