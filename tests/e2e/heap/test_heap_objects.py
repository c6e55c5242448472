#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects and what lies around them: structures that begin with one, room behind them, arrays of them."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()
# Of a processor; what goes through each member of each structure takes many times that.
PROCESSOR_SECONDS = 60


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
        if kind not in ("zoo::Element[]", "zoo::Roomy with more after it"):
            continue
        block = ask("core", "--json", core, "block", hex(address))
        field, value = ("count", block["size"] // 16) if kind == "zoo::Element[]" else ("behind", block["size"] - 40)
        shown = ask("core", "--json", core, "show", hex(address))["blocks"][0]
        why = ask("core", "--json", core, "why", hex(address))
        if [answer.get(field) for answer in (block, shown, why)] != [value] * 3:
            raise hw.Failure(f"{kind} of {size} bytes: {field} is not {value}: {block}, {shown}, {why}")
        wanted = f"room for {value} elements" if field == "count" else f"of these {value} bytes after the object"
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
    head, *rows = hw.run([hw.HEAPWISE, "core", core, "show", "A"]).text.splitlines()[1:]
    if len(rows) != 2 or any(row[head.index("first")] != "1" for row in rows):
        raise hw.Failure(f"columns: {[head, *rows]}")


# Each class's own members, and what its base has.
VIRTUAL = {"Left": {"left": "22"}, "Right": {"right": "33"}, "Diamond": {"left": "22", "right": "33", "both": "44"},
           "Deep": {"left": "22", "right": "33", "both": "44", "deep": "55"}, "Ground": {}}


def values_of(members):
    """By their last names, each of which stands in one place."""
    values = {}
    for member in members:
        if "value" in member and not member["name"].startswith("_vptr"):
            if member["name"] in values:
                raise hw.Failure(f"twice: {member}")
            values[member["name"]] = member["value"]
        for name, value in values_of(member.get("members", [])).items():
            if name in values:
                raise hw.Failure(f"twice: {name} in {members}")
            values[name] = value
    return values


def need_base(found, kind, wanted):
    """The numbers of the class, and of its base a number and a text that says what the object is."""
    text = found.pop("soil").split(" → ")[0]
    if found != wanted | {"ground": "11"} or f'"zoo::{kind}"' not in text:
        raise hw.Failure(f"{kind}: {found}, {text}")


@tests.test
def virtual_bases(folder):
    """show has members of virtual bases where they lie in each class's objects, and so have words, refs and why"""
    core = kernel_core(program_of("virtual_bases"), folder)
    account = read_account(folder / "account")
    blocks = need_types(account, ask("core", "--json", core, "blocks")["blocks"], 15)
    for kind, wanted in VIRTUAL.items():
        shown = ask("core", "--json", core, "show", f"zoo::{kind}")["blocks"]
        own = [block for block in shown if block["type"] == f"zoo::{kind}"]
        if len(own) != sum(name == f"zoo::{kind}" for _, _, _, name in account.values()):
            raise hw.Failure(f"{kind}: {own}")
        for block in own:
            need_base(values_of(block["members"]), kind, wanted)
        # As they are in objects of derived classes.
        for block in shown:
            need_base(values_of(block["members"]), block["type"].removeprefix("zoo::"), wanted)
    if len(ask("core", "--json", core, "show", "zoo::Left")["blocks"]) != 4 or len(ask("core", "--json", core, "show", "zoo::Ground")["blocks"]) != 6:
        raise hw.Failure("derived objects are missing")
    table = hw.run([hw.HEAPWISE, "core", core, "show", "zoo::Left"]).text.splitlines()
    if len(table) != 6 or any(" 11 " not in row or f'"{row.split()[1]}"' not in row or " 22 " not in row for row in table[2:]):
        raise hw.Failure(f"a table: {table}")
    bare = values_of(ask("core", "--json", core, "show", "zoo::OnBare")["blocks"][0]["members"])
    if bare["on"] != "77" or bare["bare"] != "66" or not bare["more"].split(" ")[1] == '"bare"':
        raise hw.Failure(f"without virtual functions: {bare}")
    held = values_of(ask("core", "--json", core, "show", "zoo::Holder")["blocks"][0]["members"])
    if held["right"] != "33" or held["ground"] != "11" or held["behind"] != "88" or '"held"' not in held["soil"]:
        raise hw.Failure(f"as a member: {held}")
    # The texts that only these members point to.
    for address, (_, _, _, kind) in account.items():
        if kind != "char[]":
            continue
        why = ask("core", "--json", core, "why", hex(address))["referrers"][0]
        if why["member"] not in ("soil", "more", "object.soil"):
            raise hw.Failure(f"who points at 0x{address:x}: {why}")
        refs = ask("core", "--json", core, "refs", why["example"])["words"]
        if not any(word["member"] == why["member"] and int(word["block"], 16) == address for word in refs if word["is"] == "block"):
            raise hw.Failure(f"{why['example']} points at: {refs}")
    if blocks and any(block["leak"] != "reachable" for address, block in blocks.items() if address in account):
        raise hw.Failure("blocks are lost")


@tests.test
def open_ends(folder):
    """What elements of arrays without an end point to is of the types that they declare"""
    with Waiting(program_of("open_ends"), folder) as pid:
        live = ask("heap", "--json", str(pid), "blocks")["blocks"]
        need_types(read_account(folder / "account"), live, 190)
    core = kernel_core(program_of("open_ends"), folder)
    account = read_account(folder / "account")
    found = need_types(account, ask("core", "--json", core, "blocks")["blocks"], 190)
    by = Counter((kind, found[address]["by"]) for address, (_, _, _, kind) in account.items())
    # Text and what is next to it look like nothing; of leaves there are so few that each is declared.
    if set(basis for _, basis in by) != {"declared"}:
        raise hw.Failure(f"by what: {by}")
    # As it is told for who asks about one alone.
    for address, (_, _, _, kind) in account.items():
        if kind == "leaf":
            why = ask("core", "--json", core, "why", hex(address))["referrers"][0]
            if why["target_type"] != "leaf" or not why["member"].endswith("leaf") and not why["member"].startswith(("leaves[", "first")):
                raise hw.Failure(f"why: {why}")


@tests.test
def spellings(folder):
    """A type has one name in all that an answer says; tables of objects with long names stay tables"""
    core = kernel_core(program_of("spellings"), folder)
    account = read_account(folder / "account")
    need_types(account, ask("core", "--json", core, "blocks")["blocks"], 3)
    holder = next(address for address, (_, _, _, kind) in account.items() if kind == "Holder")
    for words in (["show", hex(holder)], ["show", "Holder"], ["why", "Holder"], ["words", hex(holder)], ["show", "Base<std::string>"],
                  ["why", "Base<std::string>"], ["types"], ["refs", hex(holder)]):
        for options in ([], ["--json"]):
            ended = hw.run([hw.HEAPWISE, "core", core, *words, *options])
            # Symbols are as the file has them.
            text = re.sub(r'"symbol": "[^"]*"', "", ended.text)
            if ended.status or "basic_string<" in text or "std::allocator<" in text:
                raise hw.Failure(f"{words}: {[line for line in text.splitlines() if 'basic_string' in line or 'allocator' in line][:3]}, {ended.errors}")
    if "std::vector<std::string> *list" not in hw.run([hw.HEAPWISE, "core", core, "why", "std::vector<std::string>"]).text:
        raise hw.Failure("the variable is not declared as its block is called")
    rows = hw.run([hw.HEAPWISE, "core", core, "show", "Base<std::string>"]).text.splitlines()[1:]
    at = rows[0].index("value")
    kinds = [row[16:].split(" ")[0] for row in rows[1:]]
    if sorted(kinds) != ["…Base<std::string>", "…DerivedWithALongName", "…Other<int>"] or any(row[at:at + 3] != '"a ' for row in rows[1:]):
        raise hw.Failure(f"a table: {rows}")


@tests.test
def without_names(folder):
    """What has no name is told apart by its members, and shown"""
    core = kernel_core(program_of("nameless"), folder)
    account = read_account(folder / "account")
    need_types(account, ask("core", "--json", core, "blocks")["blocks"], 5)
    for kind, wanted in (("struct {number, text}", {"number": "1"}), ("struct {weight, more}", {"weight": "2"}),
                         ("union {whole, text}", {"whole": "3"}), ("struct {one, two, three, four, …}", {"one": "0", "six": "6"})):
        found = values_of(ask("core", "--json", core, "show", kind)["blocks"][0]["members"])
        if wanted.items() - found.items():
            raise hw.Failure(f"{kind}: {found}")


@tests.test
def nested(folder):
    """types of structures in structures in structures: each is looked at once"""
    core = kernel_core(program_of("nested"), folder)
    ended = hw.run(["prlimit", f"--cpu={PROCESSOR_SECONDS}", hw.HEAPWISE, "core", "--json", core, "blocks"])
    if ended.status:
        raise hw.Failure(f"{ended}")
    need_types(read_account(folder / "account"), json.loads(ended.stdout)["blocks"], 1)


tests.main(sanitized_part=2)
