#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of cores and processes: their documents are what the verbs write, the tree of owners adds up to the heap,
nothing of the heap's contents is in them; in Chromium all views open and say these figures."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import cores
import hw
from browser import Browser
from hw import heapwise
from pagefile import Page

TESTS = hw.Tests()
HOSTILE = "</script><img src=x onerror=alert(1)>'"
SECRET = "a secret that is in the heap only"
VIEWS = ("overview", "types", "owners", "leaks", "fragmentation", "threads", "maps", "about")
VERBS = {"summary": "summary", "dominators": "dominators", "fragmentation": "fragmentation",
         "thread_stacks": "threads", "maps": "maps"}

# A list of 500, a table of 40 with two blocks each, 7 lost blocks. Names with NAME become hostile.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct tNAME { struct tNAME *next; long number; char text[40]; };
struct part { char bytes[200]; };
struct row { struct part *part; long key; };
struct tNAME *vNAME;
struct row *rows[40];
__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 7; i++) {
		volatile char *block = malloc(1000);
		block[0] = 1;
	}
}
__attribute__((noinline)) void fNAME(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 500;
	lose();
	for (long i = 0; i < count; i++) {
		struct tNAME *item = malloc(sizeof(*item));
		item->next = vNAME;
		item->number = i;
		strcpy(item->text, "SECRET");
		vNAME = item;
	}
	for (int i = 0; i < 40; i++) {
		rows[i] = malloc(sizeof(**rows));
		rows[i]->key = i;
		rows[i]->part = malloc(sizeof(struct part));
		memset(rows[i]->part, 1, sizeof(struct part));
	}
	fNAME();
}
"""


def program(folder):
    """Compiled under plain names, which become hostile ones of the same length: of a type, a variable, a function."""
    plain = "x" * len(HOSTILE)
    (folder / "p.c").write_text(PROGRAM.replace("NAME", plain).replace("SECRET", SECRET))
    made = hw.run([hw.need_program("gcc"), "-g", "-O1", "-fno-builtin-malloc", folder / "p.c", "-o", folder / "p"])
    hw.need(made.status == 0, str(made))
    path = folder / "p"
    path.write_bytes(path.read_bytes().replace(plain.encode(), HOSTILE.encode()))
    return path


class Running:
    """A program that says "ready" and waits."""

    def __init__(self, *words):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, env=hw.clean_environment())
        hw.need(self.process.stdout.readline() == b"ready\n", f"{words} did not come so far")

    def __enter__(self):
        return str(self.process.pid)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def core_of(folder, *arguments):
    core = folder / "p.core"
    with Running(program(folder), *arguments) as pid:
        saved = heapwise("heap", pid, "save", core)
        hw.need(core.exists(), f"no core: {saved}")
    return core


def page_of(core, *options):
    page = core.with_suffix(".html")
    made = heapwise("core", f"--html={page}", *options, core)
    hw.need(made.status == 0 and page.exists(), f"core --html: {made}")
    return page


def answer(*words):
    asked = heapwise(*words, "--json")
    hw.need(asked.status == 0, f"{words}: {asked}")
    return json.loads(asked.text)


class Owners:
    """The tree of a page."""

    def __init__(self, page):
        self.labels, self.kinds = page.words("owner.label"), page.words("owner.kind")
        self.modules = page.words("owner.module")
        self.parents = page.columns["owner.parent"]
        self.bytes, self.blocks = page.columns["owner.self_bytes"], page.columns["owner.self_blocks"]
        self.total = list(self.bytes)
        for node in range(len(self.parents) - 1, 0, -1):
            hw.need(self.parents[node] < node, f"node {node} comes before its parent {self.parents[node]}")
            self.total[self.parents[node]] += self.total[node]

    def below(self, label, parent=0):
        found = [node for node in range(1, len(self.parents))
                 if self.labels[node] == label and self.parents[node] == parent]
        hw.need(len(found) == 1, f"{label!r} is {len(found)} times below {parent}: {self.labels}")
        return found[0]


@TESTS.test
def documents(folder):
    """A page of a core has what the verbs write as JSON, and the report"""
    core = core_of(folder)
    page = Page(page_of(core).read_text())
    hw.need(page.header["kind"] == "heap" and page.header["title"] == "p.core", f"{page.header['kind']} {page.header['title']}")
    hw.need(set(page.documents) == {"report", "leaks", *VERBS}, f"{sorted(page.documents)}")
    for name, verb in VERBS.items():
        wanted = answer("core", core, verb, *(("--limit", "1000") if verb == "dominators" else ()))
        hw.need(page.documents[name] == wanted, f"{name} differs")
    hw.need(page.documents["report"] == hw.report(core), "report differs")
    leaks = answer("core", core, "leaks", "--leak=definite,indirect,possible,reachable")
    hw.need(page.documents["leaks"] == leaks, "leaks differ")
    cut = page.header["cut"]
    hw.need(cut["rows"] is cut["owners"] is None and not cut["documents"] and set(cut["missing"]) == {"moments"}, f"{cut}")
    by_html = folder / "by_html.html"
    heapwise("html", core, "-o", by_html)
    hw.need(by_html.read_text() == page.html, "html CORE makes another page than core --html")


@TESTS.test
def owners_add_up(folder):
    """The tree of owners has each block once: all of them, those of each type, those below each variable"""
    core = core_of(folder)
    page = Page(page_of(core).read_text())
    owners, summary = Owners(page), page.documents["summary"]
    totals = summary["totals"]
    hw.need(owners.total[0] == totals["used_bytes"] and sum(owners.blocks) == totals["used_blocks"], f"{owners.total[0]} {totals}")
    size, number = Counter(), Counter()
    for node, label in enumerate(owners.labels):
        size[label, owners.kinds[node]] += owners.bytes[node]
        number[label, owners.kinds[node]] += owners.blocks[node]
    for one in summary["types"]:
        key = one["name"], one["kind"]
        hw.need((size[key], number[key]) == (one["bytes"], one["blocks"]), f"{one}: {size[key]}, {number[key]}")
    hw.need(owners.total[owners.below("lost: nothing references it")] >= 6 * 1000, "the lost blocks are not there")
    globals_seen = 0
    for one in page.documents["dominators"]["dominators"]:
        if one["kind"] == "global" and one["symbol"]:
            node = owners.below(f"global {one['symbol']}")
            hw.need(owners.total[node] == one["retained_bytes"] and owners.modules[node], f"{one}: {owners.total[node]}")
            globals_seen += 1
    hw.need(globals_seen >= 2, f"{globals_seen} globals")
    # A list is one node, and what lies in a row is below it.
    items = owners.below(f"t{HOSTILE}", owners.below(f"global v{HOSTILE}"))
    hw.need(owners.blocks[items] == 500 and owners.total[items] == owners.bytes[items], f"{owners.blocks[items]} {owners.total[items]}")
    part = owners.below("part", owners.below("row", owners.below("global rows")))
    hw.need(owners.blocks[part] == 40, f"{owners.blocks[part]}")


@TESTS.test
def no_contents(folder):
    """Nothing of what the heap contains is in the page, and no name outside of the data"""
    core = core_of(folder)
    page = Page(page_of(core).read_text())
    hw.need(SECRET.encode() in core.read_bytes(), "the core has no secret")
    hw.need(SECRET not in json.dumps(page.header), "the page has contents of the heap")
    hw.need(HOSTILE in json.dumps(page.header["strings"]) and HOSTILE not in page.html, "a name is outside of the data")
    hw.need("no contents" in re.sub(r"\s+", " ", heapwise("core", "--help").text), "the help doesn't say so")


@TESTS.test
def a_process(folder):
    """A page of a process is as of a moment, and has its sizes; the process goes on"""
    with Running(program(folder)) as pid:
        made = heapwise("heap", pid, "--html", cwd=folder)
        path = folder / f"heap-{pid}.html"
        hw.need(made.status == 0 and "wrote" in made.errors and path.exists(), f"{made}")
        hw.need(heapwise("html", pid, "-o", folder / "b.html").status == 0, "html PID")
        hw.need(hw.process_state(pid)[0] in "SR", f"the process is {hw.process_state(pid)}")
        wanted = answer("heap", pid, "summary")
    for page in (Page(path.read_text()), Page((folder / "b.html").read_text())):
        summary = page.documents["summary"]
        hw.need(summary["totals"] == wanted["totals"] and summary["types"] == wanted["types"], "the sizes differ")
        hw.need(summary["source"]["pause_ns"] > 0 and Owners(page).total[0] == wanted["totals"]["used_bytes"], f"{summary['source']}")
        hw.need(all(one["resident"] is not None for one in page.documents["maps"]["kinds"] if one["kind"] == "heap"), "nothing is resident")


@TESTS.test
def with_a_recording(folder):
    """With its recording joined a page has call stacks, whose figures are those of the heap"""
    recording = folder / "p.hpw"
    process = subprocess.Popen([hw.HEAPWISE, "run", "-q", "-o", recording, "--", program(folder)],
                               stdout=subprocess.PIPE, env=hw.clean_environment())
    hw.need(process.stdout.readline() == b"ready\n", "the program did not come so far")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    pid = next(int(one) for one in children if Path(f"/proc/{one}/exe").resolve() == (folder / "p").resolve())
    try:
        made = heapwise("heap", str(pid), f"--html={folder / 'p.html'}", f"--recording={recording}")
        alone = heapwise("heap", str(pid), f"--html={folder / 'alone.html'}", "--recording=none")
    finally:
        subprocess.run(["kill", "-KILL", str(pid)], check=False)
        process.wait()
        process.stdout.close()
    hw.need(made.status == 0 and alone.status == 0, f"{made} {alone}")
    page = Page((folder / "p.html").read_text())
    totals = page.documents["summary"]["totals"]
    hw.need(page.documents["summary"]["recording"]["known_blocks"] >= 587, f"{page.documents['summary']['recording']}")
    hw.need(page.sums()["live_bytes"] == totals["used_bytes"] == Owners(page).total[0], f"{page.sums()} {totals}")
    hw.need(any("lose" in stack for stack in page.stacks()), "no stack has lose()")
    hw.need(not any(name.startswith("row.") for name in Page((folder / "alone.html").read_text()).columns), "stacks out of nothing")


# Types that lead to each other: a ring of two, and a chain of more than the levels that a tree has.
CHAINS = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct b;
struct a { struct b *b; long more[3]; };
struct b { struct a *a; long more[7]; };
struct a *turns;
%s
int main(void)
{
	struct a **end = &turns;
	for (int i = 0; i < 3000; i++) {
		struct a *a = calloc(1, sizeof(*a));
		a->b = calloc(1, sizeof(*a->b));
		*end = a;
		end = &a->b->a;
	}
%s
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
"""
LEVELS = 130


