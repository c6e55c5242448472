# SPDX-License-Identifier: GPL-2.0-or-later
"""One time axis: every view of a recording says the same of what was live when, and of when it ended."""

import gzip
import json
import random
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402

tests = hw.Tests()
MS = 1_000_000


def account(ended):
    found = re.search(r"mean (\d+) span (\d+) idle (\d+)", ended.text)
    hw.need(found, str(ended))
    return map(int, found.groups())


def mean(curve, end):
    """Time-weighted mean of [(time, bytes)], from the first byte to `end`."""
    begin = next(time for time, size in curve if size)
    total = 0
    for (time, size), (until, _) in zip(curve, curve[1:] + [(end, 0)]):
        total += size * (min(until, end) - min(time, end))
    return total / (end - begin)


def timeline(*arguments):
    found = json.loads(hw.ask(*arguments, "--json"))
    return [(row["time_ns"], row["useful_bytes"]) for row in found["snapshots"]], found["recording"]["duration_ns"]


def massif(recording):
    text = hw.ask("export", recording, "--format", "massif")
    times = [int(time) * MS for time in re.findall(r"^time=(\d+)", text, re.M)]
    sizes = [int(size) for size in re.findall(r"^mem_heap_B=(\d+)", text, re.M)]
    return list(zip(times, sizes))


def heaptrack(recording, folder):
    """Of the exported events."""
    path = folder / "heaptrack.gz"
    hw.ask("export", recording, "--format", "heaptrack", "-o", path)
    sizes, live, now, curve = [], 0, 0, []
    for line in gzip.open(path, "rt").read().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "a":
            sizes.append(int(rest.split()[0], 16))
        elif kind == "c":
            curve.append((now, live))
            now = int(rest, 16) * MS
        elif kind == "+":
            live += sizes[int(rest, 16)]
        elif kind == "-":
            live -= sizes[int(rest, 16)]
    return curve + [(now, live)]


@tests.test
def bursts(folder):
    """Every view has the mean that the program had, and the end."""
    recording = folder / "bursts.hpw"
    true_mean, span, _ = account(hw.record([hw.ANSWERS / "bursts"], recording))
    curve, end = timeline("timeline", recording)
    views = {
        "timeline": curve,
        "report --view timeline": timeline("report", recording, "--view", "timeline")[0],
        "timeline, few snapshots": timeline("timeline", recording, "--max-snapshots", "40")[0],
        "massif": massif(recording),
        "heaptrack": heaptrack(recording, folder),
    }
    for name, found in views.items():
        hw.need(abs(mean(found, end) / true_mean - 1) < 0.08, f"{name}: {mean(found, end):.0f}, true {true_mean}: {found}")
        hw.need(end - found[-1][0] < 10 * MS, f"{name}: ends at {found[-1][0]} of {end}")
    hw.need(span * MS <= end, f"lasted {span} ms, recorded {end} ns")
    return f"mean {mean(curve, end):.0f}, true {true_mean}"


@tests.test
def moments(folder):
    """At random times and at its own a timeline says what --at says."""
    recording = folder / "bursts.hpw"
    hw.record([hw.ANSWERS / "bursts"], recording)
    curve, end = timeline("timeline", recording)
    times = [time for time, _ in curve[::3]] + [random.randrange(end) for _ in range(12)]
    for time in times:
        held = [size for at, size in curve if at <= time]
        said = hw.report(recording, "--at", f"{time}ns")["totals"]["live_bytes_at_end"]
        # The peak and what follows it may have one time.
        hw.need(held[-1] == said, f"at {time} ns {held[-1]}, --at {said}: {curve}")


@tests.test
def ages(folder):
    """Blocks age until the recording ends, however that is."""
    for name, options, arguments in (
        ("exits", (), ()),
        ("killed", (), ("kill",)),
        ("sampled", ("--mode", "sample", "--seed", "1"), ()),  # of some others the block is no sample
    ):
        recording = folder / f"{name}.hpw"
        hw.record([hw.ANSWERS / "aged", *arguments], recording, options=("-q", *options))
        for question, expected in (
            (("--min-age", "1s"), 1),
            (("--min-age", "30s"), 0),
            (("--at", "1.1s", "--min-age", "1s"), 1),
            (("--at", "500ms", "--min-age", "1s"), 0),
        ):
            found = hw.report(recording, *question)["totals"]["live_blocks_at_end"]
            hw.need(found == expected, f"{name} {question}: {found}, expected {expected}")
        curve, end = timeline("timeline", recording)
        hw.need(curve[-1][0] == end and end > 1200 * MS, f"{name}: {curve}, {end}")
        lived = hw.ask("report", recording, "--view", "lifetimes")
        hw.need("≤ 2.00 s " in lived, f"{name}: {lived}")


def as_of(recording, moment):
    """What the views of a moment say that it was, in ns."""
    return json.loads(hw.ask("report", recording, "--at", moment, "--json"))["recording"]["range"]["to_ns"]


