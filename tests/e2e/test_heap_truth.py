#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is read from memory equals what programs say of their own blocks, by each road: a core of the
kernel's, one of gcore's, the process as it runs."""

import signal
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, compare, gcore, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

PROGRAMS = ["small", "threads", "ended", "static", "stripped", "foreign_break"]
# What libc itself holds beside a program's blocks: tables of threads, buffers.
OWN_MOST = {"threads": 8, "ended": 5, "static": 5}
# Other allocators, whose blocks are larger than what was asked for by up to a quarter. They have a few blocks
# themselves.
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
ALLOCATORS_OWN_MOST = {"jemalloc": 1, "tcmalloc": 3}


def add(name, allocator=None):
    program = hw.TARGETS / f"heaps/heap_{name}"
    most = OWN_MOST.get(name, 0) + ALLOCATORS_OWN_MOST.get(allocator, 0)
    spare = 0.25 if allocator else 0
    environment = hw.clean_environment()
    if allocator:
        environment["LD_PRELOAD"] = ALLOCATORS[allocator]
    title = f"{name} with {allocator}" if allocator else name

    def by_kernel(folder):
        core = kernel_core(program, folder, environment)
        compare(read_account(folder / "account"), ask("core", "--json", core, "blocks")["blocks"], most, spare)

    def by_gcore(folder):
        with Waiting(program, folder, environment) as pid:
            core = gcore(pid, folder)
        compare(read_account(folder / "account"), ask("core", "--json", core, "blocks")["blocks"], most, spare)

    def live(folder):
        with Waiting(program, folder, environment) as pid:
            blocks = ask("heap", "--json", str(pid), "blocks")["blocks"]
        compare(read_account(folder / "account"), blocks, most, spare)

    tests.add(f"{title}: a kernel's core tells its blocks as it does itself", by_kernel)
    tests.add(f"{title}: a core of gcore's tells its blocks as it does itself", by_gcore)
    tests.add(f"{title}: its blocks are the same while it runs", live)


for each in PROGRAMS:
    add(each)
for each in ALLOCATORS:
    add("small", each)
    add("threads", each)


@tests.test
def smashed_heads_lose_few_blocks(folder):
    """Where three heads are smashed no more than what lies behind is lost, and who did it is named."""
    program = hw.TARGETS / "heaps/heap_smashed"
    with Waiting(program, folder) as pid:
        core = gcore(pid, folder)
    account = read_account(folder / "account")
    shown = ask("core", "--json", core)
    blocks = {int(b["address"], 16) for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    lost = [kind for address, (_, _, _, kind) in account.items() if address not in blocks]
    if len(lost) > 10 or len(shown["damage"]) != 3:
        raise hw.Failure(f"{len(lost)} blocks are lost ({Counter(lost)}), damage: {shown['damage']}")
    overrun = {int(d["block_before"], 16) for d in shown["damage"]}
    addresses = list(account)
    wanted = {addresses[i] for i in (500, 1500, 2500)}
    if overrun != wanted:
        raise hw.Failure(f"written beyond their end: {overrun}, not {wanted}")


@tests.test
def packed_cores(folder):
    """Cores that are packed by zstd, lz4, xz or gzip are read as they are, and cut ones as far as they go."""
    program = hw.TARGETS / "heaps/heap_small"
    with Waiting(program, folder) as pid:
        core = gcore(pid, folder)
    totals = ask("core", "--json", core)["totals"]
    packers = {"zstd": ["zstd", "-q"], "lz4": ["lz4", "-q"], "xz": ["xz", "-1"], "gzip": ["gzip", "-1"]}
    packed = [folder / f"core.{name}" for name, words in packers.items() if hw.shutil.which(words[0])]
    for path in packed:
        words = packers[path.suffix[1:]]
        path.write_bytes(hw.run([*words, "-c"], stdin=core.read_bytes()).stdout)
        if ask("core", "--json", path)["totals"] != totals:
            raise hw.Failure(f"{path.name} has other totals")
    if ask("leaks", "--json", folder / "core.zstd")["leaks"]["summary"]["definite"]["blocks"] != 1500:
        raise hw.Failure("heapwise leaks finds something else in a packed core")
    cut = folder / "cut"
    cut.write_bytes((folder / "core.zstd").read_bytes()[:-1000])
    ended = hw.run([hw.HEAPWISE, "core", cut])
    if ended.status or "in the middle" not in ended.errors:
        raise hw.Failure(f"a packed core that is cut off: {ended}")
    bomb = folder / "bomb"
    bomb.write_bytes(hw.run(["zstd", "-q", "-c"], stdin=core.read_bytes()[:64] + b"x" * (150 << 20)).stdout)
    ended = hw.run([hw.HEAPWISE, "core", bomb])
    if ended.status != 3 or "no core of that size" not in ended.errors:
        raise hw.Failure(f"a bomb: {ended}")


@tests.test
def saved_by_us(folder):
    """A core that is saved of a process says what the process says, gdb reads it, and the process goes on."""
    program = hw.TARGETS / "heaps/heap_threads"
    core = folder / "saved"
    with Waiting(program, folder) as pid:
        ended = hw.run([hw.HEAPWISE, "heap", str(pid), "save", core])
        if ended.status:
            raise hw.Failure(f"save: {ended}")
        live = ask("heap", "--json", str(pid))
        if "State:\tS" not in Path(f"/proc/{pid}/status").read_text():
            raise hw.Failure("the process does not go on")
    saved = ask("core", "--json", core)
    for what in ("totals", "types"):
        if saved[what] != live[what]:
            raise hw.Failure(f"other {what}: {saved[what]}, not {live[what]}")
    if hw.shutil.which("gdb"):
        ended = hw.run(["gdb", "-q", "-nx", "-batch", "-ex", "thread apply all bt", str(program), str(core)])
        if ended.text.count("in work ") != 8 or "main (" not in ended.text:
            raise hw.Failure(f"gdb: {ended.text[-600:]} {ended}")


@tests.test
def memory_as_it_lies(folder):
    """hexdump shows what dump writes, as hexdump -C does; strings finds what strings(1) finds."""
    program = hw.TARGETS / "heaps/heap_small"
    with Waiting(program, folder) as pid:
        core = gcore(pid, folder)
    block = next(b for b in ask("core", "--json", core, "blocks")["blocks"] if b["size"] == 1064 or b["size"] > 1000)
    dumped = folder / "dumped"
    ended = hw.run([hw.HEAPWISE, "core", core, "dump", block["address"], "4000", dumped])
    if ended.status or dumped.stat().st_size != 4000:
        raise hw.Failure(f"dump: {ended}")
    shown = hw.run([hw.HEAPWISE, "core", core, "hexdump", block["address"], "4000"]).text
    if hw.shutil.which("hexdump"):
        start = int(block["address"], 16)
        wanted = hw.run(["hexdump", "-C", dumped]).text.splitlines()
        ours = [
            line if line == "*" else f"{int(line[:16], 16) - start:08x}{line[16:]}" for line in shown.splitlines()]
        if ours != wanted:
            raise hw.Failure(f"hexdump: {ours[:3]}, not {wanted[:3]}")
    found = ask("core", "--json", core, "strings")["strings"]
    if not any(s["text"].endswith("libc.so.6") for s in found):
        raise hw.Failure("strings does not find the path of libc")


@tests.test
def stacks_of_threads(folder):
    """threads gives each thread's call stack, in a core and in the process; the one that died comes first."""
    program = hw.TARGETS / "heaps/heap_threads"
    with Waiting(program, folder) as pid:
        live = ask("heap", "--json", str(pid), "threads")["threads"]
    died = ask("core", "--json", kernel_core(program, folder), "threads")["threads"]
    for threads, last in ((live, "account_end"), (died, "abort")):
        stacks = [[f["function"] for f in t["stack"]] for t in threads]
        if sum("work" in s for s in stacks) != 8 or sum("main" in s and last in s for s in stacks) != 1:
            raise hw.Failure(f"stacks: {stacks}")
    if [t["signal"] for t in died] != [signal.SIGABRT] + [0] * 8:
        raise hw.Failure(f"signals: {[t['signal'] for t in died]}")


