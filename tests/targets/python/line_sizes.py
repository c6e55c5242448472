# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions whose lines are traced. With a file name: counts by itself how often each ran, with sys.settrace, and
writes {"FUNC:LINE": times} there. Without one it runs the same and leaves tracing to others."""

import asyncio
import json
import os
import sys
import threading

TRACED = ("build", "numbers", "feed", "deep", "fails", "thrown", "waits", "calls", "later", "loops", "grows", "held")
MIB = 1 << 20


def build(count):
    out = []
    for i in range(count):
        if i % 3:
            out.append("x" * 100)
    return out


def numbers(count):
    for i in range(count):
        try:
            yield i
        finally:
            pass


class Parser:
    def feed(self):
        return [x for x in range(3)]


def deep(depth):
    if depth == 0:
        return bytearray(8 * MIB)
    return deep(depth - 1)


def fails(wanted):
    try:
        if wanted:
            raise ValueError(wanted)
    except ValueError:
        return 1
    return 0


def thrown(wanted):
    if wanted:
        raise KeyError(wanted)
    return 2


async def waits(times):
    for i in range(times):
        await asyncio.sleep(0)
    return times


def calls(count):
    f = lambda x: x + 1
    return sum(map(f, range(count)))


def later(count):
    total = 0
    while count:
        count -= 1
        total += count
    return total


def loops():
    with open("/dev/null") as f:
        for a in (1, 2):
            for b in (1, 2, 3):
                continue
    return f


def grows():
    kept = []
    for i in range(4):
        kept.append(bytearray(4 * MIB))
    del kept
    return i


def held():
    first = numbers_of_bytes()
    next(first)
    first.close()


def numbers_of_bytes():
    yield bytearray(MIB)


def other():
    return [str(i) for i in range(100)]


def main():
    build(10)
    list(numbers(4))
    left = numbers(9)
    next(left)
    next(left)
    left.close()
    Parser().feed()
    deep(7)
    for wanted in (0, 1):
        fails(wanted)
        try:
            thrown(wanted)
        except KeyError:
            pass
    asyncio.new_event_loop().run_until_complete(waits(3))
    calls(5)
    threads = [threading.Thread(target=later, args=(5 + k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loops()
    grows()
    held()
    other()
    child = os.fork()
    if child == 0:
        counts.clear()
        build(20)
        build(30)
        return True
    os.waitpid(child, 0)
    return False


counts = {}


def trace(frame, what, _):
    code = frame.f_code
    if code.co_name not in TRACED:
        return None
    if what == "line" or (what == "call" and frame.f_lineno == code.co_firstlineno):
        key = f"{code.co_name}:{frame.f_lineno}"
        counts[key] = counts.get(key, 0) + 1
    return trace


if len(sys.argv) > 1:
    threading.settrace(trace)
    sys.settrace(trace)
    is_child = main()
    sys.settrace(None)
    with open(sys.argv[1] + (".child" if is_child else ""), "w") as file:
        json.dump(counts, file)
else:
    is_child = main()
if is_child:
    os._exit(0)
