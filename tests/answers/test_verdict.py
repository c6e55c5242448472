#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report's verdict says: growth, reallocs, churn, memory that is not malloc's, and what to look at next."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
PAGES = 50  # lines: two pages of 80 x 24, of the smallest programs; others have a few more


def record(folder, program, *arguments, status=0):
    path = folder / f"{program}{len(arguments)}.hpw"
    ended = hw.record([hw.ANSWERS / program, *arguments], path)
    hw.need(ended.status == status, f"{program}: {ended}")
    return path


def verdict(path):
    return hw.report(path)["verdict"]


def has(sentences, words):
    return any(words in sentence for sentence in sentences)


@TESTS.test
def growth_that_is_freed(folder):
    """What grows all the time is said although nothing was left"""
    path = record(folder, "grows_then_frees")
    said = verdict(path)
    hw.need(said[0].startswith("No leaks: "), said[0])
    hw.need(said[1].startswith("list_add (") and " grew while it ran: by" in said[1] and "keeps growing" not in said[1], said[1])
    text = hw.ask("report", "--view", "growth", path)
    hw.need("grew while it ran, freed at the end" in text and "leak suspect" not in text, text)
    text = hw.ask("report", "--json", "--view", "growth", path)
    hw.need(json.loads(text)["growth"]["places"][0]["freed_at_end"] is True, text)


@TESTS.test
def growth_of_what_began_late(folder):
    """Places that began in the tail are not judged, and are said: how many, and what they have"""
    path = record(folder, "begins_late")
    text = hw.ask("report", "--view", "growth", path)
    hw.need("  1 allocation site that first appeared in the last 10% of the time, with 4.88 KiB at the end, is not assessed (--tail 0 covers the whole time).\n" in text, text)
    hw.need("late  " not in text, text)
    found = json.loads(hw.ask("report", "--json", "--view", "growth", path))["growth"]
    hw.need(found["left_out"] == {"places": 1, "bytes": 5000} and found["places_total"] == 1, f"{found}")
    text = hw.ask("report", "--view", "growth", "--tail", "0", path)
    hw.need("not assessed" not in text and "late  " in text, text)
    text = hw.ask("report", "--view", "growth", "--base", path, path)
    hw.need("Now: 1 allocation site that first appeared" in text and "Before: 1 allocation site that first appeared" in text, text)


@TESTS.test
def growth_along_many_stacks(folder):
    """A place that grows along many stacks is said once, with all of it; one of which a single stack grows is said too"""
    path = record(folder, "grows_for_many")
    for view in ("summary", "growth"):
        said = [line for line in hw.report(path, "--view", view)["verdict"] if "keeps growing" in line]
        hw.need(len(said) == 2, f"{view}: {said}")
        grown = {re.match(r"\w+", line)[0]: float(re.search(r"by ([\d.]+) KiB", line)[1]) for line in said}
        # A tail of 10% is not judged, and the line is laid through floors.
        hw.need(set(grown) == {"list_add", "take"} and 85 < grown["list_add"] < 125, f"{view}: {said}")


@TESTS.test
def reallocs_by_little(folder):
    """20,000 reallocs by 10 bytes are said, 16 that double are not"""
    hw.need(has(verdict(record(folder, "grows_by_little")), "grows by 10 B at a time"), "not said")
    said = verdict(record(folder, "grows_by_little", "double"))
    hw.need(not has(said, "at a time"), str(said))


@TESTS.test
def churn(folder):
    """600,001 allocations for a peak of 800 KiB are said, and that they are short-lived, though none is temporary"""
    path = record(folder, "churns")
    said = verdict(path)
    hw.need(has(said, "600,001 allocations of 39.7 MiB were made for a peak of 800 KiB"), str(said))
    hw.need(has(said, "more than 99% of the blocks lived for at most 100 allocations"), str(said))
    hw.need(hw.report(path)["totals"]["temporary"] <= 1, "the program is another one")


@TESTS.test
def no_place_has_most(folder):
    """300 places with as much each: the first sentences name none of them, but say how many there are; so does a comparison"""
    path = record(folder, "many_places")
    said = verdict(path)
    for begin in ("47.0 KiB in 300 blocks were never freed, from 300 allocation sites, none with more than 1% of it.", "Peak "):
        line = next((line for line in said if line.startswith(begin)), None)
        hw.need(line and line.rstrip(".").endswith(", from 300 allocation sites, none with more than 1% of it"), str(said))
    hw.need(not has(said, "one allocation site"), str(said))
    before = folder / "before.hpw"
    hw.record([hw.ANSWERS / "shared_place"], before)
    text = hw.ask("diff", before, path)
    hw.need("Largest growth among 300 growing allocation sites: place_309 (" in text, text)


@TESTS.test
def sentence_and_list_agree(folder):
    """The share of "one allocation site" is that of the first row of the list below"""
    path = record(folder, "shared_place")
    found = hw.report(path)
    hw.need("80% of it from one allocation site: from_many (" in found["verdict"][0], found["verdict"][0])
    top = found["top"]["never_freed"][0]
    hw.need(top["live_bytes"] == 8000 and top["merged_stacks"] == 8, str(top))
    hw.need(top["stack"][0]["function"] == "from_many", str(top["stack"][0]))
    hw.need("(80.0%)" in hw.ask("report", path), "the list has another share")


@TESTS.test
def resident_memory(folder):
    """Memory that did not come through malloc is named, at the end and of what was killed"""
    # Of what was killed it is known as of the last look at it, which may have come while it was touched.
    for arguments, status, least in ((), 0, 64), (("killed",), -9, 16):
        path = record(folder, "mapped_memory", *arguments, status=status)
        found = hw.report(path)
        resident = found["recording"]["resident_peak_bytes"]
        hw.need(resident and least << 20 < resident < 96 << 20, f"{status}: resident_peak_bytes is {resident}")
        hw.need(has(found["verdict"], "resident memory peaked at") and has(found["verdict"], "1.00 MiB"),
                str(found["verdict"]))
    path = record(folder, "hello")
    hw.need(not has(verdict(path), "resident"), "said of hello world")


