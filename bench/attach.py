# SPDX-License-Identifier: GPL-2.0-or-later
"""What attaching costs a process: how long it stands still, a pair of malloc and free, a server's throughput."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
from statistics import median

from figures import say
from running import attachable, pair_now, print_rows, redis_rows

HEAP_MIB, QUICK_HEAP_MIB, THREADS = 1024, 256, 50
PAUSE_MS = 2.0  # without a list of what was there before
SAMPLED_NS = 2.0  # added to a pair
LEAST_THROUGHPUT = 0.97
GO_FACTOR = 1.01  # of an allocation of a program in Go that is attached at its usual rate
GO_RATE = 524288
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
def go_program(path, *arguments):
    with subprocess.Popen([path, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.pid_said = int(process.stdout.readline().split()[1])
        yield process
        process.stdin.close()


@contextlib.contextmanager
def go_attached(heapwise, folder, pid):
    command = [heapwise, "attach", str(pid), "-f", "-o", f"{folder}/go.pb.gz"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        said = ""
        while "its runtime samples" not in said:
            line = process.stderr.readline()
            if not line:
                raise ValueError(f"attach: {said}")
            said += line
        yield
        process.send_signal(signal.SIGINT)
        process.stderr.read()


def go_rows(bench, heapwise):
    """In one process natively and attached in turns; beside it one that sets MemProfileRate itself."""
    if not shutil.which("go"):
        say("skipped: go is not there")
        return
    program = os.path.join(bench.scratch, "trees")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads/trees.go")
    subprocess.run(["go", "build", "-o", program, source], check=True,
                   env={**os.environ, "GOCACHE": os.path.join(bench.scratch, "go-cache"), "GOFLAGS": "-mod=mod"})
    found = {"native": [], "attached": [], "MemProfileRate set": []}
    with go_program(program) as process, go_program(program, str(GO_RATE)) as other:
        pair_now(process), pair_now(other)  # the heap is grown
        for _ in range(bench.options.runs):
            found["native"].append(pair_now(process))
            with go_attached(heapwise, bench.scratch, process.pid_said):
                found["attached"].append(pair_now(process))
            found["MemProfileRate set"].append(pair_now(other))
    for name, values in found.items():
        yield {"what": f"Go, an allocation, {name}", "unit": "ns", "median": median(values), "best": min(values),
               "budget": min(found["native"]) * GO_FACTOR if name == "attached" else None}


def attach(bench, heapwise):
    rows = [*pause_rows(bench, heapwise), *pair_rows(bench, heapwise), *go_rows(bench, heapwise)]
    ways = redis_rows(bench, WAYS, lambda pid, options: attached(heapwise, bench.scratch, pid, "--before", "none", *options))
    return rows + [{**row, "least": LEAST_THROUGHPUT if "sampled" in row["what"] else None} for row in ways]


def print_attach(rows):
    print_rows("attach: a process that runs already", rows)
