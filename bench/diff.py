# SPDX-License-Identifier: GPL-2.0-or-later
"""What it takes to compare two recordings of many stacks, beside the report of one."""

import json
import os
import subprocess
import time
from statistics import median

STACKS = 50_000
BUDGET_SECONDS = 0.5


def record(heapwise, scratch, target, name, *arguments):
    file = os.path.join(scratch, name)
    subprocess.run(
        [heapwise, "run", "-q", "-f", "-o", file, "--", target, *arguments],
        check=True, stdout=subprocess.DEVNULL,
    )
    return file


def seconds(command):
    began = time.monotonic()
    out = subprocess.run(command, check=True, capture_output=True).stdout
    return time.monotonic() - began, out


def diff(bench, heapwise):
    """Rows of figures, medians of the rounds."""
    target = os.path.join(bench.bin, "stacks")
    old = record(heapwise, bench.scratch, target, "old.hpw", str(STACKS))
    new = record(heapwise, bench.scratch, target, "new.hpw", str(STACKS), "1")
    commands = {
        "report": [heapwise, "report", "--json", old],
        "diff": [heapwise, "diff", old, new],
        "diff, JSON": [heapwise, "diff", "--json", old, new],
        "diff, one recording": [heapwise, "diff", "--json", old, old],
    }
    found = json.loads(seconds(commands["diff, JSON"])[1])["places"]
    sure = found["grown"]["count"], found["same"]["count"]
    if sure != (STACKS // 100, STACKS - STACKS // 100):
        raise ValueError(f"grown and same places are {sure}")
    return [
        {"stacks": STACKS, "command": name,
         "seconds": median(seconds(command)[0] for _ in range(bench.options.runs))}
        for name, command in commands.items()
    ]


def print_diff(rows):
    print("diff: two recordings of so many stacks, each 20 frames deep and with a block of its own")
    for row in rows:
        print(f"  {row['stacks']:>9,}  {row['command']:<20} {row['seconds']:7.3f} s")
        if row["command"] == "diff" and row["seconds"] > BUDGET_SECONDS:
            print(f"  over budget: {BUDGET_SECONDS} s")
    print(flush=True)
