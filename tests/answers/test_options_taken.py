#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each option that a command's help lists does something: none is accepted and then forgotten."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402

tests = hw.Tests()

COMMANDS = ("report", "tree", "flame", "graph", "list", "peek", "timeline", "export", "diff", "bundle", "html", "serve", "symbols", "budget", "core", "heap")


def options_of(command):
    """Names, and whether each takes an argument."""
    text = hw.heapwise(command, "--help").stdout.decode()
    return re.findall(r"^  (?:-\w, |    )(--[\w-]+)( \S+|\[=\S+)?", text, re.MULTILINE)


@tests.test
def all_taken(folder):
    """of all commands that show something"""
    count = 0
    for command in COMMANDS:
        for name, argument in options_of(command):
            if name == "--help":
                continue
            words = [name, "1"] if argument.startswith(" ") else [name]
            ended = hw.heapwise(command, *words, str(folder / "none.hpw"), cwd=folder)
            hw.need(b"without effect" not in ended.stderr, f"{command} {name}: {ended.stderr}")
            count += 1
    hw.need(count > 200, f"only {count} options are listed")


tests.main()
