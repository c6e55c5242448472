# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pair of malloc and free costs under `heapwise watch`, and beside it under memleak; a server's throughput."""

import contextlib
import select
import shutil
import signal
import subprocess
import time
from statistics import median

from running import attachable, pair_now, print_rows, redis_rows

# Windows of 20,000 pairs, of which the least counts.
WINDOWS = {"full": 100, "quick": 20}
DEPTHS = {5: 0, 21: 16}  # frames of a stack: calls
WAYS = {"native": None, "--all": ["--all"], "sampled": []}
BUDGET = {("--all", 5): 2500, ("sampled", 5): 900}  # ns a pair
WAIT_S = 60
MEMLEAK = ("memleak-bpfcc", "memleak")


def line_of(stream):
    """A line that is said within WAIT_S; empty: it ended, or said none."""
    return stream.readline() if select.select([stream], [], [], WAIT_S)[0] else ""


@contextlib.contextmanager
def watched(command, stream, word):
    """A watcher, from when it says a word on a stream."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = line_of(getattr(process, stream))
            if word not in said:
                process.kill()
                raise ValueError(" ".join((said + process.stderr.read()).split())[-200:] or "it says nothing")
            # Whether its probes are there at once is not said.
            time.sleep(0.5)
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=WAIT_S)
            process.kill()


def heapwise_watch(heapwise, pid, options):
    return watched([heapwise, "watch", str(pid), "1000", *options], "stderr", "probed")


def memleak_watch(pid):
    program = next((name for name in MEMLEAK if shutil.which(name)), None)
    if not program:
        raise ValueError("it is not installed (package bpfcc-tools)")
    return watched([program, "-p", str(pid), "1000"], "stdout", "Attaching")


def pair_rows(bench, heapwise):
    """In one process for each depth, in turns."""
    memleak_fails = None
    for frames, depth in DEPTHS.items():
        found = {name: [] for name in WAYS}
        others = []
        windows = WINDOWS["quick" if bench.options.quick else "full"]
        with attachable(bench, 0, 0, windows, depth) as process:
            for _ in range(bench.options.runs):
                for name, options in WAYS.items():
                    watcher = contextlib.nullcontext() if options is None else heapwise_watch(heapwise, process.pid_said, options)
                    with watcher:
                        found[name].append(pair_now(process))
                if memleak_fails:
                    continue
                try:
                    with memleak_watch(process.pid_said):
                        others.append(pair_now(process))
                except (ValueError, OSError) as failure:
                    memleak_fails = str(failure)
        for name, values in found.items():
            yield {"what": f"malloc(64) and free, {frames} frames, {name}", "unit": "ns", "median": median(values), "best": min(values),
                   "budget": BUDGET.get((name, frames))}
        yield {"what": f"malloc(64) and free, {frames} frames, memleak", "unit": "ns", "median": median(others) if others else None,
               "best": min(others) if others else None, "unmeasured": None if others else memleak_fails}


def watch(bench, heapwise):
    ways = {name: options for name, options in WAYS.items() if options is not None}
    return [*pair_rows(bench, heapwise), *redis_rows(bench, ways, lambda pid, options: heapwise_watch(heapwise, pid, options))]


def print_watch(rows):
    print_rows("watch: a process that is watched from the kernel", rows)
