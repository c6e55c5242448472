#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is asked of a type is answered for what people mean by it: objects of derived classes too, and where no block
is of it, what there is instead."""

import platform
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, kernel_core, members_of, read_account  # noqa: E402

tests = hw.Tests()

# An account's row has so many characters of a type.
NAME = 45


def program_of(name):
    return hw.TARGETS / f"heaps/heap_{name}"


def rows_of(account, *kinds):
    return {address for address, (_, _, _, kind) in account.items() if kind in kinds}


def addresses_of(blocks):
    return {int(b["address"], 16) for b in blocks}


def refused(core, *words, status=3):
    ended = hw.run([hw.HEAPWISE, "core", core, *words])
    if ended.status != status or ended.text:
        raise hw.Failure(f"{' '.join(words)}: {ended}")
    return ended.errors


def need(text, *parts):
    missing = [part for part in parts if part not in text]
    if missing:
        raise hw.Failure(f"{missing} not in: {text}")


def compare(account, blocks):
    found = {int(b["address"], 16): b for b in blocks if b["state"] == "used"}
    wrong = Counter(f"'{kind}' is called '{found[address]['type']}'" for address, (_, _, _, kind) in account.items()
                    if not (found[address]["type"][:NAME] == kind or found[address]["type"].startswith(kind + " of ")))
    if wrong or not account:
        raise hw.Failure(f"of {len(account)} blocks: {wrong}")


@tests.test
def kinds(folder):
    """Each block is called what the program calls it, in cores and in the process, with debug information and without."""
    core = kernel_core(program_of("answers"), folder)
    compare(read_account(folder / "account"), ask("core", "--json", core, "blocks")["blocks"])
    with Waiting(program_of("answers"), folder) as pid:
        compare(read_account(folder / "account"), ask("heap", "--json", str(pid), "blocks")["blocks"])


@tests.test
def base_classes(folder):
    """Objects of derived classes are of the base class too, wherever in them that lies."""
    core = kernel_core(program_of("answers"), folder)
    account = read_account(folder / "account")
    for name in ("zoo::Base", "Base"):
        shown = ask("core", "--json", core, "show", name)["blocks"]
        wanted = rows_of(account, "zoo::Base", "zoo::Derived", "zoo::Further", "zoo::Both", "zoo::Hidden")
        if addresses_of(shown) != wanted or len(shown) != 16:
            raise hw.Failure(f"show {name}: {len(shown)} blocks, not {len(wanted)}")
        wrong = [b for b in shown if members_of(b).get("number") != "71" or b["as"] != "zoo::Base"
                 or ("at" in b) != (b["type"] in ("zoo::Both", "zoo::Hidden"))]
        if wrong:
            raise hw.Failure(f"show {name}: {wrong[0]}")
    ended = hw.run([hw.HEAPWISE, "core", core, "show", "zoo::Base"])
    need(ended.text, "16 blocks: 5 zoo::Base, 4 zoo::Derived, 3 zoo::Further, 2 zoo::Both, 2 zoo::Hidden", "ADDRESS         TYPE ")
    shown = ask("core", "--json", core, "show", "zoo::Plain")["blocks"]
    if addresses_of(shown) != rows_of(account, "zoo::Plain", "zoo::More") or any(members_of(b)["first"] != "17" for b in shown):
        raise hw.Failure(f"show zoo::Plain: {shown}")
    # Objects of one class alone, all of another name.
    shown = ask("core", "--json", core, "show", "zoo::Other")["blocks"]
    if addresses_of(shown) != rows_of(account, "zoo::Both") or any(members_of(b)["other"] != "5" for b in shown):
        raise hw.Failure(f"show zoo::Other: {shown}")
    if addresses_of(ask("core", "--json", core, "show", "zoo::Further")["blocks"]) != rows_of(account, "zoo::Further"):
        raise hw.Failure("show zoo::Further")


@tests.test
def who_holds_a_base_class(folder):
    """Who holds objects of a base class holds those of derived ones."""
    core = kernel_core(program_of("answers"), folder)
    why = ask("core", "--json", core, "why", "zoo::Base")
    kinds = {t["type"]: t["blocks"] for t in why["types"]}
    if why["blocks"] != 16 or kinds != {"zoo::Base": 5, "zoo::Derived": 4, "zoo::Further": 3, "zoo::Both": 2, "zoo::Hidden": 2}:
        raise hw.Failure(f"{why['blocks']} blocks, {kinds}")
    if not any(r["type"].startswith("std::vector buffer") and r["layer"] == 1 for r in why["referrers"]):
        raise hw.Failure(f"held by {why['referrers']}")
    need(hw.run([hw.HEAPWISE, "core", core, "why", "Base"]).text, "of these 5 zoo::Base, 4 zoo::Derived")
    alone = ask("core", "--json", core, "why", "zoo::Further")
    if alone["blocks"] != 3:
        raise hw.Failure(f"zoo::Further: {alone['blocks']} blocks")


@tests.test
def types_without_blocks(folder):
    """What there is of them instead is said; what is nowhere is called so."""
    core = kernel_core(program_of("answers"), folder)
    for verb in ("show", "why"):
        need(refused(core, verb, "zoo::Inside"), "no block is of type 'zoo::Inside' itself", "arrays of it",
             "'std::vector buffer of zoo::Inside' (1 block)", f"{verb} 'std::vector buffer of zoo::Inside'")
        need(refused(core, verb, "std::vector<zoo::Inside>"), "no block is known to be of type")
        need(refused(core, verb, "Nowhere"), "no block is known to be of type 'Nowhere'", "layout")
        need(refused(core, verb, "Insid", status=2), "'Insid' is neither an address", "zoo::Inside")
        need(refused(core, verb, "zoo::Crowded"), "no block is ")
        need(refused(core, verb, "long"), "it is a part of ", "'zoo::Derived' (4 blocks)")
    shown = ask("core", "--json", core, "show", "std::vector buffer of zoo::Inside")["blocks"]
    if len(shown) != 1:
        raise hw.Failure(f"{len(shown)} buffers")
    # Who may point to it debug information says, though no block is one.
    if ask("core", "--json", core, "type", "Inside")["type"] != "zoo::Inside":
        raise hw.Failure("type Inside")


@tests.test
def contents(folder):
    """A place for something has a content where it is known what that is, and none where it may be several things."""
    core = kernel_core(program_of("answers"), folder)
    (handle,) = ask("core", "--json", core, "show", "zoo::Handle")["blocks"]
    if "bytes" not in members_of(handle):
        raise hw.Failure(f"Handle: {handle}")
    (odds,) = ask("core", "--json", core, "show", "zoo::Odds")["blocks"]
    if {"first": "0", "second": "2.5"}.items() - members_of(odds).items():
        raise hw.Failure(f"Either: {odds}")
    need(hw.run([hw.HEAPWISE, "core", core, "layout", "Odds"]).text, "int zoo::Inside::* const")


@tests.test
def behind_objects(folder):
    """What is held by words behind an object is not lost, where these were asked for: as many have some there."""
    with Waiting(program_of("behind"), folder) as pid:
        found = {int(b["address"], 16): b for b in ask("heap", "--json", str(pid), "blocks")["blocks"]}
    account = read_account(folder / "account")
    wrong = Counter(f"{size} bytes: {found[a]['leak']}" for a, (size, _, _, _) in account.items() if found[a]["leak"] != "reachable")
    if wrong or len(account) != 110:
        raise hw.Failure(f"of {len(account)}: {wrong}")


@tests.test
def names_without_a_name(folder):
    """Types in anonymous namespaces are found by the names that people write."""
    core = kernel_core(program_of("answers"), folder)
    for name in ("Unnamed", "(anonymous namespace)::Unnamed", "zoo::(anonymous namespace)::Unnamed"):
        found = ask("core", "--json", core, "layout", name)
        if found["size"] != 16:
            raise hw.Failure(f"{name}: {found}")


@tests.test
def layouts_of_all_types(folder):
    """Numbers have layouts, too."""
    core = kernel_core(program_of("answers"), folder)
    sizes = {"int": 4, "unsigned long": 8, "long": 8, "char": 1, "bool": 1, "zoo::Inside": 12, "Hidden": 32, "zoo::Nowhere": 4}
    for name, size in sizes.items():
        found = ask("core", "--json", core, "layout", name)
        if found["size"] != size:
            raise hw.Failure(f"layout {name}: {found}")


@tests.test
def control_blocks(folder):
    """Each form of shared_ptr's is laid out in its own way."""
    core = kernel_core(program_of("answers"), folder)
    account = read_account(folder / "account")
    records = {f"0x{address:x}" for address in rows_of(account, "zoo::Record")}
    joined = members_of(ask("core", "--json", core, "show", "shared_ptr control block of zoo::Record")["blocks"][0])
    if (joined.get("key"), joined.get("value")) != ("101", "102"):
        raise hw.Failure(f"make_shared: {joined}")
    for name in ("shared_ptr control block of zoo::Record*",
                 "shared_ptr control block of zoo::Record*, deleted by std::default_delete<zoo::Record>"):
        blocks = ask("core", "--json", core, "show", name)["blocks"]
        values = list(members_of(blocks[0]).values())
        if len(blocks) != 1 or not any(value.split()[0] in records for value in values):
            raise hw.Failure(f"{name}: {values}, records {records}")


