#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks that only pointers into them hold: in cores and processes they are of the kinds that programs say they are,
and that memcheck finds."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
import memcheck  # noqa: E402
from heaps import Recorded, Waiting, ask, compare, gcore, kernel_core, read_account  # noqa: E402
from processes import state  # noqa: E402

tests = hw.Tests()

PROGRAM = hw.TARGETS / "heaps/heap_interior"
STRIPPED = hw.TARGETS / "heaps/heap_interior_stripped"
STATIC = hw.TARGETS / "heaps/heap_interior_static"
# What each heuristic explains alone.
KINDS = {
    "stdstring": {"old string"},
    "length64": {"length"},
    "newarray": {"array"},
    "multipleinheritance": {"second base", "third base", "virtual base"},
}
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}
LOST = ("definite", "indirect", "possible", "reachable")
SQL = """create table t(a integer primary key, b text, c); create index i on t(b);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 5000)
insert into t select x, 'row number ' || x, randomblob(x % 200) from n;
create view v as select a, b from t where a > 5;
select 'rows: ' || count(*) from v;
"""


def blocks_of(*heap):
    return ask(*heap, "blocks")["blocks"]


def as_core(account, program=None):
    """The account as it looks to those who know sizes only as the allocator rounds them up, and with debug information
    plain base classes."""
    held = ("inexact", "plain base") if program == PROGRAM else ("inexact",)
    return {a: (size, used, "reachable" if kind in held else leak, kind)
            for a, (size, used, leak, kind) in account.items()}


def leaks_of(*heap):
    return ask(*heap, "leaks")["leaks"]


def kinds_of(account):
    return Counter(leak for _, used, leak, _ in account.values() if used)


for each in (PROGRAM, STRIPPED, STATIC):
    def by_kernel(folder, program=each):
        core = kernel_core(program, folder)
        compare(as_core(read_account(folder / "account"), program), blocks_of("core", "--json", core), None)

    def by_gcore_and_live(folder, program=each):
        with Waiting(program, folder) as pid:
            core, saved = gcore(pid, folder), folder / "saved"
            live = blocks_of("heap", "--json", str(pid))
            hw.need(hw.run([hw.HEAPWISE, "heap", str(pid), "save", saved]).status == 0, "no core is saved")
        account = as_core(read_account(folder / "account"), program)
        for blocks in (blocks_of("core", "--json", core), blocks_of("core", "--json", saved), live):
            compare(account, blocks, None)

    tests.add(f"{each.name}: blocks of a kernel's core are of the kinds that the program says", by_kernel)
    tests.add(f"{each.name}: so are those of gcore's, of a saved one and of the process", by_gcore_and_live)


@tests.test
def without_its_file(folder):
    """The program's own file is not needed where its tables are in the core"""
    moved = folder / STRIPPED.name
    moved.write_bytes(STRIPPED.read_bytes())
    moved.chmod(0o755)
    core = kernel_core(moved, folder)
    moved.unlink()
    compare(as_core(read_account(folder / "account")), blocks_of("core", "--json", core), None)


@tests.test
def recorded(folder):
    """Where a recording says how much was asked for, only that counts"""
    recording = folder / "r.hpw"
    with Recorded(STRIPPED, folder, recording) as pid:
        core = gcore(pid, folder)
        compare(read_account(folder / "account"), blocks_of("heap", "--json", str(pid)), None)
    account = read_account(folder / "account")
    hw.need(any(kind == "inexact" for *_, kind in account.values()), "nothing is inexact")
    compare(as_core(account), blocks_of("core", "--json", "--recording", "none", core), None)


@tests.test
def chosen(folder):
    """--leak-check-heuristics chooses; what each explains is summed up"""
    with Waiting(STRIPPED, folder) as pid:
        core = gcore(pid, folder)
    account = read_account(folder / "account")
    explained = {a: kind for a, (_, used, leak, kind) in account.items()
                 if used and leak == "reachable" and kind not in ("held", "std::string", "known")}
    for name, kinds in KINDS.items():
        words = ("core", "--json", f"--leak-check-heuristics={name}", core)
        found = {int(b["address"], 16): b.get("leak") for b in blocks_of(*words)}
        wrong = [f"{kind} is {found[a]}" for a, kind in explained.items() if kind in kinds and found[a] != "reachable"]
        hw.need(not wrong, f"{name}: {wrong}")
        search = leaks_of(*words)["search"]
        count = sum(kind in kinds for kind in explained.values())
        hw.need(search["heuristics"] == [name] and list(search["reachable_by"]) == [name], f"{search}")
        hw.need(search["reachable_by"][name]["blocks"] >= count, f"{name}: {search['reachable_by']}")
    for words in (("--leak-check-heuristics=none",), ("--pointers=start",)):
        found = {int(b["address"], 16): b.get("leak") for b in blocks_of("core", "--json", *words, core)}
        hw.need(all(found[a] in ("possible", "definite") for a in explained), f"{words}: something is reachable")
        hw.need(leaks_of("core", "--json", *words, core)["search"]["heuristics"] == [], f"{words}: there are heuristics")
    every = leaks_of("core", "--json", core)["search"]
    hw.need(every["heuristics"] == list(KINDS) and all(s["blocks"] for s in every["reachable_by"].values()), f"{every}")
    wrong = hw.run([hw.HEAPWISE, "core", "--leak-check-heuristics=all,most", core])
    hw.need(wrong.status == 2 and "all,most" in wrong.errors, f"{wrong}")


