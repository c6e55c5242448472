# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects of Python's libraries that keep what they hold beside them.

    kept.py ACCOUNT wait

writes of each kind of part how many there are: at least, since the interpreter has some itself."""
import array
import collections
import io
import sys
import time

kept = []
for i in range(50):
    kept.append(bytearray(b"x" * (100 + i)))
    kept.append(array.array("d", range(200 + i)))
    text = io.StringIO()
    text.write("text " * 40)
    text.seek(3)
    text.write("more")
    kept.append(text)
    kept.append(collections.deque(range(1000)))
    kept.append(collections.OrderedDict((f"key {n}", n) for n in range(20)))


class Queue(collections.deque):
    pass


kept.append(Queue(range(1280)))
taken = bytearray(b"y" * 1000)
del taken[:10]
kept.append(taken)
with open(sys.argv[1], "w", encoding="ascii") as account:
    for kind, count in (("bytearray buffer", 51), ("array buffer", 50), ("StringIO buffer", 50), ("deque block", 50 * 16 + 20),
                        ("OrderedDict node", 50 * 20), ("OrderedDict table", 50)):
        account.write(f"{count} {kind}\n")
print("ready", flush=True)
while True:
    time.sleep(1000)
