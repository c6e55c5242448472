#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cores with less in them than usual: without the list of files, without what a filter leaves out, cut off by
the kernel, with other files than those that ran. What is there is told right, what is not is said."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import cores  # noqa: E402
import hw  # noqa: E402
from heaps import Waiting, ask, compare, gcore, kernel_core, read_account  # noqa: E402

tests = hw.Tests()

X86_FS_BASE = 21
PRIVATE = 1  # of coredump_filter: memory of no file that is not shared
SHARED = 2


def told(core, *options):
    """All that is said of a core, but for its name and the paths of modules, which may have links in them."""
    said = {verb: ask("core", "--json", *options, core, verb) for verb in ("types", "blocks", "leaks", "threads")}
    for each in said.values():
        each.pop("source", None)
    said["leaks"]["leaks"].pop("recordings", None)
    for thread in said["threads"]["threads"]:
        for frame in thread["stack"]:
            frame["module"] = Path(frame["module"] or "").name
    return json.dumps(said, indent=1).replace(str(core), "CORE").splitlines()


def same(wanted, found, what):
    if wanted != found:
        wrong = next(pair for pair in zip(wanted + [""], found + [""]) if pair[0] != pair[1])
        raise hw.Failure(f"{what}: {wrong[1].strip()!r} instead of {wrong[0].strip()!r}")


def add_without(name, program, script=None):
    def without_files(folder):
        if script:
            (folder / "account").write_text(script)
        core = kernel_core(program, folder)
        wanted = told(core)
        less = folder / "less"
        if not cores.without_notes(core, less, {cores.NT_FILE}):
            raise hw.Failure("the core has no NT_FILE")
        same(wanted, told(less), "without NT_FILE")
        cores.without_memory(less, less, lambda flags, address, head: head != b"\x7fELF")
        same(wanted, told(less), "without the headers of modules, too")
        cores.without_registers(less, less, [X86_FS_BASE])
        same(wanted, told(less), "without thread pointers, too")

    tests.add(f"{name}: a core that names no files is told as one that does", without_files)


for each in ("small", "threads", "containers", "classes", "classes_static"):
    add_without(each, hw.TARGETS / f"heaps/heap_{each}")
add_without("Python", Path("/usr/bin/python3").resolve(), "import os\nkept = [{i: str(i)} for i in range(2000)]\nos.abort()\n")


@tests.test
def modules_by_their_own_names(folder):
    """Where nothing lists the modules, those whose headers are in the core are known by them."""
    core = kernel_core(hw.TARGETS / "heaps/heap_small", folder)
    totals = ask("core", "--json", core)["totals"]
    # Without the auxiliary vector, and where the dynamic linker has written to in the program.
    cores.without_notes(core, core, {cores.NT_FILE, cores.NT_AUXV})
    (_, _, _, _, program, _, _), *_ = [part for part in cores.parts(core.read_bytes()) if part[1] == cores.PT_LOAD]
    cores.without_memory(core, core, lambda _, address, head: head == b"\x7fELF" or address - program > 0x10000)
    found = ask("core", "--json", core)
    if found["totals"] != totals:
        raise hw.Failure(f"{found['totals']}, not {totals}")
    modules = {f["module"] for t in ask("core", "--json", core, "threads")["threads"] for f in t["stack"]}
    if not modules & {"libc.so.6"} and not any(str(m).startswith("module@") for m in modules):
        raise hw.Failure(f"modules: {modules}")


