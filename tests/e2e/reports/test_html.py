#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""heapwise html: the page has the documents of the commands, all stacks with their figures, and no word of the
program outside of its data; what doesn't fit is summed up and said."""

import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pagefile import DATA, METRICS, Page

TESTS = hw.Tests()
INLINED, UNKNOWN, RUNTIME, REMARK = 1, 2, 4, 8
COMMANDS = {"report": ("report",), "timeline": ("timeline",), "leaks": ("leaks", "--show-leak-kinds=all", "--gen-suppressions=yes")}
ALL = {"report", "functions", "files", "modules", "threads", "sizes", "lifetimes", "timeline", "leaks"}
# Rows of documents that the columns have, too.
LIMITS = {"report": 25, "functions": 100, "files": 100, "modules": 100}


def recording(folder, name="a.hpw", program="containers-O2", options=()):
    path = folder / name
    ended = hw.record([hw.TARGETS / program], path, options=("-q", *options))
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def page_of(path, *options, **more):
    ended = heapwise("html", path, "-o", "-", *options, **more)
    hw.need(ended.status == 0, f"{path} {options}: {ended}")
    return Page(ended.text)


def document(name, path, *options):
    command = COMMANDS.get(name, ("report", "--view", name))
    ended = heapwise(*command, path, "--json", *options)
    hw.need(ended.status == 0, f"{name}: {ended}")
    return json.loads(ended.text)


def without_peak_note(answer):
    """A page has a timeline; a note of samples about the time of the peak, which goes with that, is in its other answers."""
    notes = [re.sub(r" What all samples show of the time of the peak .*?\(docs/quantities\.md, Peak of a sample\)\.", "", note)
             for note in answer.get("notes") or []]
    return {**answer, "notes": notes}


def check_documents(page, path, *options):
    for name, found in page.documents.items():
        expected = document(name, path, *([] if name == "leaks" else options))
        hw.need(without_peak_note(found) == without_peak_note(expected), f"{name} is another one")


def check_sums(page, totals):
    for name, value in page.sums().items():
        hw.need(value == totals[METRICS[name]], f"{name}: rows {value}, report {totals[METRICS[name]]}")


@TESTS.test
def documents(folder):
    """Documents are those of the commands, byte by byte but for spaces"""
    path = recording(folder, options=("--leak-check=full",))
    page = page_of(path)
    hw.need(page.header["schema"] == "heapwise.page/1" and page.header["kind"] == "recording", str(page.header.keys()))
    hw.need(page.header["title"] == "a.hpw", page.header["title"])
    hw.need(ALL <= set(page.documents), f"missing: {ALL - set(page.documents)}")
    hw.need(page.header["cut"] == {"rows": None, "moments": None, "limit": 1000, "limits": LIMITS, "documents": {}, "missing": {}, "figures": {}}, str(page.header["cut"]))
    check_documents(page, path)


@TESTS.test
def figures(folder):
    """Rows are those of the view sites, and add up to the totals"""
    path = recording(folder)
    page = page_of(path)
    check_sums(page, hw.report(path)["totals"])
    hw.need(set(page.sums()) == set(METRICS), f"missing: {set(METRICS) - set(page.sums())}")
    kinds, stacks = page.words("row.kind"), page.stacks()
    remarks = {name for name, flags in zip(page.words("frame.whole"), page.columns["frame.flags"]) if flags & REMARK}
    found = sorted((kinds[i], tuple(name for name in stacks[i] if name not in remarks), *(page.columns[f"row.{name}"][i] for name in sorted(METRICS)))
                   for i in range(len(stacks)))
    sites = hw.report(path, "--view", "sites")["sites"]
    wanted = sorted((site["kind"],
                     tuple(frame["function"] or name_of(frame) for frame in reversed(site["stack"])),
                     *(site[name] for name in sorted(METRICS))) for site in sites)
    hw.need(found == wanted, f"{found[:2]} … {wanted[:2]}")


def name_of(frame):
    return f"{os.path.basename(frame['module'])}+{frame['offset']}"


def leaves(node, path=()):
    for child in node["children"]:
        below = (*path, child["name"])
        if child["self"]:
            yield below, child["self"]
        yield from leaves(child, below)


