# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that run already, for the benchmarks of attach and watch: a pair of malloc and free, a server's throughput."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from statistics import geometric_mean, median

from figures import say
from services import REDIS_KINDS, WAIT_S, redis_command, redis_load, redis_ready


@contextlib.contextmanager
def attachable(bench, *arguments):
    """The process of workloads/attachable.c: MiB, threads, and of pairs windows and frames."""
    command = [os.path.join(bench.bin, "attachable"), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.pid_said = int(process.stdout.readline().split()[1])
        yield process
        process.stdin.close()


def pair_now(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


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


def redis_rows(bench, ways, around):
    """Throughput with each way of `ways` (name: options), while `around(pid, options)` is on."""
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        say("skipped: redis-server is not there")
        return
    found = {name: [] for name in ways}
    with redis(bench.scratch) as (process, folder):
        rate(folder, True)
        for _ in range(bench.options.runs):
            for name, options in ways.items():
                native = rate(folder, bench.options.quick)
                with around(process.pid, options):
                    found[name].append(rate(folder, bench.options.quick) / native)
    for name, values in found.items():
        yield {"what": f"redis, {name}: throughput of native", "unit": "x", "median": median(values), "best": max(values)}


def print_rows(title, rows):
    print(title)
    print(f"  {'what':<48} {'median':>9} {'best':>9}")
    for row in rows:
        if row.get("unmeasured"):
            print(f"  {row['what']:<48} not measured: {row['unmeasured']}")
            continue
        print(f"  {row['what']:<48} {row['median']:9.2f} {row['best']:9.2f} {row['unit']}")
        if row.get("budget") and row["best"] > row["budget"]:
            print(f"  over budget: {row['budget']:.2f} {row['unit']}")
        if row.get("least") and row["best"] < row["least"]:
            print(f"  under what is wanted: {row['least']:.2f} {row['unit']}")
    print(flush=True)
