#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Leaks of objects of Python: what is in use is reachable, and what the program has lost is lost, with each version that
is installed (in /usr/bin, or by pyenv)."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import pythons

TESTS = hw.Tests()
SCRIPT = hw.SOURCE / "tests/targets/python/leaks.py"
STALE_MOST = 4  # that words left on a stack, or in a block that is used again, may reference


def is_own(site):
    """Whether the program itself, or a module of its, has allocated it: not the interpreter, which at its start loses a
    few objects of its own; nor what it made of a module's code as it was imported, of which a few blocks are called lost
    in one of some dozen searches (docs/howto/python.md)."""
    functions = [frame.get("function") for frame in site["stack"]]
    return "_compile_bytecode" not in functions and any((frame.get("file") or "").endswith(".py") for frame in site["stack"])


def need_lost(answer, truth):
    """What lose() has lost is, and nothing else."""
    blocks = {"definite": 0, "possible": 0}
    for site in answer["leaks"]["records"]:
        if site["kind"] not in blocks or not is_own(site):
            continue
        lines = {frame.get("line") for frame in site["stack"] if (frame.get("file") or "").endswith("leaks.py")}
        hw.need(truth["line"] in lines, f"{site['kind']}: {json.dumps(site)[:1500]}")
        blocks[site["kind"]] += site["blocks"]
    hw.need(truth["lost"] - STALE_MOST <= blocks["definite"] <= truth["lost"] and blocks["possible"] <= STALE_MOST,
            f"{blocks} of {truth}")


def need_running(folder, interpreter):
    """A search while the program runs."""
    process = subprocess.Popen([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "x.hpw", "--", interpreter, SCRIPT],
                               env=hw.clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        truth = json.loads(process.stdout.readline())
        answer = json.loads(hw.ask("leaks", str(truth["pid"]), "--show-leak-kinds=definite,possible", "--json"))
    finally:
        process.communicate(b"\n", timeout=hw.TIMEOUT)
    hw.need(process.returncode == 0, f"the program ended with {process.returncode}")
    need_lost(answer, truth)


for version in pythons.KNOWN:
    def of_version(folder, minor=version):
        need_running(folder, pythons.python(minor))
    TESTS.add(f"while the program runs, Python 3.{version}", of_version)


@TESTS.test
def debians(folder):
    """Debian's interpreter"""
    need_running(folder, pythons.debians())


TESTS.main(width=2)
