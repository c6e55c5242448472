#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects and what lies around them: structures that begin with one, room behind them, arrays of them."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()


def program_of(name):
    return hw.TARGETS / f"heaps/heap_{name}"


def need_types(account, blocks, least):
    found = {int(b["address"], 16): b for b in blocks}
    wrong = Counter(f"'{kind}' is called '{found[address]['type']}'" for address, (_, _, _, kind) in account.items()
                    if found[address]["type"] != kind)
    if wrong or len(account) < least:
        raise hw.Failure(f"of {len(account)}: {wrong}")
    return found


@tests.test
def larger(folder):
    """A block that begins with an object is what is declared, what alone fits, or the object and what is behind it"""
    with Waiting(program_of("larger"), folder) as pid:
        live = ask("heap", "--json", str(pid), "blocks")["blocks"]
        need_types(read_account(folder / "account"), live, 50)
    core = kernel_core(program_of("larger"), folder)
    account = read_account(folder / "account")
    found = need_types(account, ask("core", "--json", core, "blocks")["blocks"], 50)
    by = Counter((kind, found[address].get("by")) for address, (_, _, _, kind) in account.items())
    if by["zoo::Declared", "declared"] != 8 or by["zoo::Declared", "look-alike"] != 1 or by["zoo::Unique", "look-alike"] != 8:
        raise hw.Failure(f"by what: {by}")


@tests.test
def extents(folder):
    """show, block and why say of how many elements an array is, and how much stands behind an object"""
    core = kernel_core(program_of("larger"), folder)
    seen = Counter()
    for address, (size, _, _, kind) in read_account(folder / "account").items():
        if kind not in ("zoo::Element[]", "zoo::Roomy with more behind it"):
            continue
        block = ask("core", "--json", core, "block", hex(address))
        field, value = ("count", block["size"] // 16) if kind == "zoo::Element[]" else ("behind", block["size"] - 40)
        shown = ask("core", "--json", core, "show", hex(address))["blocks"][0]
        why = ask("core", "--json", core, "why", hex(address))
        if [answer.get(field) for answer in (block, shown, why)] != [value] * 3:
            raise hw.Failure(f"{kind} of {size} bytes: {field} is not {value}: {block}, {shown}, {why}")
        wanted = f"room for {value} elements" if field == "count" else f"of these {value} bytes behind the object"
        for verb in ("block", "show", "why"):
            text = hw.run([hw.HEAPWISE, "core", core, verb, hex(address)]).text
            if wanted not in text.splitlines()[0]:
                raise hw.Failure(f"{verb}: no '{wanted}' in {text[:300]}")
        seen[kind] += 1
    if sorted(seen.values()) != [8, 8]:
        raise hw.Failure(f"seen: {seen}")
    rows = hw.run([hw.HEAPWISE, "core", core, "show", "zoo::Element[]"]).text.splitlines()
    if len(rows) != 9 or sorted(int(row.split()[1]) for row in rows[1:]) != list(range(3, 11)):
        raise hw.Failure(f"a table: {rows}")


tests.main()
