#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of heapwise html in Chromium: its figures are the report's, it loads nothing, hands and eyes work."""

import base64
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from browser import Browser
from hw import heapwise
from pagefile import DATA
from pages import KEPT, VIEWS, Page, amount, page_of, recording

TESTS = hw.Tests()
HOSTILE = "</script><img src=x onerror=alert(1)>'\""


@TESTS.test
def every_view(folder):
    """Each view of a recording opens, without an error and without the network"""
    with Page(folder, page_of(recording(folder))) as page:
        for view in VIEWS:
            page.go(f"#view={view}")
            shown = page.evaluate("document.getElementById('main').dataset.view")
            hw.need(shown == view and len(page.text()) > 30, f"{view}: {shown}: {page.text()!r}")
            hw.need(not any(word in page.text() for word in ("undefined", "[object", "NaN", "null")), f"{view}: {page.text()}")
        page.done()


@TESTS.test
def figures(folder):
    """Headline figures, leaks, tree and flame graph have what report and leaks have"""
    path = recording(folder)
    totals = hw.report(path)["totals"]
    leaks = json.loads(heapwise("leaks", "--json", path).text)["leaks"]["summary"]
    with Page(folder, page_of(path)) as page:
        text = page.text()
        for name in ("peak_bytes", "live_bytes_at_end", "allocated_bytes"):
            hw.need(amount(totals[name]) in text, f"{name} {amount(totals[name])} is not in {text!r}")
        page.turn("#view=leaks")
        text = page.text()
        hw.need("7 blocks" in text and amount(leaks["definite"]["bytes"]) in text, text)
        hw.need("30 blocks" in text and amount(leaks["reachable"]["bytes"]) in text, text)
        hw.need("lose" in text and "keep" in text, f"the allocation sites are not there: {text}")
        for metric, total in (("peak_bytes", "peak_bytes"), ("live_bytes", "live_bytes_at_end"), ("allocated_bytes", "allocated_bytes"),
                              ("allocations", "allocations"), ("temporary", "temporary")):
            for inverted in ("", "&inverted=1"):
                page.turn(f"#view=flame&metric={metric}{inverted}")
                found = page.when("window.heapwiseFlame?.tree", "[heapwiseFlame.tree.total[0], heapwiseFlame.tree.self.reduce((a, b) => a + b, 0)]")
                hw.need(found == [totals[total], totals[total]], f"{metric}{inverted}: {found}, report: {totals[total]}")
        page.done()


@TESTS.test
def tree_of_calls(folder):
    """The tree of calls has each function with its figure, and goes by arrow keys"""
    with Page(folder, page_of(recording(folder)), "#view=calls&metric=live_bytes") as page:
        page.evaluate("document.querySelector('[role=treeitem]').focus(), 0")
        for _ in range(12):
            page.key("ArrowRight")
        text = page.text()
        hw.need("main" in text and "keep" in text and "lose" in text, text)
        hw.need(amount(7 * 1000) in text and amount(KEPT) in text, text)
        hw.need(page.evaluate("document.activeElement.getAttribute('role')") == "treeitem", "the focus is lost")
        labels = page.evaluate("[...document.querySelectorAll('[role=treeitem]')].map((one) => one.getAttribute('aria-label'))")
        hw.need(any(label and label.startswith("lose, 6.84 KiB") for label in labels), f"{labels}")
        page.done()


@TESTS.test
def search_and_filters(folder):
    """Search says how much it matched; filters are a trail, with a command line that finds the same"""
    path = recording(folder)
    with Page(folder, page_of(path), "#view=flame&metric=live_bytes&q=^lose$") as page:
        live = hw.report(path)["totals"]["live_bytes_at_end"]
        page.when("document.querySelector('[role=status]').textContent", "0")
        hw.need(f"matched {amount(7000)}" in page.text(), page.text())
        page.go("#view=flame&metric=live_bytes&focus=^keep$")
        total = page.when("window.heapwiseFlame?.tree", "heapwiseFlame.tree.total[0]")
        hw.need(total == KEPT, f"{total} B in stacks with keep")
        command = page.evaluate("document.querySelector('code').textContent")
        hw.need(command.startswith("heapwise flame --metric live_bytes --focus '^keep$'"), command)
        same = heapwise(*command.replace("'", "").split()[1:], "--json", cwd=path.parent)
        hw.need(json.loads(same.text)["tree"]["total"] == KEPT, f"{command}: {same}")
        page.turn("#view=flame&metric=live_bytes&ignore=^keep$")
        total = page.when("window.heapwiseFlame?.tree", "heapwiseFlame.tree.total[0]")
        hw.need(total == live - KEPT, f"{total} B in stacks without keep")
        page.evaluate("document.querySelector('.trail button').click(), 0")
        total = page.when(f"window.heapwiseFlame?.tree?.total[0] > {KEPT}", "heapwiseFlame.tree.total[0]")
        hw.need(total == live and "ignore" not in page.evaluate("location.hash"), f"the filter is still there: {total}")
        page.done()


