#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The golden JSON reports parse, hold together, and say nothing that docs/schema/report-1.md leaves out.

    test_report_schema.py SOURCE-FOLDER
"""
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

from documented import undocumented

COUNTERS = ("allocations", "allocated_bytes", "live_blocks", "live_bytes", "peak_blocks", "peak_bytes", "failed")
TOTAL_OF = {"live_blocks": "live_blocks_at_end", "live_bytes": "live_bytes_at_end"}


def missing(report):
    wanted = {
        "target": ("command", "pid", "exit"),
        "recording": ("mode", "events", "lost_events", "complete", "duration_ns"),
        "totals": ("allocations", "allocated_bytes", "frees", "failed", "live_blocks_at_end", "live_bytes_at_end",
                   "temporary", "peak_bytes", "peak_blocks", "peak_time_ns", "threads"),
    }
    lost = [f"{part}.{name}" for part, names in wanted.items() for name in names if name not in report[part]]
    for site in report.get("sites", []):
        lost += [f"sites[].{name}" for name in ("stack", "temporary", *COUNTERS) if name not in site]
        lost += [f"stack[].{name}" for frame in site["stack"]
                 for name in ("function", "short", "file", "line", "module", "inlined", "folded")
                 if name not in frame]
    return sorted(set(lost))


def wrong_sums(report):
    """Views that show all of something add up to its total."""
    if report["view"] in ("functions", "files", "modules"):
        whole = {name: report["totals"][TOTAL_OF.get(name, name)] for name in COUNTERS}
        flat = {name: sum(spot["flat"][name] for spot in report["spots"]) for name in COUNTERS}
        # The demo has a block without a stack: it is nobody's.
        return [name for name in COUNTERS if not 0 <= whole[name] - flat[name] <= 24] + [
            f"{spot['name']}: {name}" for spot in report["spots"] for name in COUNTERS
            if not spot["flat"][name] <= spot["cum"][name] <= whole[name]]
    if report["view"] in ("summary", "sites"):
        sums = {name: sum(site[name] for site in report["sites"]) for name in COUNTERS}
    elif report["view"] == "temporary":
        sums = {"temporary": sum(site["temporary"] for site in report["sites"])}
    elif report["view"] == "never-freed":
        sums = {name: sum(site[name] for site in report["sites"]) for name in ("live_blocks", "live_bytes")}
    elif report["view"] == "inherited":
        sums = {name: sum(site["live_" + name] for site in report["sites"]) for name in ("blocks", "bytes")}
        return [name for name, is_ in sums.items() if is_ != report["inherited"][name]]
    elif report["view"] == "peak":
        sums = {name: sum(site[name] for site in report["sites"]) for name in ("peak_blocks", "peak_bytes")}
    else:
        return []
    return [name for name, is_ in sums.items() if is_ != report["totals"][TOTAL_OF.get(name, name)]]


def pairs(row):
    """Each figure of a row that is compared: now, before, and the difference."""
    base, change = row["base"], row["change"]
    for name in base:
        if isinstance(base[name], dict):
            yield from ((row[name][part], base[name][part], change[name][part]) for part in base[name])
        else:
            yield row[name], base[name], change[name]


def wrong_changes(report):
    """What is compared has a base and a change for each figure, which add up, and totals that agree."""
    rows = [(part, row) for part in ("sites", "spots", "sizes", "size_classes", "threads", "reallocs")
            for row in report.get(part, [])]
    rows += [(part, row) for part, list_ in report.get("lifetimes", {}).items() for row in list_]
    if "base" not in report:
        return [part for part, row in rows if "base" in row or "change" in row]
    wrong = [f"{part}: {row['status']}" for part, row in rows for now, before, change in pairs(row)
             if now - before != change]
    if report["view"] in ("summary", "sites"):
        wrong += [name for name, figure in report["change"]["totals"].items()
                  if sum(site["base"][name] for site in report["sites"]) != figure["older"]]
    return wrong


def unsorted(report):
    sites, metric = report.get("sites", []), report["sorted_by"]
    values = [abs(site["change"][metric]) if "base" in report else site[metric] for site in sites]
    return [] if values == sorted(values, reverse=True) else [report["sorted_by"]]


def main():
    root = Path(sys.argv[1])
    pages = [root / "docs/schema" / name for name in ("report-1.md", "report-base.md")]
    schema = "".join(page.read_text(encoding="utf-8") for page in pages)
    documented = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]*)`", schema))))
    checks = {
        "every member is documented": lambda report: undocumented(report, documented),
        "no promised member is missing": missing,
        "sites add up to the totals": wrong_sums,
        "sites are sorted": unsorted,
        "changes are what is between both": wrong_changes,
    }
    number, failed = 0, 0
    for path in sorted((root / "tests/data/golden/report").glob("*.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        for title, check in checks.items():
            complaints = check(report)
            number += 1
            failed += bool(complaints)
            if complaints:
                print("# " + ", ".join(complaints))
            print(f"{'not ' if complaints else ''}ok {number} - {path.stem}: {title}")
    print(f"1..{number}")
    sys.exit(1 if failed or not number else 0)


main()