@TESTS.test
def lost(folder):
    """What a search found to be lost is in the rows, and adds up to the leaks"""
    path = recording(folder, program="leaks/trees-O2", options=("--leak-check=full",))
    page = page_of(path)
    leaks = document("leaks", path)["leaks"]["summary"]
    for unit in ("bytes", "blocks"):
        wanted = leaks["definite"][unit] + leaks["indirect"][unit]
        hw.need(wanted and sum(page.columns[f"row.lost_{unit}"]) == wanted, f"{unit}: {wanted}")
    for value, bits, live in zip(page.columns["row.lost_bytes"], page.columns["row.leak"], page.columns["row.live_bytes"]):
        hw.need(bool(value) == bool(bits & 3) and value <= live, f"{value} of {live}, {bits}")
    hw.need("row.lost_bytes" not in page_of(recording(folder, "b.hpw")).columns, "nothing was searched")
    hw.need("row.lost_bytes" not in page_of(path, "--kind", "malloc").columns, "rows are filtered")


@TESTS.test
def sampled(folder):
    """Of a sample: the estimates of the report; what is unknown has no column"""
    path = recording(folder, options=("--mode", "sample"))
    page = page_of(path)
    totals = hw.report(path)["totals"]
    check_sums(page, totals)
    hw.need("row.temporary" not in page.columns and totals["temporary"] is None, "temporary is unknown")
    check_documents(page, path)


@TESTS.test
def trees(folder):
    """The page's stacks make the tree of the command, with short names beside whole ones"""
    path = recording(folder)
    page = page_of(path)
    tree = json.loads(hw.ask("tree", path, "--metric", "allocated_bytes", "--json"))["tree"]
    found = {}
    for stack, value in zip(page.stacks(), page.columns["row.allocated_bytes"]):
        if value:
            found[stack] = found.get(stack, 0) + value
    hw.need(found == dict(leaves(tree)), f"{sorted(found.items())[:1]} … {sorted(leaves(tree))[:1]}")
    spots = {spot["function"]: spot for spot in hw.report(path, "--view", "functions")["spots"]}
    for whole, short in zip(page.words("frame.whole"), page.words("frame.function")):
        if whole in spots:
            hw.need(short == (spots[whole]["short"] or whole), f"{whole}: {short}")


@TESTS.test
def frames(folder):
    """Files, lines, modules and flags of frames are those of the report"""
    path = recording(folder, program="inlined-O2")
    page = page_of(path)
    known = {(frame["function"], frame["file"] or "", frame["line"] or 0): frame
             for site in hw.report(path, "--view", "sites")["sites"] for frame in site["stack"] if frame["function"]}
    names = page.words("frame.whole" if "frame.whole" in page.columns else "frame.function")
    inlined = 0
    for name, file, line, module, flags in zip(names, page.words("frame.file"), page.columns["frame.line"],
                                               page.words("frame.module"), page.columns["frame.flags"]):
        if flags & (UNKNOWN | REMARK):
            continue
        frame = known[name, file, line]
        hw.need(module == frame["module"] and bool(flags & INLINED) == frame["inlined"], f"{name}: {module} {flags}")
        hw.need(name != "main" or not flags & RUNTIME, "main is the program's own")
        inlined += flags & INLINED
    hw.need(inlined, "nothing is inlined")


@TESTS.test
def moments_and_filters(folder):
    """--at, --focus and sizes of blocks are as of the report"""
    path = recording(folder)
    page = page_of(path, "--at", "peak")
    check_sums(page, hw.report(path, "--at", "peak")["totals"])
    check_documents(page, path, "--at", "peak")
    hw.need("leaks" not in page.documents and "whole recording" in page.header["cut"]["missing"]["leaks"],
            str(page.header["cut"]))
    page = page_of(f"{path}@peak")
    check_sums(page, hw.report(path, "--at", "peak")["totals"])
    page = page_of(path, "--min-size", "64")
    check_sums(page, hw.report(path, "--min-size", "64", "--view", "sites")["totals"])
    hw.need("lifetimes" not in page.documents, "lifetimes are those of all blocks")
    page = page_of(path, "--focus", "vector")
    sites = hw.report(path, "--focus", "vector", "--view", "sites")["sites"]
    hw.need(sites and page.sums()["allocations"] == sum(site["allocations"] for site in sites), str(page.sums()))
    hw.need(page.documents["functions"] == document("functions", path, "--focus", "vector"), "functions")
    ended = heapwise("html", path, "--focus", "nothing_is_called_so", "-o", "-")
    hw.need(ended.status == 3 and not ended.text, str(ended))


