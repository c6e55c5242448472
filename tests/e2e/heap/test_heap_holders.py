#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Who holds a block is told from what leads into it by chance, and holders come in the order in which they tell most."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()


def program_of(name):
    return hw.TARGETS / f"heaps/heap_{name}"


def addresses_of(account, name):
    return [address for address, (_, _, _, kind) in account.items() if kind == name]


def add_faint(name, holders):
    """holders: of the table's, by name, beside the global."""

    def by_chance(folder):
        core = kernel_core(program_of(name), folder)
        account = read_account(folder / "account")
        (table,), (marked,), (text,), (reader,) = (addresses_of(account, kind) for kind in ("table", "marked", "text", "reader"))
        chance = addresses_of(account, "flagged") + addresses_of(account, "noted")
        why = ask("core", "--json", core, "why", hex(table))
        found = [int(row["example"], 16) for row in why["referrers"] if row["layer"] == 1]
        if found != [{"reader": reader}[holder] for holder in holders] or why["referrers"] and why["referrers"][0]["into"] != 77:
            raise hw.Failure(f"why table: {why['referrers']}")
        if [r.get("symbol") for r in why["roots"] if r["layer"] == 0 and r["kind"] == "global"] != ["table"]:
            raise hw.Failure(f"why table: {why['roots']}")
        cursors = [r["into"] for r in why["roots"] if r["layer"] == 0 and r.get("variable") == "cursor"]
        if cursors != [99] * bool(holders):
            raise hw.Failure(f"why table, by a variable on a stack: {why['roots']}")
        # By nothing else.
        for address, symbol, into in ((marked, "marked", 1), (text, "text", 333)):
            roots = [r for r in ask("core", "--json", core, "why", hex(address))["roots"] if r["kind"] == "global"]
            if [(r["symbol"], r["into"]) for r in roots] != [(symbol, into)]:
                raise hw.Failure(f"why {symbol}: {roots}")
        # What `words` shows `refs` takes for no pointer.
        for address in chance:
            words = ask("core", "--json", core, "words", hex(address))["words"]
            refs = ask("core", "--json", core, "refs", hex(address))["words"]
            odd = [w for w in words if w["is"] == "block" and int(w["block"], 16) == table]
            if len(odd) != 1 or any(int(w["block"], 16) == table for w in refs if w["is"] == "block"):
                raise hw.Failure(f"words {words}, refs {refs}")
        (word,) = [w for w in ask("core", "--json", core, "refs", hex(reader))["words"]] or [None]
        if holders and int(word["block"], 16) != table:
            raise hw.Failure(f"refs of the reader: {word}")

    def of_globals(folder):
        core = kernel_core(program_of(name), folder)
        account = read_account(folder / "account")
        rows = ask("core", "--json", core, "dominators", "--limit", "1000")["dominators"]
        bytes_of = {row.get("symbol"): row["retained_bytes"] for row in rows}
        own = Counter()
        for size, _, _, kind in account.values():
            own[{"flagged": "flags", "noted": "notes"}.get(kind, kind)] += max(24, (size + 8 + 15) // 16 * 16 - 8)
        # The reader has a pointer into the table: it is both's.
        if holders:
            own["table"] = 0
        wrong = {symbol: (bytes_of.get(symbol, 0), wanted) for symbol, wanted in own.items() if bytes_of.get(symbol, 0) != wanted}
        if wrong:
            raise hw.Failure(f"retained, and should be: {wrong}; {rows}")

    tests.add(f"{name}: what leads into a block by chance is none of its holders", by_chance)
    tests.add(f"{name}: it takes nothing from the global that holds the block", of_globals)
    tests.add(f"{name}: for leaks it counts", lambda folder: kinds(name, folder))


def kinds(name, folder):
    core = kernel_core(program_of(name), folder)
    account = read_account(folder / "account")
    found = {int(b["address"], 16): b for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    wrong = Counter(f"{kind} is {found[a]['leak']}" for a, (_, _, leak, kind) in account.items() if found[a]["leak"] != leak)
    if wrong or not account:
        raise hw.Failure(f"{wrong}")


@tests.test
def named_ones_first(folder):
    """What a program names comes before what may be left on a stack, which is said to be that."""
    core = kernel_core(program_of("left"), folder)
    account = read_account(folder / "account")
    (block,) = addresses_of(account, "block")
    (named,) = addresses_of(account, "named")
    roots = [r for r in ask("core", "--json", core, "why", hex(block))["roots"] if r["layer"] == 0]
    kinds = [(r["kind"], r.get("symbol") or r.get("variable")) for r in roots]
    globals_ = [kind for kind in kinds if kind == ("global", "queue")]
    left = [kind for kind in kinds if kind == ("stack", None)]
    if len(globals_) < 2 or len(left) < 100 or kinds[:len(globals_)] != globals_ or kinds[-len(left):] != left:
        raise hw.Failure(f"why of the deque's block: {kinds}")
    roots = [r for r in ask("core", "--json", core, "why", hex(named))["roots"] if r["layer"] == 0]
    variables = [r.get("variable") for r in roots if r["kind"] == "stack"]
    if "mine" not in variables or sorted(variables, key=lambda name: name is None) != variables:
        raise hw.Failure(f"why of the named item: {variables}")
    found = {int(b["address"], 16): b["type"] for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    tables = addresses_of(account, "table")
    if len(tables) != 2 or not all(found[table].startswith("std::deque map") for table in tables) or not found[block].startswith("std::deque block"):
        raise hw.Failure(f"the deque's memory is {[found[table] for table in tables]}, {found[block]}")
    for item in addresses_of(account, "item"):
        lines = hw.run([hw.HEAPWISE, "core", core, "why", hex(item)]).text.splitlines()
        queue = next(i for i, line in enumerate(lines) if "<queue+" in line)
        said = next((i for i, line in enumerate(lines) if "may be left from before" in line), 0)
        if not said or queue > said or any("stack of thread" in line and "mine" not in line for line in lines[:said]):
            raise hw.Failure("\n".join(lines))


@tests.test
def behind_texts(folder):
    """A pointer that is left in the memory of strings and vectors is no holder of what something else holds; for leaks it is."""
    core = kernel_core(program_of("texts"), folder)
    account = read_account(folder / "account")
    blocks = {name: addresses_of(account, name)[0] for name in
              ("table", "alone", "of table", "of alone", "named", "same", "own", "vector", "popped", "element")}
    found = {int(b["address"], 16): b for b in ask("core", "--json", core, "blocks")["blocks"]}
    if any(found[blocks[name]]["type"] != "std::string buffer" for name in ("of table", "of alone")):
        raise hw.Failure(f"strings: {[found[blocks[name]] for name in ('of table', 'of alone')]}")
    if found[blocks["alone"]]["leak"] != "reachable":
        raise hw.Failure(f"what only a string's memory leads to: {found[blocks['alone']]}")
    holders = {}
    for name in ("table", "alone", "own", "popped", "element"):
        why = ask("core", "--json", core, "why", hex(blocks[name]))
        holders[name] = [int(row["example"], 16) for row in why["referrers"] if row["layer"] == 1]
    if holders != {"table": [], "own": [blocks["same"]], "alone": [blocks["of alone"]], "popped": [blocks["vector"]], "element": [blocks["vector"]]}:
        raise hw.Failure(f"holders: {holders} of {blocks}")
    for name, wanted in (("of table", []), ("of alone", [blocks["alone"]]), ("named", []),
                         ("vector", [blocks["element"], blocks["popped"]])):
        refs = ask("core", "--json", core, "refs", hex(blocks[name]))["words"]
        if [int(w["block"], 16) for w in refs if w["is"] == "block" and int(w["block"], 16) != blocks[name]] != wanted:
            raise hw.Failure(f"refs of the string {name}: {refs}")
    vector = ask("core", "--json", core, "show", hex(blocks["vector"]))["blocks"][0]
    if (vector["count"], vector["room"], len(vector["members"])) != (2, 8, 2):
        raise hw.Failure(f"vector: {vector}")
    for verb, name, wanted in (("block", "vector", ", 2 elements, room for 8\n"), ("why", "popped", ", by (after the vector's end), as ")):
        text = hw.run([hw.HEAPWISE, "core", core, verb, hex(blocks[name])]).text
        if wanted not in text:
            raise hw.Failure(f"no '{wanted}' in: {text}")
    rows = {row.get("symbol"): row["retained_bytes"] for row in ask("core", "--json", core, "dominators")["dominators"]}
    sizes = {name: found[address]["size"] for name, address in blocks.items()}
    string = 40  # the object itself
    wanted = {"table": sizes["table"], "of_table": string + sizes["of table"], "of_alone": string + sizes["of alone"] + sizes["alone"],
              "same": sizes["same"] + sizes["own"], "popped": sizes["vector"] + sizes["popped"] + sizes["element"]}
    if {symbol: rows.get(symbol) for symbol in wanted} != wanted:
        raise hw.Failure(f"retained: {rows}, wanted {wanted}")


add_faint("faint", ["reader"])
add_faint("faint_plain", [])

tests.main(sanitized_part=2)
