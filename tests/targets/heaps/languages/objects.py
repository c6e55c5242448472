# SPDX-License-Identifier: GPL-2.0-or-later
"""2,000 objects of several types that say of themselves where they are, and of what type:
objects.py ACCOUNT-FILE wait|abort"""

import os
import signal
import sys
import time
from collections import OrderedDict, deque


class Plain:
    def __init__(self, number):
        self.number = number
        self.text = f"plain {number}"


class Slots:
    __slots__ = ("left", "right")


class Grown(dict):
    pass


def make(i):
    """Of each type one that nobody else has."""
    slots = Slots()
    slots.left, slots.right = float(i), None
    return [
        Plain(i), slots, Grown(a=i), {f"key {i}": i}, [i] * (i % 50 + 1), {i, i + 1, *range(i % 30)},
        (i, f"in a tuple {i}"), f"text {i}", b"bytes %d" % i, i + 0.5, 1 << 70 | i, frozenset((i, "x")),
        OrderedDict(b=i), deque([i]), bytearray(i % 100 + 1), lambda: i, make, Plain.__init__, slice(i, 2 * i), complex(i, 1)]


def make_large():
    """Objects and tables that pymalloc leaves to malloc, with what they alone hold."""
    numbers = [i + 0.25 for i in range(600)]
    code = compile("".join(f"x{i} = {i}\n" for i in range(300)), "large", "exec")
    return [{i: n for i, n in enumerate(numbers[:200])}, set(numbers[200:400]), tuple(numbers[400:]), code, *numbers, "large " * 200]


kept = [make(i) for i in range(100)] + [make_large()]
with open(sys.argv[1], "w", encoding="ascii") as account:
    for objects in kept:
        for each in objects:
            # Inverted, so that no text or number leads to it.
            print(id(each) ^ (2**64 - 1), type(each).__name__, file=account)
os.write(1, b"ready\n")
if sys.argv[2] == "abort":
    signal.signal(signal.SIGABRT, signal.SIG_DFL)
    os.abort()
while True:
    time.sleep(1000)
