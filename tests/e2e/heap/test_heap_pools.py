#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pools: blocks that a program gives out piece by piece are named by the pointers into them, and lead on to others. What
only looks like one is not called so."""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, gcore, kernel_core, members_of, read_account  # noqa: E402

tests = hw.Tests()

PROGRAM = hw.TARGETS / "heaps/heap_pools"
UNKNOWN = r"text|\d+ bytes(, pointers (throughout|at( \d+)+( of every \d+)?))?"
NAMES = {"?": UNKNOWN, "stack of rec": r"pool of (_obstack_chunk and )?rec"}
ADDRESS = re.compile(r"0x[0-9a-f]+")


def compare(account, blocks):
    found = {int(b["address"], 16): b for b in blocks if b["state"] == "used"}
    wrong, seen = Counter(), Counter()
    for address, (_, used, _, kind) in account.items():
        block = found.get(address, {"type": "not there", "leak": "?"})
        seen[kind] += used
        if used and not re.fullmatch(NAMES.get(kind, re.escape(kind)), block["type"]):
            wrong[f"'{kind}' is called '{block['type']}'"] += 1
        # All that leads into a pool leads to one of its structures.
        if used and kind != "?" and block["leak"] != "reachable":
            wrong[f"'{kind}' is {block['leak']}"] += 1
    if wrong or len(+seen) != 9:
        raise hw.Failure(f"of {len(+seen)} kinds: " + "; ".join(f"{n} times: {what}" for what, n in wrong.most_common(8)))


def first_of(account, kind):
    return next(f"0x{address:x}" for address, (_, used, _, of) in account.items() if used and of == kind)


@tests.test
def names(folder):
    """Of a kernel's core, of one by gcore, and of the process."""
    (folder / "crashed").mkdir()
    core = kernel_core(PROGRAM, folder / "crashed")
    compare(read_account(folder / "crashed/account"), ask("core", "--json", core, "blocks")["blocks"])
    with Waiting(PROGRAM, folder) as pid:
        core = gcore(pid, folder)
        live = ask("heap", "--json", str(pid), "blocks")["blocks"]
    account = read_account(folder / "account")
    compare(account, live)
    compare(account, ask("core", "--json", core, "blocks")["blocks"])


@tests.test
def evidence(folder):
    """How many places pointers lead to, and how far they are from each other."""
    core = kernel_core(PROGRAM, folder)
    account = read_account(folder / "account")
    for kind, wanted in (("pool of rec", [{"type": "rec", "places": 70, "step": 40}]),
                         ("pool of tag", [{"type": "tag", "places": 150, "step": 24}]),
                         ("chunk", [{"type": "rec", "places": 30, "step": 56}]),
                         ("pool of rec and shape", [{"type": "rec", "places": 40}, {"type": "shape", "places": 40}])):
        address = first_of(account, kind)
        for verb in ("block", "words", "why"):
            found = ask("core", "--json", core, verb, address).get("pool")
            if found != wanted:
                raise hw.Failure(f"{verb} of a {kind}: {found}")
    for kind, said in (("pool of rec", "pointers to rec lead to 70 places in it, at multiples of 40 bytes"),
                       ("pool of rec and shape", "pointers to rec lead to 40 places in it, to shape to 40")):
        for verb in ("block", "why", "refs", "show"):
            shown = hw.run([hw.HEAPWISE, "core", core, verb, first_of(account, kind)])
            if said not in shown.text:
                raise hw.Failure(f"{verb}: '{said}' is not said: {shown}")
    plain = ask("core", "--json", core, "block", first_of(account, "?"))
    if "pool" in plain:
        raise hw.Failure(f"no pool: {plain}")


