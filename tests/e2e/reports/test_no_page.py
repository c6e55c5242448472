#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A build without the page (-Dui=disabled): html says so, and leaves no file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise

TESTS = hw.Tests()


@TESTS.test
def said(folder):
    """heapwise html ends with 4, says why, and writes nothing"""
    hw.record([hw.TARGETS / "containers-O2"], folder / "a.hpw")
    for output in ("-", "a.html"):
        ended = heapwise("html", "a.hpw", "-o", output, cwd=folder)
        hw.need(ended.status == 4 and not ended.text and "-Dui=disabled" in ended.errors, str(ended))
    hw.need(not (folder / "a.html").exists(), "a page was written")


TESTS.main()
