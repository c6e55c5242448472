#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of differences: the documents of the commands, rows of both sides matched as diff matches them, and their sums
are those of diff; what one side doesn't know is said."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pagefile import DATA, METRICS, Page

TESTS = hw.Tests()
DIFF = hw.TARGETS / "diff"
# What commands write beside `heapwise report --view NAME --base OLD`.
COMMANDS = {"report": ("report",), "timeline": ("timeline",)}


def recording(folder, name, program, *options):
    path = folder / name
    ended = hw.record([DIFF / program], path, options=("-q", *options))
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def pair(folder, *options):
    return recording(folder, "old.hpw", "diff_old-O0", *options), recording(folder, "new.hpw", "diff_new-O2", *options)


def page_of(old, new, *options):
    ended = heapwise("diff", "--html=-", old, new, *options)
    hw.need(ended.status == 0, f"{old} {new} {options}: {ended}")
    return Page(ended.text)


def base_sums(page):
    """By metric, of what it is compared with."""
    return {name: sum(page.columns[f"base.{name}"]) for name in METRICS if f"base.{name}" in page.columns}


def answer(*words):
    ended = heapwise(*words, "--json")
    hw.need(ended.status == 0, f"{words}: {ended}")
    return json.loads(ended.text)


def check(page, old, new, *options):
    """Documents are those of the commands, and sums of rows are the totals of diff."""
    diff = answer("diff", old, new, *options)
    hw.need(page.header["kind"] == "diff" and page.documents["diff"] == diff, "the document is not that of diff")
    for metric in METRICS:
        figure = diff["totals"][metric]
        known = f"row.{metric}" in page.columns
        hw.need(known == (f"base.{metric}" in page.columns) == (figure is not None), f"{metric}: {figure}")
        if known:
            sums = [base_sums(page)[metric], page.sums()[metric]]
            hw.need(sums == [figure["older"], figure["newer"]], f"{metric}: rows {sums}, diff {figure}")
    for name, found in page.documents.items():
        if name not in ("diff", "leaks", "base_leaks", "report"):
            command = COMMANDS.get(name, ("report", "--view", name))
            wanted = answer(*command, "--base", old, new)
            for one in (found, wanted):
                one.pop("notes")  # those on inherited memory are in the page's alone
            hw.need(found == wanted, f"{name} is another one")
    for name in {"functions", "timeline", "sizes", "lifetimes", "threads", "leaks", "base_leaks"} - set(page.documents):
        hw.need(page.header["cut"]["missing"][name], f"{name} is missing, and nobody says why")


@TESTS.test
def normalized(folder):
    """--normalize scales rows and tables as diff and report do; what happened over time is left out, and the page says why"""
    old, new = pair(folder)
    for more in ((), ("--count-libraries",)):
        page = page_of(old, new, "--normalize", *more)
        diff = answer("diff", old, new, "--normalize", *more)
        hw.need(page.documents["diff"] == diff and diff["normalized"], "the document is not that of diff")
        rows, unscaled = len(page.columns["base.live_bytes"]), base_sums(page_of(old, new, *more))
        for metric, older in base_sums(page).items():
            figure = diff["totals"][metric]
            hw.need(figure["older"] - rows <= older <= figure["older"] + rows, f"{more} {metric}: rows {older}, diff {figure}")
        hw.need(base_sums(page)["allocations"] != unscaled["allocations"], f"nothing is scaled: {unscaled}")
    for name in ("functions", "sizes", "threads", "lifetimes"):
        found, wanted = page.documents[name], answer("report", "--view", name, "--base", old, "--normalize", "--count-libraries", new)
        found.pop("notes"), wanted.pop("notes")
        hw.need(found == wanted, f"{name} is another one")
    hw.need("timeline" not in page.documents and "--normalize" in page.header["cut"]["missing"]["timeline"], str(page.header["cut"]))


