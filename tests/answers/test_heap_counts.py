#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""No bound decides how many blocks are of a type, nor how much of a heap is found."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import ask, cut_notes, gcore  # noqa: E402

tests = hw.Tests()


@contextmanager
def running(*words):
    """The process number, and the line that the program printed."""
    program = subprocess.Popen([hw.ANSWERS / words[0], *words[1:]], stdout=subprocess.PIPE, env=hw.clean_environment())
    try:
        line = program.stdout.readline().decode().strip()
        yield str(program.pid), line
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


def need(found, wanted):
    wrong = {name: (found.get(name), count) for name, count in wanted.items() if found.get(name) != count}
    if wrong:
        raise hw.Failure(f"(found, wanted): {wrong}; all: {found}")


def types_of(pid):
    return {row["name"]: row["blocks"] for row in ask("heap", "--json", pid, "types", "--limit", "1000")["types"]}


@tests.test
def c(_):
    """all blocks that declarations name, in arrays, structures, on stacks, of types that look alike"""
    with running("counted_blocks") as (pid, _line):
        found = types_of(pid)
        shown = ask("heap", "--json", pid, "show", "leafg", "--limit", "1000000")
    need(found, {
        "leafg": 30000, "leafh": 2000, "leafs": 10000, "leafw": 2000, "leafe": 3, "item": 70000, "leafr": 70000,
        "twin": 6000, "mate": 6000, "local": 1000, "mine": 300})
    need({"shown": len(shown["blocks"])}, {"shown": 30000})


@tests.test
def objects(folder):
    """what all objects of C++ hold, also what only the last of them have, and how it grew"""
    older = folder / "older.core"
    with running("counted_objects", "16000") as (pid, _line):
        need(types_of(pid), {"A": 16000, "Deep": 16000, "Late": 19000, "D": 3000})
        ended = hw.heapwise("heap", pid, "save", older)
        if ended.status:
            raise hw.Failure(str(ended))
    with running("counted_objects", "66000") as (pid, _line):
        need(types_of(pid), {"A": 66000, "Deep": 66000, "Late": 69000, "D": 3000})
        rows = ask("diff", "--json", "--by", "type", older, pid)["rows"]
    grown = [row["live_blocks"]["change"] for row in rows if "'Late'" in str(row)]
    if grown != [50000]:
        raise hw.Failure(f"Late grew by {grown}")


@tests.test
def pieces(folder):
    """a heap whose bins are nearly all in use is found, also in a core that does not say where libc begins"""
    with running("heap_in_pieces") as (pid, line):
        live = ask("heap", "--json", pid)["totals"]
        core = gcore(pid, folder)
    old = folder / "old.core"
    cut_notes(core, old)
    kept = ask("core", "--json", old)["totals"]
    for totals in (live, kept):
        # libc's own may be among them: the buffer of stdout.
        if not 0 <= totals["used_blocks"] - int(line) <= 2:
            raise hw.Failure(f"{totals}, the program has {line}")


@tests.test
def seems_mapped(_):
    """what only looks like blocks with mappings of their own is none, by malloc's own count, or it is said"""
    with running("seems_mapped") as (pid, line):
        blocks = ask("heap", "--json", pid, "blocks", "--size", "128k..")["blocks"]
        damage = ask("heap", "--json", pid)["damage"]
    found, wanted = sorted(block["size"] for block in blocks), sorted(map(int, line.split()))
    if found != wanted or damage:
        raise hw.Failure(f"{found}, not {wanted}; {damage}")
    with running("seems_mapped", "apart") as (pid, line):
        damage = ask("heap", "--json", pid)["damage"]
    if [one["what"] for one in damage] != ["more memory looks like blocks with mappings of their own than malloc counts"]:
        raise hw.Failure(str(damage))


@tests.test
def unread(folder):
    """where memory is there, but no heap that is known, nothing is 0 B, and the command fails"""
    core = folder / "unread.core"
    with running("unknown_heap") as (pid, _line):
        hw.heapwise("heap", pid, "save", core)
    for verb in ((), ("types",), ("leaks",), ("dominators",)):
        text, answer = hw.heapwise("core", core, *verb), hw.heapwise("core", "--json", core, *verb)
        if text.status != 3 or answer.status != 3 or "no heap was found though memory is there" not in text.errors:
            raise hw.Failure(f"{verb}: {text}, {answer}")
    summary = hw.heapwise("core", core)
    if "0 B" in summary.text or "3.00 MiB at 0x" not in summary.text:
        raise hw.Failure(summary.text)
    found = json.loads(hw.heapwise("core", "--json", core).stdout)
    if found["totals"] is not None or found["unread"]["largest_bytes"] != 3 << 20:
        raise hw.Failure(str(found)[:500])
    # What was seen of each allocator, in both.
    seen = {row["allocator"]: row["found"] for row in found["unread"]["seen"]}
    wanted = {"glibc", "jemalloc", "tcmalloc", "mimalloc", "musl mallocng", "musl oldmalloc"}
    if set(seen) != wanted or not all(f"{name}, {what}" in summary.text for name, what in seen.items()):
        raise hw.Failure(f"{seen}: {summary.text}")
    for verb in ("maps", "strings"):
        shown = hw.heapwise("core", core, verb)
        if shown.status or not shown.stdout:
            raise hw.Failure(f"{verb}: {shown}")
    with running("unknown_heap", "nothing") as (pid, _line):
        if ask("heap", "--json", pid)["totals"]["used_blocks"]:
            raise hw.Failure("a program that has not allocated anything has blocks")


@tests.test
def wide_types(folder):
    """objects of a class behind thousands of members, and of one whose name has thousands of characters"""
    with running("wide_types") as (pid, _line):
        need(types_of(pid), {"Wide": 20, "Base": 5})
        shown = ask("heap", "--json", pid, "show", "Base", "--limit", "1000")["blocks"]
    need({"shown": len(shown)}, {"shown": 25})
    bare = folder / "bare"
    subprocess.run(["strip", "-o", bare, hw.ANSWERS / "wide_types"], check=True)
    with running(bare) as (pid, _line):
        rows = {name: blocks for name, blocks in types_of(pid).items() if blocks == 7}
    # As it is in the program: names of such a length are not demangled.
    if len(rows) != 1 or not next(iter(rows)).startswith("3RowIJLi0ELi1E") or not next(iter(rows)).endswith("Li1499EEE"):
        raise hw.Failure(str([name[:100] for name in rows]))


@tests.test
def deep_stack(_):
    """where a thread is in Python, below megabytes of frames of C"""
    script = "import ctypes, sys\ndef below():\n    ctypes.CDLL(sys.argv[1]).go_down(4000)\nbelow()\n"
    with running("/usr/bin/python3", "-c", script, str(hw.ANSWERS / "libdeep_stack.so")) as (pid, _line):
        threads = ask("heap", "--json", pid, "threads")["threads"]
    found = [frame["function"] for frame in threads[0]["python"]]
    if found != ["below", "<module>"]:
        raise hw.Failure(str(found))


tests.main()
