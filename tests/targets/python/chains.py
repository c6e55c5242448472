# SPDX-License-Identifier: GPL-2.0-or-later
"""Call chains that resemble each other as much as they can: the same functions at the same addresses with other callers,
generators that are resumed from other places, callbacks through C, recursion to all depths, code that is made again and
again, coroutines, finalizers; all in an order that a generator of numbers chooses, in three threads. Says for each
stack that kept a block how many bytes and blocks it kept."""

import collections
import functools
import gc
import json
import sys
import threading

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
kept = []
lock = threading.RLock()  # finalizers come in between
truth = collections.defaultdict(lambda: [0, 0])


class State(threading.local):
    def __init__(self):
        self.number = 1
        self.running = []  # generators that are not finished


state = State()


def choose(count):
    state.number = (state.number * 1103515245 + 12345) & 0x7fffffff
    return (state.number >> 12) % count


def keep():
    size = 4000 + choose(900)
    block = bytes(size)
    frame = sys._getframe()
    line = frame.f_code.co_firstlineno + 2
    stack = []
    while frame:
        code = frame.f_code
        stack.append((getattr(code, "co_qualname", code.co_name), line or frame.f_lineno))
        frame, line = frame.f_back, 0
    kept.append(block)
    with lock:
        have = truth[tuple(stack)]
        have[0] += size + sys.getsizeof(b"")
        have[1] += 1


def alpha(depth):
    if not depth:
        keep()
    elif choose(2):
        beta(depth - 1)
    else:
        beta(depth - 1)
    if not choose(3):
        gamma(0)
        keep()


def beta(depth):
    if not depth:
        return keep()
    way = choose(4)
    if way == 0:
        alpha(depth - 1)
    elif way == 1:
        gamma(depth - 1)
    elif way == 2:
        resume(depth - 1)
    else:
        callbacks(depth - 1)
    return keep() if choose(2) else None


def gamma(depth):
    if depth:
        sys.intern("x") or alpha(depth - 1)
        beta(depth - 1)
    keep()


def callbacks(depth):
    way = choose(4)
    if way == 0:
        sorted([depth], key=beta)
    elif way == 1:
        list(map(alpha, [depth]))
    elif way == 2:
        functools.reduce(lambda a, b: gamma(b), [0, depth])
    else:
        Finalized(depth)
        gc.collect(0)


class Finalized:
    def __init__(self, depth):
        self.depth = depth
        self.me = self if choose(2) else None

    def __del__(self):
        beta(min(self.depth, 1))

    def __lt__(self, other):
        keep()
        return True


def steps(depth):
    while True:
        alpha(min(depth, 2))
        yield 1
        keep()
        yield from inner_steps(depth)


def inner_steps(depth):
    for _ in range(2):
        keep()
        yield 2
        if depth:
            gamma(0)


def resume(depth):
    """Goes on with one of the generators, whoever called it last."""
    ready = [g for g in state.running if not g.gi_running]
    if len(ready) < 3:
        ready.append(steps(depth))
        state.running.append(ready[-1])
    generator = ready[choose(len(ready))]
    if choose(2):
        next(generator)
    else:
        generator.send(None)
    if not choose(9):
        state.running.remove(generator)
        generator.close()


def down(depth):
    """To a depth that is no other one's, and keeps blocks on the way back, too."""
    if depth:
        down(depth - 1)
    if depth % 16 == 0:
        keep()


class Waits:
    def __await__(self):
        keep()
        yield
        keep()


async def coroutine(depth):
    await Waits()
    if depth:
        await coroutine(depth - 1)
    keep()


def drive(depth):
    running = coroutine(depth)
    try:
        while True:
            running.send(None)
            beta(0)
    except StopIteration:
        keep()


def fail(depth):
    try:
        throw(depth)
    except ValueError:
        keep()


def throw(depth):
    if depth:
        throw(depth - 1)
    keep()
    raise ValueError(depth)


def compiled(i):
    """The code of before is gone: its address is free for this one."""
    space = {"keep": keep}
    exec("\n" * (i % 5) + "def made%d():\n    keep()\n    keep()\nmade%d()\n" % (i % 7, i % 7), space)


def work(number):
    state.number = number
    for i in range(STEPS):
        way = choose(8)
        if way == 0:
            down(choose(400) if i % 20 == 0 else choose(30))
        elif way == 1:
            drive(choose(4))
        elif way == 2:
            fail(choose(5))
        elif way == 3:
            compiled(choose(50))
        elif way == 4:
            sorted([Finalized(0), Finalized(1), Finalized(0)])
        else:
            beta(choose(4))
    state.running.clear()


sys.setrecursionlimit(5000)
threads = [threading.Thread(target=work, args=(7 + i,)) for i in range(2)]
work(3)
for thread in threads:
    thread.start()
work(5)
for thread in threads:
    thread.join()
gc.collect()
said = [[stack, *figures] for stack, figures in list(truth.items())]
print(json.dumps(said))
