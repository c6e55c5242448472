#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks that other things than declared pointers tell: what std::function, std::any, std::optional and std::variant
hold, and what only its content says. Nothing is named that it is not."""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

UNKNOWN = re.compile(r"\d+ bytes(, pointers at( \d+)+( of every \d+)?)?")


def program_of(name):
    return hw.TARGETS / f"heaps/heap_{name}"


def compare(account, blocks, names, kinds):
    """Each block is called what `names` has for its kind in the account, a pattern; "plain" ones are unknown."""
    found = {int(b["address"], 16): b["type"] for b in blocks if b["state"] == "used"}
    seen, wrong = Counter(), Counter()
    for address, (_, used, _, kind) in account.items():
        seen[kind] += used
        pattern = UNKNOWN if kind == "plain" else re.compile(names.get(kind, re.escape(kind)))
        if used and not pattern.fullmatch(found.get(address, "not there")):
            wrong[f"'{kind}' is called '{found.get(address)}'"] += 1
    if wrong or len(+seen) != kinds:
        raise hw.Failure(f"of {len(+seen)} kinds: " + "; ".join(f"{n} times: {what}" for what, n in wrong.most_common(8)))


LAMBDA = r"fill_functions\(Session\*\)::(<lambda\(int\)>|\{lambda\(int\)#2\})|\(lambda at .*\)"
ANYS = {kind: f"content of std::any: {kind}" for kind in ("Content", "Text")}
HELD = {
    "held": {"lambda": LAMBDA},
    "held_units": {"lambda": LAMBDA},
    "held_clang": {"lambda": LAMBDA},
    # Without debug information a symbol says what a std::any holds; of a std::function not where its content is.
    "held_plain": {kind: UNKNOWN.pattern for kind in ("Handler", "Session", "lambda")} | ANYS,
    # What a std::function holds is in an object with virtual functions.
    "held_libcxx": {"Handler": r"std::__function::__func<Handler, .*>", "lambda": r"std::__function::__func<.*>",
                    "Leaf<28>": UNKNOWN.pattern + r"|Leaf<28>"},
}


def add_held(name):
    def held(folder):
        core = kernel_core(program_of(name), folder)
        account = read_account(folder / "account")
        names = HELD[name]
        if name == "held_plain":
            names = names | {kind: UNKNOWN.pattern for _, _, _, kind in account.values() if kind.startswith("Leaf")}
        compare(account, ask("core", "--json", core, "blocks")["blocks"], names, 17)

    tests.add(f"{name}: what std::function, any, optional and variant hold, and what that points to", held)


for each in HELD:
    if program_of(each).exists():
        add_held(each)


@tests.test
def contents_in_a_process(folder):
    """The same while it runs, asked for a few blocks only."""
    with Waiting(program_of("held"), folder) as pid:
        account = read_account(folder / "account")
        text = {kind: hw.run([hw.HEAPWISE, "heap", str(pid), "block", f"0x{address:x}"]).text
                for address, (_, _, _, kind) in account.items() if kind in ("Content", "Handler", "Leaf<14>", "Leaf<22>")}
        shown = hw.run([hw.HEAPWISE, "heap", str(pid), "show", "Handler"]).text
    for kind, said in text.items():
        if kind not in said:
            raise hw.Failure(f"{kind}: {said}")
    if "leaf" not in shown or "{1, 2, 3}" not in shown:
        raise hw.Failure(f"show: {shown}")


tests.main()
