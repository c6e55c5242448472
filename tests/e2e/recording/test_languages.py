#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Interpreters without support of their own (docs/howto/languages.md): what a script keeps is recorded natively, exactly."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
COUNT, BYTES = 200, 10007
# Of each: the program, further arguments, the script that keeps so many texts, and of which function's call stacks say so.
LANGUAGES = {
    "perl": ("perl", (), "our @kept; sub keep { push @kept, 'x' x BYTES for 1 .. COUNT; } keep();", "Perl_pp_push"),
    "lua": ("lua5.4", (), "kept = {} for i = 1, COUNT do kept[i] = string.rep('x', BYTES) .. i end", "lua_pcallk"),
    "ruby": ("ruby", ("--disable-gems",), "$kept = []; COUNT.times { $kept << 'x' * BYTES }", "rb_str_times"),
    "php": ("php", ("-n",), "<?php $kept = []; for ($i = 0; $i < COUNT; $i++) $kept[] = str_repeat('x', BYTES) . $i;", "execute_ex"),
}


def add(name, interpreter, options, text, function):
    def test(folder):
        program = hw.need_program(interpreter)
        script = folder / "script"
        script.write_text(text.replace("COUNT", str(COUNT)).replace("BYTES", str(BYTES)))
        ended = hw.record([program, *options, script], folder / "x.hpw", all_processes=False,
                          env=hw.clean_environment(USE_ZEND_ALLOC="0"))
        hw.need(ended.status == 0, f"{ended}")
        found = hw.report(folder / "x.hpw", "--view", "sites", "--at", "peak", "--sort", "live_bytes", "--limit", "100000")
        sites = [site for site in found["sites"] if site["live_blocks"] == COUNT and site["live_bytes"] >= COUNT * BYTES]
        hw.need(len(sites) == 1, f"{[(s['live_blocks'], s['live_bytes']) for s in found['sites'][:9]]}")
        # A few bytes more are the interpreter's heads, and room to grow.
        hw.need(sites[0]["live_bytes"] < COUNT * BYTES * 1.3, f"{sites[0]['live_bytes']} bytes")
        functions = [frame["function"] for frame in sites[0]["stack"]]
        hw.need(function in functions, f"{functions}")
        hw.need("by heapwise" not in ended.errors and not ended.text, f"{ended}")

    test.__name__ = name
    test.__doc__ = f"What a script of {name} keeps is one site, with its bytes, and a stack that says what it did"
    TESTS.test(test)


for each, row in LANGUAGES.items():
    add(each, *row)

TESTS.main(width=2)