@TESTS.test
def gate(folder):
    """With --fail-on-growth the exit status and what is said are those of the lists; the page is written all the same"""
    old, new = pair(folder)
    out = folder / "out.html"
    seen = set()
    for options in (("1K",), ("1G",), ("1%", "--normalize"), ("0", "--metric=peak_bytes"), ("1K", "--focus=^no_such$|main"), ("0", "--focus=^none$")):
        for files in ((old, new), (new, old)):
            words = ("--fail-on-growth", *options, *files)
            plain, page = heapwise("diff", *words), heapwise("diff", f"--html={out}", *words)
            seen.add(plain.status)
            said = [line for line in page.errors.splitlines() if "out.html" not in line]
            hw.need(page.status == plain.status and said == plain.errors.splitlines(), f"{words}: {plain}, {page}")
            hw.need(out.exists() == (plain.status in (0, 1)), f"{words}: {page}")
            out.unlink(missing_ok=True)
    hw.need(seen == {0, 1, 3}, f"{seen}")


@TESTS.test
def two_builds(folder):
    """Builds with other names, files and lines: what was renamed is one row"""
    old, new = pair(folder, "--leak-check=full")
    page = page_of(old, new)
    check(page, old, new)
    hw.need(page.header["title"] == "old.hpw → new.hpw", page.header["title"])
    for name, file in (("leaks", new), ("base_leaks", old)):
        hw.need(page.documents[name] == answer("leaks", "--show-leak-kinds=all", "--gen-suppressions=yes", file), f"{name} is another one")
    changed = {}
    for stack, row, base in zip(page.stacks(), page.columns["row.live_bytes"], page.columns["base.live_bytes"]):
        if row != base:
            name = next(name for name in reversed(stack) if name != "xalloc")
            changed[name] = changed.get(name, 0) + row - base
    hw.need(changed == {"leaks": 6 * 211, "grows": 20 * 307, "shrinks": -10 * 53, "stale": -4 * 79}, f"{changed}")
    shown = heapwise("html", "--base", old, new, "-o", "-")
    hw.need(shown.text == page.html, "html --base writes another page")


@TESTS.test
def swapped_and_same(folder):
    """Swapped, rows are swapped; of one recording with itself nothing differs; two moments of it are two states"""
    old, new = pair(folder)
    there, back, none = page_of(old, new), page_of(new, old), page_of(new, new)
    check(back, new, old)
    check(none, new, new)
    for metric in METRICS:
        hw.need(sorted(zip(there.columns[f"row.{metric}"], there.columns[f"base.{metric}"]))
                == sorted(zip(back.columns[f"base.{metric}"], back.columns[f"row.{metric}"])), metric)
        hw.need(none.columns[f"row.{metric}"] == none.columns[f"base.{metric}"], f"{metric} differs from itself")
    half = f"{new}@start"
    page = page_of(half, new)
    check(page, half, new)
    hw.need(page.documents["diff"]["same_recording"] and not any(page.columns["base.live_bytes"]), "nothing was live")
    hw.need("whole recording" in page.header["cut"]["missing"]["base_leaks"], str(page.header["cut"]))


@TESTS.test
def metrics_and_filters(folder):
    """--metric chooses the verdict, --focus the stacks, --count-libraries the words; the page says what was asked"""
    old, new = pair(folder)
    page = page_of(old, new, "--metric", "allocations")
    hw.need(page.documents["diff"] == answer("diff", old, new, "--metric", "allocations"), "the metric is another one")
    page = page_of(old, new, "--focus", "^grows$")
    hw.need(page.header["asked"] == ["--focus=^grows$"], f"{page.header['asked']}")
    hw.need(page.documents["diff"] == answer("diff", old, new, "--focus", "^grows$"), "the filter is another one")
    change = sum(page.columns["row.live_bytes"]) - sum(page.columns["base.live_bytes"])
    hw.need(change == 20 * 307, f"{change} B of growth")
    page = page_of(old, new, "--count-libraries")
    hw.need(page.documents["diff"] == answer("diff", old, new, "--count-libraries"), "libraries")


