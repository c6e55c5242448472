# SPDX-License-Identifier: GPL-2.0-or-later
"""From the runs of a workload to the figures that bench/run prints and writes as JSON."""

import sys
from dataclasses import dataclass, field
from statistics import median

TRUE_BUDGET_MS = 20
CLEARING_BUDGET = 1.05
EXACT = ("", "exact")  # modes
COLLECTOR_EVENTS = 10_000_000  # with fewer, the start and the end of the collector count
REPORT_BUDGET_S, REPORT_BUDGET_MB = 0.5, 200


def say(text):
    print(text, file=sys.stderr, flush=True)


@dataclass
class CollectorCost:
    """Of the process beside the target, in the run before the measured ones."""

    peak_rss_kb: int
    cpu_ns: int


@dataclass
class Results:
    """All runs of one workload under one tool."""

    runs: list = field(default_factory=list)  # what timed wrote, in the order of the rounds
    file_bytes: int | None = None
    events: int | None = None
    collector: CollectorCost | None = None
    peak_blocks: int | None = None
    failure: str | None = None
    size: str = "full"

    def seconds(self, key):
        return [run[key] / 1e9 for run in self.runs]


def _ratios(results, native, key):
    """Each run over the native run of the same round."""
    return [a / b for a, b in zip(results.seconds(key), native.seconds(key)) if b]


def summary(workload, tool, results, native):
    """The figures of one row, as they go into the JSON."""
    row = {"tool": tool.name, "size": results.size, "failure": results.failure}
    if not results.runs:
        return row
    row["rounds"] = len(results.runs)
    for key in ("wall", "settled", "cpu"):
        seconds = results.seconds(f"{key}_ns")
        row[f"{key}_s"] = median(seconds)
        row[f"{key}_s_range"] = [min(seconds), max(seconds)]
    row["peak_rss_bytes"] = max(run["peak_rss_kb"] for run in results.runs) * 1024
    if tool.name != "native" and native.runs:
        for key in ("wall", "cpu"):
            of_rounds = _ratios(results, native, f"{key}_ns")
            row[f"{key}_ratio"] = median(of_rounds) if of_rounds else None
            row[f"{key}_ratio_range"] = [min(of_rounds), max(of_rounds)] if of_rounds else None
            best, best_native = min(results.seconds(f"{key}_ns")), min(native.seconds(f"{key}_ns"))
            row[f"{key}_ratio_of_best"] = best / best_native if best_native else None
        pairs = zip(results.seconds("wall_ns"), native.seconds("wall_ns"))
        row["native_wall_s"] = median(native.seconds("wall_ns"))
        row["extra_s"] = median(a - b for a, b in pairs)
    row["file_bytes"] = results.file_bytes
    row["events"] = results.events
    if results.events:
        row["bytes_per_event"] = results.file_bytes / results.events
    if results.collector:
        row["collector_rss_bytes"] = results.collector.peak_rss_kb * 1024
        row["collector_cpu_s"] = results.collector.cpu_ns / 1e9
        if results.events:
            row["collector_ns_per_event"] = results.collector.cpu_ns / results.events
    if tool.collector == "heapwise":
        row["over_budget"] = _over_budget(workload, tool, row, results)
    return row


def _over_budget(workload, tool, row, results):
    """What is above the budgets of README.md, in words."""
    over = []
    wall = workload.sample_budget if tool.mode.startswith("sample") else workload.wall_budget
    if tool.options:  # leaks are searched for: what is asked is what clearing costs
        wall = CLEARING_BUDGET if tool.base != "native" else 0
    if wall and row.get("wall_ratio", 0) > wall:
        over.append(f"wall {row['wall_ratio']:.2f}x of {wall}x")
    if workload.name == "true":
        if row.get("extra_s", 0) * 1e3 > TRUE_BUDGET_MS:
            over.append(f"{row['extra_s'] * 1e3:.1f} ms of {TRUE_BUDGET_MS} ms")
    elif tool.mode in EXACT and row.get("bytes_per_event", 0) > workload.file_budget:
        over.append(f"file {row['bytes_per_event']:.2f} B of {workload.file_budget} B an event")
    needed = row.get("collector_ns_per_event", 0) if (results.events or 0) >= COLLECTOR_EVENTS else 0
    if tool.mode in EXACT and needed > workload.collector_budget:
        over.append(f"collector {needed:.1f} ns of {workload.collector_budget} ns an event")
    allowed = 100e6 + 40 * (results.peak_blocks or 0)
    if row.get("collector_rss_bytes", 0) > allowed:
        over.append(f"collector {_megabytes(row['collector_rss_bytes'])} of {_megabytes(allowed)} MB")
    return over


