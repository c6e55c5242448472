#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks that programs report themselves: of pools, by Valgrind's requests, by heaptrack's functions."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
PROGRAM = hw.TARGETS / "reported_blocks"
FIGURES = ("allocations", "allocated_bytes", "live_blocks", "live_bytes")


def record(folder, *parts, options=()):
    """The recording of these parts, and what the program has printed."""
    file = folder / "x.hpw"
    ended = hw.run([hw.HEAPWISE, "run", "-q", "-f", "--all-processes", *options, "-o", file, "--", PROGRAM, *parts])
    hw.need(ended.status == 0, f"{ended}")
    return file, ended.text


def sites(file):
    return hw.report(file, "--view", "sites")


def functions(site):
    return [frame.get("function") for frame in site["stack"]]


def summed(report, name, innermost=None):
    """Figures of the sites that are called from a function, by the function or pool that is innermost."""
    chosen = [site for site in report["sites"] if name in functions(site) and innermost in (None, functions(site)[0])]
    return tuple(sum(site[figure] for site in chosen) for figure in FIGURES)


def need_well(report):
    recording = report["recording"]
    hw.need(not recording["unknown_frees"] and not recording["repairs"] and not recording["lost_events"], f"{recording}")
    figures = report["totals"]
    calls = figures["allocations"] + figures["frees"]
    hw.need(recording["events"] <= calls, f"{recording['events']} events, {calls} calls")


def need_figures(report, name, wanted, innermost=None):
    found = summed(report, name, innermost)
    hw.need(found == wanted, f"{name} {innermost}: {dict(zip(FIGURES, found))}, not {wanted}")


@TESTS.test
def heaptrack(folder):
    """heaptrack_report_alloc(), _realloc() and _free(), found as weak functions"""
    report = sites(record(folder, "heaptrack")[0])
    need_well(report)
    need_figures(report, "site_heaptrack", (4, 607, 2, 307))


@TESTS.test
def malloclike(folder):
    """VALGRIND_MALLOCLIKE_BLOCK, RESIZEINPLACE, FREELIKE"""
    report = sites(record(folder, "malloclike")[0])
    need_well(report)
    need_figures(report, "site_malloclike", (3, 227, 1, 77))


@TESTS.test
def within_malloc(folder):
    """Blocks from the first byte of a block of malloc on: no free is wrong, and all are freed"""
    for mode in ("exact", "aggregate"):
        file, _ = record(folder, "within", options=("--mode", mode))
        report = sites(file)
        need_well(report)
        need_figures(report, "site_within", (4, 65536 + 64 + 65 + 66, 0, 0))
        hw.need(not hw.report(file, "--view", "errors")["errors"], f"{mode}: wrong frees")


@TESTS.test
def mempool(folder):
    """Each request about pools: EXISTS answers, MOVE, CHANGE, TRIM and DESTROY do what they say"""
    file, text = record(folder, "mempool", "other")
    hw.need(text == "1001\n", f"EXISTS: {text}")
    report = sites(file)
    need_well(report)
    # 8 and the one that was changed, and what the trimmed one became.
    need_figures(report, "site_mempool", (10, sum(range(10, 18)) + 1000 + 5, 3, 12 + 13 + 5), "memory pool")
    need_figures(report, "site_other_pool", (2, 1100, 1, 600), "memory pool")
    hw.need(not hw.report(file, "--view", "errors")["errors"], "wrong frees")


CONNECTIONS = (100, 3300, 7, 231)
REQUESTS = (150, 50 * 303, 50, 5100)


