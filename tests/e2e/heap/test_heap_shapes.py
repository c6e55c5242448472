#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Types that are hard to read: those of type units, pointers to members, arrays without an end, what templates keep;
and names of types as people write them."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, gcore, kernel_core, need_member_pointers, read_account  # noqa: E402

tests = hw.Tests()


def program_of(name):
    return hw.TARGETS / f"heaps/heap_{name}"


def names_of(members, prefix=""):
    """path: value"""
    values = {}
    for member in members:
        path = prefix + ("" if member["name"].startswith("[") or not prefix else ".") + member["name"]
        if "value" in member:
            values[path] = member["value"]
        values |= names_of(member.get("members", []), path)
    return values


def show(core, what, *options):
    blocks = ask("core", "--json", core, "show", what, *options)["blocks"]
    return [(block, names_of(block["members"])) for block in blocks]


def need(found, wanted, of):
    wrong = {name: (found.get(name), value) for name, value in wanted.items() if found.get(name) != value}
    if wrong:
        raise hw.Failure(f"{of} (found, wanted): {wrong}; all: {str(found)[:2000]}")


def add(name):
    program = program_of(name)

    def namespaces(folder):
        core = kernel_core(program, folder)
        account = read_account(folder / "account")
        found = {int(b["address"], 16): b for b in ask("core", "--json", core, "blocks")["blocks"]}
        wrong = Counter((kind, found[a]["type"]) for a, (_, _, _, kind) in account.items() if found[a]["type"] != kind)
        if wrong:
            raise hw.Failure(f"(is, is called): {wrong}")
        types = {t["name"] for t in ask("core", "--json", core, "types")["types"]}
        for kind in ("std::list node of geo::Point", "std::deque block of geo::Point", "std::vector buffer of std::vector<int>",
                     "std::unordered node of std::pair<const int, std::string>"):
            if kind not in {t.replace(" >", ">").replace("int const", "const int") for t in types}:
                raise hw.Failure(f"no {kind} in {types}")
        layout = ask("core", "--json", core, "layout", "geo::Circle")
        if [(m["name"], m["type"]) for m in layout["members"]][:2] != [("next", "geo::Circle *"), ("style", "geo::Circle::Style *")]:
            raise hw.Failure(f"layout: {layout}")
        if layout["size"] != 88 or ask("core", "--json", core, "layout", "chart::Style")["size"] != 24:
            raise hw.Failure(f"sizes: {layout}")

    def enumerations(folder):
        core = kernel_core(program, folder)
        values = ask("core", "--json", core, "layout", "geo::Circle::Mode")["values"]
        if values != [{"name": "SLOW", "value": 3}, {"name": "AUTOMATIC", "value": 200}]:
            raise hw.Failure(f"values: {values}")
        text = hw.run([hw.HEAPWISE, "core", core, "layout", "geo::Circle::Mode"]).text
        if "{SLOW = 3, AUTOMATIC = 200}  /* 1 byte */" not in text:
            raise hw.Failure(f"layout: {text}")
        for _, values in show(core, "geo::Circle"):
            need(values, {"kind": "FILLED", "mode": "AUTOMATIC", "other_mode": "0"}, "a circle")

    def pointers_to_members(folder):
        core = kernel_core(program, folder)
        members = {m["name"]: (m["type"], m["size"]) for m in ask("core", "--json", core, "layout", "chart::Axis")["members"]}
        if members["field"] != ("int geo::Point::*", 8) or members["measure"][1] != 16 or "geo::Circle::*)(int)" not in members["measure"][0]:
            raise hw.Failure(f"layout: {members}")
        for block, values in show(core, "chart::Axis"):
            if values["field"] != "4 (y)" or "geo::Circle::area" not in values["measure"]:
                raise hw.Failure(f"{block['address']}: {values['field']}, {values['measure']}")
            words = ask("core", "--json", core, "words", block["address"])["words"]
            if [w["member"] for w in words[:5]] != ["next", "style", "field", "measure", "measure"]:
                raise hw.Failure(f"words: {words[:5]}")

    def arrays(folder):
        core = kernel_core(program, folder)
        wanted = {f"corners[{i}].y": str(-i) for i in range(20)}
        steps = "{" + ", ".join(["0"] * 29 + ["29"]) + "}"
        wanted |= {"ticks": "{{0, 0, 0, 0}, {10, 0, 0, 0}, {0, 0, 0, 23}}", "label": '"x-label"', "steps": steps}
        for _, values in show(core, "chart::Axis"):
            need(values, wanted, "an axis")
        account = read_account(folder / "account")
        for address, (size, _, _, kind) in account.items():
            if kind != "chart::Series":
                continue
            block, values = show(core, hex(address))[0]
            count = (size - 16 + 4) // 8
            found = [v for path, v in values.items() if path.startswith("points[") and path.endswith(".x")]
            if int(values["count"]) > len(found) or found[:count - 1] != [str(i) for i in range(count - 1)] or len(found) > count + 2:
                raise hw.Failure(f"{size} bytes: {len(found)} points, {values}")
            cut = ask("core", "--json", core, "show", hex(address), "--limit", "3")["blocks"][0]["members"][2]
            if len(cut["members"]) != 3 or cut["more"] != len(found) - 3:
                raise hw.Failure(f"--limit 3: {cut}")
        text = hw.run([hw.HEAPWISE, "core", core, "show", "chart::Axis", "--limit", "1"]).text
        if "… 12 more" not in text and "… 22 more" not in text:
            raise hw.Failure(f"a table: {text}")

    def contents(folder):
        core = kernel_core(program, folder)
        titles = sorted(values["title"] for _, values in show(core, "geo::Circle"))
        if titles != ['"a circle whose title is not short"'] * 4 + ['"short"'] * 4:
            raise hw.Failure(f"strings: {titles}")
        types = [t["name"] for t in ask("core", "--json", core, "types")["types"]]
        asked = 0
        for kind in types:
            if "unordered node of std::pair<" in kind:
                found = sorted((v["_M_storage.first"], v["_M_storage.second"]) for v in (
                    {path[path.index("_M_storage"):]: value for path, value in values.items() if "_M_storage" in path}
                    for _, values in show(core, kind)))
                if found != [(str(i), '"word"') for i in range(5)]:
                    raise hw.Failure(f"{kind}: {found}")
                asked += 1
            elif "map/set node of std::pair<" in kind:
                found = sorted((values["_M_storage.first"], values["_M_storage.second"]) for _, values in show(core, kind))
                if found != [('"somebody whose name is long"', "41"), ('"somebody"', "40")]:
                    raise hw.Failure(f"{kind}: {found}")
                asked += 1
            elif "list node of geo::Point" in kind:
                found = sorted((values["_M_storage.x"], values["_M_storage.y"]) for _, values in show(core, kind))
                if found != [(str(i), "7") for i in range(5)]:
                    raise hw.Failure(f"{kind}: {found}")
                asked += 1
            elif "deque block of geo::Point" in kind:
                need(show(core, kind)[0][1], {f"[{i}].x": str(i) for i in range(5)} | {"[4].y": "9"}, kind)
                asked += 1
        if asked != 4:
            raise hw.Failure(f"of {types} only {asked} were looked at")

    def names(folder):
        core = kernel_core(program, folder)
        for written, whole in (("Circle", "geo::Circle"), ("Circle::Style", "geo::Circle::Style"), ("struct Series", "chart::Series"),
                               ("std::vector<int>", "std::vector<int, std::allocator<int> >"),
                               ("vector< vector<geo::Point> >", None), ("vector<geo::Point>", "std::vector<geo::Point, std::allocator<geo::Point> >"),
                               ("std::list<geo::Point>", "std::__cxx11::list<geo::Point, std::allocator<geo::Point> >")):
            ended = hw.run([hw.HEAPWISE, "core", core, "--json", "layout", written])
            if whole is None:
                if ended.status != 3 or "no type" not in ended.errors:
                    raise hw.Failure(f"{written}: {ended}")
            elif ended.status or f'"type": "{whole}"' not in ended.stdout.decode():
                raise hw.Failure(f"{written} is not {whole}: {ended}")
        ended = hw.run([hw.HEAPWISE, "core", core, "layout", "Style"])
        if ended.status != 3 or "2 types: chart::Style, geo::Circle::Style" not in ended.errors:
            raise hw.Failure(f"several: {ended}")

    tests.add(f"{name}: layout takes names as people write them", names)
    tests.add(f"{name}: types have the namespaces that they are declared in", namespaces)
    tests.add(f"{name}: values of enumerations without a sign have none", enumerations)
    tests.add(f"{name}: pointers to members are no pointers to blocks", pointers_to_members)
    tests.add(f"{name}: arrays are shown with all elements, those without an end as far as the block goes", arrays)
    tests.add(f"{name}: what containers keep in bytes is shown as what it is, strings as text", contents)