@tests.test
def contents(folder):
    """What lies in a pool is shown with its members, all of it or what an address in it is in."""
    core = kernel_core(PROGRAM, folder)
    account = read_account(folder / "account")
    pool = first_of(account, "pool of rec")
    block = ask("core", "--json", core, "show", pool)["blocks"][0]
    if len(block["members"]) != 70 or block["members"][1]["offset"] != 56 or members_of(block["members"][1])["number"] != "1":
        raise hw.Failure(f"a pool: {str(block)[:500]}")
    inside = f"0x{int(pool, 16) + 16 + 3 * 40 + 8:x}"
    block = ask("core", "--json", core, "show", inside)["blocks"][0]
    if len(block["members"]) != 1 or members_of(block)["number"] != "3" or '"record 3"' not in members_of(block)["name"]:
        raise hw.Failure(f"one of a pool: {str(block)[:500]}")
    words = ask("core", "--json", core, "words", pool)["words"]
    if words[3]["member"] != "rec at 16, its name" or words[7]["into_member"] != "rec at 16, its next":
        raise hw.Failure(f"words: {words[:8]}")
    name = words[3]["value"]
    why = hw.run([hw.HEAPWISE, "core", core, "why", name]).text
    if "pool of rec, by rec at 16, its name" not in why:
        raise hw.Failure(f"why: {why}")
    all_of = ask("core", "--json", core, "show", "pool of rec", "--limit", "3")["blocks"]
    if len(all_of) != 3 or any(len(b["members"]) != 3 for b in all_of):
        raise hw.Failure(f"all pools: {str(all_of)[:500]}")
    ended = hw.run([hw.HEAPWISE, "core", core, "show", "tag"])
    if ended.status != 3 or "it lies in 1 pool" not in ended.errors or "pool of tag" not in ended.errors:
        raise hw.Failure(f"a type that only pools have: {ended}")


