# SPDX-License-Identifier: GPL-2.0-or-later
"""Cores taken apart: what is in them, and the same cores with less in them."""

import struct

PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_AUXV, NT_FILE = 1, 6, 0x46494C45
PART = struct.Struct("<IIQQQQQQ")
NOTE = struct.Struct("<III")


def parts(data):
    """(place of its header, kind, flags, offset, address, bytes in the file, bytes in memory) of each segment."""
    (start,) = struct.unpack_from("<Q", data, 32)
    (count,) = struct.unpack_from("<H", data, 56)
    for i in range(count):
        kind, flags, offset, address, _, in_file, in_memory, _ = PART.unpack_from(data, start + i * PART.size)
        yield start + i * PART.size, kind, flags, offset, address, in_file, in_memory


def notes(data):
    """(place of its head, kind, place of its content, bytes of that) of each note."""
    for _, kind, _, offset, _, in_file, _ in parts(data):
        at = offset
        while kind == PT_NOTE and at + NOTE.size <= offset + in_file:
            name, content, note = NOTE.unpack_from(data, at)
            place = at + NOTE.size + (name + 3 & ~3)
            yield at, note, place, content
            at = place + (content + 3 & ~3)


def without_notes(core, target, kinds):
    """Copies a core whose notes of these kinds say nothing any more."""
    data = bytearray(core.read_bytes())
    found = [at for at, kind, _, _ in notes(data) if kind in kinds]
    for at in found:
        struct.pack_into("<I", data, at + 8, 0x7FFFFFFF)
    target.write_bytes(data)
    return len(found)


def without_registers(core, target, words):
    """Copies a core in which these registers, by words, are 0 in each thread."""
    data = bytearray(core.read_bytes())
    for _, kind, place, _ in notes(data):
        for word in words if kind == NT_PRSTATUS else ():
            struct.pack_into("<Q", data, place + 112 + 8 * word, 0)
    target.write_bytes(data)


def without_memory(core, target, wanted):
    """Copies a core without the content of segments for which `wanted` (flags, address, content) is false."""
    data = bytearray(core.read_bytes())
    for place, kind, flags, offset, address, in_file, _ in list(parts(data)):
        if kind == PT_LOAD and in_file and not wanted(flags, address, bytes(data[offset:offset + 4])):
            struct.pack_into("<Q", data, place + 32, 0)
    target.write_bytes(data)


def without_rest(core, target, end):
    """Copies a core whose segment with that address ends before it in the file."""
    data = bytearray(core.read_bytes())
    for place, kind, _, _, address, in_file, _ in list(parts(data)):
        if kind == PT_LOAD and address < end < address + in_file:
            struct.pack_into("<Q", data, place + 32, end - address)
    target.write_bytes(data)
