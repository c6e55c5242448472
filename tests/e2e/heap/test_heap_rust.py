#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Heaps of programs in Rust (targets/heaps/languages/rust.rs), by their debug information: what containers, smart pointers and
enums have allocated, and what they hold. There is a program for each compiler, with and without optimisation."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, compare, gcore, kernel_core, read_account  # noqa: E402

tests = hw.Tests()
PROGRAMS = sorted(p for p in (hw.TARGETS / "heaps").glob("heap_rust_*_O*") if p.is_file() and not p.suffix)
# Beside those that the program names one by one.
TABLES = {
    "HashMap<u64, String> table": 1, "HashMap<u8, u16> table": 1, "HashSet<u32> table": 1,
    "HashMap<u64, Box<rust::Removed>> table": 1, "VecDeque<Box<rust::Live>> buffer": 1,
    "rust::Aligned": 20}
NODES = ("BTreeMap<u32, String> leaf node", "BTreeMap<u32, String> node with edges", "BTreeSet<u64> leaf node",
         "BTreeSet<u64> node with edges")
VALUES = {
    "text": '"a text that is held"', "names": '[2]{"one", "two"}', "slice": "[3]{1, 2, 3}", "boxed_text": '"boxed text"',
    "none": "None", "some_text": 'Some {"some text"}', "no_text": "None", "leaf": "Leaf {17}", "nothing": "Empty",
    "tree_text": 'Text {"at the top"}', "small_map": "[1]{1: 2}", "no_keys": "[1]{(): 19}", "empty": "[0]{}", "no_map": "[0]{}"}


def need_programs():
    if not PROGRAMS:
        raise hw.Skip("rustc was not there when this was built: ./dev deps --peers installs it")


def check_types(program, account, core):
    blocks = {int(b["address"], 16): b for b in ask("core", "--json", core, "blocks", "--limit", "100000")["blocks"]}
    wrong = Counter()
    for address, (_, _, _, kind) in account.items():
        found = blocks[address]["type"]
        # What nothing declares is of no type of the program's.
        if found != kind if kind else "rust::" in found or "buffer" in found:
            wrong[f"{kind or 'nothing'} is {found}"] += 1
    counts = Counter(b["type"] for b in blocks.values() if b["state"] == "used")
    for name, count in TABLES.items():
        if counts[name] != count:
            wrong[f"{counts[name]} of {name}"] += 1
    for name in NODES:
        if not counts[name]:
            wrong[f"no {name}"] += 1
    # 200 texts of the one map, as many of the other, and single ones.
    told = Counter(kind for *_, kind in account.values() if kind)
    for name in ("String buffer", "rust::Live", "rust::Popped", "rust::Removed", "rust::Tree"):
        if counts[name] != told[name]:
            wrong[f"{counts[name]} of {name}, not {told[name]}"] += 1
    hw.need(not wrong, f"{program.name}: {wrong}")
    return blocks


def check_values(program, account, core):
    address = next(hex(a) for a, row in account.items() if row[3] == "rust::Held")
    (block,) = ask("core", "--json", core, "show", address)["blocks"]
    found = {m["name"]: m for m in block["members"]}
    wrong = {name: found[name]["value"] for name, value in VALUES.items() if found[name]["value"] != value}
    hw.need(not wrong, f"{program.name}: {wrong}")
    numbers = found["numbers"]["contents"]
    hw.need(numbers["count"] == 60 and numbers["elements"][:3] == ["0", "1", "2"], f"{numbers}")
    pairs = found["map"]["contents"]
    hw.need(pairs["kind"] == "HashMap" and pairs["count"] == 200, f"{pairs}")
    hw.need(all(p["value"] == f'"text number {p["key"]}"' for p in pairs["pairs"]), f"{pairs}")
    hw.need(found["set"]["contents"]["count"] == 200, f"{found['set']}")
    # In order, over all levels of the tree.
    (whole,) = ask("core", "--json", core, "show", address, "--limit", "100000")["blocks"]
    whole = {m["name"]: m for m in whole["members"]}
    tree = whole["tree_map"]["contents"]
    keys = [int(p["key"]) for p in tree["pairs"]]
    hw.need((tree["kind"], keys) == ("BTreeMap", list(range(tree["count"]))) and len(keys) > 144, f"{tree}")
    hw.need(all(p["value"] == f'"text number {p["key"]}"' for p in tree["pairs"]), f"{tree}")
    tree = whole["tree_set"]["contents"]
    hw.need((tree["kind"], tree["elements"]) == ("BTreeSet", [str(i) for i in range(tree["count"])]), f"{tree}")
    hw.need(found["tree_map"]["value"].startswith(f'[{len(keys)}]{{0: "text number 0", 1: "text number 1", '), f"{found['tree_map']}")
    hw.need(found["no_values"]["value"] == "[4]{0, 1, 2, 3}", f"{found['no_values']}")
    walked = ask("core", "--json", core, "follow", f"{address}.tree_map")
    hw.need(walked["objects"] == 2 * len(keys) and not walked["broken"], f"{walked}")
    hw.need(found["ring"]["contents"]["count"] == 6, f"{found['ring']}")
    hw.need(found["tagged"]["value"] == "Small {87}" or found["tagged"]["value"].startswith("Small {"), f"{found['tagged']}")
    hw.need(found["some"]["value"].startswith("Some {0x"), f"{found['some']}")
    hw.need(found["inner"]["value"].startswith("Some {Some {0x"), f"{found['inner']}")
    hw.need(found["trees"]["value"] == '[3]{Leaf {1}, Text {"in a tree"}, Empty}', f"{found['trees']}")


