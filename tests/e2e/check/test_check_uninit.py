#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise check --uninit`: memory that was never written, and changes what a program does."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import guarded
import hw

TESTS = hw.Tests()
RUNS_MOST = 40  # to find one block
PLANTED = """#include <sqlite3ext.h>
#include <stdlib.h>
SQLITE_EXTENSION_INIT1
struct state { int seen; unsigned char mode; };
static struct state *make_state(void)
{
	struct state *state = malloc(sizeof(*state));
	if (!state)
		abort();
	state->seen = 0;
#ifdef GOOD
	state->mode = 0;
#endif
	return state;
}
static void planted(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct state *state = make_state();
	int value = sqlite3_value_int(values[0]);
	state->seen += count;
	sqlite3_result_int(context, value + (value == 777 ? state->mode & 1 : 0));
	free(state);
}
int sqlite3_planted_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	(void)error;
	SQLITE_EXTENSION_INIT2(api);
	return sqlite3_create_function(db, "planted", 1, SQLITE_UTF8, NULL, planted, NULL, NULL);
}
"""
OWN_ALLOCATOR = """#include <stddef.h>
#include <unistd.h>
static char memory[1 << 20];
static size_t used;
void *malloc(size_t size)
{
	void *block = memory + used;
	used += (size + 15) / 16 * 16;
	return block;
}
void free(void *block) { (void)block; }
int main(void)
{
	char *volatile text = malloc(2);
	return write(1, text, 2) != 2;
}
"""
STATEMENTS = """.load {0}
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000) insert into t select x, 'row ' || x from c;
select sum(planted(a)), count(*) from t;
"""


def search(arguments, *options, stdin=b""):
    """→ (hw.Ended, the line of the search, rows of the errors that were reported)."""
    ended = hw.run([hw.HEAPWISE, "check", "--uninit", "--json", *options, "--", *arguments], stdin=stdin)
    lines = [json.loads(line) for line in ended.errors.splitlines() if line.startswith("{")]
    found = [line for line in lines if line["event"] == "uninit"]
    hw.need(len(found) == 1, f"{arguments}: {ended}")
    return ended, found[0], [row for line in lines if line["event"] == "errors" for row in line["errors"]]


def story(name, *options, stdin=b"", variant="O0"):
    return search([guarded.TARGETS / f"unwritten-{variant}", name], *options, stdin=stdin)


def functions(row):
    return [frame["function"] for frame in row["block"]["allocated_at"]]


def need_found(found, rows, wanted):
    """wanted: (number, size, offset, bytes, function) of each block."""
    shown = f"{found} {rows}"
    hw.need(found["search"]["verdict"] == "found" and not found["search"]["more"], shown)
    blocks = [(one["block_number"], one["block_bytes"], one["offset"], one["bytes"]) for one in found["unwritten"]]
    hw.need(blocks == [one[:4] for one in wanted], f"wanted {wanted}: {shown}")
    hw.need(all(one["alone"] for one in found["unwritten"]), shown)
    hw.need(sum(row["count"] for row in rows) == len(wanted), shown)
    hw.need({row["kind"] for row in rows} == {"UninitValue"}, shown)
    hw.need({functions(row)[0] for row in rows} == {one[4] for one in wanted}, shown)


@TESTS.test
def one_block(_folder):
    """The block, its bytes and where it was allocated are found, whether the output or the exit status shows it"""
    for variant in ("O0", "O2"):
        ended, found, rows = story("flag", "--error-exitcode=9", variant=variant)
        need_found(found, rows, [(0, 16, 4, 1, "make_record" if variant == "O0" else functions(rows[0])[0])])
        hw.need(found["unwritten"][0]["difference"] == 'standard output, line 2: "odd" or "even"', str(found))
        hw.need(ended.status == 9 and ended.text == "record 7\nodd\n", str(ended))
        row = rows[0]
        hw.need(row["block"]["size"] == 16 and row["block"]["offset"] == 4, str(row))
    ended, found, rows = story("status")
    need_found(found, rows, [(0, 40, 9, 1, "status_of_byte")])
    hw.need(found["unwritten"][0]["difference"].startswith("the exit status: "), str(found))
    hw.need(ended.status in (0, 3), str(ended))
    _, found, rows = story("zero")
    need_found(found, rows, [(0, 16, 4, 4, "make_record")])
    _, found, rows = story("grown")
    need_found(found, rows, [(1, 4000, 3000, 1, "tell_grown")])


@TESTS.test
def many_blocks(_folder):
    """One of 100,000 blocks is found in few runs, and each of two is"""
    _, found, rows = story("many")
    need_found(found, rows, [(73311, 48, 24, 1, "tell_many")])
    hw.need(found["search"]["blocks"] > 100_000, str(found))
    hw.need(found["search"]["runs"] <= RUNS_MOST, str(found))
    _, found, rows = story("two")
    need_found(found, rows, [(0, 16, 4, 1, "make_record"), (2, 16, 4, 1, "make_record")])
    _, found, _ = search([guarded.TARGETS / "unwritten-O0", "two"], "--uninit=1")
    hw.need(len(found["unwritten"]) == 1 and found["search"]["more"], str(found))


