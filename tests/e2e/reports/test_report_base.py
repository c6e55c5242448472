#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise report --base OLD`: each view names what was planted in the newer of two builds."""

import csv
import io
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from documented import undocumented
from hw import heapwise

TESTS = hw.Tests()
OLD, NEW = hw.TARGETS / "diff/work_old", hw.TARGETS / "diff/work_new"
VIEWS = ("summary", "sites", "never-freed", "peak", "inherited", "temporary", "functions", "files", "modules",
         "lifetimes", "realloc", "sizes", "threads")


def recordings(folder, options=("-q",)):
    """Of both builds, as paths of what the programs themselves did."""
    paths = [folder / "old.hpw", folder / "new.hpw"]
    for program, path in zip((OLD, NEW), paths):
        ended = hw.record([program], path, options=options)
        hw.need(ended.status == 0 and path.exists(), f"nothing was recorded: {ended}")
    return paths


def named_recordings(folder):
    """The names of threads are read while these live: on a busy machine that may be too late."""
    for _ in range(10):
        paths = recordings(folder)
        if all(thread["name"] for path in paths for thread in hw.report(path, "--view", "threads")["threads"]):
            return paths
        for path in folder.iterdir():
            path.unlink()
    hw.need(False, "threads have no names in ten recordings")
    return None


def child_of(folder, name):
    """The recording of the program's child, once it is closed."""
    def closed():
        return [path for path in folder.glob(f"{name}.[0-9]*.hpw") if heapwise("report", path).status == 0]

    return hw.wait_until(closed, f"{name}.hpw has no child")[0]


def compared(view, old, new, *arguments):
    return hw.report(new, *arguments, "--view", view, "--base", old)


def by_function(rows):
    """Rows by the innermost function that is no helper of the story."""
    found = {}
    for row in rows:
        names = [frame["function"] for frame in row["stack"] if frame["function"] not in ("xalloc", "touch")]
        found[names[0]] = row
    return found


def changes(rows, metric):
    return {name: (row["status"], row["change"][metric]) for name, row in by_function(rows).items()
            if row["status"] != "same"}


@TESTS.test
def stacks(folder):
    """Lists of stacks have what is there now, by how much more, and what is new or gone"""
    old, new = recordings(folder)
    kept = changes(compared("never-freed", old, new)["sites"], "live_bytes")
    hw.need(kept.get("leaks") == ("new", 6 * 211) and kept.get("stale") == ("gone", -4 * 79), f"{kept}")
    sites = by_function(compared("sites", old, new)["sites"])
    churned = sites["churns"]
    hw.need(churned["allocations"] == 400 and churned["base"]["allocations"] == 40, f"{churned}")
    hw.need(changes(compared("peak", old, new)["sites"], "peak_bytes")["peaks"] == ("grown", 200004), "peaks() is missing")
    temporary = changes(compared("temporary", old, new)["sites"], "temporary")
    hw.need(temporary["churns"] == ("grown", 360) and next(iter(temporary)) == "churns", f"{temporary}")
    text = heapwise("report", "--view", "never-freed", "--base", old, new).text
    for line in ("Live memory grew by", "  new  +1.24 KiB  from 0 B to 1.24 KiB  +6 blocks, from 0 to 6",
                 "  gone  -316 B  from 316 B to 0 B", " the same"):
        hw.need(line in text, f"no {line!r}: {text}")


@TESTS.test
def spots(folder):
    """Functions, files and modules: only functions are gone, files and modules are the same ones"""
    old, new = recordings(folder)
    found = {spot["name"]: spot for spot in compared("functions", old, new)["spots"]}
    hw.need(found["leaks"]["status"] == "new" and found["stale"]["status"] == "gone", "leaks() and stale()")
    hw.need(found["churns"]["change"]["flat"]["allocations"] == 360, f"{found['churns']}")
    for view, name in (("files", "app.c"), ("modules", "work_new")):
        rows = compared(view, old, new)["spots"]
        hw.need(not [row["name"] for row in rows if row["status"] in ("new", "gone")], f"{view}: {rows}")
        changed = [row for row in rows if row["name"].endswith(name)]
        hw.need(len(changed) == 1 and changed[0]["change"]["cum"]["temporary"] >= 360, f"{view}: {changed}")