@TESTS.test
def deep_heaps(folder):
    """Types that come again in turns are one turn; what lies deeper than the tree is one node: sums are exact"""
    types = "".join(f"struct s{i} {{ {f'struct s{i + 1} *next; ' if i + 1 < LEVELS else ''}char bytes[{i + 24}]; }};\n"
                    for i in reversed(range(LEVELS)))
    code = "".join(f"\t{'chain' if not i else f'p{i - 1}->next'} = calloc(1, sizeof(struct s{i}));\n"
                   + (f"\tstruct s{i} *p{i} = {'chain' if not i else f'p{i - 1}->next'};\n" if i + 1 < LEVELS else "")
                   for i in range(LEVELS))
    (folder / "c.c").write_text(CHAINS % (types + "struct s0 *chain;\n", code))
    made = hw.run([hw.need_program("gcc"), "-g", "-O1", "-fno-builtin", folder / "c.c", "-o", folder / "c"])
    hw.need(made.status == 0, str(made))
    with Running(folder / "c") as pid:
        hw.need(heapwise("heap", pid, f"--html={folder / 'c.html'}").status == 0, "no page")
    page = Page((folder / "c.html").read_text())
    owners, summary = Owners(page), page.documents["summary"]
    hw.need(owners.total[0] == summary["totals"]["used_bytes"] and sum(owners.blocks) == summary["totals"]["used_blocks"],
            f"{owners.total[0]} {summary['totals']}")
    turns = owners.below("global turns")
    first = owners.below("a", turns)
    below = owners.below("b", first)
    again = owners.below("a", below)
    hw.need([owners.blocks[node] for node in (turns, first, below, again)] == [0, 1, 3000, 2999], f"{owners.blocks}")
    deepest = node = owners.below("global chain")
    depth = 1
    while node:
        deepest, depth = node, depth + 1
        node = next((one for one, parent in enumerate(owners.parents) if one and parent == node), 0)
    hw.need(depth == 101 and owners.kinds[deepest] == "deeper", f"{depth} {owners.kinds[deepest]}")
    hw.need(owners.blocks[deepest] == LEVELS - 98, f"{owners.blocks[deepest]}")


