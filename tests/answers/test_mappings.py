#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program maps (run --mmap): each call with its stack, pieces that are unmapped, moved and covered."""

import ctypes
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw
from hw import heapwise

TESTS = hw.Tests()
MAPS = hw.ANSWERS / "maps_memory"


def recorded(folder, *options, program=MAPS):
    """A recording of the program, and what it says of itself: function -> (calls, allocated, live)."""
    path = folder / "maps.hpw"
    ended = hw.run([hw.HEAPWISE, "run", "-q", "-f", *options, "-o", str(path), str(program)])
    hw.need(ended.status == 0, f"{options}: {ended}")
    truth = {}
    for line in ended.text.splitlines():
        words = line.split()
        if words[:2] == ["#", "expect:"]:
            truth[words[2]] = tuple(int(word) for word in words[3:])
    hw.need(len(truth) > 5, f"the program says too little: {ended.text}")
    return path, truth


def report(path, *options):
    ended = heapwise("report", "--json", *options, str(path))
    hw.need(ended.status == 0, f"{options}: {ended}")
    return json.loads(ended.text)


def by_function(rows, names):
    """(calls, allocated, live) of the nearest caller that the program speaks of."""
    sums = {}
    for row in rows:
        functions = [frame["function"] for frame in row["stack"]]
        owner = next((name for name in functions[:3] if name in names), None)
        before = sums.get(owner, (0, 0, 0))
        more = (row["allocations"], row["allocated_bytes"], row["live_bytes"])
        sums[owner] = tuple(a + b for a, b in zip(before, more))
    return sums


@TESTS.test
def truth(folder):
    """Pieces, moves, breaks and racing threads: what is mapped at the end is what the program says, by function"""
    path, expected = recorded(folder, "--mmap")
    document = report(path, "--class", "mapping", "--view", "sites")
    found = by_function(document["sites"], expected)
    for name, figures in expected.items():
        hw.need(found.get(name) == figures, f"{name}: {found.get(name)}, not {figures}")
    live = sum(row["live_bytes"] for row in document["sites"])
    hw.need(document["totals"]["live_bytes_at_end"] == live, f"the sum is {document['totals']}, not {live}")
    peak = sum(row["peak_bytes"] for row in document["sites"])
    hw.need(document["totals"]["peak_bytes"] == peak >= live, f"at the peak {document['totals']}, not {peak}")
    kinds = {row["kind"] for row in document["sites"]}
    hw.need({"mmap", "mremap", "sbrk", "brk", "pthread_create"} <= kinds, f"kinds: {kinds}")


@TESTS.test
def at_random(folder):
    """Threads that map, unmap and move over each other's pieces: as /proc/self/maps and the program have it"""
    path, expected = recorded(folder, "--mmap", program=hw.ANSWERS / "maps_at_random")
    found = by_function(report(path, "--class", "mapping", "--view", "sites")["sites"], expected)
    wrong = {name: (found.get(name), expected[name]) for name in expected if found.get(name, (0, 0, 0)) != expected[name]}
    hw.need(not wrong, f"found and expected: {wrong}")


@TESTS.test
def ended_stacks(folder):
    """Stacks that libc has unmapped don't stay: it keeps about 40 MiB of them, each as a whole"""
    path = folder / "stacks.hpw"
    ended = hw.run([hw.HEAPWISE, "run", "-q", "--mmap", "-o", path, hw.ANSWERS / "maps_at_random", "stacks"])
    hw.need(ended.status == 0, str(ended))
    rows = [row for row in report(path, "--class", "mapping", "--view", "sites")["sites"] if row["kind"] == "pthread_create"]
    hw.need(len(rows) == 1 and rows[0]["allocations"] == 1600, f"{rows}")
    stack, live = rows[0]["max_size"], rows[0]["live_bytes"]
    hw.need(live % stack == 0 and live <= (40 << 20) + 2 * stack, f"{live} in stacks of {stack}")