@TESTS.test
def container(folder):
    """--container writes what is in the page; --timeline no leaves out what happened over time, and says so"""
    path = recording(folder)
    ended = heapwise("html", path, "--container", "--timeline", "no")
    html = page_of(path, "--timeline", "no")
    hw.need(ended.status == 0 and ended.stdout == gzip.decompress(base64.b64decode(DATA.findall(html.html)[0])), "another container")
    missing = html.header["cut"]["missing"]
    hw.need({"timeline", "lifetimes"} <= set(missing) and "--timeline no" in missing["timeline"], str(missing))
    rest = {name: values for name, values in page_of(path).columns.items() if not name.startswith(("moment.", "cell."))}
    hw.need(html.columns == rest, f"columns changed: {set(html.columns) ^ set(rest)}")
    ended = heapwise("html", path, "--timeline", "perhaps")
    hw.need(ended.status == 2 and "--timeline" in ended.errors, str(ended))
    out = folder / "data"
    hw.need(heapwise("html", path, "--container", "-o", out).status == 0 and heapwise("html", path, "--container", "-o", out).status == 0, "again")
    hw.need(out.read_bytes() == heapwise("html", path, "--container").stdout, "another file")


@TESTS.test
def lifetimes(folder):
    """--lifetimes: without them the page says why, and all else is as it was"""
    path = recording(folder)
    whole, without = page_of(path, "--lifetimes", "yes"), page_of(path, "--lifetimes", "no")
    hw.need("--lifetimes no" in without.header["cut"]["missing"]["lifetimes"], str(without.header["cut"]))
    hw.need(whole.documents.pop("lifetimes") and whole.documents == without.documents, "other documents changed")
    hw.need(whole.columns == without.columns, "columns changed")
    ended = heapwise("html", path, "--lifetimes", "maybe", "-o", "-")
    hw.need(ended.status == 2 and "yes or no" in ended.errors, str(ended))


HOSTILE = '''#include <stdlib.h>
void *kept;
__attribute__((noinline)) void evil(void) __asm__("\\"</script><img src=x onerror=alert(1)>\\"");
void evil(void) { kept = malloc(100); }
int main(void) { evil(); return 0; }
'''


@TESTS.test
def hostile_names(folder):
    """Nothing of a program's names, arguments or files gets out of the data"""
    source, program = folder / "evil.c", folder / "a'\"><b>.bin"
    source.write_text(HOSTILE, encoding="utf-8")
    compiler = shutil.which("cc")
    if not compiler:
        raise hw.Skip("no compiler")
    subprocess.run([compiler, "-O0", "-o", program, source], check=True)
    path = folder / "</title><script>alert(2)<script>.hpw".replace("/", "")
    hw.record([program, "</script><script>alert(3)</script>", "\u2028<!--"], path)
    page = page_of(path)
    shell = DATA.sub("", page.html)
    for word in ("alert(", "onerror", "<b>", "evil"):
        hw.need(word not in shell, f"{word!r} is in the page itself")
    hw.need(shell == DATA.sub("", page_of(recording(folder)).html), "the shell depends on the program")
    hw.need(page.header["title"] == path.name, page.header["title"])
    hw.need(page.documents["report"]["target"]["command"][1] == "</script><script>alert(3)</script>", "the command")
    hw.need(any("onerror" in name for name in page.words("frame.function")), str(set(page.words("frame.function"))))


@TESTS.test
def foreign_files(folder):
    """Of files of other tools: what they know; the page says why the rest is missing"""
    path = recording(folder)
    for form, end in (("pprof", "pb.gz"), ("heaptrack", "gz"), ("massif", "out"), ("dhat", "json"), ("jemalloc", "heap")):
        file = folder / f"profile.{end}"
        hw.ask("export", path, "--format", form, "-o", file)
        page = page_of(file)
        totals = hw.report(file)["totals"]
        for name, value in page.sums().items():
            hw.need(value == totals[METRICS[name]], f"{form}: {name} {value}, report {totals[METRICS[name]]}")
        for name in set(METRICS) - set(page.sums()):
            hw.need(totals[METRICS[name]] is None, f"{form}: no column {name}, but the report has it")
        check_documents(page, file)
        hw.need(page.header["kind"] == "profile", page.header["kind"])
        for name in ALL - set(page.documents):
            hw.need(page.header["cut"]["missing"][name], f"{form}: {name} is missing, and nobody says why")


