#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What only looks like blocks of a type: it is named so if nothing in it speaks against that, and is told from what
is declared."""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

UNKNOWN = re.compile(r"\d+ bytes(, pointers at( \d+)+)?")


def add(name):
    program = hw.TARGETS / f"heaps/heap_{name}"

    def tells(folder):
        """Trees with other values than the type has, rings, bytes and numbers in place of what is declared."""
        core = kernel_core(program, folder)
        account = read_account(folder / "account")
        found = {int(b["address"], 16): b for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
        wrong = Counter()
        alike = Counter()
        for address, (size, _, leak, kind) in account.items():
            block = found[address]
            by = None if kind == "?" else "declared" if leak == "reachable" else "look-alike"
            if not (UNKNOWN.fullmatch(block["type"]) if kind == "?" else block["type"] == kind):
                wrong[f"a {leak} '{kind}' of {size} bytes is called '{block['type']}'"] += 1
            elif block.get("by") != by:
                wrong[f"a {leak} '{kind}' is by {block.get('by')}"] += 1
            alike[kind] += by == "look-alike"
        if wrong or sum(alike.values()) != 7:
            raise hw.Failure(f"{wrong}, {alike}")
        for kind in ask("core", "--json", core, "types")["types"]:
            if kind.get("look_alike", 0) != alike[kind["name"]] or (kind["kind"] == "inferred") != ("look_alike" in kind):
                raise hw.Failure(f"of types: {kind}, not {alike[kind['name']]}")
        if "tree (4 look-alikes)" not in hw.run([hw.HEAPWISE, "core", core, "types"]).text:
            raise hw.Failure("the table does not say so")
        for address, said in ((min(a for a, r in account.items() if r[2:] == ("definite", "tree")), "look-alike"),
                              (min(a for a, r in account.items() if r[2:] == ("reachable", "tree")), "declared")):
            text = hw.run([hw.HEAPWISE, "core", core, "block", hex(address)]).text
            if f"tree (inferred, {said})" not in text or ask("core", "--json", core, "block", hex(address))["by"] != said:
                raise hw.Failure(f"{said}: {text}")

    tests.add(f"{name}: blocks that look like others are told from them by what is in them", tells)


for each in ("alike", "alike_clang"):
    if (hw.TARGETS / f"heaps/heap_{each}").exists():
        add(each)

tests.main()