@TESTS.test
def modes(folder):
    """Mappings are recorded as a whole in sums and samples, too, and without the heap"""
    for options in (["--mmap", "--mode", "aggregate"], ["--mmap", "--mode", "sample:1M"], ["--mmap=only"],
                    ["--mmap", "--ring", "64K"], ["--mmap", "--max-file", "64K"], ["--mmap=only", "--ring", "64K"]):
        path, expected = recorded(folder, *options)
        document = report(path, "--class", "mapping", "--view", "sites")
        found = by_function(document["sites"], expected)
        wrong = {name: found.get(name) for name in expected if found.get(name) != expected[name]}
        hw.need(not wrong, f"{options}: {wrong}")


@TESTS.test
def heap_stays(folder):
    """Figures of the heap are the same with and without --mmap"""
    def figures(*options):
        path, _ = recorded(folder, *options, program=MAPS)
        document = report(path, "--view", "sites")
        rows = sorted(
            [[frame["function"] for frame in row["stack"]], row["kind"]]
            + [row[key] for key in ("allocations", "allocated_bytes", "live_bytes", "live_blocks", "temporary")]
            for row in document["sites"])
        return rows, {key: document["totals"][key] for key in ("allocations", "allocated_bytes", "frees", "live_bytes_at_end", "failed")}
    hw.need(figures() == figures("--mmap"), "they differ")


@TESTS.test
def without_heap(folder):
    """A recording of mappings alone shows these, and says that it has no heap"""
    path, _ = recorded(folder, "--mmap=only")
    document = report(path, "--view", "sites")
    hw.need(any(row["kind"] == "mmap" for row in document["sites"]), "its mappings are not what it shows")
    ended = heapwise("report", "--class", "heap", str(path))
    hw.need(ended.status and "no heap" in ended.errors, f"of its heap: {ended}")


@TESTS.test
def stacks(folder):
    """How far down each thread has used its stack, while it allocated nothing: pages tell it, at the end at least"""
    path = folder / "deep.hpw"
    ended = hw.run([hw.HEAPWISE, "run", "-q", "--mmap", "-o", str(path), str(hw.ANSWERS / "deep_threads")])
    truth = {line.split()[2]: int(line.split()[3]) for line in ended.text.splitlines() if line.startswith("# expect:")}
    hw.need(ended.status == 0 and len(truth) == 4, str(ended))
    used = {row["name"]: row["stack_used_bytes"] for row in report(path, "--view", "threads")["threads"]}
    for name, bytes_used in truth.items():
        found = used.get(name)
        hw.need(found and bytes_used <= found < bytes_used + (128 << 10), f"{name}: {found}, not {bytes_used}: {used}")
    ended = heapwise("report", "--view", "threads", str(path))
    hw.need("stack used" in ended.text, f"people are not told: {ended.text}")


@TESTS.test
def ledger(folder):
    """The resident memory of a program adds up, and its parts are what the program has made them"""
    path = folder / "fills.hpw"
    ended = hw.run([hw.HEAPWISE, "run", "-q", "--mmap", "-o", str(path), str(hw.ANSWERS / "fills_memory"), str(folder / "file")])
    truth = {line.split()[2]: int(line.split()[3]) for line in ended.text.splitlines() if line.startswith("# expect:")}
    hw.need(ended.status == 0 and len(truth) == 6, str(ended))
    document = report(path, "--view", "rss")
    rows = document["rss"]
    hw.need(sum(row["bytes"] for row in rows) == document["resident_bytes"], f"it does not add up: {rows}")

    def sum_of(what, function=None):
        return sum(row["bytes"] for row in rows if row["what"] == what
                   and (not function or function in [frame["function"] for frame in row["stack"]]))

    hw.need(sum_of("mapped", "maps_much") == truth["maps_much"], f"10 of 64 MiB: {sum_of('mapped', 'maps_much')}")
    hw.need(sum_of("mapped", "maps_file") == truth["maps_file"], f"the file: {sum_of('mapped', 'maps_file')}")
    hw.need(any(row["what"] == "mapped" and row["file"] == str(folder / "file") for row in rows), f"the file's name: {rows}")
    slack = 1 << 20
    for what, part in (("blocks", "blocks"), ("allocator", "holes"), ("stacks", "stack"), ("other", "unseen")):
        hw.need(truth[part] <= sum_of(what) < truth[part] + slack, f"{what}: {sum_of(what)}, not {truth[part]}")
    text = heapwise("report", "--view", "rss", str(path)).text
    hw.need("maps_much" in text and "stacks of threads" in text and "estimate" in text, f"for people: {text}")
    early = report(path, "--view", "rss", "--at", "end")
    hw.need(early["resident_bytes"] == sum(row["bytes"] for row in early["rss"]), "at the end")


