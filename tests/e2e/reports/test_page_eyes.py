#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A page can be read: by eyes of all kinds, by screen readers, on paper, in both themes."""

import base64
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from pages import VIEWS, Page, page_of, recording

TESTS = hw.Tests()

# WCAG 2.1, 1.4.3: 4.5 for text, 3 for large text. Returns what has less.
CONTRAST = """(() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    canvas.canvas.width = canvas.canvas.height = 1;
    const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const over = (top, under) => top.slice(0, 3).map((one, i) => one * top[3] / 255 + under[i] * (1 - top[3] / 255));
    const light = (colour) => {
        const [r, g, b] = colour.map((one) => (one /= 255) <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (a, b) => { const [low, high] = [light(a), light(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
    const ground = (element) => {
        const above = [];
        for (let at = element; at; at = at.parentElement) above.push(rgba(getComputedStyle(at).backgroundColor));
        return above.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
    };
    window.ratioOf = (text, fill) => ratio(rgba(text).slice(0, 3), rgba(fill).slice(0, 3));
    const seen = new Set(), low = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());) {
        const element = node.parentElement, style = getComputedStyle(element);
        if (!node.data.trim() || !element.getClientRects().length || /^(SCRIPT|STYLE|NOSCRIPT)$/.test(element.tagName)) continue;
        const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        const under = ground(element), found = ratio(over(rgba(style.color), under), under);
        seen.add(style.color + under);
        if (found < (large ? 3 : 4.5)) low.push([node.data.trim().slice(0, 40), style.color, String(under), found.toFixed(2)]);
    }
    return {pairs: seen.size, low};
})()"""

# Text of boxes on their fills, by all ways to colour them; matched and not matched by a search.
BOXES = """(() => {
    const flame = heapwiseFlame, dark = document.documentElement.dataset.theme === 'dark', low = [];
    let count = 0;
    for (let node = 0; node < flame.tree.count; node++)
        for (const faded of [false, true]) {
            const fill = flame.colour(node, dark, faded), found = ratioOf(dark ? '#f3f5f8' : '#14161a', fill);
            count++;
            if (found < 4.5) low.push([fill, faded, found.toFixed(2)]);
        }
    return {count, low};
})()"""


@TESTS.test
def contrast(folder):
    """All text has WCAG AA's contrast, in all views and both themes, in boxes of flame graphs as well"""
    made = page_of(recording(folder))
    with Page(folder, made) as page:
        pairs = boxes = 0
        for theme in ("light", "dark"):
            page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme},
                                                              {"name": "prefers-reduced-motion", "value": "reduce"}])
            page.go("")
            for view in VIEWS:
                page.turn(f"#view={view}&focus=main&sort=1" if view == "calls" else f"#view={view}")
                page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true)), new Promise(requestAnimationFrame), 0")
                if view == "about":
                    page.key("?")
                found = page.evaluate(CONTRAST)
                pairs += found["pairs"]
                page.evaluate("document.querySelector('dialog')?.close(), 0")
                hw.need(not found["low"], f"{view}, {theme}: {found['low'][:10]}")
            for colour in ("module", "name", "one", "temporary"):
                page.turn(f"#view=flame&metric=allocations&colour={colour}")
                page.when("window.heapwiseFlame?.tree", "0")
                page.evaluate(CONTRAST)
                found = page.evaluate(BOXES)
                boxes += found["count"]
                hw.need(not found["low"], f"{colour}, {theme}: {found['low'][:10]}")
        page.turn("#view=overview")
        page.evaluate("document.documentElement.style.setProperty('--dim', '#777'), 0")
        hw.need(page.evaluate(CONTRAST)["low"], "dim text on dark ground is not found")
        hw.need(pairs > 40 and boxes > 50, f"{pairs} pairs, {boxes} boxes were looked at")
        page.done()


def accessible(page):
    """Roles and names as screen readers get them."""
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]


