#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""heapwise export: what is written is read back by the tools that read such files, with the report's figures. Needs
valgrind, google-perftools, jeprof, node (`./dev deps --peers`); pprof's own is test_pprof.py."""

import difflib
import gzip
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