@tests.test
def what_a_filter_leaves_out(folder):
    """With each coredump_filter that keeps private memory blocks and types are right; without it that is said."""
    program = hw.TARGETS / "heaps/heap_containers"
    wanted = None
    for number in (0x33, 0x01, 0x13, 0x31, 0x3F, 0x7F, 0x00, 0x02, 0x20, 0x7E):
        inside = folder / f"{number:x}"
        inside.mkdir()
        core = kernel_core(program, inside, setup=f"echo {number:#x} > /proc/self/coredump_filter")
        if not number & PRIVATE:
            ended = hw.run([hw.HEAPWISE, "core", core])
            if ended.status or "no heap was found" not in ended.text or "coredump_filter" not in ended.errors:
                raise hw.Failure(f"filter {number:#x}: {ended} {ended.text[:300]}")
            if " 0 B" in ended.text or "in use" in ended.text or ask("core", "--json", core)["totals"] is not None:
                raise hw.Failure(f"filter {number:#x}: figures of a heap that is not there: {ended.text}")
            if "no private memory" not in hw.run([hw.HEAPWISE, "leaks", core]).text:
                raise hw.Failure(f"filter {number:#x}: heapwise leaks does not say what is missing")
            continue
        compare(read_account(inside / "account"), ask("core", "--json", core, "blocks")["blocks"], own_most=1)
        leaks = hw.run([hw.HEAPWISE, "leaks", core]).text
        if "allocation site" in leaks.lower() or not re.search(r"still reachable, of \d+ types?\.", leaks):
            raise hw.Failure(f"filter {number:#x}: blocks that nobody recorded have no allocation sites: {leaks}")
        types = ask("core", "--json", core, "types")["types"]
        types = sorted((t["name"], t["blocks"], t["bytes"]) for t in types)
        wanted = wanted or types
        same(wanted, types, f"filter {number:#x}") if wanted != types else None
        if ask("core", "--json", core, "threads")["threads"][0]["stack"][-1]["function"] != "_start":
            raise hw.Failure(f"filter {number:#x}: the stack does not end with _start")


@tests.test
def shared_memory_holds_blocks(folder):
    """Blocks that shared memory holds are reachable if it is in the core; else it is said what is missing."""
    program = hw.TARGETS / "heaps/heap_shared"
    held = {"by no file": SHARED, "by a nameless file": SHARED, "by a file": 8}
    for number in (0x33, 0x01, 0x0B, 0x7F):
        inside = folder / f"{number:x}"
        inside.mkdir()
        core = kernel_core(program, inside, setup=f"echo {number:#x} > /proc/self/coredump_filter")
        account = {
            address: (size, used, "reachable" if number & held[kind] else "definite", kind)
            for address, (size, used, _, kind) in read_account(inside / "account").items()}
        compare(account, ask("core", "--json", core, "blocks")["blocks"])
        shown = hw.run([hw.HEAPWISE, "leaks", core]).text
        if ("could not be read" in shown) != (number & 8 == 0):
            raise hw.Failure(f"filter {number:#x}: {shown}")


@tests.test
def cut_off_by_the_kernel(folder):
    """A core that a limit has cut off is read as far as it goes, and what is missing is said."""
    program = hw.TARGETS / "heaps/heap_small"
    whole = kernel_core(program, folder)
    bytes_whole = whole.stat().st_size
    for part in (4, 2):
        inside = folder / f"part{part}"
        inside.mkdir()
        # Of dash in units of 512 bytes.
        core = kernel_core(program, inside, setup=f"ulimit -c {bytes_whole // part // 512}")
        ended = hw.run([hw.HEAPWISE, "core", core])
        if ended.status or "is truncated:" not in ended.errors:
            raise hw.Failure(f"a core of {core.stat().st_size} bytes: {ended}")


@tests.test
def cut_off_before_libc(folder):
    """A core that ends before libc's data still tells every block that the program knows of, of threads' arenas as well."""
    for name in ("heap_small", "heap_threads"):
        inside = folder / name
        inside.mkdir()
        whole = kernel_core(hw.TARGETS / "heaps" / name, inside)
        libc = [m for m in ask("core", "--json", whole, "maps")["maps"] if m["kind"] == "data" and "/libc." in m["path"]]
        bytes_whole = whole.read_bytes()
        at = min(int(m["start"], 16) for m in libc)
        cut = inside / "cut"
        cut.write_bytes(bytes_whole[: next(part[3] for part in cores.parts(bytes_whole) if part[1] == cores.PT_LOAD and part[4] == at)])
        compare(read_account(inside / "account"), ask("core", "--json", cut, "blocks")["blocks"], None)
        ended = hw.run([hw.HEAPWISE, "core", cut])
        for words in ("what only missing memory points to counts as lost", "the core ends before malloc's data about this memory"):
            if words not in ended.text:
                raise hw.Failure(f"{words}: {ended.text}")


