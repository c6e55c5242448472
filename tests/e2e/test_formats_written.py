#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""heapwise export: what is written is read back by the tools that read such files, with the report's figures. Needs
valgrind, google-perftools, jeprof, node (`./dev deps --peers`); pprof's own is test_pprof.py."""

import difflib
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
PERL = "my @a = map { 'x' x $_ } 1 .. 3000; my %h = map { $_ => [$_] } 1 .. 500; sub f { my $n = shift; $n ? f($n - 1) : join ',', 1 .. 999 } $h{$_} = f($_) for 1 .. 40"


def heapwise(*arguments, **more):
    return hw.run([hw.HEAPWISE, *arguments], **more)


def ask(*arguments):
    ended = heapwise(*arguments)
    hw.need(ended.status == 0, f"{arguments}: {ended}")
    return ended.text


def recorded(folder, program=None, name="own", options=()):
    path = folder / f"{name}.hpw"
    if not path.exists():
        command = [hw.TARGETS / program] if program else ["/usr/bin/perl", "-e", PERL]
        ended = hw.record(command, path, options=("-q", *options))
        hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def sampled(folder):
    return recorded(folder, name="sampled", options=("--mode", "sample:4K"))


def profile(folder):
    """A file that is no recording: names, no addresses of ours, no peak."""
    path = folder / "foreign.pb.gz"
    if not path.exists():
        ask("export", recorded(folder), "--format", "pprof", "-o", path)
    return path


def sources(folder):
    return recorded(folder), recorded(folder, "peak_middle-O2", "target"), sampled(folder), profile(folder)


def export(folder, source, form, *options, name=None):
    """Writes it; returns the file and what is said on stderr."""
    path = folder / (name or f"{source.stem}.{form}")
    ended = heapwise("export", source, "--format", form, "-o", path, *options)
    hw.need(ended.status == 0, f"export --format {form} {options}: {ended}")
    return path, ended.errors


FIGURES = {"allocations": "allocations", "allocated_bytes": "allocated_bytes", "live_blocks": "live_blocks_at_end",
           "live_bytes": "live_bytes_at_end", "peak_blocks": "peak_blocks", "peak_bytes": "peak_bytes"}


def report_of(source):
    """The report, and the sums of its stacks: the totals; of a sample what each stack is rounded to."""
    report = hw.report(source)
    totals = {name: report["totals"][key] for name, key in FIGURES.items()}
    if report["recording"]["sample_bytes"]:
        for name, total in totals.items():
            totals[name] = sum(site[name] for site in report["sites"])
            hw.need(abs(totals[name] - total) <= len(report["sites"]), f"{name}: stacks have {totals[name]} of {total}")
    return report, totals


def need_same(ours, theirs, what):
    if ours != theirs:
        lines = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "theirs", "ours", lineterm="", n=0)
        raise hw.Failure(f"{what}:\n" + "\n".join(list(lines)[:20]))


@TESTS.test
def massif(folder):
    """massif: ms_print shows what `heapwise timeline` shows, line for line from the numbers of snapshots on"""
    ms_print = hw.need_program("ms_print")
    for options in ((), ("--time-unit=B",), ("--max-snapshots=12", "--threshold=5", "--detailed-freq=2"), ("--to=peak",),
                    ("--heap-admin=0", "--alignment=1", "--alloc-fn=Perl_safesysmalloc")):
        for source in (recorded(folder), recorded(folder, "peak_middle-O2", "target"), sampled(folder)):
            path, errors = export(folder, source, "massif", *options)
            hw.need("no allocations that are not live" in errors, f"losses are not said: {errors}")
            hw.need(path.read_text().count("heap_tree=peak") == 1, "peaks")
            theirs = hw.run([ms_print, "--threshold=0", path])
            hw.need(theirs.status == 0, str(theirs))
            text = ask("timeline", source, *options)
            begin = "Number of snapshots: "
            plain = lambda page: re.sub(r", (which is|all) below (the|massif's) threshold|, below massif's threshold",
                                        ", below the threshold", page[page.index(begin):]).rstrip()
            need_same(plain(text), plain(theirs.text), f"{source.name} {options}")


@TESTS.test
def massif_of_states(folder):
    """massif, of what has no moments: the peak, where it is known, and the end, with the report's totals; --time-unit=B is refused"""
    ms_print = hw.need_program("ms_print")
    sums = recorded(folder, name="sums", options=("--mode", "aggregate"))
    for source in (sums, profile(folder)):
        path, errors = export(folder, source, "massif")
        hw.need("What was when is not known" in errors, errors)
        totals = hw.report(source)["totals"]
        wanted = [total for total in (totals["peak_bytes"], totals["live_bytes_at_end"]) if total is not None]
        rows = re.findall(r"^ +\d+ +[\d,]+ +[\d,]+ +([\d,]+) ", hw.run([ms_print, path]).text, re.M)
        hw.need([int(row.replace(",", "")) for row in rows] == wanted, f"{rows}, {wanted}")
        refused = heapwise("export", source, "--format", "massif", "--time-unit=B")
        hw.need(refused.status == 3 and "--time-unit=ms" in refused.errors, str(refused))


