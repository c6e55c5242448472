#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is read of Python's heap equals what a script says of its own objects, by each road."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import cores  # noqa: E402
import heaps  # noqa: E402
import hw  # noqa: E402

tests = hw.Tests()

SCRIPT = hw.SOURCE / "tests/targets/heaps/languages/objects.py"
CONTENTS = hw.SOURCE / "tests/targets/heaps/languages/contents.py"
LISTED = hw.SOURCE / "tests/targets/heaps/languages/listed.py"
FRAMES = hw.SOURCE / "tests/targets/heaps/languages/frames.py"
PYTHON = "/usr/bin/python3"
TYPED_LEAST = 0.9


class Waiting:
    """A script, at the moment that is looked at."""

    def __init__(self, folder, script=SCRIPT, environment=None):
        self.process = subprocess.Popen(
            [PYTHON, script, "account", "wait"], cwd=folder, stdout=subprocess.PIPE, env={**hw.clean_environment(), **(environment or {})})
        if self.process.stdout.readline() != b"ready\n":
            raise hw.Failure("the script did not come so far")

    def __enter__(self):
        return str(self.process.pid)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def ask(*words):
    ended = hw.run([hw.HEAPWISE, *words])
    if ended.status:
        raise hw.Failure(f"{' '.join(map(str, words))}: {ended}")
    return json.loads(ended.stdout)


def compare(folder, blocks, others=()):
    """Each object is in a block of its type, and none of them is lost. `others`: what an allocator loses itself."""
    used = sorted((int(b["address"], 16), b) for b in blocks if b["state"] == "used")
    starts = [address for address, _ in used]
    wrong = Counter()
    count = 0
    for line in (folder / "account").read_text().splitlines():
        address, kind = line.split()
        address = int(address) ^ (2**64 - 1)
        at = last_before(starts, address)
        if at < 0 or address >= starts[at] + used[at][1]["size"]:
            wrong[f"a {kind} that is in no block"] += 1
            continue
        block = used[at][1]
        count += 1
        if block["type"].rpartition(".")[2] != kind:
            wrong[f"a {kind} that is said to be {block['type']}"] += 1
        elif block["leak"] != "reachable":
            wrong[f"a {kind} that is {block['leak']}"] += 1
    lost = Counter(b["type"] for _, b in used if b["leak"] == "definite" and b["type"] not in others)
    if lost:
        wrong[f"lost: {lost.most_common(3)}"] = sum(lost.values())
    typed = sum(not re.match(r"\d+ bytes", b["type"]) for _, b in used)
    if typed < TYPED_LEAST * len(used):
        wrong[f"only {typed} of {len(used)} blocks have a type"] = 1
    if wrong or count < 1900:
        raise hw.Failure(f"{count} objects; " + "; ".join(f"{n} times {what}" for what, n in wrong.most_common(6)))


def last_before(starts, address):
    """The last start that is not beyond the address; -1: none."""
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if starts[middle] <= address:
            low = middle + 1
        else:
            high = middle
    return low - 1


def kernel_core(folder, script):
    """The core that the kernel writes when the script aborts."""
    heaps.need_cores_here()
    words = ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh", PYTHON, script, "account", "abort"]
    ended = hw.run(words, cwd=folder)
    hw.need(ended.status == -signal.SIGABRT, f"no core may be dumped here: {ended}")
    cores = [name for name in os.listdir(folder) if name.startswith("core")]
    hw.need(cores, "no core was dumped")
    return folder / cores[0]


@tests.test
def objects_are_known_by_type_in_a_kernel_core(folder):
    """In the kernel's core the objects are of the types that the script says: names are read from files."""
    compare(folder, ask("core", "--json", kernel_core(folder, SCRIPT), "blocks")["blocks"])


@tests.test
def objects_are_known_by_type_in_a_core_of_gcores(folder):
    """The same in a core of gcore's."""
    hw.need_program("gcore")
    with Waiting(folder) as pid:
        ended = hw.run(["gcore", "-o", "dumped", pid], cwd=folder)
        core = folder / f"dumped.{pid}"
        if not core.exists():
            raise hw.Failure(f"gcore: {ended}")
    compare(folder, ask("core", "--json", core, "blocks")["blocks"])


