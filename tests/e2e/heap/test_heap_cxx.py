#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What blocks of C++ programs are equals what programs say of their own, by each road. Where a file is
missing names may be too; none is ever wrong."""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, gcore, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

UNKNOWN = re.compile(r"\d+ bytes(, pointers at( \d+)+)?")
# Classes whose name is nowhere.
UNNAMED = re.compile(r"(vtable|table of functions) [\w.+-]+\+0x[0-9a-f]+")
# What debug information says of what these programs hold by pointers, beside classes and containers' memory.
DECLARED = re.compile(r"Ring|Many|Leading|Decoys|(char|void \*)\[\]|std::(vector|deque|shared_ptr)<.*>")
# What libc and the loader have in the heap.
LIBC = ("link_map", "dtv", "FILE", "FILE buffer", "libstdc++'s emergency pool", "text")
CLASS = re.compile(r"geometry::|\(anonymous namespace\)::|shared_ptr ")


def problem_of(kind, found, unnamed):
    """What is wrong with a block's type; None: nothing."""
    if kind == "plain":
        # One decoy is full of letters.
        return None if UNKNOWN.fullmatch(found) or DECLARED.fullmatch(found) or found == "text" else f"it is called '{found}'"
    # With what a container's elements are, where debug information says it.
    if found == kind or found.startswith(kind + " of "):
        return None
    if CLASS.match(kind) and unnamed and (UNNAMED.fullmatch(found) or UNKNOWN.fullmatch(found)):
        return None
    return f"'{kind}' is called '{found}'"


def compare(account, blocks, unnamed=False):
    found = {int(b["address"], 16): b for b in blocks if b["state"] == "used"}
    wrong = Counter()
    example = {}
    for address, (_, used, _, kind) in account.items():
        if not used:
            continue
        problem = problem_of(kind, found[address]["type"], unnamed) if address in found else f"no '{kind}' there"
        if problem:
            wrong[problem] += 1
            example.setdefault(problem, f"0x{address:x}")
    for address in set(found) - set(account):
        if not UNKNOWN.fullmatch(found[address]["type"]) and found[address]["type"] not in LIBC:
            wrong[f"a block of the library's is called '{found[address]['type']}'"] += 1
    if wrong:
        raise hw.Failure("; ".join(f"{n} times: {what} ({example.get(what, '')})" for what, n in wrong.most_common(5)))
    if not any(used for _, used, _, _ in account.values()):
        raise hw.Failure("the program says nothing")


def add(name):
    program = hw.TARGETS / f"heaps/heap_{name}"
    unnamed = name == "classes_plain_stripped"

    def by_kernel(folder):
        """With its files, and without the program's own."""
        moved = folder / program.name
        moved.write_bytes(program.read_bytes())
        moved.chmod(0o755)
        core = kernel_core(moved, folder)
        account = read_account(folder / "account")
        compare(account, ask("core", "--json", core, "blocks")["blocks"], unnamed)
        moved.unlink()
        # Statically linked, no file has what is read-only; then not even C++ is seen.
        if "static" not in name:
            compare(account, ask("core", "--json", core, "blocks")["blocks"], True)

    def by_gcore_and_live(folder):
        with Waiting(program, folder) as pid:
            core = gcore(pid, folder)
            live = ask("heap", "--json", str(pid), "blocks")["blocks"]
        account = read_account(folder / "account")
        compare(account, ask("core", "--json", core, "blocks")["blocks"], unnamed)
        compare(account, live, unnamed)

    tests.add(f"{name}: a kernel's core tells what its blocks are, with and without its file", by_kernel)
    tests.add(f"{name}: so do a core of gcore's and the process", by_gcore_and_live)


NAMES = ["classes", "classes_stripped", "classes_plain", "classes_plain_stripped", "classes_static",
         "containers", "containers_static", "classes_libcxx", "containers_libcxx"]
for each in NAMES:
    if (hw.TARGETS / f"heaps/heap_{each}").exists():
        add(each)


@tests.test
def a_program_of_c_has_no_containers(folder):
    """What looks like them is named nothing where no C++ is."""
    with Waiting(hw.TARGETS / "heaps/heap_small", folder) as pid:
        types = ask("heap", "--json", str(pid))["types"]
    kinds = {t["kind"] for t in types}
    if kinds & {"c++", "container", "string"}:
        raise hw.Failure(f"kinds: {kinds}")


tests.main()
