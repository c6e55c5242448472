#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise diff` where a leak moved from one place to another that both builds have: one is gone, another is new. Only a name
that is gone from the newer build's code, for one that the older did not have, is a rename."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
SOURCE = hw.SOURCE / "tests/answers/programs/leaks/moved_leak.c"


def recorded(folder, program, *arguments, name):
    path = folder / f"{name}.hpw"
    hw.record([program, *arguments], path, options=("-q", "-f"))
    hw.need(path.exists(), f"{program} was not recorded")
    return path


def built(folder, name, *options, source=SOURCE, compiler="gcc"):
    program = folder / name
    program.parent.mkdir(exist_ok=True)
    ended = hw.run([hw.need_program(compiler), "-g", "-o", program, *options, source])
    hw.need(ended.status == 0, str(ended))
    return program


def changes(older, newer):
    """{"new": {function}, …} by the innermost function, and renames."""
    found = json.loads(hw.ask("diff", "--json", older, newer))
    sets = {}
    for row in found["rows"]:
        sets.setdefault(row["status"], set()).add(row["stack"][0]["function"])
    text = hw.ask("diff", older, newer)
    hw.need(("Nothing changed" in text) == (not found["rows"]), text)
    return sets, [(r["moved"], r["from"]["function"], r["to"]["function"]) for r in found["renames"]]


def need_moved(older, newer, old, new):
    sets, renames = changes(older, newer)
    hw.need(sets == {"new": {new}, "gone": {old}} and not renames, f"{sets} {renames}")


@TESTS.test
def one_build(folder):
    """Two runs of one build: the function that lost nothing there is not the other one under a new name"""
    program = hw.ANSWERS / "moved_leak"
    older, newer = (recorded(folder, program, *arguments, name=name)
                    for arguments, name in ((("1", "0"), "older"), (("0", "1"), "newer")))
    need_moved(older, newer, "open_session", "write_log")
    ended = hw.heapwise("budget", "--baseline", older, newer)
    hw.need(ended.status == 0, f"the total is the same: {ended}")


@TESTS.test
def two_builds(folder):
    """Two builds that both have both functions"""
    older = recorded(folder, built(folder, "a/app", "-O0"), "1", "0", name="older")
    newer = recorded(folder, built(folder, "b/app", "-O1"), "0", "1", name="newer")
    need_moved(older, newer, "open_session", "write_log")
    newer = recorded(folder, built(folder, "c/app", "-O1", "-Dopen_session=log_session"), "0", "1", name="half")
    need_moved(older, newer, "open_session", "write_log")


@TESTS.test
def renamed(folder):
    """A function whose old name is gone, and whose new one was not there, is the same one; without the older file nothing is said"""
    program = built(folder, "a/app", "-O0")
    older = recorded(folder, program, "1", "0", name="older")
    newer = recorded(folder, built(folder, "b/app", "-O0", "-Dopen_session=begin"), "1", "0", name="newer")
    hw.need(changes(older, newer) == ({}, [(False, "open_session", "begin")]), f"{changes(older, newer)}")
    program.unlink()
    hw.need(changes(older, newer)[1] == [], "renamed, though the older build's file is gone")


INLINES = """#include <stdlib.h>
void *kept[100];
static int count;
__attribute__((noinline)) void parse(int n) { kept[count++] = malloc(n); }
__attribute__((noinline)) void grow(void) { for (int i = 0; i < MORE; i++) kept[count++] = malloc(100); }
static inline __attribute__((always_inline)) void note(void) { kept[count++] = malloc(777); }
int main(void)
{
	parse(2000);
	grow();
	if (NOTES)
		note();
	return 0;
}
"""


