#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise check` with the library that finds errors: what small programs announce is what it shows, counts and keeps."""

import json
import re
import sys
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import guarded
import hw

TESTS = hw.Tests()
INHERITS = """#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile char *blocks[30];
static void make(void) { for (int i = 0; i < 30; i++) blocks[i] = malloc(64); }
static void other(int depth) { if (depth) other(depth - 1); free(malloc(64)); }
static void wrong(int i) { blocks[i][64] = 1; free((void *)blocks[i]); free((void *)blocks[i]); }
int main(void)
{
	make();
	if (!fork()) {
		other(40);
		for (int i = 0; i < 30; i++)
			wrong(i);
	}
	wait(NULL);
	return 0;
}
"""
FAULTS = """#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile short seen;
static volatile long none;
static sigjmp_buf out;
static void null(void) { *(volatile int *)none = 1; }
static void impossible(void) { seen = *(volatile short *)(none + 0xdeadbeefdeadbee0ul); }
static void jump(void) { ((void (*volatile)(void))none)(); seen++; }
static void *in_thread(void *none) { *(volatile int *)((char *)none + 8) = 1; return none; }
static void past_end(void)
{
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(tmpfile()), 0);
	at[5] = 1;
}
static int overflow(int depth) { volatile char room[1000]; room[0] = depth; return overflow(depth + 1) + room[0]; }
static void leave(int number) { siglongjmp(out, number); }
int main(int argc, char **argv)
{
	pthread_t thread;
	const char *what = argc > 1 ? argv[1] : "";
	free(malloc(3));
	if (!strcmp(what, "null"))
		null();
	else if (!strcmp(what, "impossible"))
		impossible();
	else if (!strcmp(what, "jump"))
		jump();
	else if (!strcmp(what, "thread"))
		pthread_create(&thread, NULL, in_thread, NULL), pthread_join(thread, NULL);
	else if (!strcmp(what, "past_end"))
		past_end();
	else if (!strcmp(what, "overflow"))
		overflow(0);
	else if (!strcmp(what, "sent"))
		raise(SIGSEGV);
	else if (!strcmp(what, "handled") && signal(SIGSEGV, leave) != SIG_ERR && !sigsetjmp(out, 1))
		null();
	else if (!strcmp(what, "child")) {
		if (!fork())
			null();
		wait(NULL);
	}
	return 0;
}
"""
# What calloc hands out is freed by the program's own free.
OWN_MALLOC = """#include <stdio.h>
#include <stdlib.h>
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
void *malloc(size_t size) { return __libc_malloc(size); }
void free(void *block) { __libc_free(block); }
int main(void)
{
	free(calloc(3, 4));
	free(realloc(malloc(10), 100));
	puts("done");
	return 0;
}
"""
STORIES = ("over_read", "over_write_far", "freed_read", "freed_write", "over_write", "free_twice", "free_others",
           "in_thread", "never_freed")
CXX = ("mismatches", "sizes")
MODES = ((), ("--mode", "exact"))


def check(folder, arguments, *options):
    """→ (hw.Ended, rows of `report --view errors`)."""
    path = folder / "check.hpw"
    ended = hw.run([hw.HEAPWISE, "check", "-f", "-o", path, *options, "--", *arguments])
    shown = hw.heapwise("report", "--json", "--view", "errors", path)
    hw.need(shown.status == 0, f"{arguments} {options}: {shown}; {ended}")
    return ended, json.loads(shown.text)


def frames_of(row):
    block = row["block"] or {"allocated_at": [], "freed_at": []}
    return [frame for stack in [entry["stack"] for entry in row["stacks"]] + [block["allocated_at"], block["freed_at"]]
            for frame in stack]