@tests.test
def objects_are_known_by_type_while_it_runs(folder):
    """The same while it runs; tables that objects have beside them are named, too."""
    with Waiting(folder) as pid:
        blocks = ask("heap", "--json", pid, "blocks")["blocks"]
        summary = ask("heap", "--json", pid)
    compare(folder, blocks)
    parts = {t["name"] for t in summary["types"] if t["kind"] == "python-part"}
    missing = {"dict keys", "list items", "set table", "instance attributes"} - parts
    if missing:
        raise hw.Failure(f"not there: {missing}; {parts}")


SETTINGS = {
    "malloc alone": {"PYTHONMALLOC": "malloc"},
    "debugging": {"PYTHONMALLOC": "debug"},
    "debugging of malloc": {"PYTHONMALLOC": "malloc_debug"},
    "jemalloc": {"LD_PRELOAD": "libjemalloc.so.2"},
    "tcmalloc": {"LD_PRELOAD": "libtcmalloc_minimal.so.4"},
    "mimalloc": {"LD_PRELOAD": "libmimalloc.so.2"},
    "jemalloc alone": {"LD_PRELOAD": "libjemalloc.so.2", "PYTHONMALLOC": "malloc"},
    "tcmalloc alone": {"LD_PRELOAD": "libtcmalloc_minimal.so.4", "PYTHONMALLOC": "malloc"},
    "mimalloc alone": {"LD_PRELOAD": "libmimalloc.so.2", "PYTHONMALLOC": "malloc"},
}


def add(name, environment):
    def run(folder):
        with Waiting(folder, environment=environment) as pid:
            blocks = ask("heap", "--json", pid, "blocks")["blocks"]
        compare(folder, blocks, others=("MallocExtension",))

    tests.add(f"objects are known by type with {name}", run)


for each, settings in SETTINGS.items():
    add(each, settings)


def compare_stacks(folder, threads):
    """Each thread's functions, files and lines in Python are those that the script says."""
    wanted = {int(tid): frames for tid, frames in json.loads((folder / "account").read_text()).items()}
    found = {t["tid"]: [[f["function"], f["file"], f["line"]] for f in t["python"]] for t in threads}
    own = min(wanted)  # the main one has gone on, to end()
    found[own] = [f for f in found[own] if f[0] != "end"]
    if len(wanted) != 5 or found != wanted:
        wrong = next(tid for tid in wanted if found.get(tid) != wanted[tid])
        raise hw.Failure(f"{len(wanted)} threads; {wrong}: {found.get(wrong)}, not {wanted[wrong]}")


@tests.test
def stacks_of_python_in_a_kernel_core(folder):
    """threads says where each thread is in Python: in the kernel's core."""
    compare_stacks(folder, ask("core", "--json", kernel_core(folder, FRAMES), "threads")["threads"])


@tests.test
def stacks_of_python_while_it_runs(folder):
    """The same while it runs, and in its text."""
    with Waiting(folder, FRAMES) as pid:
        threads = ask("heap", "--json", pid, "threads")["threads"]
        text = hw.run([hw.HEAPWISE, "heap", pid, "threads"]).text
    compare_stacks(folder, threads)
    if text.count("  in Python:\n") != 5 or f"Worker.descend  {FRAMES}:" not in text:
        raise hw.Failure(f"text: {text[-1000:]}")


@tests.test
def collectors_list_holds_nothing(folder):
    """who holds an object is not those beside it in the garbage collector's list, and what a list alone holds hangs on it"""
    for environment in ({}, {"PYTHONMALLOC": "malloc"}, {"PYTHONMALLOC": "debug"}):
        with Waiting(folder, LISTED, environment) as pid:
            kept, item, held = (folder / "account").read_text().split()
            why = ask("heap", "--json", pid, "why", item)
            rows = ask("heap", "--json", pid, "dominators", "--limit", "100000")["dominators"]
            block = ask("heap", "--json", pid, "blocks", "--containing", kept)["blocks"][0]["address"]
            items = {word.get("block") for word in ask("heap", "--json", pid, "refs", block)["words"]}
        nearest = [(row["type"], row["blocks"]) for row in why["referrers"] if row["layer"] == 1]
        if nearest != [("list items", 1)]:
            raise hw.Failure(f"{environment}: {nearest} hold an object of a list")
        # A word that is left on a stack may point to the list's items; then they hang on these alone.
        retained = [row["retained_bytes"] for row in rows if row["address"] in items | {block}]
        if max(retained, default=0) < int(held):
            raise hw.Failure(f"{environment}: {retained} bytes hang on a list that holds {held} and more")


