#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of other tools' files: those of Massif's last snapshot decide, what a file does not say is null, and a recording beside
its own export shows no change."""

import csv
import io
import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()


def snapshot(number, time, heap, tree=""):
    rule = "#-----------\n"
    return (f"{rule}snapshot={number}\n{rule}time={time}\nmem_heap_B={heap}\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
            f"heap_tree={'detailed' if tree else 'empty'}\n{tree}")


def tree(heap):
    return (f"n1: {heap} (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
            f" n0: {heap} 0x1001: keep (app.c:3)\n")


def massif(folder, name, *snapshots):
    path = folder / name
    path.write_text("desc: (none)\ncmd: ./app\ntime_unit: i\n" + "".join(snapshots), encoding="ascii")
    return path


def budget(path, status, *limits):
    ended = hw.heapwise("budget", *limits, path)
    hw.need(ended.status == status, f"{limits}: expected {status}: {ended} {ended.text}")


@TESTS.test
def unknown_places(folder):
    """heaptrack's files don't say where a library was: its code without a name has an address, and no offset in a file"""
    path = folder / "heaptrack.app"
    path.write_text("v 10400 3\nX ./app\ns e /opt/libown.so\ni 7f190b0a3120 1\nt 1 0\na 3e8 1\n+ 0\n", encoding="ascii")
    text = hw.ask("report", path)
    hw.need("0x7f190b0a3120 in libown.so" in text and "libown.so+0x" not in text, text)
    frame = hw.report(path)["top"]["never_freed"][0]["stack"][0]
    hw.need(frame["address"] == "0x7f190b0a3120" and frame["offset"] is None, f"{frame}")
    dump = hw.ask("export", "--format", "mtrace", path)
    hw.need("/opt/libown.so:[0x7f190b0a3120]" in dump, dump)


@TESTS.test
def massif_end(folder):
    """Massif's last snapshot is not the program's end, and what follows it may be a peak: only that the peak is exceeded is certain"""
    grown = massif(folder, "grown.out", snapshot(0, 0, 0), snapshot(1, 10, 82000, tree(82000)), snapshot(2, 20, 322000))
    budget(grown, 1, "--max-peak", "321999")
    for limit in ("--max-peak", "--max-never-freed", "--max-per-stack"):
        budget(grown, 3, limit, "10M")
    for limit in ("--max-never-freed", "--max-per-stack"):
        budget(grown, 3, limit, "90000")
    text = hw.ask("report", grown)
    hw.need("snapshot 2, the last one" in text and "last wrote allocation sites for snapshot 1" in text and "none at the program's end" in text, text)
    empty = massif(folder, "empty.out", snapshot(0, 0, 0), snapshot(1, 10, 82000, tree(82000)), snapshot(2, 20, 0))
    budget(empty, 3, "--max-never-freed", "0", "--max-per-stack", "0")
    budget(empty, 1, "--max-peak", "0")
    bare = massif(folder, "bare.out", snapshot(0, 0, 0), snapshot(1, 10, 5000), snapshot(2, 20, 700))
    totals = hw.report(bare)["totals"]
    hw.need((totals["live_bytes_at_end"], totals["peak_bytes"]) == (700, 5000), f"{totals}")
    for older, newer in ((empty, grown), (bare, grown), (grown, grown)):
        ended = hw.heapwise("diff", "--fail-on-growth", "0", older, newer)
        hw.need(ended.status == 3, f"{older} {newer}: {ended}")


@TESTS.test
def unknown_is_no_place(folder):
    """What a file has of no tree, of no stack, or of no name, is from unknown allocation sites, and never one allocation site; nor is it in what is written of it"""
    grown = massif(folder, "of_no_tree.out", snapshot(0, 0, 0), snapshot(1, 10, 80, tree(80)), snapshot(2, 20, 320))
    small = massif(folder, "below.out", snapshot(0, 0, 0), snapshot(
        1, 10, 90, "n1: 90 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n n0: 90 in 7 places, all below massif's threshold (1.00%)\n"))
    folded = folder / "unnamed.folded"
    folded.write_text("[unknown];[unknown] 240\nmain;keep 80\n", encoding="ascii")
    bare = folder / "heaptrack.bare"
    bare.write_text("v 10400 3\nX ./app\na 140 0\n+ 0\n", encoding="ascii")
    files = {grown: "75%", small: "all", folded: "75%", bare: "all"}
    for file, share in list(files.items()):
        for form in ("pprof", "folded"):
            more = ("--metric", "live_bytes") if form == "folded" else ()
            files[folder / f"{file.name}.{form}"] = share
            hw.ask("export", "--format", form, *more, "-o", folder / f"{file.name}.{form}", file)
    for file, share in files.items():
        said = hw.report(file)["verdict"]
        hw.need(f", {share} of it from unknown allocation sites" in "; ".join(said), f"{file}: {said}")
        known = "; ".join(said).count("one allocation site: keep")
        hw.need("; ".join(said).count("one allocation site") == known and (known > 0) == (share == "75%"), f"{file}: {said}")


@TESTS.test
def unknown_is_not_written(folder):
    """Figures that a file does not have are in no profile of pprof, where 0 would say that there was nothing; what cannot do without is refused"""
    grown = massif(folder, "grown.out", snapshot(0, 0, 0), snapshot(1, 10, 80000, tree(80000)))
    profile = folder / "grown.pb.gz"
    said = hw.heapwise("export", "--format", "pprof", "-o", profile, grown)
    hw.need(said.status == 0 and "Unknown and therefore omitted: alloc_objects, alloc_space, inuse_objects." in said.errors, f"{said}")
    hw.need("--at peak" not in said.errors, f"Massif has no such moment: {said}")
    totals = hw.report(profile)["totals"]
    hw.need((totals["allocations"], totals["live_blocks_at_end"], totals["live_bytes_at_end"]) == (None, None, 80000), f"{totals}")
    for form in ("gperftools", "jemalloc"):
        said = hw.heapwise("export", "--format", form, "-o", folder / form, grown)
        hw.need(said.status == 3 and "contains the number of live blocks" in said.errors and not (folder / form).exists(), f"{said}")


@TESTS.test
def names_without_files(folder):
    """Functions of which only the names are known keep them in dumps of addresses, for their own tools too"""
    recording = folder / "a.hpw"
    hw.record([hw.ANSWERS / "peaks_more", "100", "800"], recording, options=("-q",))
    for source in ("dhat", "heaptrack"):
        hw.ask("export", "--format", source, "-o", folder / source, recording)
        for form, tool in (("gperftools", "google-pprof"), ("jemalloc", "jeprof")):
            path = folder / f"{source}.{form}"
            hw.ask("export", "--format", form, "-o", path, folder / source)
            report = hw.report(path)
            hw.need(report["recording"]["complete"] and report["recording"]["source"] == form, f"{report['recording']}")
            hw.need("all of it from one allocation site: keep" in "; ".join(report["verdict"]), f"{report['verdict']}")
            if shutil.which(tool):
                said = hw.run([tool, "--text", "--inuse_space", path])
                hw.need(" keep" in said.text, f"{tool}: {said} {said.text}")


@TESTS.test
def blocks_uncounted(folder):
    """Bytes of which a file counts no blocks are there in lists, limits and comparisons, and no number of blocks is made up"""
    path = folder / "some.folded"
    path.write_text("main;keep 5000\nmain;other 700\n", encoding="ascii")
    text = hw.ask("report", "--view", "never-freed", path)
    hw.need("4.88 KiB" in text and "keep" in text and "block" not in text, text)
    ended = hw.heapwise("budget", "--max-per-stack", "1K", "--max-never-freed", "1K", path)
    hw.need(ended.status == 1 and "EXCEEDED" in ended.text and "0 blocks" not in ended.text, f"{ended} {ended.text}")
    checks = json.loads(hw.heapwise("budget", "--json", "--max-per-stack", "1K", path).text)["checks"]
    hw.need((checks[0]["value"], checks[0]["findings"][0]["blocks"]) == (5000, None), f"{checks}")
    less = folder / "less.folded"
    less.write_text("main;keep 4000\n", encoding="ascii")
    text = hw.ask("diff", less, path)
    hw.need("from 3.91 KiB to 4.88 KiB" in text and "blocks" not in text, text)


JEMALLOC = """heap_v2/{period}
  t*: 2: 16 [0: 0]
  t0: 2: 16 [0: 0]
