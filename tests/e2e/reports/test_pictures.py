#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures of flame and graph: in the terminal long chains are folded, in Chromium they pan, zoom and search."""

import json
import re
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from browser import Browser
from hw import heapwise

TESTS = hw.Tests()
SVG = "{http://www.w3.org/2000/svg}"

# main, then a chain of eight functions of which the last allocates, and another function.
PROGRAM = """
#include <stdlib.h>
#define LINK(name, next) __attribute__((noinline)) static void name(void) { next; asm volatile(""); }
void *volatile kept;
LINK(eighth, kept = malloc(4000))
LINK(seventh, eighth())
LINK(sixth, seventh())
LINK(fifth, sixth())
LINK(fourth, fifth())
LINK(third, fourth())
LINK(second, third())
LINK(first, second())
LINK(other, kept = malloc(1000))
int main(void) { first(); other(); return 0; }
"""
CHAIN = ("second", "third", "fourth", "fifth", "sixth", "seventh")


def recording(folder):
    (folder / "p.c").write_text(PROGRAM)
    made = hw.run([hw.need_program("gcc"), "-g", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", folder / "p.c", "-o", folder / "p"])
    hw.need(made.status == 0, str(made))
    path = folder / "p.hpw"
    hw.record([folder / "p"], path)
    return path


@TESTS.test
def folded(folder):
    """tree and flame show the ends of a long chain; all of it with --all-frames, as JSON, and as callers"""
    path = recording(folder)
    for command in (("tree",), ("flame", "--width", "100")):
        text = heapwise(*command, path).text
        hw.need("6 more" in text and "first" in text and "eighth" in text, f"{command}: {text}")
        hw.need(not any(re.search(rf"\b{name}\b", text) for name in CHAIN), f"{command}: {text}")
        for more in (("--all-frames",), ("--json",)):
            whole = heapwise(*command, path, *more).text
            hw.need(all(name in whole for name in CHAIN) and "6 more" not in whole, f"{command} {more}: {whole}")
    whole = heapwise("tree", "--bottom-up", path).text
    hw.need(all(name in whole for name in CHAIN), whole)
    hw.need("... 6 more" in heapwise("flame", "--width", "100", path, env=hw.clean_environment(LC_ALL="C")).text, "ASCII")
    narrow = heapwise("flame", "--width", "20", path).text
    hw.need(max(len(line) for line in narrow.splitlines()[4:]) <= 20, narrow)


@TESTS.test
def flame_forms(folder):
    """-o chooses by the name, rows are high enough to read, colours say what --color-by asks for"""
    path = recording(folder)
    for name, begin in (("out.svg", "<?xml"), ("out.folded", "_start;")):
        ended = heapwise("flame", path, "-o", folder / name)
        hw.need(ended.status == 0 and (folder / name).read_text().startswith(begin), f"{name}: {ended}")
    hw.need((folder / "out.svg").read_bytes() == heapwise("flame", path, "--svg", "-").stdout, "-o and --svg differ")
    fills = {}
    for what in ("module", "function", "self"):
        root = xml.etree.ElementTree.fromstring(heapwise("flame", path, "--svg", "-", "--color-by", what).text)
        boxes = {g.get("data-name"): g.find(f"{SVG}rect") for g in root.iter(f"{SVG}g") if g.get("data-name")}
        hw.need(int(root.get("height")) >= 16 * len({box.get("y") for box in boxes.values()}), "rows are too low")
        hw.need(all(int(box.get("height")) >= 16 for box in boxes.values()), f"{boxes}")
        fills[what] = {name: box.get("fill") for name, box in boxes.items()}
    hw.need(fills["self"]["eighth"] != fills["self"]["first"] == fills["self"]["main"], f"{fills['self']}")
    hw.need(len(set(fills["function"].values())) > len(set(fills["self"].values())), f"{fills}")
    for wrong in (("-o", folder / "out.png"), ("--svg", "-", "--color-by", "size")):
        ended = heapwise("flame", path, *wrong)
        hw.need(ended.status == 2 and "expected" in ended.errors, f"{wrong}: {ended}")


@TESTS.test
def flame_keys(folder):
    """A flame graph in Chromium: keys go from box to box, zoom and search; what is said of a box stays in sight"""
    path, picture = recording(folder), folder / "out.svg"
    heapwise("flame", path, "-o", picture)
    details = "document.getElementById('details').textContent"
    with Browser(folder) as browser:
        browser.call("Emulation.setDeviceMetricsOverride", width=500, height=120, deviceScaleFactor=1, mobile=False)
        browser.open(picture.as_uri() + "?s=FIFTH|SIXTH")

        def key(name):
            browser.evaluate(f"dispatchEvent(new KeyboardEvent('keydown', {{ key: {json.dumps(name)}, cancelable: true }})), 0")

        hw.need("0.0%" in browser.evaluate("document.getElementById('found').textContent"), "capitals don't matter")
        browser.open(picture.as_uri() + "?s=fifth|sixth")
        for wanted in ("fifth", "sixth", "fifth"):
            key("n")
            hw.need(browser.evaluate(details).startswith(wanted), browser.evaluate(details))
        key("N")
        hw.need(browser.evaluate(details).startswith("sixth"), browser.evaluate(details))
        browser.when("scrollY > 0", "0")
        hw.need(browser.when("document.getElementById('details').getBoundingClientRect().y >= 0", "scrollY") > 0, "it is not in sight")
        hw.need(browser.evaluate("document.documentElement.getBoundingClientRect().width") >= 1200, "it shrank")
        key("ArrowUp")
        hw.need(browser.evaluate(details).startswith("fifth"), browser.evaluate(details))
        key("Enter")
        hw.need(browser.evaluate("document.querySelector('.current rect').getAttribute('width')") == "1200", "it is not zoomed to")
        key("Escape")
        hw.need(browser.evaluate("document.getElementById('reset').style.display") == "none", "not all is shown")
        hw.need(not browser.exceptions, f"{browser.exceptions}")


@TESTS.test
def graph_hands(folder):
    """A graph in Chromium pans by dragging and arrows, zooms by wheel and keys, finds boxes; needs no network"""
    hw.need_program("dot")
    path, picture = recording(folder), folder / "out.svg"
    ended = heapwise("graph", path, "--all-frames", "-o", picture)
    hw.need(ended.status == 0, str(ended))
    root = xml.etree.ElementTree.parse(picture).getroot()
    hw.need(root.get("width").endswith("pt") and root.find(f"{SVG}script") is not None, "without the script it has its size")
    box = "document.documentElement.getAttribute('viewBox').split(' ').map(Number)"
    with Browser(folder) as browser:
        browser.call("Emulation.setDeviceMetricsOverride", width=800, height=600, deviceScaleFactor=1, mobile=False)
        browser.open(picture.as_uri())
        home = browser.evaluate(box)
        mouse = {"x": 400, "y": 300, "button": "left"}
        browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=400, y=300, deltaX=0, deltaY=-300)
        zoomed = browser.when(f"{box}[2] < {home[2]}", box)
        browser.call("Input.dispatchMouseEvent", type="mousePressed", clickCount=1, **mouse)
        for x in (450, 500):
            browser.call("Input.dispatchMouseEvent", type="mouseMoved", buttons=1, **{**mouse, "x": x})
        browser.call("Input.dispatchMouseEvent", type="mouseReleased", clickCount=1, **{**mouse, "x": 500})
        panned = browser.evaluate(box)
        hw.need(panned[0] < zoomed[0] and panned[2] == zoomed[2], f"{zoomed}, dragged: {panned}")

        def key(name):
            browser.evaluate(f"dispatchEvent(new KeyboardEvent('keydown', {{ key: {json.dumps(name)}, cancelable: true }})), 0")

        key("ArrowRight")
        hw.need(browser.evaluate(box)[0] > panned[0], "the arrow key does nothing")
        key("+")
        hw.need(browser.evaluate(box)[2] < panned[2], "+ does nothing")
        key("0")
        hw.need(browser.evaluate(box) == home, "0 does not show all")
        browser.evaluate("window.prompt = () => 'EIGHTH|seventh', 0")
        key("/")
        hw.need(browser.evaluate("document.querySelectorAll('g.hit').length") == 1, "capitals don't matter")
        browser.evaluate("window.prompt = () => 'eighth|seventh', 0")
        key("/")
        hw.need(browser.evaluate("document.querySelectorAll('g.hit').length") == 2, "not both are found")
        first = browser.evaluate("document.activeElement.getAttribute('aria-label')")
        key("n")
        hw.need(first != browser.evaluate("document.activeElement.getAttribute('aria-label')"), first)
        hw.need(0 < browser.evaluate("document.querySelectorAll('g.edge.pale').length") < browser.evaluate("document.querySelectorAll('g.edge').length"), "its arrows")
        hw.need(not browser.exceptions, f"{browser.exceptions}")


MARKS = """
#include <heapwise/client.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 40; i++) {
		char name[20];
		snprintf(name, sizeof(name), "mark-%d", i);
		for (int k = 0; k < 2000; k++)
			free(malloc(100));
		heapwise_mark(name);
	}
	return 0;
}
"""


@TESTS.test
def narrow_chart(folder):
    """However narrow the chart is, letters of marks are below it, marks of one column share one, and none is lost"""
    (folder / "m.c").write_text(MARKS)
    made = hw.run([hw.need_program("gcc"), "-O0", "-I", hw.SOURCE / "include", folder / "m.c", "-o", folder / "m"])
    hw.need(made.status == 0, str(made))
    hw.record([folder / "m"], folder / "m.hpw")
    for width in (4, 12, 72):
        text = heapwise("timeline", "--format", "chart", "--width", str(width), folder / "m.hpw", env=hw.clean_environment(LC_ALL="C.UTF-8")).text
        lines = text.splitlines()
        first = next(i for i, line in enumerate(lines) if re.fullmatch(" +a[a-z ]*", line))
        letters = lines[first]
        hw.need(len(letters) <= 11 + width, f"{width}: {text}")
        told = " ".join(lines[first + 1:])
        hw.need(re.findall(r"\b([a-z]): mark-", told) == list(letters.replace(" ", "")), text)
        left = re.search(r"and (\d+) more", told)
        alone = len(re.findall(r"\b[a-z]: mark-\d+", told)) + len(re.findall(r"mark-\d+, mark-", told))
        many = sum(int(number) - 1 for number in re.findall(r"\((\d+) marks\)", told))
        hw.need(alone + many + (int(left.group(1)) if left else 0) == 40, f"{width}: {alone}, {many}, {left}: {text}")
        hw.need("Live at the peak" in lines, text)
        hw.need(all(len(line) <= max(width + 11, 66) for line in lines[first + 1:lines.index("Live at the peak")]), text)


TESTS.main(width=1)  # one browser
