# SPDX-License-Identifier: GPL-2.0-or-later
"""Strings of bytes that nothing references any more but that are not freed, beside objects of all kinds that are in use.
Says the line of the former and how many there are, and waits for a line."""

import ctypes
import json
import os
import sys

LOST = 40


class Node:
    def __init__(self, other=None):
        self.name = "n" + str(id(self))
        self.other = other


class Slots:
    __slots__ = ("items", "__weakref__")

    def __init__(self):
        self.items = [1.5 * id(self)]


kept = {("k", i): [i * 1000.5, "v%d" % i, (i * 3.5,)] for i in range(2000)}
nodes = [Node() for _ in range(500)]
cycle = Node()
cycle.other = Node(cycle)
slots = [Slots() for _ in range(100)]
chain = None
for _ in range(1000):
    chain = Node(chain)


def lose(size):
    lost = bytes(size); line = sys._getframe().f_lineno
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(lost))
    return line


def generate():
    own = ["generated %d" % i for i in range(300)]
    while True:
        yield own


def wait(line):
    local = [str(i) * 30 for i in range(400)]
    print(json.dumps({"pid": os.getpid(), "line": line, "lost": LOST}), flush=True)
    sys.stdin.readline()
    return local


lines = {lose(200 + i) for i in range(LOST)}
generator = generate()
next(generator)
wait(lines.pop())
