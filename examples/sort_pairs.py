#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sorts the pairs of a file and prints the middle one."""

import sys

if len(sys.argv) != 2:
    sys.exit("usage: sort_pairs.py FILE")
with open(sys.argv[1], encoding="ascii") as file:
    pairs = [tuple(map(int, line.split())) for line in file]
if not pairs:
    sys.exit(f"sort_pairs: {sys.argv[1]}: no pairs")
pairs.sort()
print(*pairs[len(pairs) // 2])
