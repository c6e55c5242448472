#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`show` has containers and the like as what they hold (targets/heaps/cxx/values.cc): as values, in JSON beside the
library's own members, and with --raw as these alone. `find` says where bytes stand."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()
LONG = "x" * 60
BITS = "".join("1" if i % 3 == 0 else "0" for i in range(70))
WANTED = {
    "text": '"short"', "long_text": f'"{LONG}"… (203 bytes)', "no_text": '""', "view": '"hor"',
    "wide": f'"{"w" * 60}"… (70 characters)', "short_wide": '"\\u20ac1"', "no_wide": '""', "of_16": '"16 bits each, \\U0001f600 32"',
    "of_32": '"32 \\U0001f600"',
    "ids": f"[20]{{{', '.join(str(i * i) for i in range(20))}}}", "no_ids": "[0]{}",
    "names": '[2]{"one", "a name that is longer than fifteen"}', "rows": "[3]{[2]{1, 2}, [0]{}, [1]{3}}",
    "points": "[2]{{1, 1.5}, {2, 2.5}}", "flags": f"[70]{{{BITS}}}", "list": "[3]{10, 20, 30}", "forward": "[2]{7, 8}",
    "map": '[3]{1: "one", 2: "two", 3: "three"}', "multimap": "[2]{5: 97 'a', 5: 98 'b'}", "set": '[2]{"a", "b"}',
    "hash_map": '[1]{"key": 11}', "hash_set": "[1]{42}", "stack": "[2]{1, 2}", "queue": "[1]{5}", "priority": "[1]{3}",
    "array": "[3]{4, 5, 6}", "bits": "[10]{1010000001}", "tuple": '{1, "two", 3.5}', "some": "17", "none": "empty",
    "some_text": '"there"', "variant": '#1 "alternative"', "other_variant": "#2 2.25", "any_int": "int 12",
    "any_point": "Point {6, 6.5}", "no_any": "empty", "function": "add_one", "object": "Counts", "no_function": "empty",
    "no_unique": "NULL", "atomic": "77"}
# As compilers call them.
LAMBDA = re.compile(r"main(\(int, char\*\*\))?::(\{lambda\(int\)#1\}|<lambda\(int\)>|\$_\d+)|\(lambda at .*values\.cc:\d+:\d+\)")


def members_at_top(block):
    return {m["name"]: m for m in block["members"]}


def check(name, folder):
    core = kernel_core(hw.TARGETS / f"heaps/heap_{name}", folder)
    held = next(hex(a) for a, row in read_account(folder / "account").items() if row[3] == "Held")
    (block,) = ask("core", "--json", core, "show", held, "--as", "Held")["blocks"]
    found = members_at_top(block)
    wrong = {}
    for member, wanted in WANTED.items():
        if found.get(member, {}).get("value") != wanted:
            wrong[member] = found.get(member, {}).get("value")
    for member in ("lambda", "large_lambda"):
        if not LAMBDA.fullmatch(found[member].get("value", "")):
            wrong[member] = found[member].get("value")
    if wrong:
        raise hw.Failure(f"{name}: {wrong}")
    deque = found["deque"]["contents"]
    numbers = [*range(5, 20), *range(300)]
    hw.need(deque == {"kind": "deque", "count": 315, "elements": [str(n) for n in numbers]}, f"{deque}")
    hw.need(found["map"]["contents"]["pairs"][1] == {"key": "2", "value": '"two"'}, f"{found['map']}")
    hw.need(found["variant"]["contents"] == {"kind": "variant", "empty": False, "index": 1}, f"{found['variant']}")
    hw.need(found["ids"]["members"], "no members beside the value")
    # What smart pointers point to.
    for address, (_, _, _, kind) in read_account(folder / "account").items():
        member = {"Point": "unique", "shared Point": "shared"}.get(kind)
        if member:
            hw.need(found[member]["value"].startswith(f"0x{address:x} → "), f"{member}: {found[member]}")
    hw.need(found["weak"]["value"] == found["shared"]["value"], f"{found['weak']}")
    return core


