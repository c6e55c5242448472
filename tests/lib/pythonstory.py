# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of programs of Python that never ran, and what Python's tracemalloc says of the same blocks."""

import tracemalloc

import hw

NATIVE = "native"


class Block:
    """A block and its stack, innermost frame first: (file, function, line), or NATIVE."""

    def __init__(self, size, *frames, freed=False):
        self.size, self.frames, self.freed = size, frames, freed

    def python_frames(self):
        """As tracemalloc has them: file and line."""
        return tuple((file or "<unknown>", line) for file, _, line in (f for f in self.frames if f != NATIVE))


def word(frame):
    return NATIVE if frame == NATIVE else "\x1f".join(map(str, frame))


def record(path, blocks):
    """Makes a recording of these blocks."""
    told = [f"alloc\t{block.size}\t" + "\t".join(map(word, block.frames)) for block in blocks]
    told += [f"free\t{number}" for number, block in enumerate(blocks) if block.freed]
    ended = hw.run([hw.BUILD / "tests/unit/record_python", path], stdin="".join(f"{line}\n" for line in told).encode())
    hw.need(ended.status == 0, f"record_python: {ended}")
    return path


def snapshot(blocks, nframe=0):
    """What tracemalloc.take_snapshot() would have returned, started with so many frames (0: all of them)."""
    live = [(block.size, block.python_frames()) for block in blocks if not block.freed]
    return tracemalloc.Snapshot([(0, size, frames[:nframe or None], len(frames)) for size, frames in live if frames], nframe or 1000)


def statistic_lines(statistics, tracebacks=False, recent_first=False):
    """Each as str() gives it, with its traceback if that is wanted."""
    found = []
    for statistic in statistics:
        found.append(str(statistic))
        if tracebacks:
            found += statistic.traceback.format(most_recent_first=recent_first)
    return found
