#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Double, invalid and mismatched frees: what they were, where, who allocated the block and who freed it first."""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw
from hw import heapwise

TESTS = hw.Tests()
BAD, MISMATCHED = hw.ANSWERS / "bad_frees", hw.ANSWERS / "mismatched_frees"


def errors(folder, program, *arguments, options=()):
    """The rows of `report --view errors`, each with the functions of its stacks."""
    path = folder / "bad.hpw"
    hw.run([hw.HEAPWISE, "run", "-q", "-f", *options, "-o", str(path), str(program), *arguments])
    ended = hw.run([hw.HEAPWISE, "report", "--json", "--view", "errors", str(path)])
    if ended.status:
        hw.need("errors" in ended.errors, f"the report failed: {ended}")
        return None
    rows = json.loads(ended.text)["errors"]
    for row in rows:
        row["functions"] = [[frame["function"] for frame in stack["stack"]] for stack in row["stacks"]]
    return rows


def top(row, index):
    functions = row["functions"][index]
    return functions[0] if functions else None


def only(rows, kind):
    hw.need(rows and len(rows) == 1, f"expected one error: {rows}")
    hw.need(rows[0]["kind"] == kind, f"expected {kind}: {rows[0]}")
    return rows[0]


@TESTS.test
def double_free(folder):
    """A double free of a small and of a large block names the second free and the allocation unasked"""
    for size in ("small", "large"):
        row = only(errors(folder, BAD, size), "DoubleFree")
        hw.need(row["count"] == 1, f"{size}: counted {row['count']} times")
        hw.need(top(row, 0) == "free_again", f"{size}: freed again in {top(row, 0)}")
        hw.need(top(row, 1) is None, f"{size}: the first free has a stack that nobody recorded: {row}")
        hw.need("--free-stacks" in row["stacks"][1]["what"], f"{size}: nothing says how to get it: {row}")
        hw.need(top(row, 2) == "make", f"{size}: allocated in {top(row, 2)}")


@TESTS.test
def first_free(folder):
    """With --free-stacks a double free names the first free, too; another thread's as such"""
    for size in ("small", "large", "threads"):
        row = only(errors(folder, BAD, size, options=["--free-stacks"]), "DoubleFree")
        tops = [top(row, i) for i in range(3)]
        hw.need(tops == ["free_again", "free_first", "make"], f"{size}: {tops}")
        hw.need(("by thread" in row["stacks"][1]["what"]) == (size == "threads"), f"{size}: {row['stacks'][1]}")
    row = only(errors(folder, BAD, "small", options=["--free-stacks", "--mode", "aggregate"]), "DoubleFree")
    hw.need([top(row, i) for i in range(3)] == ["free_again", "free_first", "make"], f"aggregate: {row}")


@TESTS.test
def no_block(folder):
    """A free of what is no block has its place: on the stack, a variable, the middle of a block"""
    for what in ("stack", "global", "inside"):
        row = only(errors(folder, BAD, what), "InvalidFree")
        hw.need(top(row, 0) == f"free_{what}", f"{what}: {top(row, 0)}")


@TESTS.test
def first_of_all(folder):
    """A double free is found with its place when nothing was freed before"""
    row = only(errors(folder, BAD, "small", "first"), "DoubleFree")
    hw.need(top(row, 0) == "free_again" and top(row, 2) == "make", str(row))
    row = only(errors(folder, BAD, "stack", "first"), "InvalidFree")
    hw.need(top(row, 0) == "free_stack", str(row))


@TESTS.test
def allocators_operators(folder):
    """Aligned new of an allocator that goes through its own aligned_alloc is given back by delete rightly"""
    for library in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
        path = folder / f"{library}.hpw"
        env = hw.clean_environment(LD_PRELOAD=library)
        ended = hw.record([hw.ANSWERS / "aligned_news"], path, options=("-q",), env=env)
        hw.need(ended.status == 0, str(ended))
        hw.need(hw.report(path)["recording"]["mismatched_frees"] == 0, f"{library}: mismatched frees")


@TESTS.test
def mismatched(folder):
    """Frees of another kind than the allocation's name both functions, and are counted"""
    for options in ([], ["--free-stacks"]):
        rows = errors(folder, MISMATCHED, options=options)
        hw.need(rows and {row["kind"] for row in rows} == {"MismatchedFree"}, f"{rows}")
        by_site = {row["functions"][1][0]: row for row in rows}
        hw.need({name: row["count"] for name, row in by_site.items()} == {"make_array": 3, "make_plain": 2},
                f"counts: {rows}")
        hw.need("free() of a block from operator new[]" in by_site["make_array"]["what"], f"{by_site['make_array']}")
        hw.need("operator delete of a block from malloc" in by_site["make_plain"]["what"], f"{by_site['make_plain']}")
        if options:
            hw.need(top(by_site["make_array"], 0) == "free_array", f"{by_site['make_array']}")
            hw.need(top(by_site["make_plain"], 0) == "delete_plain", f"{by_site['make_plain']}")