def need_story(folder, program, story, *options):
    """Each error that the program announces is there, as often as it is made, without frames of ours."""
    ended, document = check(folder, [program, story], *options)
    shown = f"{program.name} {story} {options}"
    wanted = Counter(found["kind"] for found in guarded.EXPECTED.finditer(ended.text))
    counted = Counter()
    for row in document["errors"]:
        counted[row["kind"]] += row["count"]
        ours = [frame for frame in frames_of(row) if "libheapwise" in (frame["module"] or "")]
        hw.need(not ours, f"{shown}: frames of ours in {row['what']}: {ours[:1]}")
    hw.need(ended.status == 0 and wanted == counted, f"{shown}: {guarded.difference(counted, wanted)}; {ended}")
    return document


@TESTS.test
def stories(folder):
    """What a program announces is found, counted and placed, with and without its allocations being recorded"""
    for options in MODES:
        for story in STORIES:
            document = need_story(folder, guarded.TARGETS / "wrongs-O2", story, "--full", "--before=0", *options)
            for row in document["errors"]:
                functions = [frame["function"] for frame in row["stacks"][0]["stack"]]
                hw.need(story in functions or not functions or story == "in_thread", f"{story} {options}: {functions}")
        for story in CXX:
            need_story(folder, guarded.TARGETS / "wrongs_cxx-O2", story, "--full", "--before=0", *options)


@TESTS.test
def products(folder):
    """A number of elements that overflows is shown as it was given, with the function that it was given to"""
    document = need_story(folder, guarded.TARGETS / "wrongs-O2", "silly_sizes", "--full")
    said = [row["what"] for row in document["errors"] if row["kind"] == "FishyValue"]
    for function in ("calloc", "reallocarray"):
        wanted = f"The size given to {function}(size) has overflowed: {1 << 62} elements of 8 bytes are more than any block can have"
        hw.need(wanted in said, f"{function}: {said}")
    hw.need("The size given to realloc(size) has a fishy (possibly negative) value: -100" in said, f"{said}")


@TESTS.test
def good_forms(folder):
    """Programs without errors have none, the same output, and coverage says that all blocks were guarded"""
    for story in STORIES:
        arguments = [guarded.TARGETS / "wrongs-O2", story, "good"]
        alone = hw.run(arguments)
        ended, document = check(folder, arguments, "--full")
        hw.need(not document["errors"], f"{story}: {document['errors']}")
        hw.need((ended.status, ended.stdout) == (alone.status, alone.stdout), f"{story}: {ended}, alone {alone}")
        hw.need("No errors were found" in ended.errors, ended.errors)
        coverage = document["coverage"]
        hw.need(coverage["is_there"] and coverage["blocks"] and not coverage["dropped"], f"{story}: {coverage}")


@TESTS.test
def all_suppressed(folder):
    """Where every error is suppressed the summary says how many these are, also as JSON; some are left where some are"""
    program = guarded.TARGETS / "wrongs-O2"
    known = folder / "known.supp"
    arguments = ["--full", "--before=0", "--suppressions", known, "--error-exitcode=41", "--"]
    known.write_text("{\nall writes\nMemcheck:Addr1\n...\nfun:main\n}\n{\nwrong frees\nMemcheck:Free\n...\nfun:main\n}\n")
    ended = hw.run([hw.HEAPWISE, "check", *arguments, program, "free_twice"])
    hw.need(ended.status == 0 and "No errors but " in ended.errors and " suppressed (1 kind)" in ended.errors, str(ended))
    hw.need("No errors were found" not in ended.errors, str(ended))
    ended = hw.run([hw.HEAPWISE, "check", "--json", *arguments, program, "free_twice"])
    sums = json.loads(ended.errors.splitlines()[-1])["sums"]
    wanted = sum(1 for _ in guarded.EXPECTED.finditer(ended.text))
    hw.need(wanted and (sums["errors"], sums["suppressed"]) == (0, wanted), f"{wanted}: {sums}")
    known.write_text("{\nno such\nMemcheck:Free\nfun:nowhere\n}\n")
    ended = hw.run([hw.HEAPWISE, "check", *arguments, program, "free_twice"])
    hw.need(ended.status == 41 and "suppressed" not in ended.errors, str(ended))