@TESTS.test
def resident_memory_of_an_interpreter(folder):
    """Of Python the verdict says how to see the rest"""
    path = folder / "python.hpw"
    script = "x = [bytearray(0) for i in range(10)]; y = [(i, i + 1) for i in range(400000)]"
    ended = hw.record(["/usr/bin/python3", "-c", script], path, options=("-q", "--no-pyobjects"))
    hw.need(ended.status == 0, str(ended))
    said = verdict(path)
    hw.need(has(said, "PYTHONMALLOC=malloc"), str(said))


def quiet_programs(folder):
    """Ordinary programs on little work, of which there is nothing to say."""
    text = folder / "text"
    text.write_text("".join(f'{{"a": {i}}}\n' for i in range(500)))
    source = folder / "one.c"
    source.write_text("int main(void) { return 0; }\n")
    return {
        "hello": [hw.ANSWERS / "hello"],
        "jq": ["jq", ".a", text],
        "perl": ["perl", "-e", "my %h; $h{$_} = 1 for 1..2000; print scalar keys %h"],
        "gcc": ["gcc", "-c", "-o", folder / "one.o", source],
        "sort": ["sort", text],
        "grep": ["grep", "-c", "a", text],
        "ls": ["ls", "-l", "/usr/bin"],
        "sed": ["sed", "s/a/b/", text],
        "awk": ["awk", "{ n++ } END { print n }", text],
        "sqlite3": ["sqlite3", ":memory:", "create table t(a); insert into t values(1); select * from t"],
    }


@TESTS.test
def nothing_false_of_real_programs(folder):
    """Hello world, jq, perl, gcc and others: no growth, reallocs or churn are said, and a report is a page or two"""
    tried = 0
    for name, command in quiet_programs(folder).items():
        if not shutil.which(str(command[0])):
            continue
        path = folder / f"{name}.hpw"
        ended = hw.record(command, path, options=("-q", "--children=no"))
        hw.need(ended.status == 0, f"{name}: {ended}")
        said = verdict(path)
        for words in ("keeps growing", "at a time", "were made for a peak"):
            hw.need(not has(said, words), f"{name}: {said}")
        lines = hw.ask("report", path).count("\n")
        hw.need(lines <= (PAGES if name in ("hello", "jq") else PAGES + 10), f"{name}: {lines} lines")
        tried += 1
    hw.need(tried >= 5, f"only {tried} programs are here")


@TESTS.test
def next_views_work(folder):
    """Each command at the end of a report works on this file"""
    commands = set()
    for program in ("hello", "churns", "grows_by_little", "grows_then_frees", "shared_place"):
        path = record(folder, program)
        text = hw.ask("report", path)
        found = text[text.index("\nNext\n"):].splitlines()[2:]
        hw.need(1 <= len(found) <= 3, f"{program}: {found}")
        for line in found:
            words = shlex.split(line, comments=True)
            hw.need(words[0] == "heapwise" and words[-1] == str(path), line)
            hw.ask(*words[1:])
            commands.add(" ".join(words[1:-1]))
    hw.need(len(commands) >= 5, f"only {commands}")


@TESTS.test
def temporary_within(folder):
    """--temporary-within N counts what was freed when others had come between, and the view says which rule is used"""
    path = folder / "temporary.hpw"
    hw.record([hw.ANSWERS / "nearly_temporary"], path, options=("-q",))
    for options, count, rule in (((), 3000, "by the same thread before its next allocation"), (("--temporary-within=1",), 3000, "by the same thread before its next allocation"),
                                 (("--temporary-within=2",), 9000, "by the same thread within 2 of its allocations")):
        found = hw.report(path, "--view", "temporary", *options)
        hw.need(found["totals"]["temporary"] == count, f"{options}: {found['totals']}")
        hw.need(sum(site["temporary"] for site in found["sites"]) == count, f"{options}: the sites")
        hw.need(any(rule in note for note in found["notes"]), f"{options}: {found['notes']}")
        hw.need(found["recording"]["blocks"] is None and found["totals"]["allocations"] >= 9000, f"{options}: blocks are left out")
    hw.need("freed by the same thread within 2 of its allocations" in hw.heapwise("report", "--temporary-within", "2", path).text, "the verdict")
    summed = folder / "sums.hpw"
    hw.record([hw.ANSWERS / "nearly_temporary"], summed, options=("-q", "--mode=aggregate"))
    ended = hw.heapwise("report", "--temporary-within=2", summed)
    hw.need(ended.status == 3 and ended.errors, f"sums don't say it: {ended}")


@TESTS.test
def temporary_of_some(folder):
    """A sum with a sample in it does not know how many allocations were temporary, and says no share of them"""
    exact, sample = folder / "exact.hpw", folder / "sample.hpw"
    for path, mode in ((exact, "exact"), (sample, "sample:64")):
        hw.record([hw.ANSWERS / "leaves_blocks"], path, options=("-q", "--mode", mode, "--seed=1"))
    hw.need(any("were temporary" in line for line in verdict(exact)), f"{verdict(exact)}")
    found = json.loads(hw.ask("report", "--json", "--merge", exact, sample))
    hw.need(found["totals"]["temporary"] is None and not found["top"]["temporary"], f"{found['totals']}")
    hw.need(not any("temporary" in line for line in found["verdict"]), f"{found['verdict']}")


TESTS.main(width=4)
