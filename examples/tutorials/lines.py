# SPDX-License-Identifier: GPL-2.0-or-later
"""Which line of a function takes memory? The question of memory_profiler's README."""


def fill():
    small = [1] * 10**6
    large = [2] * (2 * 10**7)
    del large
    return small


if __name__ == "__main__":
    fill()
