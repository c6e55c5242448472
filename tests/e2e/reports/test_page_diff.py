#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A page of a difference in Chromium: its figures are those of diff, in every view; never by colour alone; what can't be
compared is said."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pages import VIEWS, Page, amount

TESTS = hw.Tests()
DIFF = hw.TARGETS / "diff"
# What the pair of programs was planted with: live bytes before and after.
GROWS, LEAKS, SHRINKS, STALE = (5 * 307, 25 * 307), (0, 6 * 211), (15 * 53, 5 * 53), (4 * 79, 0)


def recording(folder, program, name, *options):
    path = folder / name
    hw.record([DIFF / program], path, options=("-q", *options))
    hw.need(path.exists(), "nothing was recorded")
    return path


def page_of(folder, old, new, *options):
    ended = heapwise("diff", f"--html={folder / 'page.html'}", old, new, *options)
    hw.need(ended.status == 0, str(ended))
    return folder / "page.html"


def diff(old, new):
    return json.loads(hw.ask("diff", "--json", old, new))


def signed(value):
    return f"{'+' if value > 0 else '-'}{amount(abs(value))}" if value else "±0"


def node_of(page, name, inside="main"):
    """The box of a function that another one calls: [was, now, size, label, colour]."""
    return page.when("window.heapwiseFlame?.tree", f"""(() => {{
        const {{ tree, options }} = heapwiseFlame, name = (node) => options.label(node).replace(/^[▲▼] (new: |gone: )?| [+-][\\d.]+ [KM]?i?B$/g, '');
        for (let node = 1; node < tree.count; node++)
            if (name(node) === {json.dumps(name)} && name(tree.parent[node]) === {json.dumps(inside)})
                return [tree.was[node], tree.now[node], tree.total[node], options.label(node), options.fill(node, false, false)];
        return null;
    }})()""")