@tests.test
def what_hangs_on_globals(folder):
    """dominators says of each global what hangs on it: as much as its blocks have together"""
    with Waiting(hw.TARGETS / "heaps/heap_small", folder) as pid:
        core = gcore(pid, folder)
    account = read_account(folder / "account")
    sizes = {int(b["address"], 16): b["size"] for b in ask("core", "--json", core, "blocks")["blocks"]}
    wanted = {
        name: sum(sizes[a] for a, (_, used, _, kind) in account.items() if used and kind in kinds)
        for name, kinds in {
            "list": ("node", "name"), "table": ("table", "entry"), "aligned": ("aligned",), "large": ("large",)}.items()}
    rows = ask("core", "--json", core, "dominators")["dominators"]
    found = {r["symbol"]: r["retained_bytes"] for r in rows if r["kind"] == "global" and r["symbol"] in wanted}
    if found != wanted:
        raise hw.Failure(f"{found}, not {wanted}")


@tests.test
def free_memory_adds_up(folder):
    """fragmentation's sums of all arenas are those of the summary."""
    with Waiting(hw.TARGETS / "heaps/heap_small", folder) as pid:
        core = gcore(pid, folder)
    arenas = ask("core", "--json", core, "fragmentation")["arenas"]
    totals = ask("core", "--json", core)["totals"]
    own = sum(b["size"] for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "allocator")
    free, used = sum(a["free_bytes"] for a in arenas), sum(a["used_bytes"] for a in arenas)
    if (free, used) != (totals["free_bytes"], totals["used_bytes"] + own):
        raise hw.Failure(f"{free} free and {used} used, not as {totals}")
    for arena in arenas:
        if not arena["pages"] >= arena["free_pages"] + arena["pinned_pages"] > 0:
            raise hw.Failure(f"pages: {arena}")


tests.main()
