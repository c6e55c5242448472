#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise diff`: builds, runs and moments compared, what it refuses, and its gate."""

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
DIFF = hw.TARGETS / "diff"


def recording(folder, program, name=None, options=("-q",)):
    path = folder / f"{name or Path(program).name}.hpw"
    ended = hw.record([program], path, options=options)
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def diff(*arguments):
    ended = heapwise("diff", "--json", *arguments)
    hw.need(ended.status == 0, f"diff: {ended}")
    found = json.loads(ended.text)
    hw.need(found["schema"] == "heapwise.diff/1", f"schema is {found['schema']}")
    return found


def places(found):
    """{"new": {"leaks": 1266}, …}, by innermost function but xalloc()."""
    sums = {}
    for row in found["rows"]:
        names = [frame["function"] for frame in row["stack"] if frame["function"] != "xalloc"]
        part = sums.setdefault(row["status"], {})
        part[names[0]] = part.get(names[0], 0) + row["live_bytes"]["change"]
    return sums


PLANTED = {
    "new": {"leaks": 6 * 211},
    "grown": {"grows": 20 * 307},
    "shrunk": {"shrinks": -10 * 53},
    "gone": {"stale": -4 * 79},
}


@TESTS.test
def two_builds(folder):
    """Planted differences are found, and nothing else: other files, names, lines, folders and optimisation"""
    for old in ("diff_old-O0", "diff_old-O2"):
        for new in ("diff_new-O0", "diff_new-O2"):
            a, b = recording(folder, DIFF / old, f"{old}-{new}-a"), recording(folder, DIFF / new, f"{old}-{new}-b")
            found = diff(a, b)
            hw.need(places(found) == PLANTED, f"{old}, {new}: {places(found)}")
            renames = {(r["moved"], r["from"]["function"], r["to"]["function"]) for r in found["renames"]}
            hw.need(renames == {(True, "helper", "helper"), (False, "read_conf", "read_config")}, f"{renames}")


@TESTS.test
def words(folder):
    """The verdict says first by how much, and where most"""
    a, b = recording(folder, DIFF / "diff_old-O0"), recording(folder, DIFF / "diff_new-O2")
    ended = heapwise("diff", a, b)
    hw.need(ended.status == 0 and ended.errors == "", str(ended))
    for line in ("Live memory grew by 6.4", "Largest growth: ", "renamed: read_conf → read_config",
                 "moved: helper: app.c → moved.c", "1 new, 1 grew, 1 shrank, 1 gone"):
        hw.need(line in ended.text, f"no word of {line!r}: {ended.text}")


@TESTS.test
def mean_sizes(folder):
    """Blocks of one site have a size each if all have the same, else one on average"""
    source, rows = folder / "sizes.c", {}
    source.write_text("""#include <stdlib.h>
__attribute__((noinline)) void equal(size_t size) { *(void *volatile *)malloc(size) = 0; }
__attribute__((noinline)) void unlike(size_t size) { *(void *volatile *)malloc(size) = 0; }
int main(int argc, char **argv)
{
	(void)argv;
	for (size_t i = 0; argc > 1 && i < 3; i++, equal(100))
		unlike(100 + 200 * i);
	return 0;
}
""")
    built = hw.run([hw.need_program("gcc"), "-O1", "-g", "-o", folder / "sizes", source])
    hw.need(built.status == 0, f"{built}")
    for name, more in (("old", []), ("new", ["more"])):
        hw.need(heapwise("run", "-q", "-f", "-o", folder / f"{name}.hpw", folder / "sizes", *more).status == 0, name)
    for line in heapwise("diff", folder / "old.hpw", folder / "new.hpw").text.split("\n"):
        if " blocks, from 0 to 3 " in line:
            rows[line.split("to ")[1].split("  ")[0]] = line
    hw.need(" 100 B each " in rows.get("300 B", "") and " 300 B on average " in rows.get("900 B", ""), f"{rows}")


@TESTS.test
def rebuilt(folder):
    """The same program, built elsewhere and optimised, shows no change; nor does a second run"""
    first, second = recording(folder, DIFF / "diff_old-O0", "first"), recording(folder, DIFF / "diff_old-O0", "second")
    other = recording(folder, DIFF / "diff_old-O2", "other")
    for a, b in ((first, second), (first, other), (other, first)):
        ended = heapwise("diff", a, b)
        hw.need("Nothing changed" in ended.text, ended.text)
        found = diff(a, b)
        hw.need(not found["rows"] and not found["renames"], f"{found['rows']}")
        hw.need(found["totals"]["live_bytes"]["change"] == 0, "totals differ")


