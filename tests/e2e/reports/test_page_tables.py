#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of a page: their figures are the report's, with filters too; on a narrow screen the names are in sight."""

import json
import sys
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import jfr_files
from pages import Page, page_of, recording

TESTS = hw.Tests()

SPOTS = ("functions", "files", "modules")
# What cells say exactly: name, self, with callees.
ROWS = """JSON.stringify([...document.querySelectorAll('.rows [role=row]')].map((row) => {
    const cells = [...row.children].map((cell) => cell.title);
    return [cells[3], ...cells.slice(0, 2).map((text) => Number(text.replace(/[^0-9]/g, '')))];
}))"""
# Of each row: the name's edges and the place of its figures below it, as the table is and scrolled aside.
NAMES = """JSON.stringify([0, 1e6].map((aside) => {
    const box = document.querySelector('.table');
    box.scrollLeft = aside;
    return [...document.querySelectorAll('.rows [role=row]')].map((row) => {
        const [name, figure] = [...row.children].map((cell) => cell.getBoundingClientRect());
        return [row.firstElementChild.textContent, name.left, name.right, figure.top >= name.bottom - 1];
    });
}))"""


def table_of(page, kind, **fragment):
    page.turn("#" + urlencode({"view": "tables", "table": kind, "metric": "allocated_bytes", **fragment}))
    return sorted(row for row in json.loads(page.evaluate(ROWS)) if row[2])


def report_of(path, kind, *options):
    spots = hw.report(path, "--view", kind, *options)["spots"]
    name = {"functions": "function", "files": "file", "modules": "module"}[kind]
    return sorted([spot[name] or "(unknown)", spot["flat"]["allocated_bytes"], spot["cum"]["allocated_bytes"]]
                  for spot in spots if spot["cum"]["allocated_bytes"])


@TESTS.test
def filtered(folder):
    """Tables have what filters leave, as report has it, and the command that shows it; other views say they have all"""
    path = recording(folder)
    with Page(folder, page_of(path)) as page:
        before = table_of(page, "functions")
        for filters in ({"focus": "^lose$"}, {"ignore": "keep|lose"}, {"hide": "^work$"}, {"show": "^main$|^keep$"},
                        {"show-from": "^main$"}, {"focus": "keep", "hide": "^main$"}):
            options = [f"--{part}={text}" for part, text in filters.items()]
            for kind in SPOTS:
                shown, wanted = table_of(page, kind, **filters), report_of(path, kind, *options)
                # Frames without a source file are one row of the page.
                hw.need([row for row in shown if row[0] != "(unknown)"] == [row for row in wanted if row[0] != "(unknown)"],
                        f"{kind} of {filters}: {shown}, and not {wanted}")
            table_of(page, "functions", **filters)
            hw.need("heapwise report --view functions --sort allocated_bytes" in page.text(), page.text())
        hw.need(table_of(page, "functions", focus="^lose$") != before, "the filter changes nothing")
        for view, says in (("leaks", True), ("overview", True), ("flame", False)):
            page.turn(f"#view={view}&focus=lose")
            hw.need(("of all stacks" in page.text()) == says, f"{view}: {page.text()}")
        page.done()


@TESTS.test
def sites(folder):
    """Allocation sites are the report's; a name leads to its box of the flame graph"""
    path = recording(folder)
    with Page(folder, page_of(path)) as page:
        page.turn("#view=tables&table=sites&metric=allocated_bytes")
        shown = json.loads(page.evaluate("JSON.stringify([...document.querySelectorAll('.rows [role=row]')].map((row) => Number(row.firstElementChild.title.replace(/[^0-9]/g, ''))))"))
        wanted = sorted((site["allocated_bytes"] for site in hw.report(path, "--view", "sites")["sites"]), reverse=True)
        hw.need(shown == wanted, f"{shown}, and not {wanted}")
        hw.need("work ← main" in page.text(), page.text())
        page.evaluate("[...document.querySelectorAll('.rows a')].find((one) => one.textContent === 'work ← main').click(), 0")
        page.when("window.heapwiseFlame?.tree && heapwiseFlame.zoomed", "0")
        name, total = page.evaluate("[heapwiseFlame.options.label(heapwiseFlame.zoomed), heapwiseFlame.tree.total[heapwiseFlame.zoomed]]")
        hw.need(name == "work" and total == 5 * 50000, f"{name}: {total}")
        page.turn("#view=overview")
        hw.need("Most allocations" in page.text() and "30 calls" in page.text(), page.text())
        page.done()


