#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What thread-local variables hold: which variable of which thread holds a block, what these are declared as, and
what blocks are for that; of programs, of their libraries and of those that are loaded later."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, gcore, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

# Whether debug information is there.
FORMS = {"thread_local": True, "thread_local_dwarf4": True, "thread_local_split": True, "thread_local_plain": False,
         "thread_local_static": True, "thread_local_clang": True, "thread_local_musl": True}
DECLARED = {"list": "static struct node *list", "pair + 8": "static struct pair pair, its first",
            "pair + 16": "static struct pair pair, its second", "shown": "struct node *shown",
            "inner": "static struct node *inner", "cache + 8": "static struct {…} cache, its first"}


def program_of(name):
    return hw.TARGETS / f"heaps/heap_{name}"


def environment():
    return hw.clean_environment() | {"LIBRARY": str(hw.TARGETS / "heaps/heap_thread_local_loaded.so")}


def only(rows, what):
    if len(rows) != 1:
        raise hw.Failure(f"{what}: {rows}")
    return rows[0]


def check_static(variable, why, has_types):
    """Held by a variable outside of blocks; returns its thread."""
    root = only([r for r in why["roots"] if r["layer"] == 0 and r["kind"] == "thread-local storage"], variable)
    name, _, offset = variable.partition(" + ")
    if (root["symbol"].removeprefix("fill."), root["symbol_offset"]) != (name, int(offset or 0)):
        raise hw.Failure(f"{variable}: {root}")
    if has_types and root["declared"] != DECLARED[variable]:
        raise hw.Failure(f"{variable} is declared as {root['declared']}")
    return root["thread"]


def check_loaded(variable, why):
    """Held by memory that the thread got for a library which came later."""
    row = only([r for r in why["referrers"] if r["layer"] == 1], variable)
    if (row["type"], row["member"]) != ("thread-local memory", "cache.first"):
        raise hw.Failure(f"{variable}: {row}")


def check_owned(variable, why):
    """The first thread has its variables in a block of its own (musl)."""
    name, _, offset = variable.partition(" + ")
    member = name + {"pair + 8": ".first", "pair + 16": ".second", "cache + 8": ".first"}.get(variable, "")
    row = only([r for r in why["referrers"] if r["layer"] == 1 and r["type"] == "thread-local memory"], variable)
    if row["member"] != member:
        raise hw.Failure(f"{variable}: {row}")


def check(name, account, source):
    has_own = name == "thread_local_musl"
    has_types = FORMS[name]
    blocks = {int(b["address"], 16): b for b in ask(*source, "blocks")["blocks"] if b["state"] == "used"}
    threads = {}
    shown = None
    for address, (_, _, _, kind) in account.items():
        thread, variable = kind.split(" ", 1)
        wanted = "entry" if "cache" in variable else "node"
        if (has_types or wanted == "entry") and blocks[address]["type"] != wanted:
            raise hw.Failure(f"what {variable} of thread {thread} holds is called {blocks[address]['type']}")
        if "behind" in variable:
            continue
        why = ask(*source, "why", f"0x{address:x}")
        if variable.startswith("loaded"):
            check_loaded(variable, why)
        elif has_own and thread == "0":
            check_owned(variable, why)
            continue
        else:
            threads.setdefault(thread, set()).add(check_static(variable, why, has_types or "cache" in variable))
        shown = address if variable == "shown" else shown
    if len(threads) != 3 - has_own or any(len(tids) != 1 for tids in threads.values()) or len(set.union(*threads.values())) != 3 - has_own:
        raise hw.Failure(f"threads: {threads}")
    word = only([w for w in ask(*source, "refs", f"0x{shown:x}")["words"] if w["is"] == "thread-local"], "words")
    if (word["symbol"], word["into"]) != ("pair", 16):
        raise hw.Failure(f"a pointer to a variable: {word}")


