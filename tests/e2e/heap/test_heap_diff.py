#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cores and processes compared: what grew, by type, by who holds it, by where it was allocated."""

import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import ask  # noqa: E402

tests = hw.Tests()
PROGRAM = hw.TARGETS / "heaps/heap_grow"
NODE, ENTRY = 40, 200  # usable bytes


class Growing:
    """The program, which grows when it is told to; `before`: words that start it."""

    def __init__(self, folder, before=()):
        self.process = subprocess.Popen(
            [*before, PROGRAM], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hw.clean_environment())
        self.wait()
        self.pid = self.process.pid
        if before:
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            self.pid = next(int(pid) for pid in children if Path(f"/proc/{pid}/exe").resolve() == PROGRAM.resolve())

    def wait(self):
        if self.process.stdout.readline() != b"ready\n":
            raise hw.Failure(f"{PROGRAM} did not come so far")

    def grow(self, nodes, entries):
        self.process.stdin.write(f"{nodes} {entries}\n".encode())
        self.process.stdin.flush()
        self.wait()

    def save(self, path):
        ended = hw.run([hw.HEAPWISE, "heap", str(self.pid), "save", path])
        if ended.status:
            raise hw.Failure(f"save: {ended}")
        return path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def rows(*words):
    """by what is called so: (change of bytes, of blocks)"""
    shown = ask("diff", "--json", *words)
    return {
        row["stack"][0]["function"]: (row["live_bytes"]["change"], row["live_blocks"]["change"])
        for row in shown["rows"] if row["live_bytes"]["change"]}


def check(found, wanted):
    if found != wanted:
        raise hw.Failure(f"{found}, not {wanted}")


OWNERS = {
    "global cache [heap_grow]": (7000 * NODE, 7000),
    "global table [heap_grow]": (30 * ENTRY, 30),
    "nothing: it is lost": (20 * ENTRY, 20),
}


def grown(folder, before=()):
    """An older core, and the process, which has grown by 7000 nodes and 50 entries, of which 20 are lost. Stacks
    hold none of these: the last ones are in the table, and in the list."""
    growing = Growing(folder, before)
    growing.grow(1000, 34)
    growing.save(folder / "before.core")
    growing.grow(7000, 50)
    return growing


@tests.test
def by_type(folder):
    """A core and the process that it is of: what there is more of, by type."""
    with grown(folder) as growing:
        found = rows(folder / "before.core", str(growing.pid))
    # Only what a pointer is declared to hold has a name.
    check(found, {"node": (7000 * NODE, 7000), "char[]": (30 * ENTRY, 30), "200 bytes": (20 * ENTRY, 20)})


@tests.test
def by_owner(folder):
    """What hangs on each global, and what on nothing any more: of a core and a process, and of two cores."""
    with grown(folder) as growing:
        live = rows("--by", "owner", folder / "before.core", f"process:{growing.pid}")
        after = growing.save(folder / "after.core")
    check(live, OWNERS)
    check(rows("--by", "owner", folder / "before.core", after), OWNERS)
    check(rows("--by=owner", after, after), {})
    shown = hw.run([hw.HEAPWISE, "diff", "--by", "owner", folder / "before.core", after]).text
    if "global cache [heap_grow], +273 KiB" not in shown:
        raise hw.Failure(shown)


@tests.test
def by_stack(folder):
    """A recorded process: two moments of its memory by where blocks were allocated, and beside a recording."""
    with grown(folder, [hw.HEAPWISE, "run", "-q", "-o", folder / "story.hpw", "--"]) as growing:
        two = rows("--by", "stack", str(growing.pid), str(growing.pid))
        owners = rows("--by", "owner", folder / "before.core", str(growing.pid))
        after = growing.save(folder / "after.core")
    check(two, {})
    check(owners, OWNERS)
    # The recording has what was asked for, the memory what there is: 40 and 200 usable bytes were both.
    shown = ask("diff", "--json", folder / "story.hpw", after)
    places = {row["stack"][0]["function"] for row in shown["rows"]}
    if places - {"main"} or any(row["live_blocks"]["change"] for row in shown["rows"]):
        raise hw.Failure(f"{shown['rows']}")


@tests.test
def limits_and_refusals(folder):
    """--fail-on-growth judges heaps as well; what makes no sense is refused with a reason."""
    with grown(folder) as growing:
        before = folder / "before.core"
        grew = hw.run([hw.HEAPWISE, "diff", "--by", "owner", "--fail-on-growth", "100K", before, str(growing.pid)])
        if grew.status != 1 or "grew by" not in grew.errors:
            raise hw.Failure(f"{grew}")
        alone = hw.run([hw.HEAPWISE, "diff", "--by", "stack", before, str(growing.pid)])
        if alone.status != 3 or "no recording" not in alone.errors:
            raise hw.Failure(f"{alone}")
    gone = hw.run([hw.HEAPWISE, "diff", before, f"process:{growing.pid}"])
    if gone.status == 0 or str(growing.pid) not in gone.errors:
        raise hw.Failure(f"{gone}")
    wrong = hw.run([hw.HEAPWISE, "diff", "--by", "colour", before, before])
    if wrong.status != 2 or "type, owner or stack" not in wrong.errors:
        raise hw.Failure(f"{wrong}")


tests.main()