@tests.test
def peak_after_mark(folder):
    """When the peak was is one time in all views, and not before the mark that came first."""
    for name, options, rounds in (
        ("exact", (), 1),
        ("rounds", (), 6),
        ("kept", ("--ring", "16M"), 6),
        ("sampled", ("--mode", "sample:1K", "--seed", "1"), 6),
    ):
        recording = folder / f"{name}.hpw"
        hw.record([hw.ANSWERS / "peaks_late", str(rounds)], recording, options=("-q", *options))
        totals = hw.report(recording)["totals"]
        said, held = totals["peak_time_ns"], totals["peak_bytes"]
        hw.need(as_of(recording, "peak") == said, f"{name}: peak at {said}, --at peak {as_of(recording, 'peak')}")
        rows = json.loads(hw.ask("timeline", recording, "--json"))["snapshots"]
        peak = [row for row in rows if row["peak"]]
        hw.need([row["time_ns"] for row in peak] == [said], f"{name}: peak at {said}, timeline {peak}")
        # An estimate of the peak is another one than that of what is live.
        some = held // 5 if name == "sampled" else 0
        of_peak = hw.report(recording, "--at", "peak")["totals"]
        live = of_peak["live_bytes_at_end"]
        for figure in ("peak_bytes", "peak_blocks", "peak_time_ns"):
            hw.need(of_peak[figure] == totals[figure], f"{name}: {figure} {totals[figure]}, --at peak {of_peak[figure]}")
        rows = [hw.report(recording, *moment, "--view", "peak")["sites"] for moment in ((), ("--at", "peak"))]
        shares = [[row["peak_bytes"] for row in table] for table in rows]
        hw.need(shares[0] == shares[1] and sum(shares[0]) == held, f"{name}: rows of the peak: {shares}")
        marked = "without that choice" in hw.ask("report", recording, "--at", "peak")
        hw.need(marked == (live != held), f"{name}: peak of {held}, --at peak has {live}, and that is {'' if marked else 'not '}explained")
        hw.need(abs(live - held) <= some, f"{name}: peak of {held}, --at peak has {live}")
        hw.need(abs(peak[0]["useful_bytes"] - held) <= some, f"{name}: peak of {held}, timeline {peak}")
        mark = as_of(recording, f"mark:before the peak#{rounds}")
        hw.need(mark <= said < mark + 10 * MS, f"{name}: mark at {mark}, peak at {said}")


@tests.test
def sampled_parts(folder):
    """Of samples too: the peak's place is what was live then, and a part's rows lie in it and count on"""
    recording = folder / "replaced.hpw"
    hw.record([hw.ANSWERS / "replaced"], recording, options=("-q", "--mode", "sample:4K", "--seed", "1"))
    for moment in ((), ("--at", "peak")):
        text = hw.ask("report", recording, *moment)
        hw.need(re.search(r"were live then, .*: second \(" if moment else r"Peak about .*: second \(", text), f"{moment}: {text}")
    exact = folder / "exact.hpw"
    hw.record([hw.ANSWERS / "replaced"], exact)
    for file in (recording, exact):
        for part in (("--from", "150ms", "--to", "250ms"), ("--from", "150ms")):
            found = json.loads(hw.ask("timeline", file, *part, "--json"))
            rows, span = found["snapshots"], found["recording"]["range"]
            times = [row["time_ns"] for row in rows]
            hw.need(all(span["from_ns"] <= time <= span["to_ns"] for time in times), f"{file.name} {part}: {times}, {span}")
            hw.need(times == sorted(times), f"{file.name} {part}: {times}")
            said = hw.report(file, *part)["totals"]["peak_time_ns"]
            peaks = [row["time_ns"] for row in rows if row["peak"]]
            hw.need(peaks == [said], f"{file.name} {part}: peak at {said}, timeline {peaks}")


def growth(recording):
    found = json.loads(hw.ask("report", recording, "--view", "growth", "--json"))
    return {row["stack"][0]["function"]: row["verdict"] for row in found["growth"]["places"]}, found["growth"]


@tests.test
def idle(folder):
    """What came at once keeps growing no more while the program idles."""
    recording = folder / "idles.hpw"
    hw.record([hw.ANSWERS / "idles"], recording)
    verdicts, found = growth(recording)
    hw.need(verdicts["take"] == "start-up" or verdicts["take"] == "cache", str(verdicts))
    hw.need(found["until_ns"] > 1200 * MS, f"judged until {found['until_ns']} ns")


@tests.test
def stable(folder):
    """Growth's verdict is the same in every run."""
    for i in range(3):
        recording = folder / f"{i}.hpw"
        hw.record([hw.ANSWERS / "leaks_slowly"], recording)
        verdicts, _ = growth(recording)
        hw.need([name for name, verdict in verdicts.items() if verdict == "leak-suspect"] == ["leak"],
                f"run {i}: {verdicts}")


tests.main(width=4)
