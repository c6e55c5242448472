#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SARIF of `leaks`, `run` and `budget` is valid by the official JSON schema.

Needs python3-jsonschema (`./dev deps --peers`) and npm, whose registry has the schema in a package of the
format's makers: fetched once into the build folder, and checked by npm against its checksum.
"""

import copy
import json
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

try:
    import jsonschema
except ImportError:
    jsonschema = None

TESTS = hw.Tests()
PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
IN_PACKAGE = "package/lib/schemas/sarif-2.1.0-rtm.5.json"
ARCHIVES = hw.BUILD / "schemas"
LEAKY = hw.TARGETS / "leaks/list_single-O2"
GOLDEN = hw.SOURCE / "tests/data/golden/leaks"


def archive():
    """The package, from the build folder or else from the registry."""
    there = list(ARCHIVES.glob("microsoft-jest-sarif-*.tgz"))
    if not there:
        npm = hw.need_program("npm")
        ARCHIVES.mkdir(exist_ok=True)
        hw.run([npm, "pack", "--silent", "--fetch-retries=0", "--fetch-timeout=20000",
                "--pack-destination", ARCHIVES, PACKAGE])
        there = list(ARCHIVES.glob("microsoft-jest-sarif-*.tgz"))
        if not there:
            raise hw.Skip(f"npm cannot fetch {PACKAGE}: no network?")
    return there[0]


def validator():
    if not jsonschema:
        raise hw.Skip("python3-jsonschema is not installed")
    with tarfile.open(archive()) as package:
        schema = json.load(package.extractfile(IN_PACKAGE))
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


def complaints(judge, found):
    return [f"{'/'.join(map(str, error.absolute_path))}: {hw.shorten(error.message, 200)}"
            for error in judge.iter_errors(found)]


def sarif(*arguments, status=0):
    ended = hw.run([hw.HEAPWISE, *arguments])
    hw.need(ended.status == status, f"{arguments}: {ended}")
    found = json.loads(ended.text)
    hw.need(found["runs"][0]["results"], f"{arguments}: no results")
    return found


@TESTS.test
def valid(folder):
    """SARIF of leaks, of budget, of all kinds and all limits is valid"""
    judge = validator()
    path = folder / "a.hpw"
    hw.record([LEAKY], path, options=("-q", "--leak-check=full", "--show-leak-kinds=none"))
    hw.need(path.exists(), "nothing was recorded")
    documents = {
        "leaks": sarif("leaks", "--format=sarif", path),
        "leaks, all kinds": sarif("leaks", "--format=sarif", "--show-leak-kinds=all", path),
        "budget": sarif("budget", "--format", "sarif", "--max-never-freed", "0", "--max-per-stack", "1", "--max-peak", "1",
                        "--max-allocations", "1", "--max-leak", "0", "--fail-on", "all", path, status=1),
    }
    for golden in GOLDEN.glob("*.sarif"):
        documents[golden.name] = json.loads(golden.read_text(encoding="utf-8"))
    for name, found in documents.items():
        hw.need(not complaints(judge, found), f"{name}: " + "\n".join(complaints(judge, found)))
    return f"{len(documents)} documents"


@TESTS.test
def invalid(folder):
    """What the schema forbids is found"""
    judge = validator()
    good = json.loads((GOLDEN / "plain.sarif").read_text(encoding="utf-8"))
    for breaks in (lambda it: it.pop("version"),
                   lambda it: it["runs"][0]["results"][0].update(level="fatal"),
                   lambda it: it["runs"][0]["results"][0].pop("message"),
                   lambda it: it["runs"][0]["tool"]["driver"].update(unheard_of=1)):
        bad = copy.deepcopy(good)
        breaks(bad)
        hw.need(complaints(judge, bad), "a broken document is valid")


TESTS.main(width=1)