@TESTS.test
def named(folder):
    """Two pools in one block: their names are frames, a reset frees all, in each mode; replays agree"""
    for mode in ("exact", "aggregate", "sample:1"):
        file, _ = record(folder, "named", options=("--mode", mode))
        report = sites(file)
        if mode != "sample:1":
            need_well(report)
            hw.need(not hw.report(file, "--view", "errors")["errors"], f"{mode}: wrong frees")
            need_figures(report, "site_named", CONNECTIONS, "pool connections")
            need_figures(report, "site_named", REQUESTS, "pool requests?")
            need_figures(report, "site_named", (1, 65536, 1, 65536), "site_named")
        live = [site["live_bytes"] for site in report["sites"] if functions(site)[0] == "pool requests?"]
        hw.need(live == [5100], f"{mode}: {live}")
    record(folder, "named")
    whole, again = sites(file), sites(file.rename(folder / "y.hpw"))
    hw.need(whole["totals"] == again["totals"], "totals")
    again = hw.report(folder / "y.hpw", "--view", "sites", "--from", "0s")
    for figure in ("allocations", "allocated_bytes", "frees", "peak_bytes"):
        hw.need(again["totals"][figure] == whole["totals"][figure], f"{figure}: {again['totals']}, not {whole['totals']}")
    flat = hw.ask("report", folder / "y.hpw", "--focus", "^pool connections$")
    hw.need("pool connections" in flat and "pool requests" not in flat, flat)


@TESTS.test
def leaks(folder):
    """A block that contains blocks of pools is no leak, and they are held or lost one by one, as in memcheck"""
    file, _ = record(folder, "named", options=("--leak-check=full", "--show-leak-kinds=none"))
    kinds = {}
    for one in json.loads(hw.ask("leaks", file, "--json", "--show-leak-kinds=all"))["leaks"]["records"]:
        if "site_named" in functions(one):
            kinds[functions(one)[0], one["kind"]] = one["blocks"]
    hw.need(kinds == {("pool connections", "definite"): 6, ("pool connections", "reachable"): 1,
                      ("pool requests?", "definite"): 50}, f"{kinds}")


@TESTS.test
def wrong_order(folder):
    """The pool's memory is freed before the pool: both are free in the end"""
    file, _ = record(folder, "order")
    report = sites(file)
    need_well(report)
    need_figures(report, "site_wrong_order", (3, 65536 + 90, 0, 0))
    hw.need(not hw.report(file, "--view", "errors")["errors"], "wrong frees")


@TESTS.test
def many(folder):
    """20,000 pools of two names, one after the other"""
    file, _ = record(folder, "many")
    report = sites(file)
    need_well(report)
    for name in ("pool odd", "pool even"):
        need_figures(report, "site_many", (20000, 10000 * 150, 0, 0), name)
    hw.need(not hw.report(file, "--view", "errors")["errors"], "wrong frees")


@TESTS.test
def forked(folder):
    """A forked child's blocks are in the pools that its parent has named"""
    record(folder, "fork")
    found = [summed(sites(file), "site_fork", "pool shared") for file in folder.glob("*.hpw")]
    hw.need((1, 1234, 1, 1234) in found, f"{found}")


@TESTS.test
def many_names(folder):
    """Beyond 4,096 names pools count as one, which says so"""
    report = sites(record(folder, "names")[0])
    need_well(report)
    need_figures(report, "site_names", (1, 1, 1, 1), "pool number 4095")
    need_figures(report, "site_names", (4, 4, 4, 4), "pool beyond 4096 names")


@TESTS.test
def wrong(folder):
    """A block that no pool has given out is freed: that is reported"""
    file, _ = record(folder, "wrong")
    errors = hw.report(file, "--view", "errors")["errors"]
    hw.need(len(errors) == 1, f"{errors}")


@TESTS.test
def stopped(folder):
    """While recording is stopped blocks of pools are left out, and frees of known ones are not"""
    file, _ = record(folder, "stopped")
    report = sites(file)
    need_figures(report, "site_stopped", (2, 50, 1, 40), "pool stopped")
    hw.need(not hw.report(file, "--view", "errors")["errors"], "wrong frees")


@TESTS.test
def other_files(folder):
    """A page and a dump have the names, too"""
    file, _ = record(folder, "named", options=("--dump-at-exit", "--dump-file", folder / "%i.dump"))
    report = sites(folder / "0001.dump")
    need_figures(report, "site_named", CONNECTIONS, "pool connections")
    hw.ask("html", file, "-o", folder / "x.html")
    hw.need("pool connections" in hw.ask("export", "--format", "folded", file), "folded")


TESTS.main(width=2)
