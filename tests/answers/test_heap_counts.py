#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""No bound decides how many blocks are of a type, nor how much of a heap is found."""

import json
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import ask, cut_notes, gcore  # noqa: E402

tests = hw.Tests()

SCRIPTS = Path(__file__).resolve().parent / "programs/types"


@contextmanager
def running(*words, before=(), **settings):
    """The process number, and the line that the program printed. before: what starts it; settings: of its environment."""
    program = subprocess.Popen([*before, (SCRIPTS if str(words[0]).endswith(".py") else hw.ANSWERS) / words[0], *words[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=hw.clean_environment(**settings))
    try:
        line = program.stdout.readline().decode().strip()
        yield str(program.pid), line
    finally:
        program.kill()
        program.wait()
        program.stdin.close()
        program.stdout.close()


def need(found, wanted):
    wrong = {name: (found.get(name), count) for name, count in wanted.items() if found.get(name) != count}
    if wrong:
        raise hw.Failure(f"(found, wanted): {wrong}; all: {found}")


def types_of(pid):
    return {row["name"]: row["blocks"] for row in ask("heap", "--json", pid, "types", "--limit", "1000")["types"]}


@tests.test
def c(_):
    """all blocks that declarations name, in arrays, structures, on stacks, of types that look alike"""
    with running("counted_blocks") as (pid, _line):
        found = types_of(pid)
        shown = ask("heap", "--json", pid, "show", "leafg", "--limit", "1000000")
    need(found, {
        "leafg": 30000, "leafh": 2000, "leafs": 10000, "leafw": 2000, "leafe": 3, "item": 70000, "leafr": 70000,
        "twin": 6000, "mate": 6000, "local": 1000, "mine": 300})
    need({"shown": len(shown["blocks"])}, {"shown": 30000})


@tests.test
def objects(folder):
    """what all objects of C++ hold, also what only the last of them have, and how it grew"""
    older = folder / "older.core"
    with running("counted_objects", "16000") as (pid, _line):
        need(types_of(pid), {"A": 16000, "Deep": 16000, "Late": 19000, "D": 3000})
        ended = hw.heapwise("heap", pid, "save", older)
        if ended.status:
            raise hw.Failure(str(ended))
    with running("counted_objects", "66000") as (pid, _line):
        need(types_of(pid), {"A": 66000, "Deep": 66000, "Late": 69000, "D": 3000})
        rows = ask("diff", "--json", "--by", "type", older, pid)["rows"]
    grown = [row["live_blocks"]["change"] for row in rows if "'Late'" in str(row)]
    if grown != [50000]:
        raise hw.Failure(f"Late grew by {grown}")


@tests.test
def pieces(folder):
    """a heap whose bins are nearly all in use is found, also in a core that does not say where libc begins"""
    with running("heap_in_pieces") as (pid, line):
        live = ask("heap", "--json", pid)["totals"]
        core = gcore(pid, folder)
    old = folder / "old.core"
    cut_notes(core, old)
    kept = ask("core", "--json", old)["totals"]
    for totals in (live, kept):
        # libc's own may be among them: the buffer of stdout.
        if not 0 <= totals["used_blocks"] - int(line) <= 2:
            raise hw.Failure(f"{totals}, the program has {line}")


@tests.test
def links_by_chance(_):
    """links of free blocks that are by chance addresses of blocks: which lists there are is decided by whole lists"""
    with running("links_by_chance") as (pid, line):
        hw.need(len(line.split()) == 2, f"it says {line!r}")
        used, free = map(int, line.split())
        blocks = ask("heap", "--json", pid, "blocks", "--size", "24")["blocks"]
        damage = ask("heap", "--json", pid)["damage"]
    found = {state: sum(block["state"] == state for block in blocks) for state in ("used", "cached")}
    need(found, {"used": used, "cached": free})
    hw.need(not damage, f"{damage}")


@tests.test
def seems_mapped(_):
    """what only looks like blocks with mappings of their own is none, by malloc's own count, or it is said"""
    with running("seems_mapped") as (pid, line):
        blocks = ask("heap", "--json", pid, "blocks", "--size", "128k..")["blocks"]
        damage = ask("heap", "--json", pid)["damage"]
    found, wanted = sorted(block["size"] for block in blocks), sorted(map(int, line.split()))
    if found != wanted or damage:
        raise hw.Failure(f"{found}, not {wanted}; {damage}")
    with running("seems_mapped", "apart") as (pid, line):
        damage = ask("heap", "--json", pid)["damage"]
    if [one["what"] for one in damage] != ["more memory looks like blocks with mappings of their own than malloc counts"]:
        raise hw.Failure(str(damage))
    # More ways to choose than are tried: it is not decided by a few of them.
    with running("seems_mapped", "many") as (pid, line):
        damage = ask("heap", "--json", pid)["damage"]
        text = hw.heapwise("heap", pid).text
        blocks = ask("heap", "--json", pid, "blocks", "--size", "128k..")["blocks"]
    words = "more memory looks like blocks with mappings of their own than malloc counts"
    hw.need([one["what"] for one in damage] == [words] and words in text, f"{damage}: {text}")
    hw.need(len(blocks) == int(line) + 16, f"{len(blocks)} blocks")


@tests.test
def aligned_mapped(_):
    """aligned blocks with mappings of their own that were reallocated are where the program has them, and as large"""
    for filled in ((), ("170",)):
        with running("aligned_mapped", *filled) as (pid, line):
            blocks = ask("heap", "--json", pid, "blocks", "--size", "128k..")["blocks"]
            answer = ask("heap", "--json", pid)
        found = {block["address"]: block["size"] for block in blocks if block["state"] == "used" and block["leak"] == "reachable"}
        need(found, {address: int(size) for address, size in (word.split(":") for word in line.split())})
        hw.need(len(found) == len(line.split()) and not answer["damage"], f"{answer['damage']}")


@tests.test
def break_amid_page(_):
    """chunks in a program break that others move, which begin amid a page and go on in mappings: all are found, or it is said"""
    for program, seeds, own in (("break_amid_page", (2, 6, 8), 0), ("break_amid_page_static", (1, 2, 7), 5)):
        for seed in seeds:
            with running(program, str(seed)) as (pid, line):
                wanted = {address: int(size) for address, size in (word.split(":") for word in line.split())}
                blocks = ask("heap", "--json", "--no-inference", pid, "blocks", "--used", "--limit", "100000")["blocks"]
                damage = ask("heap", "--json", "--no-inference", pid)["damage"]
            found = {block["address"]: block["size"] for block in blocks}
            missing = [address for address, size in wanted.items() if found.get(address, 0) < size]
            if missing or damage or len(found) - len(wanted) != own:
                raise hw.Failure(f"{program} {seed}: {len(found)} of {len(wanted)}, without {missing[:9]}; {damage}")
    # A chunk's head that was overwritten, in the program break; that of a block with a mapping of its own.
    for seed, what in ((2, "the size of a chunk makes no sense"), (5, "malloc counts more blocks with mappings of their own than were found")):
        with running("break_amid_page", str(seed), "smashed") as (pid, line):
            wanted = {word.split(":")[0] for word in line.split()}
            found = {block["address"] for block in ask("heap", "--json", "--no-inference", pid, "blocks", "--used", "--limit", "100000")["blocks"]}
            damage = [one["what"] for one in ask("heap", "--json", "--no-inference", pid)["damage"]]
        hw.need(len(wanted - found) == 1 and damage == [what], f"{len(wanted - found)} of {len(wanted)} are missing; {damage}")


@tests.test
def header_array(_):
    """`follow` begins at the element that an address is in, the first one too, and at the start of its block at all"""
    with running("header_array") as (pid, line):
        first = int(line, 16)
        found = {offset: ask("heap", "--json", pid, "follow", f"{first + offset:#x}.held")["objects"] for offset in (-8, 0, 4, 16, 152)}
    hw.need(found == {-8: 10, 0: 1, 4: 1, 16: 1, 152: 1}, f"{found}")


@tests.test
def one_mapping(_):
    """the only block that ever had a mapping of its own is missed, too, if its head was overwritten: as missing bytes"""
    with running("one_mapping") as (pid, line):
        damage = ask("heap", "--json", "--no-inference", pid)["damage"]
        text = hw.heapwise("heap", pid).text
    said = [(one["what"], one["how"], one["bytes"]) for one in damage]
    hw.need(said == [("malloc counts more blocks with mappings of their own than were found", "missing", (1 << 20) + 4096)], f"{damage}")
    hw.need("1052672 bytes are missing" in text, text)


@tests.test
def batch_on_its_way(_):
    """what a thread just moves from one of tcmalloc's lists to another counts as used, and it is said how many blocks that may be"""
    library = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"
    if not Path(library).exists():
        raise hw.Skip("no tcmalloc")
    with running("moves_batch", LD_PRELOAD=library) as (pid, line):
        if not line:
            raise hw.Skip("this tcmalloc calls its own functions directly")
        moved, kept = map(int, line.split())
        damage = ask("heap", "--json", pid)["damage"]
        text = hw.heapwise("heap", pid).text
        chosen = ask("heap", "--json", pid, "blocks", "--size", "3072", "--used")
        used = chosen["matched"]["blocks"]
        hw.need(chosen["damage"] == damage, f"blocks: {chosen['damage']}")
        for verb in ("types", "fragmentation"):
            said = hw.heapwise("heap", pid, verb).errors
            hw.need(f"up to {moved} blocks that count as used may be free" in said, f"{verb}: {said}")
    hw.need([one["maybe_free_blocks"] for one in damage] == [moved] and used == kept + moved, f"{damage}, {used} in use, {line}")
    hw.need(f"up to {moved} blocks that count as used may be free" in text, text)


@tests.test
def cache_with_rest(_):
    """a thread's cache of free blocks is one where its chunk is larger than it needs: what it keeps is free"""
    with running("cache_with_rest") as (pid, line):
        used, free = map(int, line.split())
        blocks = ask("heap", "--json", pid, "blocks", "--size", "24..40")["blocks"]
    found = {state: sum(block["state"] == state for block in blocks) for state in ("used", "cached")}
    need(found, {"used": used, "cached": free})


@tests.test
def joined_extents(_):
    """jemalloc's table of pages is found where extents were joined, and words that lead nowhere are left"""
    library = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    if not Path(library).exists():
        raise hw.Skip("no jemalloc")
    for setting in ("dirty_decay_ms:0", "dirty_decay_ms:10000"):
        with running("joined_extents", LD_PRELOAD=library, MALLOC_CONF=setting) as (pid, line):
            found = ask("heap", "--json", pid, "blocks", "--size", "224", "--used")["matched"]
        need(found, {"blocks": int(line)})


@tests.test
def open_arrays(_):
    """`follow` goes through an array as far as its block goes: without an end, or with a length that is never there"""
    with running("open_arrays") as (pid, _line):
        found = [ask("heap", "--json", pid, "follow", f"holder.{way}") for way in ("open.items", "huge.slots")]
    reached = [(one["objects"], one["outside"], one["nulls"]) for one in found]
    if reached != [(101, 0, 0), (4, 0, 0)]:
        raise hw.Failure(str(reached))


@tests.test
def bounds(_):
    """past each bound of what is followed and shown it is said that there is more, and nothing else changes"""
    with running("past_bounds") as (pid, _line):
        shown = ask("heap", "--json", pid, "types", "--limit", "1000")
        # A type of more than 100,000 members, beside all others.
        need({row["name"]: row["blocks"] for row in shown["types"]}, {"Wide": 1, "Holder": 1} | {f"Chain<{i}>": 10 for i in range(10)})
        need(shown, {"partial": ["type-members"]})
        deep = ask("heap", "--json", pid, "follow", "Holder.deep")
        need(deep, {"objects": 0, "broken": 1})
        said = hw.heapwise("heap", pid, "follow", "Holder.wide.thousand1.five1.fifty1.none")
        if said.status == 0 or "did you mean one of pointer0," not in said.errors or "(of 50)" not in said.errors:
            raise hw.Failure(str(said))
        # A tuple of 17 parts; a chain whose types come again after ten.
        holder = ask("heap", "--json", pid, "show", "Holder")["blocks"][0]["members"]
        need({row["name"]: "members" in row for row in holder}, {"parts": True, "target": False})
        held = ask("heap", "--json", pid, "dominators", "--limit", "10000")
        chain = [row for row in held["dominators"] if "Chain" in str(row)]
        need({"chain": len(chain) > 50, "folded": sum("folded_blocks" in row for row in chain)}, {"chain": True, "folded": 0})
        # The other twenty hold too little.
        need({"least": held["least_bytes"]}, {"least": shown["totals"]["used_bytes"] // 1000})
        for words in ((), ("--where", "kind=block"), ("--where", "kind=block", "--count")):
            said = hw.heapwise("heap", pid, "dominators", "--limit", "10000", *words).text
            if "What retains less than 1.25 KiB is not listed." not in said:
                raise hw.Failure(said[-300:])


@tests.test
def many_members(_):
    """members and values of an enumeration behind 70,000 others count as the first ones do"""
    with running("many_members") as (pid, _line):
        shown = ask("heap", "--json", pid, "types")
        need({row["name"]: row["blocks"] for row in shown["types"]}, {"wide": 1, "record": 1})
        need(shown, {"partial": []})
        need(ask("heap", "--json", pid, "follow", "wide.behind"), {"objects": 1, "outside": 0, "nulls": 0})
        record = ask("heap", "--json", pid, "show", "record")["blocks"][0]["members"]
        need({row["name"]: row["value"] for row in record}, {"state": "VALUE_BEHIND"})
        laid_out = hw.heapwise("heap", pid, "layout", "wide").text
        if "*behind;" not in laid_out or "padding" in laid_out:
            raise hw.Failure(laid_out[-300:])


@tests.test
def many_structures(_):
    """where a layout has more rows than it opens structures in, it says so, and of how many"""
    with running("many_structures") as (pid, _line):
        laid_out = ask("heap", "--json", pid, "layout", "wide")
        said = hw.heapwise("heap", pid, "layout", "wide").text
        small = ask("heap", "--json", pid, "layout", "pair")
    closed = sum("members" not in member for member in laid_out["members"])
    need({"partial": laid_out["partial"], "rows": len(laid_out["members"]), "small": small["partial"]},
         {"partial": ["layout-rows"], "rows": 25000, "small": []})
    hw.need(closed == 25000 - 6667, f"{closed} closed")
    hw.need(f"as {closed} here are" in said, said[-300:])


@tests.test
def cut_layout(folder):
    """of a core that was cut off a layout says so, too"""
    core = folder / "cut.core"
    with running("many_structures") as (pid, _line):
        ended = hw.heapwise("heap", pid, "save", core)
        hw.need(ended.status == 0, str(ended))
    with core.open("r+b") as file:
        file.truncate(core.stat().st_size - 8192)
    need(ask("core", "--json", core, "layout", "pair"), {"partial": ["core-cut"]})


@tests.test
def further_libcs(_):
    """blocks of libcs that were loaded beside the program's (dlmopen) are counted, used and free ones"""
    with running("further_libcs") as (pid, line):
        shown = ask("heap", "--json", pid, "blocks", "--limit", "100000")
    words = line.split()
    truth = {int(address, 16): used == "1" for address, used in zip(words[::2], words[1::2])}
    found = {int(row["address"], 16): row for row in shown["blocks"]}
    missing = [hex(at) for at, used in truth.items() if used and found.get(at, {}).get("state") != "used"]
    # libc took some of those that were freed for itself.
    own = ("dtv", "FILE buffer")
    wrong = [row for at, row in found.items() if not truth.get(at, True) and row["state"] == "used" and row["type"] not in own]
    need({"damage": shown["damage"], "missing": missing, "wrong": wrong, "caches": sum(row["state"] == "allocator" for row in found.values())},
         {"damage": [], "missing": [], "wrong": [], "caches": 6})


@tests.test
def large_elements(_):
    """arrays of structures of 512 bytes and more are named; what only begins with one is not"""
    with running("large_elements") as (pid, line):
        found = types_of(pid)
        blocks = [ask("heap", "--json", pid, "block", address) for address in line.split()]
    need({name: found.get(name) for name in ("record[]", "narrow[]", "plain[]")}, {"record[]": 1, "narrow[]": 1, "plain[]": 1})
    need({"elements": [block.get("count") for block in blocks[:3]]}, {"elements": [9, 9, 9]})
    named = [block["type"] for block in blocks[3:] if block["type"].startswith("record")]
    hw.need(not named, str(named))


@tests.test
def type_without_blocks(_):
    """of a type that no block is nothing is said by 0 blocks"""
    with running("large_elements") as (pid, _line):
        for name in ("FILE", "DIR", "text"):
            said = hw.heapwise("heap", pid, "type", name).text
            need({name: said.strip()}, {name: f"{name}: no block is one, so nothing says what it may be"})


@tests.test
def amid_change(_):
    """a process that stands in the middle of malloc() is not simply said to be damaged"""
    with running("splits_top") as (_, pid):
        found = ask("heap", "--json", pid)["damage"]
        said = hw.heapwise("heap", pid).text
    hw.need(found and all(place["amid_change"] for place in found), str(found))
    hw.need("a thread is in the middle of a change, or damage at" in said and "written beyond" not in said, said)


@tests.test
def heads_of_lists(_):
    """the heads of the garbage collector's lists, in the interpreter's data, own none of the objects that they lead to"""
    with running("newest_list.py", before=["/usr/bin/python3"]) as (pid, line):
        for address in line.split():
            answer = ask("heap", "--json", pid, "why", address)
            heads = [root for root in answer["roots"] if root["layer"] == 0 and root["kind"] == "global" and root["into"] == 0]
            hw.need(not heads, str(heads))


@tests.test
def left_places(_):
    """places of Python's lists of free objects behind their counts, and its frames that have ended, own nothing"""
    for words in ((), ("collect",)):
        with running("left_places.py", *words, before=["/usr/bin/python3"]) as (pid, line):
            answer = ask("heap", "--json", pid, "why", line)
        roots = [root for root in answer["roots"] if root["layer"] == 0]
        hw.need(not roots and answer["referrers"], f"{words}: {roots}")


def time_of_numbers(*words):
    """How long reading the heap of small_numbers takes, in seconds of CPU time; all its blocks are found."""
    with running("small_numbers", *words) as (pid, line):
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = {int(row["address"], 16): row["state"] for row in ask("heap", "--json", pid, "blocks", "--limit", "100000")["blocks"]}
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
    need({"used": {found.get(int(address, 16)) for address in line.split()}}, {"used": {"used"}})
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


@tests.test
def small_numbers(_):
    """a heap with a large block of small numbers, which others follow or none, is read as quickly as any"""
    spent = time_of_numbers(), time_of_numbers("alone")
    hw.need(max(spent) < 1.5, f"{spent[0]:.1f} s of CPU time, {spent[1]:.1f} s without others")


@tests.test
def possible_alone(_):
    """where blocks are only possibly lost the summary's first sentence says so, not that nothing is lost"""
    with running("points_amid") as (pid, _line):
        said = hw.heapwise("heap", pid).text.splitlines()[0]
        if "nothing of that is definitely lost, 9.77 KiB in 10 blocks possibly" not in said:
            raise hw.Failure(said)


@tests.test
def deep_and_wide_stacks(_):
    """more frames than are looked at for variables are said to be; more words on a stack than are named first are named"""
    with running("past_bounds", "deep", before=["prlimit", "--stack=67108864"]) as (pid, _line):
        need(ask("heap", "--json", pid, "types"), {"partial": ["type-members", "stack-frames"]})
    with running("past_bounds", "many") as (pid, line):
        roots = ask("heap", "--json", pid, "why", line, "--limit", "100000")["roots"]
        said = hw.heapwise("heap", pid, "why", line, "--limit", "100000").text
    need({"named": sum(row.get("variable") == "many" for row in roots)}, {"named": 1500})
    if "many +" in said.partition("in no variable that is known")[2] or said.count("in hold_many: many") != 1500:
        raise hw.Failure(said[-600:])


@tests.test
def python_bounds(_):
    """what is too deep, too long or too far out of Python's is said to be left out"""
    with running("past_bounds.py", before=["/usr/bin/python3"]) as (pid, line):
        nested, large, small = [ask("heap", "--json", pid, "python", number)["python"] for number in line.split()]
        threads = hw.heapwise("heap", pid, "threads").text
    need({"cut": nested["cut"], "content": nested["content"]}, {"cut": True, "content": "[[[[[…]]]]]"})
    need({"large": large["content"], "small": small["content"]}, {"large": "<int of about 14280 bits>", "small": str(3 ** 4000)})
    need({"frames": threads.count("down  ")}, {"frames": 1024})
    if "and those that called them" not in threads:
        raise hw.Failure(threads[-300:])


@tests.test
def unread(folder):
    """where memory is there, but no heap that is known, nothing is 0 B, and the command fails"""
    core = folder / "unread.core"
    with running("unknown_heap") as (pid, _line):
        hw.heapwise("heap", pid, "save", core)
    for verb in ((), ("types",), ("leaks",), ("dominators",)):
        text, answer = hw.heapwise("core", core, *verb), hw.heapwise("core", "--json", core, *verb)
        if text.status != 3 or answer.status != 3 or "no heap was found, although there is memory" not in text.errors:
            raise hw.Failure(f"{verb}: {text}, {answer}")
    summary = hw.heapwise("core", core)
    if "0 B" in summary.text or "3.00 MiB at 0x" not in summary.text:
        raise hw.Failure(summary.text)
    found = json.loads(hw.heapwise("core", "--json", core).stdout)
    if found["totals"] is not None or found["unread"]["largest_bytes"] != 3 << 20:
        raise hw.Failure(str(found)[:500])
    # What was seen of each allocator, in both.
    seen = {row["allocator"]: row["found"] for row in found["unread"]["seen"]}
    wanted = {"glibc", "jemalloc", "tcmalloc", "mimalloc", "musl mallocng", "musl oldmalloc"}
    if set(seen) != wanted or not all(f"{name}, {what}" in summary.text for name, what in seen.items()):
        raise hw.Failure(f"{seen}: {summary.text}")
    for verb in ("maps", "strings"):
        shown = hw.heapwise("core", core, verb)
        if shown.status or not shown.stdout:
            raise hw.Failure(f"{verb}: {shown}")
    with running("unknown_heap", "nothing") as (pid, _line):
        if ask("heap", "--json", pid)["totals"]["used_blocks"]:
            raise hw.Failure("a program that has not allocated anything has blocks")


@tests.test
def wide_types(folder):
    """objects of a class behind thousands of members, and of one whose name has thousands of characters"""
    with running("wide_types") as (pid, _line):
        need(types_of(pid), {"Wide": 20, "Base": 5})
        shown = ask("heap", "--json", pid, "show", "Base", "--limit", "1000")["blocks"]
    need({"shown": len(shown)}, {"shown": 25})
    bare = folder / "bare"
    subprocess.run(["strip", "-o", bare, hw.ANSWERS / "wide_types"], check=True)
    with running(bare) as (pid, _line):
        rows = {name: blocks for name, blocks in types_of(pid).items() if blocks == 7}
    # As it is in the program: names of such a length are not demangled.
    if len(rows) != 1 or not next(iter(rows)).startswith("3RowIJLi0ELi1E") or not next(iter(rows)).endswith("Li1499EEE"):
        raise hw.Failure(str([name[:100] for name in rows]))


@tests.test
def deep_stack(_):
    """where a thread is in Python, below megabytes of frames of C"""
    script = "import ctypes, sys\ndef below():\n    ctypes.CDLL(sys.argv[1]).go_down(4000)\nbelow()\n"
    with running("/usr/bin/python3", "-c", script, str(hw.ANSWERS / "libdeep_stack.so")) as (pid, _line):
        threads = ask("heap", "--json", pid, "threads")["threads"]
    found = [frame["function"] for frame in threads[0]["python"]]
    if found != ["below", "<module>"]:
        raise hw.Failure(str(found))


tests.main(sanitized_part=2)
