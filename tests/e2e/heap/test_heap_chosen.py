#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which blocks and rows a verb of core and heap is asked for: what matches is what a filter of all blocks in Python
finds, and is counted; options that a verb has no use for are refused."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()
LOST = ("definite", "indirect", "possible")
SMALL = hw.TARGETS / "heaps/heap_small"


def need(found, wanted, what):
    if found != wanted:
        raise hw.Failure(f"{what}: {str(found)[:300]}, not {str(wanted)[:300]}")


def refused(core, *words, status=2):
    ended = hw.run([hw.HEAPWISE, "core", core, *words])
    if ended.status != status or ended.text:
        raise hw.Failure(f"{' '.join(words)}: {ended}")
    return ended.errors


def check(core, everything, words, wanted):
    """Blocks that match, in their order, and how many."""
    answer = ask("core", "--json", core, "blocks", *words)
    blocks = [b for b in everything if wanted(b)]
    need([b["address"] for b in answer["blocks"]], [b["address"] for b in blocks], f"blocks {' '.join(words)}")
    need(answer["matched"], {"blocks": len(blocks), "bytes": sum(b["size"] for b in blocks)}, f"matched of {words}")
    return blocks


@tests.test
def chosen_blocks(folder):
    """By type, size, state, kind of leak, and by conditions on any column; several hold together."""
    core = kernel_core(SMALL, folder)
    account = read_account(folder / "account")
    everything = ask("core", "--json", core, "blocks")["blocks"]
    nodes = check(core, everything, ("--type", "node"), lambda b: b.get("type") == "node")
    need({int(b["address"], 16) for b in nodes}, {a for a, row in account.items() if row[3] == "node"}, "nodes")
    check(core, everything, ("--type", "no*e"), lambda b: b.get("type") == "node")
    check(core, everything, ("--size", "24"), lambda b: b["size"] == 24)
    check(core, everything, ("--size", "1k.."), lambda b: b["size"] >= 1024)
    check(core, everything, ("--size", "..0x20"), lambda b: b["size"] <= 32)
    check(core, everything, ("--size", "100..1K", "--free"), lambda b: 100 <= b["size"] <= 1024 and b["state"] in ("free", "cached"))
    check(core, everything, ("--cached",), lambda b: b["state"] == "cached")
    check(core, everything, ("--used", "--cached"), lambda b: b["state"] in ("used", "cached"))
    lost = check(core, everything, ("--leaked",), lambda b: b.get("leak") in LOST)
    hw.need(len(lost) > 100, f"{len(lost)} lost blocks")
    check(core, everything, ("--leak", "possible,indirect"), lambda b: b.get("leak") in ("possible", "indirect"))
    check(core, everything, ("--leaked", "--size", "48..56"), lambda b: b.get("leak") in LOST and 48 <= b["size"] <= 56)
    check(core, everything, ("--where", "size>48", "--where", "state!=used"), lambda b: b["size"] > 48 and b["state"] != "used")
    check(core, everything, ("--where", "type~od"), lambda b: "od" in b.get("type", ""))
    check(core, everything, ("--where", "leak=inter*",), lambda b: b.get("leak", "").startswith("inter"))
    check(core, everything, ("--where", "size<1"), lambda b: b["size"] < 1)
    middle = everything[len(everything) // 2]
    inside = int(middle["address"], 16) + middle["size"] - 1
    check(core, everything, ("--containing", hex(inside)), lambda b: b is middle)


@tests.test
def order_and_counts(folder):
    """--sort, --limit and --count: a limit shortens the list, not the count."""
    core = kernel_core(SMALL, folder)
    everything = ask("core", "--json", core, "blocks")["blocks"]
    by_size = sorted(everything, key=lambda b: -b["size"])
    found = ask("core", "--json", core, "blocks", "--sort", "size")["blocks"]
    need([b["address"] for b in found], [b["address"] for b in by_size], "by size")
    found = ask("core", "--json", core, "blocks", "--sort", "-address", "--limit", "3")["blocks"]
    need([b["address"] for b in found], [b["address"] for b in everything[:-4:-1]], "from the end")
    # What nothing names, and what has no type, comes behind all names.
    for turned in ("", "-"):
        found = ask("core", "--json", core, "blocks", f"--sort={turned}type")["blocks"]
        late = [2 if not b.get("type") else int(b["type"][0].isdigit()) for b in found]
        need(late, sorted(late), "names first")
        need({0, 1, 2} - set(late), set(), "all kinds of rows")
        names = [b["type"] for b, is_late in zip(found, late) if not is_late]
        need(names, sorted(names, reverse=bool(turned)), "names in order")
    found = ask("core", "--json", core, "blocks", "--used", "--sort", "size", "--limit", "2")
    used = [b for b in everything if b["state"] == "used"]
    need(found["matched"]["blocks"], len(used), "matched beyond the limit")
    need(len(found["blocks"]), 2, "the limit")
    found = ask("core", "--json", core, "blocks", "--type", "node", "--count")
    need((found["blocks"], found["matched"]), ([], {"blocks": 3000, "bytes": 72000}), "--count")
    need(hw.run([hw.HEAPWISE, "core", core, "blocks", "--type", "node", "--count"]).text,
         "3,000 blocks, 70.3 KiB match\n", "--count in text")
    need(ask("core", "--json", core, "blocks", "--count")["matched"],
         {"blocks": len(everything), "bytes": sum(b["size"] for b in everything)}, "all")
    text = hw.run([hw.HEAPWISE, "core", core, "blocks", "--type", "node", "--limit", "1"]).text
    need(text.splitlines()[-1], "3,000 blocks, 70.3 KiB match", "the last line")
    need(text.count("\n"), 3, "lines")


@tests.test
def by_pointers(folder):
    """Who points to whom, in both directions, from blocks and from globals; in a process as well."""
    with Waiting(SMALL, folder) as pid:
        nodes = [a for a, row in read_account(folder / "account").items() if row[3] == "node"]
        for node in (nodes[10], nodes[-1]):
            refs = ask("heap", "--json", str(pid), "refs", hex(node))["words"]
            held = ask("heap", "--json", str(pid), "blocks", "--referenced-by", hex(node + 8))["blocks"]
            need({b["address"] for b in held}, {w["block"] for w in refs if w["is"] == "block"}, "held")
            for block in held:
                holders = ask("heap", "--json", str(pid), "blocks", "--references", block["address"])["blocks"]
                hw.need(hex(node) in [b["address"] for b in holders], f"{hex(node)} is no holder of {block}: {holders}")
        root = next(r for r in ask("heap", "--json", str(pid), "why", hex(nodes[-1]))["roots"] if r["kind"] == "global")
        held = ask("heap", "--json", str(pid), "blocks", "--referenced-by", root["address"])["blocks"]
        need([b["address"] for b in held], [root["target"]], "held by a global")


@tests.test
def chosen_rows(folder):
    """Tables of types, dominators, mappings and arenas are ordered and chosen from."""
    core = kernel_core(SMALL, folder)
    everything = ask("core", "--json", core, "blocks")["blocks"]
    lost = [b for b in everything if b.get("leak") in LOST and b["size"] >= 48]
    answer = ask("core", "--json", core, "types", "--leaked", "--size", "48..")
    sums = {}
    for block in lost:
        of = sums.setdefault(block["type"], [0, 0])
        of[0] += 1
        of[1] += block["size"]
    need({t["name"]: [t["blocks"], t["bytes"]] for t in answer["types"]}, sums, "types of what is lost")
    need((answer["matched"], answer["matched_types"]),
         ({"blocks": len(lost), "bytes": sum(b["size"] for b in lost)}, len(sums)), "sums of types")
    types = ask("core", "--json", core, "types")["types"]
    found = ask("core", "--json", core, "types", "--sort", "blocks", "--where", "blocks>=2")["types"]
    need([t["name"] for t in found], [t["name"] for t in sorted(types, key=lambda t: -t["blocks"]) if t["blocks"] >= 2], "types")
    rows = ask("core", "--json", core, "dominators")["dominators"]
    found = ask("core", "--json", core, "dominators", "--where", "kind=global", "--sort", "symbol")
    need([r["symbol"] for r in found["dominators"]], sorted(r["symbol"] for r in rows if r["kind"] == "global"), "dominators")
    need(found["matched"]["rows"], len(found["dominators"]), "dominators that match")
    maps = ask("core", "--json", core, "maps")["maps"]
    found = ask("core", "--json", core, "maps", "--where", "kind=code", "--sort", "-bytes")["maps"]
    need([m["bytes"] for m in found], sorted(m["bytes"] for m in maps if m["kind"] == "code"), "mappings")
    hw.need(found, "no code")
    arenas = ask("core", "--json", core, "fragmentation", "--where", "used>1g")
    need((arenas["arenas"], arenas["matched"]), ([], {"rows": 0}), "arenas")
    alone = ask("core", "--json", core, "alone", "--size", "..100")
    everyone = ask("core", "--json", core, "alone")["alone"]
    need([b["address"] for b in alone["alone"]], [b["address"] for b in everyone if b["size"] <= 100], "alone")
    for words, wanted in (((), {"definitely", "possibly"}), (("--leak", "possible"), {"possibly"}),
                          (("--leaked",), {"definitely", "possibly", "indirectly"})):
        places = hw.run([hw.HEAPWISE, "core", core, "leaks", "--limit", "2000", *words]).text.split("\nTypes\n")[1]
        found = {line.split()[0] for line in places.splitlines() if " lost " in line}
        need(found, wanted, f"places of leaks {' '.join(words)}")


@tests.test
def refusals(folder):
    """What makes no sense is refused, with the words that help."""
    core = kernel_core(SMALL, folder)
    for words, message in (
            (("leaks", "--size", "3"), "leaks doesn't accept --size (help leaks)"),
            (("words", "0x10", "--sort", "size"), "words doesn't accept --sort"),
            (("blocks", "--sort", "age"), "no column 'age'; it has address, size, state, leak, type"),
            (("blocks", "--where", "size"), "'size' is no condition"),
            (("blocks", "--where", "size>many"), "is no condition"),
            (("blocks", "--where", "type>node"), "is no condition"),
            (("blocks", "--where", "age=3"), "no column 'age'"),
            (("blocks", "--size", "5..2"), "invalid --size"),
            (("blocks", "--size", ".."), "invalid --size"),
            (("blocks", "--size", "3x"), "invalid --size"),
            (("blocks", "--leak", "maybe"), "invalid --leak 'maybe': expected a list of definite"),
            (("blocks", "--containing", "here"), "invalid --containing 'here': expected an address"),
            (("blocks", "--type", "nod"), "'nod' is neither"),
            (("--sort", "size"), "summary doesn't accept --sort")):
        hw.need(message in refused(core, *words), f"{words}: no {message!r}: {refused(core, *words)}")
    hw.need("matches 'nix*'" in refused(core, "blocks", "--type", "nix*", status=3), "a pattern that nothing fits")
    refused(core, "blocks", "--references", "0x10", status=3)
    refused(core, "blocks", "--referenced-by", "0x10", status=3)


def as_csv(value):
    """A value of JSON as the same cell has it in CSV."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


@tests.test
def forms_of_tables(folder):
    """CSV has the rows of JSON, chosen and sorted alike; each document has its own name, and of one release the old one."""
    core = kernel_core(SMALL, folder)
    for verb, member in (("types", "types"), ("blocks", "blocks"), ("maps", "maps"), ("alone", "alone"),
                         ("fragmentation", "arenas"), ("dominators", "dominators"), ("threads", "threads")):
        document = ask("core", "--json", core, verb)
        need(document["schema"], f"heapwise.heap-{verb}/1", "schema")
        before = ask("core", "--json=1", core, verb)
        need(before["schema"], "heapwise.heap/1", "schema of before")
        need({k: v for k, v in before.items() if k != "schema"}, {k: v for k, v in document.items() if k != "schema"}, verb)
        rows = list(csv.DictReader(hw.run([hw.HEAPWISE, "core", "--csv", core, verb]).text.splitlines()))
        need(len(rows), len(document[member]), f"rows of {verb}")
        for row, found in zip(rows, document[member]):
            plain = {k: as_csv(v) for k, v in found.items() if not isinstance(v, (list, dict))}
            need({k: row[k] for k in plain if k in row}, {k: v for k, v in plain.items() if k in row}, f"{verb} as CSV")
        some = ask("core", "--json", core, verb, "--limit", "1")[member]
        need(len(some), min(1, len(document[member])), f"rows of {verb} with --limit 1")
    address = ask("core", "--json", core, "blocks", "--type", "node")["blocks"][0]["address"]
    for words, schema in ((("block", address), "block"), (("words", address), "words"), (("refs", address), "refs"),
                          (("why", address), "why"), (("show", address), "show"), (("find", address), "find"),
                          (("layout", "node"), "layout"), (("type", "node"), "holders"), (("summary",), "summary"),
                          (("hexdump", address), "hexdump"), (("strings", address), "strings"), (("follow", "node.next"), "follow")):
        need(ask("core", "--json", core, *words)["schema"], f"heapwise.heap-{schema}/1", f"{words}")
        need(ask("core", "--json=1", core, *words)["schema"], "heapwise.heap/1", f"{words} of before")
    for words, inner, member in ((("why", address), None, "referrers"), (("layout", "node"), None, "members"),
                                 (("show", "node"), None, "blocks"), (("show", address), "blocks", "members"),
                                 (("leaks",), "leaks", "records")):
        document = ask("core", "--json", core, *words)
        document = document[inner] if inner else document
        found = (document[0] if isinstance(document, list) else document)[member]
        rows = list(csv.DictReader(hw.run([hw.HEAPWISE, "core", "--csv", core, *words]).text.splitlines()))
        need(len(rows), len(found), f"rows of {words}")
        for row, one in zip(rows, found):
            plain = {k: as_csv(v) for k, v in one.items() if not isinstance(v, (list, dict)) and k in row}
            need({k: row[k] for k in plain}, plain, f"{words} as CSV")
    block = ask("core", "--json", core, "block", address)
    rows = list(csv.DictReader(hw.run([hw.HEAPWISE, "core", "--csv", core, "block", address]).text.splitlines()))
    hw.need(len(rows) == 1 and rows[0]["address"] == address, f"block: {rows}")
    need({k: v for k, v in rows[0].items() if v}, {k: as_csv(block[k]) for k in rows[0] if k in block}, "block as CSV")
    members = ask("core", "--json", core, "type", "node")["members"]
    rows = list(csv.DictReader(hw.run([hw.HEAPWISE, "core", "--csv", core, "type", "node"]).text.splitlines()))
    hw.need(members, "nothing points to a node")
    need([row["members"] for row in rows], members, "type as CSV")
    words = ("blocks", "--where", "size>=48", "--sort", "size", "--limit", "5")
    rows = list(csv.DictReader(hw.run([hw.HEAPWISE, "core", "--csv", core, *words]).text.splitlines()))
    need([row["address"] for row in rows], [b["address"] for b in ask("core", "--json", core, *words)["blocks"]], "sorted")
    hw.need("invalid version of JSON '2': expected 1" in refused(core, "--json=2", "blocks"), "a version that there is not")


@tests.test
def trees_of_dominators(folder):
    """In text each row stands as deep as the rows that it hangs on say in JSON; verbs without a table take no --csv."""
    core = kernel_core(SMALL, folder)
    rows = ask("core", "--json", core, "dominators", "--limit", "100")["dominators"]
    depths = []
    for row in rows:
        depth = 0
        while row["below"] is not None:
            row = rows[row["below"]]
            depth += 1
        depths.append(min(depth, 20))
    lines = hw.run([hw.HEAPWISE, "core", core, "dominators", "--limit", "100"]).text.splitlines()[1:]
    shown = [line[12:] for line in lines if "… " not in line and line[:10].strip() and line[8:10] in (" B", "iB")]
    need(sorted((len(line) - len(line.lstrip())) // 2 for line in shown), sorted(depths), "depths")
    hw.need(sum(depth > 0 for depth in depths) > 1, f"{depths}")
    for words in (("dump", "0x10", "16", folder / "page"), ("save", folder / "saved")):
        hw.need("no table" in refused(core, "--csv", *words), f"{words}")
    hw.need("exclude each other" in refused(core, "--csv", "--count", "types"), "--csv --count")


@tests.test
def help_of_verbs(folder):
    """Each verb's help has its options and an example, whichever way it is asked for."""
    for words in (("--help", "blocks"), ("blocks", "--help"), ("help", "blocks"), ("some.core", "blocks", "-h")):
        for command in ("core", "heap"):
            text = hw.run([hw.HEAPWISE, command, *words]).text
            for part in ("blocks [OPTION…]", "--containing ADDR", "Example: blocks", "address, size, state, leak, type"):
                hw.need(part in text, f"{command} {words}: no {part!r} in {text}")
    text = hw.run([hw.HEAPWISE, "core", "--help", "refs"]).text
    hw.need("--containing" not in text and "ADDR" in text, text)


tests.main(width=2)
