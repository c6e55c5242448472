#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Questions with filters: what is lost of a type, who holds what was chosen, texts by their first characters, members that
there are not, and counts that debug information makes up."""

import re
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

PROGRAM = hw.TARGETS / "heaps/heap_asked"


def told(core, *words):
    ended = hw.run([hw.HEAPWISE, "core", core, *words])
    if ended.status:
        raise hw.Failure(f"{words}: {ended}")
    return ended.text


def refused(core, status, said, *words):
    ended = hw.run([hw.HEAPWISE, "core", core, *words])
    if ended.status != status or said not in ended.errors:
        raise hw.Failure(f"{words}: {ended}")
    return ended.errors


def blocks_of(account, kind, *leaks):
    """Their addresses."""
    return [address for address, (_, used, leak, of) in account.items() if used and of == kind and leak in (leaks or [leak])]


@tests.test
def counts_that_are_made_up(folder):
    """Of an array no more is looked at than there is memory for, whatever its declaration says."""
    data = PROGRAM.read_bytes()
    count = struct.pack("<I", 0x11223)
    hw.need(count in data, "the number of elements is in no debug information")
    program = folder / "program"
    program.write_bytes(data.replace(count, struct.pack("<I", 0xfffffffd)))
    program.chmod(0o755)
    core = kernel_core(program, folder)
    began = time.monotonic()
    reached = ask("core", "--json", core, "follow", "registry.items")
    if time.monotonic() - began > 30 or [(t["name"], t["blocks"]) for t in reached["types"]] != [("node", 10)]:
        raise hw.Failure(f"after {time.monotonic() - began} s: {reached}")


@tests.test
def members_there_are_not(folder):
    """The nearest names are said, and how many there are."""
    core = kernel_core(PROGRAM, folder)
    said = refused(core, 3, "did you mean one of user_name, ", "follow", "session.user_nmae")
    if "alpha_0" in said or "(of 52)" not in said or said.count(",") > 8:
        raise hw.Failure(f"names: {said}")
    refused(core, 3, "did you mean one of user_name, ", "follow", "session.NAME")
    refused(core, 3, "did you mean one of next, text, number", "follow", "node.nxt")


@tests.test
def lost_of_a_type(folder):
    """`leaks --type` has what is lost of it, and of nothing else; so at the prompt."""
    core = kernel_core(PROGRAM, folder)
    account = read_account(folder / "account")
    whole = ask("core", "--json", core, "leaks")
    nodes = ask("core", "--json", core, "leaks", "--type", "node")
    shapes = ask("core", "--json", core, "leaks", "--type", "sh*")
    for found, kind in ((nodes, "node"), (shapes, "shape")):
        definite, indirect = (len(blocks_of(account, kind, leak)) for leak in ("definite", "indirect"))
        sums = {name: found["leaks"]["summary"][name]["blocks"] for name in ("definite", "indirect", "possible")}
        names = {frame["function"] for row in found["leaks"]["records"] for frame in row["stack"]}
        if names != {kind} or sums != {"definite": definite, "indirect": indirect, "possible": 0}:
            raise hw.Failure(f"of {kind}: {sums}, {names}")
    if len(whole["leaks"]["records"]) != len(nodes["leaks"]["records"]) + len(shapes["leaks"]["records"]):
        raise hw.Failure(f"all: {whole}")
    text = told(core, "leaks", "--type", "node")
    if "shape" in text or "node" not in text:
        raise hw.Failure(text)
    prompt = hw.run([hw.HEAPWISE, "core", core, "prompt"], stdin=b"leaks --type node\nleaks\n").text
    if text.strip().splitlines()[-1] not in prompt or "shape" not in prompt:
        raise hw.Failure(prompt)
    refused(core, 2, "--size", "leaks", "--size", "1k..")
    refused(core, 3, "no type", "leaks", "--type", "nothing*")


@tests.test
def who_holds_what_was_chosen(folder):
    """`why` of blocks by options."""
    core = kernel_core(PROGRAM, folder)
    account = read_account(folder / "account")
    everything = ask("core", "--json", core, "why", "node")
    all_nodes = len(blocks_of(account, "node"))
    if everything["blocks"] != all_nodes or ask("core", "--json", core, "why", "--type", "node")["blocks"] != all_nodes:
        raise hw.Failure(f"{everything}")
    lost = ask("core", "--json", core, "why", "node", "--leaked")
    if lost["blocks"] != len(blocks_of(account, "node", "definite", "indirect")) or lost["roots"]:
        raise hw.Failure(f"lost: {lost}")
    large = ask("core", "--json", core, "why", "--size", "500k..")
    if large["blocks"] != 1 or [r["symbol"] for r in large["roots"] if r["kind"] == "global"] != ["registry"]:
        raise hw.Failure(f"large: {large}")
    held = f"0x{blocks_of(account, 'registry')[0]:x}"
    if ask("core", "--json", core, "why", "node", "--referenced-by", held)["blocks"] != 10:
        raise hw.Failure("those of the registry")
    prompt = hw.run([hw.HEAPWISE, "core", core, "prompt"], stdin=b"why node --leaked\nwhy node\n").text
    if f"{all_nodes} blocks" not in prompt or f"{lost['blocks']} blocks" not in prompt:
        raise hw.Failure(prompt)
    refused(core, 2, "why: missing address", "why")
    refused(core, 2, "can't be used with an address", "why", held, "--leaked")
    refused(core, 3, "no block in use", "why", "node", "--size", "1m..")


@tests.test
def texts(folder):
    """Where a text is named its first characters stand beside it."""
    core = kernel_core(PROGRAM, folder)
    at = [f"0x{address:x}" for address in blocks_of(read_account(folder / "account"), "text")]
    long, short, coloured = at
    cut = 'text "GET /index.html HTTP/1.1…"'
    first = ask("core", "--json", core, "blocks", "--references", long)["blocks"][0]["address"]
    for words in (["block", long], ["words", long], ["words", first], ["refs", first], ["find", long], ["show", first]):
        if words[0] != "find" and cut not in told(core, *words):
            raise hw.Failure(f"{words}: {told(core, *words)}")
    if 'block 0x' not in told(core, "find", "index.html") or cut not in told(core, "find", "index.html"):
        raise hw.Failure(told(core, "find", "index.html"))
    if f'{long} "GET /index.html HTTP/1.1…": 1 block' not in told(core, "why", long):
        raise hw.Failure(told(core, "why", long))
    if 'text "small text" (' not in told(core, "block", short):
        raise hw.Failure(told(core, "block", short))
    for verb in ("block", "why", "words"):
        out = hw.run([hw.HEAPWISE, "core", core, verb, coloured]).stdout
        if b"\xc2\x9b" in out or b"31m is no" not in out:
            raise hw.Failure(f"{verb}: {out}")
    if ask("core", "--json", core, "block", short)["block_text"] != "small text":
        raise hw.Failure("JSON has no text")
    words = ask("core", "--json", core, "refs", first)["words"]
    if words[-1].get("block_text") != "GET /index.html HTTP/1.1":
        raise hw.Failure(f"{words}")


@tests.test
def chosen_dominators(folder):
    """Rows that stand alone say what they hang on, chains too."""
    core = kernel_core(PROGRAM, folder)
    rows = ask("core", "--json", core, "dominators", "--sort", "retained")["dominators"]
    row = next(r for r in rows if r.get("folded_blocks"))
    if (row["holder"]["symbol"], row["holder"]["kind"]) != ("chain", "global") or row["folded_blocks"] < 100:
        raise hw.Failure(f"{row}")
    text = told(core, "dominators", "--where", "type=no")
    if not re.search(r"0x[0-9a-f]+  no  \(below global chain in .*\)\n +… \d+ more: (yes → no|no → yes)\n", text):
        raise hw.Failure(text)
    if "below" in told(core, "dominators", "--where", "kind=global", "--sort", "retained"):
        raise hw.Failure("what holds is below nothing")


tests.main()
