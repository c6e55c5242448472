#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Large pages: a flame graph of 100,000 nodes opens, draws what is seen alone, and loads nothing. Times are printed, not
judged: machines differ, and so does what else they do."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from pages import Page, page_of

TESTS = hw.Tests()
DEPTH = 35
FRAMES = 30

# Seconds for frames of a zoom, each with a part of the graph a little smaller.
FRAME_TIMES = f"""(() => {{
    const flame = heapwiseFlame, whole = flame.tree.total[0], times = [];
    let most = 0;
    for (let i = 0; i < {FRAMES}; i++) {{
        flame.width = whole * 0.9 ** i;
        flame.from = (whole - flame.width) / 3;
        const began = performance.now();
        flame.draw();
        flame.context.getImageData(0, 0, 1, 1);
        times.push(performance.now() - began);
        most = Math.max(most, flame.drawn);
    }}
    times.sort((a, b) => a - b);
    return [times[{FRAMES} / 2], times.at(-1), most];
}})()"""


def folded(path, nodes):
    """Stacks of 5,000 functions, up to 35 deep, that make a tree of so many nodes."""
    chance = random.Random(1)
    parents, depths, functions, leaves = [0], [0], [0], bytearray(b"\1")
    for i in range(1, nodes):
        parent = chance.choice((i - 1, i - 1, chance.randrange(max(0, i - 200), i), chance.randrange(i)))
        while depths[parent] >= DEPTH:
            parent = parents[parent]
        parents.append(parent)
        depths.append(depths[parent] + 1)
        functions.append(i * 7919 % 5000)
        leaves[parent] = 0
        leaves.append(1)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(1, nodes):
            if not leaves[i]:
                continue
            stack, at = [], i
            while at:
                stack.append(f"f{functions[at]}")
                at = parents[at]
            file.write(f"{';'.join(reversed(stack))} {chance.randrange(1, 100000)}\n")
    return path


def opened(folder, nodes, least):
    made = page_of(folded(folder / "big.folded", nodes))
    shell = made.read_text(encoding="utf-8")[:20000]
    hw.need("Content-Security-Policy" in shell and "default-src 'none'" in shell, "no strict policy")
    with Page(folder, made, "#view=flame") as page:
        painted = page.when("window.heapwiseFlame?.drawn", "performance.now()")
        hw.need(page.evaluate("heapwiseFlame.tree.count") > least, f"{page.evaluate('heapwiseFlame.tree.count')} nodes")
        median, longest, most = page.evaluate(FRAME_TIMES)
        # What is narrower than a pixel is not a box of its own.
        hw.need(0 < most < 36 * 1280, f"{most} boxes were drawn")
        for view in ("calls", "tables", "overview"):
            page.go(f"#view={view}")
            hw.need(len(page.text()) > 30, f"{view}: {page.text()}")
        page.done()
    return f"{nodes:,} nodes: page of {made.stat().st_size / 1e6:.1f} MB, painted after {painted:.0f} ms, a frame takes {median:.1f} ms, at most {longest:.1f} ms; {most:,} boxes"


@TESTS.test
def hundred_thousand(folder):
    """A flame graph of 100,000 nodes opens, draws what is seen and loads nothing"""
    return opened(folder, 115_000, 90_000)


TESTS.main()
