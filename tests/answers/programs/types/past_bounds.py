# SPDX-License-Identifier: GPL-2.0-or-later
# Objects past the bounds of what is shown of them, and deeper in functions than is shown.
import sys


def nest(levels):
    outer = [levels]
    for _ in range(levels):
        outer = [outer]
    return outer


def down(levels):
    if levels:
        down(levels - 1)
    else:
        print(id(nested), id(large), id(small), flush=True)
        sys.stdin.read()


nested, large, small = nest(20), 3 ** 9000, 3 ** 4000
sys.setrecursionlimit(5000)
down(1500)
