# SPDX-License-Identifier: GPL-2.0-or-later
"""What keeps memory, and what has grown between two moments? The questions of tracemalloc's documentation.

With a number N: serves N requests, each of which leaves an entry of about 1,000 bytes in a cache."""

import sys

cache = {}


def answer(request):
    return "x" * 1000 + str(request)


def serve(request):
    if request not in cache:
        cache[request] = answer(request)
    return cache[request]


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        serve(number)
