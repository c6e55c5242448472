# SPDX-License-Identifier: GPL-2.0-or-later
"""What a look at the mappings of a process costs, beside pmap."""

import contextlib
import os
import resource
import shutil
import subprocess
from statistics import median

from figures import say

MAPPINGS = (1000, 10000)
LOOKS = {"full": 400, "quick": 100}
EVERY_MS = 20  # the looks are close together here: what one costs is the same
BUDGET = {10000: 0.01}  # of a core, with a look a second


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


@contextlib.contextmanager
def target(bench, count):
    command = [os.path.join(bench.bin, "mappings"), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield int(process.stdout.readline())
        process.stdin.close()


def look_seconds(heapwise, pid, looks):
    """Of one more look: the first and the last one, which are full ones, don't count."""
    def series(milliseconds):
        return cpu_seconds([heapwise, "maps", str(pid), f"--every={EVERY_MS}ms", f"--for={milliseconds}ms"])

    return (series((looks + 2) * EVERY_MS) - series(2 * EVERY_MS)) / looks


def maps(bench, heapwise):
    rows = []
    looks = LOOKS["quick" if bench.options.quick else "full"]
    for count in MAPPINGS:
        with target(bench, count) as pid:
            found = {"heapwise maps": [], "pmap -x": []}
            for _ in range(bench.options.runs):
                found["heapwise maps"].append(look_seconds(heapwise, pid, looks))
                if shutil.which("pmap"):
                    found["pmap -x"].append(cpu_seconds(["pmap", "-x", str(pid)]))
        for tool, seconds in found.items():
            if not seconds:
                say(f"skipped: {tool} is not there")
                continue
            rows.append({"mappings": count, "tool": tool, "look_s": median(seconds), "best_s": min(seconds),
                         "budget": BUDGET.get(count) if tool == "heapwise maps" else None})
    return rows


def print_maps(rows):
    print("maps: CPU of a look at a process; with a look each second, that is its part of a core")
    print(f"  {'mappings':>8}  {'tool':<14} {'ms':>8} {'best ms':>8}")
    for row in rows:
        print(f"  {row['mappings']:>8}  {row['tool']:<14} {row['look_s'] * 1000:8.2f} {row['best_s'] * 1000:8.2f}")
        if row["budget"] and row["best_s"] > row["budget"]:
            print(f"  over budget: {row['budget'] * 1000:.0f} ms")
    print(flush=True)
