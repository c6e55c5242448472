#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The golden leaks views parse and hold together: JSON says nothing that docs/schema/leaks-1.md leaves out, SARIF is
what its standard asks for, JUnit counts what it has.

    test_leaks_schema.py SOURCE-FOLDER
"""
import json
import re
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

from ci_forms import wrong_junit, wrong_sarif
from documented import undocumented

KINDS = ("definite", "indirect", "possible", "reachable")


def wrong_sums(found):
    """Where all kinds are listed, records add up to the summary."""
    leaks = found["leaks"]
    listed = {record["kind"] for record in leaks["records"]}
    wrong = []
    for kind in KINDS:
        records = [record for record in leaks["records"] if record["kind"] == kind]
        said = leaks["summary"][kind]
        if kind in listed and said != {"blocks": sum(r["blocks"] for r in records), "bytes": sum(r["bytes"] for r in records),
                                       "records": len(records)}:
            wrong.append(kind)
    for name, part in (("suppressed", leaks["suppressed"]), ("library", leaks["libraries"])):
        if leaks["summary"][name]["blocks"] != sum(record["blocks"] for record in part):
            wrong.append(name)
    whole = sum(leaks["summary"][name]["blocks"] for name in (*KINDS, "suppressed", "library"))
    return wrong + (["never_freed"] if whole != leaks["summary"]["never_freed"]["blocks"] else [])


def unsorted(found):
    """Within a kind the largest come first."""
    return [kind for kind in KINDS
            for sizes in [[r["retained_bytes"] for r in found["leaks"]["records"] if r["kind"] == kind]]
            if sizes != sorted(sizes, reverse=True)]


def checks(root):
    schema = "".join((root / "docs/schema" / name).read_text(encoding="utf-8") for name in ("leaks-1.md", "report-1.md"))
    documented = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`]*)`", schema))))
    folder = root / "tests/data/golden/leaks"
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        yield f"{path.name}: every member is documented", undocumented(found, documented)
        yield f"{path.name}: records add up to the summary", wrong_sums(found)
        yield f"{path.name}: records are sorted", unsorted(found)
    for path in sorted(folder.glob("*.sarif")):
        yield f"{path.name}: it is SARIF", wrong_sarif(json.loads(path.read_text(encoding="utf-8")))
    for path in sorted(folder.glob("*.junit")):
        yield f"{path.name}: it is JUnit", wrong_junit(xml.etree.ElementTree.parse(path).getroot())


def main():
    number, failed = 0, 0
    for title, complaints in checks(Path(sys.argv[1])):
        number += 1
        failed += bool(complaints)
        if complaints:
            print("# " + ", ".join(complaints))
        print(f"{'not ' if complaints else ''}ok {number} - {title}")
    print(f"1..{number}")
    sys.exit(1 if failed or not number else 0)


main()
