# SPDX-License-Identifier: GPL-2.0-or-later
"""Has a library (the argument) take memory where its native stack does not have all that Python has: on a stack of
coroutines, and in a handler of a signal."""

import ctypes
import sys

TAKER = ctypes.PyDLL(sys.argv[1])
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_size_t)
TAKER.taker_aside.argtypes = [CALLBACK, ctypes.c_size_t]
TAKER.taker_malloc.argtypes = TAKER.taker_signal.argtypes = [ctypes.c_size_t]


def inner(size):
    TAKER.taker_malloc(size)


def outer():
    TAKER.taker_aside(CALLBACK(inner), 123457)
    TAKER.taker_signal(234567)
    inner(345679)


for i in range(3000):  # until the interpreter has compared its frames
    str(i * 1000)
outer()
