# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that the garbage collector has in its list, each held by one list alone.

    listed.py ACCOUNT wait

writes the addresses of the list and of one object amid it, and how many bytes of texts the list holds."""
import sys
import time

COUNT = 2000
BYTES = 1000


class Item:
    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text


def namesake():
    """A class of the same name, with a dict: its objects begin at other words of their blocks."""
    class Item:
        pass
    return Item


others = [namesake()() for _ in range(10)]
kept = [Item(bytes(BYTES)) for _ in range(COUNT)]
with open(sys.argv[1], "w", encoding="ascii") as account:
    account.write(f"{id(kept):#x} {id(kept[COUNT // 2]):#x} {COUNT * BYTES}")
print("ready", flush=True)
while True:
    time.sleep(1000)
