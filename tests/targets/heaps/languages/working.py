# SPDX-License-Identifier: GPL-2.0-or-later
"""A frame that runs: what it worked with before is left among its values, what it works with is there, too.

    working.py ACCOUNT wait

writes the addresses of an object that a list has and of one that the frame alone has, while it waits."""
import sys
import time


class Item:
    __slots__ = ("text",)


kept = [Item() for _ in range(100)]


def use(*_):
    return 0


def say(alone):
    with open(sys.argv[1], "w", encoding="ascii") as account:
        account.write(f"{id(kept[50]):#x} {id(alone):#x}")
    print("ready", flush=True)
    return alone


def work(item):
    # Seven values above all that the next line works with.
    use(1, 2, 3, 4, 5, 6, item)
    del item
    return max(say(Item()), time.sleep(1000))


use(0, 0, 0, 0, 0, 0, 0, 0)
work(kept[50])
