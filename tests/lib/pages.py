# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of heapwise html in Chromium: a program whose figures are known, its page, and what a test asks it."""

import json

import hw
from browser import Browser
from hw import heapwise

VIEWS = ("overview", "flame", "leaks", "timeline", "tables", "calls", "sizes", "about")
# False if it is there already: nothing would be drawn. Otherwise true as soon as it has drawn.
TURN = """new Promise((ret) => {
    const before = location.href, turned = () => ret(true);
    delete window.heapwiseFlame;
    delete window.heapwiseOwners;
    addEventListener('hashchange', turned, { once: true });
    location.hash = %s;
    if (location.href !== before) return;
    removeEventListener('hashchange', turned);
    ret(false);
})"""
TEXT = "document.getElementById('main').innerText"

KEPT = 30 * 104
# What is lost, what is kept, what is freed: known exactly.
PROGRAM = """
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char data[96]; };
static struct node *volatile lost, *volatile kept;
__attribute__((noinline)) static void lose(void) { for (int i = 0; i < 7; i++) lost = malloc(1000); lost = NULL; }
__attribute__((noinline)) static void keep(void)
{
	for (int i = 0; i < 30; i++) {
		struct node *node = malloc(sizeof(*node));
		node->next = kept;
		kept = node;
	}
}
__attribute__((noinline)) static void work(void)
{
	char *block = malloc(50000);
	memset(block, 1, 50000);
	free(block);
}
int main(void)
{
	lose();
	keep();
	for (int i = 0; i < 5; i++)
		work();
	char *end = malloc(10);
	memset(end, 0, 10);
	free(end);
	return 0;
}
"""


def recording(folder, *arguments):
    (folder / "p.c").write_text(PROGRAM)
    made = hw.run([hw.need_program("gcc"), "-g", "-O1", "-fno-builtin-malloc", folder / "p.c", "-o", folder / "p"])
    hw.need(made.status == 0, str(made))
    path = folder / "p.hpw"
    hw.record([folder / "p", *arguments], path, options=("-q", "--leak-check=full"))
    hw.need(path.exists(), "nothing was recorded")
    return path


def page_of(path, *options):
    page = path.with_suffix(".html")
    ended = heapwise("html", path, "-o", page, *options)
    hw.need(ended.status == 0 and page.exists(), f"heapwise html: {ended}")
    return page


class Page(Browser):
    """The page in a browser that notes what it asks the network for."""

    def __init__(self, folder, page, fragment="", width=1280, dark=False):
        super().__init__(folder)
        self.page, self.fragment, self.width, self.dark = page, fragment, width, dark
        self.requests = []

    def __enter__(self):
        super().__enter__()
        self.call("Network.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=self.width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"},
                            {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.go(self.fragment)
        return self

    def message(self):
        one = super().message()
        if one.get("method") == "Network.requestWillBeSent":
            self.requests.append(one["params"]["request"]["url"])
        return one

    def go(self, fragment):
        """Opens the page anew, as a pasted link does."""
        self.open("about:blank")
        self.open(self.page.as_uri() + fragment)
        ready = self.when("document.documentElement.dataset.ready", "document.documentElement.dataset.ready")
        hw.need(ready == "1", f"the page is not shown: {self.evaluate('document.body.innerText')}")

    def turn(self, fragment):
        """Turns to another view of the page that is open, as a link in it does, which costs a fraction of go(). The page draws
        at popstate, so all is drawn at hashchange; pictures of the view before are forgotten: when() waits for new ones."""
        if not self.evaluate(TURN % json.dumps(fragment)):
            self.go(fragment)

    def key(self, key):
        self.evaluate(f"(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', {{ key: {json.dumps(key)}, bubbles: true, cancelable: true }})), 0")

    def text(self):
        return self.evaluate(TEXT)

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
    digits = 0 if unit == "B" or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"
