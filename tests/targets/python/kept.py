# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps objects of all sorts. With the argument "trace" it says what tracemalloc sees of each line that has a name:
the last line of the output is JSON. (Objects that CPython keeps in lists of free ones, small tuples for one, are not
among them: such an object is allocated once and has several lives.)"""

import json
import sys

TRACE = sys.argv[1:] == ["trace"]
KEPT = []


class Thing:
    def __init__(self, value):
        self.value = "thing %d" % (value + 10)  # line: thing


def text(i):
    return "x" * (100 + i % 7)  # line: text


def large(i):
    return b"y" * (2000 + i % 100)  # line: large


def wide(i):
    return frozenset(range(i + 1000, i + 1040))  # line: wide


def table(i):
    return {"number": i + 1000, "more": i + 100000}  # line: table


def numbers(n):
    for i in range(n):
        yield i * 1000003 + 1000  # line: number


def nested(depth, i):
    return nested(depth - 1, i) if depth else bytearray(i + 40)  # line: nested


def grown(n):
    one = bytearray()
    for _ in range(n):
        one += b"grow"  # line: grown
    return one


def work():
    for i in range(3000):
        KEPT.append(text(i))
        KEPT.append(large(i))
        KEPT.append(wide(i))
        KEPT.append(table(i))
        KEPT.append(Thing(i))
        KEPT.append(nested(i % 60, i))
        for _ in range(3):
            len(text(i) + str(i))
    KEPT.extend(numbers(5000))
    for i in range(50):
        KEPT.append(grown(1000 + i))


def named_lines():
    with open(__file__, encoding="utf-8") as source:
        return {i: line.split("# line:")[1].strip() for i, line in enumerate(source, 1)
                if "# line:" in line and "split" not in line and '"# line' not in line}


NAMES = named_lines()
if TRACE:
    import tracemalloc
    tracemalloc.start(1)
work()
FOUND = {}
if TRACE:
    for row in tracemalloc.take_snapshot().statistics("lineno"):
        frame = row.traceback[0]
        if frame.filename == __file__ and frame.lineno in NAMES:
            FOUND[frame.lineno] = [row.size, row.count]
print(json.dumps({"names": NAMES, "found": FOUND}))