UNKNOWN = re.compile(r"\d+ bytes(, pointers at( \d+)+)?")
# Where debug information says nothing of it, it has no name; and what is not of interest may be anything.
NAMELESS = ("Link", "Many", "Pair")


def wrong_kinds(account, blocks, has_types):
    found = {int(b["address"], 16): b["type"] for b in blocks if b["state"] == "used"}
    wrong = Counter()
    for address, (_, used, _, kind) in account.items():
        name = found.get(address, "not there")
        if not used or kind in ("plain", "?"):
            continue
        nameless = kind in NAMELESS and not has_types
        if not (UNKNOWN.fullmatch(name) if nameless else name == kind or name.startswith(kind + " of ")):
            wrong[f"'{kind}' is called '{name}'"] += 1
    return wrong


def add_buffers(name, has_types):
    def buffers(folder):
        with Waiting(program_of(name), folder) as pid:
            live = ask("heap", "--json", str(pid), "blocks")["blocks"]
            account = read_account(folder / "account")
        core = kernel_core(program_of(name), folder)
        dead = wrong_kinds(read_account(folder / "account"), ask("core", "--json", core, "blocks")["blocks"], has_types)
        wrong = wrong_kinds(account, live, has_types) + dead
        if wrong:
            raise hw.Failure(f"{wrong}")
        shown = [b for b in ask("core", "--json", core, "show", "std::string buffer")["blocks"]]
        texts = {b["members"][0] for b in shown}
        wanted = {'"the quick brown fox jumps over the lazy dog"', '"naïve cafés of 東京"', '"a string that nothing but a stack holds"'}
        if not wanted <= texts or len(shown) != 4:
            raise hw.Failure(f"texts: {texts}")
        one = next(b for b in shown if "quick" in b["members"][0])
        text = hw.run([hw.HEAPWISE, "core", core, "show", one["address"]]).text
        need(text, "std::string buffer (string)\n", '"the quick brown fox jumps over the lazy dog"\n')
        need(hw.run([hw.HEAPWISE, "core", core, "show", "std::string buffer"]).text, "ADDRESS         TEXT\n",
             '  "the quick brown fox jumps over the lazy dog"\n')

    tests.add(f"{name}: strings are told from nodes that begin with two numbers, and are shown as text", buffers)


