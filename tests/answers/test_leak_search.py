#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers of the search for leaks that were wrong once."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()


def leaks(recording, *options):
    """The recording's leaks as JSON."""
    return json.loads(hw.ask("leaks", recording, "--json", *options))["leaks"]


@TESTS.test
def unseen_allocator(folder):
    """Of a program whose allocator was not seen nothing is known: it was not searched"""
    for program in (hw.ANSWERS / "hidden_malloc", hw.TARGETS / "own_malloc"):
        recording = folder / f"{program.name}.hpw"
        ended = hw.record([program], recording, options=("-q", "--leak-check"))
        hw.need(ended.status == 0, str(ended))
        found = leaks(recording)
        hw.need("allocator of its own" in (found["search"]["problem"] or ""),
                f"{program.name} was searched: {found['search']}")
        text = hw.ask("leaks", recording)
        hw.need("Not searched: the program's allocator was not seen" in text, text)
        hw.need("All blocks were freed" not in text and "allocated nothing" not in hw.ask("report", recording), text)


if __name__ == "__main__":
    TESTS.main(width=2)