def add(name):
    def by_kernel(folder):
        core = kernel_core(program_of(name), folder, environment())
        check(name, read_account(folder / "account"), ("core", "--json", core))

    def by_gcore_and_live(folder):
        with Waiting(program_of(name), folder, environment()) as pid:
            core = gcore(pid, folder)
            account = read_account(folder / "account")
            check(name, account, ("heap", "--json", str(pid)))
        check(name, account, ("core", "--json", core))

    tests.add(f"{name}: thread-local variables in a core of the kernel's", by_kernel)
    tests.add(f"{name}: the same in a core of gcore's and in the process", by_gcore_and_live)


for each in FORMS:
    if program_of(each).exists():
        add(each)


@tests.test
def as_text(folder):
    """`why`, `refs` and `words` say whose variable it is."""
    core = kernel_core(program_of("thread_local"), folder, environment())
    at = {kind: f"0x{address:x}" for address, (_, _, _, kind) in read_account(folder / "account").items()}
    for words, said in (
            (["why", at["1 pair + 8"]], r"0x[0-9a-f]+ thread-local <pair\+0x8> in heap_thread_local of thread \d+ "
                                        r"\(static struct pair pair, its first\) → "),
            (["why", at["0 cache + 8"]], r"thread-local <cache\+0x8> in heap_thread_local_linked.so of thread \d+ "),
            (["why", at["2 loaded cache + 8"]], r"1 block of thread-local memory, by cache.first, of thread \d+, as "),
            (["refs", at["0 shown"]], r"thread-local <pair\+0x10> in heap_thread_local of thread \d+\n")):
        text = hw.run([hw.HEAPWISE, "core", core, *words]).text
        if not re.search(said, text):
            raise hw.Failure(f"'{said}' is not said: {text}")
    memory = next(b["address"] for b in ask("core", "--json", core, "blocks")["blocks"] if b.get("type") == "thread-local memory")
    text = hw.run([hw.HEAPWISE, "core", core, "words", memory]).text
    if not re.search(r"\n +0 .* numbers\[0\] ", text) or not re.search(r"cache.first +block 0x[0-9a-f]+, entry\n", text):
        raise hw.Failure(f"variables of a library: {text}")


@tests.test
def what_hangs_on_them(folder):
    """`dominators` and `diff --by owner` name the same variables."""
    with Waiting(program_of("thread_local"), folder, environment()) as pid:
        core = gcore(pid, folder)
        threads = {r["thread"] for r in held(("heap", "--json", str(pid))) if r["symbol"] == "list"}
        rows = held(("core", "--json", core))
    if len(threads) != 3:
        raise hw.Failure(f"list is in threads {threads}")
    names = {r["symbol"] for r in rows}
    if not {"list", "pair", "shown"} <= names:
        raise hw.Failure(f"thread-local variables: {names}")
    text = hw.run([hw.HEAPWISE, "core", core, "dominators", "--limit", "100000"]).text
    if not re.search(r"thread-local list in \S*heap_thread_local of thread \d+\n", text):
        raise hw.Failure(f"list is not named: {text}")
    # What a thread got for a library that came later says whose it is.
    loaded = [r for r in ask("core", "--json", core, "--limit", "100000", "dominators")["dominators"] if r.get("type") == "thread-local memory"]
    whose = {r.get("thread") for r in loaded if r.get("module", "").endswith("heap_thread_local_loaded.so")}
    if not whose or not whose <= threads:
        raise hw.Failure(f"thread-local memory of {whose}, not of {threads}: {loaded}")
    if not re.search(r"thread-local memory for \S*heap_thread_local_loaded.so of thread \d+\n", text):
        raise hw.Failure(f"thread-local memory is nobody's: {text}")
    (folder / "other").mkdir()
    other = kernel_core(program_of("small"), folder / "other")
    diff = hw.run([hw.HEAPWISE, "diff", "--by", "owner", "--limit", "1000", other, core])
    for whose in ("the first thread", "other threads"):
        if f"thread-local list [heap_thread_local] of {whose}" not in diff.text:
            raise hw.Failure(f"list of {whose} is no owner: {diff}")


def held(source):
    rows = ask(*source, "--limit", "100000", "dominators")["dominators"]
    return [r for r in rows if r["kind"] == "thread-local storage"]


tests.main(sanitized_part=2)