@TESTS.test
def wrong_resizes(folder):
    """A realloc of what is no block has its place, also where it ends the program; and no gate passes"""
    kinds = {"small": "DoubleFree", "large": "DoubleFree", "inside": "InvalidFree", "odd": "InvalidFree",
             "wild": "InvalidFree"}
    for options in ([], ["--free-stacks"], ["--mode", "aggregate"]):
        for what, kind in kinds.items():
            row = only(errors(folder, BAD, f"resize-{what}", options=options), kind)
            hw.need("realloc()" in row["what"], f"{what} {options}: {row}")
            hw.need(top(row, 0) == "resize_wrong", f"{what} {options}: resized in {top(row, 0)}: {row}")
            if kind == "DoubleFree":
                hw.need(top(row, len(row["stacks"]) - 1) == "make", f"{what} {options}: {row}")
            ended = heapwise("leaks", "--error-exitcode=9", folder / "bad.hpw")
            hw.need(ended.status == 9, f"{what} {options}: the gate ends with {ended.status}")
    for library in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
        path = folder / "other.hpw"
        hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", str(path), "--", str(BAD), "resize-wild"],
               env=hw.clean_environment(LD_PRELOAD=library))
        ended = heapwise("leaks", "--error-exitcode=9", path)
        hw.need(ended.status == 9 and "resize_wrong" in ended.text, f"{library}: {ended}")


@TESTS.test
def freed_by_resize(folder):
    """Of a block that realloc has moved, a second free is a double one; --free-stacks says where realloc was called"""
    row = only(errors(folder, BAD, "resized"), "DoubleFree")
    hw.need([top(row, 0), top(row, 2)] == ["free_again", "make"], str(row))
    row = only(errors(folder, BAD, "resized", options=["--free-stacks"]), "DoubleFree")
    hw.need([top(row, i) for i in range(3)] == ["free_again", "resize_first", "make"], str(row))


@TESTS.test
def right_frees(folder):
    """A program without a wrong free has none, with and without --free-stacks; nor has a child that frees its parent's"""
    for what in ("none", "fork", "fork-resize", "fork-resized"):
        for options in ([], ["--free-stacks"]):
            hw.need(errors(folder, BAD, what, options=options) == [], f"{what} {options}: errors")
            for path in folder.glob("bad*.hpw"):
                text = hw.run([hw.HEAPWISE, "report", str(path)]).text
                hw.need("error" not in text and "not recorded" not in text, f"{path.name}: {text}")
                path.unlink()


@TESTS.test
def first_sentence(folder):
    """The report of a program that a double free killed begins with it"""
    path = folder / "bad.hpw"
    hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", str(path), str(BAD), "small"])
    text = hw.run([hw.HEAPWISE, "report", str(path)]).text
    hw.need("1 error was found: free() of a block that was already freed" in text, text)


@TESTS.test
def folded(folder):
    """Stacks of errors fold runtime frames, as other stacks do; --all-frames shows them"""
    path = folder / "bad.hpw"
    hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", str(path), str(BAD), "inside"])
    text = hw.ask("report", "--view", "errors", path)
    hw.need("runtime frames" in text and "__libc_start" not in text and "free_inside" in text, text)
    text = hw.ask("report", "--view", "errors", "--all-frames", path)
    hw.need("runtime frames" not in text and "__libc_start" in text, text)


@TESTS.test
def memcheck(folder):
    """memcheck finds the same wrong frees at the same places"""
    if not shutil.which("valgrind"):
        raise hw.Skip("valgrind is not installed")
    for what, place in (("small", "free_again"), ("large", "free_again"), ("inside", "free_inside")):
        ended = hw.run(["valgrind", "-q", str(BAD), what])
        theirs = ended.errors.splitlines()
        at = next(i for i, line in enumerate(theirs) if "Invalid free()" in line)
        hw.need(place in theirs[at + 2], f"{what}: {theirs[at:at + 4]}")
        hw.need(top(only(errors(folder, BAD, what), "DoubleFree" if what != "inside" else "InvalidFree"), 0) == place,
                f"{what}: ours differs")


TESTS.main()
