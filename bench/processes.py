# SPDX-License-Identifier: GPL-2.0-or-later
"""What processes cost while they run, seen from outside."""

import glob
import os
import subprocess

from figures import CollectorCost


def watch_collector(process, name):
    """What descendants that run the program name cost, looked at every few milliseconds: the largest
    VmHWM, and the CPU time of the one that used most of it, since a program of the same name may
    only wait for the others. None if there was none."""
    peak_kb, cpu_ns = 0, {}
    while True:
        for pid in descendants(process.pid):
            try:
                if os.path.basename(os.readlink(f"/proc/{pid}/exe")) != name:
                    continue
                with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
                    found = [int(line.split()[1]) for line in f if line.startswith("VmHWM")]
                cpu_ns[pid] = max(cpu_ns.get(pid, 0), cpu_time_ns(pid))
            except OSError:
                continue
            peak_kb = max([peak_kb] + found)
        try:
            process.wait(timeout=0.005)
            return CollectorCost(peak_kb, max(cpu_ns.values())) if cpu_ns else None
        except subprocess.TimeoutExpired:
            pass


def cpu_time_ns(pid):
    """User and system time so far of the threads that a process has now."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def descendants(pid):
    found, todo = [], [pid]
    while todo:
        for path in glob.glob(f"/proc/{todo.pop()}/task/*/children"):
            try:
                with open(path, encoding="ascii") as f:
                    children = [int(word) for word in f.read().split()]
            except OSError:
                continue
            found += children
            todo += children
    return found