@TESTS.test
def sizes(folder):
    """Sizes and their classes have both counts"""
    old, new = recordings(folder)
    found = compared("sizes", old, new)
    rows = {row["size"]: (row["status"], row["base"]["allocations"], row["allocations"]) for row in found["sizes"]}
    hw.need(rows[211] == ("new", 0, 6) and rows[79] == ("gone", 4, 0) and rows[61] == ("grown", 40, 400), f"{rows}")
    classes = {row["up_to"]: row["change"]["allocations"] for row in found["size_classes"]}
    hw.need((classes[1 << 17], classes[1 << 19]) == (-1, 1), f"{classes}")
    totals = found["change"]["totals"]["allocations"]
    for part in ("sizes", "size_classes"):
        hw.need(sum(row["change"]["allocations"] for row in found[part]) == totals["change"], f"{part} do not add up")


@TESTS.test
def lives(folder):
    """Lifetimes show that blocks live longer, reallocs that a place began to grow step by step"""
    old, new = recordings(folder)
    buckets = compared("lifetimes", old, new)["lifetimes"]["by_allocations"]
    longer = {bucket["up_to"]: bucket["change"]["freed_blocks"] for bucket in buckets}
    # holds() waits for the 400 blocks of churns(): more than 200 allocations, and at most 500.
    hw.need(longer[500] == 30, f"{longer}")
    found = compared("realloc", old, new)
    row = by_function(found["reallocs"])["appends"]
    hw.need(row["stepwise"] and not row["was_stepwise"] and row["status"] == "grown", f"{row}")
    hw.need((row["base"]["calls"], row["calls"]) == (8, 255), f"{row}")
    hw.need(any(line.startswith("appends (app.c:") and line.endswith("step by step now.")
                for line in found["change"]["verdict"]), f"{found['change']['verdict']}")


@TESTS.test
def threads(folder):
    """Threads are matched by name and order, the first ones whatever the programs are called"""
    old, new = named_recordings(folder)
    found = compared("threads", old, new)
    rows = [(row["name"], row["status"], row["change"]["allocations"]) for row in found["threads"]]
    others = sorted(row for row in rows if not row[0].startswith("work_"))
    hw.need([(name, status) for name, status, _ in others] == [
        ("logger", "gone"), ("net", "new"), ("worker", "new"), ("worker", "same"), ("worker", "same")], f"{rows}")
    hw.need(len(rows) == 6 and "Of all threads, 2 are new, 1 is gone." in found["change"]["verdict"], f"{rows}")


def figures(value, name):
    """What is in an object, and in those in it, by the names of columns."""
    if not isinstance(value, dict):
        return [(name, value)]
    return [pair for inner in value for pair in figures(value[inner], f"{name}.{inner}")]


@TESTS.test
def comma_separated(folder):
    """CSV has the rows of JSON, with what was and what changed"""
    old, new = recordings(folder)
    parts = {"summary": "sites", "sites": "sites", "never-freed": "sites", "functions": "spots", "lines": "spots",
             "files": "spots", "modules": "spots", "realloc": "reallocs", "sizes": "sizes", "threads": "threads"}
    for view, part in parts.items():
        ended = heapwise("report", "--view", view, "--csv", "--base", old, new)
        rows = list(csv.DictReader(io.StringIO(ended.text), strict=True))
        known = compared(view, old, new)[part]
        hw.need(len(rows) == len(known) and rows, f"{view}: {ended}")
        for cells, row in zip(rows, known):
            hw.need(cells["status"] == row["status"], f"{view}: {cells}")
            for side in ("base", "change"):
                wrong = {name: value for name, value in figures(row[side], side) if cells.get(name) != str(value)}
                hw.need(not wrong, f"{view}: {side} is not {wrong}: {cells}")


@TESTS.test
def inherited(folder):
    """What a child began with is compared apart"""
    recordings(folder)
    found = compared("inherited", *(child_of(folder, name) for name in ("old", "new")))
    kept = changes(found["sites"], "live_bytes")
    hw.need(kept.get("leaks") == ("new", 6 * 211) and kept.get("stale") == ("gone", -4 * 79), f"{kept}")
    hw.need(found["change"]["verdict"][0].startswith("Memory inherited at the fork grew by"), f"{found['change']}")


