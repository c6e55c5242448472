#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cores of aarch64, as qemu's user emulation writes them of programs that say of their own blocks: without a
list of files, without thread pointers. Needs qemu-user and g++-aarch64-linux-gnu (`./dev deps --peers`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import ask, compare, need_member_pointers, read_account  # noqa: E402

tests = hw.Tests()

ROOT = Path("/usr/aarch64-linux-gnu")

def build(folder, source, *options):
    """The program for aarch64."""
    compiler = "aarch64-linux-gnu-" + ("g++" if source.endswith("cc") else "gcc")
    hw.need_program(compiler)
    hw.need_program("qemu-aarch64")
    program = folder / "app"
    ended = hw.run([compiler, "-g", "-pthread", f"-I{hw.SOURCE}/tests/targets/heaps", *options, hw.target_source("heaps", source), "-o", program])
    if ended.status:
        raise hw.Failure(f"{compiler}: {ended}")
    return program


def guest_core(program, folder):
    """The core that qemu writes of the program, not the kernel's of qemu itself."""
    words = ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh", "qemu-aarch64", "-L", ROOT, program, "account", "abort"]
    ended = hw.run(words, cwd=folder)
    cores = list(folder.glob("qemu_*.core"))
    hw.need(cores, f"qemu has written no core here: {ended}")
    return cores[0]


def add(name, source, *options, own_most=0):
    def as_it_says(folder):
        program = build(folder, source, *options)
        core = guest_core(program, folder)
        account = read_account(folder / "account")
        compare(account, ask("core", "--json", "--sysroot", ROOT, "--exe", program, core, "blocks")["blocks"], own_most)
        # Without any file as well: nothing of libc's is needed for that.
        program.unlink()
        compare(account, ask("core", "--json", core, "blocks")["blocks"], own_most)

    tests.add(f"aarch64, {name}: its core tells its blocks as it does itself", as_it_says)


# What libc itself holds: tables of threads, buffers.
add("small", "small.c", "-O2")
add("threads", "threads.c", "-O2", own_most=8)
add("threads that have ended", "ended.c", "-O1", own_most=5)
add("static", "small.c", "-O2", "-static", own_most=5)


@tests.test
def pointers_to_members(folder):
    """aarch64: pointers to members are told, of functions by what its ABI has in the second word."""
    program = build(folder, "members.cc", "-O0")
    need_member_pointers(program, "--sysroot", ROOT, "--exe", program, guest_core(program, folder))


@tests.test
def types_of_cxx(folder):
    """aarch64: classes and containers of C++ are named as on x86-64."""
    for source in ("classes.cc", "containers.cc"):
        inside = folder / source
        inside.mkdir()
        program = build(inside, source, "-O1")
        core = guest_core(program, inside)
        blocks = ask("core", "--json", "--sysroot", ROOT, "--exe", program, core, "blocks")["blocks"]
        named = {int(b["address"], 16): b["type"] for b in blocks if b["state"] == "used"}
        used = {a: kind for a, (_, used, _, kind) in read_account(inside / "account").items() if used}
        wrong = [(named.get(a), kind) for a, kind in used.items() if kind != "plain" and named.get(a, "").split(" of ")[0] != kind.split(" of ")[0]]
        if len(used) < 100 or wrong:
            raise hw.Failure(f"{source}: {len(wrong)} of {len(used)} are named otherwise: {wrong[:5]}")


@tests.test
def stacks_of_threads(folder):
    """aarch64: each thread's stack, also where return addresses are signed."""
    for protection in ("none", "standard"):
        inside = folder / protection
        inside.mkdir()
        program = build(inside, "threads.c", "-O0", f"-mbranch-protection={protection}")
        core = guest_core(program, inside)
        threads = ask("core", "--json", "--sysroot", ROOT, "--exe", program, core, "threads")["threads"]
        stacks = [[f["function"] for f in t["stack"]] for t in threads]
        if "abort" not in stacks[0] or "main" not in stacks[0] or stacks[0][-1] != "_start":
            raise hw.Failure(f"{protection}: the first stack is {stacks[0]}")
        if sum("work" in s for s in stacks) != 8:
            raise hw.Failure(f"{protection}: stacks: {stacks}")


@tests.test
def thread_local_variables(folder):
    """aarch64: the program's own are named, with their threads."""
    program = build(folder, "thread_local.c", "-O2")
    core = guest_core(program, folder)
    threads = {}
    for address, (_, _, _, kind) in read_account(folder / "account").items():
        thread, variable = kind.split(" ", 1)
        if "behind" in variable:
            continue
        why = ask("core", "--json", "--sysroot", ROOT, "--exe", program, core, "why", f"0x{address:x}")
        found = [(r["symbol"], r["symbol_offset"], r["thread"]) for r in why["roots"]
                 if r["layer"] == 0 and r["kind"] == "thread-local storage"]
        name, _, offset = variable.partition(" + ")
        if [f[:2] for f in found] != [(name, int(offset or 0))]:
            raise hw.Failure(f"{kind} is {found} of {why['roots']}")
        threads.setdefault(thread, set()).add(found[0][2])
    if len(threads) != 3 or any(len(tids) != 1 for tids in threads.values()) or len(set.union(*threads.values())) != 3:
        raise hw.Failure(f"threads: {threads}")


@tests.test
def another_program_is_noticed(folder):
    """aarch64: a program and libc of another machine are not taken for those that ran."""
    program = build(folder, "small.c", "-O2")
    core = guest_core(program, folder)
    ended = hw.run([hw.HEAPWISE, "core", "--exe", "/bin/true", core, "types"])
    if ended.status or "/bin/true is not the file that the program ran" not in ended.errors:
        raise hw.Failure(f"{ended}")


tests.main()