@TESTS.test
def no_looks(folder):
    """Recordings that don't say what was resident say so, and what to do"""
    path, _ = recorded(folder)
    ended = heapwise("report", "--view", "rss", str(path))
    hw.need(ended.status and "--mmap" in ended.errors, str(ended))


@TESTS.test
def not_recorded(folder):
    """A recording without mappings says so, and what to do"""
    path, _ = recorded(folder)
    ended = heapwise("report", "--class", "mapping", str(path))
    hw.need(ended.status and "--mmap" in ended.errors, str(ended))


def rows_of(path):
    """Figures by the functions of a stack and the kind."""
    figures = ("allocations", "allocated_bytes", "live_bytes", "live_blocks", "peak_bytes")
    sites = report(path, "--class", "mapping", "--view", "sites")["sites"]
    return sorted([[frame["function"] for frame in row["stack"]], row["kind"]] + [row[name] for name in figures] for row in sites)


@TESTS.test
def dumps(folder):
    """A dump at the end says what the recording says, of each stack; so does one of a recording without a heap"""
    for option in ("--mmap", "--mmap=only"):
        path, _ = recorded(folder, option, "--dump-at-exit", "--dump-file", str(folder / f"{option}.%i.dump"))
        whole, dump = rows_of(path), rows_of(folder / f"{option}.0001.dump")
        hw.need(len(whole) > 10 and whole == dump, f"{option}: {[row for row in dump if row not in whole]}")