@TESTS.test
def incomplete(folder):
    """A recording that ends early: the report in the page says so; one without anything has no rows"""
    path = recording(folder)
    cut = folder / "cut.hpw"
    cut.write_bytes(path.read_bytes()[:path.stat().st_size * 2 // 3])
    ended = heapwise("html", cut, "-o", "-")
    page = Page(ended.text)
    hw.need(page.documents["report"]["recording"]["complete"] is False, "complete")
    hw.need(ended.errors.count("is incomplete") == 1, f"said once: {ended}")
    check_sums(page, hw.report(cut)["totals"])
    none = folder / "none.hpw"
    hw.record(["/bin/true"], none)
    if none.exists() and not hw.report(none)["totals"]["allocations"]:
        hw.need(not page_of(none).columns["row.node"], "rows of nothing")
    ended = heapwise("html", folder / "nowhere.hpw")
    hw.need(ended.status == 3 and "nowhere.hpw" in ended.errors, str(ended))


@TESTS.test
def cut(folder):
    """Under a limit of bytes the smallest stacks are one row, tables are shorter, and the sums stay"""
    path = recording(folder)
    rows = len(page_of(path).columns["row.node"])
    ended = heapwise("html", path, "-o", "-", "--page-limit", "100")
    hw.need(ended.status == 4 and "doesn't fit" in ended.errors and not ended.text, str(ended))
    least, totals, counts = int(ended.errors.split()[-1]), hw.report(path)["totals"], set()
    for limit in (least, least + 400, least + 800, least * 4 // 3, least * 2):
        page = page_of(path, "--page-limit", str(limit))
        hw.need(len(page.html.encode()) <= limit, f"{len(page.html.encode())} bytes, not {limit}")
        check_sums(page, totals)
        said = page.header["cut"]
        shown = len(page.columns["row.node"])
        hw.need(shown == (rows - said["rows"] + 1 if said["rows"] else rows), f"{said}: {shown} of {rows}")
        if said["rows"]:
            hw.need(page.stacks()[-1] == (f"({said['rows']} smaller stacks)",), str(page.stacks()[-1]))
            hw.need(page.columns["frame.flags"][-1] == REMARK, "the sum is no remark")
        if said["rows"] and shown > 1:
            sites = hw.report(path, "--view", "sites")["sites"]
            names = [name.removeprefix("row.") for name in page.columns if name.removeprefix("row.") in sites[0] and name != "row.kind"]
            wholes = {name: sum(site[name] or 0 for site in sites) for name in names}
            shares = [max((site[name] or 0) / wholes[name] for name in names if wholes[name]) for site in sites]
            least_shown = sorted(shares, reverse=True)[shown - 2]
            for site, share in zip(sites, shares):
                hw.need(share <= least_shown or site["allocated_bytes"] in page.columns["row.allocated_bytes"],
                        f"{site['allocated_bytes']} B with {share:.3f} of all are not there, {least_shown:.3f} are")
        spots, left_out = page.documents["functions"], said["documents"].get("functions", 0)
        hw.need(len(spots["spots"]) + left_out == spots["spots_total"], str(said))
        hw.need(not left_out or len(spots["spots"]) == said["limits"].get("functions", said["limit"]), str(said))
        counts.add(shown)
    hw.need(len(counts) > 2 and 1 in counts, f"rows of all pages: {counts} of {rows}")


@TESTS.test
def outputs(folder):
    """The page is named after the recording; a file that is no page stays; equal input gives equal bytes"""
    path = recording(folder)
    ended = heapwise("html", path, cwd=folder)
    hw.need(ended.status == 0 and "a.html" in ended.errors and not ended.text, str(ended))
    made = folder / "a.html"
    text = made.read_text(encoding="utf-8")
    hw.need(text == page_of(path).html, "stdout has another page")
    hw.need(heapwise("html", path, cwd=folder).status == 0 and made.read_text(encoding="utf-8") == text, "again")
    other = folder / "notes.html"
    other.write_text("<html>mine</html>", encoding="utf-8")
    ended = heapwise("html", path, "-o", other)
    hw.need(ended.status == 4 and "-f" in ended.errors and "mine" in other.read_text(encoding="utf-8"), str(ended))
    ended = heapwise("html", path, "-o", other, "-f")
    hw.need(ended.status == 0 and other.read_text(encoding="utf-8") == text, str(ended))
    before = path.read_bytes()
    ended = heapwise("html", path, "-f", "-o", path)
    hw.need(ended.status and path.read_bytes() == before, f"the recording itself: {ended}")
    hw.need(heapwise("html", path, "-o", "/dev/null").status == 0, "/dev/null")
    ended = heapwise("html", path, path)
    hw.need(ended.status == 2 and "one recording" in ended.errors, str(ended))


@TESTS.test
def anonymous(folder):
    """--anonymize: no names in the data either"""
    path = recording(folder)
    page = page_of(path, "--anonymize")
    check_sums(page, hw.report(path)["totals"])
    text = json.dumps(page.header)
    for word in ("containers-O2", "containers.cc", str(hw.TARGETS), os.uname().nodename + '"'):
        hw.need(word not in text, f"{word} is in it")
    asked = page_of(path, "--anonymize", "--at=peak").header["asked"]
    hw.need(asked == ["--anonymize", "--at"], f"an argument may be a name: {asked}")
    hw.need(page_of(path, "--at=peak").header["asked"] == ["--at=peak"], "the page does not say what it is of")


TESTS.main()
