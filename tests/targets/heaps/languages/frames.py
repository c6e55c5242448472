# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that say of themselves where they are in Python: frames.py ACCOUNT-FILE wait|abort"""

import json
import os
import signal
import sys
import threading
import time

THREADS = 4
never = threading.Lock()
never.acquire()


class Worker:
    def __init__(self):
        self.arrived = threading.Lock()
        self.arrived.acquire()

    def descend(self, depth):
        if depth:
            # What follows is far from where the function begins, and has an end of its own.
            for _ in range(depth):

                try:
                    self.descend(
                        depth - 1)

                finally:
                    pass
        else:
            list(self.wait(n) for n in range(1))

    def wait(self, number):
        # One line, so that it stands there as soon as main knows.
        return [self.arrived.release() or never.acquire() for _ in range(1 + number)]


def würgen(worker, depth):
    worker.descend(depth)


def stack_of(frame):
    while frame:
        yield [getattr(frame.f_code, "co_qualname", frame.f_code.co_name), frame.f_code.co_filename, frame.f_lineno]
        frame = frame.f_back


def tell():
    frames = sys._current_frames()
    stacks = {t.native_id: list(stack_of(frames[t.ident])) for t in threading.enumerate() if t.ident != threading.get_ident()}
    stacks[threading.get_native_id()] = list(stack_of(sys._getframe(1)))
    with open(sys.argv[1], "w", encoding="utf-8") as account:
        json.dump(stacks, account)
    os.write(1, b"ready\n")


def end():
    return signal.raise_signal(signal.SIGABRT) if sys.argv[2] == "abort" else time.sleep(1000)


def main():
    workers = [Worker() for _ in range(THREADS)]
    for number, worker in enumerate(workers):
        threading.Thread(target=würgen, args=(worker, number * 7), daemon=True).start()
    for worker in workers:
        worker.arrived.acquire()
    sorted([2, 1], key=lambda _: tell() or end())


signal.signal(signal.SIGABRT, signal.SIG_DFL)
main()