@TESTS.test
def keyboard_and_history(folder):
    """Keys choose views, zoom and theme; the state is in the URL, and back leads back"""
    with Page(folder, page_of(recording(folder))) as page:
        page.key("2")
        hw.need(page.evaluate("location.hash") == "#view=flame", page.evaluate("location.hash"))
        page.when("window.heapwiseFlame?.tree", "0")
        page.evaluate("document.querySelector('main canvas').focus(), 0")
        page.key("ArrowDown")
        page.key("ArrowDown")
        page.key("Enter")
        zoomed = page.evaluate("location.hash")
        hw.need("at=" in zoomed, zoomed)
        hw.need(page.when("heapwiseFlame.tree && heapwiseFlame.root > 0", "heapwiseFlame.root > 0"), "nothing is zoomed")
        page.go(zoomed)
        hw.need(page.when("window.heapwiseFlame?.tree && heapwiseFlame.root > 0", "true"), "the URL does not lead to the zoom")
        page.key("Escape")
        hw.need(page.evaluate("location.hash") != zoomed, "Escape does not zoom out")
        page.evaluate("history.back(), 0")
        page.when(f"location.hash === {json.dumps(zoomed)}", "0")
        theme = page.evaluate("document.documentElement.dataset.theme")
        page.key("d")
        hw.need(page.evaluate("document.documentElement.dataset.theme") != theme, "the theme stays")
        page.key("?")
        hw.need("dark or light" in page.evaluate("document.querySelector('dialog[open]')?.innerText ?? ''"), "no help")
        page.done()


@TESTS.test
def nothing_is_kept(folder):
    """What a page stored is gone when the next one is opened in the same browser: no case depends on another one"""
    stored = "document.cookie + JSON.stringify({...localStorage})"
    empty = folder / "empty.html"
    empty.write_text("<!doctype html><title>empty</title>")
    for _ in range(2):
        with Browser(folder) as browser:
            browser.open(empty.as_uri())
            hw.need(browser.evaluate(stored) == "{}", f"of the page before: {browser.evaluate(stored)}")
            browser.evaluate("localStorage.setItem('heapwise-test', 'dark'), 0")
            hw.need("dark" in browser.evaluate(stored), "nothing can be stored: this test says nothing")


@TESTS.test
def tables_sorted(folder):
    """Tables are sorted and filtered, and CSV has what is shown"""
    path = recording(folder)
    with Page(folder, page_of(path), "#view=tables&table=functions&metric=live_bytes") as page:
        names = "[...document.querySelectorAll('.rows [role=row]')].map((row) => row.querySelector('.name').textContent)"
        hw.need(page.evaluate(names)[:2] == ["lose", "keep"], f"{page.evaluate(names)[:5]}")
        page.evaluate("document.querySelector('.head button').click(), 0")
        hw.need(page.evaluate(names)[0] not in ("lose", "keep"), "sorted the other way round it begins alike")
        page.evaluate("const f = document.querySelector('[aria-label^=\"Filter rows\"]'); f.value = 'KEEP'; f.dispatchEvent(new Event('input')), 0")
        hw.need(page.evaluate(names) == ["keep"], f"{page.evaluate(names)}")
        hw.need("functions.find=KEEP" in page.evaluate("location.hash"), page.evaluate("location.hash"))
        page.done()


@TESTS.test
def table_figures(folder):
    """Tables have the figures of report's views, of all stacks, and shares of the whole"""
    path = recording(folder)
    whole = hw.report(path)["totals"]["peak_bytes"]
    with Page(folder, page_of(path)) as page:
        for kind in ("functions", "files", "modules"):
            spots = {spot["short"] or spot["name"]: spot for spot in hw.report(path, "--view", kind)["spots"]}
            page.turn(f"#view=tables&table={kind}&metric=peak_bytes")
            rows = page.evaluate("[...document.querySelectorAll('.rows [role=row]')].map((row) => [...row.children].map((cell) => [cell.title, cell.textContent]))")
            hw.need(len(rows) >= 2, f"{kind}: {rows}")
            for flat, cum, share, name, *_ in rows:
                spot = spots.get(name[1]) or spots.get(name[1].rsplit("/", 1)[-1])
                if not spot:
                    continue
                hw.need(flat[0] == f"{spot['flat']['peak_bytes']:,} bytes", f"{kind} {name}: {flat}, report: {spot['flat']['peak_bytes']}")
                hw.need(cum[0] == f"{spot['cum']['peak_bytes']:,} bytes", f"{kind} {name}: {cum}, report: {spot['cum']['peak_bytes']}")
                exact = 100 * spot["cum"]["peak_bytes"] / whole
                hw.need(abs(float(share[1].strip("<>%")) - exact) <= 1, f"{kind} {name}: {share}, exactly {exact}")
        page.turn("#view=tables&table=functions&metric=lost_bytes")
        first = page.evaluate("document.querySelector('.rows [role=row]').innerText")
        hw.need("lose" in first and amount(7000) in first, first)
        page.done()