@tests.test
def values_of_frames(folder):
    """what a frame that runs has left among its values holds nothing; what it works with is held by that alone"""
    with Waiting(folder, hw.SOURCE / "tests/targets/heaps/languages/working.py") as pid:
        kept, alone = (folder / "account").read_text().split()
        kept = ask("heap", "--json", pid, "why", kept)
        alone = ask("heap", "--json", pid, "why", alone)
    nearest = [(row["type"], row["blocks"]) for row in kept["referrers"] if row["layer"] == 1]
    if nearest != [("list items", 1)] or any(root["kind"] == "mapping" and not root["layer"] for root in kept["roots"]):
        raise hw.Failure(f"an object of a list: {nearest} {kept['roots']}")
    if not alone["roots"]:
        raise hw.Failure(f"an object of a frame: {alone}")


@tests.test
def contents_of_objects(folder):
    """python says what an object holds as the script says it itself: in a core that heapwise saved."""
    with Waiting(folder, CONTENTS) as pid:
        ended = hw.run([hw.HEAPWISE, "heap", pid, "save", folder / "saved"])
        if ended.status:
            raise hw.Failure(f"save: {ended}")
    wrong = []
    lines = (folder / "account").read_text().splitlines()
    for line in lines:
        address, kind, said = json.loads(line)
        address ^= 2**64 - 1
        shown = ask("core", "--json", folder / "saved", "python", hex(address))["python"]
        if shown["content"] != said or shown["type"].rpartition(".")[2] != kind or shown["cut"]:
            wrong.append((said[:200], shown))
    if wrong or len(lines) < 60:
        raise hw.Failure(f"{len(wrong)} of {len(lines)}: {wrong[:3]}")
    ended = hw.run([hw.HEAPWISE, "core", folder / "saved", "python", hex(address)])
    if ended.text != f"{kind} at {address:#x}\n{said}\n":
        raise hw.Failure(f"text: {ended}")
    ended = hw.run([hw.HEAPWISE, "core", "--csv", folder / "saved", "python", hex(address)])
    if list(csv.DictReader(io.StringIO(ended.text))) != [
            {"address": hex(address), "type": kind, "content": said, "cut": "false"}]:
        raise hw.Failure(f"CSV: {ended}")
    # Behind a small block an object begins, likely: it is not that block's.
    blocks = ask("core", "--json", folder / "saved", "blocks", "--type", "list items", "--size", "..24")["blocks"]
    lines = "".join(f"python {block['address']}\n" for block in blocks)
    ended = hw.run([hw.HEAPWISE, "core", folder / "saved", "prompt"], stdin=lines.encode())
    if not blocks or ended.text or ended.errors.count("no object of Python's") != len(blocks):
        raise hw.Failure(f"of {len(blocks)} small blocks that are no objects: {ended}")
    ended = hw.run([hw.HEAPWISE, "core", folder / "saved", "python", "0x1000"])
    if ended.status != 3 or "no object of Python's" not in ended.errors:
        raise hw.Failure(f"where none is: {ended}")
    ended = hw.run([hw.HEAPWISE, "core", folder / "saved", "show", hex(address)])
    if ended.status != 3 or not re.search(r"is of Python: `python 0x[0-9a-f]+` shows", ended.errors):
        raise hw.Failure(f"show: {ended}")


@tests.test
def contents_that_a_core_lacks(folder):
    """what of a text and of a list is not in a core is said to be left out"""
    with Waiting(folder, hw.SOURCE / "tests/targets/heaps/languages/left_out.py") as pid:
        ended = hw.run([hw.HEAPWISE, "heap", pid, "save", folder / "saved"])
        if ended.status:
            raise hw.Failure(f"save: {ended}")
    for line in (folder / "account").read_text().splitlines():
        address, inside, said = json.loads(line)
        address, inside = address ^ (2**64 - 1), inside ^ (2**64 - 1)
        cores.without_rest(folder / "saved", folder / "less", inside)
        shown = ask("core", "--json", folder / "less", "python", hex(address))["python"]
        if shown["content"] != said or not shown["cut"]:
            raise hw.Failure(f"{shown}, not {said}")


tests.main(sanitized_part=2)
