#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is read from memory equals what programs say of their own blocks, by each road: a core of the
kernel's, one of gcore's, the process as it runs."""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, gcore, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

PROGRAMS = ["small", "threads", "static", "stripped", "foreign_break"]
# What libc itself holds beside a program's blocks: tables of threads, buffers.
OWN_MOST = {"threads": 8, "static": 5}
# Other allocators, whose blocks are larger than what was asked for by up to a quarter. They have a few blocks
# themselves.
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
ALLOCATORS_OWN_MOST = {"jemalloc": 1, "tcmalloc": 3}


def compare(account, blocks, own_most=0, spare=0):
    """Every block in use, every free one, and nothing else."""
    found = {int(b["address"], 16): b for b in blocks}
    wrong = Counter()
    example = {}
    for address, (size, used, leak, kind) in account.items():
        block = found.get(address)
        state = block["state"] if block else "not there"
        problem = None
        if used and state != "used":
            problem = f"a used '{kind}' is {state}"
        elif used and not size <= block["size"] < size * (1 + spare) + 32 + 40000 * (size > 100000):
            problem = f"a '{kind}' of {size} bytes has {block['size']}"
        elif used and leak and block["leak"] != leak:
            problem = f"a '{kind}' is {block['leak']}, not {leak}"
        if problem:
            wrong[problem] += 1
            example.setdefault(problem, f"0x{address:x}")
    # What the program freed libc may have got, for a thread's table.
    others = [a for a, b in found.items() if b["state"] == "used" and not (a in account and account[a][1])]
    if len(others) > own_most:
        wrong[f"{len(others)} blocks are used that the program does not know"] = len(others)
    if wrong:
        raise hw.Failure("; ".join(f"{n} times: {what} ({example.get(what, '')})" for what, n in wrong.most_common(5)))


def add(name, allocator=None):
    program = hw.TARGETS / f"heaps/heap_{name}"
    most = OWN_MOST.get(name, 0) + ALLOCATORS_OWN_MOST.get(allocator, 0)
    spare = 0.25 if allocator else 0
    environment = hw.clean_environment()
    if allocator:
        environment["LD_PRELOAD"] = ALLOCATORS[allocator]
    title = f"{name} with {allocator}" if allocator else name

    def by_kernel(folder):
        core = kernel_core(program, folder, environment)
        compare(read_account(folder / "account"), ask("core", "--json", core, "blocks")["blocks"], most, spare)

    def by_gcore(folder):
        with Waiting(program, folder, environment) as pid:
            core = gcore(pid, folder)
        compare(read_account(folder / "account"), ask("core", "--json", core, "blocks")["blocks"], most, spare)

    def live(folder):
        with Waiting(program, folder, environment) as pid:
            blocks = ask("heap", "--json", str(pid), "blocks")["blocks"]
        compare(read_account(folder / "account"), blocks, most, spare)

    tests.add(f"{title}: a kernel's core tells its blocks as it does itself", by_kernel)
    tests.add(f"{title}: a core of gcore's tells its blocks as it does itself", by_gcore)
    tests.add(f"{title}: its blocks are the same while it runs", live)


for each in PROGRAMS:
    add(each)
for each in ALLOCATORS:
    add("small", each)
    add("threads", each)


@tests.test
def smashed_heads_lose_few_blocks(folder):
    """Where three heads are smashed no more than what lies behind is lost, and who did it is named."""
    program = hw.TARGETS / "heaps/heap_smashed"
    with Waiting(program, folder) as pid:
        core = gcore(pid, folder)
    account = read_account(folder / "account")
    shown = ask("core", "--json", core)
    blocks = {int(b["address"], 16) for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    lost = [kind for address, (_, _, _, kind) in account.items() if address not in blocks]
    if len(lost) > 10 or len(shown["damage"]) != 3:
        raise hw.Failure(f"{len(lost)} blocks are lost ({Counter(lost)}), damage: {shown['damage']}")
    overrun = {int(d["block_before"], 16) for d in shown["damage"]}
    addresses = list(account)
    wanted = {addresses[i] for i in (500, 1500, 2500)}
    if overrun != wanted:
        raise hw.Failure(f"written beyond their end: {overrun}, not {wanted}")


tests.main()