def need_names(program, folder, wanted):
    """Each block is called what `wanted` says of its kind."""
    core = kernel_core(program, folder)
    found = {int(b["address"], 16): b["type"] for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    wrong, seen = Counter(), set()
    for address, (size, _, _, kind) in read_account(folder / "account").items():
        seen.add(kind)
        if not re.fullmatch(wanted(kind), found[address]):
            wrong[f"'{kind}' of {size} bytes is called '{found[address]}'"] += 1
    if wrong or len(seen) < 4:
        raise hw.Failure(f"of {len(seen)} kinds: " + "; ".join(f"{n} times: {what}" for what, n in wrong.most_common(8)))


@tests.test
def headers(folder):
    """A chunk that begins with a header and has records behind it, or texts, is no array of its header; arrays are some."""
    def wanted(kind):
        header, _, what = kind.partition(" ")
        if what in ("texts", "hidden"):
            return UNKNOWN
        one, other = sorted((header, "rec"))
        return re.escape(kind) if not what else f"{what}|pool of {one} and {other}" if what == "pool of rec" else what
    need_names(hw.TARGETS / "heaps/heap_chunks", folder, wanted)


@tests.test
def arenas(folder):
    """So it is of objects that C++ makes in place, also where a header's last word could be their number."""
    need_names(hw.TARGETS / "heaps/heap_arenas", folder, re.escape)


@tests.test
def at_an_address(folder):
    """`show --as` of an address in a pool begins there, `type` says the pool or what lies there."""
    core = kernel_core(PROGRAM, folder)
    pool = first_of(read_account(folder / "account"), "pool of rec")
    inside = f"0x{int(pool, 16) + 16 + 3 * 40:x}"
    block = ask("core", "--json", core, "show", inside, "--as", "struct rec")["blocks"][0]
    if block["at"] != 136 or members_of(block)["number"] != "3" or block["as"] != "struct rec":
        raise hw.Failure(f"a record in a pool: {str(block)[:500]}")
    shown = hw.run([hw.HEAPWISE, "core", core, "show", inside, "--as", "struct rec"]).text
    if "as struct rec at 136" not in shown or '"record 3"' not in shown:
        raise hw.Failure(f"a record in a pool: {shown}")
    last = f"0x{int(pool, 16) + 4000 - 8:x}"
    ended = hw.run([hw.HEAPWISE, "core", core, "show", last, "--as", "struct rec"])
    if ended.status != 3 or "from there on" not in ended.errors:
        raise hw.Failure(f"nothing so large is there: {ended}")
    for word in (pool, "pool of rec"):
        said = ask("core", "--json", core, "type", word)
        text = hw.run([hw.HEAPWISE, "core", core, "type", word]).text
        if said["type"] != "pool of rec" or said["pool"][0]["type"] != "rec" or "candidates" in said or \
                "pool of rec, pointers to rec lead to 70 places in it" not in text:
            raise hw.Failure(f"type {word}: {said} {text}")
    said = ask("core", "--json", core, "type", inside)
    if said["type"] != "struct rec" or "struct owner.first" not in said["members"]:
        raise hw.Failure(f"type of a record in a pool: {said}")


@tests.test
def followed(folder):
    """`follow` begins at what lies in pools, and goes on to it, also to what a pool begins with."""
    (folder / "chunks").mkdir()
    core = kernel_core(PROGRAM, folder)
    account = read_account(folder / "account")
    pool = int(first_of(account, "pool of rec"), 16)
    for path, blocks, objects in (("rec.name", 30, 1890), ("shape.rec.name", 1, 40), ("pool of tag.right", 1, 149),
                                  (f"0x{pool + 136:x}.next*", 1, 4), (f"0x{pool:x}.name", 1, 70)):
        found = ask("core", "--json", core, "follow", path)
        if (found["from_blocks"], found["objects"]) != (blocks, objects):
            raise hw.Failure(f"follow {path}: {str(found)[:200]}, not {objects} from {blocks}")
    core = kernel_core(hw.TARGETS / "heaps/heap_chunks", folder / "chunks")
    found = ask("core", "--json", core, "follow", "six.prev*")
    if (found["from_blocks"], found["objects"]) != (18, 18):
        raise hw.Failure(f"headers of pools: {str(found)[:300]}")


@tests.test
def parts(folder):
    """An address amid an array is that element, amid a pool what lies there, whatever its block begins with; where
    nothing is known to lie nothing is followed or shown."""
    (folder / "pools").mkdir()
    core = kernel_core(hw.TARGETS / "heaps/heap_chunks", folder)
    array = int(first_of(read_account(folder / "account"), "rec[]"), 16)
    block = ask("core", "--json", core, "show", f"{array + 5 * 24:#x}", "--as", "struct rec")["blocks"][0]
    if block["at"] != 120 or members_of(block)["number"] != "5":
        raise hw.Failure(f"an element: {str(block)[:500]}")
    if "as struct rec at 120" not in hw.run([hw.HEAPWISE, "core", core, "show", f"{array + 120:#x}", "--as", "struct rec"]).text:
        raise hw.Failure("where the element lies is not said")
    found = ask("core", "--json", core, "follow", f"{array + 5 * 24:#x}.next")
    if (found["from_blocks"], found["objects"]) != (1, 1):
        raise hw.Failure(f"from an element: {str(found)[:300]}")
    ended = hw.run([hw.HEAPWISE, "core", core, "follow", f"{array + 30 * 24:#x}.next"])
    if ended.status != 3 or "nothing that is known lies at" not in ended.errors:
        raise hw.Failure(f"behind the last: {ended}")
    core = kernel_core(PROGRAM, folder / "pools")
    account = read_account(folder / "pools/account")
    place = int(first_of(account, "pool of rec"), 16) + 8
    for verb, what in (("follow", f"{place:#x}.next"), ("show", f"{place:#x}")):
        ended = hw.run([hw.HEAPWISE, "core", core, verb, what])
        if ended.status != 3 or "nothing that is known lies at" not in ended.errors:
            raise hw.Failure(f"{verb}, before the first of a pool: {ended}")
    block = ask("core", "--json", core, "show", f"{int(first_of(account, 'chunk'), 16) + 16 + 3 * 56:#x}")["blocks"][0]
    if len(block["members"]) != 1 or members_of(block["members"][0])["number"] != "3":
        raise hw.Failure(f"a record in a chunk: {str(block)[:500]}")


@tests.test
def arrays_alone(folder):
    """`follow` begins at elements of arrays where a type has no blocks of its own."""
    core = kernel_core(hw.TARGETS / "heaps/heap_bounds", folder)
    found = ask("core", "--json", core, "follow", "entry.next")
    if (found["from_blocks"], found["objects"], found["nulls"]) != (1, 999, 1):
        raise hw.Failure(f"follow entry.next: {str(found)[:300]}")


@tests.test
def doubled(folder):
    """Types that have others in them without end are looked through so far, and it is said that there was more."""
    core = kernel_core(hw.TARGETS / "heaps/heap_doubled", folder)
    found = ask("core", "--json", core, "types")
    if "type-members" not in found.get("partial", []) or \
            not any(one["name"] == "pool of rec" for one in found["types"]):
        raise hw.Failure(f"types: {str(found)[:600]}")


tests.main()
