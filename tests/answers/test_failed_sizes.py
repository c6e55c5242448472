# SPDX-License-Identifier: GPL-2.0-or-later
"""What failed calls asked for: the largest size of each allocation site, by every road, and unknown where it is not known."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402

tests = hw.Tests()
GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"


def record(folder, name, *options):
    """Path of the recording, and the largest sizes that each function asked for in vain: before the mark, after it."""
    path = folder / f"{name}.hpw"
    ended = hw.record([hw.ANSWERS / "failed_sizes"], path, options=("-q", *options))
    lines = [line.split() for line in ended.text.splitlines()]
    return path, {line[0]: (int(line[1]), int(line[2])) for line in lines}


def sites_of(path, *options):
    return json.loads(hw.ask("report", path, "--json", "--view", "sites", "--limit", "1000", *options))["sites"]


def sizes(path, *options):
    """The largest max_failed_size by the function that asked."""
    found = {}
    for row in sites_of(path, *options):
        function = row["stack"][0]["function"] if row["stack"] else None
        found[function] = max(found.get(function, 0), row["max_failed_size"])
    return found


def need_sizes(found, wanted, what):
    for function, size in wanted.items():
        hw.need(found.get(function, 0) == size, f"{what}: {function} asked for {size}, not {found.get(function)}")


@tests.test
def whole(folder):
    """of all events, of their sums, and of a recording with the last events alone"""
    for name, options in {"exact": (), "aggregate": ("--mode", "aggregate"), "ring": ("--ring", "64K")}.items():
        path, told = record(folder, name, *options)
        need_sizes(sizes(path), {function: max(pair) for function, pair in told.items()}, name)


@tests.test
def parts(folder):
    """of what came before a mark, and after it"""
    path, told = record(folder, "parts")
    need_sizes(sizes(path, "--at", "mark:between"), {f: pair[0] for f, pair in told.items()}, "before")
    need_sizes(sizes(path, "--from", "mark:between"), {f: pair[1] for f, pair in told.items()}, "after")


@tests.test
def anonymous(folder):
    """of a recording that was written again without names, as a whole and in parts"""
    path, _ = record(folder, "named")
    bundle = folder / "bundle.tar.gz"
    hw.ask("bundle", path, "--anonymize", "-o", bundle)
    for part in ((), ("--at", "mark"), ("--from", "mark")):
        named = [word.replace("mark", "mark:between") for word in part]
        nameless = [word.replace("mark", "mark:mark-1") for word in part]
        before = sorted(row["max_failed_size"] for row in sites_of(path, *named))
        after = sorted(row["max_failed_size"] for row in sites_of(bundle, *nameless))
        hw.need(before == after and before[-1], f"{part}: {before}, {after}")


@tests.test
def several(folder):
    """of two recordings that are added up the larger one"""
    path, told = record(folder, "one")
    other, _ = record(folder, "two")
    need_sizes(sizes(path, other, "--merge"), {function: max(pair) for function, pair in told.items()}, "both")


@tests.test
def text(folder):
    """sites by failed calls say it"""
    path, told = record(folder, "text")
    shown = hw.ask("report", path, "--view", "sites", "--sort", "failed")
    for function in ("asks_twice", "asks_less"):
        hw.need(f"({max(told[function])} B)" in shown, shown)
    hw.need(shown.count("the largest one asked for") == 1 and shown.count("it asked for") == 5, shown)


@tests.test
def unknown(folder):
    """a sample does not know it, nor does a recording of an earlier version, nor one with such a recording added"""
    sampled, _ = record(folder, "sampled", "--mode", "sample:1")
    older = GOLDEN / "recording-full.hpw"
    newer, _ = record(folder, "newer")
    for what in ((sampled,), (older,), (newer, older, "--merge")):
        found = sites_of(*what)
        hw.need(any(row["failed"] for row in found), f"{what}: nothing failed")
        hw.need(all(row["max_failed_size"] is None for row in found), f"{what}: {found}")
        hw.need("asked for" not in hw.ask("report", *what, "--view", "sites", "--sort", "failed"), f"{what}: it is said")


tests.main()
