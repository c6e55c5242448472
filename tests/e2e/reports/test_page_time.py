#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ranges of the timeline in the page, in Chromium: what a range means, and that its figures are the commands'."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pagefile import Page as PageFile
from pages import Page, amount, page_of

TESTS = hw.Tests()
BUTTONS = "[...document.querySelectorAll('[aria-label=\"What of the range\"] button')]"
SLIDERS = "[...document.querySelectorAll('input[type=range]')]"
COMMANDS = "[...document.querySelectorAll('main code')].map((one) => one.textContent)"


def recording(folder):
    path = folder / "grows.hpw"
    hw.record([hw.TARGETS / "grows"], path)
    hw.need(path.exists(), "nothing was recorded")
    return path


def live_at(path, moment):
    """By stack."""
    found = {}
    for site in hw.report(path, "--view", "sites", "--at", moment)["sites"]:
        key = site["kind"], json.dumps(site["stack"])
        found[key] = found.get(key, 0) + site["live_bytes"]
    return found


def total(page):
    return page.when("window.heapwiseFlame?.tree", "heapwiseFlame.tree.total[0]")


def as_bytes(text):
    size, unit = re.search(r"([\d.]+) (B|KiB|MiB)$", text).groups()
    return float(size) * {"B": 1, "KiB": 1024, "MiB": 1 << 20}[unit]


