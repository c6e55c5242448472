#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The first sentence of diff is about what changed most, and where; estimates are called so; what libraries keep is no news."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()


def record(folder, name, *words, options=()):
    path = folder / f"{name}.hpw"
    hw.record([hw.ANSWERS / "peaks_more", *map(str, words)], path, options=("-q", *options))
    return path


def verdict(older, newer):
    ended = hw.heapwise("diff", "--json", older, newer)
    hw.need(ended.status == 0, str(ended))
    return json.loads(ended.text)["verdict"]


@TESTS.test
def peak_first(folder):
    """Where the peak grew by more than what is live it is told first, with its place; else what is live"""
    small, peak, live = (record(folder, name, *words) for name, words in
                         (("small", (10, 0)), ("peak", (100, 800)), ("live", (900, 0))))
    said = verdict(small, peak)
    hw.need(said[0].startswith("The peak grew by 890 KiB: from 10.0 KiB to 900 KiB"), str(said))
    hw.need(said[1].startswith("Largest growth at the peak: build (peaks_more.c:") and "+800 KiB; keep" in said[1], str(said))
    hw.need(said[2].startswith("Live memory grew by 90.0 KiB") and said[3].startswith("Largest growth: keep ("), str(said))
    hw.need(sum(line.startswith("The peak") for line in said) == 1, f"twice: {said}")
    said = verdict(small, live)
    hw.need(said[0].startswith("Live memory grew by 890 KiB") and said[1].startswith("Largest growth: keep ("), str(said))
    said = verdict(peak, small)
    hw.need(said[0].startswith("The peak shrank by 890 KiB"), str(said))


@TESTS.test
def estimates(folder):
    """A change against a sample is about so much, and its range is said; exact figures have no 'about'"""
    exact = record(folder, "exact", 10, 0)
    sample = record(folder, "sample", 900, 0, options=("--mode=sample:4096", "--seed=1"))
    said = verdict(exact, sample)[0]
    hw.need(said.startswith("Live memory grew by about ") and ": from 10.0 KiB to about " in said and ", between +" in said, said)
    said = verdict(sample, exact)
    hw.need(said[0].startswith("Live memory shrank by about ") and "KiB to 10.0 KiB" in said[0] and ", between -" in said[0], said[0])
    counts = next(line for line in said if line.startswith("The number of allocations"))
    hw.need("shrank by about " in counts and "to 10 " in counts, counts)
    same = record(folder, "same", 900, 0)
    for said in (verdict(same, sample), verdict(sample, same)):
        hw.need("differs by no more than the sampling error" in said[0] and not any("Largest growth" in line for line in said), f"{said}")


SHARED = """
#include <stdlib.h>
void *kept[64];
__attribute__((noinline)) static void *table_row(int size) { return malloc(size); }
void FILL(int count) { for (int i = 0; i < count; i++) kept[i] = table_row(111); }
"""
USER = """
#include <stdlib.h>
void fill_a(int), fill_b(int);
int main(int argc, char **argv) { (argv[1][0] == 'a' ? fill_a : fill_b)(atoi(argv[2])); return argc != 3; }
"""


@TESTS.test
def to_another_library(folder):
    """Code that went to another library grew by the difference, not by all that is there now"""
    gcc = hw.need_program("gcc")
    (folder / "shared.c").write_text(SHARED)
    (folder / "user.c").write_text(USER)
    for name in "ab":
        made = hw.run([gcc, "-g", "-fPIC", "-shared", f"-DFILL=fill_{name}", "-o", folder / f"lib{name}.so", folder / "shared.c"])
        hw.need(made.status == 0, f"{made}")
    program = folder / "user"
    made = hw.run([gcc, "-g", "-o", program, folder / "user.c", folder / "liba.so", folder / "libb.so", f"-Wl,-rpath,{folder}"])
    hw.need(made.status == 0, f"{made}")
    for name, words in (("older", ("a", "4")), ("newer", ("b", "8"))):
        hw.record([program, *words], folder / f"{name}.hpw", options=("-q",))
    said = verdict(folder / "older.hpw", folder / "newer.hpw")
    top = next(line for line in said if line.startswith("Largest growth"))
    hw.need(top == "Largest growth: table_row (shared.c:4), +444 B.", f"{said}")
    said = verdict(folder / "newer.hpw", folder / "older.hpw")
    hw.need(not any(line.startswith("Largest growth") for line in said), f"{said}")