@TESTS.test
def verdicts(folder):
    """Green is only what was searched and found to be good: no part, no sample, no filter, no error, no killed program"""
    path = recording(folder)
    clean, killed, sampled = folder / "clean.hpw", folder / "killed.hpw", folder / "sampled.hpw"
    hw.record([hw.need_program("true")], clean, options=("-q", "--leak-check=full"))
    hw.record(["sh", "-c", "kill -9 $$"], killed)
    hw.record([folder / "p"], sampled, options=("-q", "--mode", "sample:64"))
    for file, options, wanted in ((clean, (), "good"), (path, (), "bad"), (path, ("--at", "start"), ""), (path, ("--focus", "^work$"), "bad"),
                                  (path, ("--min-size", "100000"), ""), (killed, (), ""), (sampled, (), "")):
        made = page_of(file, *options)
        with Page(folder, made) as page:
            found = page.evaluate("document.querySelector('.verdict').className").removeprefix("verdict").strip()
            hw.need(found == wanted, f"{file.name} {options}: {found!r}: {page.text()[:300]}")
            told = page.evaluate("document.getElementById('page').innerText")
            hw.need(not options or f"{options[0]}={options[1]}" in told, f"{options} is not said: {told[:300]}")
            page.done()


@TESTS.test
def hostile_names(folder):
    """A command line, a file name and a function that look like markup do nothing"""
    path = recording(folder, HOSTILE, "\u202e\x1b[31m")
    folded = folder / "hostile.folded"
    folded.write_text(f"main;{HOSTILE.replace(' ', '_')};</style>{{{{7*7}}}} 1234\n")
    for file, names in ((path, ("</script>",)), (folded, ("</script>", "</style>"))):
        made = page_of(file)
        hw.need(HOSTILE not in made.read_text(), "the file has it as it is")
        with Page(folder, made, "#view=calls") as page:
            for view in VIEWS:
                page.turn(f"#view={view}")
                hw.need(page.evaluate("document.images.length + document.querySelectorAll('main script, main style').length") == 0, f"{view}: it became markup")
            page.turn("#view=calls" if file == folded else "#view=about")
            for name in names:
                hw.need(name in page.evaluate("document.body.innerText"), f"{name} is not shown: {page.text()}")
            page.done()


@TESTS.test
def narrow_and_dark(folder):
    """At 400 pixels, dark, nothing is wider than the window but what scrolls in itself"""
    with Page(folder, page_of(recording(folder)), width=400, dark=True) as page:
        for view in VIEWS:
            page.turn(f"#view={view}")
            hw.need(page.evaluate("document.documentElement.dataset.theme") == "dark", "it is light")
            wide = page.evaluate("document.documentElement.scrollWidth")
            hw.need(wide <= 400, f"{view} is {wide} pixels wide")
        page.done()


@TESTS.test
def foreign(folder):
    """A file of another tool, which knows less, has a page as well"""
    path = folder / "stacks.folded"
    path.write_text("main;read_all;grow 4096\nmain;parse 1024\n")
    with Page(folder, page_of(path)) as page:
        for view in VIEWS:
            page.turn(f"#view={view}")
            hw.need(not any(word in page.text() for word in ("undefined", "[object", "NaN")), f"{view}: {page.text()}")
        page.turn("#view=flame")
        hw.need(page.when("window.heapwiseFlame?.tree", "heapwiseFlame.tree.total[0]") == 5120, "not all of it is there")
        page.done()


@TESTS.test
def damaged(folder):
    """Data that is damaged or not all there is said to be so, also in browsers that can't read base64 by themselves"""
    made = page_of(recording(folder))
    html = made.read_text(encoding="utf-8")
    data = DATA.search(html)[1]
    packed = base64.b64decode(data)
    cases = [("whole", packed, None), ("cut", packed[:len(packed) // 2], "truncated"), ("empty", b"", "not all there"),
             ("longer", packed[:-4] + b"\1\0\0\0", "length check"), ("changed", packed[:-8] + bytes(4) + packed[-4:], "not valid")]
    for old in (False, True):
        with Browser(folder) as browser:
            if old:
                browser.call("Page.addScriptToEvaluateOnNewDocument", source="delete Uint8Array.fromBase64")
            for name, content, said in cases:
                made.write_text(html.replace(data, base64.b64encode(content).decode(), 1), encoding="utf-8")
                browser.open("about:blank")
                browser.open(made.as_uri())
                ready = browser.when("document.documentElement.dataset.ready", "document.documentElement.dataset.ready")
                text = browser.evaluate("document.body.innerText")
                hw.need(ready == ("failed" if said else "1"), f"{name}: {ready}: {text[:200]}")
                hw.need(not said or ("can't be shown" in text and said in text), f"{name}: {text[:200]}")
            hw.need(not browser.exceptions, f"{browser.exceptions}")


@TESTS.test
def bundle(_):
    """The committed page is what web/build makes of its sources, and is below 150 KB"""
    page = hw.SOURCE / "web/dist/page.html"
    hw.need(page.stat().st_size <= 150_000, f"{page.stat().st_size} bytes")
    hw.need_program("esbuild")
    checked = subprocess.run([hw.SOURCE / "web/build", "--check"], capture_output=True, text=True, check=False)
    hw.need(checked.returncode == 0, checked.stderr)


TESTS.main(width=1)  # one browser
