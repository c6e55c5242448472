#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What hands do on a page: filters have the commands' figures, keys reach everything, what is copied is right."""

import json
import shlex
import sys
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pages import Page, page_of, recording

TESTS = hw.Tests()

# Functions of one name in two modules, recursion, frames of the C++ library.
OTHER = """
#include <stdlib.h>
__attribute__((noinline)) void *make(int bytes) { return malloc(bytes); }
void *other_make(int bytes) { void *made = make(bytes); asm volatile("" : "+r"(made)); return made; }
"""
NAMES = """
#include <cstdlib>
#include <map>
#include <string>
#include <vector>
extern "C" void *other_make(int);
static std::vector<void *> kept;
__attribute__((noinline)) static void *make(int bytes) { void *made = malloc(bytes); asm volatile("" : "+r"(made)); return made; }
__attribute__((noinline)) static void nest(int depth)
{
	if (depth)
		nest(depth - 1);
	else
		kept.push_back(make(300));
	asm volatile("");
}
__attribute__((noinline)) static void parse()
{
	static std::map<std::string, std::vector<int>> numbers;
	for (int i = 0; i < 40; i++)
		numbers["a name that needs memory of its own " + std::to_string(i)].resize(i + 1);
	asm volatile("");
}
int main()
{
	kept.push_back(make(100));
	kept.push_back(other_make(7000));
	nest(4);
	parse();
	for (int i = 0; i < 10; i++)
		free(make(50));
	return 0;
}
"""


