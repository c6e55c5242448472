#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the seeds of fuzz_hprof.c: small heap dumps with every kind of record and root, and damaged ones.

    fuzz/seeds_hprof.py        into seeds/hprof
"""
import gzip
import os
import struct

OBJECT, INT, BYTE, LONG = 2, 10, 8, 11


class Dump:
    """A heap dump that is being written; names get ids as they are used."""

    def __init__(self, ids=8, version=b"2"):
        self.ids, self.names = ids, {}
        self.head = b"JAVA PROFILE 1.0." + version + b"\0" + struct.pack(">IQ", ids, 0)
        self.records, self.entries = b"", b""

    def id(self, number):
        return number.to_bytes(self.ids, "big")

    def record(self, tag, body):
        self.records += struct.pack(">BII", tag, 0, len(body)) + body

    def name(self, text):
        if text not in self.names:
            self.names[text] = 0x100 + len(self.names)
            self.record(1, self.id(self.names[text]) + text.encode())
        return self.id(self.names[text])

    def load(self, serial, number, text):
        name = self.name(text)
        self.record(2, struct.pack(">I", serial) + self.id(number) + struct.pack(">I", 0) + name)

    def describe(self, number, parent, fields, statics=()):
        body = b"\x20" + self.id(number) + struct.pack(">I", 0) + self.id(parent) + self.id(0) * 5 + struct.pack(">I", 0)
        body += struct.pack(">HHBI", 1, 7, INT, 5) + struct.pack(">H", len(statics))
        for name, value in statics:
            body += self.name(name) + bytes([OBJECT]) + self.id(value)
        body += struct.pack(">H", len(fields))
        for name, kind in fields:
            body += self.name(name) + bytes([kind])
        self.entries += body

    def instance(self, number, kind, values):
        self.entries += b"\x21" + self.id(number) + struct.pack(">I", 0) + self.id(kind) + struct.pack(">I", len(values)) + values

    def whole(self, tag=0x1c, end=True):
        self.record(tag, self.entries)
        self.record(0x2c, b"")
        return self.head + (self.records if end else self.records[:-9])


def shop(ids=8, version=b"2"):
    dump = Dump(ids, version)
    classes = {"java/lang/Object": 0x1000, "java/lang/Class": 0x1100, "java/lang/String": 0x1200, "Shop": 0x1300,
               "[Ljava/lang/Object;": 0x1400, "java/lang/ref/Reference": 0x1500, "java/lang/ref/WeakReference": 0x1600,
               "java/lang/Thread": 0x1700, "[[I": 0x1800}
    for serial, (name, number) in enumerate(classes.items(), 1):
        dump.load(serial, number, name)
    dump.record(4, dump.id(0x50) + dump.name("main") + dump.name("()V") + dump.name("Shop.java") + struct.pack(">Ii", 4, 31))
    dump.record(5, struct.pack(">III", 9, 1, 1) + dump.id(0x50))
    dump.describe(0x1000, 0, [])
    dump.describe(0x1100, 0x1000, [])
    dump.describe(0x1200, 0x1000, [("value", OBJECT), ("coder", BYTE)])
    dump.describe(0x1300, 0x1000, [("next", OBJECT), ("amount", LONG)], [("CACHE", 0x2000), ("<resolved_references>", 0)])
    dump.describe(0x1400, 0x1000, [])
    dump.describe(0x1500, 0x1000, [("referent", OBJECT)])
    dump.describe(0x1600, 0x1500, [])
    dump.describe(0x1700, 0x1000, [("name", OBJECT)])
    dump.describe(0x1800, 0x1000, [])
    dump.entries += b"\x22" + dump.id(0x2000) + struct.pack(">II", 0, 2) + dump.id(0x1400) + dump.id(0x2018) + dump.id(0)
    dump.instance(0x2018, 0x1300, dump.id(0x2038) + struct.pack(">q", 1))
    dump.instance(0x2038, 0x1300, dump.id(0x2018) + struct.pack(">q", 2))
    dump.instance(0x2058, 0x1600, dump.id(0x2038))
    dump.instance(0x2068, 0x1700, dump.id(0x2080))
    dump.instance(0x2080, 0x1200, dump.id(0x2098) + b"\0")
    dump.entries += b"\x23" + dump.id(0x2098) + struct.pack(">IIB", 0, 4, BYTE) + b"main"
    one = dump.id(0x2018)
    dump.entries += b"\xff" + one + b"\x01" + one + dump.id(7) + b"\x02" + one + struct.pack(">II", 1, 0)
    dump.entries += b"\x03" + one + struct.pack(">II", 1, 0) + b"\x04" + one + struct.pack(">I", 1)
    dump.entries += b"\x05" + dump.id(0x1300) + b"\x06" + one + struct.pack(">I", 1) + b"\x07" + one
    dump.entries += b"\x08" + dump.id(0x2068) + struct.pack(">II", 1, 9)
    return dump


def circle():
    """Two classes that are each other's superclass."""
    dump = Dump()
    dump.load(1, 0x1000, "A")
    dump.load(2, 0x1100, "B")
    dump.describe(0x1000, 0x1100, [("x", OBJECT)])
    dump.describe(0x1100, 0x1000, [])
    dump.instance(0x2000, 0x1000, dump.id(0x2000))
    return dump


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds", "hprof")
    os.makedirs(folder, exist_ok=True)
    whole = shop().whole()
    changed = bytearray(whole)
    changed[-60] ^= 0xff
    undescribed = shop()
    undescribed.instance(0x3000, 0x9999, b"")
    seeds = {"whole": whole, "narrow": shop(4).whole(), "old": shop(8, b"1").whole(0x0c), "packed": gzip.compress(whole, mtime=0),
             "cut": whole[:-100], "endless": shop().whole(end=False), "changed": bytes(changed), "android": shop(8, b"3").whole(),
             "circle": circle().whole(), "undescribed": undescribed.whole(), "empty": Dump().whole(), "head": whole[:20],
             "longest": whole[:31] + b"\x1c\0\0\0\0\xff\xff\xff\xff\x23" + b"\xff" * 40,
             "zero": whole[:31] + b"\0" * 30}
    for name, data in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


main()