@TESTS.test
def meanings(folder):
    """Each meaning of a range has the figures of the command that the page names"""
    path = recording(folder)
    made = page_of(path)
    times = [f"{int(time)}ns" for time in PageFile(made.read_text()).columns["moment.time_ns"]]
    start, end = times[len(times) // 4], times[3 * len(times) // 4]
    older, newer = live_at(path, start), live_at(path, end)
    changes = [newer.get(key, 0) - older.get(key, 0) for key in older | newer]
    wanted = {"live": sum(newer.values()), "grown": sum(one for one in changes if one > 0), "shrunk": -sum(one for one in changes if one < 0)}
    with Page(folder, made, f"#view=timeline&range={start}..{end}") as page:
        hw.need("+" in page.text() and "Net growth" in page.text(), page.text())
        said = dict(zip(("live", "grown", "shrunk", "peak"), page.evaluate(f"{BUTTONS}.map((one) => one.textContent)")))
        for meaning, value in wanted.items():
            hw.need(said[meaning].endswith(f": {amount(value)}"), f"{meaning}: {said}, wanted {amount(value)}")
        for i, (meaning, words) in enumerate((("live", ["flame", "--metric", "live_bytes", "--at"]), ("grown", ["diff"]), ("shrunk", ["diff"]),
                                              ("peak", ["flame", "--metric", "live_bytes", "--at"]))):
            page.evaluate(f"{BUTTONS}[{i}].click(), 0")
            hw.need(page.evaluate(f"{BUTTONS}[{i}].getAttribute('aria-pressed')") == "true", f"{meaning} is not chosen")
            command = page.evaluate(COMMANDS)[0].split()
            hw.need(command[1:len(words) + 1] == words, f"{meaning}: {command}")
            asked = json.loads(heapwise(*command[1:], "--json", cwd=folder).text)
            if words[0] == "flame":
                found = asked["tree"]["total"]
                hw.need(said[meaning].endswith(amount(found)), f"{meaning}: {command}: {found}, the page says {said[meaning]}")
                wanted.setdefault(meaning, found)
            page.turn(f"#view=flame&range={start}..{end}&metric=range_{meaning}_bytes")
            # When moments are decides whether anything shrank between two of them.
            found = total(page) if wanted[meaning] else 0
            hw.need(found == wanted[meaning] and (found or "Nothing is left" in page.text()), f"{meaning}: {found} in the flame graph, wanted {wanted[meaning]}")
            chip = page.evaluate("document.querySelector('.trail')?.textContent ?? ''")
            hw.need("range" in chip, f"{meaning}: the range is not in the trail: {chip!r}")
            page.turn(f"#view=timeline&range={start}..{end}")
        page.evaluate(f"{BUTTONS}[1].click(), 0")
        allocated = page.evaluate(COMMANDS)[1].split()
        hw.need(allocated[:2] == ["heapwise", "html"] and "--from" in allocated, f"{allocated}")
        page.done()


MANY_MARKS = """
#include <heapwise/client.h>
#include <stdlib.h>
#include <string.h>
static void *volatile kept;
int main(void)
{
	for (int i = 1; i <= 20; i++) {
		kept = malloc(1000 * i);
		memset(kept, 1, 1000);
		heapwise_mark(i == 3 ? "third" : "one of many");
	}
	return 0;
}
"""


@TESTS.test
def marks(folder):
    """A range begins and ends at marks, exactly; of marks that are no moments the nearest one is named"""
    (folder / "m.c").write_text(MANY_MARKS)
    made = hw.run([hw.need_program("gcc"), "-g", "-O1", "-fno-builtin-malloc", "-I", hw.SOURCE / "include", folder / "m.c", "-o", folder / "m"])
    hw.need(made.status == 0, str(made))
    path = folder / "m.hpw"
    hw.record([folder / "m"], path)
    choose = """((number, word) => { const one = document.querySelectorAll('.range select')[number];
        one.value = word; one.dispatchEvent(new Event('change')); })"""
    with Page(folder, page_of(path), "#view=timeline") as page:
        texts = page.evaluate("[...document.querySelector('.range select').options].map((one) => one.textContent)")
        hw.need(len(texts) == 21 and "third" in texts and "nearest exact moment" in texts[20] and "nearest" not in texts[16], f"{texts}")
        page.evaluate(f"{choose}(0, 'mark:third'), {choose}(1, 'mark:one of many#6'), 0")
        change = json.loads(heapwise("diff", "--json", f"{path}@mark:third", f"{path}@mark:one of many#6").text)["totals"]["live_bytes"]["change"]
        hw.need(change == sum(1000 * i for i in range(4, 8)) and f"+{amount(change)} in the heap" in page.text(), f"{change}: {page.text()}")
        hw.need("m.hpw@mark:third" in page.text(), page.text())
        fragment = page.evaluate("location.hash")
        page.go(fragment)
        hw.need(f"+{amount(change)} in the heap" in page.text(), f"{fragment}: {page.text()}")
        page.done()


@TESTS.test
def hands(folder):
    """A range is chosen by keys, by a drag and by the URL; it can be left again"""
    path = recording(folder)
    made = page_of(path)
    with Page(folder, made, "#view=timeline") as page:
        hw.need(page.evaluate(f"{SLIDERS}.length") == 2 and page.evaluate(f"{BUTTONS}.length") == 0, page.text())
        page.evaluate(f"const one = {SLIDERS}[0]; one.focus(); one.value = 12; one.dispatchEvent(new Event('input')), 0")
        hash_ = page.evaluate("location.hash")
        hw.need("range=" in hash_ and hash_.count("..") == 1 and "..end" in hash_, hash_)
        hw.need(page.evaluate(f"document.activeElement === {SLIDERS}[0]"), "the focus is lost")
        hw.need(page.evaluate(f"{SLIDERS}[0].getAttribute('aria-valuetext')").endswith("B"), "the moment is not said")
        page.go(hash_)
        hw.need(page.evaluate(f"{SLIDERS}[0].value") == "12", "the URL does not lead to the range")
        # An end that is moved beyond the other takes it along.
        page.evaluate(f"const last = {SLIDERS}[1]; last.value = 5; last.dispatchEvent(new Event('input')), 0")
        hw.need(page.evaluate(f"{SLIDERS}.map((one) => one.value)") == ["5", "5"], f"{page.evaluate('location.hash')}")
        page.evaluate("[...document.querySelectorAll('main button')].find((one) => one.textContent === 'No range').click(), 0")
        hw.need("range" not in page.evaluate("location.hash"), page.evaluate("location.hash"))
        # By a drag over the chart: the browser's own events.
        box = page.evaluate("(() => { const { left, top, width, height } = document.querySelector('.u-over').getBoundingClientRect(); return [left, top, width, height]; })()")
        y = box[1] + box[3] / 2
        for kind, part in (("mouseMoved", 0.25), ("mousePressed", 0.25), ("mouseMoved", 0.5), ("mouseMoved", 0.7), ("mouseReleased", 0.7)):
            page.call("Input.dispatchMouseEvent", type=kind, x=box[0] + box[2] * part, y=y, button="none" if kind == "mouseMoved" and part == 0.25 else "left", buttons=0 if kind == "mouseReleased" else 1, clickCount=1)
        page.when("location.hash.includes('range=')", "0")
        first, last = (int(one) for one in page.evaluate(f"{SLIDERS}.map((one) => one.value)"))
        times = PageFile(made.read_text()).columns["moment.time_ns"]
        for number, part in ((first, 0.25), (last, 0.7)):
            near = min(range(len(times)), key=lambda i: abs(times[i] - times[-1] * part))
            hw.need(abs(number - near) <= 1, f"{part} of the time is moment {near}, not {number}")
        hw.need(page.evaluate(f"{BUTTONS}.length") == 4, page.text())
        # Other views show it until it is removed.
        page.turn(f"#view=tables&range={int(times[10])}ns..{int(times[20])}ns&metric=range_live_bytes")
        hw.need("Live at the end of the range" in page.evaluate("document.querySelector('.trail').textContent"), page.text())
        page.evaluate("document.querySelector('.trail button').click(), 0")
        hw.need("range" not in page.evaluate("location.hash"), page.evaluate("location.hash"))
        page.done()


@TESTS.test
def without(folder):
    """Where no range can be chosen the page says why; a range in the URL does nothing there"""
    path = recording(folder)
    with Page(folder, page_of(path, "--from", "peak"), "#view=timeline&range=1s..2s&metric=range_live_bytes") as page:
        hw.need("No range can be chosen: moments are counted" in page.text(), page.text())
        page.turn("#view=flame&range=1s..end&metric=range_live_bytes")
        hw.need(total(page) > 0 and "range" not in page.evaluate("document.querySelector('main select').value"), page.text())
        page.done()
    # Of another tool's file ranges can be chosen, but no command knows its moments.
    hw.ask("export", path, "--format", "massif", "-o", folder / "massif.out")
    with Page(folder, page_of(folder / "massif.out"), "#view=timeline") as page:
        page.evaluate(f"const one = {SLIDERS}[0]; one.value = 1; one.dispatchEvent(new Event('input')), 0")
        hw.need(page.evaluate(f"{BUTTONS}.length") == 4 and not page.evaluate(COMMANDS), page.text())
        page.evaluate(f"{BUTTONS}[3].click(), 0")
        page.evaluate("[...document.querySelectorAll('main a')].find((one) => one.textContent === 'Flame graph').click(), 0")
        hw.need(total(page) > 0 and "No command shows the same" in page.text() and not page.evaluate(COMMANDS), page.text())
        page.done()


TESTS.main(width=1)  # one browser
