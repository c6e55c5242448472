#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of `heapwise check`, added up: equal errors of several runs and processes are one, and so is what was looked at."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
# "twice" frees a block again, "inside" frees an address in one, "fork:N" does the rest in N children, too, "again" executes
# itself with the rest.
SOURCE = """#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept;
static __attribute__((noinline)) void free_it(void *block) { free(block); }
static __attribute__((noinline)) void twice(void)
{
	kept = malloc(33);
	free_it(kept);
	free_it(kept);
}
static __attribute__((noinline)) void inside(void)
{
	kept = malloc(77);
	free_it((char *)kept + 5);
	free(kept);
}
int main(int argc, char **argv)
{
	kept = malloc(1);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "twice"))
			twice();
		else if (!strcmp(argv[i], "inside"))
			inside();
		else if (!strncmp(argv[i], "fork:", 5)) {
			for (int n = atoi(argv[i] + 5); n; n--)
				if (!fork())
					break;
		} else if (!strcmp(argv[i], "again")) {
			argv[i] = argv[0];
			execv(argv[0], argv + i);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
"""
STATIC = "int main(void) { return 0; }\n"


def build(folder, source, name, *options):
    (folder / "source.c").write_text(source)
    subprocess.run(["cc", "-O1", *options, "-o", folder / name, folder / "source.c"], check=True)
    return folder / name


def check(recording, *words):
    ended = hw.heapwise("check", "-q", "-f", "--full", "-o", recording, "--", *words)
    hw.need(ended.status == 0, str(ended))
    return recording


def shown(*words):
    ended = hw.heapwise("report", "--view", "errors", "--json", *words)
    hw.need(ended.status == 0, str(ended))
    return json.loads(ended.text)


def counts(answer):
    return sorted((error["kind"], error["count"]) for error in answer["errors"])


def sums(files, key):
    """None: it is not known of one of them."""
    values = [shown(file)["coverage"][key] for file in files]
    return None if None in values else sum(values)


@TESTS.test
def runs(folder):
    """Three runs at different addresses: equal errors are one, with names or without any; coverage is added"""
    for options in (("-g",), ("-s",)):
        program = build(folder, SOURCE, "app", *options)
        files = [check(folder / f"{i}.hpw", program, *words)
                 for i, words in enumerate((["twice"], ["twice", "inside"], ["twice"]))]
        addresses = {shown(file)["errors"][0]["block"]["address"] for file in files}
        hw.need(len(addresses) > 1, f"the runs had the same addresses: {addresses}")
        answer = shown("--merge", *files)
        hw.need(counts(answer) == [("DoubleFree", 3), ("InvalidFree", 1)], f"{options}: {answer['errors']}")
        for key in ("blocks", "bytes", "guarded_blocks", "guarded_bytes", "stacks", "dropped", "left_out"):
            hw.need(answer["coverage"][key] == sums(files, key), f"{key}: {answer['coverage']}")
        hw.need(answer["coverage"]["seed"] is None and answer["coverage"]["unserved"] == 0, f"{answer['coverage']}")
        text = hw.ask("report", "--view", "errors", "--merge", *files)
        hw.need("3 times" in text and "different seeds" in text and "3 recordings added up" in text, text)


@TESTS.test
def tree(folder):
    """All processes of a run, given as files or as their folder: forked ones and one that executed the program anew"""
    program = build(folder, SOURCE, "app", "-g")
    (folder / "tree").mkdir()
    check(folder / "tree" / "%n.%p.hpw", program, "fork:3", "again", "twice")
    files = sorted((folder / "tree").glob("*.hpw"))
    errors = sum(row["count"] for file in files for row in shown(file)["errors"])
    hw.need(len(files) >= 4 and errors == 4, f"{files} {errors}")
    for words in (files, [folder / "tree"]):
        answer = shown("--merge", *words)
        hw.need(counts(answer) == [("DoubleFree", 4)], f"{answer['errors']}")
        hw.need(answer["coverage"]["blocks"] == sums(files, "blocks"), f"{answer['coverage']}")
    seeds = {shown(file)["coverage"]["seed"] for file in files}
    hw.need(seeds == {answer["coverage"]["seed"]}, f"{seeds}: {answer['coverage']}")
    (folder / "empty").mkdir()
    ended = hw.heapwise("report", "--view", "errors", "--merge", folder / "empty")
    hw.need(ended.status != 0 and "no recording (*.hpw)" in ended.errors, str(ended))


@TESTS.test
def judged(folder):
    """A gate on a sum fails if one has errors, passes if none has, and is undecided if one was not checked"""
    program = build(folder, SOURCE, "app", "-g")
    bad, good = check(folder / "bad.hpw", program, "twice"), check(folder / "good.hpw", program)
    gate = ("report", "--view", "errors", "--error-exitcode=9", "--merge")
    hw.need(hw.heapwise(*gate, good, good).status == 0, "a sum of good runs fails")
    hw.need(hw.heapwise(*gate, good, bad).status == 9, "a sum with a bad run passes")
    static = build(folder, STATIC, "static", "-static")
    left = folder / "left.hpw"
    ended = hw.heapwise("check", "-q", "-f", "-o", left, "--", "sh", "-c", f"exec {static}")
    hw.need(left.exists(), str(ended))
    ended = hw.heapwise(*gate, good, left)
    hw.need(ended.status == 3 and "can't be decided" in ended.errors, str(ended))
    answer = shown("--merge", good, left)
    hw.need(answer["coverage"]["unserved"] == 1, f"{answer['coverage']}")


@TESTS.test
def mixed(folder):
    """Errors alone are no part of a sum with heaps, checked or not"""
    program = build(folder, SOURCE, "app", "-g")
    bad = check(folder / "bad.hpw", program, "twice")
    heap = folder / "heap.hpw"
    hw.need(hw.heapwise("run", "-q", "-f", "-o", heap, "--", program).status == 0, "run")
    ended = hw.heapwise("report", "--view", "errors", "--merge", bad, heap)
    hw.need(ended.status != 0 and "contains errors only" in ended.errors and "can't be added up" in ended.errors, str(ended))
    both = folder / "both.hpw"
    hw.need(hw.heapwise("check", "-q", "--mode", "exact", "-f", "-o", both, "--", program, "twice").status == 0, "check")
    ended = hw.heapwise("report", "--view", "errors", "--merge", both, bad)
    hw.need(ended.status != 0 and "contains errors only" in ended.errors and "can't be added up" in ended.errors, str(ended))


if __name__ == "__main__":
    TESTS.main()
