# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs with very many allocation sites: figures are right, and what a report costs follows their number."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402

tests = hw.Tests()
FEW, MANY = 60_000, 120_000


def record(folder, count):
    """Path of the recording, and what the program says that it kept."""
    path = folder / f"{count}.hpw"
    ended = hw.record([hw.ANSWERS / "many_sites", str(count)], path)
    found = re.search(r"kept (\d+) (\d+)", ended.text)
    hw.need(found, str(ended))
    return path, int(found[1]), int(found[2])


def cost(*arguments):
    """CPU seconds and KiB of memory that a command takes."""
    process = subprocess.Popen([hw.HEAPWISE, *map(str, arguments)], stdout=subprocess.DEVNULL, env=hw.clean_environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    hw.need(process.returncode == 0, f"{arguments}: {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def costs_of(few, many, view):
    """The least that a report of each takes: pairs for few and for many sites. Other programs' work makes both longer
    at times, never shorter: so that is tried again, in turns, while it does not follow their number."""
    least = [(math.inf, math.inf)] * 2
    for _ in range(12):
        for i, path in enumerate((few, many)):
            least[i] = tuple(map(min, least[i], cost("report", path, *view)))
        if least[1][0] < 3.5 * least[0][0] + 0.1:
            break
    return zip(*least)


@tests.test
def sampled_sizes(folder):
    """A sample of blocks that all have other sizes: what the sizes say adds up to the totals, whichever way it is read."""
    path = folder / "sizes.hpw"
    hw.record([hw.ANSWERS / "many_sizes"], path, options=("-q", "--mode", "sample:524288"))
    for way in ((), ("--from", "start"), ("--merge", path)):
        found = json.loads(hw.ask("report", path, "--json", "--view", "sizes", *way))
        totals = found["totals"]
        true = 4000 if "--merge" in way else 2000
        hw.need(abs(totals["allocations"] - true) < true / 10, f"{totals['allocations']}, true {true}")
        for rows in (found["sizes"], found["size_classes"]):
            calls, size = (sum(row[column] for row in rows) for column in ("allocations", "bytes"))
            hw.need(abs(calls - totals["allocations"]) <= 8, f"{way}: {calls} of {totals['allocations']} calls")
            hw.need(abs(size / totals["allocated_bytes"] - 1) < 0.01, f"{way}: {size} of {totals['allocated_bytes']} bytes")


@tests.test
def figures(folder):
    """All sites are there, with their figures; what the summary leaves out it says."""
    path, blocks, size = record(folder, FEW)
    found = json.loads(hw.ask("report", path, "--json", "--view", "sites", "--sort", "live_bytes", "--limit", "5"))
    # printf's buffer is one more.
    hw.need(FEW <= found["sites_total"] <= FEW + 1, found["sites_total"])
    kept = found["totals"]["live_bytes_at_end"], found["totals"]["live_blocks_at_end"]
    buffered = sum(row["live_bytes"] for row in found["sites"] if row["library"])
    hw.need(kept[0] - buffered == size and kept[1] - bool(buffered) == blocks, f"{kept}, true {size} in {blocks}")
    depth = len(found["sites"][-1]["stack"])
    hw.need(depth >= 18, f"{depth} frames")
    text = hw.ask("report", path)
    hw.need("Growth was not checked" in text and "--view growth" in text, text)
    # What the verdict is, is a matter of pace, which a run of milliseconds has not.
    text = hw.ask("report", path, "--view", "growth")
    hw.need(re.search(r"Growth up to .* allocation sites\)", text), f"growth is not judged: {text}")


@tests.test
def costs(folder):
    """Time and memory follow the number of sites: what grew with their square would take four times as long."""
    hw.need_no_sanitizer("they take time and memory")
    few, many = record(folder, FEW)[0], record(folder, MANY)[0]
    for view, most in ((["--view", "summary"], 1800), (["--json", "--view", "sites"], 1300)):
        seconds, memory = costs_of(few, many, view)
        each = (memory[1] - memory[0]) * 1024 / (MANY - FEW)
        hw.need(seconds[1] < 3.5 * seconds[0] + 0.1, f"{view}: {seconds} s of CPU")
        hw.need(each < most, f"{view}: {each:.0f} bytes of memory for each site: {memory} KiB")
    # Trees of branches that nobody sees took 1,740.
    each = min(cost("timeline", many)[1] for _ in range(3)) * 1024 / MANY
    hw.need(each < 1600, f"timeline: {each:.0f} bytes of memory for each site")


tests.main()
