# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts a child as multiprocessing does (the first argument: spawn, forkserver or fork), which takes memory from Python
and, by a library (the second), from malloc. The last line of the output is JSON: the child's process id."""

import ctypes
import json
import multiprocessing
import os
import sys


def taken():
    return [b"y" * (300007 + i) for i in range(20)]


def by_library(library):
    ctypes.PyDLL(library).taker_calloc(ctypes.c_size_t(456789))


def child(library, pipe):
    for i in range(3000):  # until the interpreter has compared its frames
        str(i * 1000)
    kept = taken()
    by_library(library)
    pipe.send([os.getpid(), len(kept)])
    pipe.recv()


def main():
    context = multiprocessing.get_context(sys.argv[1])
    here, there = context.Pipe()
    process = context.Process(target=child, args=(sys.argv[2], there))
    process.start()
    pid, _ = here.recv()
    here.send("end")
    process.join()
    print(json.dumps({"child": pid, "status": process.exitcode}))


if __name__ == "__main__":
    main()
