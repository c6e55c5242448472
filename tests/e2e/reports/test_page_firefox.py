#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of heapwise html in Firefox: every view opens and has the report's figures."""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from firefox import Firefox
from hw import heapwise
from pages import TEXT, VIEWS, amount, page_of, recording

TESTS = hw.Tests()


@TESTS.test
def every_view(folder):
    """Each view opens from a file, without an error; flame graph, zoom, search and history work"""
    hw.need_program("firefox-esr")
    path = recording(folder)
    totals = hw.report(path)["totals"]
    url = page_of(path).as_uri()
    with Firefox(folder) as firefox:
        for view in VIEWS:
            firefox.open("about:blank")
            firefox.open(f"{url}#view={view}")
            ready = firefox.when("document.documentElement.dataset.ready", "document.documentElement.dataset.ready")
            text = firefox.evaluate(TEXT)
            hw.need(ready == "1" and firefox.evaluate("document.getElementById('main').dataset.view") == view and len(text) > 30, f"{view}: {text}")
            hw.need(not any(word in text for word in ("undefined", "[object", "NaN", "null")), f"{view}: {text}")
            if view == "overview":
                hw.need(amount(totals["peak_bytes"]) in text and amount(totals["live_bytes_at_end"]) in text, text)
        firefox.open("about:blank")
        firefox.open(f"{url}#view=flame&metric=live_bytes&hide=^_&q=lose")
        total = firefox.when("window.heapwiseFlame?.matches", "window.heapwiseFlame.tree.total[0]")
        hw.need(total == totals["live_bytes_at_end"], f"{total}, report: {totals['live_bytes_at_end']}")
        hw.need(f"matched {amount(7000)}" in firefox.evaluate(TEXT), firefox.evaluate(TEXT))
        firefox.evaluate("document.querySelector('main canvas').focus(), 0")
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            firefox.evaluate(f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true, cancelable: true }})), 0")
        firefox.when("location.hash.includes('at=')", "0")
        firefox.evaluate("history.back(), 0")
        firefox.when("!location.hash.includes('at=')", "0")
        pixels = firefox.when("document.querySelector('main canvas')?.height > 20",
                              "document.querySelector('main canvas').getContext('2d').getImageData(30, 9, 1, 1).data[3]")
        hw.need(pixels == 255, "nothing is drawn")


@TESTS.test
def pictures(folder):
    """SVGs of flame and graph zoom in Firefox"""
    hw.need_program("firefox-esr")
    path = recording(folder)
    heapwise("flame", path, "-o", folder / "flame.svg")
    with Firefox(folder) as firefox:
        firefox.open((folder / "flame.svg").as_uri())
        firefox.evaluate("[...document.querySelectorAll('#flame g')].find((g) => g.dataset.name === 'main').dispatchEvent(new MouseEvent('click')), 0")
        hw.need(firefox.evaluate("document.getElementById('reset').style.display") == "", "a click does not zoom")
        if shutil.which("dot"):
            heapwise("graph", path, "-o", folder / "graph.svg")
            firefox.open((folder / "graph.svg").as_uri())
            home = firefox.evaluate("document.documentElement.getAttribute('viewBox')")
            firefox.evaluate("dispatchEvent(new KeyboardEvent('keydown', { key: '+', cancelable: true })), 0")
            hw.need(firefox.evaluate("document.documentElement.getAttribute('viewBox')") != home, "+ does not zoom")


TESTS.main(width=1)  # one browser