@TESTS.test
def every_target(folder):
    """A rebuild at another level of optimisation changes no total by more than the program does itself"""
    for name in ("containers", "names", "inlined", "peak_twice"):
        a = recording(folder, hw.TARGETS / f"{name}-O0")
        b = recording(folder, hw.TARGETS / f"{name}-O2")
        found = diff("--metric", "allocated_bytes", a, b)
        total = found["totals"]["allocated_bytes"]["change"]
        rows = sum(row["allocated_bytes"]["change"] for row in found["rows"])
        hw.need(rows == total, f"{name}: rows differ by {rows}, totals by {total}")


@TESTS.test
def moments(folder):
    """Two moments of one recording are compared line by line"""
    path = recording(folder, hw.TARGETS / "peak_twice-O2")
    found = diff(f"{path}@start", f"{path}@peak")
    hw.need(found["same_recording"] and found["totals"]["live_bytes"]["older"] == 0, "the start is not empty")
    peak = hw.report(path)["totals"]["peak_bytes"]
    hw.need(found["totals"]["live_bytes"]["newer"] == peak, "the peak is another")
    hw.need({row["status"] for row in found["rows"]} == {"new"}, "not all of it is new")
    hw.need(sum(row["live_bytes"]["change"] for row in found["rows"]) == peak, "rows are not the peak")
    back = diff(f"{path}@peak", f"{path}@start")
    hw.need({row["status"] for row in back["rows"]} == {"gone"}, "backwards not all of it is gone")


@TESTS.test
def documented(folder):
    """Every member is documented"""
    a, b = recording(folder, DIFF / "diff_old-O0"), recording(folder, DIFF / "diff_new-O2")
    pages = [hw.SOURCE / "docs/schema" / name for name in ("diff-1.md", "report-1.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    known = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]*)`", text))))
    hw.need(not undocumented(diff(a, b), known), f"{undocumented(diff(a, b), known)}")