@TESTS.test
def unlike(folder):
    """Exact and sampled, whole and cut off, recordings and files of other tools: what is unknown has no column"""
    old, new = pair(folder)
    sampled = recording(folder, "sampled.hpw", "diff_new-O2", "--mode", "sample:64")
    page = page_of(old, sampled)
    check(page, old, sampled)
    hw.need(page.header["cut"]["figures"] == {"temporary": str(sampled)}, f"{page.header['cut']}")
    hw.need("sampling rates differ" in page.header["cut"]["missing"]["lifetimes"], f"{page.header['cut']}")
    cut = folder / "cut.hpw"
    cut.write_bytes(new.read_bytes()[:new.stat().st_size * 2 // 3])
    ended = heapwise("diff", "--html=-", old, cut)
    hw.need(ended.errors.count("is incomplete") == 1, f"said once: {ended}")
    hw.need(not Page(ended.text).documents["diff"]["newer"]["recording"]["complete"], "complete")
    for form, end in (("pprof", "pb.gz"), ("massif", "out"), ("dhat", "json")):
        files = []
        for file in (old, new):
            files.append(file.with_suffix(f".{end}"))
            hw.ask("export", file, "--format", form, "-o", files[-1])
        page = page_of(*files)
        check(page, *files)
        mixed = page_of(old, files[1])
        check(mixed, old, files[1])
        unknown = set(METRICS) - set(page.sums())
        hw.need(set(mixed.header["cut"]["figures"]) == unknown, f"{form}: {mixed.header['cut']}")


def number(value):
    value, out = value & (1 << 64) - 1, b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(name, value):
    """Of a protobuf message: a number, or bytes."""
    return number(name << 3) + number(value) if isinstance(value, int) else number(name << 3 | 2) + number(len(value)) + value


def subtracted(samples):
    """A profile of pprof, bytes in use by function, some below 0."""
    words = ["", "inuse_space", "bytes", *samples]
    out = field(1, field(1, 1) + field(2, 2))
    for i, value in enumerate(samples.values(), 1):
        out += field(2, field(1, number(i)) + field(2, number(value)))
        out += field(4, field(1, i) + field(4, field(1, i))) + field(5, field(1, i) + field(2, i + 2))
    return gzip.compress(out + b"".join(field(6, word.encode()) for word in words))


@TESTS.test
def difference_in_one_file(folder):
    """A file that subtracts one state from another is a page of a difference"""
    file = folder / "both.pb.gz"
    file.write_bytes(subtracted({"grew": 700, "shrank": -300}))
    ended = heapwise("html", file, "-o", "-")
    hw.need(ended.status == 0, str(ended))
    page = Page(ended.text)
    hw.need(page.header["kind"] == "diff" and page.header["title"] == file.name, str(page.header["title"]))
    rows = {stack[-1]: (base, row) for stack, base, row in
            zip(page.stacks(), page.columns["base.live_bytes"], page.columns["row.live_bytes"])}
    hw.need(rows == {"grew": (0, 700), "shrank": (300, 0)}, f"{rows}")
    hw.need(page.documents["diff"]["totals"]["live_bytes"]["change"] == 400, str(page.documents["diff"]["totals"]))


@TESTS.test
def sums_of_small_rows(folder):
    """Under a limit of bytes small rows are one, of both sides, and the sums stay"""
    old = recording(folder, "old.hpw", "diff_old-O0")
    new = folder / "new.hpw"
    hw.record([hw.TARGETS / "containers-O2"], new)
    ended = heapwise("html", "--base", old, new, "-o", "-", "--page-limit", "100")
    least = int(ended.errors.split()[-1])
    for limit in (least, least + 800, least + 3000):
        ended = heapwise("html", "--base", old, new, "-o", "-", "--page-limit", str(limit))
        page, totals = Page(ended.text), answer("diff", old, new)["totals"]
        for metric in METRICS:
            sums = [base_sums(page)[metric], page.sums()[metric]]
            hw.need(sums == [totals[metric]["older"], totals[metric]["newer"]], f"{limit}: {metric} {sums}")


HOSTILE = '''#include <stdlib.h>
void *kept;
__attribute__((noinline)) void evil(void) __asm__("\\"</script><img src=x onerror=alert(1)>\\"");
void evil(void) { kept = malloc(SIZE); }
int main(void) { evil(); return 0; }
'''


@TESTS.test
def hostile_names(folder):
    """Names of files and functions stay inside of the data"""
    if not shutil.which("cc"):
        raise hw.Skip("no compiler")
    (folder / "evil.c").write_text(HOSTILE, encoding="utf-8")
    files = []
    for size in (100, 300):
        subprocess.run(["cc", "-O0", f"-DSIZE={size}", "-o", folder / "evil", folder / "evil.c"], check=True)
        files.append(folder / f"<script>alert({size})<script>.hpw")
        hw.record([folder / "evil"], files[-1])
    page = page_of(*files)
    shell = DATA.sub("", page.html)
    for word in ("alert(", "onerror", "evil"):
        hw.need(word not in shell, f"{word!r} is in the page itself")
    hw.need(sum(page.columns["row.live_bytes"]) - sum(page.columns["base.live_bytes"]) == 200, "the change")


@TESTS.test
def outputs(folder):
    """Pages are named after the newer file, and nothing else is replaced; what doesn't go together is refused"""
    old, new = pair(folder)
    ended = heapwise("diff", "--html", old, new, cwd=folder)
    made = folder / "new.diff.html"
    hw.need(ended.status == 0 and "wrote new.diff.html" in ended.errors and not ended.text, str(ended))
    hw.need(made.read_text(encoding="utf-8") == page_of(old, new).html, "stdout has another page")
    other = folder / "notes.txt"
    other.write_text("mine", encoding="utf-8")
    for words in (("diff", f"--html={other}", old, new), ("html", "-o", other, "--base", old, new)):
        ended = heapwise(*words)
        hw.need(ended.status == 4 and "not a page" in ended.errors and other.read_text() == "mine", str(ended))
    for option in ("--json", "--csv", "--trend", "--limit=3", "--view=tree"):
        ended = heapwise("diff", "--html", option, old, new, cwd=folder)
        hw.need(ended.status == 2 and "--html" in ended.errors, f"{option}: {ended}")
    ended = heapwise("html", old, new)
    hw.need(ended.status == 2 and "--base" in ended.errors and "heapwise diff" in ended.errors
            and "--merge" not in ended.errors, str(ended))
    ended = heapwise("html", "--source", "--base", old, new, "-o", "-")
    hw.need(ended.status == 2 and "--source" in ended.errors and not ended.text, str(ended))
    ended = heapwise("html", "--base", old, folder, "-o", "-")
    hw.need(ended.status == 2 and "folder" in ended.errors and not ended.text, str(ended))
    ended = heapwise("html", "--anonymize", "--base", old, new, "-o", "-")
    hw.need(ended.status == 2 and "--anonymize" in ended.errors and not ended.text, str(ended))


@TESTS.test
def at_the_end_of_a_run(folder):
    """run --html writes the page of what it recorded, and keeps the program's status; no file that is no page"""
    path, page = folder / "app.hpw", folder / "app.html"
    program = DIFF / "diff_old-O0"
    ended = heapwise("run", "--html", "-o", path, program, cwd=folder)
    hw.need(ended.status == 0 and "wrote app.html" in ended.errors, str(ended))
    shown = heapwise("html", path.name, "-o", "-", cwd=folder)
    hw.need(page.read_text(encoding="utf-8") == shown.text, "html writes another page")
    ended = heapwise("run", "-q", "-f", "--html=b.html", "-o", path, "sh", "-c", f"{program}; exit 7", cwd=folder)
    hw.need(ended.status == 7 and not ended.errors and (folder / "b.html").exists(), str(ended))
    title = Page((folder / "b.html").read_text(encoding="utf-8")).header["title"]
    hw.need(title.startswith("app"), title)
    other = folder / "notes.txt"
    other.write_text("mine", encoding="utf-8")
    path.unlink()
    ended = heapwise("run", "-f", f"--html={other}", "-o", path, program, cwd=folder)
    hw.need(ended.status == 125 and other.read_text() == "mine" and not path.exists(), f"it ran: {ended}")
    ended = heapwise("run", "-q", "-f", "--html=no/such/folder.html", "-o", path, program, cwd=folder)
    hw.need(ended.status == 125 and "no/such/folder" in ended.errors and path.exists(), str(ended))


TESTS.main()