@TESTS.test
def refused(folder):
    """What makes no sense for a page of a heap is refused in a sentence; other files are not replaced"""
    core = core_of(folder)
    for words, sentence in ((("core", core, "--html", "--json"), "can't be used with --json"),
                            (("core", core, "--html", "types"), "takes no verb"),
                            (("core", core, "--html", "--type=row"), "can't be used with"),
                            (("html", core, "--anonymize"), "can't be anonymous"),
                            (("html", core, "--focus=x"), "options that choose stacks"),
                            (("html", core, "--source"), "--source"),
                            (("html", core, "--lifetimes=yes"), "--lifetimes")):
        made = heapwise(*words, cwd=folder)
        hw.need(made.status == 2 and sentence in made.errors, f"{words}: {made}")
    other = folder / "other.html"
    other.write_text("mine")
    made = heapwise("core", core, f"--html={other}")
    hw.need(made.status == 4 and "not a page" in made.errors and other.read_text() == "mine", f"{made}")
    made = heapwise("core", core, f"--html={core}")
    hw.need(made.status in (2, 4) and core.read_bytes()[:4] == b"\x7fELF", f"{made}")


@TESTS.test
def no_heap(folder):
    """A page of a core without a heap knows no figure, and says so"""
    core, bare = core_of(folder), folder / "bare.core"
    cores.without_memory(core, bare, lambda flags, address, content: not flags & 2)
    page = Page(page_of(bare).read_text())
    hw.need("no heap was found" in " ".join(page.documents["summary"]["verdict"]), f"{page.documents['summary']['verdict']}")
    hw.need(Owners(page).total == [0], f"{Owners(page).total}")