@TESTS.test
def every_view(folder):
    """Each view says first what changed in all; compared with itself nothing does; JSON is as documented"""
    old, new = recordings(folder)
    pages = [hw.SOURCE / "docs/schema" / name for name in ("report-1.md", "report-base.md")]
    page = "".join(page.read_text(encoding="utf-8") for page in pages)
    known = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]*)`", page))))
    for view in VIEWS:
        ended = heapwise("report", "--view", view, "--base", old, new)
        hw.need(ended.status == 0 and not ended.errors, f"{view}: {ended}")
        verdict = ended.text.split("\n\n")[1]
        hw.need(re.search(" grew by | shrank by | is the same", verdict), f"{view}: {verdict}")
        found = compared(view, old, new)
        hw.need(not undocumented(found, known), f"{view}: {undocumented(found, known)}")
        hw.need(found["change"]["verdict"][0] in verdict.replace("\n  ", "\n"), f"{view}: two verdicts")
        same = heapwise("report", "--view", view, "--base", new, new).text
        hw.need(" grew by " not in same and "  new" not in same and "  gone" not in same, f"{view}: {same}")
    whole = heapwise("diff", old, new).text
    verdict = heapwise("report", "--base", old, new).text.split("\n\n")[1]
    hw.need(verdict in whole and f"heapwise diff {old} {new}" in heapwise("report", "--base", old, new).text, verdict)


@TESTS.test
def moments(folder):
    """Moments of one recording are compared too, and sums of several"""
    old, new = recordings(folder)
    found = compared("never-freed", f"{new}@start", f"{new}@peak")
    hw.need(found["change"]["same_recording"] and {site["status"] for site in found["sites"]} == {"new"}, "not all is new")
    peak = found["totals"]["live_bytes_at_end"]
    hw.need(sum(site["change"]["live_bytes"] for site in found["sites"]) == peak, f"{found['totals']}")
    newest = heapwise("report", "--view", "threads", "--base", f"{new}@start", "--json", new)
    hw.need({row["status"] for row in json.loads(newest.text)["threads"]} == {"new"}, str(newest))
    summed = compared("sites", old, new, "--merge", new)
    hw.need(not summed["change"]["same_recording"], "a sum is taken for one recording")
    churned = by_function(summed["sites"])["churns"]
    hw.need((churned["base"]["allocations"], churned["allocations"]) == (40, 800), f"{churned}")
    scaled = compared("sites", old, new, "--normalize")
    hw.need(scaled["change"]["totals"]["allocations"]["change"] == 0, f"{scaled['change']}")
    focused = compared("sites", old, new, "--focus", "churns")
    hw.need(set(by_function(focused["sites"])) == {"churns"}, "--focus is not of both")


@TESTS.test
def profiles(folder):
    """The older one may be another tool's profile: functions meet, and what it does not say is not made up"""
    old, new = recordings(folder)
    profile = folder / "old.pb.gz"
    hw.need(heapwise("export", "--format", "pprof", "-o", profile, old).status == 0, "nothing was exported")
    spots_ = compared("functions", profile, new)["spots"]
    names = [spot["name"] for spot in spots_]
    hw.need(len(names) == len(set(names)), f"a function stands twice: {names}")
    found = {spot["name"]: spot for spot in spots_}
    hw.need(found["churns"]["base"]["flat"]["allocations"] == 40, f"{found['churns']}")
    hw.need(found["churns"]["change"]["flat"]["temporary"] is None, "temporary allocations are made up")
    ended = heapwise("report", "--view", "threads", "--base", profile, new)
    hw.need(ended.status == 3 and "pprof" in ended.errors and not ended.text, str(ended))


@TESTS.test
def refused(folder):
    """What can't be compared is refused, with the reason"""
    old, new = recordings(folder)
    sample = folder / "sample.hpw"
    hw.record([NEW], sample, options=("-q", "--mode", "sample:4096"))
    for arguments, status, word in (
            (("--view", "marks", "--base", old, new), 2, "moments of one recording"),
            (("--view", "kept", "--base", old, new), 2, "range of one recording"),
            (("--normalize", new), 2, "--base"),
            (("--base", old, old, new), 2, "--merge"),
            (("--view", "lifetimes", "--base", sample, new), 3, "rates differ"),
            (("--view", "realloc", "--base", old, sample), 3, "rates differ"),
            (("--base", folder / "none.hpw", new), 3, "none.hpw"),
            (("--base", f"{old}@never", new), 2, "invalid moment"),
            (("--base", __file__, new), 3, Path(__file__).name)):
        ended = heapwise("report", *arguments)
        hw.need(ended.status == status and ended.text == "" and word in ended.errors, f"{arguments}: {ended}")
    ended = heapwise("report", "--view", "temporary", "--base", sample, new)
    hw.need(ended.status == 0 and "unknown for a sample" in ended.text, str(ended))


TESTS.main()
