# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads, a child, generators and coroutines that keep bytes; the last line of the output says how many on which
line: JSON, {line: [bytes, blocks]}."""

import asyncio
import json
import os
import sys
import threading

HEAD = sys.getsizeof(b"")
KEPT = []


def keep(n):
    for i in range(n):
        KEPT.append(b"y" * (101 + i % 50))  # line 17
        [str(i)] * 3  # garbage


def made(n):
    for i in range(n):
        yield b"y" * (1000 + i)  # line 23


async def awaited(i):
    await asyncio.sleep(0)
    value = b"y" * (700 + i)  # line 28
    return value


async def gathered(n):
    return await asyncio.gather(*(awaited(i) for i in range(n)))


THREADS = [threading.Thread(target=keep, args=(5000,)) for _ in range(6)]
for thread in THREADS:
    thread.start()
for thread in THREADS:
    thread.join()
CHILD = os.fork()
if not CHILD:
    OWN = [b"y" * (3001 + i) for i in range(100)]  # line 43
    os._exit(3)
STATUS = os.waitpid(CHILD, 0)[1] >> 8
KEPT.extend(made(400))
KEPT.extend(asyncio.run(gathered(300)))
EXPECTED = {17: [6 * sum(101 + i % 50 + HEAD for i in range(5000)), 30000],
            23: [sum(1000 + i + HEAD for i in range(400)), 400],
            28: [sum(700 + i + HEAD for i in range(300)), 300]}
print(json.dumps({"child": CHILD, "status": STATUS, "expected": EXPECTED, "head": HEAD}))
