#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds blocks from outside of the heap is the same by all roads: a search of a recorded process, the heap of a
process, and cores. tests/targets/heaps/c/roots.c says what is true of its blocks."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from heaps import compare, gcore, kernel_core, read_account
from processes import state

TESTS = hw.Tests()
HEAPS = hw.TARGETS / "heaps"


def environment(main_ends, musl=False):
    variables = {"ROOTS": "as it was"}
    if main_ends:
        variables["MAIN_ENDS"] = "1"
    if not musl:
        variables["LIBRARY"] = str(HEAPS / "heap_roots_library.so")
    return hw.clean_environment(**variables)


@contextmanager
def waiting(folder, program, variables, before=()):
    """The program's number, at the moment that is looked at; `before`: words that start it."""
    with subprocess.Popen([*before, program, "account", "wait"], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=variables) as started:
        pid = started.pid
        try:
            hw.need(started.stdout.readline() == b"ready\n", f"{program} did not come so far")
            if before:
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                names = {int(child): Path(f"/proc/{child}/comm").read_text().strip() for child in children}
                pid = next(child for child, name in names.items() if program.name.startswith(name))
            for thread in os.listdir(f"/proc/{pid}/task"):
                hw.wait_until(lambda: state(int(thread)) != "R", "it does not come to rest")
            yield pid
        finally:
            os.kill(pid, signal.SIGKILL)


def check_blocks(folder, *words):
    compare(read_account(folder / "account"), json.loads(hw.ask(*words))["blocks"], None)


def check_recorded(folder, pid):
    """Of each role as many blocks are of each kind as it says."""
    wanted = Counter((role, kind) for _, _, kind, role in read_account(folder / "account").values())
    roles = {role for role, _ in wanted}
    found = Counter()
    for record in json.loads(hw.ask("leaks", "--json", "--show-leak-kinds=all", "--default-suppressions=no", pid))["leaks"]["records"]:
        for role in roles & {frame["function"] for frame in record["stack"]}:
            found[role, record["kind"]] += record["blocks"]
    hw.need(found == wanted, f"found {found - wanted}, not {wanted - found}")


def add(name, title, musl=False):
    program = HEAPS / f"heap_{name}"
    for main_ends in (False, True):
        variables = environment(main_ends, musl)
        when = f"{title}, when the first thread has ended" if main_ends else title

        def by_core(folder, variables=variables):
            need_program()
            check_blocks(folder, "core", "--json", kernel_core(program, folder, variables), "blocks")

        def alive(folder, variables=variables, main_ends=main_ends):
            need_program()
            with waiting(folder, program, variables) as pid:
                check_blocks(folder, "heap", "--json", str(pid), "blocks")
                if not main_ends:  # gdb attaches to no such process
                    check_blocks(folder, "core", "--json", gcore(pid, folder), "blocks")

        def recorded(folder, variables=variables):
            need_program()
            run = [hw.HEAPWISE, "run", "-q", "--leak-check", "-o", folder / "x.hpw", "--"]
            with waiting(folder, program, variables, run) as pid:
                check_recorded(folder, str(pid))
                check_blocks(folder, "heap", "--json", str(pid), "blocks")

        def need_program():
            if not program.exists():
                raise hw.Skip(f"{program.name} was not built")

        TESTS.add(f"{when}: a kernel's core", by_core)
        TESTS.add(f"{when}: the process{'' if main_ends else ', and a core of gcore'}", alive)
        if not musl:
            TESTS.add(f"{when}: the recorded process, searched by its collector and from outside", recorded)


add("roots", "glibc")
add("roots_musl", "musl", musl=True)
add("roots_musl_static", "musl, static", musl=True)
TESTS.main()
