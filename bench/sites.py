# SPDX-License-Identifier: GPL-2.0-or-later
"""What it takes to report on a recording of very many allocation sites."""

import json
import os
import subprocess
from statistics import median

from moments import measured

SITES, QUICK_SITES = 1_000_001, 200_001
BUDGET_CPU_SECONDS, BUDGET_MB = 1.5, 750  # of the report


def sites(bench, heapwise):
    """Rows of figures, medians of the rounds, in turns."""
    count = QUICK_SITES if bench.options.quick else SITES
    recording = os.path.join(bench.scratch, "sites.hpw")
    subprocess.run(
        [heapwise, "run", "-q", "-f", "-o", recording, "--", os.path.join(bench.bin, "stacks"), str(count)],
        check=True, stdout=subprocess.DEVNULL,
    )
    report = [heapwise, "report", "--json", "--limit", "1", recording]
    found = json.loads(subprocess.run(report, check=True, capture_output=True).stdout)["totals"]
    live = found["live_blocks_at_end"]
    if live != count:
        raise ValueError(f"{live} of {count} blocks are live")
    commands = {
        "report": ["report"],
        "report --view sites": ["report", "--view", "sites"],
        "report --view functions": ["report", "--view", "functions"],
        "report --json": ["report", "--json"],
        "tree": ["tree"],
    }
    runs = {name: [] for name in commands}
    for _ in range(bench.options.runs):
        for name, words in commands.items():
            runs[name].append(measured([heapwise, *words, recording]))
    return {"sites": count, "file_bytes": os.path.getsize(recording), "rows": [
        {"command": name, "seconds": median(took for took, _, _ in of),
         "cpu_seconds": median(cpu for _, _, cpu in of), "rss_mb": max(mb for _, mb, _ in of)}
        for name, of in runs.items()
    ]}


def print_sites(found):
    print(f"sites: a recording of {found['sites']:,} allocation sites, each a stack of 20 frames with one block;"
          f" {found['file_bytes'] / 1e6:.1f} MB")
    print(f"  {'command':<26} {'wall':>8} {'cpu':>8} {'RSS':>8}")
    for row in found["rows"]:
        print(f"  {row['command']:<26} {row['seconds']:6.2f} s {row['cpu_seconds']:6.2f} s {row['rss_mb']:5.0f} MB")
        over = row["cpu_seconds"] > BUDGET_CPU_SECONDS or row["rss_mb"] > BUDGET_MB
        if row["command"] == "report" and over and found["sites"] == SITES:
            print(f"  over budget: {BUDGET_CPU_SECONDS} s of CPU, {BUDGET_MB} MB")
    print(flush=True)
