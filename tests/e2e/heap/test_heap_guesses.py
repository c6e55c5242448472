#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a block may be, where several things speak for several types: only what is ruled in is said."""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

UNKNOWN = re.compile(r"\d+ bytes(, pointers at( \d+)+( of every \d+)?)?")


def program_of(name):
    return hw.TARGETS / f"heaps/heap_{name}"


def used_blocks(core):
    return {int(b["address"], 16): b for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}


def compare(account, found):
    """'?' has no name."""
    wrong = Counter()
    for address, (size, _, _, kind) in account.items():
        name = found[address]["type"]
        if not (UNKNOWN.fullmatch(name) if kind == "?" else name == kind):
            wrong[f"a '{kind}' of {size} bytes is called '{name}'"] += 1
    if wrong or not account:
        raise hw.Failure(f"of {len(account)}: {wrong}")


def add_bases(name):
    def beginnings(folder):
        core = kernel_core(program_of(name), folder)
        account = read_account(folder / "account")
        compare(account, used_blocks(core))
        # What can't be told are the candidates.
        # The last one, to which a global leads.
        block = [a for a, (size, _, _, kind) in account.items() if kind == "?" and size in (16, 24)][-1]
        candidates = ask("core", "--json", core, "type", hex(block))["candidates"]
        best = {c["type"]: c["declared_by"] for c in candidates[:2]}
        if best != {"struct shape": 1, "struct circle": 1} or any(c["declared_by"] for c in candidates[2:]):
            raise hw.Failure(f"type: {[(c['type'], c['score'], c['declared_by']) for c in candidates]}")
        text = hw.run([hw.HEAPWISE, "core", core, "type", hex(block)]).text
        if text.count("1 pointer that points there is declared to point to such, or to what it begins with") != 2:
            raise hw.Failure(text)

    tests.add(f"{name}: a pointer to a structure that others begin with says nothing where these fit, too", beginnings)


@tests.test
def invariants(folder):
    """Lost objects with vectors and strings are told by their looks, but what breaks what these keep is none."""
    core = kernel_core(program_of("invariants"), folder)
    account = read_account(folder / "account")
    found = used_blocks(core)
    compare(account, found)
    alike = Counter(found[a].get("by") for a, (_, _, leak, _) in account.items() if leak == "definite")
    if set(alike) != {"look-alike"} or len({size for size, _, _, _ in account.values()}) != 1:
        raise hw.Failure(f"lost ones are {alike}")
    # `type` says what speaks against it.
    reasons = Counter()
    for address in [a for a, (_, _, _, kind) in account.items() if kind == "?"][:9]:
        (record,) = [c for c in ask("core", "--json", core, "type", hex(address), "--limit", "1000")["candidates"] if c["type"] == "Record"]
        reasons[*record["broken"]] += record["known"] > 0
    if reasons != {("values",): 5, ("name",): 4} and reasons != {("values._M_impl",): 5, ("name._M_dataplus",): 4}:
        raise hw.Failure(f"against it speaks {reasons}")


@tests.test
def known_elsewhere(folder):
    """What other blocks are known to be comes before what is merely described, with that as a reason."""
    core = kernel_core(program_of("unions"), folder)
    account = read_account(folder / "account")
    found = used_blocks(core)
    hidden = [a for a, (_, _, _, kind) in account.items() if kind == "hidden"]
    wrong = Counter(found[a]["type"] for a, (_, _, _, kind) in account.items() if kind in ("variant", "route") and found[a]["type"] != kind)
    wrong += Counter(found[a]["type"] for a in hidden if not UNKNOWN.fullmatch(found[a]["type"]))
    if wrong or not hidden:
        raise hw.Failure(f"{len(hidden)} hidden; {wrong}")
    for what in (hex(hidden[0]), found[hidden[0]]["type"]):
        candidates = ask("core", "--json", core, "type", what)["candidates"]
        best = {c["type"]: c["known"] for c in candidates[:2]}
        # The last of either list has no pointer to another.
        if set(best) != {"struct variant", "struct route"} or not all(49 <= known <= 50 for known in best.values()) or any(c["known"] for c in candidates[2:]):
            raise hw.Failure(f"type {what}: {[(c['type'], c['score'], c['known']) for c in candidates]}")
        text = hw.run([hw.HEAPWISE, "core", core, "type", what]).text
        if f"{best['struct variant']} blocks known to be that have pointers at the same places" not in text:
            raise hw.Failure(text)


@tests.test
def base_classes(folder):
    """A pointer to a base class says nothing where an object of a derived one fits, too; a class's first member is none."""
    core = kernel_core(program_of("derived"), folder)
    compare(read_account(folder / "account"), used_blocks(core))


@tests.test
def many_beginnings(folder):
    """However many blocks only begin with what is declared, what they begin with leads on."""
    core = kernel_core(program_of("beginnings"), folder)
    blocks = {row["name"]: row["blocks"] for row in ask("core", "--json", core, "types")["types"]}
    if blocks.get("leaf") != 70000 or "base" in blocks or "whole" in blocks:
        raise hw.Failure(f"{blocks}")


for each in ("bases", "bases_clang"):
    if (hw.TARGETS / f"heaps/heap_{each}").exists():
        add_bases(each)

tests.main()
