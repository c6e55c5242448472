# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the addresses of lists that the heads of the garbage collector's list lead to, and waits."""
import gc
import sys

gc.disable()
gc.collect()
first = [bytearray(3000000)]
last = [bytearray(2000000)]
sys.stdout.write(f"{id(first):#x} {id(last):#x}\n")
sys.stdout.flush()
sys.stdin.read()