def written(folder, form, command, *options):
    """The document that --format writes, beside the program's own output."""
    path = folder / f"errors.{form}"
    ended = hw.run([hw.HEAPWISE, "check", "--full", "--before=0", "--format", form, "--log-file", path, *options, "--", *command])
    hw.need(ended.status == 0 and "expect " in ended.text and not ended.errors, f"{form}: {ended}")
    return path.read_text()


@TESTS.test
def documents(folder):
    """--format writes one document of the errors of all processes, in each form, as `report --view errors` does of a recording"""
    program = guarded.TARGETS / "wrongs-O2"
    both = ["sh", "-c", f"{program} free_twice; {program} over_write_far; {program} free_twice"]
    results = json.loads(written(folder, "sarif", both))["runs"][0]["results"]
    kinds = Counter(result["ruleId"] for result in results)
    hw.need(kinds["DoubleFree"] == 1 and kinds["InvalidWrite"] >= 1, f"{kinds}")
    for form in ("memcheck", "valgrind", "junit", "github"):
        text = written(folder, form, [program, "free_twice"])
        hw.need("free_twice" in text and "Guarded" not in text.split("<system-out>")[0], f"{form}: {text}")
        if form in ("valgrind", "junit"):
            xml.etree.ElementTree.fromstring(text)
    known = folder / "known.supp"
    known.write_text("{\nknown\nMemcheck:Free\n...\nfun:main\n}\n")
    text = written(folder, "memcheck", [program, "free_twice"], "--suppressions", known)
    hw.need("ERROR SUMMARY: 0 errors" in text and "free_twice" not in text, text)
    for words in (["csv"], ["sarif", "--leak-check"], ["junit", "--uninit"], ["github", "--escalate"], ["memcheck", "--json"], ["xml"]):
        ended = hw.run([hw.HEAPWISE, "check", "--format", *words, "--", program, "free_twice"])
        hw.need(ended.status == 125 and "--format" in ended.errors and not ended.text, f"{words}: {ended}")


@TESTS.test
def entries(folder):
    """With --gen-suppressions each error has an entry, which suppresses it in another run"""
    program = guarded.TARGETS / "wrongs-O2"
    arguments = ["--full", "--before=0", "--error-exitcode=41"]
    for story in ("free_twice", "over_write_far"):
        ended = hw.run([hw.HEAPWISE, "check", *arguments, "--gen-suppressions=all", "--", program, story])
        found = re.findall(r"^\{\n.*?^\}\n", ended.errors, re.MULTILINE | re.DOTALL)
        hw.need(ended.status == 41 and found and len(found) == ended.errors.count("[DoubleFree") + ended.errors.count("[InvalidWrite"),
                f"{ended}: {found}")
        known = folder / f"{story}.supp"
        known.write_text("".join(found))
        ended = hw.run([hw.HEAPWISE, "check", *arguments, "--suppressions", known, "--", program, story])
        hw.need(ended.status == 0 and "No errors but " in ended.errors, f"{found}: {ended}")


@TESTS.test
def errors_merged(folder):
    """Recordings of errors alone are added up: equal errors are one, coverage is that of all; with one of a heap they are not"""
    program = guarded.TARGETS / "wrongs-O2"
    paths = [folder / f"{name}.hpw" for name in ("one", "two", "heap")]
    for path, more in zip(paths, ([], [], ["--mode", "exact"])):
        hw.run([hw.HEAPWISE, "check", "-q", "--full", "--before=0", "-o", path, *more, "--", program, "free_twice"])
    single = json.loads(hw.heapwise("report", "--view", "errors", "--json", paths[0]).text)
    ended = hw.heapwise("report", "--merge", "--view", "errors", "--json", *paths[:2])
    hw.need(ended.status == 0, str(ended))
    document = json.loads(ended.text)
    hw.need([row["count"] for row in document["errors"]] == [2 * row["count"] for row in single["errors"]], f"{document['errors']}")
    hw.need(document["coverage"]["blocks"] == 2 * single["coverage"]["blocks"], f"{document['coverage']}")
    ended = hw.heapwise("report", "--merge", "--view", "errors", paths[0], paths[2])
    hw.need(ended.status != 0 and "errors only" in ended.errors, str(ended))


