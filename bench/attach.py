# SPDX-License-Identifier: GPL-2.0-or-later
"""What attaching costs a process: how long it stands still, a pair of malloc and free, a server's throughput."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from statistics import geometric_mean, median

from figures import say
from services import REDIS_KINDS, WAIT_S, redis_command, redis_load, redis_ready

HEAP_MIB, QUICK_HEAP_MIB, THREADS = 1024, 256, 50
PAUSE_MS = 2.0  # without a list of what was there before
SAMPLED_NS = 2.0  # added to a pair
LEAST_THROUGHPUT = 0.97
UNITS = {"ns": 1e-6, "µs": 1e-3, "us": 1e-3, "ms": 1.0, "s": 1e3}
WAYS = {"exact": [], "sampled": ["--mode", "sample"]}


@contextlib.contextmanager
def attached(heapwise, folder, pid, *options):
    """The command, and the milliseconds that the process stood still."""
    command = [heapwise, "attach", str(pid), "-f", "-o", f"{folder}/attached.hpw", "--pause", "10s", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.readline()
        found = re.search(r"stood still for ([0-9.]+) (\S+)", said)
        if not found:
            raise ValueError(f"attach: {said}{process.stderr.read()}")
        yield float(found.group(1)) * UNITS[found.group(2)]
        subprocess.run([heapwise, "detach", str(pid)], capture_output=True, check=True)
        process.stderr.read()


@contextlib.contextmanager
def attachable(bench, mib, threads):
    command = [os.path.join(bench.bin, "attachable"), str(mib), str(threads)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.pid_said = int(process.stdout.readline().split()[1])
        yield process
        process.stdin.close()


def pause_rows(bench, heapwise):
    mib = QUICK_HEAP_MIB if bench.options.quick else HEAP_MIB
    for before in ("none", "snapshot"):
        found = []
        with attachable(bench, mib, THREADS) as process:
            for _ in range(bench.options.runs):
                with attached(heapwise, bench.scratch, process.pid_said, "--before", before) as milliseconds:
                    found.append(milliseconds)
        yield {"what": f"pause, {mib} MiB, {THREADS} threads, --before={before}", "unit": "ms", "median": median(found),
               "best": min(found), "budget": PAUSE_MS if before == "none" else None}


def pair_now(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def pair_rows(bench, heapwise):
    """In one process: before, then attached and let go in turns."""
    found = {name: [] for name in ("native", *WAYS, "let go")}
    with attachable(bench, 0, 0) as process:
        found["native"] = [pair_now(process) for _ in range(bench.options.runs)]
        for _ in range(bench.options.runs):
            for name, options in WAYS.items():
                with attached(heapwise, bench.scratch, process.pid_said, "--before", "none", *options):
                    found[name].append(pair_now(process))
                found["let go"].append(pair_now(process))
    native = min(found["native"])
    for name, values in found.items():
        budget = {"sampled": native + SAMPLED_NS}.get(name)
        yield {"what": f"malloc(64) and free, {name}", "unit": "ns", "median": median(values), "best": min(values),
               "budget": budget}


@contextlib.contextmanager
def redis(scratch):
    with tempfile.TemporaryDirectory(prefix="redis-", dir=scratch) as folder:
        with subprocess.Popen(redis_command(folder), stdout=subprocess.DEVNULL) as process:
            until = time.monotonic() + WAIT_S
            while not redis_ready(folder):
                if process.poll() is not None or time.monotonic() > until:
                    raise ValueError("redis-server does not answer")
                time.sleep(0.01)
            yield process, folder
            process.send_signal(signal.SIGTERM)


def rate(folder, quick):
    load = redis_load(folder, quick, 1)
    return geometric_mean(load[kind]["per_s"] for kind in REDIS_KINDS)


def redis_rows(bench, heapwise):
    found = {name: [] for name in WAYS}
    with redis(bench.scratch) as (process, folder):
        rate(folder, True)
        for _ in range(bench.options.runs):
            for name, options in WAYS.items():
                native = rate(folder, bench.options.quick)
                with attached(heapwise, bench.scratch, process.pid, "--before", "none", *options):
                    found[name].append(rate(folder, bench.options.quick) / native)
    for name, values in found.items():
        yield {"what": f"redis, {name}: throughput of native", "unit": "x", "median": median(values), "best": max(values),
               "least": LEAST_THROUGHPUT if name == "sampled" else None}


def attach(bench, heapwise):
    rows = [*pause_rows(bench, heapwise), *pair_rows(bench, heapwise)]
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        rows += redis_rows(bench, heapwise)
    else:
        say("skipped: redis-server is not there")
    return rows


def print_attach(rows):
    print("attach: a process that runs already")
    print(f"  {'what':<48} {'median':>9} {'best':>9}")
    for row in rows:
        print(f"  {row['what']:<48} {row['median']:9.2f} {row['best']:9.2f} {row['unit']}")
        if row.get("budget") and row["best"] > row["budget"]:
            print(f"  over budget: {row['budget']:.2f} {row['unit']}")
        if row.get("least") and row["best"] < row["least"]:
            print(f"  under what is wanted: {row['least']:.2f} {row['unit']}")
    print(flush=True)
