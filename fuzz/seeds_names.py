#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the seeds of fuzz_names.c: files of kept names (src/symbols/names/names_file.h), and what is none.

    fuzz/seeds_names.py       into seeds/names; checksums are left out, the harness makes them right
"""
import struct
from pathlib import Path

HEADER_BYTES, ADDRESSES_AT = 48, 24
STRINGS = [b"one", b"_Z3twov", b"/src/a.c"]
NOTHING = (0, 0, 0, 0, 0)


def made(answers, strings, key=b"key", separate=0, version=1):
    """`answers`: (address, [(function, raw name, linkage name, file, line)…]), strings by number from 1."""
    firsts, ends, symbols, text = [0], [0], [], b""
    for _, found in answers:
        symbols += found
        firsts.append(len(symbols))
    for string in strings:
        text += string + b"\0"
        ends.append(len(text))
    return b"".join((
        b"HWNAMES" + bytes([version]),
        struct.pack("<Q8I", 0, 1, separate, len(answers), len(symbols), len(strings), len(key), len(text), 0),
        *(struct.pack("<Q", address) for address, _ in answers),
        struct.pack(f"<{len(firsts)}I", *firsts),
        *(struct.pack("<5I", *symbol) for symbol in symbols),
        struct.pack(f"<{len(ends)}I", *ends),
        key, text))


def changed(data, offset, number):
    return data[:offset] + struct.pack("<I", number) + data[offset + 4:]


def main():
    good = made([(0x1000, [(1, 1, 0, 3, 7), (2, 2, 2, 3, 9)]), (0x2000, [NOTHING])], STRINGS)
    seeds = {
        "good": good,
        "empty": made([], []),
        "no-key": made([(1, [(1, 1, 1, 1, 1)])], [b""], b""),
        "cut": good[:-1],
        "longer": good + b"x",
        "header": good[:HEADER_BYTES],
        "short": good[:20],
        "version-2": made([], [], version=2),
        "addresses-fall": made([(2, [NOTHING]), (1, [NOTHING])], []),
        "no-symbols": made([(2, []), (3, [(1, 0, 0, 0, 0)])], STRINGS),
        "string-beyond": made([(2, [(4, 0, 0, 0, 0)])], STRINGS),
        "separate-2": made([], [], separate=2),
        "no-nul": good[:-1] + b"A",
        "many-addresses": changed(good, ADDRESSES_AT, 0xffffffff),
        "first-far": changed(good, HEADER_BYTES + 2 * 8 + 4, 0xfffffff0),
    }
    folder = Path(__file__).resolve().parent / "seeds/names"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


main()
