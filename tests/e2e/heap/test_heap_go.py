#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Heaps of programs in Go (targets/heaps/languages/go.go, go_cgo.go): elements of spans by their sizes, as many as
runtime.MemStats says; none is called lost, since the collector owns them. C's blocks beside them are judged as ever."""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, kernel_core  # noqa: E402

tests = hw.Tests()
# What a program that waits has allocated since it counted: of a size, and in all.
FEW = 24
FEW_BYTES = 32768


def need_program(name):
    program = hw.TARGETS / "heaps" / name
    if not program.exists():
        raise hw.Skip("go was not there when this was built: ./dev deps --peers installs it")
    return program


def read_truth(path):
    rows = [line.split() for line in path.read_text().splitlines()]
    sizes = {int(a): int(b) for a, b in rows if a.isdigit()}
    return sizes, {a: int(b) for a, b in rows if not a.isdigit()}


def check(truth, blocks):
    sizes, sums = truth
    elements = [b for b in blocks if b["type"].startswith("Go object")]
    found = Counter()
    for block in elements:
        if "large" not in block["type"]:
            size, of_class = re.match(r"Go object, (\d+) bytes \(size class (\d+), (?:no)?scan\)", block["type"]).groups()
            hw.need(int(size) == block["size"] and 0 < int(of_class) < 68, f"{block}")
            found[int(size)] += 1
    wrong = {s: (n, found[s]) for s, n in sizes.items() if s and not n <= found[s] <= n + FEW}
    hw.need(not wrong, f"of these sizes (told, found): {wrong}")
    hw.need(found[48] >= 1000 and found[112] >= 1000, f"{found}")
    large = [b for b in elements if "large" in b["type"]]
    hw.need(any(b["size"] >= 100001 for b in large), f"{large}")
    all_bytes = sum(b["size"] for b in elements)
    hw.need(sums["bytes"] <= all_bytes <= sums["bytes"] + FEW_BYTES, f"{all_bytes} bytes, not {sums}")
    hw.need({b["leak"] for b in elements} == {"reachable"}, f"{Counter(b['leak'] for b in elements)}")
    return elements


def check_classes(truth, found):
    """Spans by class: elements in use as the runtime says, and nothing of a span is left out."""
    sizes, sums = truth
    classes = found["span_classes"]
    elements = Counter()
    for row in classes:
        hw.need(row["bytes"] == row["used_bytes"] + row["free_bytes"] + row["tail_bytes"], f"{row}")
        hw.need((row["element_bytes"] is None) == (row["size_class"] == 0), f"{row}")
        elements[row["element_bytes"]] += row["used_elements"]
        hw.need(row["element_bytes"] is None or row["used_bytes"] == row["used_elements"] * row["element_bytes"], f"{row}")
    wrong = {s: (n, elements[s]) for s, n in sizes.items() if s and not n <= elements[s] <= n + FEW}
    hw.need(not wrong and len(classes) > 5, f"of these sizes (told, found): {wrong}")
    hw.need(sums["bytes"] <= sum(row["used_bytes"] for row in classes) <= sums["bytes"] + FEW_BYTES, f"{sums}: {classes}")
    # Of a size and a kind there is one row.
    hw.need(len({(row["size_class"], row["scan"]) for row in classes}) == len(classes), f"{classes}")


def used(*source):
    return ask(*source, "blocks", "--used", "--limit", "100000")["blocks"]


@tests.test
def cores(folder):
    """By cores of the kernel's, with symbols and without: as many elements of each size as the runtime says, and no
    leaks, which are undecided."""
    for name in ("heap_go", "heap_go_stripped"):
        program = need_program(name)
        own = folder / name
        own.mkdir()
        core = kernel_core(program, own)
        check(read_truth(own / "account"), used("core", "--json", core))
        check_classes(read_truth(own / "account"), ask("core", "--json", core, "fragmentation"))
        text = hw.run([hw.HEAPWISE, "core", core]).text
        hw.need("leaks are not judged: Go's collector owns all of it" in text and " lost" not in text, text)
        summary = ask("core", "--json", core, "summary")
        hw.need(summary["not_judged"]["blocks"] == summary["totals"]["used_blocks"] > 3000, f"{summary['not_judged']}")
        for said in (ask("core", "--json", core, "leaks"), ask("leaks", "--json", core)):
            hw.need(said["leaks"]["not_judged"] == summary["not_judged"], f"{said['leaks']['not_judged']}")
        if name == "heap_go":
            text = hw.run([hw.HEAPWISE, "core", core, "dominators"]).text
            hw.need("main.list" in text and "main.names" in text, text)
        ended = hw.run([hw.HEAPWISE, "leaks", core, "--error-exitcode=9"])
        hw.need(ended.status == 3 and "Leaks are not reported" in ended.text, f"{ended.status}: {ended.text}")


@tests.test
def beside_c(folder):
    """Of a process that runs, with C's blocks: these are lost or not as ever."""
    program = need_program("heap_go_cgo")
    with Waiting(program, folder) as pid:
        truth = read_truth(folder / "account")
        blocks = used("heap", "--json", str(pid))
        text = hw.run([hw.HEAPWISE, "heap", str(pid), "leaks"]).text
    check(truth, blocks)
    sizes = Counter((b["size"], b["leak"]) for b in blocks if not b["type"].startswith("Go object"))
    hw.need("definitely lost" in text and re.search(r"Not checked: \d+ blocks owned by Go's garbage collector", text), text)
    # A register or a stack may still have the last one.
    hw.need(sizes[(776, "definite")] + sizes[(792, "definite")] >= 48, f"{sizes}")
    hw.need(sizes[(5560, "reachable")] + sizes[(5576, "reachable")] == 1, f"{sizes}")


tests.main()
