#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of heapwise serve in Chromium: a file, a range, a filter are chosen, and its figures are the report's; errors
are said; what grows is read again; nothing but the server is asked."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from browser import Browser
from pages import amount
from served import Server

TESTS = hw.Tests()
IDLE = "document.documentElement.dataset.ready === '1' && !document.documentElement.dataset.computing"
TREE = "window.heapwiseFlame?.tree && ({}) === heapwiseFlame.tree.total[0]"
BAR, MAIN = "document.querySelector('.served').innerText", "document.getElementById('main').innerText"


# The peak comes before the second part, of which some is kept.
PROGRAM = """
#include <stdlib.h>
static void *volatile blocks[64];
__attribute__((noinline)) static void first_part(void)
{
	for (int i = 0; i < 64; i++)
		blocks[i] = malloc(11111);
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
}
__attribute__((noinline)) static void second_part(void)
{
	for (int i = 0; i < 32; i++)
		blocks[i] = malloc(2222);
	for (int i = 10; i < 32; i++)
		free(blocks[i]);
}
int main(void)
{
	first_part();
	second_part();
	return 0;
}
"""


def two_parts(folder):
    (folder / "p.c").write_text(PROGRAM)
    made = hw.run([hw.need_program("gcc"), "-g", "-O1", "-fno-builtin-malloc", folder / "p.c", "-o", folder / "p"])
    hw.need(made.status == 0, str(made))
    hw.record([folder / "p"], folder / "a.hpw")
    return folder / "a.hpw"


def recording(folder, name, program):
    hw.record([hw.TARGETS / program], folder / name)
    hw.need((folder / name).exists(), "nothing was recorded")
    return folder / name


class Page(Browser):
    """The served page in a browser that notes what it asks the network for."""

    def __init__(self, folder, server):
        super().__init__(folder)
        self.server, self.requests = server, []

    def __enter__(self):
        super().__enter__()
        self.call("Network.enable")
        self.open(self.server.url)
        self.when(IDLE, "1")
        return self

    def message(self):
        one = super().message()
        if one.get("method") == "Network.requestWillBeSent":
            self.requests.append(one["params"]["request"]["url"])
        return one

    def when(self, expression, value):
        """As of Browser; fails after a time also while the page goes on to look at files."""
        hw.wait_until(lambda: self.evaluate(f"!!({expression})"), expression)
        return self.evaluate(value)

    def ask(self, **fields):
        """As who fills in the form does."""
        # At once: an answer that comes meanwhile fills the fields with what it is of.
        filled = "".join(f"document.querySelector('.served [name={name}]').value = {json.dumps(value)}; " for name, value in fields.items())
        self.evaluate(f"{filled}document.querySelector('.served form').requestSubmit(), 0")
        self.when(IDLE, "1")

    def show(self, fragment):
        self.evaluate(f"location.hash = {json.dumps(fragment)}, 0")
        self.when(f"location.hash === {json.dumps(fragment)} && {IDLE}", "1")

    def total(self, value):
        """Waits until the flame graph is of so much."""
        self.when(TREE.format(value), "0")

    def done(self):
        hw.need(not self.exceptions, f"{self.exceptions}")
        outside = [url for url in self.requests if not url.startswith((self.server.url, "about:", "data:", "blob:"))
                   and not url.endswith("/favicon.ico")]
        hw.need(not outside, f"the page asked for {outside}")


