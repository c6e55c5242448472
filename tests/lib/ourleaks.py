# SPDX-License-Identifier: GPL-2.0-or-later
"""What `heapwise leaks` says of a recording, in the terms of leaktruth.py."""

import functools
import json
from pathlib import Path

import hw
import leaktruth


@functools.cache
def knows_leaks():
    return hw.run([hw.HEAPWISE, "help", "leaks"]).status == 0


def need_search():
    if not knows_leaks():
        raise hw.Skip("this command has no leak search")


def frame(element):
    # As far as an address says where a call is: before where it returns to.
    place = int(element["offset"], 16) & 0xFFF if element.get("offset") else 0
    return leaktruth.Frame(element.get("function"), Path(element.get("module") or "").name, place, element.get("line"))


def record(element):
    return leaktruth.Record(element["kind"], element["blocks"], element["bytes"], element.get("indirect_blocks", 0),
                            element.get("indirect_bytes", 0), [frame(f) for f in element["stack"]])


def records(recording, *options):
    """All of them, without suppressions, so the summary must be their sum."""
    ended = hw.run([hw.HEAPWISE, "leaks", recording, "--json", "--show-leak-kinds=all",
                    "--default-suppressions=no", *options])
    hw.need(ended.status == 0, f"leaks: {ended}")
    report = json.loads(ended.text)
    leaks = report["leaks"]
    hw.need(leaks.get("search") and leaks["search"].get("problem") is None,
            f"no search: {leaks.get('search')} {report.get('notes')}")
    found = [record(element) for element in leaks["records"]]
    for kind in leaktruth.KINDS:
        sums, said = leaktruth.total([r for r in found if r.kind == kind]), leaks["summary"][kind]
        hw.need((said["blocks"], said["bytes"]) == (sums["blocks"], sums["bytes"]),
                f"summary.{kind} is {said}, the records' sum {sums}")
    return found
