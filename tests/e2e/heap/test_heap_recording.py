#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Heaps joined with the recording of the same process: what is found, what is refused, what is said."""

import os
import signal
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Recorded, Waiting, ask, gcore, read_account  # noqa: E402

tests = hw.Tests()
PROGRAM = hw.TARGETS / "heaps/heap_small"


def by_function(leaks):
    """Blocks by kind and the program's own innermost function."""
    sums = Counter()
    for record in leaks["records"]:
        if record["kind"] not in ("definite", "possible"):
            continue
        names = [f["function"] for f in record["stack"] if f["function"] not in ("block", None)]
        sums[record["kind"], names[0] if names else None] += record["blocks"]
    return sums


def ended(folder, *options):
    """A core of a recorded process that is gone by now, and the recording, in one folder."""
    recording = folder / "any name.hpw"
    with Recorded(PROGRAM, folder, recording, options=options) as pid:
        core = gcore(pid, folder)
    return core, recording


@tests.test
def leaks_have_stacks(folder):
    """leaks of a core says where what is lost was allocated: as the recorder's own search does."""
    recording = folder / "story.hpw"
    with Recorded(PROGRAM, folder, recording) as pid:
        core = gcore(pid, folder)
        searched = ask("leaks", "--json", str(pid))["leaks"]
    ours = ask("core", "--json", core)["leaks"]
    if by_function(ask("leaks", "--json", core)["leaks"]) != by_function(ours):
        raise hw.Failure("heapwise leaks says otherwise")
    if by_function(ours) != by_function(searched):
        raise hw.Failure(f"{by_function(ours)}, not {by_function(searched)}")
    lost = {function for kind, function in by_function(ours) if kind == "definite"}
    if lost != {"lose", "free_some"}:
        raise hw.Failure(f"lost by {lost}")


@tests.test
def one_block(folder):
    """block, why and words say where one was allocated, in text and in JSON."""
    core, _ = ended(folder)
    address, (size, _, _, _) = next(
        (a, row) for a, row in read_account(folder / "account").items() if row[1] and row[3] == "node")
    for verb in ("block", "words", "why"):
        block = ask("core", "--json", core, verb, hex(address))
        functions = [f["function"] for f in block["allocated"]["stack"]]
        if block["requested"] != size or "main" not in functions:
            raise hw.Failure(f"{verb}: {block['requested']} bytes at {functions}, not {size}")
        shown = hw.run([hw.HEAPWISE, "core", core, verb, hex(address)]).text
        if f"of {size} bytes in thread" not in shown or "main  small.c:" not in shown:
            raise hw.Failure(f"{verb}: {shown}")
    alone = ask("core", "--json", "--recording", "none", core, "block", hex(address))
    if alone["allocated"] or alone["requested"]:
        raise hw.Failure(f"without a recording: {alone}")


@tests.test
def found_or_missed(folder):
    """A recording is found beside the core, whatever its name; where there is none that is said."""
    core, recording = ended(folder)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    joined = hw.run([hw.HEAPWISE, "core", core], cwd=elsewhere)
    if "Joined with" not in joined.text or recording.name not in joined.text:
        raise hw.Failure(f"not found: {joined}")
    moved = elsewhere / "moved.hpw"
    recording.rename(moved)
    missed = hw.run([hw.HEAPWISE, "core", core], cwd=folder)
    if missed.status or "--recording FILE" not in missed.errors or "Joined" in missed.text:
        raise hw.Failure(f"nothing is there: {missed}")
    if ask("core", "--json", "--recording", moved, core)["recording"]["unknown_blocks"]:
        raise hw.Failure("blocks are not in the recording that is named")


@tests.test
def others_are_refused(folder):
    """The recording of another process, or of another program, is not taken."""
    core, _ = ended(folder)
    for name in ("heap_small", "heap_threads"):
        other = folder / f"{name}.hpw"
        with Recorded(hw.TARGETS / f"heaps/{name}", folder, other):
            pass
        refused = hw.run([hw.HEAPWISE, "core", "--recording", other, core])
        if refused.status != 3 or "of another pro" not in refused.errors:
            raise hw.Failure(f"{name}: {refused}")