add_buffers("buffers", True)
add_buffers("buffers_plain", False)


@tests.test
def arrays(folder):
    """Arrays are told as such, those behind their number too; a number before a structure makes none."""
    with Waiting(program_of("arrays"), folder) as pid:
        live = ask("heap", "--json", str(pid), "blocks")["blocks"]
        account = read_account(folder / "account")
    found = {int(b["address"], 16): b for b in live if b["state"] == "used"}
    wrong = Counter(f"'{kind}' is called '{found[address]['type']}'" for address, (_, _, _, kind) in account.items()
                    if not (UNKNOWN.fullmatch(found[address]["type"]) if kind == "?" else found[address]["type"][:NAME] == kind[:NAME]))
    if wrong or len(account) != 36:
        raise hw.Failure(f"of {len(account)}: {wrong}")
    core = kernel_core(program_of("arrays"), folder)
    account = read_account(folder / "account")
    blocks = {int(b["address"], 16): b for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    lost = {kind for address, (_, _, leak, kind) in account.items() if leak == "reachable" and blocks[address]["leak"] != leak}
    if lost:
        raise hw.Failure(f"not reachable: {lost}")
    names = {blocks[address]["type"] for address, (_, _, _, kind) in account.items() if kind != "?"}
    every = {int(b["address"], 16): b for name in names for b in ask("core", "--json", core, "--limit", "100", "show", name)["blocks"]}
    sizes = {"Pod": 12, "Wide": 16, "Pair": 16, "Counted": 16, "Virtual": 16, "Ending": 32}
    for address, (size, _, _, kind) in account.items():
        if kind == "?":
            continue
        element = sizes[kind.split("::")[1].split("[")[0]]
        shown = every[address]
        count = (size - 8) // element if "number" in kind else size // element
        least = count if "number" in kind else blocks[address]["size"] // element
        if not count <= shown["count"] <= least or len(shown["members"]) != shown["count"]:
            raise hw.Failure(f"{kind} at 0x{address:x}: {shown['count']} elements, not {count}")
        if "Counted" in kind and [m["members"][0]["value"] for m in shown["members"]] != [str(100 + k) for k in range(count)]:
            raise hw.Failure(f"{shown}")
    name = "(anonymous namespace)::Counted[] with their number"
    need(hw.run([hw.HEAPWISE, "core", core, "show", name]).text, "COUNT  value", "      14  100")


@tests.test
def blocks_that_are_being_freed(folder):
    """The address of a block's chunk holds it for a thread that is in libc, and for no other."""
    hw.need(platform.machine() == "x86_64", "registers are x86-64's")

    def check(account, source):
        leaks = {int(b["address"], 16): b["leak"] for b in ask(*source, "blocks")["blocks"] if b["state"] == "used"}
        wrong = [(kind, leaks[address]) for address, (_, _, leak, kind) in account.items() if leaks[address] != leak]
        if wrong or len(account) != 3:
            raise hw.Failure(f"of {len(account)}: {wrong}")
        held = next(address for address, (_, _, _, kind) in account.items() if kind == "held")
        roots = ask(*source, "why", f"0x{held:x}")["roots"]
        if not roots or any(r["kind"] not in ("registers", "stack") or r["into"] for r in roots):
            raise hw.Failure(f"roots: {roots}")

    with Waiting(program_of("freeing"), folder) as pid:
        check(read_account(folder / "account"), ("heap", "--json", str(pid)))
    check_core = kernel_core(program_of("freeing"), folder)
    check(read_account(folder / "account"), ("core", "--json", check_core))


@tests.test
def bins_that_are_being_merged(folder):
    """A fast bin's blocks are free while malloc_consolidate() merges them, wherever it stands."""
    hw.need(platform.machine() == "x86_64", "instructions are x86-64's")

    def used_after(instructions):
        words = [program_of("merging"), str(instructions)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hw.clean_environment()) as program:
            pid = int(program.stdout.readline())
            used = ask("heap", "--json", str(pid))["totals"]["used_blocks"]
            program.communicate()
        if program.returncode:
            raise hw.Failure(f"{words}: {program.returncode}")
        return used

    before = used_after(-1)
    looks = (0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 2000, 9001)
    with ThreadPoolExecutor(2) as pool:
        used = dict(zip(looks, pool.map(used_after, looks)))
    # That which it has in hand may count as used.
    if any(not before <= count <= before + 1 for count in used.values()):
        raise hw.Failure(f"{before} before, then {used}")


@tests.test
def memory_that_was_put_away(folder):
    """Pages that the program may not touch for now hold what is in them, and those in the heap have blocks."""

    def check(account, source):
        leaks = {int(b["address"], 16): b["leak"] for b in ask(*source, "blocks")["blocks"] if b["state"] == "used"}
        wrong = [(size, leaks.get(address)) for address, (size, _, leak, _) in account.items() if leaks.get(address) != leak]
        if wrong or len(account) != 7:
            raise hw.Failure(f"of {len(account)}: {wrong}")

    with Waiting(program_of("put_away"), folder) as pid:
        account = read_account(folder / "account")
        check(account, ("heap", "--json", str(pid)))
        saved = hw.run([hw.HEAPWISE, "heap", str(pid), "save", folder / "saved"])
        if saved.status or (folder / "saved").stat().st_blocks > 16384:
            raise hw.Failure(f"save: {saved}")
    check(account, ("core", "--json", folder / "saved"))
    core = kernel_core(program_of("put_away"), folder)
    check(read_account(folder / "account"), ("core", "--json", core))


@tests.test
def what_only_looks_like_it(folder):
    """Rows of a type say which blocks are only taken for it by their look."""
    core = kernel_core(program_of("typed"), folder)
    types = [t for t in ask("core", "--json", core)["types"] if 0 < t.get("look_alike", 0) < t["blocks"]]
    if not types:
        raise hw.Failure("no type has look-alikes and others")
    for of in types:
        shown = ask("core", "--json", core, "show", of["name"])["blocks"]
        alike = {b["address"] for b in shown if b["by"] == "look-alike"}
        rows = hw.run([hw.HEAPWISE, "core", core, "--limit", "1000000", "show", of["name"]]).text.splitlines()
        marked = {f"0x{int(row.split()[0], 16):x}" for row in rows[1:] if row.split()[1] == "look-alike"}
        declared = sum(row.split()[1] == "declared" for row in rows[1:])
        if len(alike) != of["look_alike"] or marked != alike or declared != len(shown) - len(alike) or "  BY  " not in rows[0]:
            raise hw.Failure(f"{of}: {len(alike)} in JSON, {len(marked)} marked, {declared} declared: {rows[0]}")


tests.main()