@tests.test
def pointers_of_each_kind(folder):
    """Pointers to members: none, of data, of bases, of functions, virtual ones, of a base that lies further on"""
    program = program_of("members")
    with Waiting(program, folder) as pid:
        need_member_pointers(program, gcore(pid, folder))


# As long as the names in the debug information whose places they take; \x9b is ESC [ in 8 bits.
MEMBER, TYPE = b"na\x1b[31m\n\a\r\x9b\x7fmbrs", b"Na\x1b[2J\n\tATY"
CONTROL = set(range(32)) - {ord("\n")} | set(range(127, 160))


def show_nothing_else(name, text):
    """No control character but the ends of lines."""
    found = CONTROL & {ord(c) for c in text}
    if found:
        raise hw.Failure(f"{name}: {found} in {text[:300]!r}")


@tests.test
def control_characters(folder):
    """Names with control characters in the debug information: no view sends these to a terminal, none breaks its lines"""
    program = program_of("members")
    with Waiting(program, folder) as pid:
        core = gcore(pid, folder)
    plain = program.read_bytes()
    other = folder / program.name
    other.write_bytes(plain.replace(b"name_of_a_member\0", MEMBER + b"\0").replace(b"NameOfAType\0", TYPE + b"\0"))
    address = next(hex(a) for a, row in read_account(folder / "account").items() if row[3] == "named")
    for verb in (["show", address], ["layout", "TYPE"], ["show", "TYPE"], ["words", address], ["block", address], ["why", address],
                 ["why", "TYPE"], ["refs", address], ["type", "TYPE"], ["types"], ["blocks"], ["dominators"], ["summary"], ["show", "x\x1by"]):
        usual = hw.run([hw.HEAPWISE, "core", "--exe", program, core, *["NameOfAType" if w == "TYPE" else w for w in verb]])
        words = [TYPE if w == "TYPE" else w for w in verb]
        ended = hw.run([hw.HEAPWISE, "core", "--exe", other, core, *words])
        if ended.status != usual.status or ended.stdout.count(b"\n") != usual.stdout.count(b"\n"):
            raise hw.Failure(f"{verb}: {usual.text}, and with control characters: {ended.text!r}, {ended.errors!r}")
        if b"NameOfAType" in usual.stdout and ended.stdout == usual.stdout:
            raise hw.Failure(f"{verb}: the names are the usual ones: {ended.text}")
        show_nothing_else(verb, ended.stdout.decode())
        show_nothing_else(verb, ended.stderr.decode())
        if not ended.status:
            show_nothing_else(verb, hw.run([hw.HEAPWISE, "core", "--json", "--exe", other, core, *words]).stdout.decode())


for each in ("shapes", "shapes_units", "shapes_units4", "shapes_clang"):
    if program_of(each).exists():
        add(each)

tests.main(sanitized_part=2)
