#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A page of a folder of recordings: the processes of heapwise report, beside the one with the largest peak."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pagefile import Page as PageFile
from pages import Page

TESTS = hw.Tests()
HOSTILE = "</script><img src=x onerror=alert(1)>"


def run(folder):
    """A shell, which starts two programs."""
    (folder / "run").mkdir()
    program = hw.TARGETS / "containers-O2"
    hw.record(["bash", "-c", f"'{program}'; exec '{program}' \"$0\"", HOSTILE], folder / "run/a.hpw")
    hw.need(len(list((folder / "run").glob("*.hpw"))) > 1, "there is one process alone")
    return folder / "run"


def listed(folder, *options):
    return json.loads(heapwise("report", folder, "--json", *options).text)


@TESTS.test
def documents(folder):
    """The document is that of heapwise report; all else is of the process with the largest peak"""
    recordings = run(folder)
    ended = heapwise("html", recordings, "-o", "-")
    hw.need(ended.status == 0, str(ended))
    page, tree = PageFile(ended.text), listed(recordings)
    hw.need(page.documents["processes"] == tree, "processes are others")
    best = max((one for one in tree["recordings"] if one["own_file"]), key=lambda one: one["peak_bytes"])
    report = page.documents["report"]
    hw.need(report["recording"]["file"] == best["file"] and report["totals"]["peak_bytes"] == best["peak_bytes"], f"{report['recording']}")
    hw.need(page.header["title"] == Path(best["file"]).name, page.header["title"])
    hw.need("processes" not in PageFile(heapwise("html", best["file"], "-o", "-").text).documents, "of one file")


@TESTS.test
def anonymous(folder):
    """An anonymous page has no names of programs and files, here neither"""
    recordings = run(folder)
    page = PageFile(heapwise("html", recordings, "-o", "-", "--anonymize").text)
    text = json.dumps(page.documents["processes"])
    for word in ("bash", "containers", "onerror", "a.hpw", str(folder)):
        hw.need(word not in text, f"{word} is in {text}")
    hw.need(len(page.documents["processes"]["recordings"]) == len(listed(recordings)["recordings"]), text)


@TESTS.test
def broken(folder):
    """What can't be read is said, in the page too; a folder without recordings has no page"""
    recordings = run(folder)
    (recordings / "b.hpw").write_bytes(b"no recording")
    ended = heapwise("html", recordings, "-o", "-")
    hw.need(ended.status == 3 and "b.hpw" in ended.errors, str(ended.status))
    hw.need(PageFile(ended.text).header["cut"]["documents"]["processes"] == 1, "the page does not say it")
    (folder / "none").mkdir()
    ended = heapwise("html", folder / "none", "-o", "-")
    hw.need(ended.status == 3 and "no recording" in ended.errors and not ended.text, str(ended))


@TESTS.test
def shown(folder):
    """In a browser: each process with its figures, in the order of who started whom"""
    recordings, made = run(folder), folder / "a.html"
    hw.need(heapwise("html", recordings, "-o", made).status == 0, "no page")
    tree = listed(recordings)
    with Page(folder, made, "#view=processes") as page:
        rows = page.evaluate("[...document.querySelectorAll('.rows [role=row]')].map((row) => [...row.children].map((cell) => cell.title))")
        hw.need(len(rows) == len(tree["recordings"]), f"{rows}")
        for row, one in zip(rows, tree["recordings"]):
            for i, value in ((1, one["program"]), (2, f"{one['peak_bytes']:,}"), (3, f"{one['live_bytes_at_end']:,}"), (8, str(one["outer_pid"])), (9, one["file"])):
                hw.need(row[i] == value, f"{row}: {value}")
        hw.need(page.evaluate("document.images.length") == 0 and HOSTILE in page.text(), "a command became markup")
        best = max((one for one in tree["recordings"] if one["own_file"]), key=lambda one: one["peak_bytes"])
        hw.need(page.evaluate("document.querySelector('.rows strong')?.parentElement.title") == best["program"], "the page's own process is not marked")
        hw.need("undefined" not in page.text() and "of a run of" in page.evaluate("document.querySelector('header').innerText"), page.text())
        page.done()


TESTS.main()