@TESTS.test
def libraries(folder):
    """The buffer that libc keeps, since a program prints, is no news: it is noted"""
    silent, prints = record(folder, "silent", 10, 0), record(folder, "prints", 10, 0, "words")
    said = verdict(silent, prints)
    hw.need("Live memory is the same: 10.0 KiB." in said and not any("doallocate" in line for line in said), str(said))
    ended = hw.heapwise("diff", silent, prints)
    hw.need("excludes what libraries keep for themselves: 0 B before, 4.00 KiB now" in ended.text, ended.text)



@TESTS.test
def one_rule_for_libraries(folder):
    """Sentences, --fail-on-growth, JSON, --trend and budget leave out the same blocks; JSON has both figures; --count-libraries counts them"""
    silent, prints = record(folder, "silent", 10, 0), record(folder, "prints", 10, 0, "words")
    for words, status in (((), 0), (("--count-libraries",), 1)):
        hw.need(hw.heapwise("diff", "--fail-on-growth", "0", *words, silent, prints).status == status, f"diff {words}")
        hw.need(hw.heapwise("budget", "--baseline", silent, "--max-growth", "0", *words, prints).status == status, f"budget {words}")
    found = json.loads(hw.ask("diff", "--json", silent, prints))
    hw.need(found["totals"]["live_bytes"]["change"] == 4096 and found["without_libraries"]["live_bytes"]["change"] == 0, f"{found['totals']}")
    hw.need(found["libraries"] == {"older": {"blocks": 0, "bytes": 0}, "newer": {"blocks": 1, "bytes": 4096}}, f"{found['libraries']}")
    hw.need([row["library"] for row in found["rows"]] == ["stdio-buffer"] and found["places"]["new"]["count"] == 0, f"{found['rows']}")
    # A filter leaves stacks, the totals are of all of them.
    filtered = json.loads(hw.ask("diff", "--json", "--focus", "keep", silent, prints))
    hw.need(filtered["without_libraries"] == found["without_libraries"], f"{filtered['without_libraries']}")
    said = hw.ask("diff", "--trend", silent, prints)
    hw.need("live_bytes does not grow steadily: 10.0 KiB → 10.0 KiB" in said and "No allocation site grows" in said, said)


@TESTS.test
def libraries_of_both_or_neither(folder):
    """A stack that has more than libraries keep on one side is the program's on both: each way it changed by its difference"""
    few, many = folder / "few.hpw", folder / "many.hpw"
    for path, count in ((few, 10), (many, 20)):
        hw.record([hw.ANSWERS / "sets_variables", str(count), "files"], path, options=("-q",))
    kept = [hw.report(path)["libraries"]["blocks"] for path in (few, many)]
    hw.need(kept == [10, 0], f"the bound is not between the two: {kept}")
    for older, newer, blocks in ((few, many, 20), (many, few, -20)):
        found = json.loads(hw.ask("diff", "--json", older, newer))
        for totals in (found["totals"], found["without_libraries"]):
            hw.need(totals["live_blocks"]["change"] == blocks, f"{totals['live_blocks']}")
    grown = found["totals"]["live_bytes"]["older"] - found["totals"]["live_bytes"]["newer"]
    for limit, status in ((grown, 0), (grown - 1, 1)):
        hw.need(hw.heapwise("diff", "--fail-on-growth", str(limit), few, many).status == status, f"diff {limit}")
        hw.need(hw.heapwise("budget", "--baseline", few, "--max-growth", str(limit), many).status == status, f"budget {limit}")


@TESTS.test
def normalized(folder):
    """--normalize compares shares of the program's own memory: a program that doubled is the same, whatever libraries keep"""
    one, two = record(folder, "one", 10, 0, "words"), record(folder, "two", 20, 0, "words")
    found = json.loads(hw.ask("diff", "--json", "--normalize", one, two))
    hw.need(found["verdict"][0].startswith("Live memory is the same: 20.0 KiB"), f"{found['verdict']}")
    hw.need(found["rows"] == [] and found["verdict"][1].startswith("Nothing changed"), f"{found}")
    hw.need(found["libraries"]["older"] == found["libraries"]["newer"] == {"blocks": 1, "bytes": 4096}, f"{found['libraries']}")
    text = hw.ask("report", "--base", one, "--normalize", "--view", "never-freed", two)
    hw.need("nothing changed" in text, text)
    # With them it is not: their share is half of what it was.
    counted = json.loads(hw.ask("diff", "--json", "--normalize", "--count-libraries", one, two))
    hw.need({row["status"] for row in counted["rows"]} == {"grown", "shrunk"}, f"{counted['rows']}")


TESTS.main()