@TESTS.test
def without_lines(folder):
    """A build with -g and one without: functions are the same, and what one of them cannot say (files, inlined functions) is told"""
    source = folder / "inlines.c"
    source.write_text(INLINES, encoding="utf-8")

    def build(name, *options):
        return recorded(folder, built(folder, f"{name}/app", "-O1", *options, source=source), name=name)

    for notes in (0, 1):
        with_lines = build("lines", "-DMORE=10", f"-DNOTES={notes}")
        for older, newer, where in ((with_lines, build("plain", "-g0", "-DMORE=30", f"-DNOTES={notes}"), "newer"),
                                    (build("fewer", "-g0", "-DMORE=5", f"-DNOTES={notes}"), with_lines, "older")):
            sets, renames = changes(older, newer)
            inlined = {"new": {"main"}, "gone": {"note"}} if where == "newer" else {"new": {"note"}, "gone": {"main"}}
            hw.need(sets == {"grown": {"grow"}, **(inlined if notes else {})} and not renames, f"{where}: {sets} {renames}")
            said = f"Functions of app have no source lines in the {where} recording" in hw.ask("diff", older, newer)
            hw.need(said == bool(notes), hw.ask("diff", older, newer))


@TESTS.test
def many_without_lines(folder):
    """Of many builds with -g and without, too: --trend and --merge know a function by its name"""
    source = folder / "inlines.c"
    source.write_text(INLINES, encoding="utf-8")
    runs = []
    for at, options in enumerate((("-g0",), (), ("-g0",), ())):
        program = built(folder, f"{at}/app", "-O1", *options, "-DNOTES=1", f"-DMORE={10 * at + 10}", source=source)
        runs.append(recorded(folder, program, name=str(at)))
    found = json.loads(hw.ask("diff", "--trend", "--json", *runs))
    grown = [(row["stack"][0]["function"], row["values"]) for row in found["rows"]]
    hw.need(grown == [("grow", [1000, 2000, 3000, 4000])], f"{grown}")
    text = hw.ask("diff", "--trend", *runs)
    hw.need("Functions of app have no source lines in some of the runs: what was inlined" in text, text)
    merged = hw.report(runs[0], "--merge", *runs[1:])
    places = [(row["stack"][0]["function"], row["allocations"]) for row in merged["sites"]]
    hw.need(sorted(places) == [("grow", 100), ("main", 2), ("note", 2), ("parse", 4)], f"{places}")


TWO = """#include <stdlib.h>
void *kept[100];
static int count;
static __attribute__((noinline)) void fill(int n) { while (n--) kept[count++] = malloc(10); }
void NAME(int n) { fill(n); }
"""
TWO_MAIN = """#include <stdlib.h>
void one(int n);
void two(int n);
void *kept;
static inline __attribute__((always_inline)) void note(void) { kept = malloc(777); }
int main(void)
{
	one(3);
	two(CALLS);
	note();
	return 0;
}
"""


@TESTS.test
def partly_without_lines(folder):
    """Two functions of one name, of which one has source lines, stay two; which functions lack them is told"""
    for name, text in (("two.c", TWO), ("main.c", TWO_MAIN)):
        (folder / name).write_text(text, encoding="utf-8")

    def build(name, calls, one_lines):
        parts = []
        for function, lines in (("one", one_lines), ("two", "-g0")):
            part = folder / f"{name}-{function}.o"
            ended = hw.run([hw.need_program("gcc"), "-O1", lines, "-c", f"-DNAME={function}", f"-Dkept={function}_kept",
                            "-fno-optimize-sibling-calls", "-o", part, folder / "two.c"])
            hw.need(ended.status == 0, f"{ended}")
            parts.append(str(part))
        return recorded(folder, built(folder, f"{name}/app", "-O1", f"-DCALLS={calls}", *parts, source=folder / "main.c"), name=name)

    def rows(*arguments):
        found = json.loads(hw.ask("diff", "--json", *arguments))["rows"]
        return sorted((row.get("status"), *(frame["function"] for frame in row["stack"][:2])) for row in found)

    older, newer, lacks = build("older", 5, "-g"), build("newer", 7, "-g"), build("lacks", 9, "-g0")
    hw.need(rows(older, newer) == [("grown", "fill", "two")], f"{rows(older, newer)}")
    wanted = [("gone", "fill", "one"), ("grown", "fill", "two"), ("new", "fill", "one")]
    hw.need(rows(older, lacks) == wanted, f"{rows(older, lacks)}")
    hw.need(rows("--trend", older, newer, lacks) == [(None, "fill", "two")], f"{rows('--trend', older, newer, lacks)}")
    for runs, where in (((older, lacks), "the newer recording"), (("--trend", older, newer, lacks), "some of the runs")):
        text = hw.ask("diff", *runs)
        hw.need(f"Function one of app has no source lines in {where}: what was inlined into it" in text, text)