@TESTS.test
def together(_folder):
    """A block that changes the result with another one alone is found, and that is said"""
    _, found, rows = story("together")
    hw.need(found["search"]["verdict"] == "found" and len(found["unwritten"]) == 1, str(found))
    one = found["unwritten"][0]
    hw.need(one["block_number"] == 1 and not one["alone"] and one["offset"] is None, str(one))
    hw.need(functions(rows[0])[:2] == ["make_record", "tell_together"], str(rows))


@TESTS.test
def input_again(_folder):
    """Each run has the same standard input, which the program reads"""
    ended, found, rows = story("input", stdin=b"a\nb\nunset\nc\n")
    hw.need(ended.text == "0\n0\n1\n0\n", str(ended))
    hw.need(found["unwritten"][0]["difference"].startswith("standard output, line 3: "), str(found))
    hw.need(functions(rows[0])[:2] == ["make_record", "tell_input"], str(rows))


@TESTS.test
def crash(_folder):
    """A program that dies by what it read ends as it did"""
    ended, found, rows = story("crash")
    hw.need(ended.status < 0, str(ended))
    hw.need("killed by signal 11" in found["unwritten"][0]["difference"], str(found))
    hw.need(functions(rows[0])[0] == "use_address", str(rows))


@TESTS.test
def nothing(_folder):
    """Programs that write all that they read have no finding; lines that differ by themselves are left out"""
    for name in ("good", "cleared"):
        ended, found, rows = story(name, "--error-exitcode=9")
        hw.need(found["search"]["verdict"] == "none" and not rows and not found["unwritten"], f"{name}: {found}")
        hw.need(ended.status == 0 and found["search"]["runs"] >= 5, f"{name}: {ended}")
    _, found, rows = story("pid")
    hw.need(found["search"]["verdict"] == "none" and found["search"]["lines_left_out"] == 1, str(found))
    _, found, rows = story("pid-flag")
    hw.need(found["search"]["lines_left_out"] == 1 and len(rows) == 1, f"{found} {rows}")


@TESTS.test
def undecided(folder):
    """Where runs differ by themselves, or the library does not serve the program, nothing is said, and no gate passes"""
    ended, found, rows = story("random", "--error-exitcode=9")
    if found["search"]["verdict"] == "none":  # as many lines by chance
        ended, found, rows = story("random", "--error-exitcode=9")
    hw.need(found["search"]["verdict"] == "not-repeatable" and not rows, str(found))
    hw.need(ended.status == 125 and found["search"]["why"].startswith("standard output, line"), str(ended))
    source, program = folder / "own.c", folder / "own"
    source.write_text(OWN_ALLOCATOR)
    subprocess.run(["cc", "-o", program, source], check=True)
    ended, found, rows = search([program], "--error-exitcode=9")
    hw.need(found["search"]["verdict"] == "not-checked" and ended.status == 125, f"{found} {ended}")


@TESTS.test
def own_file(folder):
    """A file that the program has open at the number of the library's page is neither written nor closed"""
    file, before = folder / "file", b"x" * 8192
    file.write_bytes(before)
    ended, found, rows = search([guarded.TARGETS / "unwritten-O0", "holds", file])
    hw.need(ended.text == "open\nopen\n" and found["search"]["verdict"] == "none" and not rows, f"{ended} {found}")
    hw.need(file.read_bytes() == before, "the program's file was changed")
    with open(file, "r+b") as opened:  # a process that takes itself for the one that was started
        number, status = opened.fileno(), os.fstat(opened.fileno())
        for settings in (f"sums={number}", f"sums={number}:{status.st_dev}:{status.st_ino + 1}",
                         f"sums={number}:{status.st_dev}:{status.st_ino}"):
            environment = dict(os.environ, LD_PRELOAD=str(guarded.LIBRARY), HEAPWISE_CHECK=f"backend=none,fill=55,{settings}")
            ended = hw.run([guarded.TARGETS / "unwritten-O0", "held", str(number)], env=environment, pass_fds=[number])
            hw.need(ended.text == "open\n" and file.read_bytes() == before, f"{settings}: {ended}")


@TESTS.test
def other_processes(_folder):
    """Blocks of children and of executed programs are not taken for the program's own; that results depend on them is said"""
    for name in ("child", "forked", "executed"):
        ended, found, rows = story(name, "--error-exitcode=9")
        hw.need(found["search"]["verdict"] == "unnamed" and not found["unwritten"] and not rows, f"{name}: {found} {rows}")
        hw.need("of a process that the program started" in found["search"]["why"], f"{name}: {found}")
        hw.need(ended.text == "1\nrecord 7\nodd\n", f"{name}: {ended}")
    _, found, rows = story("parent")
    need_found(found, rows, [(0, 16, 4, 1, "make_record")])
    _, found, rows = story("family")
    hw.need(found["search"]["verdict"] == "found" and found["search"]["more"], str(found))
    hw.need([one["block_number"] for one in found["unwritten"]] == [0], str(found))
    hw.need(sum(row["count"] for row in rows) == 1, str(rows))
    program = guarded.TARGETS / "unwritten-O0"
    said = hw.run([hw.HEAPWISE, "check", "--uninit", "--", program, "child"]).errors
    hw.need("blocks are searched only in the process that was started" in said, said)
    said = hw.run([hw.HEAPWISE, "check", "--uninit", "--", program, "family"]).errors
    hw.need(re.search(r"there may be more: results differ in .*; its blocks are not searched", said), said)
    hw.need("--uninit=N" not in said, said)