@TESTS.test
def no_block(folder):
    """Of a program without a block that is said, and no share of nothing"""
    source = folder / "nothing.c"
    source.write_text("int main(void) { return 0; }\n")
    program = folder / "nothing"
    ended = hw.run([hw.need_program("gcc"), "-o", program, source])
    hw.need(ended.status == 0, str(ended))
    ended, document = check(folder, [program])
    hw.need("0 of 0" not in ended.errors and "100 %" not in ended.errors, ended.errors)
    hw.need(document["coverage"]["blocks"] == 0 and "No block was allocated" in ended.errors, ended.errors)

@TESTS.test
def own_malloc(folder):
    """A program that defines some of malloc's family itself runs as natively, and is not said to have no errors"""
    source, program = folder / "own.c", folder / "own"
    source.write_text(OWN_MALLOC)
    ended = hw.run([hw.need_program("gcc"), "-o", program, source])
    hw.need(ended.status == 0, str(ended))
    for options in ((), ("--full",)):
        path = folder / "own.hpw"
        ended = hw.heapwise("check", "-f", "-o", path, "--error-exitcode=9", *options, "--", program)
        hw.need(ended.text == "done\n" and ended.status == 125, str(ended))
        hw.need("No errors were found" not in ended.errors and "its own malloc" in ended.errors, ended.errors)
        shown = hw.heapwise("report", "--view", "errors", path)
        hw.need(shown.status != 0 and "its own malloc" in shown.errors, str(shown))


@TESTS.test
def inherited(folder):
    """Blocks from before a fork have no stack in the child, whose own numbers of stacks mean others; what it frees itself has one"""
    source, program = folder / "inherits.c", folder / "inherits"
    source.write_text(INHERITS)
    ended = hw.run([hw.need_program("gcc"), "-g", "-fno-builtin", "-o", program, source])
    hw.need(ended.status == 0, str(ended))
    for options in ((), ("--full",), ("--backend=none",)):
        ended = hw.heapwise("check", "--json", "--log-file", folder / "log", *options, "--", program)
        lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
        found = [row for line in lines for row in line.get("errors", ())]
        hw.need(lines[-1]["sums"]["errors"] == 60 and len(found) >= 2, f"{options}: {lines[-1]}")
        for row in found:
            allocated, freed = ([frame["function"] for frame in row["block"][part]] for part in ("allocated_at", "freed_at"))
            hw.need(not allocated and ("wrong" in freed or row["kind"] != "DoubleFree" and not freed), f"{options}: {allocated} {freed}")


@TESTS.test
def fatal(folder):
    """A fault that ends the program is an error where it happened, of a child and of a thread, too; one that it handles itself is none; what killed it is said"""
    source, program = folder / "faults.c", folder / "faults"
    source.write_text(FAULTS)
    ended = hw.run([hw.need_program("gcc"), "-g", "-fno-builtin", "-pthread", "-o", program, source])
    hw.need(ended.status == 0, str(ended))
    for what, status, kind, function, address, size in (
            ("null", -11, "InvalidWrite", "null", "0x0", 4), ("impossible", -11, "InvalidRead", "impossible", "0xdeadbeefdeadbee0", 2),
            ("jump", -11, "InvalidJump", "jump", "0x0", None), ("thread", -11, "InvalidWrite", "in_thread", "0x8", 4),
            ("child", 0, "InvalidWrite", "null", "0x0", 4), ("past_end", -7, "InvalidWrite", "past_end", None, 1)):
        ended = hw.heapwise("check", "--json", "--log-file", folder / "log", "--error-exitcode=9", "--", program, what)
        hw.need(ended.status == (status or 9), f"{what}: {ended}")
        found = [row for line in (folder / "log").read_text().splitlines() for row in json.loads(line).get("errors", ())]
        hw.need(len(found) == 1 and found[0]["kind"] == kind and found[0]["ends_program"], f"{what}: {found}")
        hw.need(found[0]["access"]["bytes"] == size and address in (None, found[0]["access"]["address"]), f"{what}: {found}")
        hw.need(found[0]["stacks"][0]["stack"][0]["function"] == function, f"{what}: {found}")
    for what, status, words in (("handled", 0, ("No errors were found",)), ("sent", -11, ("No errors were found", "killed by signal 11 (SIGSEGV)")),
                                ("overflow", -11, ("killed by signal 11 (SIGSEGV)",)), ("null", -11, ("InvalidWrite in null", "killed by signal 11"))):
        ended = hw.heapwise("check", "--", program, what)
        hw.need(ended.status == status and all(word in ended.errors for word in words), f"{what}: {ended}")
        hw.need("--errors=first" not in ended.errors, str(ended))


