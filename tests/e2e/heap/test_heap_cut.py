#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cores that are shorter than they say: cut off, cut off while packed, with headers that claim terabytes. What is there
is told, what is not is said, and no work is done for what is not there."""

import json
import os
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import cores  # noqa: E402
import hw  # noqa: E402
from heaps import Waiting, ask, compare, read_account  # noqa: E402

tests = hw.Tests()
TIB = 1 << 40
# Seconds of a processor, not of a clock: to go through a terabyte by pages takes many times that.
PROCESSOR_SECONDS = 60


def saved(folder):
    core = folder / "saved"
    with Waiting(hw.TARGETS / "heaps/heap_small", folder) as pid:
        ended = hw.run([hw.HEAPWISE, "heap", str(pid), "save", core])
    if ended.status:
        raise hw.Failure(f"save: {ended}")
    return core


def segments(data):
    """(address, bytes in memory, offset, bytes in the file, place of its header) of memory."""
    return [(address, in_memory, offset, in_file, place)
            for place, kind, _, offset, address, in_file, in_memory in cores.parts(data) if kind == cores.PT_LOAD]


def place_of(parts, address):
    """Where in the file that byte of memory stands."""
    start, _, offset, _, _ = next(p for p in parts if p[0] <= address < p[0] + p[3])
    return offset + address - start


@tests.test
def strings_of_what_is_left(folder):
    """strings of a core that is cut off in the middle of one: those before, the part of that one, and what is missing"""
    core = saved(folder)
    data = core.read_bytes()
    parts = segments(data)
    found = [(int(s["address"], 16), s["text"]) for s in ask("core", "--json", core, "strings")["strings"]]
    address, text = next(s for s in found[len(found) // 2:] if len(s[1]) > 20)
    half = len(text) // 2
    cut = folder / "cut"
    cut.write_bytes(data[:place_of(parts, address + half)])
    want = [s for s in found if s[0] < address] + [(address, text[:half])]
    got = [(int(s["address"], 16), s["text"]) for s in ask("core", "--json", cut, "strings")["strings"]]
    if got != want:
        raise hw.Failure(f"{set(got) ^ set(want)}")
    ended = hw.run([hw.HEAPWISE, "core", cut, "strings", f"{address:#x}", "4000"])
    missing = f"not all of the memory from {address + half:#x} on ({4000 - half} bytes) is available"
    if ended.status or "is truncated:" not in ended.errors or missing not in ended.errors or text[:half] not in ended.text:
        raise hw.Failure(f"{missing}: {ended}")


@tests.test
def heap_cut_away(folder):
    """A core that is cut off before its heap has no heap of 0 bytes: nothing is known, also of leaks; a longer one says what may be wrong"""
    core = saved(folder)
    data = core.read_bytes()
    first = min(offset for _, _, offset, in_file, _ in segments(data) if in_file)
    unknown, lost, cut = 0, 0, folder / "cut"
    for part in range(20):
        cut.write_bytes(data[:first + (len(data) - first) * part // 20])
        ended = hw.run([hw.HEAPWISE, "core", cut])
        if " 0 B in 0 blocks in use" in ended.text or "in use           0 B" in ended.text:
            raise hw.Failure(f"{part}: unknown is 0: {ended}")
        if ended.status == 3:
            unknown += 1
        elif "as far as the core goes: " not in ended.text or "blocks in missing memory are not counted" not in ended.text:
            raise hw.Failure(f"{part}: {ended}")
        for block in ask("core", "--json", cut, "blocks", "--leak", "definite", "--limit", "1")["blocks"] if not ended.status else ():
            lost += 1
            said = hw.ask("core", cut, "why", block["address"])
            hw.need("  nothing points there" not in said, f"{part}: why: {said}")
    if not lost:
        raise hw.Failure("no cut core has lost blocks")
    if not 0 < unknown < 20:
        raise hw.Failure(f"of 20 cut cores nothing is known of {unknown}")


@tests.test
def each_document(folder):
    """What each verb says as JSON of a core that is cut off names that; of the whole core none does"""
    core = saved(folder)
    data = core.read_bytes()
    cut = folder / "cut"
    cut.write_bytes(data[:max(offset for _, _, offset, in_file, _ in segments(data) if in_file)])
    block = ask("core", "--json", cut, "blocks", "--used", "--limit", "1")["blocks"][0]["address"]
    for verb in ((), ("types",), ("blocks",), ("alone",), ("dominators",), ("fragmentation",), ("maps",), ("threads",),
                 ("strings",), ("hexdump", block), ("why", block), ("block", block), ("find", block), ("show", "node"),
                 ("follow", "node.next"), ("type", "node"), ("refs", block)):
        for path, partial in ((cut, True), (core, False)):
            said = ask("core", "--json", path, *verb)
            hw.need("partial" in said, f"{verb} has no partial")
            hw.need(("core-cut" in said["partial"]) == partial, f"{verb} of {path.name}: {said}")


def claims(core, folder):
    """Copies of a core in which one segment says that it is of terabytes: (name, file, said, its strings are the core's)."""
    data = core.read_bytes()
    parts = segments(data)
    # One behind which nothing is for so long.
    gaps = [(after[0] - one[0], one) for one, after in zip(parts, parts[1:])]
    gap, (_, _, offset, _, place) = max(gaps)
    hw.need(gap > 8 * TIB and offset, "memory lies too close together here")
    for name, in_file, in_memory, end in (
            ("left out", None, 8 * TIB, None), ("promised", 8 * TIB, 8 * TIB, None), ("sparse", 4 * TIB, 8 * TIB, 4 * TIB)):
        claim = folder / name
        changed = bytearray(data)
        struct.pack_into("<Q", changed, place + 40, in_memory)
        if in_file:
            struct.pack_into("<Q", changed, place + 32, in_file)
        claim.write_bytes(changed)
        try:
            os.truncate(claim, end or len(changed))
        except OSError as error:
            print(f"# no file of {end} bytes may be here: {error}")
            continue
        yield name, claim, in_memory, in_file


@tests.test
def terabytes_claimed(folder):
    """maps and strings of a core whose headers claim terabytes: no work is done for them, and what is missing is said"""
    core = saved(folder)
    usual = {s["address"]: s["text"] for s in ask("core", "--json", core, "strings")["strings"]}
    for name, claim, in_memory, in_file in claims(core, folder):
        limited = ["prlimit", f"--cpu={PROCESSOR_SECONDS}", hw.HEAPWISE, "core", "--json", claim]
        told = {}
        for verb in ("maps", "strings"):
            ended = hw.run([*limited, verb])
            if ended.status or ("is truncated:" in ended.errors) != bool(in_file):
                raise hw.Failure(f"{name}, {verb}: {ended}")
            told[verb] = json.loads(ended.stdout)[verb]
        large = [m for m in told["maps"] if m["bytes"] == in_memory]
        if len(large) != 1 or large[0]["not_zero"] > core.stat().st_size:
            raise hw.Failure(f"{name}: {large}")
        # Where bytes of the file are promised, what follows them in the file is the segment's, too.
        found = {s["address"]: s["text"] for s in told["strings"]}
        if found != usual if not in_file else not set(usual.items()) <= set(found.items()):
            raise hw.Failure(f"{name}: {set(usual.items()) ^ set(found.items())}")


def add_packed(name, *command):
    def packed(folder):
        hw.need_program(command[0])
        core = saved(folder)
        whole = hw.run([*command, "-c", core]).stdout
        cut = folder / "cut"
        cut.write_bytes(whole[:len(whole) * 6 // 10])
        ended = hw.run([hw.HEAPWISE, "core", cut])
        if ended.status or "the compressed data is truncated; reading what comes before" not in ended.errors:
            raise hw.Failure(f"{ended}")
        # The heap is in the first half.
        compare(read_account(folder / "account"), ask("core", "--json", cut, "blocks")["blocks"], None)
        cut.write_bytes(whole[:30])
        ended = hw.run([hw.HEAPWISE, "core", cut])
        if ended.status != 3 or "can't be unpacked" not in ended.errors:
            raise hw.Failure(f"30 bytes: {ended}")

    tests.add(f"a core packed by {name} and cut off is read as far as it goes", packed)


for words in (["zstd", "-q"], ["xz", "-0"], ["gzip"]):
    add_packed(words[0], *words)

tests.main(always="")