@tests.test
def values(folder):
    """Each container of libstdc++, full and empty, is what it holds."""
    core = check("values", folder)
    address = ask("core", "--json", core, "blocks", "--type", "Held")["blocks"][0]["address"]
    text = hw.run([hw.HEAPWISE, "core", core, "show", address]).text
    for line in ("  map  [3]{1: \"one\", 2: \"two\", 3: \"three\"}\n", "  none  empty\n", "  object  Counts\n", "more}\n"):
        hw.need(line in text, f"no {line!r} in {text}")
    hw.need("_M_" not in text.replace("control block of Point._M_impl", ""), text)
    text = hw.run([hw.HEAPWISE, "core", core, "show", address, "--raw"]).text
    for part in ("_M_start", "_M_node_count", "_M_engaged"):
        hw.need(part in text and "[20]{" not in text, f"no {part} in {text}")
    # One column each, cut.
    head, row = hw.run([hw.HEAPWISE, "core", core, "show", "Held"]).text.splitlines()
    hw.need(head.split()[1:6] == ["text", "long_text", "no_text", "view", "ids"], head)
    hw.need("[20]{0, 1, 4, 9, 16, 25, 36, 49, … 12 more}" in row, row)
    raw = hw.run([hw.HEAPWISE, "core", core, "show", "Held", "--raw"]).text
    hw.need("ids._M_impl" in raw or "_M_start" in raw or "view._M_len" in raw, raw)


@tests.test
def values_of_optimised(folder):
    """So it is of C++20 with -O2."""
    check("values_optimised", folder)


@tests.test
def values_of_libcxx(folder):
    """libc++'s are read, too."""
    if not (hw.TARGETS / "heaps/heap_values_libcxx").exists():
        raise hw.Skip("libc++ is not here")
    check("values_libcxx", folder)


@tests.test
def what_makes_no_sense(folder):
    """An object whose words disagree is shown by its members, and nothing is made up."""
    core = kernel_core(hw.TARGETS / "heaps/heap_values", folder)
    held = int(ask("core", "--json", core, "blocks", "--type", "Held")["blocks"][0]["address"], 16)
    (block,) = ask("core", "--json", core, "show", hex(held))["blocks"]
    places = {m["name"]: held + m["offset"] for m in block["members"]}
    maps = ask("core", "--json", core, "maps")["maps"]
    data = bytearray(core.read_bytes())
    row = ask("core", "--json", core, "hexdump", hex(held), "64")["lines"]
    start = data.find(bytes.fromhex("".join(line["bytes"] for line in row)))
    hw.need(start > 0 and maps, "the object is not in the file")

    def write(member, into, value):
        at = start + places[member] - held + into
        data[at:at + 8] = value.to_bytes(8, "little")

    write("ids", 8, 8)                    # ends before it begins
    write("map", 40, 1 << 20)             # more nodes than there are
    write("hash_map", 24, 5)              # the same
    write("names", 8, 1 << 46)            # elsewhere
    # Links in circles that do not come back to their beginning.
    def word(address):
        return int.from_bytes(data[start + address - held:][:8], "little")

    for member in ("forward", "list"):
        second = word(word(places[member]))
        hw.need(second > held, "the heap lies otherwise")
        data[start + second - held:start + second - held + 8] = second.to_bytes(8, "little")
    write("list", 16, 1 << 39)
    (folder / "broken").write_bytes(data)
    (block,) = ask("core", "--json", folder / "broken", "show", hex(held))["blocks"]
    found = members_at_top(block)
    hw.need(found["list"]["contents"]["unread"] > 1 << 38, f"{found['list']}")
    walked = ask("core", "--json", folder / "broken", "follow", f"{held:#x}.list")
    hw.need(walked["broken"] == 1 and walked["objects"] == 2, f"{walked}")
    for member in ("ids", "forward", "names"):
        hw.need("contents" not in found[member] and found[member]["members"], f"{member}: {found[member]}")
    for member, there in (("map", 3), ("hash_map", 1)):
        contents = found[member]["contents"]
        hw.need(len(contents["pairs"]) == there and contents["unread"] == contents["count"] - there, f"{member}: {contents}")
        hw.need("can't be read" in found[member]["value"], found[member]["value"])


