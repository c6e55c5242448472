#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A flame graph of a hundred frames in a browser: of its own size at 1280 pixels, to be scrolled, with names; a click zooms."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw
from browser import Browser

TESTS = hw.Tests()
NODES = "Array.from(document.querySelectorAll('#flame g')).filter((g) => g.style.display !== 'none')"
ONE = NODES + ".find((g) => g.dataset.name.startsWith({!r}))"


@TESTS.test
def a_hundred_deep(folder):
    """In a window of 1280 by 800 each of 100 rows is 16 pixels high with letters of 11, its name is whole, and the page scrolls"""
    path, picture = folder / "deep.hpw", folder / "deep.svg"
    hw.record([hw.ANSWERS / "calls_deep"], path, options=("-q",))
    hw.ask("flame", "--svg", picture, path)
    with Browser(folder) as browser:
        browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
        browser.open(picture.as_uri())
        rows = browser.evaluate(NODES + ".map((g) => { const box = g.querySelector('rect').getBoundingClientRect(), text = g.querySelector('text');"
                                "return [g.dataset.name, Math.round(box.height), box.top, box.width, text.textContent,"
                                "parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().d] })")
        deep = [row for row in rows if row[0].startswith("deeper")]
        hw.need(len(deep) == 100, f"{len(deep)} frames of 100 are drawn")
        for name, height, _, width, text, letters in deep:
            hw.need(height == 16 and letters == 11 and text == name and width > 1000, f"{name}: {height} high, {width} wide, letters {letters}: {text!r}")
        tops = sorted(row[2] for row in deep)
        hw.need(all(b - a == 17 for a, b in zip(tops, tops[1:])), f"rows cover each other: {tops}")
        hw.need(tops[-1] > 1700, f"the last row is at {tops[-1]}")
        browser.evaluate("window.scrollTo(0, 100000)")
        bottom = browser.when("window.scrollY > 0", ONE.format("wide_function") + ".getBoundingClientRect().bottom")
        hw.need(0 < bottom <= 800, f"the innermost frame can't be scrolled to: {bottom}")
        zooms(browser)
        hw.need(not browser.exceptions, f"{browser.exceptions}")


def zooms(browser):
    """A click makes a narrow frame wide, with its name, and its callers too; "Whole graph" and Escape take it back."""
    state = "{{ width: {0}.querySelector('rect').getBoundingClientRect().width, text: {0}.querySelector('text').textContent, shown: {1}.length }}"
    look = "(" + state.format(ONE.format("narrow_function"), NODES) + ")"
    before = browser.evaluate(look)
    hw.need(before["width"] < 40 and before["text"] == "", f"{before}")
    click = ONE.format("narrow_function") + ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    for back in ("document.querySelector('#reset').dispatchEvent(new MouseEvent('click'))",
                 "window.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))"):
        browser.evaluate(click)
        near = browser.evaluate(look)
        hw.need(near["width"] >= 1199 and near["text"].startswith("narrow_function"), f"{near}")
        hw.need(browser.evaluate(ONE.format("wide_function") + " === undefined"), "its sibling is shown")
        hw.need(near["shown"] >= 101, f"its callers are not shown: {near}")
        browser.evaluate(back)
        hw.need(browser.evaluate(look) == before, "it is not as before")


TESTS.main()
