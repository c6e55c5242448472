#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is read from memory equals what programs say of their own blocks, by each road: a core of the
kernel's, one of gcore's, the process as it runs, and the recording of the same process."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import cores  # noqa: E402
import hw  # noqa: E402
from heaps import Recorded, Waiting, ask, compare, gcore, kernel_core, read_account  # noqa: E402
from processes import state  # noqa: E402

tests = hw.Tests()

ODD = hw.TARGETS / "heaps/heap_odd"

PROGRAMS = ["small", "threads", "ended", "handed", "static", "stripped", "foreign_break"]
# What the loader of a static program keeps of it, by size: maps of modules, and the folder where the program is.
LOADERS = [40, 168, 328, 1240]
# Other allocators, whose blocks are larger than what was asked for by up to a quarter (large ones of mimalloc's by
# up to half). They have a few blocks themselves, and blocks that the program freed may be others' by then.
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}
ALLOCATORS_OWN_MOST = {"jemalloc": 1, "tcmalloc": 3, "mimalloc": 0}
ALLOCATORS_SPARE = {"jemalloc": 0.25, "tcmalloc": 0.25, "mimalloc": 0.51}
# Programs with musl (musl-gcc), dynamic and static, and how many blocks the dynamic linker has of its own: the first
# thread's thread-local memory, if it is large. Its sizes are those that were asked for.
MUSL = {"small": 0, "threads": 0, "handed": 0, "musl": 1}
THREADS = {"threads": 8, "ended": 5, "handed": 6}  # of programs that have them
ENDED = {"ended": 4, "handed": 3}  # of these; their stacks are kept for the next ones, with their tables


def unaccounted(account, blocks):
    return [
        b for b in blocks
        if b["state"] == "used" and not ((row := account.get(int(b["address"], 16))) and row[1])]