@tests.test
def found_bytes(folder):
    """`find`: words and texts, in blocks, in free ones, elsewhere, with what is there."""
    with Waiting(hw.TARGETS / "heaps/heap_small", folder) as pid:
        account = read_account(folder / "account")
        nodes = [a for a, row in account.items() if row[3] == "node"]

        def find(*words):
            return ask("heap", "--json", str(pid), "find", *words)

        last = find(hex(nodes[-1]))
        hw.need([p["is"] for p in last["found"]].count("module") == 1, f"the list's head: {last}")
        middle = find(hex(nodes[100]))
        blocks = [p for p in middle["found"] if p["is"] == "block"]
        hw.need((blocks[0]["block"], blocks[0]["into"], blocks[0]["type"]) == (hex(nodes[101]), 0, "node"), f"{middle}")
        hw.need("next" in blocks[0]["into_member"], f"{blocks[0]}")
        text = find("n000123")
        hw.need([(p["is"], p["text"]) for p in text["found"]] == [("block", "n000123")], f"{text}")
        hw.need(text["matched"] == {"places": 1, "used": 1, "free": 0, "elsewhere": 0}, f"{text}")
        number = find("1234", "--in", "used")
        hw.need(any(p.get("into") == 16 and p.get("type") == "node" for p in number["found"]), f"{number}")
        hw.need(find("1234", "--width", "2", "--in", "used")["matched"]["used"] >= number["matched"]["used"], "--width")
        # What was freed is full of ones.
        ones = find(hex(0xffffffffffffffff), "--in", "free")
        hw.need(ones["matched"]["free"] > 100 and ones["matched"]["used"] == 0, f"{ones['matched']}")
        hw.need({p["is"] for p in ones["found"]} == {"free", "cached"}, "free ones")
        # At any address: three bytes behind a multiple of eight.
        shifted = int.from_bytes(b"00123\0\0\0", "little")
        hw.need(not find(hex(shifted), "--in", "used")["found"], "aligned")
        hw.need(find(hex(shifted), "--anywhere", "--in", "used")["found"], "--anywhere")
        hw.need(find("n00012", "--count")["found"] == [] and find("n00012", "--count")["matched"]["used"] == 10, "--count")
        text = hw.run([hw.HEAPWISE, "heap", str(pid), "find", "n000123"]).text
        hw.need('"n000123"' in text and "1 match: 1 in blocks in use, 0 in free ones, 0 elsewhere" in text, text)
        # Numbers below 0 are values, wherever options stand.
        for words in (("-4711",), ("--", "-4711"), ("--in", "all", "-4711"), ("-4711", "--in", "all"), ("-0x1267",)):
            below = find(*words)
            hw.need("below" in [p.get("symbol") for p in below["found"]], f"{words}: {below}")
        lines = b"find -4711\nfind --in all -4711 --limit 5\nfind -- -4711\n"
        prompt = hw.run([hw.HEAPWISE, "heap", str(pid), "prompt"], stdin=lines).text
        hw.need(prompt.count("below") == 3, prompt)
        hw.need(find("4711", "--text", "--count")["matched"]["places"] >= 0, "--text")
        for words, message in ((("0",), "0 occurs almost everywhere"), (("300", "--width", "1"), "does not fit"),
                               (("name", "--width", "1"), "'name' is text"), (("1", "--in", "heap"), "invalid --in 'heap': expected all, used or free")):
            ended = hw.run([hw.HEAPWISE, "heap", str(pid), "find", *words])
            hw.need(ended.status == 2 and message in ended.errors, f"{words}: {ended}")