@TESTS.test
def bound_of_blocks(_folder):
    """--uninit=N is advised where N ended the search"""
    program = guarded.TARGETS / "unwritten-O0"
    said = hw.run([hw.HEAPWISE, "check", "--uninit=1", "--", program, "two"]).errors
    hw.need("at its bound of 1 block, before" in said and "(--uninit=N searches for more blocks)" in said, said)
    said = hw.run([hw.HEAPWISE, "check", "--uninit=2", "--", program, "two"]).errors
    hw.need("there may be more" not in said, said)


@TESTS.test
def words(_folder):
    """For people: what was found, and the report with names and lines; -q leaves out what is no finding"""
    program = guarded.TARGETS / "unwritten-O0"
    ended = hw.run([hw.HEAPWISE, "check", "--uninit", "--", program, "flag"])
    hw.need("the byte at offset 4 of a block of 16 bytes (block number 0) changes standard output, line 2: "
            '"odd" or "even"' in ended.errors, ended.errors)
    hw.need(re.search(r"The result depends on 1 uninitialised byte at offset 4 of a block  \[UninitValue, unwritten-O0 ",
                      ended.errors), ended.errors)
    hw.need(re.search(r"make_record +unwritten\.c:\d+", ended.errors), ended.errors)
    ended = hw.run([hw.HEAPWISE, "check", "--uninit", "-q", "--", program, "good"])
    hw.need(ended.errors == "" and ended.text == "1\n", str(ended))
    ended = hw.run([hw.HEAPWISE, "check", "--uninit", "--", program, "random"])
    hw.need("can't tell" in ended.errors or "no result depends" in ended.errors, ended.errors)


@TESTS.test
def members(_folder):
    """The member is named where debug information says of what type the block is; else none is"""
    for variant in ("O0", "O2"):
        for story in ("nested", "array", "class", "returned", "text"):
            ended = hw.run([hw.HEAPWISE, "check", "--uninit", "--", guarded.TARGETS / f"members-{variant}", story])
            wanted = re.search(r"^expect (.*)$", ended.text, re.M)[1]
            found = re.search(r"offset \d+ of it is (.*), of (?:Outer|Shape) \(", ended.errors)
            hw.need((found[1] if found else "nothing") == wanted and "UninitValue" in ended.errors, f"{story} {variant}: {ended}")
    for target, story, wanted in (("unwritten", "flag", "flag"), ("handed", "padding", "padding after tag")):
        said = hw.run([hw.HEAPWISE, "check", "--uninit", "--", guarded.TARGETS / f"{target}-O2", story]).errors
        hw.need(f" of it is {wanted}, of struct record (to which record points)" in said, said)


@TESTS.test
def real_programs(_folder):
    """Programs of the system have no finding"""
    commands = (["ls", "/"], ["bash", "-c", "for i in 1 2 3; do echo $i | sed s/1/x/; done"],
                ["perl", "-e", r'%h = map { $_ => 1 } 1 .. 20; print join(",", sort keys %h), "\n"'],
                ["python3", "-S", "-c", "import json; print(json.dumps({'a': list(range(10))}))"],
                ["jq", "-n", "[range(5)] | map(. * 2)"])
    for command in commands:
        if not shutil.which(command[0]):
            continue
        alone = hw.run(command)
        ended, found, rows = search(command)
        hw.need(found["search"]["verdict"] == "none" and not rows, f"{command}: {found}")
        hw.need((ended.status, ended.stdout) == (alone.status, alone.stdout), f"{command}: {ended}")


@TESTS.test
def planted_in_sqlite(folder):
    """A use that was planted in a function of sqlite3's shell is found, and its good form has none"""
    if not shutil.which("sqlite3") or not os.path.exists("/usr/include/sqlite3ext.h"):
        raise hw.Skip("sqlite3 or sqlite3ext.h is not there")
    source = folder / "planted.c"
    source.write_text(PLANTED)
    for good in (False, True):
        library = folder / "planted.so"
        subprocess.run(["cc", "-g", "-fPIC", "-shared", *(["-DGOOD"] if good else []), "-o", library, source], check=True)
        statements = STATEMENTS.format(folder / "planted").encode()
        _, found, rows = search(["sqlite3", ":memory:"], stdin=statements)
        if good:
            hw.need(found["search"]["verdict"] == "none", str(found))
            continue
        hw.need(found["search"]["verdict"] == "found" and found["search"]["runs"] <= RUNS_MOST, str(found))
        one = found["unwritten"][0]
        hw.need((one["block_bytes"], one["offset"], one["bytes"]) == (8, 4, 1), str(found))
        hw.need(functions(rows[0])[:2] == ["make_state", "planted"], str(rows))


TESTS.main()
