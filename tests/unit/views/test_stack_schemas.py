#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The golden JSON of views of stacks parses and says nothing that its page in docs/schema leaves out.

    test_stack_schemas.py SOURCE-FOLDER
"""
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

from documented import undocumented

PAGES = ("calltree", "graph", "list", "peek", "timeline")


def words(page):
    return set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]*)`", page.read_text(encoding="utf-8")))))


def main():
    root = Path(sys.argv[1])
    schemas = root / "docs/schema"
    common = words(schemas / "report-1.md") | words(schemas / "report-base.md")
    number, failed = 0, 0
    for name in PAGES:
        documented = common | words(schemas / f"{name}-1.md")
        for path in sorted((root / "tests/data/golden" / name).glob("*.json")):
            found = json.loads(path.read_text(encoding="utf-8"))
            complaints = undocumented(found, documented)
            if found["schema"] != f"heapwise.{name}/1":
                complaints.append(f"schema {found['schema']}")
            number += 1
            failed += bool(complaints)
            if complaints:
                print("# " + ", ".join(complaints))
            print(f"{'not ' if complaints else ''}ok {number} - {name}, {path.stem}: every member is documented")
    print(f"1..{number}")
    sys.exit(1 if failed or not number else 0)


main()