def _megabytes(count):
    return "-" if count is None else f"{count / 1e6:.1f}"


def _plain(value, form):
    return "-" if value is None else form.format(value)


COLUMNS = [
    ("tool", lambda r: r["tool"] + ("*" if r["size"] == "small" else "")),
    ("wall s", lambda r: _plain(r.get("wall_s"), "{:.3f}")),
    ("cpu s", lambda r: _plain(r.get("cpu_s"), "{:.3f}")),
    ("wall x", lambda r: _plain(r.get("wall_ratio"), "{:.2f}")),
    ("range", lambda r: "-".join(f"{x:.2f}" for x in r.get("wall_ratio_range") or []) or "-"),
    ("best x", lambda r: _plain(r.get("wall_ratio_of_best"), "{:.2f}")),
    ("cpu x", lambda r: _plain(r.get("cpu_ratio"), "{:.2f}")),
    ("+ms", lambda r: _plain(r.get("extra_s") and r["extra_s"] * 1e3, "{:.1f}")),
    ("RSS MB", lambda r: _megabytes(r.get("peak_rss_bytes"))),
    ("coll MB", lambda r: _megabytes(r.get("collector_rss_bytes"))),
    ("coll ns", lambda r: _plain(r.get("collector_ns_per_event"), "{:.1f}")),
    ("file MB", lambda r: _megabytes(r.get("file_bytes"))),
    ("M events", lambda r: _plain(r.get("events") and r["events"] / 1e6, "{:.2f}")),
    ("B/event", lambda r: _plain(r.get("bytes_per_event"), "{:.3f}")),
]


def print_table(title, rows):
    lines = [[heading for heading, _ in COLUMNS]]
    lines += [[text(row) for _, text in COLUMNS] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    print(title)
    for line in lines:
        cells = [line[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(line[1:], widths[1:])]
        print("  " + "  ".join(cells))
    for row in rows:
        if row.get("failure"):
            print(f"  {row['tool']}: FAILED: {row['failure']}")
        if row["tool"] == "native" and row.get("wall_s", 0) > 1.2 * row.get("cpu_s", 0) + 0.01:
            print("  the machine was busy with other things: repeat, or trust cpu x")
        later = row.get("settled_s", 0) - row.get("wall_s", 0)
        if later > 0.02:
            print(f"  {row['tool']}: its last process ended {later * 1e3:.0f} ms after the program")
        for over in row.get("over_budget", []):
            print(f"  {row['tool']}: over budget: {over}")
    if any(row["size"] == "small" for row in rows):
        print("  * at a small size of its own, against native runs of that size")
    print(flush=True)


def reading_summary(tool, results, events):
    row = {"tool": tool.name, "failure": results.failure, "events": events}
    if results.runs:
        row["wall_s"] = median(results.seconds("wall_ns"))
        row["peak_rss_bytes"] = max(run["peak_rss_kb"] for run in results.runs) * 1024
        print(
            f"reading {tool.name}'s file of {_plain(events and events / 1e6, '{:.1f}')} M events: "
            f"{row['wall_s']:.3f} s, {_megabytes(row['peak_rss_bytes'])} MB"
        )
    if tool.name == "heapwise" and results.runs:
        if row["wall_s"] > REPORT_BUDGET_S or row["peak_rss_bytes"] > REPORT_BUDGET_MB * 1e6:
            print(f"  over budget: {REPORT_BUDGET_S} s, {REPORT_BUDGET_MB} MB")
    return row