@tests.test
def cut_off_before_the_heap_is_told(folder):
    """A core that ends before the allocator's data has no heap, rather than one without leaks; and what to do is said."""
    whole = kernel_core(hw.TARGETS / "heaps/heap_small", folder)
    writable = [part for part in cores.parts(whole.read_bytes()) if part[1] == cores.PT_LOAD and part[2] & 2]
    cut = folder / "cut"
    cut.write_bytes(whole.read_bytes()[:writable[0][3]])
    ended = hw.run([hw.HEAPWISE, "core", cut])
    if ended.status != 3 or "cut off" not in ended.text or "ulimit -c unlimited" not in ended.text:
        raise hw.Failure(f"core: {ended}")
    shown = hw.run([hw.HEAPWISE, "leaks", cut])
    if "no leaks are possible" in shown.text or "Leaks are unknown" not in shown.text:
        raise hw.Failure(f"leaks: {shown}")
    if "Parts could not be read" not in shown.text or "The recording is" in shown.text:
        raise hw.Failure(f"it is called a recording: {shown.text}")
    gate = hw.run([hw.HEAPWISE, "leaks", "--error-exitcode=7", cut])
    if gate.status != 3 or "cannot be decided: it contains no heap" not in gate.errors:
        raise hw.Failure(f"the gate says nothing: {gate}")
    budget = hw.run([hw.HEAPWISE, "budget", "--max-leak", "0", cut])
    if budget.status != 3 or "unknown   leaked: it contains no heap" not in budget.text:
        raise hw.Failure(f"budget: {budget} {budget.text}")
    if "definitely lost" in shown.text or "blocks" in shown.text.partition("Notes")[0]:
        raise hw.Failure(f"kinds have figures: {shown.text}")
    found = json.loads(hw.run([hw.HEAPWISE, "leaks", "--json", cut]).text)["leaks"]
    hw.need(found["search"] is None and not any(found["summary"].values()), f"leaks --json: {found}")
    memcheck = hw.run([hw.HEAPWISE, "leaks", "--format", "memcheck", cut]).text
    hw.need("Leaks are unknown" in memcheck and " 0 blocks" not in memcheck and " 0 allocs" not in memcheck, memcheck)
    hw.need(" allocs" not in hw.ask("leaks", "--format", "memcheck", whole), "a core does not know what was allocated")
    everything = hw.run([hw.HEAPWISE, "leaks", "--show-leak-kinds=all", whole]).text
    if "referenced by" not in everything or "allocated at" in everything:
        raise hw.Failure("a type is called a place")


@tests.test
def unknown_everywhere(folder):
    """Where nothing is known of a heap, no command has figures of it, nor compares with them or adds them up."""
    whole = kernel_core(hw.TARGETS / "heaps/heap_small", folder)
    data = whole.read_bytes()
    cut = folder / "cut"
    cut.write_bytes(data[:next(part[3] for part in cores.parts(data) if part[1] == cores.PT_LOAD and part[2] & 2)])
    (folder / "less").mkdir()
    hidden = kernel_core(hw.TARGETS / "heaps/heap_small", folder / "less", setup="echo 0x02 > /proc/self/coredump_filter")
    hw.ask("report", whole)
    hw.ask("diff", whole, whole)
    for core, why in ((cut, "have it written whole"), (hidden, "no private memory")):
        for words in (("report",), ("report", "--json"), ("report", "--view", "sites"), ("tree",), ("flame",), ("graph",),
                      ("export", "--format", "json"), ("export", "--format", "csv"), ("export", "--format", "pprof"),
                      ("diff", whole), ("diff", "--json", whole), ("diff", "--by", "owner", whole), ("diff", "--trend", whole),
                      ("diff", "--view", "tree", whole), ("report", "--base", whole)):
            ended = hw.heapwise(*words, core)
            hw.need(ended.status == 3 and not ended.text and why in ended.errors, f"{words} of {core.name}: {ended}")
        ended = hw.heapwise("diff", core, whole)
        hw.need(ended.status == 3 and why in ended.errors, f"diff from {core.name}: {ended}")
        ended = hw.heapwise("report", "--merge", whole, core)
        hw.need(ended.status == 3 and "no heap was found" in ended.errors, f"{core.name} was added up: {ended}")
        ended = hw.heapwise("budget", "--max-never-freed", "1G", core)
        hw.need(ended.status == 3 and "unknown   never freed" in ended.text, f"budget of {core.name}: {ended}")