@TESTS.test
def gate(folder):
    """--fail-on-growth exits with 1 above the limit and says where most grew"""
    a, b = recording(folder, DIFF / "diff_old-O0"), recording(folder, DIFF / "diff_new-O2")
    growth = diff(a, b)["totals"]["live_bytes"]["change"]
    for limit, status in (("0", 1), (str(growth - 1), 1), (str(growth), 0), ("1M", 0), ("5%", 1), ("1000%", 0)):
        ended = heapwise("diff", "--fail-on-growth", limit, a, b)
        hw.need(ended.status == status, f"{limit}: {ended}")
        hw.need(("grows" in ended.errors) == bool(status), f"{limit}: {ended}")
        hw.need("Live memory grew" in ended.text, f"{limit}: no result")
    hw.need(heapwise("diff", "--fail-on-growth", "0", b, a).status == 0, "shrinking fails")
    hw.need(heapwise("diff", "--fail-on-growth", "0", a, a).status == 0, "no change fails")
    sample = recording(folder, DIFF / "diff_new-O2", "sample", ("-q", "--mode", "sample:64"))
    for pair in ((a, sample), (sample, a)):
        ended = heapwise("diff", "--metric", "temporary", "--fail-on-growth", "0", *pair)
        hw.need(ended.status == 3 and "a sample does not record" in ended.errors, str(ended))
    cut = folder / "cut.hpw"
    cut.write_bytes(a.read_bytes()[:a.stat().st_size * 2 // 3])
    for pair in ((a, cut), (cut, a)):
        ended = heapwise("diff", "--fail-on-growth", "1G", *pair)
        hw.need(ended.status == 3 and "can't decide whether live_bytes grew by more than 1G" in ended.errors, str(ended))
        hw.need("cut.hpw: the recording is incomplete" in ended.errors, str(ended))


@TESTS.test
def filtered(folder):
    """Stacks are chosen as in reports; totals stay those of the processes"""
    a, b = recording(folder, DIFF / "diff_old-O0"), recording(folder, DIFF / "diff_new-O2")
    found = diff("--focus", "grows", a, b)
    hw.need(places(found) == {"grown": PLANTED["grown"]}, f"{places(found)}")
    hw.need(found["totals"]["live_bytes"] == diff(a, b)["totals"]["live_bytes"], "totals are others")
    hw.need(len(diff("--limit", "1", "--metric", "allocations", a, b)["rows"]) <= 4, "--limit is not kept")


@TESTS.test
def normalized(folder):
    """--normalize makes totals equal"""
    a, b = recording(folder, DIFF / "diff_old-O0"), recording(folder, DIFF / "diff_new-O2")
    totals = diff("--normalize", a, b)["totals"]
    wrong = [name for name, figure in totals.items() if figure["change"] and figure["newer"]]
    hw.need(not wrong, f"{wrong} differ")


@TESTS.test
def samples(folder):
    """Two samples of one program differ within the error"""
    program = hw.TARGETS / "containers-O2"
    paths = [recording(folder, program, f"sample{i}", ("-q", "--mode", "sample:256")) for i in (1, 2)]
    found = diff("--metric", "allocated_bytes", *paths)
    hw.need(found["totals"]["temporary"] is None, "temporary is known of a sample")
    total = found["totals"]["allocated_bytes"]
    hw.need(total["range"] and total["range"][0] <= total["change"] <= total["range"][1], f"{total}")
    sure = [row for row in found["rows"] if not row["allocated_bytes"]["within_error"]]
    hw.need(len(sure) <= max(2, len(found["rows"]) // 5), f"{len(sure)} of {len(found['rows'])} are called certain")


@TESTS.test
def comma_separated(folder):
    """CSV has the rows of JSON, of two recordings and of a trend; with other forms it is refused"""
    a, b = recording(folder, DIFF / "diff_old-O0"), recording(folder, DIFF / "diff_new-O2")
    rows = list(csv.DictReader(io.StringIO(heapwise("diff", "--csv", a, b).text)))
    for row, known in zip(rows, diff(a, b)["rows"], strict=True):
        hw.need(row["status"] == known["status"] and row["live_bytes.change"] == str(known["live_bytes"]["change"]),
                f"{row} is not {known}")
        hw.need(row["stack"].split(";")[0] == known["stack"][0]["function"], f"{row}")
    rows = list(csv.DictReader(io.StringIO(heapwise("diff", "--trend", "--csv", a, b).text)))
    for row, known in zip(rows, json.loads(heapwise("diff", "--trend", "--json", a, b).text)["rows"], strict=True):
        hw.need(row["values"] == ";".join(map(str, known["values"])) and row["steps"] == str(known["steps"][0]), f"{row}")
    refused = heapwise("diff", "--csv", "--json", a, b)
    hw.need(refused.status == 2 and "--csv and --json exclude each other" in refused.errors, str(refused))


@TESTS.test
def trend(folder):
    """--trend lists what grows in each step, with the steps, and nothing else"""
    old, new = recording(folder, DIFF / "diff_old-O0"), recording(folder, DIFF / "diff_new-O2")
    path = recording(folder, hw.TARGETS / "peak_twice-O2")
    ended = heapwise("diff", "--trend", old, new)
    hw.need(ended.status == 0 and "grows steadily" in ended.text and "shrinks" not in ended.text, str(ended))
    found = json.loads(heapwise("diff", "--trend", "--json", old, new).text)
    pages = [hw.SOURCE / "docs/schema" / name for name in ("trend-1.md", "report-1.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    known = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]*)`", text))))
    hw.need(found["schema"] == "heapwise.trend/1" and not undocumented(found, known), "not as documented")
    growing = {row["stack"][1]["function"]: row["steps"] for row in found["rows"]
               if row["stack"][0]["function"] == "xalloc"}
    hw.need(growing["grows"] == [20 * 307] and growing["leaks"] == [6 * 211], f"{growing}")
    once = json.loads(heapwise("diff", "--trend", "--json", old, new, new, new).text)
    hw.need(not once["rows"] and not once["total"]["grows"], "what grew once grows steadily")
    moments = json.loads(heapwise("diff", "--trend", "--json", f"{path}@start", f"{path}@peak").text)
    hw.need(moments["rows"] and moments["total"]["values"][0] == 0, "nothing grew up to the peak")


@TESTS.test
def merged(folder):
    """--merge adds recordings up: totals are sums, one place of several builds is one row, in every view"""
    old, new = recording(folder, DIFF / "diff_old-O0"), recording(folder, DIFF / "diff_new-O2")
    parts, whole = [hw.report(path) for path in (old, new)], hw.report(old, "--merge", new)
    hw.need(whole["recording"]["merged"] == 2, "it is not said")
    for name in ("allocations", "allocated_bytes", "frees", "live_bytes_at_end", "threads"):
        hw.need(whole["totals"][name] == sum(part["totals"][name] for part in parts), f"{name}: {whole['totals']}")
    grows = [site for site in whole["sites"] if any(frame["function"] == "grows" for frame in site["stack"])]
    hw.need([site["live_bytes"] for site in grows] == [30 * 307], f"{[site['live_bytes'] for site in grows]}")
    sizes = {row["size"]: row["allocations"] for row in hw.report(old, "--merge", new, "--view", "sizes")["sizes"]}
    hw.need(sizes[307] == 30 and list(sizes.values()) and sizes[101] == 20, f"{sizes}")
    hw.need(len(hw.report(old, "--merge", new, old, "--view", "threads")["threads"]) == 3, "threads are missing")
    tree = heapwise("tree", "--merge", "--metric", "live_bytes", old, new)
    hw.need(tree.status == 0 and tree.text.count("grows") == 1, str(tree))
    text = heapwise("report", "--merge", old, new).text
    hw.need("2 recordings added up" in text and "reached at different times" in text, text)
    one = hw.report(old, "--merge")
    hw.need(one["totals"] == parts[0]["totals"] and one["recording"]["merged"] == 0, "one alone is another")
    for arguments, status in ((("report", "--merge", old, folder / "none"), 3), (("tree", old, new), 2)):
        ended = heapwise(*arguments)
        hw.need(ended.status == status and ended.text == "", f"{arguments}: {ended}")


@TESTS.test
def views(folder):
    """Other views show the differences: as --view, and with --base as their own commands"""
    old, new = recording(folder, DIFF / "diff_old-O0"), recording(folder, DIFF / "diff_new-O2")
    text = heapwise("diff", "--view", "tree", old, new)
    hw.need(text.status == 0 and text.errors == "" and "stale" in text.text and "-316 B" in text.text, str(text))
    direct = heapwise("tree", "--base", old, "--metric", "live_bytes", new)
    hw.need(direct.text == text.text, f"tree --base shows something else: {direct.text}")
    folded = heapwise("flame", "--folded", "--metric", "live_bytes", "--base", old, new).text
    figures = {line.rpartition(";")[0].rpartition(";")[2]: tuple(map(int, line.split()[-2:]))
               for line in folded.splitlines()}
    hw.need(figures["grows"] == (5 * 307, 25 * 307) and figures["stale"] == (4 * 79, 0), f"{figures}")
    hw.need(folded.count(";main;") == len(folded.splitlines()), "old and new stacks do not meet in main")
    focused = heapwise("diff", "--view=tree", "--focus", "grows", "--limit", "3", old, new)
    hw.need(focused.status == 2, "options that a tree has not are taken")
    focused = heapwise("diff", "--view=tree", "--focus", "grows", old, new)
    hw.need("grows" in focused.text and "stale" not in focused.text, str(focused))
    listed = heapwise("list", "--base", old, "grows", new)
    hw.need(listed.status == 0 and "+6.00 KiB" in listed.text, str(listed))
    drawn = heapwise("graph", "--metric", "live_bytes", "--base", old, new)
    hw.need(drawn.status == 0 and "stale" in drawn.text, str(drawn))
    path = recording(folder, hw.TARGETS / "peak_twice-O2")
    moments = heapwise("diff", "--view", "tree", f"{path}@start", f"{path}@peak")
    hw.need(moments.status == 0 and "first_peak" in moments.text, str(moments))
    for arguments, status, word in ((("diff", "--view", "pie", old, new), 2, "flame"),
                                    (("diff", "--view", "tree", "--normalize", old, new), 2, "--normalize"),
                                    (("tree", "--base", folder / "none.hpw", new), 3, "none.hpw"),
                                    (("tree", "--base", f"{old}@never", new), 2, "invalid moment")):
        ended = heapwise(*arguments)
        hw.need(ended.status == status and word in ended.errors and not ended.text, f"{arguments}: {ended}")


@TESTS.test
def refused(folder):
    """Wrong use is refused and says what would be right"""
    path = recording(folder, DIFF / "diff_old-O0")
    for arguments, status, word in (
            ((), 2, "two recordings"),
            ((path,), 2, "two recordings"),
            ((path, path, path), 2, "two recordings"),
            ((path, f"{path}@nonsense"), 2, "invalid moment"),
            ((path, f"{path}@mark:none"), 3, "none"),
            ((path, folder / "none.hpw"), 3, "none.hpw"),
            ((path, __file__), 3, Path(__file__).name),
            (("--metric", "nonsense", path, path), 2, "live_bytes"),
            (("--fail-on-growth", "much", path, path), 2, "--fail-on-growth"),
            (("--trend", path), 2, "expected 2 to"),
            (("--trend", "--normalize", path, path), 2, "--normalize"),
            (("--view", "tree", "--limit", "3", path, path), 2, "--limit can't be used with --view tree"),
            (("--fail-on-growth", "-1%", path, path), 2, "--fail-on-growth")):
        ended = heapwise("diff", *arguments)
        hw.need(ended.status == status and ended.text == "" and word in ended.errors, f"{arguments}: {ended}")


TESTS.main()