# What dh_view.js wants of a page, as far as it shows a tree; prints all text of the page.
DH_VIEW = r"""
const fs = require("fs"), vm = require("vm");
class Element {
  constructor() { this.childNodes = []; this.text = ""; this.classList = { add() {}, toggle() {}, contains() { return false; } }; }
  appendChild(child) { child.parentNode = this; this.childNodes.push(child); return child; }
  cloneNode() { return new Element(); }
  replaceChild(child, old) { child.parentNode = this; this.childNodes[this.childNodes.indexOf(old)] = child; }
  set textContent(text) { this.text = text; this.childNodes = []; }
  get textContent() { return this.text + this.childNodes.map((child) => child.textContent).join(""); }
  addEventListener() {}
}
const body = new Element();
const document = { body, location: { search: "" }, createElement: () => new Element(), createTextNode: (text) => Object.assign(new Element(), { text }) };
const context = vm.createContext({ document, console, performance, URLSearchParams, Intl, window: {} });
vm.runInContext(fs.readFileSync(process.argv[1], "utf8"), context);
context.input = fs.readFileSync(process.argv[2], "utf8");
vm.runInContext("onLoad(); gSelect.selectedIndex = 1; gData = JSON.parse(input); buildTree(); displayTree(0, 0, 0);", context);
console.log(body.textContent);
"""


def dh_view(path):
    """The page that dh_view.html shows of a file. No browser: node runs the page's script."""
    script = Path("/usr/libexec/valgrind/dh_view.js")
    if not script.exists():
        raise hw.Skip("valgrind is not installed")
    shown = hw.run([hw.need_program("node"), "-e", DH_VIEW, script, path])
    hw.need(shown.status == 0, f"dh_view.js: {shown}")
    return shown.text


@TESTS.test
def dhat(folder):
    """dhat: what dh_view.js shows, run by node without a browser, has the report's totals and all of its stacks"""
    for source in sources(folder):
        path, errors = export(folder, source, "dhat")
        found = json.loads(path.read_text())
        report, totals = report_of(source)
        text = dh_view(path)
        amount = rf"([\d,]+) bytes .*? in ([\d,]+) blocks"
        shown = {name: tuple(int(number.replace(",", "")) for number in re.search(rf"{name}: +{amount}", text).groups())
                 for name in (("Total", "At t-gmax", "At t-end") if found["bklt"] else ("Total",))}
        wanted = {"Total": (totals["allocated_bytes"], totals["allocations"])}
        if found["bklt"]:
            wanted["At t-gmax"] = totals["peak_bytes"], totals["peak_blocks"]
            wanted["At t-end"] = totals["live_bytes"], totals["live_blocks"]
            hw.need("only at least" in errors, errors)
        else:
            hw.need("is not known" in errors, errors)
        hw.need(shown == wanted, f"{source.name}: dh_view shows {shown}, the report {wanted}")
        sites = [site for site in report["sites"] if site["allocations"]]
        hw.need(len(found["pps"]) == len(sites), f"{source.name}: {len(found['pps'])} stacks of {len(sites)}")
        names = {frame["function"] for site in sites for frame in site["stack"] if frame["function"]}
        table = "\n".join(found["ftbl"])
        hw.need(all(name in table for name in names), "functions are missing")


@TESTS.test
def options(folder):
    """What a format cannot do is refused with exit code 2; each format that --help names is one"""
    source = recorded(folder)
    for words, arguments in (("massif is of whole snapshots", ("massif", "--focus", "sv_grow")),
                             ("folded has no snapshots", ("folded", "--time-unit=B")),
                             ("--metric is for formats with one figure", ("massif", "--metric", "live_bytes")),
                             ("there is no format 'x'", ("x",)), ("not 's'", ("massif", "--time-unit=s"))):
        ended = heapwise("export", source, "--format", *arguments)
        hw.need(ended.status == 2 and words in ended.errors and not ended.text, f"{arguments}: {ended}")
    known = re.search(r"there are (.*)", heapwise("export", source, "--format", "x").errors)[1].split(", ")
    shown = re.findall(r"^  ([a-z]\S*) {2,}", ask("export", "--help").split("Options")[0], re.M)
    hw.need(sorted(known) == sorted(shown), f"{known}, --help has {shown}")
    for form in known:
        export(folder, source, form)


@TESTS.test
def packed(folder):
    """-o NAME.gz and NAME.zst are packed, and unpack to what is written otherwise"""
    source = recorded(folder)
    plain, _ = export(folder, source, "massif", "--time-unit=B")
    gz, _ = export(folder, source, "massif", "--time-unit=B", name="a.gz")
    hw.need(gzip.decompress(gz.read_bytes()) == plain.read_bytes(), "gzip")
    zst, _ = export(folder, source, "massif", "--time-unit=B", name="a.zst")
    unzstd = subprocess.run(["zstd", "-dqc", zst], stdout=subprocess.PIPE, check=True)
    hw.need(unzstd.stdout == plain.read_bytes(), "zstd")


if __name__ == "__main__":
    TESTS.main(width=2)
