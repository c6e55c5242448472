#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of Python's code, as the recorder decodes them, are those that each interpreter itself has (code.co_lines(), up
to 3.9 dis.findlinestarts()): of a part of its standard library, with the argument "all" of all of it."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import pythons

TESTS = hw.Tests()
DECODER = hw.BUILD / "tests/unit/line_tables"
WHOLE = "all" in sys.argv[1:]
if WHOLE:
    sys.argv.remove("all")
STEP = 1 if WHOLE else 40

for version in pythons.KNOWN:
    def of_version(_, minor=version):
        ended = hw.run([pythons.python(minor), "-W", "ignore", hw.SOURCE / "tests/targets/python/line_tables.py", DECODER,
                        str(STEP)])
        hw.need(ended.status == 0, f"{ended}")
        found = json.loads(ended.text)
        hw.need(found["codes"] > 500 and found["lines"] > 10000, f"only {found['codes']} codes were compared")
        hw.need(not found["count"], f"{found['count']} of {found['codes']} codes differ: {found['differs']}")
    TESTS.add(f"lines of the standard library, Python 3.{version}", of_version)

TESTS.main(needs_command=False)
