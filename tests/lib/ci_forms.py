# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether documents for CI systems are what their standards ask for."""

import re

LEVELS = ("none", "note", "warning", "error")


def wrong_sarif(found):
    """What section 3 of the standard demands of the objects that are used."""
    wrong = []
    if found["version"] != "2.1.0" or not found["$schema"].endswith("sarif-2.1.0.json"):
        wrong.append("version")
    for run in found["runs"]:
        rules = run["tool"]["driver"]["rules"]
        if len({rule["id"] for rule in rules}) != len(rules):
            wrong.append("rules are there twice")
        seen = set()
        for result in run["results"]:
            if rules[result["ruleIndex"]]["id"] != result["ruleId"] or result["level"] not in LEVELS:
                wrong.append(f"rule of {result['message']['text']}")
            fingerprint = result["partialFingerprints"]["heapwiseStack/v1"]
            if fingerprint in seen:
                wrong.append(f"{fingerprint} twice")
            seen.add(fingerprint)
            frames = [frame["location"] for stack in result.get("stacks", []) for frame in stack["frames"]]
            for location in result["locations"] + frames:
                place = location.get("physicalLocation")
                if place and not re.fullmatch(r"[A-Za-z0-9._~/:%+@-]+", place["artifactLocation"]["uri"]):
                    wrong.append(f"uri {place['artifactLocation']['uri']}")
                if place and place.get("region", {"startLine": 1})["startLine"] < 1:
                    wrong.append("lines count from 1")
    return wrong


def wrong_junit(suites):
    suite = suites[0]
    cases, failures = suite.findall("testcase"), suite.findall("testcase/failure")
    names = [case.get("name") for case in cases]
    return [reason for reason, holds in (
        ("tests", int(suite.get("tests")) == len(cases)),
        ("failures", int(suite.get("failures")) == len(failures)),
        ("names are there twice", len(set(names)) == len(names)),
        ("names change with sizes", not any(re.search(r"\bB\b|KiB|MiB", name) for name in names))) if not holds]
