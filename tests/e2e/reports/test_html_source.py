#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Source lines in a page: only if they are asked for, only of files that are source code of a program that is
here, with the figures of heapwise list."""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pagefile import Page as PageFile
from pages import Page

TESTS = hw.Tests()
HOSTILE = "</script><img src=x onerror=alert(1)>"
PROGRAM = """#include <stdlib.h>
static void *volatile kept[40]; /* %s */
__attribute__((noinline)) static void first(int i) { kept[i] = malloc(1000); }
__attribute__((noinline)) static void second(int i)
{
	kept[i] = malloc(300);
	if (i == 12)
		first(20);
}
%s
int main(void)
{
	for (int i = 0; i < 10; i++)
		first(i);
	for (int i = 10; i < 17; i++)
		second(i);
	return 0;
}
"""


def record(folder, *, lines="", options=(), name="app"):
    """Of a program whose main() is in another file if `lines` says so."""
    source, program, path = folder / f"{name}.c", folder / name, folder / f"{name}.hpw"
    source.write_text(PROGRAM % (HOSTILE, lines))
    made = hw.run([hw.need_program("gcc"), "-g", "-O1", "-fno-builtin", "-fno-inline", *options, source, "-o", program])
    hw.need(made.status == 0, str(made))
    hw.record([program], path)
    hw.need(path.exists(), "nothing was recorded")
    return path


def page_of(path, *options):
    ended = heapwise("html", path, "-o", "-", *options)
    hw.need(ended.status == 0, f"{path} {options}: {ended}")
    return PageFile(ended.text)


def lines_of(page):
    """By file: its lines by number."""
    found = {}
    for one in page.documents.get("sources", {}).get("files", []):
        lines = found[one["file"]] = {}
        for run in one["runs"]:
            lines.update(enumerate(run["text"], run["line"]))
    return found


def files_of(page):
    return {Path(file).name for file in lines_of(page)}


@TESTS.test
def asked(folder):
    """Without --source there is no line; with it there are those near figures; not in an anonymous page"""
    path = record(folder)
    page = page_of(path)
    hw.need("sources" not in page.documents and HOSTILE not in json.dumps(page.header), "there is source code")
    page = page_of(path, "--source")
    lines = lines_of(page)[str(folder / "app.c")]
    text = (folder / "app.c").read_text().splitlines()
    hw.need(all(text[number - 1] == line for number, line in lines.items()), f"{lines}")
    for frame, line in zip(page.words("frame.file"), page.columns["frame.line"]):
        hw.need(frame != str(folder / "app.c") or line in lines, f"line {line} has figures and is not there")
    hw.need(page.header["asked"] == [] and HOSTILE not in page.html, "as it is")
    for options, word in ((("--source", "--anonymize"), "exclude"), (("--source-path", "."), "needs --source")):
        ended = heapwise("html", path, "-o", "-", *options)
        hw.need(ended.status == 2 and word in ended.errors and not ended.text, f"{options}: {ended}")


@TESTS.test
def elsewhere(folder):
    """Sources that moved are found by --source-path; others are counted; a change is said"""
    path = record(folder)
    (folder / "moved").mkdir()
    (folder / "app.c").rename(folder / "moved/app.c")
    page = page_of(path, "--source")
    hw.need("--source-path" in page.header["cut"]["missing"]["sources"], str(page.header["cut"]))
    page = page_of(path, "--source", "--source-path", str(folder / "moved"))
    hw.need("app.c" in files_of(page) and not page.documents["sources"]["files"][0]["newer"], f"{files_of(page)}")
    os.utime(folder / "moved/app.c", (2e9, 2e9))
    page = page_of(path, "--source", "--source-path", str(folder / "moved"))
    hw.need(page.documents["sources"]["files"][0]["newer"], "it was changed")


@TESTS.test
def refused(folder):
    """Debug information, or a recording, can't make the page have any other file"""
    secret = "the secret of this test"
    (folder / "secret.txt").write_text(secret + "\n")
    (folder / "link.c").symlink_to(folder / "secret.txt")
    (folder / "zeros.c").write_bytes(b"int a;\0" + secret.encode() + b"\n")
    (folder / "huge.c").write_text(f"/* {secret} */\n" + "\n" * (1 << 20))
    (folder / "folder.c").mkdir()
    os.mkfifo(folder / "pipe.c")
    for i, name in enumerate((folder / "secret.txt", folder / "link.c", folder / "zeros.c", folder / "huge.c", folder / "folder.c", folder / "pipe.c", "/etc/passwd")):
        page = page_of(record(folder, lines=f'#line 1 "{name}"', name=f"app{i}"), "--source")
        hw.need(str(name) in page.words("frame.file"), f"{name} is not named: {set(page.words('frame.file'))}")
        hw.need(files_of(page) == {f"app{i}.c"}, f"{name}: {files_of(page)}")
        text = json.dumps(page.header)
        hw.need(secret not in text and "root:" not in text, f"{name} is in the page")
    (folder / "other.c").write_text(f"/* {secret} */\n")
    path = record(folder, options=("-Wl,--build-id=none",), name="nobody")
    page = page_of(path, "--source")
    hw.need("sources" not in page.documents, f"{files_of(page)}")
    # What a file of another tool names.
    ended = heapwise("export", record(folder), "--format", "pprof", "-o", folder / "a.pb.gz")
    hw.need(ended.status == 0, str(ended))
    page = page_of(folder / "a.pb.gz", "--source")
    hw.need("sources" not in page.documents, f"{files_of(page)}")