@TESTS.test
def choices(folder):
    """A file, a range and filters are chosen: the page has what report says, and the command line that finds it"""
    first, second = two_parts(folder), recording(folder, "b.hpw", "inlined-O2")
    with Server(first, second) as server, Page(folder, server) as page:
        totals = hw.report(first)["totals"]
        text = page.evaluate(MAIN)
        for name in ("peak_bytes", "allocated_bytes"):
            hw.need(amount(totals[name]) in text, f"{name} {amount(totals[name])} is not in {text!r}")
        hw.need("a.hpw" in page.evaluate(BAR) and "b.hpw" in page.evaluate(BAR), page.evaluate(BAR))

        page.show("#view=flame&metric=allocated_bytes")
        page.total(totals["allocated_bytes"])
        start, stop = "peak", "end"
        page.ask(**{"from": start, "to": stop})
        ranged = hw.report(first, "--from", start, "--to", stop)["totals"]
        hw.need(0 < ranged["allocated_bytes"] < totals["allocated_bytes"] and ranged["kept_bytes"] == 10 * 2222, f"{ranged}")
        page.total(ranged["allocated_bytes"])
        hw.need(f"heapwise flame --metric allocated_bytes --from={start} --to={stop} {first}" in page.evaluate(BAR), page.evaluate(BAR))
        for metric, name in (("live_bytes", "live_bytes_at_end"), ("kept_bytes", "kept_bytes"), ("peak_bytes", "peak_bytes")):
            link = page.evaluate(f"[...document.querySelectorAll('.served a')].find((one) => one.href.includes('metric={metric}'))?.innerText")
            hw.need(link and amount(ranged[name]) in link, f"{metric}: {link}, {ranged[name]}")
        page.evaluate("[...document.querySelectorAll('.served a')].find((one) => one.href.includes('metric=peak_bytes')).click(), 0")
        page.total(ranged["peak_bytes"])

        page.ask(**{"from": "", "to": "", "focus": "first_part"})
        sites = hw.report(first, "--focus", "first_part", "--view", "sites")["sites"]
        page.total(sum(site["peak_bytes"] for site in sites))
        page.evaluate("document.querySelector('.served .trail button').click(), 0")
        page.when(IDLE, "1")
        page.total(totals["peak_bytes"])
        page.evaluate("history.back(), 0")
        page.when("location.hash.includes('ask.focus=first_part')", "0")
        page.total(sum(site["peak_bytes"] for site in sites))

        page.ask(focus="nothing_is_called_so")
        hw.need("leaves none of" in page.evaluate(MAIN), page.evaluate(MAIN))
        page.ask(focus="")
        page.evaluate("(() => { const list = document.querySelector('.served select'); list.value = '1'; list.dispatchEvent(new Event('change')); })(), 0")
        page.when(IDLE, "1")
        page.total(hw.report(second)["totals"]["peak_bytes"])
        page.show("#view=overview&file=1")
        hw.need("b.hpw" in page.evaluate("document.querySelector('header').innerText"), "another file is shown")
        page.done()


@TESTS.test
def one_bar(folder):
    """Filters of a served page are the tool's, wherever they are chosen: one bar, one trail, one command"""
    path = two_parts(folder)
    kept = hw.report(path, "--focus", "second_part", "--view", "sites")["sites"]
    wanted = sum(site["allocated_bytes"] for site in kept)
    chips = "[...document.querySelectorAll('.trail li')].map((one) => one.textContent.replace('×', '').trim()).join('; ')"
    with Server(path) as server, Page(folder, server) as page:
        page.show("#view=flame&metric=allocated_bytes")
        page.total(hw.report(path)["totals"]["allocated_bytes"])
        fields = page.evaluate("document.querySelectorAll('main input').length")
        hw.need(fields == 1 and not page.evaluate("document.querySelector('main .trail')"), f"{fields} fields below the bar")
        # As of a page in a file: a pasted link, and a button of the view.
        page.evaluate("location.hash = '#view=flame&metric=allocated_bytes&focus=second_part', 0")
        page.when("location.hash.includes('ask.focus=second_part') && !/[&#]focus=/.test(location.hash)", "0")
        page.total(wanted)
        hw.need(page.evaluate("heapwiseShown.asked.join()") == "--focus=second_part", "it is not the tool that filters")
        page.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Collapse recursion').click(), 0")
        page.when("document.querySelectorAll('.trail li').length === 2", "0")
        hw.need("--focus second_part; recursion collapsed" == page.evaluate(chips), page.evaluate(chips))
        hw.need("Not part of it: recursion is collapsed" in page.evaluate(BAR), page.evaluate(BAR))
        page.evaluate("document.querySelector('.trail li:nth-child(2) button').click(), 0")
        page.when("document.querySelectorAll('.trail li').length === 1", "0")
        command = page.evaluate("document.querySelector('.served code').textContent")
        hw.need(command == f"heapwise flame --metric allocated_bytes --focus=second_part {path}", command)
        ended = hw.run([hw.HEAPWISE, *shlex.split(command)[1:], "--folded"])
        hw.need(ended.status == 0 and sum(int(line.rpartition(" ")[2]) for line in ended.text.splitlines()) == wanted, str(ended))
        page.show("#view=tables&metric=allocated_bytes&ask.focus=second_part")
        hw.need("first_part" not in page.evaluate(MAIN) and "second_part" in page.evaluate(MAIN), page.evaluate(MAIN))
        page.done()


