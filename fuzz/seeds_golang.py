#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the seeds of fuzz_golang.c: a table of functions in both layouts, and lists of buckets.

    fuzz/seeds_golang.py        into seeds/golang
"""
import os
import struct

TEXT, AT = 0x401000, 0x1000


def words(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def facts(newer, name, files, lines, calls):
    """Of a function: offsets of its name and of its values."""
    fixed = struct.pack("<9I", 0, name, 0, 0, 0, files, lines, 3, 0) + (b"\0" * 4 if newer else b"") + b"\0\0\0\4"
    return fixed + struct.pack("<7I", 0, 0, calls, 0xffffffff, 0xffffffff, 0xffffffff, 0)


def table(newer):
    """Two functions; some code of the first is inlined."""
    header = 72
    names = b"main.outer\0main.inner\0main.last\0"
    names += b"\0" * (-len(names) % 4)
    units = header + len(names)
    files = units + 4
    values = files + len(b"/src/main.go\0")
    tables = bytes([0, 2, 64, 0, 22, 16, 20, 16, 17, 32, 0, 0, 16, 2, 16, 1, 32, 0])
    body = names + struct.pack("<I", 0) + b"/src/main.go\0" + tables
    body += b"\0" * (-len(body) % 8)
    functions = header + len(body)
    first, last = facts(newer, 0, 1, 4, 11), facts(newer, 22, 1, 4, 0)
    body += struct.pack("<6I", 0, 24, 64, 24 + len(first), 96, 0) + first + last
    head = bytes([0xf1 if newer else 0xf0, 0xff, 0xff, 0xff, 0, 0, 1, 8]) + words(2, 1, TEXT, header, units, files, values, functions)
    return head + body + b"\0" * (len(head) + len(body))


def bucket(following, size, stack, figures):
    mask, value = (1 << 64) - 1, 0
    for word in (*stack, size):
        value = value + word & mask
        value = value + (value << 10) & mask
        value ^= value >> 6
    value = value + (value << 3) & mask
    value ^= value >> 11
    return words(0, following, 1, value, size, len(stack), *stack, *figures)


def buckets():
    figures = (10, 4, 1000, 400, 1, 0, 100, 0, 2, 3, 200, 300, 0, 0, 0, 0)
    first = bucket(AT + 8 * 24, 100, (TEXT, TEXT + 9), figures)
    return first + bucket(0, 5000, (TEXT + 9, TEXT + 20), figures)


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds", "golang")
    os.makedirs(folder, exist_ok=True)
    for name, what, data in (("table_older", 0, table(False)), ("table_newer", 0, table(True)), ("buckets", 1, buckets()),
                             ("bucket_circle", 1, buckets().replace(words(AT + 8 * 24), words(AT)))):
        with open(os.path.join(folder, name), "wb") as seed:
            seed.write(bytes([what]) + b"\0" * 7 + data)


main()
