#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What blocks are called, and what objects hold: of programs that were nearly taken for others."""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import ask  # noqa: E402

tests = hw.Tests()


@contextmanager
def running(name):
    """The process number, and what the program printed before "ready"."""
    program = subprocess.Popen([hw.ANSWERS / name], stdout=subprocess.PIPE, env=hw.clean_environment())
    try:
        yield str(program.pid), [line.decode().strip() for line in iter(program.stdout.readline, b"ready\n")]
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


def counts_of(pid):
    return {row["name"]: row["blocks"] for row in ask("heap", "--json", pid, "types", "--limit", "1000")["types"]}


@tests.test
def strings(_):
    """libc++'s, in both orders of their words, whatever stands beside them"""
    for name in ("strings_of_libcxx", "strings_of_libcxx_turned"):
        with running(name) as (pid, texts):
            blocks = {b["address"]: b["type"] for b in ask("heap", "--json", pid, "blocks", "--used", "--limit", "1000")["blocks"]}
            (shown,) = ask("heap", "--json", pid, "show", "Table")["blocks"]
        wrong = {blocks[text] for text in texts} - {"std::string buffer"}
        hw.need(len(texts) == 6 and not wrong, f"{name}: {len(texts)} texts, {wrong}")
        found = {m["name"]: m.get("value") for m in shown["members"]}
        hw.need(found["brief"] == '"twenty-two characters."' and found["none"] == '""', f"{name}: {found}")
        hw.need(found["longest"] == '"a text that is too long for the string itself"', f"{name}: {found}")


@tests.test
def aligned(_):
    """objects that ask for an alignment, with what an allocator leaves behind them"""
    with running("asks_alignment") as (pid, _texts):
        found = counts_of(pid)
    wanted = {"Line": 40, "Line[]": 20, "Pair[]": 20, "std::vector buffer of Element": 8}
    hw.need(found.items() >= wanted.items() and "Pair" not in found, f"{found}")


ENDLESS = """
#include <cstdio>
#include <unistd.h>
namespace std {
template <class T> struct optional {
	struct P { union { char _M_empty; T _M_value; }; bool _M_engaged; } _M_payload;
};
}
struct Box { std::optional<int> o; };
static Box *box;
int main() { box = new Box(); box->o._M_payload._M_engaged = true; puts("ready"); fflush(stdout); pause(); }
"""


@tests.test
def endless(folder):
    """damaged debug information in which an optional's value is an optional of the same type"""
    source, program = folder / "endless.cc", folder / "endless"
    source.write_text(ENDLESS, encoding="utf-8")
    compiler = hw.need_program("g++")
    hw.need(hw.run([compiler, "-g", "-dA", "-S", "-o", folder / "whole.s", source]).status == 0, "not compiled")
    lines, at, changed = (folder / "whole.s").read_text().splitlines(), None, 0
    for number, line in enumerate(lines):
        begins = re.search(r"\(DIE \((0x[0-9a-f]+)\) DW_TAG_(\w+)\)", line)
        if begins and begins[2] == "structure_type" and any('"optional<int>"' in later for later in lines[number:number + 3]):
            at = begins[1]
        is_optional = begins and begins[2] == "template_type_param"
        for later in range(number, number + 6 if is_optional else number):
            if lines[later].endswith("# DW_AT_type"):
                lines[later] = f"\t.long\t{at}\t# DW_AT_type"
                changed += 1
                break
    hw.need(changed, "no parameter of a template")
    (folder / "changed.s").write_text("\n".join(lines) + "\n", encoding="utf-8")
    hw.need(hw.run([compiler, "-o", program, folder / "changed.s"]).status == 0, "not linked")
    with running(program) as (pid, _texts):
        ended = hw.run([hw.HEAPWISE, "heap", pid, "show", "Box"])
    hw.need(ended.status == 0 and "{{…}}" in ended.text, f"{ended} {ended.text}")


@tests.test
def larger(_):
    """structures that begin with an object of a library's class, which their own module only declares"""
    with running("begins_with_library") as (pid, _texts):
        found = counts_of(pid)
    wanted = {"Log": 4, "Arena": 1, "std::pmr::monotonic_buffer_resource": 1, "std::vector buffer of int": 4}
    hw.need(found.items() >= wanted.items(), f"{found}")


@tests.test
def old_lists(_):
    """nodes of std::list before C++11, which have no count to agree with, are no others'"""
    with running("old_lists") as (pid, _texts):
        found = counts_of(pid)
    wanted = {"std::_List_node<int>": 10, "std::_List_node<std::string>": 10, "std::_Fwd_list_node<std::string>": 10}
    hw.need(found.items() >= wanted.items(), f"{found}")


tests.main()
