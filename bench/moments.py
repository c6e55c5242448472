# SPDX-License-Identifier: GPL-2.0-or-later
"""What moments, parts and views of a recording of 100 M events take, beside going through all of its events."""

import json
import os
import random
import subprocess
import time
from statistics import median

WORKLOADS = (("expr", ("300",), ("30",)), ("containers", ("1", "44"), ("1", "4")))
RANGES, QUICK_RANGES = 20, 5
BUDGET_SECONDS, BUDGET_MB = 1.0, 300


def measured(command, statuses=(0,), stderr=None):
    """(seconds, largest resident MB) of a command that must end with one of these; its output is dropped."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in statuses:
        raise ValueError(f"{' '.join(command)} ended with {process.returncode}")
    return took, usage.ru_maxrss / 1024


def facts(heapwise, file):
    """(events, milliseconds) of a recording."""
    out = subprocess.run(
        [heapwise, "report", "--json", "--limit", "1", file], check=True, capture_output=True
    ).stdout
    found = json.loads(out)["recording"]
    return found["events"], found["duration_ns"] // 1_000_000


def parts(count, duration_ms):
    """The same for every build, as shares of the duration: a short part, a long one, …"""
    chance = random.Random(1)
    for _ in range(count):
        begin, end = sorted(chance.random() for _ in range(2))
        yield [f"{int(share * duration_ms)}ms" for share in (begin, end)]


def rows_of(bench, heapwise, name, size):
    """Medians of the rounds and, of random parts, the slowest and the largest."""
    file = os.path.join(bench.scratch, f"{name}.hpw")
    target = [os.path.join(bench.bin, name), *size]
    subprocess.run([heapwise, "run", "-q", "-f", "-o", file, "--", *target], check=True,
                   stdout=subprocess.DEVNULL)
    events, duration = facts(heapwise, file)
    third, two_thirds = f"{duration // 3}ms", f"{2 * duration // 3}ms"
    report = [heapwise, "report", file]
    ranges = list(parts(QUICK_RANGES if bench.options.quick else RANGES, duration))
    commands = {
        "report": [report],
        "report --at": [[*report, "--at", two_thirds]],
        "report --from --to, slowest": [[*report, "--from", a, "--to", b] for a, b in ranges],
        "tree": [[heapwise, "tree", file]],
        "tree --from --to": [[heapwise, "tree", file, "--from", third, "--to", two_thirds]],
        "list": [[heapwise, "list", "main", file]],
        "diff of two moments": [[heapwise, "diff", f"{file}@{third}", f"{file}@{two_thirds}"]],
        "report --view growth": [[*report, "--view", "growth"]],
        # A choice of blocks, here all, needs every event.
        "all events": [[*report, "--min-size", "1"]],
    }
    for what, forms in commands.items():
        rounds = [[measured(command) for command in forms] for _ in range(bench.options.runs)]
        slowest = max(median(took for took, _ in same) for same in zip(*rounds))
        most = max(mb for same in rounds for _, mb in same)
        yield {"workload": name, "events": events, "command": what, "seconds": slowest, "rss_mb": most}


def moments(bench, heapwise):
    """Rows of figures."""
    rows = []
    for name, full, quick in WORKLOADS:
        rows += rows_of(bench, heapwise, name, quick if bench.options.quick else full)
    return rows


def print_moments(rows):
    print("moments: of recordings of so many events, and what going through all of them takes")
    for row in rows:
        print(f"  {row['workload']:<10} {row['events'] / 1e6:6.1f} M  {row['command']:<28}"
              f" {row['seconds']:6.2f} s {row['rss_mb']:6.0f} MB")
        if row["command"] == "all events":
            continue
        if row["seconds"] > BUDGET_SECONDS or row["rss_mb"] > BUDGET_MB:
            print(f"  over budget: {BUDGET_SECONDS} s, {BUDGET_MB} MB")
    print(flush=True)