def changed(folder, words):
    """What is said of each of these files beside a core."""
    ended = hw.run([hw.HEAPWISE, "core", *words, folder / "core", "types"])
    if ended.status:
        raise hw.Failure(f"{ended}")
    return [line.split(" is not the file")[0] for line in ended.errors.splitlines() if "is not the file" in line], ended


@tests.test
def other_files_than_those_that_ran(folder):
    """A program and a library that were replaced are named, with their own paths, and not used."""
    program, library = folder / "app", folder / "library.so"
    right, wrong = hw.TARGETS / "heaps/heap_classes", hw.TARGETS / "heaps/heap_containers"
    libraries = sorted(Path("/usr/lib/x86_64-linux-gnu").glob("lib[mr]*.so.[1-9]"))
    hw.need(len(libraries) > 1, "no two libraries to take for each other")
    hw.shutil.copy(right, program)
    hw.shutil.copy(libraries[0], library)
    core = kernel_core(program, folder, hw.clean_environment(LD_PRELOAD=str(library)))
    core.rename(folder / "core")
    if (found := changed(folder, []))[0]:
        raise hw.Failure(f"nothing has changed yet: {found}")
    types = ask("core", "--json", folder / "core", "types")["types"]
    for path, other in ((program, wrong), (library, libraries[1])):
        path.unlink()
        hw.shutil.copy(other, path)
    found, ended = changed(folder, [])
    if sorted(found) != sorted([f"heapwise: {program}", f"heapwise: {library}"]):
        raise hw.Failure(f"named are {found}: {ended}")
    found, ended = changed(folder, ["--exe", wrong])
    if f"heapwise: {wrong}" not in found or f"heapwise: {program}" in found:
        raise hw.Failure(f"with a wrong --exe named are {found}")
    found, _ = changed(folder, ["--exe", right])
    if found != [f"heapwise: {library}"]:
        raise hw.Failure(f"with the right --exe named are {found}")
    if ask("core", "--json", "--exe", right, folder / "core", "types")["types"] != types:
        raise hw.Failure("with the right --exe there are other types")
    # The right one is found by build-id, too, wherever it is.
    kept = folder / "kept"
    kept.mkdir()
    hw.shutil.copy(right, kept / "app")
    if ask("core", "--json", "--symbol-path", kept, folder / "core", "types")["types"] != types:
        raise hw.Failure("with --symbol-path there are other types")


@tests.test
def files_compared_by_what_is_in_memory(folder):
    """Without any build-id in the core a file is known to be another one by its dynamic section."""
    program = folder / "app"
    hw.shutil.copy(hw.TARGETS / "heaps/heap_classes", program)
    core = kernel_core(program, folder)
    core.rename(folder / "core")
    cores.without_memory(folder / "core", folder / "core", lambda flags, address, head: head != b"\x7fELF")
    for note in ({}, {cores.NT_FILE}):
        cores.without_notes(folder / "core", folder / "core", note)
        hw.shutil.copy(hw.TARGETS / "heaps/heap_classes", program)
        if (found := changed(folder, []))[0]:
            raise hw.Failure(f"nothing has changed yet: {found}")
        hw.shutil.copy(hw.TARGETS / "heaps/heap_containers", program)
        found, ended = changed(folder, [])
        if found != [f"heapwise: {program}"] or "memory does not look like it" not in ended.errors:
            raise hw.Failure(f"named are {found}: {ended}")


@tests.test
def names_of_systemd(folder):
    """What systemd-coredump has stored is a core by its content, whatever its name."""
    hw.need_program("zstd")
    with Waiting(hw.TARGETS / "heaps/heap_small", folder) as pid:
        core = gcore(pid, folder)
    totals = ask("core", "--json", core)["totals"]
    stored = folder / "core.heap\\x2dsmall.1000.5b2c1d.4711.1700000000000000.zst"
    stored.write_bytes(hw.run(["zstd", "-q", "-c"], stdin=core.read_bytes()).stdout)
    if ask("core", "--json", stored)["totals"] != totals:
        raise hw.Failure("other totals")
    if ask("leaks", "--json", stored)["leaks"]["summary"]["definite"]["blocks"] != 1500:
        raise hw.Failure("heapwise leaks finds something else")


tests.main(sanitized_part=2)