@TESTS.test
def bundles(folder):
    """Of a bundle, which brings debug information, only sources that are in it"""
    path = record(folder)
    for options, wanted in (((), set()), (("--sources",), {"app.c"})):
        made = heapwise("bundle", path, "-o", folder / "a.hpwz", *options)
        hw.need(made.status == 0, str(made))
        page = page_of(folder / "a.hpwz", "--source")
        hw.need(files_of(page) & {"app.c"} == wanted, f"{options}: {files_of(page)}: {page.header['cut']}")


@TESTS.test
def shown(folder):
    """In a browser a frame leads to its line; lines have the figures of heapwise list; text stays text"""
    path = record(folder)
    listed = json.loads(heapwise("list", "app.c", path, "--json").text)["parts"][0]["lines"]
    made = folder / "app.html"
    hw.need(heapwise("html", path, "--source", "-o", made).status == 0, "no page")
    with Page(folder, made, "#view=source&metric=allocated_bytes") as page:
        found = page.evaluate("[...document.querySelectorAll('.source tr[data-line]')].map((row) => [Number(row.dataset.line), ...[...row.cells].slice(0, 2).map((cell) => cell.title)])")
        wanted = {one["line"]: [f"{one[kind]['allocated_bytes']:,} bytes" if one[kind] and one[kind]["allocated_bytes"] else "" for kind in ("flat", "cum")] for one in listed}
        hw.need(len(found) >= 8 and any(flat for _, flat, _ in found), f"{found}")
        for line, *figures in found:
            hw.need(figures == wanted.get(line, ["", ""]), f"line {line}: {figures}, list: {wanted.get(line)}")
        hw.need(HOSTILE in page.text() and page.evaluate("document.images.length") == 0, "the text became markup")
        page.go("#view=overview")
        page.evaluate("[...document.querySelectorAll('a.where')].find((one) => one.textContent === 'app.c:3').click(), 0")
        chosen = page.evaluate("document.querySelector('.source .chosen')?.dataset.line")
        hw.need(chosen == "3", f"{chosen}: {page.text()}")
        page.evaluate("history.back(), 0")
        page.when("document.getElementById('main').dataset.view === 'overview'", "0")
        page.done()


TESTS.main()