@TESTS.test
def screen_readers(folder):
    """Each canvas has a name and its contents as a tree or a table; tables are grids; the view is said"""
    with Page(folder, page_of(recording(folder)), "#view=flame&metric=live_bytes") as page:
        page.when("window.heapwiseFlame?.tree", "0")
        opened = "document.querySelectorAll('.besides summary').forEach((one) => one.click()), new Promise((ret) => setTimeout(ret, 0)), 0"
        page.evaluate(opened)
        page.when("document.querySelector('.besides [role=tree]')", "0")
        found = accessible(page)
        hw.need(any(role == "image" and name.startswith("Flame graph: Live at the end") for role, name in found), f"{found}")
        hw.need(any(role == "treeitem" and "KiB" in name and "%" in name for role, name in found), f"{found}")
        hw.need(("navigation", "Views") in found and any(role == "main" for role, _ in found), f"{found}")
        hw.need(all(name for role, name in found if role in ("button", "combobox", "searchbox", "textbox", "link", "image")), f"{found}")
        page.turn("#view=timeline")
        page.evaluate(opened)
        page.when("document.querySelectorAll('.besides td').length > 2", "0")
        found = accessible(page)
        hw.need(any(role == "image" and "moments" in name for role, name in found), f"{found}")
        page.turn("#view=tables")
        found = [role for role, _ in accessible(page)]
        hw.need("grid" in found and "gridcell" in found and "columnheader" in found, f"{found}")
        page.turn("#view=sizes")
        found = accessible(page)
        hw.need(any(role == "image" and name.startswith("Sizes: up to") for role, name in found), f"{found}")
        page.done()


@TESTS.test
def paper(folder):
    """On paper a page is light, without controls, with all rows of its tables, and is dark again afterwards"""
    path = recording(folder)
    with Page(folder, page_of(path), dark=True) as page:
        for view in VIEWS:
            page.turn(f"#view={view}")
            printed = base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
            hw.need(printed.startswith(b"%PDF") and len(printed) > 5000, f"{view}: {len(printed)} bytes")
            hw.need(page.evaluate("document.documentElement.dataset.theme") == "dark", f"{view}: it stays light")
        page.turn("#view=tables")
        page.call("Emulation.setEmulatedMedia", media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint')), 0")
        hw.need(page.evaluate("document.documentElement.dataset.theme") == "light", "it is dark")
        hw.need(page.evaluate("getComputedStyle(document.querySelector('main .bar')).display") == "none", "controls are printed")
        table = page.evaluate("(() => { const t = document.querySelector('.table'); return [t.scrollHeight, t.clientHeight, t.querySelectorAll('.rows [role=row]').length, +t.getAttribute('aria-rowcount') - 1]; })()")
        hw.need(table[0] <= table[1] + 1 and table[2] == table[3], f"{table}")
        page.done()


@TESTS.test
def other_eyes(folder):
    """With forced colours what is pressed and chosen is seen; nothing moves for those who want that; the keyboard's place is seen"""
    with Page(folder, page_of(recording(folder)), "#view=flame&inverted=1") as page:
        page.call("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
        page.when("window.heapwiseFlame?.tree", "0")
        border = "getComputedStyle({}).borderTopWidth"
        pressed, other = (page.evaluate(border.format(f"document.querySelector('button[aria-pressed={value}]')")) for value in ('"true"', '"false"'))
        hw.need(pressed == "3px" and other == "1px", f"{pressed}, {other}")
        hw.need(page.evaluate("getComputedStyle(document.querySelector('.swatch')).forcedColorAdjust") == "none", "colours of the legend are lost")
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        moved = page.evaluate("(() => { let asked = 0; const old = requestAnimationFrame; window.requestAnimationFrame = (f) => (asked++, old(f)); heapwiseFlame.zoom(1); window.requestAnimationFrame = old; return asked; })()")
        hw.need(moved == 0, "the zoom is animated")
        for _ in range(4):
            page.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        outline = page.evaluate("[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle, getComputedStyle(document.activeElement).outlineWidth]")
        hw.need(outline[0] != "BODY" and outline[1] == "solid" and outline[2] == "2px", f"{outline}")
        page.done()


TESTS.main(width=1)  # one browser
