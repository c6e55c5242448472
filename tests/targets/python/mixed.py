# SPDX-License-Identifier: GPL-2.0-or-later
"""Has a library take memory from malloc and its like, on many ways through Python and C (the argument: the library).
The last line of the output is JSON: of each block its size, the function that it is from, and the Python functions
and lines of its stack, innermost first, as the interpreter has them at that moment."""

import asyncio
import ctypes
import functools
import json
import re
import sys
import threading

TAKER = ctypes.PyDLL(sys.argv[1])  # with the interpreter's lock: what it calls back, too
FREE = ctypes.CDLL(sys.argv[1])
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_size_t)
for library in (TAKER, FREE):
    for name, types in {"malloc": [], "calloc": [], "mmap": [], "around": [CALLBACK], "realloc": [ctypes.c_void_p],
                        "thread": [CALLBACK]}.items():
        function = getattr(library, "taker_" + name)
        function.argtypes = [*types, ctypes.c_size_t]
        function.restype = ctypes.c_int if name == "thread" else ctypes.c_void_p
TRUTH = []
SIZE = 100000


def size():
    global SIZE
    SIZE += 1237
    return SIZE


def note(number, kind="malloc"):
    """What is to be found of the block that the caller takes: the frames from the caller's on."""
    frame = sys._getframe(1)
    found = []
    while frame:
        found.append([getattr(frame.f_code, "co_qualname", frame.f_code.co_name), frame.f_lineno])
        frame = frame.f_back
    TRUTH.append({"stack": found, "kind": kind, "size": number})
    return number


def take(n): return TAKER.taker_malloc(note(n))
def take_free(n): return FREE.taker_malloc(note(n))


class Key:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        if self.value == 1:
            take(size())
        return self.value < other.value

    def __call__(self, n): return take(n)

    def __del__(self):
        if self.value == "dies":
            take(size())


class Made:
    """Its __init__ runs in the caller's activation, from 3.12 on."""
    def __init__(self, n):
        self.block = take(n)


class Computed:
    @property
    def block(self): return take(size())

    def __getattr__(self, name): return take(size())

    def __enter__(self): return take(size())

    def __exit__(self, *_): return take(size()) and None


def key(i):
    if i == 3:
        take(size())
    return -i


def generated(n):
    for i in range(n):
        yield take(size())


def delegated(n):
    yield from generated(n)


async def slept():
    await asyncio.sleep(0)
    take(size())
    async for _ in things():
        pass


async def things():
    yield take(size())
    await asyncio.sleep(0)
    yield take(size())


def recursive(depth, way):
    if not depth:
        return take(size())
    return way(recursive, depth - 1, way)


def direct(function, *arguments): return function(*arguments)
def by_map(function, *arguments): return list(map(lambda _: function(*arguments), [0]))[0]
def by_partial(function, *arguments): return functools.partial(function, *arguments)()


def by_c(function, *arguments):
    called = CALLBACK(lambda _: function(*arguments) and None)
    TAKER.taker_around(called, note(size()))


def simple():
    take(size())
    take_free(size())
    TAKER.taker_calloc(note(size(), kind="calloc"))
    TAKER.taker_realloc(take(size()), note(size(), kind="realloc"))
    for _ in range(3):
        TAKER.taker_malloc(note(99991))


def callbacks():
    sorted(range(5), key=key)
    sorted([Key(2), Key(1), Key(3)])
    list(map(key, [3]))
    list(filter(key, [3]))
    re.sub("a", lambda m: str(take(size()))[:1], "bab")
    max([1, 3], key=key)
    Key(0)(size())
    Made(size())
    [Made(n) for n in (size(), size())]
    {take(size()) for _ in range(2)}
    computed = Computed()
    computed.block
    computed.missing
    with computed:
        pass
    dying = Key("dies")
    del dying
    local_dies()
    functools.reduce(lambda a, b: take(size()), [1, 2, 3])
    exec("take(size())")
    eval("take(size())")
    print(end="", file=Printed())


class Printed:
    def write(self, text): return take(size()) and len(text)


def local_dies():
    """Dies while its frame ends."""
    local = Key("dies")
    return local.value


def c_and_back():
    def called(n):
        take(size())
        sorted([3], key=key)
    TAKER.taker_around(CALLBACK(called), note(size()))
    for way in (direct, by_map, by_partial, by_c):
        recursive(7, way)
    recursive(150, direct)
    recursive(40, by_map)


def generators():
    list(generated(2))
    list(delegated(2))
    sum(1 for _ in generated(1))
    for _ in delegated(1):
        pass
    asyncio.run(slept())


def threads():
    def called(n): take(size())
    FREE.taker_thread(CALLBACK(called), 77)
    thread = threading.Thread(target=simple)
    thread.start()
    thread.join()


def mapped():
    TAKER.taker_mmap(note(size(), kind="mmap"))


def work():
    for _ in range(2):  # the second time some code is specialised
        simple()
        callbacks()
        c_and_back()
        generators()
        threads()
        mapped()


for _ in range(3000):  # until the interpreter has compared its frames, and code is specialised
    str(_ * 1000)
work()
print(json.dumps(TRUTH))