@TESTS.test
def only_allocated(folder):
    """A file that knows allocated bytes alone has its sites in the overview, and says what it does not know"""
    chunk = jfr_files.Chunk()
    for _ in range(3):
        chunk.sample(["app/Main.load:12", "app/Main.main:3"], "[B", 1 << 20)
    chunk.sample(["app/Main.save:15", "app/Main.main:3"], "[C", 1 << 19)
    path = folder / "x.jfr"
    path.write_bytes(chunk.whole())
    with Page(folder, page_of(path)) as page:
        text = page.text()
        hw.need("This file says what was allocated, and not what stayed." in text, text)
        listed = text.split("Most allocated")[1].split("Notes")[0]
        words = ["3.00 MiB", "byte[]", "app.Main.load", "512 KiB", "char[]", "app.Main.save"]
        places = [listed.find(word) for word in words]
        hw.need(-1 not in places and places == sorted(places), listed)
        hw.need("Most allocations" not in text, text)
        page.done()
    hw.need("\n  allocated    3.50 MiB\n" in hw.ask("report", path), hw.ask("report", path))


@TESTS.test
def none_sampled(folder):
    """Where no sample is live, the page and the report don't say that nothing is"""
    path = folder / "x.heap"
    path.write_text("heap profile: 0: 0 [10: 5242880] @ heap_v2/524288\n 0: 0 [10: 5242880] @ 0x401000 0x402000\n\n"
                    "MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 /bin/nosuch\n")
    text = hw.ask("report", path, "--view", "never-freed")
    hw.need("\nLive then\n  nothing that was sampled\n" in text, text)
    with Page(folder, page_of(path)) as page:
        hw.need("Nothing that was sampled." in page.text() and "Nothing.\n" not in page.text(), page.text())
        page.done()


@TESTS.test
def narrow(folder):
    """At 400 pixels each row's name is in sight above its figures, however far the table is scrolled; heads stay"""
    path = recording(folder)
    with Page(folder, page_of(path), width=400) as page:
        for kind in (*SPOTS, "sites", "threads"):
            page.turn(f"#view=tables&table={kind}")
            for rows in json.loads(page.evaluate(NAMES)):
                hw.need(rows, f"{kind}: no rows")
                for name, left, right, is_above in rows:
                    hw.need(name and left >= 0 and right <= 400 and is_above, f"{kind}: {name!r} is at {left} to {right}, above: {is_above}")
            hw.need(page.evaluate("document.documentElement.scrollWidth") <= 400, f"{kind} is wider than 400 pixels")
            tab = page.evaluate("(({left, right}) => [left, right])(document.querySelector('[aria-current]').getBoundingClientRect())")
            hw.need(tab[0] >= 0 and tab[1] <= 400, f"the tab of the view is at {tab}")
        page.turn("#view=tables")
        head = "document.querySelector('.table .head').getBoundingClientRect().top - document.querySelector('.table').getBoundingClientRect().top"
        page.evaluate("(() => { const box = document.querySelector('.table'); box.style.maxHeight = '150px'; box.scrollTop = 60; })(), 0")
        hw.need(page.evaluate(head) < 5, f"the head has gone with the rows: {page.evaluate(head)}")
        page.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        page.when("!document.querySelector('.table.tall') && document.querySelector('.rows [role=row]').children[3].classList.contains('name')", "0")
        page.turn("#view=tables&table=threads")
        hw.need("1 row" in page.text() and "1 rows" not in page.text(), page.text())
        page.done()


@TESTS.test
def first_sight(folder):
    """The call tree is open up to where it branches; the peak's label is above the curve"""
    path = recording(folder)
    with Page(folder, page_of(path)) as page:
        page.turn("#view=calls&metric=allocated_bytes")
        names = page.evaluate("[...document.querySelectorAll('[role=treeitem]')].filter((one) => !one.parentElement.closest('[hidden]')).map((one) => one.ariaLabel ?? one.getAttribute('aria-label')).join('\\n')")
        hw.need("\nmain," in names and "\nwork," in names, names)
        page.turn("#view=timeline")
        page.when("document.querySelector('.u-over')", "0")
        room = page.evaluate("document.querySelector('.u-over').getBoundingClientRect().top - document.querySelector('.u-wrap').getBoundingClientRect().top")
        hw.need(room >= 13, f"no room for a label above the chart: {room}")
        page.done()


TESTS.main(width=1)  # one browser