@ 0x1001 0x2001
  t*: 2: 16 [0: 0]
  t0: 2: 16 [0: 0]

MAPPED_LIBRARIES:
00001000-00003000 r-xp 00000000 00:00 1 /opt/none/app
"""


@TESTS.test
def every_block(folder):
    """A dump of jemalloc's with lg_prof_sample:0 has every block: it is no estimate"""
    path = folder / "exact.heap"
    path.write_text(JEMALLOC.format(period=1), encoding="ascii")
    found = hw.report(path)
    hw.need(found["totals"]["live_bytes_at_end"] == 16 and found["totals"]["live_blocks_at_end"] == 2, f"{found['totals']}")
    hw.need(found["recording"]["sample_bytes"] in (0, None) and "estimates" not in hw.ask("report", path), "it is called sampled")
    budget(path, 0, "--max-never-freed", "16")
    path.write_text(JEMALLOC.format(period=524288), encoding="ascii")
    hw.need("estimates" in hw.ask("report", path), "it is not called sampled")
    budget(path, 3, "--max-never-freed", "1M")


@TESTS.test
def not_said(folder):
    """What a file does not say is null in JSON and empty in CSV, and no gate rests on it"""
    path = folder / "exact.heap"
    path.write_text(JEMALLOC.format(period=1), encoding="ascii")
    found = hw.report(path)
    for member in ("allocations", "allocated_bytes", "frees", "failed", "temporary", "peak_bytes", "peak_blocks", "threads"):
        hw.need(found["totals"][member] is None, f"{member} is {found['totals'][member]}")
    hw.need(found["totals"]["kept_bytes"] == 16, "what was live is not what was kept")
    for member in ("events", "lost_events", "duration_ns", "repairs", "mismatched_frees"):
        hw.need(found["recording"][member] is None, f"{member} is {found['recording'][member]}")
    hw.need(found["target"]["pid"] is None and found["target"]["wall_start_ns"] is None, f"{found['target']}")
    row = found["sites"][0]
    hw.need(row["allocations"] is None and row["min_size"] is None and row["live_bytes"] == 16, f"{row}")
    rows = list(csv.DictReader(io.StringIO(hw.ask("export", "--format", "csv", path))))
    hw.need(rows[0]["allocations"] == "" and rows[0]["live_bytes"] == "16", f"{rows}")
    for limit in ("--max-peak", "--max-allocations", "--max-temporary"):
        ended = hw.heapwise("budget", "--json", limit, "1G", path)
        check = json.loads(ended.text)["checks"][0]
        hw.need(ended.status == 3 and check["value"] is None, f"{check}")
    ended = hw.heapwise("diff", "--metric", "peak_bytes", "--fail-on-growth", "1G", path, path)
    hw.need(ended.status == 3, f"{ended}")


