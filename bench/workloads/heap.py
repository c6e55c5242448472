# SPDX-License-Identifier: GPL-2.0-or-later
"""heap.py ENTRIES: so many objects with a dict, a list, a string and numbers of their own, five blocks each or so.
Says its process number, and ends when a line comes."""

import os
import sys


class Entry:
    def __init__(self, number):
        self.name = f"entry {number}"
        self.values = [number + 1000, float(number)]
        self.more = {"key": f"value {number}"}


entries = {number: Entry(number) for number in range(int(sys.argv[1]))}
print(os.getpid(), flush=True)
sys.exit(sys.stdin.readline() != "\n")