class Opened(Browser):
    """A page in a browser that notes what it asks the network for."""

    def __init__(self, folder, page):
        super().__init__(folder)
        self.page, self.requests = page, []

    def __enter__(self):
        super().__enter__()
        self.call("Network.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        return self

    def message(self):
        one = super().message()
        if one.get("method") == "Network.requestWillBeSent":
            self.requests.append(one["params"]["request"]["url"])
        return one

    def go(self, fragment="", page=None):
        self.open("about:blank")
        self.open((page or self.page).as_uri() + fragment)
        ready = self.when("document.documentElement.dataset.ready", "document.documentElement.dataset.ready")
        hw.need(ready == "1", f"the page is not shown: {self.evaluate('document.body.innerText')}")

    def text(self):
        return self.evaluate("document.getElementById('main').innerText")

    def drawn(self):
        """Waits for the picture."""
        self.when("window.heapwiseOwners?.tree", "0")

    def done(self):
        hw.need(not self.exceptions, f"{self.exceptions}")
        outside = [url for url in self.requests if not url.startswith(("file:", "about:", "data:", "blob:"))]
        hw.need(not outside, f"the page asked for {outside}")


def amount(value):
    """As the page and the reports write bytes."""
    for unit in ("B", "KiB", "MiB"):
        if value < 1024 or unit == "MiB":
            break
        value /= 1024
    return f"{value:.{0 if unit == 'B' or value >= 100 else 1 if value >= 10 else 2}f} {unit}"


@TESTS.test
def in_a_browser(folder):
    """All views of a heap open, with its figures; names do nothing; pictures zoom, search and follow the URL"""
    core = core_of(folder)
    html = page_of(core)
    summary = Page(html.read_text()).documents["summary"]
    owners = Owners(Page(html.read_text()))
    bare = folder / "bare.core"
    cores.without_memory(core, bare, lambda flags, address, content: not flags & 2)
    with Opened(folder, html) as page:
        for path in (html, page_of(bare)):
            for view in VIEWS:
                page.go(f"#view={view}", path)
                shown = page.evaluate("document.getElementById('main').dataset.view")
                hw.need(shown == view and len(page.text()) > 5, f"{view}: {shown}: {page.text()!r}")
                wrong = [word for word in ("undefined", "[object", "NaN", "null", "Infinity") if word in page.text()]
                hw.need(not wrong, f"{view}: {wrong} in {page.text()}")
        page.go("", bare.with_suffix(".html"))
        hw.need("not known" in page.text() and "0 B" not in page.text(), f"{page.text()}")
        page.go()
        text = page.text()
        for value in (summary["totals"]["used_bytes"], summary["totals"]["free_bytes"],
                      summary["leaks"]["summary"]["definite"]["bytes"], *(one["bytes"] for one in summary["types"][:5])):
            hw.need(amount(value) in text, f"{amount(value)} is not in {text}")
        hw.need(all(sentence in text for sentence in summary["verdict"]) and HOSTILE in text, text)
        hw.need([one for one in page.evaluate("[...document.querySelectorAll('nav a')].map((a) => a.innerText)")] ==
                ["Overview", "Types", "Owners", "Leaks", "Fragmentation", "Threads", "Mappings", "About"], "the navigation")
        rows = owners.below("global rows")
        for shape in ("icicle", "treemap"):
            page.go(f"#view=owners&shape={shape}")
            page.drawn()
            hw.need(page.evaluate("heapwiseOwners.tree.total[0]") == owners.total[0], "the picture's sum")
            page.evaluate(f"heapwiseOwners.options.onChoose({rows}), 0")
            page.drawn()
            hw.need(page.evaluate("location.hash").endswith(f"at=o.{rows}"), page.evaluate("location.hash"))
            hw.need(f"retains {amount(owners.total[rows])}" in page.text(), page.text())
            page.evaluate("new Promise((ret) => { addEventListener('popstate', () => ret(0), { once: true }); history.back(); })")
            hw.need("Zoom out" not in page.text(), "back leads nowhere")
            page.evaluate("(() => { const find = document.getElementById('find'); find.value = '^part$';"
                          " find.dispatchEvent(new Event('input')); })()")
            part = sum(value for label, value in zip(owners.labels, owners.bytes) if label == "part")
            hw.need(f"matched {amount(part)}" in page.text(), f"{amount(part)}: {page.text()}")
        boxes = page.evaluate("heapwiseOwners.boxes.filter((box) => !box.own).map((box) => box.node)")
        hw.need(len(boxes) == len(set(boxes)) and rows in boxes, f"{boxes}")
        hw.need(page.evaluate("document.querySelectorAll('[role=tree] [role=treeitem]').length") >= 3, "no tree beside it")
        page.done()


@TESTS.test
def changes(folder):
    """The difference of two heaps is one of types and of what is in use: neither sites nor an end are spoken of"""
    core = core_of(folder)
    said = heapwise("diff", core, core).text
    hw.need("the same for each type" in said and "allocation site" not in said, said)
    html = folder / "d.html"
    made = heapwise("diff", core, core, f"--html={html}")
    hw.need(made.status == 0 and html.exists(), str(made))
    with Opened(folder, html) as opened:
        for view in ("overview", "flame", "calls", "tables"):
            opened.go(f"#view={view}")
            text = opened.text()
            hw.need("In use" in text and "llocation site" not in text and "Live at the end" not in text, f"{view}: {text}")
        opened.done()


@TESTS.test
def a_million(folder):
    """A heap of a million blocks is a page that opens"""
    core = core_of(folder, "1000000")
    html = page_of(core)
    page = Page(html.read_text())
    hw.need(Owners(page).total[0] == page.documents["summary"]["totals"]["used_bytes"], "sums differ")
    with Opened(folder, html) as opened:
        opened.go("#view=owners&shape=treemap")
        opened.drawn()
        hw.need("1,000,0" in opened.text() or amount(Owners(page).total[0]) in opened.text(), opened.text())
        opened.done()


TESTS.main(width=1)  # one browser
