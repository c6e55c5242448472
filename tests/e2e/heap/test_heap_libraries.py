#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What C++ libraries keep where no declared pointer leads: containers in std::any and std::function, strings that share
their memory (before C++11), memory that resources of std::pmr give out. Nothing is named that it is not."""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

ANYS = {
    "int": r"std::vector buffer of int",
    "long": r"std::vector buffer of long( int)?",
    "float": r"std::vector buffer of float",
    "double": r"std::vector buffer of double",
    "shorts": r"std::vector buffer of std::vector<short( int)?>",
    "texts": r"std::vector buffer of std::string",
    "Point": r"std::vector buffer of Point",
    "map": r"std::map/set node of std::pair<(int const|const int), std::string>",
    "list": r"std::(_List_node<Point>|list node of Point)",
    "Held": r"Held",
    "plain": r"360 bytes|368 bytes|376 bytes",
    # Of a std::any on the stack.
    "Shown": r"Shown",
    "Opened": r"Opened",
    "Queued": r"Queued",
}
CAPTURED = (r"std::vector buffer of Point ?\*", r"std::vector buffer of unsigned( int)?")
VALUES = {
    "ints": "[7]{0, 0, 0, 0, 0, 0, 0}", "text": f'"{"s" * 60}"… (300 bytes)', "map": '[2]{1: "one", 2: "two"}', "none": "empty",
    "texts": f'[2]{{"a", "{"b" * 60}"… (80 bytes)}}', "hash": "[1]{4: {1, 2.5}}", "list": "[2]{{1, 1.5}, {3, 3.5}}", "number": "int 12"}


def program_of(name):
    return hw.TARGETS / f"heaps/heap_{name}"


def check(core, folder, patterns):
    """Each block is called what the patterns have for its kind; returns all names of types."""
    found = {int(b["address"], 16): b["type"] for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    wrong = Counter()
    for address, (_, used, _, kind) in read_account(folder / "account").items():
        name = found.get(address, "not there")
        if used and kind in patterns and not re.fullmatch(patterns[kind], name):
            wrong[f"'{kind}' is called '{name}'"] += 1
    hw.need(not wrong, "; ".join(f"{count} times: {what}" for what, count in wrong.items()))
    return found


def add_anys(name):
    def anys(folder):
        core = kernel_core(program_of(name), folder)
        names = list(check(core, folder, ANYS).values())
        for pattern in CAPTURED:
            hw.need(any(re.fullmatch(pattern, each) for each in names), f"no {pattern} among {sorted(set(names))}")
        held = next(hex(a) for a, row in read_account(folder / "account").items() if row[3] == "Held")
        (block,) = ask("core", "--json", core, "show", held, "--as", "Held")["blocks"]
        shown = {m["name"]: m.get("value", "") for m in block["members"]}
        wrong = {member: shown[member] for member, value in VALUES.items() if not shown[member].endswith(value)}
        hw.need(not wrong, f"{wrong}")

    tests.add(f"{name}: containers in std::any and std::function, and what they hold", anys)


for each in ("anys", "anys_libcxx"):
    if program_of(each).exists():
        add_anys(each)

COW = {
    "std::string": r"std::string buffer \(copy-on-write\)",
    "wide": r"std::wstring/u32string buffer \(copy-on-write\)",
    "16": r"std::u16string buffer \(copy-on-write\)",
    # As long as a narrow one: its characters don't say what they are.
    "one wide character": r"(?!std::string).*",
    # Not named, or as a block that some pointer is declared to lead to.
    "plain": r"(?!std::).*",
}
TEXTS = ('"shared by two"', '"Written to"', '"room behind it"', '"held by a global"')
WIDE_TEXTS = ('"wide \\u20ac"', '"32 \\U0001f600"', '"held by a wide global"')


def add_cow(name):
    def cow(folder):
        core = kernel_core(program_of(name), folder)
        found = check(core, folder, COW)
        for kind, texts in (("std::string", TEXTS), ("wide", WIDE_TEXTS), ("16", ('"16 bits each \\U0001f600"',))):
            type_name = next(t for t in found.values() if re.fullmatch(COW[kind], t))
            table = hw.run([hw.HEAPWISE, "core", core, "show", type_name]).text
            missing = [text for text in texts if text not in table]
            hw.need(not missing, f"{missing} are not in {table}")
            blocks = ask("core", "--json", core, "show", type_name)["blocks"]
            hw.need({text for block in blocks for text in block["members"]} >= set(texts), f"{blocks}")
            address = next(a for a, t in found.items() if t == type_name)
            text = hw.run([hw.HEAPWISE, "core", core, "show", hex(address)]).text
            hw.need(re.search(r'^ +24  "', text, re.M), text)

    tests.add(f"{name}: strings that share their memory", cow)


for each in ("cow", "cow_stripped"):
    add_cow(each)


@tests.test
def resources(folder):
    """Memory of std::pmr's resources is that, whatever lies in it."""
    core = kernel_core(program_of("resources"), folder)
    found = check(core, folder, {
        "buffer": r"std::pmr::monotonic_buffer_resource buffer", "chunk": r"std::pmr pool chunk", "plain": r"(?!std::).*"})
    kinds = Counter(found.values())
    hw.need(kinds["std::pmr::monotonic_buffer_resource buffer"] > 2 and kinds["std::pmr pool chunk"] > 0, f"{kinds}")


tests.main()