@tests.test
def walks(folder):
    """`follow` goes from blocks along members, through containers and down lists, and says what is on the way."""
    core = kernel_core(hw.TARGETS / "heaps/heap_small", folder)
    account = read_account(folder / "account")
    nodes = [a for a, row in account.items() if row[3] == "node"]
    names = {a: row[0] for a, row in account.items() if row[3] == "name"}

    def follow(*words):
        return ask("core", "--json", core, "follow", *words)

    found = follow("node.next")
    hw.need((found["from_blocks"], found["objects"], found["nulls"], found["outside"]) == (3000, 2999, 1, 0), f"{found}")
    hw.need([(t["name"], t["blocks"]) for t in found["types"]] == [("node", 2999)], f"{found['types']}")
    found = follow("node.name", "--list")
    hw.need({int(b["address"], 16) for b in found["blocks"]} == set(names), "names")
    hw.need((found["objects"], found["matched"]["blocks"]) == (3000, 3000), f"{found['matched']}")
    hw.need(found["matched"]["bytes"] == sum(b["size"] for b in found["blocks"]), "bytes")
    last = hex(nodes[-1])
    hw.need(follow(f"{last}.next*")["objects"] == 3000, "the list's nodes")
    hw.need(follow(f"{last}.next.next")["objects"] == 1, "the third")
    ends = follow("node.name*")
    hw.need((found["memberless"], ends["memberless"]) == (0, 3000), f"texts have no name: {ends['memberless']}")
    third = follow(f"{last}.next.next", "--list")["blocks"]
    hw.need(third[0]["address"] == hex(nodes[-3]), f"{third}")
    hw.need(follow(f"{last}.next*.name", "--list")["matched"]["blocks"] == 3000, "the list's names")
    hw.need(follow("node.next", "--references", last)["from_blocks"] == 0, "nobody points to the first but the list")
    for words, message in (("node.nam", "node has no member 'nam'; did you mean one of name, next, number"),
                           ("node.name.first", "nothing has members there"), ("node.", "missing member name"),
                           ("node", "follow: missing member"), ("nod.next", "neither an address")):
        ended = hw.run([hw.HEAPWISE, "core", core, "follow", words])
        hw.need(ended.status in (2, 3) and message in ended.errors and not ended.text, f"{words}: {ended}")
    text = hw.run([hw.HEAPWISE, "core", core, "follow", "node.next"]).text
    for line in ("From 3,000 blocks 2,999 objects are reached, in 2,999 blocks, 70.3 KiB", "1 pointer on the way leads nowhere"):
        hw.need(line in text, f"no {line!r} in {text}")


@tests.test
def walks_through_containers(folder):
    """A container leads to its elements, a smart pointer to what it has; a structure stays in its block."""
    core = kernel_core(hw.TARGETS / "heaps/heap_values", folder)
    account = {row[3]: a for a, row in read_account(folder / "account").items()}
    held = hex(account["Held"])
    for member, objects, blocks in (
            ("points", 2, 1), ("map", 3, 3), ("list", 3, 3), ("hash_map", 1, 1), ("set", 2, 2), ("unique", 1, 1),
            ("shared", 1, 1), ("rows", 3, 2), ("pair", 1, 1), ("deque", 315, 3), ("array", 3, 1), ("some", 1, 1)):
        found = ask("core", "--json", core, "follow", f"{held}.{member}")
        hw.need((found["objects"], found["matched"]["blocks"]) == (objects, blocks), f"{member}: {found}")
    found = ask("core", "--json", core, "follow", "Held.unique.x", "--list")
    hw.need([b["address"] for b in found["blocks"]] == [hex(account["Point"])], f"{found}")
    hw.need(ask("core", "--json", core, "follow", "Held.map.second")["objects"] == 3, "the map's texts")
    hw.need(ask("core", "--json", core, "follow", "Held.none")["nulls"] == 1, "an empty optional")
    hw.need(ask("core", "--json", core, "follow", "Held.no_unique")["nulls"] == 1, "an empty pointer")


tests.main(width=2, sanitized_part=2)