@TESTS.test
def refusals(folder):
    """What can't be computed is said in place, with nothing of another file or question under its name"""
    path = two_parts(folder)
    (folder / "bad.hpw").write_text("no recording")
    with Server(path, folder / "bad.hpw") as server, Page(folder, server) as page:
        hw.need("Peak" in page.evaluate(MAIN), page.evaluate(MAIN))
        page.show("#file=1")
        text = page.evaluate("document.getElementById('page').innerText")
        hw.need("Nothing is shown" in text and "bad.hpw" in text and "unrecognised file format" in text and "Peak" not in text and "a.hpw" not in text, text)
        page.evaluate("[...document.querySelectorAll('main button')].find((one) => one.textContent === 'Back to what was shown').click(), 0")
        page.when(f"{IDLE} && {MAIN}.includes('Peak')", "0")
        hw.need("bad.hpw" not in page.evaluate("document.getElementById('page').innerText"), "the other file's name stays")
        page.ask(focus="second_part(")
        text = page.evaluate(MAIN)
        hw.need("invalid regular expression" in text and "Peak" not in text, text)
        page.ask(focus="second_part")
        page.when(f"{MAIN}.includes('Peak')", "0")
        page.done()


@TESTS.test
def growing(folder):
    """A recording that grows is read again, and the view stays; a server that has ended is missed"""
    path = recording(folder, "a.hpw", "containers-O2")
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) // 2])
    with Server(folder) as server, Page(folder, server) as page:
        page.show("#view=flame&metric=allocated_bytes")
        page.total(hw.report(path)["totals"]["allocated_bytes"])
        with open(path, "ab") as file:
            file.write(whole[len(whole) // 2:])
        page.total(hw.report(path)["totals"]["allocated_bytes"])
        hw.need(page.evaluate("location.hash") == "#view=flame&metric=allocated_bytes", page.evaluate("location.hash"))
        shutil.copy(path, folder / "new.hpw")
        page.when(f"{BAR}.includes('new.hpw')", "0")
        page.call("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False)
        page.when("document.documentElement.scrollWidth <= 400", "0")  # once it is laid out anew
        os.kill(server.process.pid, 15)
        page.when(f"{BAR}.includes(\"doesn't answer\")", "0")
        hw.need(page.evaluate("heapwiseFlame.tree.total[0]") > 0, "nothing is shown any more")
        page.done()


@TESTS.test
def heaps_and_changes(folder):
    """A process is a page of its heap, which another look renews; of two recordings the change is shown, as diff has it"""
    first, second = recording(folder, "a.hpw", "containers-O2"), recording(folder, "b.hpw", "exceptions-O2")
    grow = "import sys; kept = []\nfor line in sys.stdin: kept.append(bytes(3000000)); print('grown', flush=True)"
    with subprocess.Popen(["/usr/bin/python3", "-c", grow], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        def more():
            process.stdin.write(b"more\n")
            process.stdin.flush()
            process.stdout.readline()

        with Server(str(process.pid), first, second) as server, Page(folder, server) as page:
            more()
            page.show("#view=owners")
            # Pictures get their tree when they are drawn.
            page.when("window.heapwiseOwners?.tree", "0")
            used = page.evaluate("heapwiseOwners.tree.total[0]")
            more()
            page.evaluate("[...document.querySelectorAll('.served button')].find((one) => one.textContent === 'Look again').click(), 0")
            page.when(f"heapwiseOwners.tree?.total[0] - {used} > 2900000", "0")
            page.when(IDLE, "1")
            hw.need(f"process {process.pid}" in page.evaluate("document.querySelector('header').innerText"), "another subject")
            page.show("#view=overview&file=2&base=1")
            change = json.loads(hw.run([hw.HEAPWISE, "diff", "--json", first, second]).stdout)
            hw.need(page.evaluate("heapwiseShown.kind") == "diff", "no comparison")
            totals = page.evaluate("JSON.stringify(heapwiseShown.documents.diff.totals)")
            hw.need(json.loads(totals) == change["totals"], f"{totals} is not {change['totals']}")
            hw.need(page.evaluate(f"{BAR}.includes('--base=')"), "the command line has no base")
            page.done()
        process.kill()


TESTS.main(width=1)  # one browser
