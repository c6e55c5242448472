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


kept = [make(i) for i in range(100)]
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