def check_own(others, name, allocator, heap):
    """Blocks in use that are not the program's: nobody's but libc's, or the allocator's."""
    if allocator:
        most = ALLOCATORS_OWN_MOST[allocator] + THREADS.get(name, 0)
        if len(others) > most:
            raise hw.Failure(f"{len(others)} blocks are used that the program does not know: {others[:5]}")
    elif name == "static":
        folder = max(24, (len(str(hw.TARGETS / "heaps")) + 2 + 8 + 15) // 16 * 16 - 8)
        if sorted(b["size"] for b in others) != sorted([folder, *LOADERS]):
            raise hw.Failure(f"not what the loader keeps: {others}")
    else:
        wanted = THREADS.get(name, 0)
        # Each thread's table of thread-local memory is held by its control block.
        tables = [
            b for b in others
            if any(r["kind"] == "thread-local storage" and not r["layer"] for r in ask(*heap, "why", b["address"])["roots"])]
        if len(tables) != wanted - ENDED.get(name, 0) or len(others) != wanted:
            raise hw.Failure(f"of {others} {len(tables)} are tables of {wanted} threads")


def is_by_chance(root):
    """A word that the program's file has as it is (a text), or that the processor says of itself."""
    if root["symbol"] == "_dl_x86_cpu_features":
        return True
    file, place = Path(root["module"] or "/dev/null").read_bytes(), int(root["address"], 16)
    word = struct.pack("<Q", int(root["target"], 16) + root["into"])
    return any(address <= place < address + in_file and file[offset + place - address:].startswith(word)
               for _, kind, _, offset, address, in_file, _ in cores.parts(file) if kind == cores.PT_LOAD)


def leave_out_chance(account, blocks, heap):
    """A static program's heap lies below 4 GiB, where a text of three letters looks like an address: such a block is possibly
    lost, and rightly so."""
    for block in blocks:
        truth = account.get(int(block["address"], 16))
        if truth and truth[2] == "definite" and block["leak"] == "possible":
            held = ask(*heap, "why", block["address"])
            if held["roots"] and not held["referrers"] and all(map(is_by_chance, held["roots"])):
                block["leak"] = "definite"


def judge(folder, name, allocator, *heap):
    """The heap that is read by these words is the program's own account of it."""
    account = read_account(folder / "account")
    shown = ask(*heap, "blocks")
    if name.endswith("static"):
        leave_out_chance(account, shown["blocks"], heap)
    compare(account, shown["blocks"], None, ALLOCATORS_SPARE.get(allocator, 0))
    check_own(unaccounted(account, shown["blocks"]), name, allocator, heap)
    return account, shown


def judge_recorded(folder, name, allocator, recording, *heap):
    """The same, and its recording knows each of these blocks, of the size that was asked for, and no others."""
    account, shown = judge(folder, name, allocator, *heap)
    joined = shown["recording"]
    if not Path(joined["file"]).samefile(recording):
        raise hw.Failure(f"joined with {joined}, not {recording}")
    if joined["missing_blocks"] or joined["misfits"]:
        raise hw.Failure(f"it is not what was recorded: {joined}")
    others = unaccounted(account, [b for b in shown["blocks"] if "site" not in b])
    if joined["unknown_blocks"] != len(others) or (others and not allocator):
        raise hw.Failure(f"{joined['unknown_blocks']} are not in the recording, of these not the program's: {others[:5]}")
    for block in shown["blocks"]:
        row = account.get(int(block["address"], 16))
        if block["state"] == "used" and row and row[1] and block["requested"] != row[0]:
            raise hw.Failure(f"{block} was {row[0]} bytes")
    stacks = {s["site"]: [f["function"] for f in s["stack"]] for s in shown["sites"]}
    known = [b for b in shown["blocks"] if "site" in b]
    if not known or (name != "stripped" and not any("main" in stacks[b["site"]] for b in known)):
        raise hw.Failure(f"no stacks: {list(stacks.values())[:3]}")
    return account


def judge_ended(account, recording):
    """What the recording itself says of its end is that account."""
    wanted = Counter(leak for _, used, leak, _ in account.values() if used)
    report = ask("leaks", "--json", recording)["leaks"]
    found = {kind: report["summary"][kind]["blocks"] for kind in ("definite", "indirect", "possible")}
    if any(wanted[kind] != blocks for kind, blocks in found.items()):
        raise hw.Failure(f"the recording has found {found}, not {wanted}")


def add(name, allocator=None):
    program = hw.TARGETS / f"heaps/heap_{name}"
    environment = hw.clean_environment()
    if allocator:
        environment["LD_PRELOAD"] = ALLOCATORS[allocator]
    title = f"{name} with {allocator}" if allocator else name

    def by_kernel(folder):
        core = kernel_core(program, folder, environment)
        judge(folder, name, allocator, "core", "--json", core)

    def by_gcore(folder):
        with Waiting(program, folder, environment) as pid:
            core = gcore(pid, folder)
        judge(folder, name, allocator, "core", "--json", core)

    def live(folder):
        with Waiting(program, folder, environment) as pid:
            judge(folder, name, allocator, "heap", "--json", str(pid))

    def recorded_until_death(folder):
        recording = folder / "story.hpw"
        core = kernel_core(program, folder, environment, [hw.HEAPWISE, "run", "-q", "-o", recording, "--"])
        account = judge_recorded(folder, name, allocator, recording, "core", "--json", core)
        if not account:
            raise hw.Failure("no account")

    def recorded_and_alive(folder):
        recording = folder / "story.hpw"
        with Recorded(program, folder, recording, environment) as pid:
            judge_recorded(folder, name, allocator, recording, "heap", "--json", str(pid))
            core = gcore(pid, folder)
            ask("leaks", "--json", str(pid))
        account = judge_recorded(folder, name, allocator, recording, "core", "--json", core)
        judge_ended(account, recording)

    tests.add(f"{title}: a kernel's core tells its blocks as it does itself", by_kernel)
    if not allocator:  # else it is read where the program is recorded
        tests.add(f"{title}: a core of gcore's tells its blocks as it does itself", by_gcore)
    tests.add(f"{title}: its blocks are the same while it runs", live)
    if name != "static":
        tests.add(f"{title}: recorded until it dies: core and recording are the same", recorded_until_death)
        tests.add(f"{title}: recorded: process, core and recording are the same", recorded_and_alive)


for each in PROGRAMS:
    add(each)
for each in ALLOCATORS:
    add("small", each)
    add("threads", each)
    add("handed", each)


def add_several(allocator):
    """libc's blocks, a loaded library's, and a pool of the program's own: none hides another's."""
    program = hw.TARGETS / "heaps/heap_several"
    environment = hw.clean_environment()
    # What such libraries have of thread-local memory is more than the loader keeps room for.
    environment |= {"HEAP_SECOND": ALLOCATORS[allocator], "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=16384"}

    def judge_both(folder, *heap):
        account = read_account(folder / "account")
        blocks = ask(*heap, "blocks")["blocks"]
        compare(account, blocks, None, ALLOCATORS_SPARE[allocator])
        # The loader's and the library's own blocks: what they hold is not known here, but none is lost.
        lost = [b for b in unaccounted(account, blocks) if b["leak"] != "reachable"]
        makers = {a["allocator"] for a in ask(*heap, "fragmentation")["arenas"]}
        damage = ask(*heap)["damage"]
        if makers != {"glibc", allocator} or damage or len(lost) > ALLOCATORS_OWN_MOST[allocator]:
            raise hw.Failure(f"allocators: {makers}, damage: {damage[:3]}, others: {lost[:5]}")

    def by_kernel(folder):
        judge_both(folder, "core", "--json", kernel_core(program, folder, environment))

    def live(folder):
        with Waiting(program, folder, environment) as pid:
            judge_both(folder, "heap", "--json", str(pid))

    tests.add(f"several, {allocator} beside libc's: a kernel's core tells the blocks of both", by_kernel)
    tests.add(f"several, {allocator} beside libc's: its blocks are the same while it runs", live)


for each in ALLOCATORS:
    add_several(each)


def judge_musl(folder, linkers, *heap):
    """The same of a program with musl: of each block the very size, too."""
    account = read_account(folder / "account")
    blocks = ask(*heap, "blocks")["blocks"]
    compare(account, blocks, None)
    others = unaccounted(account, blocks)
    if len(others) != linkers or any(b["leak"] != "reachable" for b in others):
        raise hw.Failure(f"not what the dynamic linker has: {others[:5]}")
    wrong = [b for b in blocks if b["state"] == "used" and b not in others and b["size"] != account[int(b["address"], 16)][0]]
    shown = ask(*heap)
    if wrong or shown["damage"]:
        raise hw.Failure(f"{len(wrong)} have another size: {wrong[:3]}; damage: {shown['damage'][:3]}")


def add_musl(name, linkers):
    program = hw.TARGETS / f"heaps/heap_{name}"

    def by_kernel(folder):
        hw.need_program("musl-gcc")
        judge_musl(folder, linkers, "core", "--json", kernel_core(program, folder))

    def by_gcore(folder):
        hw.need_program("musl-gcc")
        with Waiting(program, folder) as pid:
            core = gcore(pid, folder)
        judge_musl(folder, linkers, "core", "--json", core)

    def live(folder):
        hw.need_program("musl-gcc")
        with Waiting(program, folder) as pid:
            judge_musl(folder, linkers, "heap", "--json", str(pid))

    tests.add(f"{name}: a kernel's core tells its blocks as it does itself", by_kernel)
    tests.add(f"{name}: a core of gcore's tells its blocks as it does itself", by_gcore)
    tests.add(f"{name}: its blocks are the same while it runs", live)


for each, blocks in MUSL.items():
    add_musl(each + "_musl", blocks)
    add_musl(each + "_musl_static", 0)


@tests.test
def smashed_heads_lose_few_blocks(folder):
    """Where heads are smashed no more than what lies behind is lost, and who did it is named, also by a single byte."""
    program = hw.TARGETS / "heaps/heap_smashed"
    with Waiting(program, folder) as pid:
        core = gcore(pid, folder)
    account = read_account(folder / "account")
    shown = ask("core", "--json", core)
    blocks = {int(b["address"], 16) for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    lost = [kind for address, (_, _, _, kind) in account.items() if address not in blocks]
    if len(lost) > 10 or len(shown["damage"]) != 4:
        raise hw.Failure(f"{len(lost)} blocks are lost ({Counter(lost)}), damage: {shown['damage']}")
    overrun = {int(d["block_before"], 16) for d in shown["damage"]}
    addresses = list(account)
    wanted = {addresses[i] for i in (500, 1500, 2000, 2500)}
    if overrun != wanted:
        raise hw.Failure(f"written beyond their end: {overrun}, not {wanted}")
    hw.need(addresses[2000] in blocks, "a block in use is called free")


@tests.test
def packed_cores(folder):
    """Cores that are packed by zstd, lz4, xz or gzip are read as they are."""
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
    # lz4's blocks may be larger than the core; those of systemd refer to those before.
    for words in ([["lz4", "-q", "-B7"], ["lz4", "-q", "-B4", "-BD"]] if hw.shutil.which("lz4") else []):
        whole = hw.run([*words, "-c"], stdin=core.read_bytes()).stdout
        missing = []
        for part in (len(whole) // 4, len(whole) // 2, len(whole) - 300):
            cut.write_bytes(whole[:part])
            ended = hw.run([hw.HEAPWISE, "core", cut])
            missing.append(int((re.search(r"is truncated: (\d+) bytes", ended.errors) or [0, 0])[1]))
            if ended.status or "compressed data is truncated" not in ended.errors:
                raise hw.Failure(f"{words}, cut off after {part} bytes: {ended}")
        if missing != sorted(missing, reverse=True) or missing[-1] > 100000 or missing[0] < 100000:
            raise hw.Failure(f"{words}: missing: {missing}")
        if ask("core", "--json", cut)["totals"] != totals:
            raise hw.Failure(f"{words}: other totals without the last bytes")
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
        if ended.status or f"a core of process {pid} written to {core}\n" not in ended.errors:
            raise hw.Failure(f"save: {ended}")
        live = ask("heap", "--json", str(pid))
        hw.wait_until(lambda: state(pid) == "S", "the process does not go on")
    saved = ask("core", "--json", core)
    for what in ("totals", "types"):
        if saved[what] != live[what]:
            raise hw.Failure(f"other {what}: {saved[what]}, not {live[what]}")
    command = f"{program} account wait"[:79].rstrip()
    for told in (saved, live):
        if (told["source"]["command"], told["source"]["pid"]) != (command, pid):
            raise hw.Failure(f"not {command}, {pid}: {told['source']}")
    leaks = ask("leaks", "--json", core)
    if leaks["leaks"]["search"]["moment"] != "demand" or leaks["target"]["command"] != command.split():
        raise hw.Failure(f"leaks: {leaks['target']}")
    if hw.shutil.which("gdb"):
        ended = hw.run(["gdb", "-q", "-nx", "-batch", "-ex", "thread apply all bt", str(program), str(core)])
        if ended.text.count("in work ") != 8 or "main (" not in ended.text or f"generated by `{command}'" not in ended.text:
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
    end = int(block["address"], 16) + 4000
    said = f"4000 bytes from {block['address']} to {end:#x} written to {dumped}"
    if ended.status or dumped.stat().st_size != 4000 or f"heapwise: {said}\n" != ended.errors:
        raise hw.Failure(f"dump: {ended}")
    ended = hw.run([hw.HEAPWISE, "core", core, "dump", f"{block['address']}-{end:#x}", dumped])
    if ended.status or f"heapwise: {said}, replacing the old file\n" != ended.errors:
        raise hw.Failure(f"dump again: {ended}")
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
def blocks_that_stand_alone(folder):
    """alone lists what is lost, holds no pointer and is not pointed at, with what is in it."""
    with Waiting(hw.TARGETS / "heaps/heap_small", folder) as pid:
        core = gcore(pid, folder)
    wanted = {
        a: size for a, (size, used, leak, kind) in read_account(folder / "account").items()
        if used and leak == "definite" and kind != "lost"}
    told = ask("core", "--json", core, "alone")
    found = {int(b["address"], 16): b for b in told["alone"]}
    if not wanted or set(found) != set(wanted) or told["blocks"] != len(wanted):
        raise hw.Failure(f"{len(found)} blocks, not {len(wanted)}")
    if told["bytes"] != sum(b["size"] for b in told["alone"]) or ask("core", "--json", core)["alone"]["bytes"] != told["bytes"]:
        raise hw.Failure(f"{told['bytes']} bytes")
    used = sorted(
        int(b["address"], 16) for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used")
    for address, block in found.items():
        at = used.index(address)
        if int(block["behind"]["address"], 16) != used[at - 1] or int(block["before"]["address"], 16) != used[at + 1]:
            raise hw.Failure(f"neighbours: {block}")
        dumped = folder / "content"
        if address == min(found):
            hw.run([hw.HEAPWISE, "core", core, "dump", hex(address), "32", dumped])
            if dumped.read_bytes().hex() != block["bytes"]:
                raise hw.Failure(f"content: {block}")


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


@tests.test
def blocks_of_libc(folder):
    """Streams, their buffers, directories, libraries and thread-local memory are called so, and nothing else is."""
    program = hw.TARGETS / "heaps/heap_system"
    with Waiting(program, folder) as pid:
        live = ask("heap", "--json", str(pid), "blocks")["blocks"]
        core = ask("core", "--json", gcore(pid, folder), "blocks")["blocks"]
    account = read_account(folder / "account")
    for blocks in (live, core):
        found = {}
        for block in blocks:
            found.setdefault(block.get("type"), []).append((int(block["address"], 16), block["size"]))
        for kind in ("FILE", "DIR", "link_map", "thread-local memory"):
            wanted = [a for a, (_, _, _, k) in account.items() if k == kind]
            rows = found.get(kind, [])
            if len(rows) != len(wanted) or not all(any(s <= a < s + n for s, n in rows) for a in wanted):
                raise hw.Failure(f"{kind}: {rows}, not {[hex(a) for a in wanted]}")
        # Of each stream, and of stdout.
        if len(found.get("FILE buffer", [])) != 9 or len(found.get("link_map name", [])) != 1:
            raise hw.Failure(f"{found.get('FILE buffer')}, {found.get('link_map name')}")
        # The loader has the first of its tables before there is a malloc, and aligns the others itself.
        if len(found.get("loaded mappings", [])) != 1:
            raise hw.Failure(f"loaded mappings: {found.get('loaded mappings')}")
        if len(found.get("dtv", [])) != 3:
            raise hw.Failure(f"dtv: {found.get('dtv')}")


@tests.test
def signals_that_end_the_command(folder):
    """A command that a signal ends, at any moment, leaves the process as it was, without a dead child."""
    program = hw.TARGETS / "heaps/heap_threads"
    with Waiting(program, folder) as pid:
        for number in range(0, 60, 1 if "HW_TEST_LONG" in os.environ else 3):
            command = subprocess.Popen(
                [hw.HEAPWISE, "heap", str(pid), "types"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(number * number * 4):  # later each time
                os.sched_yield()
            command.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number // 3 % 3])
            command.wait()
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = "".join((thread / "children").read_text() for thread in threads)
        states = {(thread / "status").read_text().split("State:\t")[1][0] for thread in threads}
        if len(threads) != 9 or children or states - {"S", "R"}:
            raise hw.Failure(f"{len(threads)} threads in {states}, children: '{children}'")
        blocks = ask("heap", "--json", str(pid), "blocks")["blocks"]
    compare(read_account(folder / "account"), blocks, None)


@tests.test
def what_is_behind_objects(folder):
    """What an earlier owner left behind the end of an object holds nothing, where debug information or a recording say
    where that is."""
    roads = {}
    for name in ("tail", "tail_stripped"):
        with Waiting(hw.TARGETS / f"heaps/heap_{name}", folder) as pid:
            roads[name] = gcore(pid, folder).rename(folder / f"{name}.core")
        roads[name + " account"] = read_account(folder / "account")
    recording = folder / "story.hpw"
    with Recorded(hw.TARGETS / "heaps/heap_tail_stripped", folder, recording) as pid:
        roads["recorded"] = gcore(pid, folder).rename(folder / "recorded.core")
    roads["recorded account"] = read_account(folder / "account")
    for name, words, leak in (("tail", (), "definite"), ("tail_stripped", (), "reachable"),
                              ("recorded", ("--recording", recording), "definite")):
        account = {kind: address for address, (_, _, _, kind) in roads[name + " account"].items()}
        lost, holder = account["lost"], next(a for k, a in account.items() if k != "lost")
        core = roads[name]
        blocks = {int(b["address"], 16): b for b in ask("core", "--json", *words, core, "blocks")["blocks"]}
        if blocks[lost]["leak"] != leak:
            raise hw.Failure(f"{name}: it is {blocks[lost]['leak']}, not {leak}")
        refs = ask("core", "--json", *words, core, "refs", hex(holder))["words"]
        shown = ask("core", "--json", *words, core, "words", hex(holder))["words"]
        if any(w["offset"] == 32 for w in refs) != (leak == "reachable"):
            raise hw.Failure(f"{name}: it points to {refs}")
        if [w["offset"] for w in shown if w.get("behind_end")] != ([] if leak == "reachable" else [32]):
            raise hw.Failure(f"{name}: words {shown}")


@tests.test
def which_words_are_pointers(folder):
    """--pointers says whether marked words hold blocks, and words into their middle."""
    with Waiting(hw.TARGETS / "heaps/heap_tagged", folder) as pid:
        core = gcore(pid, folder)
    account = read_account(folder / "account")
    wanted = {
        "aligned": {"marked": "possible", "by its middle": "possible"},
        "tagged": {"marked": "reachable", "by its middle": "possible"},
        "start": {"marked": "definite", "by its middle": "definite"},
    }
    patterns = {}
    asked = {kind: address for address, (_, _, _, kind) in account.items()}  # one of each kind
    for rule, kinds in wanted.items():
        blocks = {
            int(b["address"], 16): b for b in ask("core", "--json", "--pointers", rule, core, "blocks")["blocks"]}
        for address, (_, _, _, kind) in account.items():
            if blocks[address]["leak"] != kinds[kind]:
                raise hw.Failure(f"{rule}: '{kind}' is {blocks[address]['leak']}")
            if kind == "marked":
                patterns[rule] = blocks[address]["type"]
        for kind, address in asked.items():
            told = ask("core", "--json", "--pointers", rule, core, "why", hex(address))
            if bool(told["roots"]) != (wanted[rule][kind] != "definite"):
                raise hw.Failure(f"{rule}: '{kind}' is held by {told['roots']}, {told['referrers']}")
    if "pointers" in patterns["aligned"] or "pointers at 0" not in patterns["tagged"]:
        raise hw.Failure(f"patterns: {patterns}")
    ended = hw.run([hw.HEAPWISE, "core", "--pointers", "all", core])
    if ended.status != 2 or "aligned, tagged or start" not in ended.errors:
        raise hw.Failure(f"a rule that there is not: {ended}")


@tests.test
def variables_on_stacks(folder):
    """why names the function and the variable on a stack that holds a block, in each thread."""
    for version in ("4", "5"):
        program = hw.TARGETS / f"heaps/heap_locals_{version}"
        with Waiting(program, folder) as pid:
            core = gcore(pid, folder)
            live = {a: ask("heap", "--json", str(pid), "why", hex(a)) for a in read_account(folder / "account")}
        for address, (_, _, _, place) in read_account(folder / "account").items():
            for told in (live[address], ask("core", "--json", core, "why", hex(address))):
                found = [
                    f"{r['function']}: {r['variable']}" + (f" + {r['variable_offset']}" if r["variable_offset"] else "")
                    for r in told["roots"] if r["kind"] == "stack" and r["variable"]]
                if place not in found:
                    raise hw.Failure(f"{version}: 0x{address:x} is held by {place}, not {told['roots']}")
            shown = hw.run([hw.HEAPWISE, "core", core, "why", hex(address)]).text
            if f", in {place} → " not in shown:
                raise hw.Failure(f"{place}: {shown}")


@tests.test
def memory_that_forks_leave_out(folder):
    """What is held by memory that a fork would leave out is not lost."""
    with Waiting(ODD, folder, hw.clean_environment(ODD="unforked")) as pid:
        ended = hw.run([hw.HEAPWISE, "heap", "--json", str(pid)])
        told = json.loads(ended.stdout)
    lost = told["leaks"]["summary"]["definite"]
    if lost["blocks"] or "MADV_DONTFORK" not in ended.errors:
        raise hw.Failure(f"{lost}: {ended.errors}")


@tests.test
def a_thread_that_cannot_be_stopped(folder):
    """Of a thread inside vfork() what its stack and its thread-local variables hold is not lost, in a core of it neither."""
    core = folder / "saved"
    with Waiting(ODD, folder, hw.clean_environment(ODD="vfork")) as pid:
        ended = hw.run([hw.HEAPWISE, "heap", "--json", str(pid)])
        saved = hw.run([hw.HEAPWISE, "heap", str(pid), "save", core])
    for told in (json.loads(ended.stdout), ask("core", "--json", core)):
        lost = told["leaks"]["summary"]["definite"]
        if lost["blocks"] or told["totals"]["cached_blocks"] < 7:
            raise hw.Failure(f"{lost}, {told['totals']}")
    if "can't be stopped" not in ended.errors or saved.status:
        raise hw.Failure(f"{ended.errors} {saved}")


@tests.test
def overrun_up_to_the_end(folder):
    """A block that was written beyond its end up to the end of the heap costs what lies there: who did it is named."""
    core = kernel_core(ODD, folder, hw.clean_environment(ODD="overrun"))
    told = ask("core", "--json", core)
    small = [t for t in told["types"] if t["blocks"] == 300]
    if not small or len(told["damage"]) != 1 or not told["damage"][0]["block_before"]:
        raise hw.Failure(f"{told['totals']}, {told['damage']}")
    if hw.run([hw.HEAPWISE, "core", core, "show", told["damage"][0]["block_before"]]).text.count("BBBB") < 1:
        raise hw.Failure("the block that is named is not the one")


@tests.test
def freed_twice(folder):
    """A list of free blocks that is a circle is said to be one, in little memory."""
    hw.need_no_sanitizer("it takes more addresses")
    core = kernel_core(ODD, folder, hw.clean_environment(ODD="circle"))
    prlimit = hw.need_program("prlimit")
    ended = hw.run([prlimit, "--as=400000000", hw.HEAPWISE, "core", "--json", core])
    told = json.loads(ended.stdout)
    if not any("does not end" in one["what"] for one in told["damage"]) or not told["totals"]["cached_blocks"]:
        raise hw.Failure(f"{told['damage']} {told['totals']}")


def smaps_sums(pid):
    """Bytes by what `maps` calls them."""
    fields = {"resident": ("Rss",), "private": ("Private_Clean", "Private_Dirty"), "swapped": ("Swap",)}
    lines = [line.split() for line in Path(f"/proc/{pid}/smaps").read_text().splitlines()]
    return {name: 1024 * sum(int(line[1]) for line in lines if line[0].rstrip(":") in parts) for name, parts in fields.items()}


@tests.test
def what_memory_is_for(folder):
    """maps says of each mapping what it is for; of a process its sums are those of smaps."""
    # A page of a file's is private or not by what other programs do meanwhile. So the program is one that no other test
    # runs, and a moment without a change in libc's pages is waited for: in which both say the same.
    with Waiting(shutil.copy(hw.TARGETS / "heaps/heap_threads", folder / "alone"), folder) as pid:
        for _ in range(200):
            wanted = smaps_sums(pid)
            live = ask("heap", "--json", str(pid), "maps")
            found = [{name: sum(row[name] or 0 for row in rows) for name in wanted} for rows in (live["maps"], live["kinds"])]
            if found == [wanted, wanted] and wanted["resident"] and wanted["private"]:
                break
        else:
            raise hw.Failure(f"{found}, not {wanted}")
        core = ask("core", "--json", gcore(pid, folder), "maps")
    for told in (live, core):
        stacks = [m["of"] for m in told["maps"] if m["kind"] == "stack"]
        if len(stacks) != 9 or len(set(stacks)) != 9 or not all(s.startswith("thread ") for s in stacks):
            raise hw.Failure(f"stacks: {stacks}")
        heaps = {m["of"] for m in told["maps"] if m["kind"] == "heap"}
        if "glibc" not in heaps or "glibc, arena 8" not in heaps:
            raise hw.Failure(f"heaps: {heaps}")
        if not {"code", "data", "constant"} <= {k["kind"] for k in told["kinds"]}:
            raise hw.Failure(f"kinds: {told['kinds']}")
    if any(m["resident"] is not None for m in core["maps"]):
        raise hw.Failure("a core says what is resident")


tests.main(sanitized_part=3)
