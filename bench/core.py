# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs to read heaps that nobody recorded: cores of six programs, and a process that runs."""

import json
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

PROMPT = b"(heapwise) "
ANSWER_S = 120
WHY_BUDGET_S, WHY_BUDGET_MB, PAUSE_BUDGET_S = 0.5, 300, 0.5
GDB_WALK = """
import gdb
inferior = gdb.selected_inferior()
at, end, blocks, used = START, END, 0, 0
while at + 16 < end:
    head = int.from_bytes(bytes(inferior.read_memory(at + 8, 8)), "little")
    if head & ~7 < 32:
        break
    blocks += 1
    at += head & ~7
print("blocks", blocks)
"""


@dataclass
class Program:
    name: str
    command: tuple  # {bin}: folder of our programs; {here}: this one; {size}
    full: int
    quick: int
    budget_s: float  # of the summary, CPU time
    budget_mb: float


PROGRAMS = (
    Program("small", ("{bin}/heap", "{size}"), 10_000, 10_000, 0.05, 50),
    Program("c", ("{bin}/heap", "{size}"), 5_000_000, 200_000, 1.2, 300),
    Program("c++", ("{bin}/heap_containers", "{size}"), 930_000, 40_000, 2, 250),
    Program("python", ("/usr/bin/python3", "{here}/workloads/heap.py", "{size}"), 460_000, 20_000, 1.5, 250),
    Program("c++, scattered", ("{bin}/heap_scattered", "{size}"), 1_090_000, 40_000, 2, 250),
    Program("nodes", ("{bin}/heap_nodes", "{size}"), 9_000_000, 200_000, 1.2, 180),
)
# With --large: a core of 2.9 GB; 20 bytes a block.
LARGE = (Program("nodes, 90 million", ("{bin}/heap_nodes", "{size}"), 90_000_000, 90_000_000, 12, 1717),)


def kernel_writes_cores():
    pattern = Path("/proc/sys/kernel/core_pattern").read_text(encoding="ascii").strip()
    return pattern[:1] not in "|/"


class Started:
    """The program, with its heap made, in a folder of its own."""

    def __init__(self, bench, program):
        size = program.quick if bench.options.quick else program.full
        words = {"bin": bench.bin, "here": os.path.dirname(os.path.abspath(__file__)), "size": size}
        self.folder = os.path.join(bench.scratch, f"core-{program.name.replace(' ', '-')}")
        os.makedirs(self.folder, exist_ok=True)
        self.process = subprocess.Popen(
            [word.format(**words) for word in program.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2),
        )
        line = self.process.stdout.readline()
        if not line.strip().isdigit():
            raise ValueError(f"{program.name}: {line!r} in place of a process number")
        self.pid = int(line)

    def dump(self, heapwise):
        """Ends it: the core, and who wrote it."""
        core, by = os.path.join(self.folder, "saved"), "heapwise heap PID save"
        if not kernel_writes_cores():
            subprocess.run([heapwise, "heap", str(self.pid), "save", core], check=True)
        self.process.send_signal(signal.SIGABRT)
        self.process.wait()
        found = [str(path) for path in Path(self.folder).glob("core*")]
        return (found[0], "the kernel") if found else (core, by)


def timed(bench, command):
    """What it cost, and what it wrote."""
    result = os.path.join(bench.scratch, "core-cost")
    out = os.path.join(bench.scratch, "core-out")
    with open(out, "wb") as f:
        done = subprocess.run(
            [os.path.join(bench.bin, "timed"), result, *command], stdout=f, stderr=subprocess.PIPE, check=False
        )
    with open(result, encoding="ascii") as f:
        cost = json.load(f)
    if cost["code"]:
        raise ValueError(f"{' '.join(command)}: {done.stderr.decode()[-400:]}")
    with open(out, "rb") as f:
        return cost, f.read()


def row_of(costs, **more):
    return {
        "wall_s": median(cost["wall_ns"] for cost in costs) / 1e9,
        "cpu_s": median(cost["cpu_ns"] for cost in costs) / 1e9,
        "rss_mb": max(cost["peak_rss_kb"] for cost in costs) / 1024,
        **more,
    }


def rounds(bench, command):
    timed(bench, command)  # the file is in memory from then on
    return [timed(bench, command)[0] for _ in range(max(bench.options.runs, 1))]


class Prompt:
    """heapwise core CORE on a terminal: the heap is read once, then verbs are answered."""

    def __init__(self, command):
        self.pid, self.file = pty.fork()
        if not self.pid:
            os.environ["TERM"] = "dumb"
            os.execv(command[0], command)
        self.wait()

    def wait(self):
        got, until = b"", time.monotonic() + ANSWER_S
        while not got.endswith(PROMPT):
            if not select.select([self.file], [], [], max(until - time.monotonic(), 0))[0]:
                raise ValueError(f"no prompt: {got[-300:]!r}")
            got += os.read(self.file, 1 << 16)

    def seconds(self, line):
        began = time.monotonic()
        os.write(self.file, line.encode() + b"\n")
        self.wait()
        return time.monotonic() - began

    def close(self):
        os.write(self.file, b"quit\n")
        os.waitpid(self.pid, 0)
        os.close(self.file)


