#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the seeds of fuzz_rings.c: small stories, honest and not, in the language of its scripts.

    fuzz/seeds_rings.py         into seeds/rings, slow/rings (replayed, too slow to be mutated)
"""
import os

COMMANDS = ["ring", "claim", "publish", "alloc", "free", "realloc", "failed", "other", "raw", "lap",
            "head", "set_ring", "set_header", "node", "module", "string", "drain", "tend",
            "mark", "mapped", "error"]
STAMPED, SAME_FRAME = 0x80, 0x40
TIME, LOST, FOREIGN, NAME = range(4)
SHARED = 10
ODD = {"-1": 0xe8, "2^56": 0xeb, "2^33": 0xef, "2^32-1": 0xf0, "nodes": 0xf3, "strings": 0xf6}


def number(value):
    if isinstance(value, str):
        return bytes([ODD[value]])
    if value < 0xe0:
        return bytes([value])
    length = (value.bit_length() + 7) // 8
    return bytes([0xe0 + length - 1]) + value.to_bytes(length, "little")


def script(settings, *commands):
    out = bytes([settings])
    for command in commands:
        name, *operands = command.split() if isinstance(command, str) else command
        out += bytes([COMMANDS.index(name)])
        out += b"".join(o if isinstance(o, bytes) else number(int(o) if str(o).isdigit() else o)
                        for o in operands)
    return out


def alloc(address, stack, size, kind=0, stamp=None):
    operands = [bytes([kind | (STAMPED if stamp is not None else 0)]), address, stack, size]
    return ["alloc"] + operands + ([] if stamp is None else [stamp])


def free(address, kind=0, stamp=None):
    operands = [bytes([kind | (STAMPED if stamp is not None else 0)]), address]
    return ["free"] + operands + ([] if stamp is None else [stamp])


def realloc(new, stack, size, old, stamps=None):
    flag = bytes([STAMPED if stamps else 0])
    return ["realloc", flag, new, stack, size, old] + list(stamps or [])


def other(what, value, *more):
    return ["other", bytes([what]), value] + list(more)


def mapped(kind, address, size, stack=0, flags=0, stamp=1):
    return ["mapped", bytes([0x40 | kind]), address, stack, flags, size, stamp]


def error(kind, *words, stamp=1):
    """The words of struct hw_error_report, as far as they are not 0."""
    return ["error", bytes([kind, len(words)]), *words, stamp]


def text(name):
    return [int.from_bytes(name[i:i + 8].encode(), "little") for i in range(0, len(name), 8)]


def unmapped(address, size, stamp=1):
    return ["mapped", b"\x00", address, size, stamp]


def mark(name, claimed=None, stamp=0):
    words = [int.from_bytes(name[i:i + 8].encode(), "little") for i in range(0, len(name), 8)]
    return ["mark", len(name) if claimed is None else claimed, bytes([len(words)])] + words + [stamp]


TREE = [["node", 1, 0, 0, 0x4010], ["node", 2, 1, 1, 0x4020], ["node", 3, 2, 1, 0x4030],
        ["string", 16, bytes([4]), b"/bin"], ["module", 1, 0x4000, 0x5000, 0x4000, 16, 4, 20]]

SEEDS = {
    "one-thread": script(
        0, *TREE, "ring 0", "claim 100", other(TIME, 0, 9), alloc(16, 3, 24), alloc(32, 2, 100),
        free(16), "publish", "drain", realloc(48, 3, 200, 32), ["failed", b"\x00", 2, "2^56"],
        "publish", "drain", alloc(64, 3, 8, kind=8), free(64, kind=2), alloc(80, 3, "2^33"),
        "publish", "tend"),
    "two-threads": script(
        5, *TREE, "ring 0", "claim 100", alloc(16, 3, 24, stamp=5), alloc(32, 2, 7, stamp=5),
        "publish", "ring 1", "claim 101", free(16, stamp=5), realloc(16, 3, 9, 32, [4, 9]),
        "publish", "drain", "ring 0", alloc(32, 1, 50, stamp=3), "publish", "drain", "tend",
        "ring 0", "claim 102", free(32, stamp=9), "publish", "drain", "tend"),
    "shared": script(
        1, *TREE, "ring %d" % SHARED, other(FOREIGN, 7), alloc(16, 1, 5, stamp=1),
        other(FOREIGN, 8), free(16, stamp=1), other(LOST, 3), "publish", "drain", "tend",
        "ring 2", "claim 7", alloc(48, 1, 5, stamp=1), "publish", "drain"),
    "shared-without-name": script(0, "ring %d" % SHARED, alloc(16, 1, 5, stamp=1), "publish"),
    "laps": script(
        8, "ring 8", "claim 5", ["lap", b"\x03"], alloc(16, 0, 5, stamp=1),
        alloc(32, 0, "2^33", stamp=1), "publish", "drain", ["lap", b"\x01"],
        realloc(16, 0, "2^33", 16, [1, 1]), "publish", "drain"),
    "repairs": script(
        2, "ring 0", "claim 5", alloc(16, 0, 5, kind=9), alloc(16, 0, 6), realloc(16, 0, 7, 99),
        free(16), free(16), free(0), realloc(48, 0, 3, 0), "publish", "drain", alloc(0, 0, 3),
        "publish"),
    "liar": script(
        2, ["node", 5, "-1", "2^32-1", "-1"], ["node", 7, 5, 9, 9], "ring 0", "claim 5",
        alloc(16, 7, 5), alloc(32, "nodes", 5), alloc(48, "2^32-1", "-1"), "publish", "drain",
        ["set_ring", b"\x00", "-1"], "drain", ["set_ring", b"\x08", 77], "drain",
        ["module", 0, 1, 2, 3, "2^32-1", 9, 99], ["module", 1, 1, 2, 3, "strings", 8193, 32],
        ["set_header", b"\x11", "2^32-1"], "ring 1", "claim 0", ["raw", "-1"], "publish", "drain"),
    "marks": script(
        5, *TREE, "ring 0", "claim 100", alloc(16, 3, 24, stamp=5), mark("loaded", stamp=1), "publish", "drain",
        mark("fork:7", stamp=1), mark("", stamp=1), mark("a longer name", claimed=255, stamp=1), "publish", "drain",
        "ring %d" % SHARED, other(FOREIGN, 7), mark("handler", stamp=2), mark("name", claimed="2^56", stamp=2),
        "publish", "drain", "tend", "ring 1", "claim 8", mark("b" * 200, claimed=4, stamp=1), "publish", "drain"),
    "mappings": script(
        21, *TREE, "ring 0", "claim 100", mapped(0, 1 << 20, 1 << 16, stack=3), mapped(4, 1 << 22, 1 << 14), "publish",
        "drain", unmapped((1 << 20) + 4096, 4096), mapped(1, (1 << 20) + 8192, 1 << 20), "publish", "drain", "tend",
        unmapped(0, 1 << 30), mapped(9, 1 << 20, 4096), mapped(0, 1 << 20, 0), mapped(0, 5, 4096), "publish", "drain",
        ["mapped", b"\xc0", 1 << 20, 1, 0, 4096], "publish", "drain", "tend"),
    "mappings-far": script(
        21, *TREE, "ring 0", "claim 100", mapped(0, "2^56", 4096), mapped(0, 4096, "-1"), unmapped(4096, "2^56"),
        mapped(2, 1 << 40, 1 << 47, flags=7), mapped(0, 1 << 20, 4096, flags=255), "publish", "drain", "tend"),
    "errors": script(
        37, *TREE, "ring 0", "claim 100", alloc(16, 3, 24, stamp=5),
        error(2, 40, 4, 0, 16, 24, 8 | 3 << 32, 2, 7, 8), error(2, 41, 4, 0, 16, 24, 8 | 3 << 32, 2, 7, 8), "publish",
        "drain", error(8, 16, 7, 20, 0, 0, 1 | 3 << 32, 0, 0, 0, *text("memcpy")), error(5, 16, 0, 0, 16, 24, 24, 3, 0, 8),
        "publish", "drain", "tend", "ring %d" % SHARED, other(FOREIGN, 7), error(3, 99, stamp=2), "publish", "drain"),
    "errors-far": script(
        37, *TREE, "ring 0", "claim 100", error(1, "-1", "-1", "-1", "-1", "-1", "-1", "-1", "-1", "-1", "-1", "-1",
        "-1", "-1", "-1", "-1"), error(0, 5), error(99, 5), "publish", "drain", error(12, 5, "-1"), error(2 | 128, 5),
        "publish", "drain", "tend"),
    "busy": script(
        2, "ring 0", "claim 5", ["set_ring", b"\x01", 77], "ring 1", "claim 6",
        alloc(16, 0, 5, stamp=1), "publish", "drain", "drain", "ring 0", free(16, stamp=1),
        "publish", "drain"),
}


def raw_allocs(*stacks):
    """Allocations at stacks that the command would not let pass."""
    commands = ["publish"]
    for stack in stacks:
        commands = [["raw", 0x1020], ["raw", stack | 5 << 32]] + commands
    return commands


LAST_NODE = (8 << 20) - 1
SLOW = {
    "far-stacks": script(
        4, "ring 0", "claim 5", *raw_allocs(LAST_NODE), "drain", "tend",
        *raw_allocs(LAST_NODE - 1, 5, 70, 70000, 4000000), "drain"),
    "far-first": script(4, "ring 0", "claim 5", *raw_allocs(3000000, 2900000), "drain"),
}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for folder, scripts in (("seeds", SEEDS), ("slow", SLOW)):
        os.makedirs(os.path.join(here, folder, "rings"), exist_ok=True)
        for name, data in scripts.items():
            with open(os.path.join(here, folder, "rings", name), "wb") as file:
                file.write(data)


main()