@TESTS.test
def first_error(folder):
    """With --errors=first the program ends at its first error, with --error-exitcode as its status"""
    arguments = [guarded.TARGETS / "wrongs-O2", "over_write_far"]
    ended, document = check(folder, arguments, "--full", "--before=0", "--errors=first", "--error-exitcode=41")
    hw.need(ended.status == 41 and "end\n" not in ended.text, str(ended))
    rows = document["errors"]
    hw.need(len(rows) == 1 and rows[0]["count"] == 1 and rows[0]["ends_program"], f"{rows}")
    hw.need("ended at its first error" in ended.errors, ended.errors)


@TESTS.test
def same_choice(folder):
    """The seed is shown, and given again"""
    ended, document = check(folder, [guarded.TARGETS / "wrongs-O2", "over_write", "good"], "--seed=abc123")
    hw.need(document["coverage"]["seed"] == "0xabc123" and "seed 0xabc123" in ended.errors, str(document["coverage"]))


@TESTS.test
def with_leaks(folder):
    """--leak-check searches too: errors are printed once, leaks at the end"""
    ended, document = check(folder, [guarded.TARGETS / "wrongs-O2", "free_twice"], "--leak-check=full")
    kinds = Counter({row["kind"]: row["count"] for row in document["errors"]})
    wanted = Counter(found["kind"] for found in guarded.EXPECTED.finditer(ended.text))
    hw.need(kinds == wanted, f"{kinds}: {ended}")
    hw.need(ended.errors.count("definitely lost") and "Errors\n" not in ended.errors, ended.errors)


def leaks_of(recording):
    """→ records of leaks, without what differs from run to run; figures of each kind."""
    shown = hw.heapwise("leaks", "--json", recording)
    document = json.loads(shown.text)["leaks"]
    hw.need(document["search"]["unread_bytes"] == 0 and document["decided"], f"{document['search']}, {document['doubt']}")
    records = sorted((row["kind"], row["blocks"], row["bytes"], row["indirect_blocks"], row["indirect_bytes"],
                      str([(frame["function"], frame["line"]) for frame in row["stack"]])) for row in document["records"])
    return records, document["summary"]


