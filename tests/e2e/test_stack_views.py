#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Views of stacks (tree…) of a recorded program: figures equal to the report's, and what they refuse."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
TOTALS = {"allocations": "allocations", "allocated_bytes": "allocated_bytes", "live_bytes": "live_bytes_at_end",
          "peak_bytes": "peak_bytes", "temporary": "temporary"}
GRAINS = ("functions", "lines", "files", "addresses", "modules")


def heapwise(*arguments, **more):
    return hw.run([hw.HEAPWISE, *arguments], **more)


def recording(folder, name="a.hpw", program="containers-O2"):
    path = folder / name
    ended = hw.record([hw.TARGETS / program], path)
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def read_json(*arguments):
    ended = heapwise(*arguments, "--json")
    hw.need(ended.status == 0, f"{arguments}: {ended}")
    return json.loads(ended.text)


def refused(ended, status, *words):
    hw.need(ended.status == status, f"expected status {status}: {ended}")
    hw.need(ended.text == "", "a result was printed")
    for word in words:
        hw.need(word in ended.errors, f"no word of {word!r}: {ended}")


def nodes(node):
    yield node
    for child in node["children"]:
        yield from nodes(child)


@TESTS.test
def tree_totals(folder):
    """A tree has what the report has, by each metric and grain; children and self add up"""
    path = recording(folder)
    totals = hw.report(path)["totals"]
    for metric, total in TOTALS.items():
        for grain in GRAINS:
            found = read_json("tree", path, "--metric", metric, f"--{grain}")
            hw.need(found["tree"]["total"] == found["whole"] == totals[total],
                    f"{metric} by {grain}: {found['tree']['total']}, {found['whole']}, report: {totals[total]}")
            for node in nodes(found["tree"]):
                below = sum(child["total"] for child in node["children"])
                hw.need(node["more"] or node["total"] == node["self"] + below, f"{metric} by {grain}: {node['name']}")


@TESTS.test
def tree_ways(folder):
    """Bottom-up has the same sum; callers and callees of a function are its cum"""
    path = recording(folder)
    whole = read_json("tree", path)["whole"]
    hw.need(read_json("tree", path, "--bottom-up")["tree"]["total"] == whole, "bottom-up")
    spots = hw.report(path, "--view", "functions")["spots"]
    for spot in spots:
        if not spot["function"] or sum(other["name"] == spot["name"] for other in spots) > 1:
            continue
        cum, flat = spot["cum"]["peak_bytes"], spot["flat"]["peak_bytes"]
        for way in ("callers", "callees"):
            found = read_json("tree", path, f"--{way}", spot["function"])["tree"]
            hw.need(found["total"] == cum, f"{way} of {spot['name']}: {found['total']}, not {cum}")
        callers = read_json("tree", path, "--callers", spot["function"])["tree"]["children"]
        hw.need(sum(node["self"] for node in callers) == flat, f"flat of {spot['name']}")


@TESTS.test
def tree_text(folder):
    """As text: a chain goes straight down, small parts are summed up"""
    path = recording(folder)
    ended = heapwise("tree", path)
    hw.need(ended.status == 0 and " main  [containers-O2]" in ended.text, str(ended.text))
    hw.need("top-down by functions" in ended.text, ended.text)
    cut = heapwise("tree", path, "--depth", "1", "--threshold", "0").text
    hw.need("… " in cut and " deeper\n" in cut, cut)
    small = heapwise("tree", path, "--threshold", "100", "--metric", "allocations").text
    hw.need(" smaller\n" in small, small)


@TESTS.test
def tree_refuses(folder):
    """What is wrong is said, with what would be right"""
    path = recording(folder)
    refused(heapwise("tree", path, "--callers", "mian"), 1, "'mian'", "'main'")
    refused(heapwise("tree", path, "--callees", "xqzzkw"), 1, "xqzzkw")
    refused(heapwise("tree", path, "--callees", "ma(in"), 2, "'ma(in'", "at byte 6")
    refused(heapwise("tree", path, "--focus", "[a"), 2, "--focus", "at byte")
    refused(heapwise("tree", path, "--metric", "nonsense"), 2, "nonsense", "peak_bytes")
    refused(heapwise("tree", path, "--bottom-up", "--callers", "main"), 2, "--callers")
    refused(heapwise("tree", path, "--threshold", "x"), 2, "--threshold")
    refused(heapwise("tree", path, "--depth", "401", "--json"), 2, "--depth")
    refused(heapwise("tree", path, path), 2, "one recording")
    refused(heapwise("tree", folder / "none.hpw"), 3, "none.hpw")


@TESTS.test
def tables(folder):
    """Functions, files and modules: flat adds up to the total, cum is at most that"""
    path = recording(folder)
    for view in ("functions", "files", "modules"):
        report = hw.report(path, "--view", view)
        for metric, total in TOTALS.items():
            flat = sum(spot["flat"][metric] for spot in report["spots"])
            hw.need(flat == report["totals"][total], f"{view}: {metric}: {flat}, not {report['totals'][total]}")
            wrong = [spot["name"] for spot in report["spots"]
                     if not spot["flat"][metric] <= spot["cum"][metric] <= report["totals"][total]]
            hw.need(not wrong, f"{view}: {metric}: cum of {wrong}")


TESTS.main()
