# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the address of a list that places of the interpreter's have still, which are not in use any more: of a list of
free objects, and on the stack of frames. Then waits. With an argument no list of free objects has any."""
import gc
import sys

kept = None


def pass_on(held, depth):
    return pass_on(held, depth - 1) if depth else len(held)


def fill():
    global kept
    freed = [[number] for number in range(20)]
    freed.clear()
    kept = [bytearray(2000000)]
    pass_on(kept, 20)
    if len(sys.argv) > 1:
        gc.collect()
    return f"{id(kept):#x}\n"


gc.disable()
gc.collect()
sys.stdout.write(fill())
sys.stdout.flush()
sys.stdin.read()