def check_layout(core):
    """Members come by their offsets, which Rust chooses, also within members."""
    def check(members):
        offsets = [m["offset"] for m in members]
        hw.need(offsets == sorted(offsets), f"{[(m['name'], m['offset']) for m in members]}")
        for member in members:
            check(member.get("members", []))

    layout = ask("core", "--json", core, "layout", "rust::Held")["members"]
    check([m for m in layout if m["name"] == "numbers"])


@tests.test
def cores(folder):
    """Every block of containers, boxes and counted values has its type; what was popped, removed, or is of another
    variant has none. Containers and enums are shown as what they hold."""
    need_programs()
    for program in PROGRAMS:
        own = folder / program.name
        own.mkdir()
        core = kernel_core(program, own)
        account = read_account(own / "account")
        compare(account, ask("core", "--json", core, "blocks", "--limit", "100000")["blocks"], own_most=None)
        check_layout(core)
        check_types(program, account, core)
        check_values(program, account, core)


@tests.test
def living(folder):
    """So it is of a process that runs, of which `why` names the variable, and of gcore's core."""
    need_programs()
    program = PROGRAMS[0]
    with Waiting(program, folder) as pid:
        account = read_account(folder / "account")
        core = gcore(pid, folder)
        address = next(hex(a) for a, row in account.items() if row[3] == "rust::Square")
        text = hw.run([hw.HEAPWISE, "heap", str(pid), "why", address]).text
    hw.need("rust::Held" in text and "HELD" in text, text)
    check_types(program, account, core)


def words_at(core, address, count):
    """Where memory stands in a core's file."""
    data = core.read_bytes()
    dumped = core.parent / "dumped_words"
    hw.run([hw.HEAPWISE, "core", core, "dump", hex(address), str(8 * count), dumped])
    place = data.find(dumped.read_bytes())
    hw.need(place >= 0 and data.find(dumped.read_bytes(), place + 1) < 0, "the object is not there once")
    return place


@tests.test
def damaged(folder):
    """Containers whose words make no sense name nothing, and are shown by their members."""
    need_programs()
    core = kernel_core(PROGRAMS[-1], folder)
    held = next(a for a, row in read_account(folder / "account").items() if row[3] == "rust::Held")
    (block,) = ask("core", "--json", core, "show", hex(held), "--raw")["blocks"]
    size = block["size"] // 8
    place = words_at(core, held, size)
    whole = core.read_bytes()
    for value in (2**64 - 1, 2**63 - 1, 2**40, 1 << 20, 3, 0x8000000000000000):
        # All but pointers, each of which leads to something.
        words = list(memoryview(whole[place:place + 8 * size]).cast("Q"))
        words = [value if word < 2**40 or word >> 47 else word for word in words]
        core.write_bytes(whole[:place] + memoryview(b"".join(w.to_bytes(8, "little") for w in words)) + whole[place + 8 * size:])
        blocks = ask("core", "--json", core, "blocks", "--limit", "100000")["blocks"]
        counts = Counter(b["type"] for b in blocks if b["state"] == "used")
        hw.need(not counts["HashMap<u64, String> table"] and not counts["Vec<u32> buffer"], f"{value:#x}: {counts}")
        (shown,) = ask("core", "--json", core, "show", hex(held), "--as", "rust::Held")["blocks"]
        found = {m["name"]: m for m in shown["members"]}
        hw.need("contents" not in found["numbers"] or value == 3, f"{value:#x}: {found['numbers']}")


tests.main()
