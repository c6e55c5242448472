#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of other tools: jemalloc, tcmalloc and pprof scale the samples of a stack by their mean size. Where its blocks are of
many sizes their number is told as such, and nothing is decided by it; bytes hold."""

import json
import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
UNDECIDED = 3  # of budget and diff
DISTANCE = 524288
MAPS = "\nMAPPED_LIBRARIES:\n00400000-00410000 r-xp 00000000 08:01 5 /opt/app\n"
# Blocks of one stack, as (number, size).
MIXES = (((1500000, 32), (60, 1900000)), ((200000, 32), (200, 100000)), ((40000, 64), (10, 2000000)))


def number(value):
    text = b""
    while value > 0x7f:
        text += bytes([value & 0x7f | 0x80])
        value >>= 7
    return text + bytes([value])


def field(place, value):
    """A field of a protocol buffer: a number, or bytes"""
    if isinstance(value, int):
        return number(place << 3) + number(value)
    return number(place << 3 | 2) + number(len(value)) + value


def sampled_profile(rows, tail=b""):
    """A profile of pprof of samples (location, blocks, bytes), each with its size, one in 4096 bytes"""
    strings = ["", "inuse_objects", "count", "inuse_space", "bytes", "space", "f1", "f2", "malloc"]
    data = b"".join(field(1, field(1, kind) + field(2, unit)) for kind, unit in ((1, 2), (3, 4)))
    for location, blocks, size in rows:
        label = field(1, 4) + field(3, size // blocks)
        data += field(2, field(1, number(location)) + field(2, number(blocks) + number(size)) + field(3, label))
    for at in (1, 2):
        data += field(4, field(1, at) + field(4, field(1, at))) + field(5, field(1, at) + field(2, 5 + at))
    data += b"".join(field(6, text.encode()) for text in strings)
    return data + field(11, field(1, 5) + field(2, 4)) + field(12, 4096) + tail


def sampled_text(rows):
    """The same as text of Go, as debug/pprof/heap?debug=1 gives it"""
    lines = [f"{blocks}: {size} [{blocks}: {size}] @ 0x4011{location}1\n#\t0x4011{location}0\tmain.f{location}+0x20\t/a.go:{location}\n\n"
             for location, blocks, size in rows]
    return ("heap profile: 40: 100480 [40: 100480] @ heap/8192\n" + "".join(lines) + "\n# runtime.MemStats\n# Alloc = 100480\n").encode()


def sampled_dump(rows):
    """The same of tcmalloc's, which has a row for each sample: of several it is that of their mean"""
    lines = [f"{blocks}: {size} [{blocks}: {size}] @ 0x4011{location}0\n" for location, blocks, size in rows]
    return ("heap profile: 40: 100480 [40: 100480] @ heap_v2/4096\n" + "".join(lines) + MAPS).encode()


@TESTS.test
def sizes_of_a_stack(folder):
    """Go writes the samples of a stack by size: their ranges are as wide as if each size had a stack of its own"""
    for make in (sampled_profile, sampled_text):
        found = []
        for second in (1, 2):
            path = folder / "sizes"
            path.write_bytes(make([(1, 30, 480), (second, 10, 100000)]))
            totals = hw.report(path)["totals"]
            found.append((totals["live_blocks_at_end"], totals["live_bytes_at_end"], totals["ranges"]))
        hw.need(found[0] == found[1] and found[0][2], f"{make.__name__}: one stack {found[0]}, two {found[1]}")


def draw(chance, number, rate):
    """How many of so many are taken"""
    mean = number * rate
    if mean > 50:
        return round(chance.gauss(mean, math.sqrt(mean * (1 - rate))))
    taken, at = 0, 0.0
    while True:
        at += chance.expovariate(1.0)
        if at > mean:
            return min(taken, number)
        taken += 1


def dump_of(mix, chance, unbiased):
    """A dump of jemalloc of one stack: its samples as they are, or, as since its version 5.3, such that readers get the right sums"""
    samples = sampled = 0
    blocks = size = 0.0
    for number, each in mix:
        rate = 1 - math.exp(-each / DISTANCE)
        taken = draw(chance, number, rate)
        samples += taken
        sampled += taken * each
        blocks += taken / rate
        size += taken / rate * each
    if unbiased:
        taken = 1 - math.exp(-size / blocks / DISTANCE)
        samples, sampled = round(blocks * taken), round(size * taken)
    figures = f"{samples}: {sampled} [{samples}: {sampled}]"
    return f"heap_v2/{DISTANCE}\n  t*: {figures}\n@ 0x401100\n  t*: {figures}\n{MAPS}"


