#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What hangs on what, and what holds a block: lists of any length have the owners of short ones."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import ask, gcore  # noqa: E402

tests = hw.Tests()
NODE, NO, YES = 24, 40, 56
# Up to 50 passes over a heap were enough for the first two.
LENGTHS = (20, 100, 20000)


def holds(is_so, what):
    if not is_so:
        raise hw.Failure(what)


def same(found, wanted, of):
    holds(found == wanted, f"{of}: {found}, wanted {wanted}")


@contextmanager
def running(nodes):
    """The process number, and the address of the chain's last block."""
    program = subprocess.Popen([hw.ANSWERS / "two_ends", str(nodes)], stdout=subprocess.PIPE, env=hw.clean_environment())
    try:
        end = program.stdout.readline().decode().strip()
        yield str(program.pid), end
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


@tests.test
def dominators(_):
    """a list whose ends two variables hold belongs to neither, however long it is"""
    for nodes in LENGTHS:
        with running(nodes) as (pid, _):
            found = ask("heap", "--json", pid, "dominators", "--limit", "1000000")
        retained = {row.get("symbol"): row["retained_bytes"] for row in found["dominators"] if row["kind"] == "global"}
        wanted = {"both": nodes * NODE, "chain": nodes * (NO + YES)}
        same({name: retained.get(name) for name in wanted}, wanted, f"{nodes} nodes")
        for name in ("first", "last"):
            same(retained.get(name), None, f"what hangs on {name} alone, {nodes} nodes")
        holds(found["shared_bytes"] >= nodes * NODE, f"{nodes} nodes: {found['shared_bytes']} bytes are shared")


@tests.test
def folded(_):
    """a chain that does not branch is two rows, and how many more there are"""
    for nodes in LENGTHS:
        with running(nodes) as (pid, _):
            found = ask("heap", "--json", pid, "dominators", "--limit", "1000000")
            text = hw.heapwise("heap", pid, "dominators", "--limit", "1000000").text
        rows = [row for row in found["dominators"] if row.get("type") in ("no", "yes")]
        same(len(rows), 2, f"rows of a chain of {nodes} times two blocks")
        same(rows[1].get("folded_blocks"), 2 * nodes - 2, "blocks that are left out")
        same(rows[1].get("folded_types"), [row["type"] for row in rows], "their types")
        words = f"… {2 * nodes - 2:,} more: {rows[0]['type']} → {rows[1]['type']}\n"
        holds(words in text, f"no {words!r} in {text}")


@tests.test
def differences(folder):
    """so it is in differences by owner"""
    older = folder / "older.core"
    with running(100) as (pid, _):
        ended = hw.heapwise("heap", pid, "save", older)
        same(ended.status, 0, str(ended))
    with running(5000) as (pid, _):
        diff = ask("diff", "--json", "--by", "owner", "--limit", "1000000", older, pid)
    text = str(diff)
    holds("both" in text and "global last" not in text and "global first" not in text, text[:600])


@tests.test
def growth(folder):
    """of a program that grows, shrinks and loses, differences are what it did, by owner and by type"""
    older = folder / "older.core"
    with subprocess.Popen([hw.ANSWERS / "grows_by_owner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=hw.clean_environment()) as program:
        try:
            program.stdout.readline()
            ended = hw.heapwise("heap", str(program.pid), "save", older)
            same(ended.status, 0, str(ended))
            program.stdin.write(b"\n")
            program.stdin.flush()
            program.stdout.readline()
            found = {by: ask("diff", "--json", "--limit", "1000", "--by", by, older, str(program.pid))["rows"]
                     for by in ("owner", "type")}
        finally:
            program.kill()
    changes = {by: {row["stack"][0]["function"]: (row["live_bytes"]["change"], row["live_blocks"]["change"])
                    for row in rows if row["live_blocks"]["change"] or row["live_bytes"]["change"]}
               for by, rows in found.items()}
    same(changes["owner"], {
        "global sessions [grows_by_owner]": (700 * (40 + 40), 1400), "global cache [grows_by_owner]": (-200 * (24 + 1000), -400),
        "global tree [grows_by_owner]": (24, 1), "global table [grows_by_owner]": (250 * 40, 250),
        "thread-local local [grows_by_owner] of other threads": (50 * (24 + 72), 100), "nothing: it is lost": (5040, 10)}, "by owner")
    same({name: changes["type"].get(name) for name in ("session", "entry", "odd", "char[]")}, {
        "session": (28000, 700), "entry": (-150 * 24, -150), "odd": (24, 1), "char[]": (950 * 40, 950)}, "by type")


@tests.test
def program_break(folder):
    """what a program keeps in memory that it took from the program break, between malloc's chunks, holds blocks"""
    with subprocess.Popen([hw.ANSWERS / "holds_in_break"], stdout=subprocess.PIPE, env=hw.clean_environment()) as program:
        try:
            held = program.stdout.readline().decode().strip()
            heap = ("heap", "--json", str(program.pid))
            lost = [one["size"] for one in ask(*heap, "blocks", "--leaked")["blocks"]]
            roots = ask(*heap, "why", held)["roots"]
            core = gcore(program.pid, folder)
        finally:
            program.kill()
    same(lost, [72] * 10, "what is lost")
    same([(root["layer"], root["kind"]) for root in roots], [(1, "mapping")], "who holds one")
    same([one["size"] for one in ask("core", "--json", core, "blocks", "--leaked")["blocks"]], [72] * 10, "the same of a core")


@tests.test
def shrunk_deque(_):
    """what a deque's table has before and behind the deque's blocks holds nothing"""
    with subprocess.Popen([hw.ANSWERS / "shrunk_deque"], stdout=subprocess.PIPE, env=hw.clean_environment()) as program:
        try:
            program.stdout.readline()
            heap = ("heap", "--json", str(program.pid))
            found = ask(*heap, "dominators", "--limit", "1000000")["dominators"]
        finally:
            program.kill()
    retained = {row.get("symbol"): row["retained_bytes"] for row in found if row["kind"] == "global"}
    same(retained.get("held"), 12 * 520, "what hangs on held")


@tests.test
def why(_):
    """a chain of thousands of blocks ends with the variable that holds it"""
    with running(3000) as (pid, end):
        found = ask("heap", "--json", pid, "why", end)
        text = hw.heapwise("heap", pid, "why", end)
    holds(not found["cut"], "there is more")
    same(max(row["layer"] for row in found["referrers"]), 5999, "the last layer")
    symbols = [root.get("symbol") for root in found["roots"] if root["kind"] == "global"]
    same(symbols, ["chain"], "who holds it")
    same(text.status, 0, str(text))
    holds("<chain>" in text.text, text.text)
    holds("more steps: yes → no" in text.text or "more steps: no → yes" in text.text, text.text)
    holds(len(text.text.splitlines()) < 60, f"{len(text.text.splitlines())} lines")


tests.main()
