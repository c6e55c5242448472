#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the seeds of the reader of JFR: small files with every event that is read, and damaged ones.

    fuzz/seeds_jfr.py        into seeds/jfr
"""
import gzip
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/lib"))

import jfr_files

MAIN = ["app/Main.main:3"]


def objects(base=1):
    chunk = jfr_files.Chunk(base=base)
    chunk.jvm("app.Main with words", 4711)
    chunk.note()
    chunk.sample(["app/Main.a:7", *MAIN], "[[J", 100)
    chunk.checkpoint()
    chunk.sample(["app/Mäin.ö:8", *MAIN], "java/lang/String", 20, truncated=True)
    chunk.sample(["水.𝄞:9", *MAIN], "[Ljava/util/Map$Entry;", 3)
    chunk.sample(None, "[Z", 2**63)
    return chunk


def buffers():
    chunk = jfr_files.Chunk(base=2**62)
    chunk.tlab(["app/Main.a:7", *MAIN], "[B", 100, 2**20)
    chunk.outside(["app/Main.a:7", *MAIN], "[B", 2**21)
    chunk.sample(MAIN, "[B", 7)
    chunk.old(MAIN, "[B")
    return chunk


def followed(interval="1000"):
    chunk = jfr_files.Chunk(sized_old=True)
    chunk.setting("alloc", interval)
    chunk.tlab(["app/Main.small:4", *MAIN], "[B", 100, 1000)
    chunk.live(["app/Main.small:4", *MAIN], "[B", 100)
    chunk.old(MAIN, "app/Order", 32)
    return chunk


def native():
    chunk = jfr_files.Chunk()
    chunk.setting("nativemem", "1000")
    chunk.malloc(["libc.a", *MAIN], 0x1000, 100, time=5)
    chunk.free(0x1000, time=9)
    chunk.malloc(["libc.a", *MAIN], 0x1000, 40, time=12)
    chunk.free(0x3000, time=30)
    chunk.malloc(["libc.b", *MAIN], 0x3000, 9, time=20)
    return chunk


def old():
    chunk = jfr_files.Chunk()
    chunk.old(["app/Main.leak:9", *MAIN], "app/Order")
    return chunk


def main():
    folder = Path(__file__).resolve().parent / "seeds/jfr"
    folder.mkdir(parents=True, exist_ok=True)
    whole = objects().whole()
    seeds = {
        "objects": whole,
        "buffers": buffers().whole(),
        "followed": followed().whole(),
        "followed-huge": followed(str(2**64 - 1)).whole(),
        "native": native().whole(),
        "old": old().whole(),
        "chunks": whole + objects(500).whole() + native().whole(),
        "packed": gzip.compress(whole, mtime=0),
        "cut": whole + whole[:-1],
        "open": native().whole(state=3) + b"\1",
        "damaged": whole[:70] + b"\xff" * 9 + whole[79:] + buffers().whole(),
        "version": objects().whole(version=(1, 0)),
        "nothing": jfr_files.Chunk().whole(),
    }
    for name, data in seeds.items():
        (folder / name).write_bytes(data)


main()
