#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of leaks: every target of tests/targets/leaks against its own word, searched by heapwise and by Valgrind's
memcheck, with the options that the target names.

    test_leaks.py heapwise|memcheck NAME…     variants of targets (as `trees-O2`)
    test_leaks.py allocators NAME…            heapwise, with each other allocator preloaded, or linked
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import leaks_differences
import leaktruth
import ourleaks
import memcheck

LEAKS = hw.TARGETS / "leaks"
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Allocators, as other tests know them, and how they are told to use huge pages.
ALLOCATORS = {
    "jemalloc": ("libjemalloc.so.2", {}),
    "jemalloc with huge pages": ("libjemalloc.so.2", {"MALLOC_CONF": "thp:always,metadata_thp:always,narenas:1"}),
    "tcmalloc (minimal)": ("libtcmalloc_minimal.so.4", {}),
    "tcmalloc": ("libtcmalloc.so.4", {}),
    "tcmalloc by mmap": ("libtcmalloc_minimal.so.4", {"TCMALLOC_SKIP_SBRK": "1"}),
    "mimalloc": ("libmimalloc.so.2.0", {}),
    "mimalloc with huge pages": ("libmimalloc.so.2.0", {"MIMALLOC_ALLOW_LARGE_OS_PAGES": "1", "MIMALLOC_LARGE_OS_PAGES": "1"}),
}
# Where docs/leaks.md promises only that no leak is false: of these mappings, which the kernel joins with others, pages without
# a block are roots, freed memory there too; which pages these are depends on when which thread runs.
LEAKS_MAY_BE_MISSED = {("tcmalloc by mmap", "arenas")}
# Targets that are also linked with each.
LINKED = ("list_single.c", "freed_blocks.c", "trees.c")
# Those of our options that memcheck does not have.
OURS_ALONE = ("--leak-check-at", "--leak-check-alignment")
# Options that do not concern the search but what is shown of it.
OF_THE_VIEW = ("--run-libc-freeres",)


def told(ended, native):
    """The sections of a target's output, if it ended as it does natively."""
    hw.need(ended.status == native.status, f"ended with {ended}; natively with {hw.describe(native.status)}")
    sections = leaktruth.sections(ended.text)
    problems = [problem for section in sections for problem in section.problems]
    hw.need(not problems, f"{ended}: " + "; ".join(problems))
    return sections


def each_section(name, folder, table, search, program=None, env=None, check=None):
    """search(program, options, folder) → (how it ended, records), for each section that is meant. The truth is what the
    searched process itself says; what differs from that is in the table."""
    program = program or LEAKS / name
    native = hw.run([program], env=env)
    problems, reasons = [], []
    for number, section in enumerate(told(native, native)):
        place = folder / str(number)
        place.mkdir()
        found = search(program, section.options, place)
        if not found:
            continue
        ended, records = found
        why, differences = leaks_differences.of(table, name, section.options)
        reasons += [f"{name}: differs: {why}"] if why else []
        same = told(ended, native)[number]
        words = " ".join(section.options)
        problems += [f"{words + ': ' if words else ''}{p}" for p in (check(same, records) if check else leaktruth.check(same, records, differences))]
    hw.need(not problems, "\n".join(problems))
    return "\n".join(reasons)


def check_memcheck(name, folder):
    def search(program, options, place):
        if any(option.startswith(OURS_ALONE) for option in options):
            return None
        ended, records, others = memcheck.run([program], place, options)
        hw.need(not others, "; ".join(others))
        return ended, records

    return each_section(name, folder, leaks_differences.MEMCHECK, search)


def check_heapwise(name, folder):
    ourleaks.need_search()
    def search(program, options, place):
        recording = place / "x.hpw"
        view = [option for option in options if option.startswith(OF_THE_VIEW)]
        search = [option for option in options if option not in view]
        ended = hw.record([program], recording, options=("-q", "--leak-check=full", *search))
        return ended, ourleaks.records(recording, *view)

    return each_section(name, folder, leaks_differences.HEAPWISE, search)


def check_none_false(section, records):
    """What is called lost that is not, as sentences."""
    wanted = section.wanted()
    lost = ("definite", "indirect")
    roles = {kind: "|".join(w.site for w in wanted if (w.kind in lost) == (kind == "lost")) for kind in ("lost", "held")}
    problems = [f"{r.kind}: {r.blocks} blocks, {r.bytes} bytes: {leaktruth.names(r.frames)}"
                for r in records
                if not leaktruth.is_of(r, roles["lost" if r.kind in lost else "held"]) and (r.kind != "reachable" or not r.frames)]
    found = sum(r.blocks for r in records if r.kind in lost)
    if not found:
        problems.append("nothing is lost")
    return problems


def check_with(allocator, name, folder, program=None):
    """With another allocator. What its library and the C++ one that it brings keep for themselves must be reachable."""
    ourleaks.need_search()
    file, variables = ALLOCATORS[allocator]
    env = hw.clean_environment(**variables, **({} if program else {"LD_PRELOAD": LIBRARIES / file}))

    def search(program, options, place):
        ended = hw.record([program], place / "x.hpw", options=("-q", "--leak-check=full", *options), env=env)
        records = ourleaks.records(place / "x.hpw")
        # By the loader, before main: what it calls its own functions only debug files of libc know.
        brought = [r for r in records if any(frame.module.startswith("ld-linux") for frame in r.frames)
                   and not any(frame.function == "main" for frame in r.frames)]
        hw.need(all(r.kind == "reachable" for r in brought), f"lost by a library: {brought}")
        return ended, [r for r in records if r not in brought]

    missed = (allocator, name.rpartition("-")[0]) in LEAKS_MAY_BE_MISSED
    return each_section(name, folder, leaks_differences.HEAPWISE, search, program, env, check_none_false if missed else None)


def need_library(allocator):
    path = LIBRARIES / ALLOCATORS[allocator][0]
    if not path.exists():
        raise hw.Skip(f"{path.name} is not installed")
    return path


def preloaded(allocator, name):
    def test(folder):
        need_library(allocator)
        return check_with(allocator, name, folder)

    return test


def linked(allocator, source):
    def test(folder):
        library = need_library(allocator)
        program = folder / source.partition(".")[0]
        built = hw.run([hw.need_program("gcc"), "-std=gnu11", "-O2", "-g", "-D_GNU_SOURCE", "-w", "-pthread",
                        f"-I{hw.SOURCE}/tests/targets", f"-I{hw.SOURCE}/tests/targets/leaks", "-o", program, hw.target_source("leaks", source),
                        "-Wl,--no-as-needed", library])
        hw.need(built.status == 0, str(built))
        return check_with(allocator, source.partition(".")[0] + "-O2", folder, program)

    return test


def add_allocators(tests, names):
    for allocator in ALLOCATORS:
        for name in names:
            tests.add(f"{allocator}: {name}", preloaded(allocator, name))
        for source in LINKED:
            tests.add(f"{allocator}, linked: {source}", linked(allocator, source))


def main():
    tests = hw.Tests()
    searcher, *names = sys.argv[1:]
    if searcher == "allocators":
        sys.argv[1:] = []
        add_allocators(tests, names)
        tests.main(width=2, sanitized_part=3)
    check = {"heapwise": check_heapwise, "memcheck": check_memcheck}[searcher]
    sys.argv[1:] = []
    for name in names:
        tests.add(name, lambda folder, name=name: check(name, folder))
    tests.main(width=2, needs_command=searcher == "heapwise", sanitized_part=3)


if __name__ == "__main__":
    main()