@TESTS.test
def views(folder):
    """Each view opens; totals, places, boxes, rows and trees have the figures of diff, with signs"""
    old = recording(folder, "diff_old-O0", "old.hpw", "--leak-check=full")
    new = recording(folder, "diff_new-O2", "new.hpw", "--leak-check=full")
    told = diff(old, new)
    with Page(folder, page_of(folder, old, new)) as page:
        for view in VIEWS:
            page.go(f"#view={view}")
            bad = [word for word in ("undefined", "[object", "NaN", "null") if word in page.text()]
            hw.need(not bad, f"{view}: {bad}: {page.text()}")
        page.turn("#view=overview")
        text = page.text()
        for line in told["verdict"] + told["notes"]:
            hw.need(line in text, f"no word of {line!r}: {text}")
        rows = page.evaluate("[...document.querySelectorAll('.totals tbody tr')].map((row) => [...row.cells].map((cell) => cell.title || cell.textContent))")
        figures = {row[0]: row[1:4] for row in rows}
        for name, metric in (("Live at the end, bytes", "live_bytes"), ("Live at the peak, bytes", "peak_bytes"), ("Allocated, bytes", "allocated_bytes")):
            wanted = [f"{told['totals'][metric][side]:,} bytes" for side in ("older", "newer", "change")]
            hw.need(figures[name] == wanted, f"{name}: {figures[name]}, diff: {wanted}")
        for status, sign in (("new", "▲ New"), ("grown", "▲ Grown"), ("shrunk", "▼ Shrunk"), ("gone", "▼ Gone")):
            place = told["places"][status]
            hw.need(f"{sign}: {place['count']} allocation site, {signed(place['change'])}" in text, f"{status}: {text}")

        page.turn("#view=timeline")
        page.evaluate("document.querySelector('details.besides').open = true, 0")
        moments = page.when("document.querySelector('.moments')", "[...document.querySelectorAll('.moments tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
        for column, path in ((1, new), (2, old)):
            times = {one["time_ns"] for one in json.loads(hw.ask("timeline", "--json", path))["snapshots"]}
            hw.need(sum(row[column] != "–" for row in moments) == len(times), f"moments of {path}: {len(times)}; {moments}")

        page.turn("#view=flame")
        for name, (was, now), label in (("grows", GROWS, "▲ grows +6.00 KiB"), ("leaks", LEAKS, "▲ new: leaks +1.24 KiB"),
                                        ("shrinks", SHRINKS, "▼ shrinks -530 B"), ("stale", STALE, "▼ gone: stale -316 B")):
            found = node_of(page, name)
            hw.need(found and found[:4] == [was, now, max(was, now), label], f"{name}: {found}")
            hw.need(found[4].startswith("hsl(30 " if now > was else "hsl(212 "), f"{name} is {found[4]}")
        steady = node_of(page, "steady")
        hw.need(steady[0] == steady[1] and steady[3] == "steady" and steady[4].startswith("hsl(220 8%"), f"{steady}")
        page.turn("#view=flame&by=change")
        hw.need(node_of(page, "grows")[2] == GROWS[1] - GROWS[0] and not node_of(page, "steady")[2], "the width is no change")
        for only, name in (("new", "leaks"), ("grown", "grows"), ("shrunk", "shrinks"), ("gone", "stale")):
            page.turn(f"#view=flame&only={only}")
            change = page.when("window.heapwiseFlame?.tree", "heapwiseFlame.tree.now[0] - heapwiseFlame.tree.was[0]")
            hw.need(change == told["places"][only]["change"] and node_of(page, name), f"{only}: {change}")
            hw.need(signed(change) in page.text(), page.text())
        page.turn("#view=flame&focus=^grows$")
        command = page.evaluate("document.querySelector('code').textContent")
        hw.need(f"--base {old}" in command and "--focus '^grows$'" in command, command)
        same = heapwise(*command.replace("'", "").split()[1:], "--json")
        hw.need(json.loads(same.text)["tree"]["total"] == GROWS[1] - GROWS[0], f"{command}: {same}")
        page.turn("#view=flame&q=^leaks$")
        page.when("document.querySelector('[role=status]').textContent", "0")
        hw.need("matched ▲ +1.24 KiB (new), 0 B → 1.24 KiB" in page.text(), page.text())

        cells = "[...document.querySelectorAll('.rows [role=row]')].map((row) => [...row.children].map((cell) => cell.title + '|' + cell.textContent))"
        for kind in ("functions", "files"):
            page.turn(f"#view=tables&table={kind}&metric=live_bytes")
            spots = json.loads(hw.ask("report", "--view", kind, "--base", old, new, "--json"))["spots"]
            known = {spot["short"] or spot["name"]: spot for spot in spots}
            rows, seen, sizes = page.evaluate(cells), 0, []
            for row in rows:
                name = row[2].split("|")[1]
                spot = known.get(name) or known.get(name.rsplit("/", 1)[-1])
                sizes.append(abs(int(row[0].split("|")[0].replace(",", ""))))
                if spot:
                    seen += 1
                    for at, part in ((0, "flat"), (1, "cum")):
                        change = spot["change"][part]["live_bytes"]
                        hw.need(row[at].startswith(f"{change:,}|"), f"{kind} {name}: {row}, report: {change}")
                        sign = "▲" if change > 0 else "▼" if change < 0 else "="
                        hw.need(row[at].endswith(f"|{sign} {signed(change)}"), f"{kind} {name}: {row}")
            hw.need(seen >= 3 and sizes == sorted(sizes, reverse=True), f"{kind}: {seen} of {rows}, {sizes}")

        page.turn("#view=calls")
        page.evaluate("document.querySelector('[role=treeitem]').focus(), 0")
        labels = page.evaluate("[...document.querySelectorAll('[role=treeitem]')].map((one) => one.getAttribute('aria-label'))")
        hw.need("grows, ▲ +6.00 KiB (+400%), 1.50 KiB → 7.50 KiB" in labels, f"{labels}")
        hw.need("stale, ▼ -316 B (gone), 316 B → 0 B" in labels and not any(one.startswith("steady") for one in labels), f"{labels}")
        page.turn("#view=leaks")
        hw.need("Still reachable" in page.text() and signed(told["totals"]["live_bytes"]["change"]) in page.text(), page.text())
        page.turn("#view=about")
        hw.need("diff_old-O0" in page.text() and "diff_new-O2" in page.text(), page.text())
        page.done()


@TESTS.test
def nothing_changed(folder):
    """One recording with itself: no change, said in each view, and a way to see what there is"""
    new = recording(folder, "diff_new-O2", "new.hpw")
    with Page(folder, page_of(folder, new, new), width=400, dark=True) as page:
        text = page.text()
        hw.need("Nothing changed" in text and "No allocation site differs" in text and "▲" not in text and "▼" not in text, text)
        page.turn("#view=calls")
        hw.need("No stack changed" in page.text(), page.text())
        page.evaluate("[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Show all stacks').click(), 0")
        hw.need("main" in page.text() and "= ±0" in page.text(), page.text())
        page.turn("#view=flame")
        found = node_of(page, "grows")
        hw.need(found[0] == found[1] and found[3] == "grows", f"{found}")
        for view in VIEWS:
            page.turn(f"#view={view}")
            wide = page.evaluate("document.documentElement.scrollWidth")
            hw.need(wide <= 400, f"{view} is {wide} pixels wide")
        page.done()


@TESTS.test
def unlike(folder):
    """A sample and an exact recording: estimates with their ranges, what is unknown by name; two files of other tools"""
    old = recording(folder, "diff_old-O0", "old.hpw")
    sampled = recording(folder, "diff_new-O2", "sampled.hpw", "--mode", "sample:64")
    told = diff(old, sampled)
    with Page(folder, page_of(folder, old, sampled)) as page:
        text = page.text()
        low, high = told["totals"]["live_bytes"]["range"]
        for words in (f"estimate: {signed(low)} to {signed(high)}", "not known", "sampled.hpw does not say it", *told["notes"]):
            hw.need(words in text, f"no word of {words!r}: {text}")
        hw.need("sampled: figures are estimates" in page.evaluate("document.querySelector('header').innerText"), "the head")
        page.turn("#view=flame")
        hw.need("estimates" in page.text(), page.text())
        page.turn("#view=sizes")
        hw.need("sampling rates differ" in page.text(), page.text())
        page.done()
    files = [folder / "a.folded", folder / "b.folded"]
    files[0].write_text("main;read_all;grow 4096\nmain;parse 1024\n")
    files[1].write_text("main;read_all;grow 8192\nmain;</script><img_src=x_onerror=alert(1)> 100\n")
    with Page(folder, page_of(folder, *files)) as page:
        for view in VIEWS:
            page.turn(f"#view={view}")
            bad = [word for word in ("undefined", "[object", "NaN", "null") if word in page.text()]
            hw.need(not bad, f"{view}: {bad}: {page.text()}")
            hw.need(not page.evaluate("document.images.length"), f"{view}: a name became markup")
        page.turn("#view=flame")
        hw.need(page.when("window.heapwiseFlame?.tree", "[heapwiseFlame.tree.was[0], heapwiseFlame.tree.now[0]]") == [5120, 8292], "the sums")
        page.done()


TESTS.main(width=1)  # one browser