@tests.test
def exact_bases(folder):
    """With debug information a base class's place needs no heuristic"""
    with Waiting(PROGRAM, folder) as pid:
        found = {int(b["address"], 16): b.get("leak")
                 for b in blocks_of("heap", "--json", "--leak-check-heuristics=none", str(pid))}
    for address, (_, _, _, kind) in read_account(folder / "account").items():
        if kind in ("second base", "third base"):
            hw.need(found[address] == "reachable", f"what is held by its {kind} is {found[address]}")


for name, library in ALLOCATORS.items():
    def by_allocator(folder, library=library):
        environment = hw.clean_environment(LD_PRELOAD=library)
        with Waiting(STRIPPED, folder, environment) as pid:
            if library not in Path(f"/proc/{pid}/maps").read_text():
                raise hw.Skip(f"{library} is not installed")
            blocks = blocks_of("heap", "--json", str(pid))
        # Sizes are rounded up by more there: what is near may fit, too.
        account = {a: row for a, row in as_core(read_account(folder / "account")).items() if row[3] != "near"}
        compare(account, blocks, None, 0.51)

    tests.add(f"{name}'s blocks are of these kinds, too", by_allocator)


@tests.test
def as_memcheck(folder):
    """memcheck finds as many blocks of each kind"""
    ended, records, _ = memcheck.run([PROGRAM, "account", "exit"], folder, cwd=folder)
    hw.need(ended.status == 0, f"{ended}")
    found = Counter()
    for record in records:
        found[record.kind] += record.blocks
    account = kinds_of(read_account(folder / "account"))
    hw.need(found == account, f"memcheck: {found}, the program: {account}")


class Asked:
    """sqlite3 with a database in memory, waiting for more; `before`: words that start it."""

    def __init__(self, folder, *before):
        self.process = subprocess.Popen(
            [*before, hw.need_program("sqlite3"), "-batch", ":memory:"], cwd=folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=hw.clean_environment(HOME=folder))

    def __enter__(self):
        self.process.stdin.write(SQL.encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        hw.need(answer == b"rows: 4995\n", f"sqlite3 says {answer}")
        pid = self.process.pid
        hw.wait_until(lambda: state(pid) == "S", "sqlite3 waits for more")
        return pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def searched_by_memcheck(folder):
    """Blocks of each kind, and by each heuristic, of a process that is searched while it waits."""
    prefix = f"--vgdb-prefix={folder}/gdb"
    with Asked(folder, memcheck.need_valgrind(), "--vgdb=yes", prefix) as pid:
        said = hw.run([hw.need_program("vgdb"), prefix, f"--pid={pid}", "leak_check", "summary", "heuristics", "all",
                       "any"])
    words = {"definitely lost": "definite", "indirectly lost": "indirect", "possibly lost": "possible",
             "still reachable": "reachable"}
    return {words.get(name, name): int(count.replace(",", ""))
            for name, count in re.findall(r"== +([a-z0-9 ]+?) *: [\d,]+ bytes in ([\d,]+) blocks", said.text)}


@tests.test
def sqlite(folder):
    """What sqlite3 holds behind lengths is what memcheck says it is"""
    with Asked(folder) as pid:
        leaks = leaks_of("heap", "--json", str(pid))
        without = leaks_of("heap", "--json", "--leak-check-heuristics=none", str(pid))
    said = searched_by_memcheck(folder)
    ours = {kind: leaks["summary"][kind]["blocks"] for kind in LOST}
    hw.need(ours == {kind: said.get(kind) for kind in LOST}, f"here: {ours}, memcheck: {said}")
    by_length = leaks["search"]["reachable_by"]["length64"]["blocks"]
    hw.need(by_length == said.get("length64"), f"behind lengths: {by_length}, memcheck: {said}")
    hw.need(by_length > 50, f"behind lengths: {by_length}")
    hw.need(without["summary"]["possible"]["blocks"] >= ours["possible"] + by_length, f"{without['summary']}")


tests.main()