def middle_block(bench, heapwise, core):
    """The address of a block in use in the midst of the first ones."""
    _, out = timed(bench, [heapwise, "core", "--json", "--limit", "20000", core, "blocks"])
    used = [block for block in json.loads(out)["blocks"] if block["state"] == "used"]
    return used[len(used) // 2]["address"], used[0]["address"], used[-1]["address"]


def why_rows(bench, heapwise, core, address):
    command = [heapwise, "core", core, "why", address]
    budgets = {} if bench.options.quick else {"budget_s": WHY_BUDGET_S, "budget_mb": WHY_BUDGET_MB}
    yield {"what": f"why {address}, all of the command", **row_of(rounds(bench, command), **budgets)}
    prompt = Prompt([heapwise, "core", "--no-pager", core])
    seconds = median(prompt.seconds(f"why {address}") for _ in range(max(bench.options.runs, 3)))
    prompt.close()
    yield {"what": "the same at the prompt, once the heap is read", "wall_s": seconds, "budget_s": WHY_BUDGET_S}


def gdb_rows(bench, core, first, last, address, walks):
    """What gdb can do of it, which knows nothing of blocks."""
    gdb = shutil.which("gdb")
    if not gdb:
        return
    base = [gdb, "-q", "-nx", "-batch"]
    yield {"what": "gdb: opens the core", **row_of([timed(bench, [*base, "-c", core])[0]])}
    find = f"find /g {first}, {last}, {address}"
    yield {
        "what": "gdb: find, words that are the address of that block (of the first 20,000)",
        **row_of([timed(bench, [*base, "-c", core, "-ex", find])[0]]),
    }
    if not walks:
        return
    script = os.path.join(bench.scratch, "walk.py")
    # Each block's head stands 16 bytes before it.
    text = GDB_WALK.replace("START", str(int(first, 16) - 16)).replace("END", str(int(last, 16)))
    Path(script).write_text(text, encoding="ascii")
    cost, out = timed(bench, [*base, "-c", core, "-x", script])
    count = out.decode().rsplit("blocks", 1)[-1].strip()
    yield {"what": f"gdb: a Python loop over {count} heads of chunks, which only counts", **row_of([cost])}


def program_rows(bench, heapwise, program):
    started = Started(bench, program)
    _, out = timed(bench, [heapwise, "heap", "--json", "--limit", "1", str(started.pid)])
    live = json.loads(out)
    core, by = started.dump(heapwise)
    head = {
        "program": program.name,
        "blocks": live["totals"]["used_blocks"],
        "core_mb": os.path.getsize(core) / 1e6,
        "core_by": by,
    }
    budgets = {} if bench.options.quick else {"budget_s": program.budget_s, "budget_mb": program.budget_mb}
    yield {
        **head,
        "what": "summary, with types and leaks",
        **row_of(rounds(bench, [heapwise, "core", core]), **budgets),
    }
    yield {
        **head,
        "what": "pause of the process that runs",
        "wall_s": live["source"]["pause_ns"] / 1e9,
        "budget_s": PAUSE_BUDGET_S,
    }
    if program.name in ("small", "c"):
        address, first, last = middle_block(bench, heapwise, core)
        for row in why_rows(bench, heapwise, core, address):
            yield {**head, **row}
        for row in gdb_rows(bench, core, first, last, address, program.name == "small"):
            yield {**head, **row}
    shutil.rmtree(started.folder)


def core(bench, heapwise):
    rows = []
    for program in PROGRAMS + (LARGE if bench.options.large else ()):
        rows += program_rows(bench, heapwise, program)
    return rows


def over_budget(row):
    return row.get("cpu_s", row["wall_s"]) > row.get("budget_s", 1e9) or row.get("rss_mb", 0) > row.get("budget_mb", 1e9)


def print_core(rows):
    print("core: heaps that nobody recorded; wall and CPU time, memory")
    last = None
    for row in rows:
        if row["program"] != last:
            last = row["program"]
            print(f"  {last}: {row['blocks']:,} blocks, a core of {row['core_mb']:.0f} MB, written by {row['core_by']}")
        cpu = f"{row['cpu_s']:7.3f} s CPU" if "cpu_s" in row else " " * 13
        memory = f"{row['rss_mb']:5.0f} MB" if "rss_mb" in row else " " * 8
        print(f"    {row['wall_s']:7.3f} s  {cpu}  {memory}  {row['what']}")
        if over_budget(row):
            print(f"      over budget: {row['budget_s']} s" + (f", {row['budget_mb']} MB" if "budget_mb" in row else ""))
    print(flush=True)
    sys.stdout.flush()