def leaks_guarded(folder, backend):
    if backend != "none":
        guarded.need_backend(backend)
    for name in ("trees-O2", "containers_nodes-O2"):
        program = hw.TARGETS / "leaks" / name
        path = folder / f"{name}.hpw"
        alone = hw.run([hw.HEAPWISE, "run", "-q", "-o", path, "--leak-check=full", "--", program])
        wanted = leaks_of(path)
        ended, document = check(folder, [program], "--full", f"--backend={backend}", "--leak-check=full")
        found = leaks_of(folder / "check.hpw")
        hw.need(wanted[0] and found == wanted, f"{name} {backend}: {found}\nrun: {wanted}\n{ended}\n{alone}")
        coverage = document["coverage"]
        hw.need(backend == "none" or coverage["guarded_blocks"] > wanted[1]["never_freed"]["blocks"] // 2, f"{coverage}")


for name in ("madvise", "uffd", "mprotect", "none"):
    TESTS.add(f"With back-end {name} leaks are those that `run` finds, and all blocks could be read",
              lambda folder, name=name: leaks_guarded(folder, name))


@TESTS.test
def found_at_exit_with_leaks(folder):
    """What only the end of the program shows is reported, though its leaks are searched for at the end, too"""
    for options in (("--full",), ("--full", "--backend=none")):
        ended, document = check(folder, [guarded.TARGETS / "wrongs-O2", "never_freed"], "--leak-check=full", *options)
        rows = document["errors"]
        hw.need([(row["kind"], row["count"]) for row in rows] == [("InvalidWrite", 1)], f"{options}: {rows}; {ended}")
        hw.need("found when the program ended" in ended.errors, f"{options}: {ended}")
        records, _ = leaks_of(folder / "check.hpw")
        hw.need(sum(record[1] for record in records) == 2, f"{options}: {records}")


@TESTS.test
def ended_by_signal(folder):
    """A program that --kill-on-error ends says what was looked at until then"""
    for signal in ("KILL", "SEGV", "TERM"):
        ended, document = check(folder, [guarded.TARGETS / "wrongs-O2", "over_write_far"], "--full", "--before=0",
                                f"--kill-on-error={signal}")
        rows, coverage = document["errors"], document["coverage"]
        hw.need(len(rows) == 1 and rows[0]["count"] == 1, f"{signal}: {rows}; {ended}")
        hw.need(coverage["blocks"] and coverage["blocks"] >= coverage["guarded_blocks"] >= 1 and
                coverage["bytes"] >= coverage["guarded_bytes"], f"{signal}: {coverage}; {ended}")


@TESTS.test
def ended_sentence(folder):
    """That a signal ended the program at its first error is said, after the summary, on stderr or in --log-file"""
    program, log = guarded.TARGETS / "wrongs-O2", folder / "log"
    command = [hw.HEAPWISE, "check", "--full", "--before=0"]
    for option, sentence in (("--kill-on-error=TERM", "the program was sent a signal at its first error, as --kill-on-error says"),
                             ("--errors=first", "the program was ended at its first error, as --errors=first says")):
        said = hw.run([*command, option, "--", program, "over_write_far"]).errors
        hw.need(said.count(sentence) == 1 and re.search(r"\b1 error, the worst first:", said), said)
        ended = hw.run([*command, option, "--log-file", log, "--", program, "over_write_far"])
        said = log.read_text()
        hw.need(said.count(sentence) == 1 and re.search(r"\b1 error, the worst first:", said), said)
        hw.need(sentence not in ended.errors and "the worst first" not in ended.errors, ended.errors)
        said = hw.run([*command, "-q", option, "--", program, "over_write_far"]).errors
        hw.need(sentence not in said and "InvalidWrite" in said, said)
    said = hw.run([*command, "--kill-on-error=TERM", "--", program, "good"]).errors
    hw.need("at its first error" not in said, said)


@TESTS.test
def unusual_ends(folder):
    """What only the end of a program shows is found at _exit, quick_exit, exec, abort and a fault, once and in its process"""
    for options in ((), ("--full",), ("--full", "--backend=none"), ("--leak-check=full",)):
        program = guarded.TARGETS / "wrongs-O2"
        ended = hw.run([hw.HEAPWISE, "check", "--json", *options, "--", program, "unusual_ends"])
        last = json.loads([line for line in ended.errors.splitlines() if line.startswith("{")][-1])
        wanted = sum(1 for _ in guarded.EXPECTED.finditer(ended.text))
        hw.need(wanted and last["sums"]["errors"] == wanted, f"{options}: {wanted} expected, {last}")
        hw.need(last["sums"]["undecided"] == 0, f"{options}: {last}")


CROWDED = """#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int blocks = atoi(argv[1]), status;
	for (int i = 0; i < blocks; i++)
		if (!malloc(16))
			return 2;
	pid_t child = fork();
	if (!child)
		_exit(!malloc(16));
	waitpid(child, &status, 0);
	return argc - 2;
}
"""


@TESTS.test
def crowded(folder):
    """A child with more blocks of its parent's than it looks at is not swept at _exit, and that is said; with fewer it is"""
    source, program = folder / "crowded.c", folder / "crowded"
    source.write_text(CROWDED)
    ended = hw.run([hw.need_program("gcc"), "-o", program, source])
    hw.need(ended.status == 0, str(ended))
    for blocks, limited in ((1000, False), (100001, True)):
        ended = hw.run([hw.HEAPWISE, "check", "--json", "--backend=none", "--", program, str(blocks)])
        last = json.loads([line for line in ended.errors.splitlines() if line.startswith("{")][-1])
        words = last["coverage"]["limited_by"].split(", ")
        hw.need(ended.status == 0 and ("fork" in words) == limited, f"{blocks}: {last}")


@TESTS.test
def later_errors(folder):
    """Errors of several instructions at one page are several, with all their stacks"""
    for story in ("several_errors", "many_errors", "repeated_errors"):
        need_story(folder, guarded.TARGETS / "wrongs-O2", story, "--full", "--before=0")


@TESTS.test
def without_blocks(folder):
    """A program that allocates nothing and is killed was served all the same, and so was its child"""
    for story in ("killed", "killed_in_child"):
        ended = hw.run([hw.HEAPWISE, "check", "--json", "--", guarded.TARGETS / "hostile-O2", story])
        last = json.loads(ended.errors.splitlines()[-1])
        hw.need(last["sums"]["undecided"] == 0, f"{story}: {last}; {ended}")
        hw.need("did not serve" not in ended.errors, f"{story}: {ended.errors}")


@TESTS.test
def usual_programs(folder):
    """Programs of the system, and what they start, run as ever and have no error"""
    script = "for i in 1 2 3; do echo $i; done | sort -r; ls / | wc -l; exit 3"
    alone = hw.run(["sh", "-c", script])
    for options in ((), ("--full",), ("--mode", "exact")):
        ended = hw.run([hw.HEAPWISE, "check", *options, "--", "sh", "-c", script])
        hw.need((ended.status, ended.stdout) == (alone.status, alone.stdout), f"{options}: {ended}")
        hw.need("No errors were found" in ended.errors, f"{options}: {ended.errors}")


@TESTS.test
def hostile_programs(folder):
    """Programs with handlers, limits, masks and threads of their own have the same output, status and stderr"""
    for story in ("own_handler", "own_settings", "masks", "ends", "threads", "thread_ends", "forks", "chains",
                  "own_limit", "limited", "locked", "confined"):
        if story == "locked" and not guarded.can_lock_all():
            continue
        arguments = [guarded.TARGETS / "hostile-O2", story, "good"]
        alone = hw.run(arguments)
        for options in ((), ("--full",), ("--mode", "exact")):
            log = folder / "log"
            ended = hw.run([hw.HEAPWISE, "check", "-q", "--log-file", log, *options, "--", *arguments])
            hw.need((ended.status, ended.stdout, ended.stderr) == (alone.status, alone.stdout, alone.stderr),
                    f"{story} {options}: {ended}, alone {alone}")
            found = Counter(re.findall(r"\[(\w+), ", log.read_text()))
            hw.need(found == Counter(match["kind"] for match in guarded.EXPECTED.finditer(ended.text)), f"{story} {options}: {found}")


@TESTS.test
def environment_dropped(folder):
    """A program that is started without the environment is checked all the same, by the same seed"""
    arguments = ["env", "-i", guarded.TARGETS / "wrongs-O2", "over_write_far"]
    for options in (("--full", "--before=0"), ("--full", "--before=0", "--seed=77")):
        ended = hw.run([hw.HEAPWISE, "check", "--json", *options, "--", *arguments])
        lines = [json.loads(line) for line in ended.errors.splitlines()]
        wanted = sum(1 for _ in guarded.EXPECTED.finditer(ended.text))
        hw.need(wanted and lines[-1]["sums"]["errors"] == wanted, f"{options}: {wanted} expected, {lines[-1]}")
        hw.need(lines[-1]["sums"]["undecided"] == 0, f"{options}: {lines[-1]}")
        hw.need("--seed=77" not in options or lines[-1]["coverage"]["seed"] == "0x77", f"{lines[-1]}")


TESTS.main()