@TESTS.test
def over_time(folder):
    """Timelines of mappings: each moment is what --at says of its time; peak, end and Massif's files agree with the report"""
    path, _ = recorded(folder, "--mmap")
    totals = report(path, "--class", "mapping", "--view", "sites")["totals"]
    rows = json.loads(hw.ask("timeline", "--json", "--class", "mapping", path))["snapshots"]
    hw.need(4 <= len(rows) <= 100, f"{len(rows)} moments")
    hw.need([row["useful_bytes"] for row in rows if row["peak"]] == [totals["peak_bytes"]], f"the peak: {totals}")
    hw.need(rows[-1]["useful_bytes"] == totals["live_bytes_at_end"], f"the end: {rows[-1]}")
    hw.need(rows[-1]["allocated_bytes"] == totals["allocated_bytes"], f"in all: {rows[-1]}")
    hw.need(not any(row["extra_bytes"] for row in rows), "pages are not rounded up")
    for row in rows[1:-1:max(1, len(rows) // 5)]:
        then = report(path, "--class", "mapping", "--view", "sites", "--at", f"{row['time_ns']}ns")["totals"]
        found = (row["useful_bytes"], row["live_blocks"])
        hw.need(row["peak"] or found == (then["live_bytes_at_end"], then["live_blocks_at_end"]), f"{row} at {then}")
    for tree in (row["tree"] for row in rows if row["tree"]):
        hw.need(sum(child["bytes"] for child in tree["children"]) == tree["bytes"], f"a tree: {tree}")
    part = json.loads(hw.ask("timeline", "--json", "--class", "mapping", "--to", "peak", path))["snapshots"]
    hw.need(part[-1]["peak"] and part[-1]["useful_bytes"] == totals["peak_bytes"], f"up to the peak: {part[-1]}")
    hw.ask("export", "--class", "mapping", "--format", "massif", "-o", folder / "maps.massif", path)
    lines = (folder / "maps.massif").read_text().splitlines()
    highest = max(int(line.split("=")[1]) for line in lines if line.startswith("mem_heap_B="))
    hw.need(highest == totals["peak_bytes"] and any("mmap/mremap/brk" in line for line in lines), f"{highest}: {totals}")


def massif_most(folder, *command):
    """Function -> bytes of it in the snapshot of Massif in which these are most: it marks a peak only where something goes."""
    path = folder / "massif.out"
    ended = hw.run([hw.need_program("valgrind"), "--tool=massif", "--pages-as-heap=yes", "--threshold=0", "--peak-inaccuracy=0",
                    "--detailed-freq=1", f"--massif-out-file={path}", *command])
    hw.need(ended.status == 0, str(ended))
    sums = {}
    for size, function in re.findall(r"^ *n\d+: (\d+) 0x[0-9A-F]+: (\w+) \(", path.read_text(), re.M):
        sums[function] = max(sums.get(function, 0), int(size))
    return sums


@TESTS.test
def as_massif(folder):
    """What functions have mapped at the peak is what massif --pages-as-heap=yes says of them"""
    for name, functions, word in (("maps_at_random", ["maps_more"], "grow"),
                                  ("fills_memory", ["maps_much", "maps_file"], str(folder / "file"))):
        program = str(hw.ANSWERS / name)
        theirs = massif_most(folder, program, word)
        path = folder / f"{name}.hpw"
        ended = hw.run([hw.HEAPWISE, "run", "-q", "--mmap", "-o", path, program, word])
        hw.need(ended.status == 0, str(ended))
        ours = {}
        for row in report(path, "--class", "mapping", "--view", "sites")["sites"]:
            function = row["stack"][0]["function"]
            ours[function] = ours.get(function, 0) + row["peak_bytes"]
        for function in functions:
            hw.need(ours.get(function) == theirs.get(function, 0) > 0, f"{function}: {ours}, massif: {theirs}")


LUA = """
import ctypes
lua = ctypes.CDLL("libluajit-5.1.so.2")
lua.luaL_newstate.restype = ctypes.c_void_p
state = ctypes.c_void_p(lua.luaL_newstate())
lua.luaL_openlibs(state)
code = b"local t = {} for i = 1, 100000 do t[i] = {i} end kept = t collectgarbage() print(collectgarbage('count') * 1024)"
assert lua.luaL_loadstring(state, code) == 0 and lua.lua_pcall(state, 0, 0, 0) == 0
"""


@TESTS.test
def luajit(folder):
    """LuaJIT's own arena, which no malloc knows, is mapped by its library: about as much as Lua says that it uses"""
    try:
        ctypes.CDLL("libluajit-5.1.so.2")
    except OSError as error:
        raise hw.Skip("LuaJIT's library is not installed (./dev deps --peers)") from error
    path = folder / "lua.hpw"
    ended = hw.run([hw.HEAPWISE, "run", "-q", "--mmap", "-o", path, "/usr/bin/python3", "-c", LUA])
    hw.need(ended.status == 0, str(ended))
    used = float(ended.text)
    live = sum(row["live_bytes"] for row in report(path, "--class", "mapping", "--view", "sites")["sites"]
               if row["stack"] and "libluajit" in (row["stack"][0]["module"] or ""))
    hw.need(used > 4e6 and used <= live < used + (4 << 20), f"{live} mapped, {used} used")


@TESTS.test
def growth(folder):
    """What keeps mapping more is a suspect"""
    path = folder / "grows.hpw"
    ended = hw.run([hw.HEAPWISE, "run", "-q", "--mmap", "-o", str(path), str(hw.ANSWERS / "maps_at_random"), "grow"])
    hw.need(ended.status == 0, str(ended))
    rows = report(path, "--class", "mapping", "--view", "growth")["growth"]["places"]
    hw.need(rows[0]["verdict"] == "leak-suspect" and rows[0]["stack"][0]["function"] == "maps_more", f"{rows[:1]}")


@TESTS.test
def wrong_options(folder):
    """What --mmap can't do is refused before the program starts"""
    for options in (["--mmap=none"], ["--mmap=only", "--mode", "sample"]):
        ended = hw.run([hw.HEAPWISE, "run", "-q", *options, "-o", str(folder / "wrong.hpw"), str(MAPS)])
        hw.need(ended.status == 125 and "--m" in ended.errors and not ended.text, f"{options}: {ended}")


@TESTS.test
def moments(folder):
    """At a moment what was mapped then: at the peak as much as the totals say, at the start nothing"""
    path, _ = recorded(folder, "--mmap")
    whole = report(path, "--class", "mapping", "--view", "sites")["totals"]
    peak = report(path, "--class", "mapping", "--view", "sites", "--at", "peak")["totals"]
    hw.need(peak["live_bytes_at_end"] == whole["peak_bytes"], f"{peak} at the peak of {whole}")
    start = report(path, "--class", "mapping", "--view", "sites", "--at", "start")["totals"]
    hw.need(start["live_bytes_at_end"] == 0 and start["allocations"] == 0, f"at the start: {start}")


@TESTS.test
def with_heap(folder):
    """--class all: sums, sites and threads are those of the heap and of mappings; no peak, no mapping in which blocks lie"""
    path, _ = recorded(folder, "--mmap")
    heap, mapping, both = (report(path, "--class", name, "--view", "sites") for name in ("heap", "mapping", "all"))
    mapped = both["recording"]["mapped"]
    hw.need(both["recording"]["class"] == "all" and mapped == heap["recording"]["mapped"], f"{both['recording']}")
    for figure in ("allocations", "allocated_bytes", "frees", "live_blocks_at_end", "live_bytes_at_end"):
        found, wanted = both["totals"][figure], heap["totals"][figure] + mapping["totals"][figure]
        hw.need(found == wanted, f"{figure}: {found}, not {wanted}")
    hw.need(all(both["totals"][figure] is None for figure in ("peak_bytes", "peak_blocks", "temporary", "failed")), f"{both['totals']}")
    hw.need(sum(row["live_bytes"] for row in both["sites"]) == both["totals"]["live_bytes_at_end"], "sites")
    hw.need("together" in hw.ask("report", "--class", "all", path), "no note says it")
    then = [report(path, "--class", name, "--at", "5ms")["totals"]["live_bytes_at_end"] for name in ("heap", "mapping", "all")]
    hw.need(then[0] + then[1] == then[2], f"at 5 ms: {then}")
    for words in (("--at", "peak"), ("--view", "timeline"), ("--min-size", "10")):
        ended = heapwise("report", "--class", "all", *words, str(path))
        hw.need(ended.status == 3 and "mapping" in ended.errors, f"{words}: {ended}")
    for words in (("tree",), ("flame",), ("graph",), ("export", "--format", "folded", "-o", "-")):
        hw.ask(*words, "--class", "all", path)


@TESTS.test
def without_allocator(folder):
    """--class all leaves out what an allocator mapped for blocks, and says so"""
    jemalloc = next((p for p in Path("/usr/lib/x86_64-linux-gnu").glob("libjemalloc.so.2")), None)
    if not jemalloc:
        print("# libjemalloc.so.2 is not here")
        return
    path = folder / "j.hpw"
    hw.run([hw.HEAPWISE, "run", "-q", "-f", "--mmap", "-o", path, MAPS], env=hw.clean_environment(LD_PRELOAD=jemalloc))
    heap, both = (report(path, "--class", name)["totals"]["live_bytes_at_end"] for name in ("heap", "all"))
    mapped = report(path)["recording"]["mapped"]
    hw.need(mapped["allocator_bytes"] and both == heap + mapped["bytes"] - mapped["allocator_bytes"], f"{heap} {both} {mapped}")
    hw.need("its allocator mapped" in hw.ask("report", "--class", "all", path), "no note says it")


@TESTS.test
def not_compared(folder):
    """Mappings are not compared with a heap, nor added to one; their verdict is about mappings"""
    heap, _ = recorded(folder, "--mmap")
    heap = heap.rename(folder / "heap.hpw")
    maps, _ = recorded(folder, "--mmap=only")
    for words in (("diff", heap, maps), ("report", "--base", maps, heap)):
        ended = heapwise(*map(str, words))
        hw.need(ended.status == 3 and "can't be compared" in ended.errors, f"{words}: {ended}")
    hw.ask("diff", "--class", "mapping", heap, maps)
    text = hw.ask("report", maps)
    hw.need("mappings were never unmapped" in text, text[:600])


TESTS.main()