PLUGIN = """#include <stdlib.h>
void *kept;
void work(int n) { while (n--) { void **p = malloc(4096); *p = kept; kept = p; } }
"""
LOADER = """#include <dlfcn.h>
#include <stdlib.h>
int main(int count, char **arguments)
{
	for (int i = 1; i < count; i += 2) {
		void *library = dlopen(arguments[i], RTLD_NOW);
		void (*work)(int) = (void (*)(int))dlsym(library, "work");
		work(atoi(arguments[i + 1]));
	}
	return 0;
}
"""


@TESTS.test
def modules(folder):
    """Libraries that differ only in a number, or in their folder, are several if one program has them all"""
    (folder / "plugin.c").write_text(PLUGIN, encoding="utf-8")
    (folder / "loader.c").write_text(LOADER, encoding="utf-8")
    loader = built(folder, "loader", source=folder / "loader.c")
    for one, two in (("plugin-1.so", "plugin-2.so"), ("x/plugin.so", "y/plugin.so")):
        libraries = [built(folder, name, "-shared", "-fPIC", f"-DNUMBER={i}", f"-Wl,-soname,{i}", source=folder / "plugin.c")
                     for i, name in enumerate((one, two))]
        older = recorded(folder, loader, libraries[0], "10", libraries[1], "1", name="older")
        newer = recorded(folder, loader, libraries[0], "1", libraries[1], "10", name="newer")
        found = json.loads(hw.ask("diff", "--json", older, newer))
        hw.need({row["status"] for row in found["rows"] if row["stack"][0]["function"] == "work"} == {"grown", "shrunk"},
                f"{one}, {two}: {found['rows']}")


SHAPES = """#include <cstdlib>
void *kept;
template <typename T> __attribute__((noinline)) void keep(int n)
{
	for (int i = 0; i < n; i++) {
		void **p = (void **)malloc(4096);
		*p = kept;
		kept = p;
	}
}
int main(int count, char **arguments)
{
	auto first = [](int n) { keep<int>(n); };
	auto second = [](int n) { keep<int>(n); };
	if (EARLIER)
		[](int n) { keep<char>(n); }(1);
	keep<long>(atoi(arguments[1]));
	keep<short>(atoi(arguments[2]));
	first(atoi(arguments[3]));
	second(atoi(arguments[4]));
	return 0;
}
"""


@TESTS.test
def shapes(folder):
    """Instances of a template and lambdas are places of their own, in one build and in two"""
    (folder / "shapes.cc").write_text(SHAPES, encoding="utf-8")
    programs = [built(folder, f"{name}/app", f"-O{name}", "-DEARLIER=0", source=folder / "shapes.cc", compiler="g++")
                for name in ("0", "1")]
    for newest in programs:
        for a, b in ((("5", "0", "0", "0"), ("0", "5", "0", "0")), (("0", "0", "5", "0"), ("0", "0", "0", "5"))):
            older = recorded(folder, programs[0], *a, name="older")
            newer = recorded(folder, newest, *b, name="newer")
            sets, renames = changes(older, newer)
            hw.need(set(sets) == {"new", "gone"} and not renames, f"{newest} {a}: {sets} {renames}")


TESTS.main()
