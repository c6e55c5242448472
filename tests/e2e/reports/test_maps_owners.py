#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""heapwise maps: heaps of allocators other than glibc's are named by the allocators' own tables, and nothing else is."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
REGIONS = hw.TARGETS / "mapped_regions"
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}
PAGE = 4096


@contextlib.contextmanager
def target(program=REGIONS, preload=None):
    """A function that has the target do something, and says where; and its PID."""
    environment = hw.clean_environment(**({"LD_PRELOAD": preload} if preload else {}))
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as process:
        def tell(word, pages):
            process.stdin.write(f"{word} {pages}\n")
            process.stdin.flush()
            found = process.stdout.readline().split()
            hw.need(found and found[0] == word, f"{found} to {word}")
            return int(found[1], 16)

        try:
            yield int(process.stdout.readline().split()[1]), tell
        finally:
            process.kill()


def look(pid, *options):
    return json.loads(hw.ask("maps", "--json", str(pid), *options))


def at(document, address):
    """The row of an address."""
    found = [row for row in document["mappings"] if int(row["start"], 16) <= address < int(row["end"], 16)]
    hw.need(len(found) == 1, f"{address:#x} is in {found}")
    return found[0]


def library(name):
    path = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu" / LIBRARIES[name]
    if not path.exists():
        raise hw.Skip(f"no {path}")
    return str(path)


def preloaded(name):
    def test(_):
        """Its blocks, large ones and other threads' too, lie in heaps that have its name; memory of the program's own does not"""
        with target(preload=library(name)) as (pid, tell):
            own = tell("region", 500)
            blocks = {word: tell(word, 2000) for word in ("heap", "arena", "block")}
            found = look(pid)
            text = hw.ask("maps", str(pid))
        for word, address in blocks.items():
            row = at(found, address)
            hw.need(row["owner"] == "heap" and (row["whose"] or "").split(",")[0] == name, f"{word}: {row}")
        row = at(found, own)
        hw.need(row["owner"] == "anonymous" and not row["whose"], f"own memory: {row}")
        hw.need(f"({name}" in text, text)
        owners = [row for row in found["owners"] if (row["whose"] or "").startswith(name)]
        hw.need(sum(row["rss_bytes"] for row in owners) >= 6000 * PAGE * 9 // 10, f"{owners}")
    return test


for each in LIBRARIES:
    TESTS.add(f"{each}: its heaps are named, and nothing else is", preloaded(each))


@TESTS.test
def arenas(_):
    """jemalloc's arenas are told apart where a mapping is of one"""
    with target(preload=library("jemalloc")) as (pid, tell):
        tell("arena", 4000)
        rows = [row for row in look(pid)["mappings"] if (row["whose"] or "").startswith("jemalloc")]
    hw.need(any(row["whose"].startswith("jemalloc, arena ") for row in rows), f"{rows}")


@TESTS.test
def series(_):
    """A heap that grows in a series keeps its name, and pages that are not in memory stay so"""
    with target(preload=library("jemalloc")) as (pid, tell):
        tell("heap", 3000)
        before = look(pid)
        after = look(pid)
        document = look(pid, "--every", "20ms", "--for", "100ms")
    hw.need([row["rss_bytes"] for row in before["processes"]] == [row["rss_bytes"] for row in after["processes"]],
            f"a look brought pages in: {before['processes']} {after['processes']}")
    hw.need(any((row["whose"] or "").startswith("jemalloc") for row in document["mappings"]), f"{document['mappings']}")


@TESTS.test
def musl(folder):
    """musl's heap is named"""
    if not shutil.which("musl-gcc"):
        raise hw.Skip("no musl-gcc")
    program = Path(folder) / "blocks"
    source = Path(folder) / "blocks.c"
    source.write_text("""#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
	char *first = 0, word[32]; unsigned long pages;
	setvbuf(stdout, NULL, _IOLBF, 4096);
	printf("pid %d\\n", getpid());
	while (scanf("%31s %lu", word, &pages) == 2) {
		for (unsigned long i = 0; i < pages; i++) {
			char *block = malloc(4000);
			memset(block, 'x', 4000);
			first = first ? first : block;
		}
		printf("%s %lx\\n", word, (unsigned long)first);
	}
}
""")
    hw.need(subprocess.run(["musl-gcc", "-O1", "-o", program, source], check=False).returncode == 0, "musl-gcc failed")
    with target(program) as (pid, tell):
        address = tell("heap", 1000)
        row = at(look(pid), address)
    hw.need(row["owner"] == "heap" and (row["name"] == "[heap]" or (row["whose"] or "").startswith("musl")), f"{row}")


@TESTS.test
def go(folder):
    """Go's heap is named"""
    compiler = shutil.which("go")
    if not compiler:
        raise hw.Skip("no go")
    program = Path(folder) / "kept"
    source = Path(folder) / "kept.go"
    source.write_text("""package main

import "fmt"

type node struct {
	next *node
	data [1000]byte
}

var head *node

func main() {
	var n int
	for i := 0; i < 20000; i++ {
		head = &node{next: head}
	}
	fmt.Println("ready")
	fmt.Scan(&n)
	fmt.Println(head.data[0])
}
""")
    environment = dict(os.environ, GOCACHE=str(Path(folder) / "cache"), GOFLAGS="-mod=mod", GO111MODULE="off", HOME=str(folder))
    made = subprocess.run([compiler, "build", "-o", program, source], env=environment, check=False, capture_output=True, text=True)
    hw.need(made.returncode == 0, made.stderr)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()
            found = look(process.pid)
        finally:
            process.kill()
    rows = [row for row in found["owners"] if (row["whose"] or "").startswith("Go")]
    hw.need(sum(row["rss_bytes"] for row in rows) > 20000 * 1000, f"{found['owners']}")


@TESTS.test
def others(_):
    """With glibc's malloc alone no mapping has another allocator's name"""
    with target() as (pid, tell):
        tell("region", 5000)
        tell("arena", 500)
        names = {row["whose"] for row in look(pid)["mappings"] if row["whose"]}
    hw.need(all(name.startswith(("arena at", "thread", "a thread")) for name in names), f"{names}")


if __name__ == "__main__":
    TESTS.main()
