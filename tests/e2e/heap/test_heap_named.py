#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks that other things than declared pointers tell: what std::function, std::any, std::optional and std::variant
hold, and what only its content says. Nothing is named that it is not."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
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


@tests.test
def plain_texts(folder):
    """Blocks that nothing declares are texts only where all of them is one."""
    core = kernel_core(program_of("plain_texts"), folder)
    account = read_account(folder / "account")
    blocks = ask("core", "--json", core, "blocks")["blocks"]
    compare(account, blocks, {"char[]": r"char\[\]"}, 3)
    texts = [b["text"] for b in blocks if b.get("type") == "text"]
    if "Grüße aus München, 東京" not in texts or "x" * 48 not in texts or any("text" in b for b in blocks if b.get("type") != "text"):
        raise hw.Failure(f"texts: {texts}")
    shown = hw.run([hw.HEAPWISE, "core", core, "blocks"]).text
    if ' text "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"' not in shown:
        raise hw.Failure(f"blocks: {shown[:2000]}")
    # Asked for one alone it is the same.
    address = next(f"0x{a:x}" for a, (_, _, _, kind) in account.items() if kind == "text")
    alone = hw.run([hw.HEAPWISE, "core", core, "why", address]).text
    if "1 block" not in alone:
        raise hw.Failure(f"why: {alone}")


def add_emergency(name):
    def emergency(folder):
        core = kernel_core(program_of(name), folder)
        blocks = {int(b["address"], 16): b["type"] for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
        pools = [address for address, kind in blocks.items() if kind == "libstdc++'s emergency pool"]
        own = next(iter(read_account(folder / "account")))
        if len(pools) != 1 or own in pools:
            raise hw.Failure(f"pools: {pools}, the program's own: 0x{own:x}")

    tests.add(f"{name}: the memory that libstdc++ keeps for exceptions", emergency)


for each in ("emergency", "emergency_static"):
    add_emergency(each)


@tests.test
def what_python_keeps(folder):
    """What objects of Python's libraries have beside them."""
    script = hw.SOURCE / "tests/targets/heaps/languages/kept.py"
    process = subprocess.Popen(["/usr/bin/python3", script, folder / "account", "wait"], stdout=subprocess.PIPE, env=hw.clean_environment())
    try:
        if process.stdout.readline() != b"ready\n":
            raise hw.Failure("the script did not come so far")
        version = Path("/usr/bin/python3").resolve().name
        types = {t["name"]: t["blocks"] for t in ask("heap", "--json", str(process.pid), "types")["types"]}
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    if version != "python3.11":
        raise hw.Skip(f"layouts are those of 3.11, this is {version}")
    for line in (folder / "account").read_text().splitlines():
        count, kind = line.split(" ", 1)
        # The interpreter has some of its own.
        if not int(count) <= types.get(kind, 0) <= int(count) + 40:
            raise hw.Failure(f"{count} of '{kind}', found {types.get(kind)}")


tests.main()