@tests.test
def never_recorded(folder):
    """A process that nobody recorded says nothing of recordings."""
    with Waiting(PROGRAM, folder) as pid:
        live = hw.run([hw.HEAPWISE, "heap", str(pid)])
        rows = ask("heap", "--json", str(pid))
    if live.status or live.errors or "Joined" in live.text or rows["recording"] is not None:
        raise hw.Failure(f"{live}")


@tests.test
def sums_alone(folder):
    """A recording without events knows its blocks as well."""
    core, _ = ended(folder, "--mode", "aggregate")
    recording = ask("core", "--json", core)["recording"]
    if recording["unknown_blocks"] or recording["missing_blocks"]:
        raise hw.Failure(f"{recording}")


@tests.test
def samples(folder):
    """Of a sampled process the blocks of the sample have stacks, and that is said."""
    core, recording = ended(folder, "--mode", "sample:4K", "--seed", "7")
    shown = ask("core", "--json", core)
    joined = shown["recording"]
    if not joined["sampled"] or not 0 < joined["known_blocks"] < joined["unknown_blocks"] or joined["missing_blocks"]:
        raise hw.Failure(f"{joined}")
    if joined["known_blocks"] + joined["unknown_blocks"] != shown["totals"]["used_blocks"]:
        raise hw.Failure(f"{joined} of {shown['totals']}")
    if "are not in its sample" not in hw.run([hw.HEAPWISE, "core", core]).text:
        raise hw.Failure("nothing is said of the sample")
    recording.write_bytes(recording.read_bytes()[:-200])
    cut = hw.run([hw.HEAPWISE, "core", "--recording", recording, core])
    if cut.status not in (0, 3) or (cut.status == 3 and "contains no block addresses" not in cut.errors):
        raise hw.Failure(f"a recording that is cut off: {cut}")


@tests.test
def while_it_allocates(folder):
    """Of threads that allocate without an end each block is known but those that they are just getting."""
    threads = 4
    with Recorded(hw.TARGETS / "heaps/heap_churn", folder, folder / "churn.hpw", options=("--ring", "1M")) as pid:
        for _ in range(3):
            joined = ask("heap", "--json", str(pid))["recording"]
            # A thread stands between two steps at most. Of what it frees, the recording knows before libc does: one
            # block. Of what it gets, after: one block, and while malloc has that, it moves others of its size from a
            # bin into the thread's cache, one at a time (malloc.c, _int_malloc: tc_victim).
            if joined["unknown_blocks"] > 2 * threads or joined["missing_blocks"] or joined["misfits"]:
                raise hw.Failure(f"{joined}")
            if not joined["known_blocks"]:
                raise hw.Failure(f"{joined}: none is known")


def begin_another(recorded):
    """Has the program begin one more thread: the block that it has, and its number."""
    os.kill(recorded.pid, signal.SIGUSR1)
    address, tid = recorded.process.stdout.readline().decode().split()
    return address, int(tid)


def late_thread_is_known(folder, options):
    recorded = Recorded(hw.TARGETS / "heaps/heap_latecomer", folder, folder / "late.hpw", options=options)
    with recorded as pid:
        for _ in range(3):
            address, tid = begin_another(recorded)
            allocated = ask("heap", "--json", str(pid), "block", address)["allocated"]
            if not allocated or allocated.get("thread") != tid:
                raise hw.Failure(f"{address} of thread {tid}: {allocated}")


@tests.test
def late_threads(folder):
    """A thread that has just begun is known by the time its blocks are."""
    late_thread_is_known(folder, ())


@tests.test
def late_threads_of_sums(folder):
    """So it is where the recording has no events."""
    late_thread_is_known(folder, ("--mode", "aggregate"))


tests.main()