def names(folder):
    """A recording of NAMES."""
    (folder / "other.c").write_text(OTHER)
    (folder / "n.cc").write_text(NAMES)
    for command in (["gcc", "-g", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-fPIC", "-shared", "-o", "libother.so", "other.c"],
                    ["g++", "-g", "-O1", "-fno-optimize-sibling-calls", "-fno-inline", "-o", "n", "n.cc", "-L.", "-lother", "-Wl,-rpath,$ORIGIN"]):
        made = hw.run([hw.need_program(command[0]), *command[1:]], cwd=folder)
        hw.need(made.status == 0, str(made))
    path = folder / "n.hpw"
    hw.record([folder / "n"], path)
    return path


SHOWN = """(() => {
    const {tree} = heapwiseFlame, found = [], path = [];
    const walk = (node) => {
        for (let i = tree.firstChild[node]; i < tree.firstChild[node + 1]; i++) {
            const child = tree.order[i];
            if (!tree.total[child]) continue;
            path.push(heapwiseFlame.options.label(child));
            found.push([path.join(";"), tree.total[child], tree.self[child]]);
            walk(child);
            path.pop();
        }
    };
    walk(0);
    return found.sort();
})()"""


def flame_of(page, metric, **filters):
    page.turn("#" + "&".join(f"{key}={quote(value)}" for key, value in {"view": "flame", "metric": metric, "names": "1", **filters}.items()))


def shown(page):
    """Paths of the flame graph with their figures."""
    page.when("window.heapwiseFlame?.tree || document.querySelector('.empty')", "0")
    return [tuple(one) for one in page.evaluate(SHOWN)]


def told(*command, cwd=None):
    """The same of a command."""
    found = []

    def walk(node, path):
        for child in node["children"]:
            if child["total"]:
                found.append((";".join((*path, child["name"])), child["total"], child["self"]))
                walk(child, (*path, child["name"]))

    ended = heapwise(*command, "--json", "--threshold", "0", cwd=cwd)
    hw.need(ended.status == 0, str(ended))
    walk(json.loads(ended.text)["tree"], ())
    return sorted(found)


def added(rows, inverted=False):
    """Functions of one name are one row in what is compared; callers allocated nothing themselves there."""
    sums = {}
    for path, total, self in rows:
        before = sums.get(path, (0, 0))
        sums[path] = (before[0] + total, 0 if inverted else before[1] + self)
    return sums


def same(found, wanted, what, inverted=False):
    """Fails with what only one of both has."""
    found, wanted = added(found, inverted), added(wanted, inverted)
    hw.need(found == wanted, f"{what}: the page alone has {sorted(found.items() - wanted.items())[:5]}, the command {sorted(wanted.items() - found.items())[:5]}")


FILTERS = ({"hide": "^std"}, {"hide": "libstdc|^main$"}, {"show": "parse|make"}, {"show-from": "^nest"}, {"show-from": "^nest", "hide": "^main"},
           {"focus": "make", "hide": "nest"}, {"ignore": "other", "show": "make|main"}, {"hide": "n\\.cc"}, {"focus": "^make", "ignore": "libother"},
           {"show-from": "std::", "hide": "^std::vector"}, {"focus": "parse", "show": "basic_string", "inverted": "1"})


@TESTS.test
def filters(folder):
    """focus, ignore, hide, show and show-from leave what heapwise tree leaves, and the trail's command says so"""
    path = names(folder)
    with Page(folder, page_of(path)) as page:
        for metric in ("allocated_bytes", "allocations"):
            for chosen in FILTERS if metric == "allocated_bytes" else FILTERS[:2]:
                flame_of(page, metric, **chosen)
                words = [word for part, text in chosen.items() for word in ((f"--{part}", text) if part != "inverted" else ("--bottom-up",))]
                wanted = told("tree", path, "--metric", metric, *words)
                hw.need(wanted, f"{chosen}: nothing is left")
                same(shown(page), wanted, chosen, "inverted" in chosen)
                command = shlex.split(page.evaluate("document.querySelector('.trail + .bar code').textContent"))
                same(wanted, told(*command[1:], cwd=folder), command)
        flame_of(page, "allocated_bytes", hide="xyz(", focus="no such function")
        hw.need("Nothing is left" in page.text(), page.text())
        page.done()


@TESTS.test
def filter_bar(folder):
    """Buttons add filters, presets hide runtimes and collapse recursion, boxes are removed and come back"""
    path = names(folder)
    with Page(folder, page_of(path)) as page:
        flame_of(page, "allocated_bytes")
        whole = page.when("window.heapwiseFlame?.tree", "heapwiseFlame.tree.total[0]")
        press = "[...document.querySelectorAll('main button')].find((one) => one.textContent === {}).click(), 0"
        names_of = [one[0].split(";") for one in shown(page)]
        hw.need(any(path.count("nest") == 5 for path in names_of), f"{names_of}")
        page.evaluate(press.format("'Collapse recursion'"))
        page.when("heapwiseFlame.tree", "0")
        hw.need(all(path[0].split(";").count("nest") <= 1 for path in shown(page)), "recursion is not collapsed")
        hw.need("No command shows the same: recursion is collapsed" in page.text(), page.text())
        page.evaluate(press.format("'Collapse recursion'"))
        page.evaluate(press.format("'Hide runtimes'"))
        rest = page.when("heapwiseFlame.tree", "heapwiseFlame.tree.total[0]")
        hw.need(0 < rest <= whole and not any("libc_start" in one[0] or "std::" in one[0] for one in shown(page)), f"{shown(page)}")
        command = shlex.split(page.evaluate("document.querySelector('.trail + .bar code').textContent"))
        same(shown(page), told(*command[1:], cwd=folder), command)
        page.evaluate("(() => { const f = document.querySelector('.bar input[type=search]:not(#find)'); f.value = 'make'; })(), 0")
        page.evaluate(press.format("'Without'"))
        hw.need(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('ignore')") == "make", page.evaluate("location.hash"))
        page.turn("#view=flame&metric=allocated_bytes")
        page.when("window.heapwiseFlame?.tree", "0")
        page.evaluate("document.querySelector('main canvas').focus(), 0")
        for _ in range(4):
            page.key("ArrowDown")
        gone = page.evaluate("heapwiseFlame.tree.total[heapwiseFlame.at]")
        page.key("Delete")
        left = page.when("heapwiseFlame.tree", "heapwiseFlame.tree.total[0]")
        hw.need(left == whole - gone and "removed:" in page.text(), f"{left} of {whole}, without {gone}: {page.text()}")
        page.evaluate("document.querySelector('.trail button').click(), 0")
        hw.need(page.when("heapwiseFlame.tree", "heapwiseFlame.tree.total[0]") == whole, "it does not come back")
        page.evaluate("""(() => { const {tree} = heapwiseFlame, c = heapwiseFlame.canvas, node = tree.order[tree.firstChild[0]], b = heapwiseFlame.seen(node);
            c.dispatchEvent(new MouseEvent('click', {clientX: b.left + 3, clientY: b.top + 3, ctrlKey: true, bubbles: true})); })(), 0""")
        hw.need("drop=" in page.evaluate("location.hash"), page.evaluate("location.hash"))
        page.done()


@TESTS.test
def both_ways(folder):
    """Callers and callees of a function are in one picture; a namesake in another module is another function"""
    path = names(folder)
    with Page(folder, page_of(path)) as page:
        for metric in ("allocated_bytes",):
            page.turn(f"#view=flame&metric={metric}&names=1&of={quote('parse')}")
            page.when("window.heapwiseFlame?.tree", "0")
            hw.need(page.evaluate("document.querySelectorAll('main canvas').length") == 2, "there is one picture")
            wanted = told("tree", path, "--metric", metric, "--callees", "^parse$")
            same(shown(page), wanted, "callees")
            for way in ("callers", "callees"):
                page.turn(f"#view=calls&metric={metric}&of={quote('parse')}{'&inverted=1' if way == 'callers' else ''}")
                command = shlex.split(page.evaluate("document.querySelector('.trail + .bar code').textContent"))
                ended = heapwise(*command[1:], "--json", cwd=folder)
                hw.need(f"--{way}" in command and ended.status == 0, f"{command}: {ended}")
                hw.need(json.loads(ended.text)["tree"]["total"] == sum(row[1] for row in wanted if row[0].count(";") == 0), f"{command}")
        for module, bytes_of in (("libother.so", 7000), ("n", 100 + 300 + 10 * 50)):
            page.turn(f"#view=flame&metric=allocated_bytes&of=make&ofin={quote(str(folder / module))}")
            page.when("window.heapwiseFlame?.tree", "0")
            hw.need(page.evaluate("heapwiseFlame.tree.total[0]") == bytes_of, f"{module}: {page.text()}")
        page.done()


@TESTS.test
def search_steps(folder):
    """n and N go from match to match, and say which"""
    path = names(folder)
    with Page(folder, page_of(path), "#view=flame&metric=allocated_bytes&q=nest") as page:
        page.when("window.heapwiseFlame?.matches", "0")
        count = page.evaluate("heapwiseFlame.hits().length")
        hw.need(count >= 5, f"{count} matches")
        seen = set()
        for i in range(count):
            page.key("n")
            seen.add(page.evaluate("heapwiseFlame.at"))
            hw.need(f"{i + 1} of {count}" in page.evaluate("document.getElementById('step').textContent"), page.text())
        hw.need(len(seen) == count and 0 not in seen, f"{seen}")
        page.key("n")
        page.key("N")
        hw.need(f"{count} of {count}" in page.evaluate("document.getElementById('said').textContent"), "it is not said")
        hw.need("nest" in page.evaluate("document.querySelector('.tip:not([hidden])')?.innerText ?? ''"), "no tooltip for keys")
        page.done()


@TESTS.test
def colours(folder):
    """By module, and by the share of temporary allocations, with a legend"""
    path = names(folder)
    with Page(folder, page_of(path), "#view=flame&metric=allocations") as page:
        page.when("window.heapwiseFlame?.tree", "0")
        legend = page.evaluate("document.querySelector('.legend').innerText")
        hw.need("libother.so" in legend and "libc.so.6" in legend, legend)
        fills = page.evaluate("new Set([...document.querySelectorAll('.swatch')].map((one) => one.style.background)).size")
        hw.need(fills == page.evaluate("document.querySelectorAll('.swatch').length"), "two modules have one colour")
        # Modules keep their colours in other trees; the legend is of callers and callees.
        swatches = "Object.fromEntries([...document.querySelectorAll('.legend li')].map((one) => [one.textContent, one.firstElementChild.style.background]))"
        before = page.evaluate(swatches)
        page.evaluate("location.hash = '#view=flame&metric=allocations&of=other_make', 0")
        page.when("document.querySelectorAll('main canvas').length === 2", "0")
        now = page.evaluate(swatches)
        hw.need({"n", "libother.so", "libc.so.6"} <= set(now) and now.items() <= before.items(), f"{before}, of a function: {now}")
        page.turn("#view=flame&metric=allocations&colour=temporary")
        page.when("window.heapwiseFlame?.tree", "0")
        hw.need("0% temporary" in page.evaluate("document.querySelector('.legend').innerText"), page.text())
        page.evaluate("document.querySelector('main canvas').focus(), 0")
        page.key("ArrowDown")
        tip = page.evaluate("document.querySelector('.tip:not([hidden])').innerText")
        hw.need("of its calls are temporary" in tip, tip)
        page.done()


CATCH = "Object.defineProperty(navigator, 'clipboard', {configurable: true, value: {writeText: (text) => (window.copied = text, Promise.resolve())}}), 0"


def copied(page, button):
    """What a button of that text copies; each time it is there."""
    page.evaluate(CATCH)
    return page.evaluate(f"""[...document.querySelectorAll('main button')].filter((one) => one.textContent === {json.dumps(button)})
        .map((one) => (window.copied = null, one.click(), window.copied))""")


@TESTS.test
def suppressions(folder):
    """Suppressions are those of heapwise leaks --gen-suppressions, from leaks and from the first screen; stacks are whole"""
    path = recording(folder)
    records = json.loads(heapwise("leaks", "--show-leak-kinds=all", "--gen-suppressions=yes", "--json", path).text)["leaks"]["records"]
    with Page(folder, page_of(path), "#view=leaks") as page:
        wanted = [one["written_suppression"] for one in records]
        hw.need(len(wanted) >= 2 and all(text.startswith("{") and "fun:lose" in text for text in wanted[:1]), f"{wanted}")
        hw.need(copied(page, "Copy a suppression") == wanted, f"{copied(page, 'Copy a suppression')}, leaks: {wanted}")
        stacks = copied(page, "Copy the stack")
        hw.need(len(stacks) == len(records) and all(len(text.splitlines()) == len(one["stack"]) for text, one in zip(stacks, records)), f"{stacks}")
        known = folder / "known.supp"
        known.write_text("".join(wanted))
        rest = json.loads(heapwise("leaks", "--json", "--suppressions", known, path).text)["leaks"]["summary"]
        hw.need(rest["definite"]["blocks"] == 0 and rest["suppressed"]["blocks"] >= 7, f"{rest}")
        page.turn("#view=overview")
        found = set(copied(page, "Copy a suppression"))
        hw.need(found and found <= set(wanted), f"{found}")
        page.done()


@TESTS.test
def tables_by_keys(folder):
    """Arrow keys go through rows, c copies one, Enter shows its stacks, headers sort and keep the focus; CSV and Markdown are whole"""
    path = recording(folder)
    with Page(folder, page_of(path), "#view=tables&metric=allocated_bytes") as page:
        page.evaluate(CATCH)
        page.evaluate("document.querySelector('.table').focus(), 0")
        page.key("ArrowDown")
        page.key("ArrowDown")
        chosen = page.evaluate("document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).innerText")
        hw.need(page.evaluate("document.querySelectorAll('[aria-selected=true]').length") == 1, "no row is chosen")
        page.key("c")
        row = page.evaluate("window.copied").rstrip("\n").split("\t")
        hw.need(row[3] in chosen and row[0].isdigit(), f"{row}: {chosen}")
        page.key("Enter")
        hw.need(page.when("window.heapwiseFlame?.tree", "new URLSearchParams(location.hash.slice(1)).get('of')") == row[3], page.evaluate("location.hash"))
        page.turn("#view=tables&metric=allocated_bytes")
        page.evaluate("document.querySelector('.head button').focus(), document.activeElement.click(), 0")
        hw.need(page.evaluate("document.activeElement.closest('[role=columnheader]')?.getAttribute('aria-sort')") == "ascending", "the focus is lost")
        for kind in ("functions", "files", "modules", "threads"):
            page.turn(f"#view=tables&table={kind}&metric=allocated_bytes")
            rows = page.evaluate("document.querySelectorAll('.rows [role=row]').length")
            text = copied(page, "Copy as Markdown")[0].splitlines()
            hw.need(len(text) == rows + 2 and all(line.startswith("|") for line in text), f"{kind}: {text}")
            csv = page.evaluate("""(() => { let saved; const create = URL.createObjectURL; URL.createObjectURL = (blob) => (saved = blob, create(blob));
                [...document.querySelectorAll('main button')].find((one) => one.textContent === 'Save as CSV').click(); return saved.text(); })()""")
            hw.need(len(csv.splitlines()) == rows + 1 and not any(cell.startswith("-1") for line in csv.splitlines() for cell in line.split(",")), f"{kind}: {csv}")
        page.done()


TESTS.main(width=1)  # one browser