@TESTS.test
def mixed_sizes(folder):
    """Ranges of bytes hold whatever the sizes of a stack's blocks are, numbers of blocks are told by mean sizes and decide nothing false"""
    chance = random.Random(5)
    path, missed, budgets, asked = folder / "mixed.heap", 0, 0, 0
    for mix in MIXES:
        blocks, size = sum(number for number, _ in mix), sum(number * each for number, each in mix)
        for unbiased in (False, True) * 5:
            path.write_text(dump_of(mix, chance, unbiased), encoding="ascii")
            totals = hw.report(path)["totals"]
            low, high = totals["ranges"]["live_bytes_at_end"]
            asked, missed = asked + 1, missed + (not low <= size <= high)
            hw.need(totals["by_mean_sizes"], f"{totals}")
            ended = hw.heapwise("budget", "--json", "--max-allocations", str(blocks), path)
            check = json.loads(ended.text)["checks"][0]
            hw.need(ended.status == UNDECIDED and check["state"] == "unknown" and "does not contain block sizes" in check["reason"], f"{ended.text}")
            budgets += not check["range"][0] <= blocks <= check["range"][1]
    hw.need(missed <= asked / 20 and budgets <= asked / 20, f"of {asked}: {missed} of bytes, {budgets} of blocks are beyond their range")


@TESTS.test
def gates_of_blocks(folder):
    """A limit of blocks is decided where it is beyond what any sizes make of the samples; texts say what ranges rest on"""
    path, older = folder / "new.heap", folder / "old.heap"
    for name, samples in ((path, 400), (older, 100)):
        figures = f"{samples}: {samples * 4096} [{samples}: {samples * 4096}]"
        name.write_text(f"heap_v2/{DISTANCE}\n  t*: {figures}\n@ 0x401100\n  t*: {figures}\n{MAPS}", encoding="ascii")
    for limit, status in ((1, 1), (40000, UNDECIDED), (60000, UNDECIDED), (10 ** 12, 0)):
        ended = hw.heapwise("budget", "--max-allocations", str(limit), path)
        hw.need(ended.status == status, f"{limit}: {ended} {ended.text}")
    for metric, status in (("live_blocks", UNDECIDED), ("allocations", UNDECIDED), ("live_bytes", 1)):
        ended = hw.heapwise("diff", "--metric", metric, "--fail-on-growth", "1000", older, path)
        hw.need(ended.status == status, f"{metric}: {ended} {ended.text}")
        hw.need((" grew by more than" in ended.errors) != (status == 1), f"{metric}: {ended}")
    said = hw.ask("diff", "--metric", "live_blocks", older, path)
    hw.need("The number of live blocks differs by no more than the sampling error" in said and "Live memory grew by" in said, said)
    for view in ("summary", "sites"):
        said = hw.ask("report", "--view", view, *(("--sort", "live_blocks") if view == "sites" else ()), path)
        hw.need("(by mean sizes)" in said and "by mean sizes, and these ranges are too narrow" in said, said)
    figures = json.loads(hw.ask("diff", "--json", "--metric", "live_blocks", older, path))["totals"]
    hw.need(figures["live_blocks"]["by_mean_sizes"] and not figures["live_bytes"]["by_mean_sizes"], f"{figures}")
    site = hw.report(path, "--view", "sites")["sites"][0]
    hw.need(site["by_mean_sizes"] and site["ranges"]["live_blocks"], f"{site}")


@TESTS.test
def sizes_are_known(folder):
    """Single samples, Go's rows and pprof's labels have one size; what pprof has converted, with frames to drop, has their mean"""
    rows, path = [(1, 30, 480), (2, 10, 100000)], folder / "sizes"
    dropped = field(7, 8)
    for data, known in ((sampled_dump([(1, 1, 16), (1, 1, 90000), (2, 1, 5)]), True), (sampled_dump(rows), False), (sampled_text(rows), True),
                        (sampled_profile(rows), True), (sampled_profile(rows, dropped), False)):
        path.write_bytes(data)
        totals, said = hw.report(path)["totals"], hw.ask("report", path)
        hw.need(totals["by_mean_sizes"] != known and ("by mean sizes" in said) != known, f"{data} {totals['ranges']} {said}")


TESTS.main()
