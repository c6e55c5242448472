# SPDX-License-Identifier: GPL-2.0-or-later
"""What single calls of malloc and free take, and what memory is added, by number of threads."""

import json
import os
from statistics import median

THREADS = {1: 400000, 8: 100000, 500: 2000}  # calls of each thread
QUICK_SHARE = 10
FIGURES = ("p50_ns", "p99_ns", "p99_99_ns", "max_ns", "pss_kb", "anonymous_kb")


def calls(bench, tools):
    """Rows of figures, medians of the rounds; the maximum is that of all."""
    rows = []
    for threads, count in THREADS.items():
        count //= QUICK_SHARE if bench.options.quick else 1
        target = [os.path.join(bench.bin, "calls"), str(threads), str(count)]
        found = {tool.name: [] for tool in tools}
        collector = {}
        for _ in range(bench.options.runs):
            for tool in tools:
                figures, cost = bench.printed(tool, target)
                found[tool.name].append(json.loads(figures))
                collector[tool.name] = max(collector.get(tool.name) or 0, cost.peak_rss_kb if cost else 0) or None
        for tool in tools:
            row = {"threads": threads, "tool": tool.name}
            for key in FIGURES:
                values = [run[key] for run in found[tool.name]]
                row[key] = max(values) if key == "max_ns" else median(values)
            row["collector_kb"] = collector[tool.name]
            rows.append(row)
    return rows


def print_calls(rows):
    """Memory is what is added to the native run's."""
    print("calls: a malloc or free with two clock readings (ns); memory added (MB)")
    head = ("threads", "tool", "p50", "p99", "p99.99", "max", "own MB", "share MB", "coll MB")
    lines = [head]
    native = {row["threads"]: row for row in rows if row["tool"] == "native"}
    for row in rows:
        base = native[row["threads"]]
        added = [
            "-" if row is base else f"{(row[key] - base[key]) / 1024:.1f}"
            for key in ("anonymous_kb", "pss_kb")
        ]
        collector = "-" if not row["collector_kb"] else f"{row['collector_kb'] / 1024:.1f}"
        times = [f"{row[key]:.0f}" for key in FIGURES[:4]]
        lines.append((str(row["threads"]), row["tool"], *times, *added, collector))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
    print(flush=True)