@TESTS.test
def own_exports(folder):
    """A recording beside what it was exported as shows no change, as far as the form can carry it"""
    path = folder / "a.hpw"
    for words, forms in (((hw.ANSWERS / "moved_leak", "1", "1"), ("pprof", "dhat", "gperftools", "heaptrack", "folded")),
                         ((hw.ANSWERS / "all_operators",), ("pprof", "dhat", "gperftools", "heaptrack"))):
        hw.record(words, path)
        for form in forms:
            exported = folder / f"a.{form}"
            hw.ask("export", "--format", form, *(("--metric", "live_bytes") if form == "folded" else ()), "-o", exported, path)
            for older, newer in ((path, exported), (exported, path)):
                text = hw.ask("diff", "--fail-on-growth", "0", older, newer)
                found = json.loads(hw.ask("diff", "--json", older, newer))
                hw.need("Nothing changed" in text and not found["rows"], f"{form}: {text}")
                hw.ask("budget", "--baseline", older, "--max-growth", "0", newer)
            exported.unlink()
        path.unlink()


@TESTS.test
def one_caller(folder):
    """Why the places of a log of mtrace are not those of a recording is said"""
    path, log = folder / "a.hpw", folder / "a.log"
    hw.record([hw.ANSWERS / "all_operators"], path)
    hw.ask("export", "--format", "mtrace", "-o", log, path)
    text = hw.ask("diff", path, log)
    hw.need("Live memory is the same" in text and "only one caller of each call" in text, text)


@TESTS.test
def modules_of_the_other(folder):
    """Beside a file without modules a program's own functions are not called made at run time"""
    path, other = folder / "a.hpw", folder / "b.dhat"
    hw.record([hw.ANSWERS / "all_operators"], path)
    hw.ask("export", "--format", "dhat", "-o", other, path)
    other.write_text(other.read_text().replace("work", "toil").replace("nest", "rest"))
    for files in ((path, other), (other, path)):
        text = hw.ask("diff", *files)
        hw.need("work" in text and "toil" in text and "made at run time" not in text, text)


@TESTS.test
def figures_that_rest_on_less(folder):
    """A format that can't say that figures are of a sample, or of a program that was killed, is said to"""
    sample, killed = folder / "a.hpw", folder / "b.hpw"
    hw.record([hw.ANSWERS / "all_operators"], sample, options=("-q", "--mode=sample:64"))
    hw.record([hw.ANSWERS / "killed", "kill", "held"], killed)
    for form, of_sample, of_end in (("dhat", True, True), ("csv", True, True), ("pprof", False, True), ("jemalloc", False, True),
                                    ("json", False, False)):
        for path, words, wanted in ((sample, "estimates of a sample", of_sample), (killed, "killed by a signal", of_end)):
            ended = hw.heapwise("export", "--format", form, "-o", folder / "out", path)
            hw.need(ended.status == 0 and (words in ended.errors) == wanted, f"{form} of {path.name}: {ended}")


TESTS.main()
