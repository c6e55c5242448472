# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search for leaks costs at a program's end, and while it runs, by number of live blocks."""

import json
import os
import select
import shutil
import signal
import subprocess
import time
from statistics import median

BLOCKS = (100_000, 1_000_000, 10_000_000)
QUICK_MOST = 1_000_000
MEMCHECK_MOST = 1_000_000  # it takes minutes for more
LSAN = ("/usr/lib/gcc/x86_64-linux-gnu/12/liblsan.so", "/usr/lib/x86_64-linux-gnu/liblsan.so.0")


def lines_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().splitlines()
    except OSError:
        return []


def anonymous_kb(pid):
    for line in lines_of(f"/proc/{pid}/status"):
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    return 0


def processes_of(program):
    """Those that execute it."""
    found = set()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.path.samefile(f"/proc/{name}/exe", program):
                found.add(int(name))
        except OSError:
            continue
    return found


class Searched:
    """The program, ready to end."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        line = self.process.stdout.readline()
        if not line.strip().isdigit():
            raise ValueError(f"{command[0]}: {line!r} in place of a process number")
        self.pid = int(line)

    def end(self, watch=None):
        """How long that takes, in ms; `watch` is called meanwhile."""
        pidfd = os.pidfd_open(self.pid)
        began = time.monotonic()
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        while not select.select([pidfd], [], [], 0.01 if watch else 600)[0]:
            watch()
        took = time.monotonic() - began
        os.close(pidfd)
        self.process.communicate()
        return took * 1000

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate()


def found_in(heapwise, what):
    out = subprocess.run(
        [heapwise, "leaks", "--json", "--limit", "1", what], check=True, capture_output=True
    ).stdout
    return json.loads(out)["leaks"]["search"]


def with_heapwise(heapwise, target, scratch, blocks):
    """At the end, and before that in the running program."""
    file = os.path.join(scratch, "leaks.hpw")
    run = [heapwise, "run", "-q", "-f", "-o", file, "--leak-check=full", "--show-leak-kinds=none"]
    one = Searched([*run, "--", *target], dict(os.environ))
    try:
        time.sleep(1)  # what the collector has still to do
        began = time.monotonic()
        asked = found_in(heapwise, str(one.pid))
        took = (time.monotonic() - began) * 1000
        ours = processes_of(heapwise)
        before = max(anonymous_kb(pid) for pid in ours)
        most = [before]
        watch = lambda: most.append(  # noqa: E731
            max([anonymous_kb(p) for p in processes_of(heapwise)], default=0)
        )
        end = one.end(watch)
    finally:
        one.kill()
    last = found_in(heapwise, file)
    return [
        {"tool": "heapwise, at its end", "end_ms": end, "pause_ms": last["pause_ns"] / 1e6,
         "search_ms": last["search_ns"] / 1e6, "bytes_per_block": (max(most) - before) * 1024 / blocks},
        {"tool": "heapwise leaks PID", "end_ms": None, "pause_ms": asked["pause_ns"] / 1e6,
         "search_ms": took, "bytes_per_block": None},
    ]


def with_other(name, command, environment):
    one = Searched(command, {**os.environ, **environment})
    try:
        end = one.end()
    finally:
        one.kill()
    return [{"tool": name, "end_ms": end, "pause_ms": None, "search_ms": None, "bytes_per_block": None}]


def round_of(bench, heapwise, blocks):
    target = [os.path.join(bench.bin, "graph"), str(blocks)]
    rows = with_other("native", target, {})
    rows += with_heapwise(heapwise, target, bench.scratch, blocks)
    lsan = next((path for path in LSAN if os.path.exists(path)), None)
    if lsan:
        rows += with_other("LSan, preloaded", target, {"LD_PRELOAD": lsan})
    if shutil.which("valgrind") and blocks <= MEMCHECK_MOST:
        rows += with_other("memcheck", ["valgrind", "-q", "--leak-check=full", *target], {})
    return rows


def leaks(bench, heapwise):
    """Rows of figures, medians of the rounds."""
    rows = []
    for blocks in BLOCKS:
        if bench.options.quick and blocks > QUICK_MOST:
            continue
        rounds = [round_of(bench, heapwise, blocks) for _ in range(bench.options.runs)]
        for same in zip(*rounds):
            row = {"blocks": blocks, "tool": same[0]["tool"]}
            for key in ("end_ms", "pause_ms", "search_ms", "bytes_per_block"):
                values = [one[key] for one in same if one[key] is not None]
                row[key] = median(values) if values else None
            rows.append(row)
    return rows


def print_leaks(rows):
    print("leaks: from the line that ends the program to its end; how long it stood still for that;")
    print("the search from its beginning to the answer; memory of the search for each block")
    head = ("blocks", "tool", "end ms", "pause ms", "search ms", "B/block")
    lines = [head]
    for row in rows:
        cells = [
            "-" if row[key] is None else f"{row[key]:.1f}"
            for key in ("end_ms", "pause_ms", "search_ms", "bytes_per_block")
        ]
        lines.append((f"{row['blocks']:,}", row["tool"], *cells))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
    print(flush=True)
