#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers of the search for leaks that were wrong once."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()


def leaks(recording, *options):
    """The recording's leaks as JSON."""
    return json.loads(hw.ask("leaks", recording, "--json", *options))["leaks"]


@TESTS.test
def unseen_allocator(folder):
    """Of a program whose allocator was not seen nothing is known: it was not searched"""
    for program in (hw.ANSWERS / "hidden_malloc", hw.TARGETS / "own_malloc"):
        recording = folder / f"{program.name}.hpw"
        ended = hw.record([program], recording, options=("-q", "--leak-check"))
        hw.need(ended.status == 0, str(ended))
        found = leaks(recording)
        hw.need("allocator of its own" in (found["search"]["problem"] or ""),
                f"{program.name} was searched: {found['search']}")
        text = hw.ask("leaks", recording)
        hw.need("Not searched: the program's own allocator was not recorded" in text, text)
        hw.need("All blocks were freed" not in text and "allocated nothing" not in hw.ask("report", recording), text)


LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
ALLOCATORS = {"glibc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
              "mimalloc": "libmimalloc.so.2.0"}


def lost(folder, program, *arguments, options=(), allocator="glibc"):
    """How many blocks are definitely lost."""
    library = ALLOCATORS[allocator]
    if library and not (LIBRARIES / library).exists():
        raise hw.Skip(f"{library} is not installed")
    env = hw.clean_environment(**({"LD_PRELOAD": LIBRARIES / library} if library else {}))
    ended = hw.record([hw.ANSWERS / program, *arguments], folder / "x.hpw",
                      options=("-q", "-f", "--leak-check", *options), env=env)
    hw.need(ended.status == 0, str(ended))
    return leaks(folder / "x.hpw")["summary"]["definite"]["blocks"]


def check_stale(folder, allocator):
    for program, arguments, expected in (("stale_words", (), 50), ("stale_words", ("used",), 50),
                                         ("stale_growth", (), 239), ("lost_sessions", (), 1990)):
        found = lost(folder, program, *arguments, allocator=allocator)
        hw.need(found == expected, f"{program} {arguments}: {found} blocks are lost, truly {expected}")


for name in ALLOCATORS:
    TESTS.add(f"What earlier uses left in memory holds nothing: {name}",
              lambda folder, name=name: check_stale(folder, name))


@TESTS.test
def large_books(folder):
    """An allocator's own memory is examined also where it has more than 256 MiB of data"""
    ended = hw.record([hw.ANSWERS / "leaves_blocks", "lose"], folder / "x.hpw", options=("-q", "--leak-check"),
                      env=hw.clean_environment(LD_PRELOAD=hw.ANSWERS / "liblarge_pool.so"))
    found = leaks(folder / "x.hpw")["summary"]
    hw.need(ended.status == 0 and found["definite"]["blocks"] == 3 and not found["reachable"]["blocks"],
            f"{found} {hw.ask('leaks', folder / 'x.hpw')}")


REGIONS = "the program registered 4 more root regions than are searched (65536): blocks referenced only from there count as lost"
UNREAD = "the program's own suppressions or options for LeakSanitizer were not read, since they are longer than 1048576 bytes"


@TESTS.test
def past_what_is_kept(folder):
    """More root regions, or longer suppressions, than are kept are said; then what is lost is undecided"""
    for number, (regions, bytes, lost, said) in enumerate(((65536, 1 << 20, 0, ()), (65540, 0, 1, (REGIONS,)),
                                                           (1, (1 << 20) + 1, 0, (UNREAD,)), (65540, 2 << 20, 1, (REGIONS, UNREAD)))):
        recording = folder / f"{number}.hpw"
        ended = hw.record([hw.ANSWERS / "many_regions", str(regions), str(bytes)], recording,
                          options=("-q", "--leak-check", "--error-exitcode=9"))
        answer = leaks(recording)
        text = hw.ask("leaks", recording)
        hw.need(answer["summary"]["definite"]["blocks"] == lost, f"{number}: {answer['summary']}")
        for words in (REGIONS, UNREAD):
            hw.need((words in text) == (words in said), f"{number}: {text}")
            hw.need((words in (answer["doubt"] or "")) == bool(words in said and lost), f"{number}: {answer['doubt']}")
        hw.need(answer["decided"] == (not lost), f"{number}: {answer['doubt']}")
        hw.need(ended.status == (125 if lost else 0), f"{number}: {ended}")


OF_ITS_OWN = ["libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libtcmalloc_debug.so.4", "libtcmalloc_minimal_debug.so.4",
              "libtcmalloc_and_profiler.so.4", "libjemalloc.so.2", "libmimalloc.so.2.0"]


def check_own(folder, library):
    if not (LIBRARIES / library).exists():
        raise hw.Skip("it is not installed")
    for program, losses in (("own_operators", (1, 40)), ("hello_cxx", (0, 0))):
        ended = hw.record([hw.ANSWERS / program], folder / "x.hpw", options=("-q", "-f", "--leak-check"),
                          env=hw.clean_environment(LD_PRELOAD=LIBRARIES / library))
        found = leaks(folder / "x.hpw")["summary"]
        lost = [(found[kind]["blocks"], found[kind]["bytes"]) for kind in ("definite", "indirect", "possible")]
        hw.need(ended.status == 0 and lost == [losses, (0, 0), (0, 0)],
                f"{library}, {program}: {lost} {hw.ask('leaks', folder / 'x.hpw')}")


for name in OF_ITS_OWN:
    TESTS.add(f"No block that {name} has got for itself is lost, whoever's operator new it calls, and when",
              lambda folder, name=name: check_own(folder, name))


def check_unharmed(folder, library, *arguments):
    if not library.exists():
        raise hw.Skip(f"{library} is not installed")
    env = hw.clean_environment(LD_PRELOAD=library)
    ended = hw.record([hw.ANSWERS / "keeps_contents", *arguments], folder / "x.hpw", options=("-q", "--leak-check"), env=env)
    hw.need(ended.status == 0, str(ended))
    found = leaks(folder / "x.hpw")["summary"]["definite"]
    hw.need(found["blocks"] >= 100, f"100 blocks are lost: {found}")


TESTS.add("To clear memory does not harm an allocator that looks for writes beyond blocks",
          lambda folder: check_unharmed(folder, LIBRARIES / "libtcmalloc_minimal_debug.so.4"))
TESTS.add("To clear memory does not harm an allocator that has four functions and no more",
          lambda folder: check_unharmed(folder, hw.ANSWERS / "libplain_allocator.so", "unaligned"))


# With what their profiler samples each block: sampled blocks are of classes of their own.
VARIANTS = {"glibc": {}, "libjemalloc.so.2": {}, "libjemalloc.so.2, all sampled": {"MALLOC_CONF": "prof:true,lg_prof_sample:0"},
            "libtcmalloc.so.4": {}, "libtcmalloc_minimal.so.4": {}, "libtcmalloc_debug.so.4": {},
            "libtcmalloc_minimal_debug.so.4": {}, "libmimalloc.so.2.0": {}}


def gets_memory(folder, variant, *arguments, environment=None):
    """What the program gets_memory says under an allocator, with memory cleared."""
    library = LIBRARIES / variant.partition(",")[0]
    if variant != "glibc" and not library.exists():
        raise hw.Skip(f"{library} is not installed")
    preload = {} if variant == "glibc" else {"LD_PRELOAD": library}
    ended = hw.record([hw.ANSWERS / "gets_memory", *arguments], folder / "x.hpw", options=("-q", "-f", "--leak-check"),
                      env=hw.clean_environment(**preload, **VARIANTS[variant], **(environment or {})))
    hw.need(ended.status == 0, f"{variant}: {ended}")


for name in VARIANTS:
    TESTS.add(f"All that a program gets is zero, behind the requested size too: {name}",
              lambda folder, name=name: gets_memory(folder, name, "clear", *(("exact",) if "debug" in name else ())))
# The allocators themselves do so as they please, or as time passes: not here.
KEEPS_PAGES = {"MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1", "TCMALLOC_RELEASE_RATE": "0"}
for name in ("glibc", "libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
    TESTS.add(f"To clear memory gives no used pages back to the kernel: {name}",
              lambda folder, name=name: gets_memory(folder, name, "churn", environment=KEEPS_PAGES))


@TESTS.test
def exit_handlers(folder):
    """Libc's blocks of exit handlers, which it frees last, are nobody's leak, and no block is freed twice in the sums"""
    found = lost(folder, "early_handlers")
    text = hw.ask("leaks", folder / "x.hpw", "--format=memcheck", "--show-leak-kinds=all")
    usage = re.search(r"total heap usage: (\d+) allocs, (\d+) frees", text)
    hw.need(found == 0 and usage and usage[1] == usage[2] != "0" and "All heap blocks were freed" in text, text)
    found = lost(folder, "early_handlers", "end by _exit")
    kept = leaks(folder / "x.hpw")["summary"]
    hw.need(found == 0 and kept["library"]["blocks"] and not kept["reachable"]["blocks"], f"after _exit: {kept}")
    hw.need(leaks(folder / "x.hpw", "--run-libc-freeres=no")["summary"]["reachable"]["blocks"] == kept["library"]["blocks"], f"{kept}")


@TESTS.test
def ends_of_buffers(folder):
    """A pointer to the end of one block, which is the start of the next one, holds it for want of another holder alone"""
    for allocator in (name for name, library in ALLOCATORS.items() if not library or (LIBRARIES / library).exists()):
        lost(folder, "beside_buffer", allocator=allocator)
        found = leaks(folder / "x.hpw", "--show-leak-kinds", "reachable", "--run-libc-freeres=no")
        held = {}
        for row in found["records"]:
            for way in row["held_by"] if row["bytes"] == 4096 * row["blocks"] else ():
                held[way["root"]["name"]] = held.get(way["root"]["name"], 0) + way["blocks"]
        hw.need(held.pop("table", 0) == 16 and sum(held.values()) == 1, f"{allocator}: {held} {hw.ask('leaks', folder / 'x.hpw')}")


@TESTS.test
def uncleared(folder):
    """Whether memory was cleared is said, in text and in JSON"""
    lost(folder, "stale_words")
    hw.need(leaks(folder / "x.hpw")["search"]["uncleared"] is False, "cleared")
    lost(folder, "stale_words", options=("--leak-check-clear=no",))
    hw.need(leaks(folder / "x.hpw")["search"]["uncleared"] is True, "not cleared")
    hw.need("Memory was not cleared on allocation" in hw.ask("leaks", folder / "x.hpw"), "the text does not say")


@TESTS.test
def without_debug_files(folder):
    """What the loader and libc keep for themselves is known without libc's debug files, and to the same figures"""
    (folder / "empty").mkdir()
    unit = hw.BUILD / "tests/unit"
    ways = "dlopen stdio environment unwinder newlocale locale iconv gettext time users hosts thread tls".split()
    for command in ([hw.ANSWERS / "loaded_and_closed"], [unit / "library_blocks", unit / "library_blocks_tls.so", *ways]):
        recording = folder / f"{command[0].name}.hpw"
        ended = hw.record(command, recording, options=("-q", "--leak-check"))
        hw.need(ended.status == 0, str(ended))
        summaries = [leaks(recording, "--no-symbol-cache", *options)["summary"]
                     for options in ((), ("--debug-file-directory", folder / "empty"))]
        known, hidden = ({kind: (sums["blocks"], sums["bytes"]) for kind, sums in summary.items()} for summary in summaries)
        hw.need(known == hidden, f"{command[0].name}: with debug files {known}, without {hidden}")
        hw.need(hidden["definite"][0] == hidden["possible"][0] == 0, f"{command[0].name}: {hidden}")


@TESTS.test
def empty_array(folder):
    """A pointer behind new T[0] holds it; one behind calloc's eight bytes holds nothing"""
    hw.need(lost(folder, "empty_array") == 0, hw.ask("leaks", folder / "x.hpw"))
    hw.need(lost(folder, "ends_alone") == 1, hw.ask("leaks", folder / "x.hpw"))


@TESTS.test
def keys_of_jemalloc(folder):
    """An allocator's thread-local memory holds nothing: jemalloc has addresses there, rounded to 1 GiB"""
    for allocator in ("glibc", "jemalloc"):
        hw.need(lost(folder, "spans_keys", allocator=allocator) == 1, allocator + hw.ask("leaks", folder / "x.hpw"))


@TESTS.test
def before_data(folder):
    """What a page has before the program's data is the file's, and holds nothing"""
    hw.need(lost(folder, "before_data") == 1, hw.ask("leaks", folder / "x.hpw"))


def entries(text):
    return re.findall(r"^\s*\{\n.*?^\s*\}\n", text, re.MULTILINE | re.DOTALL)


@TESTS.test
def all_suppressions(folder):
    """--gen-suppressions=all writes one for each of 300 places"""
    lost(folder, "many_places")
    found = entries(hw.ask("leaks", folder / "x.hpw", "--gen-suppressions=all"))
    hw.need(len(found) == 300, f"{len(found)} entries")


@TESTS.test
def two_tables(folder):
    """Of 80,000 blocks that two tables hold each has its own said; where pages decide, that is said, too"""
    lost(folder, "two_tables")
    found = leaks(folder / "x.hpw", "--show-leak-kinds", "reachable")
    holders = {way["root"]["name"]: way["blocks"] for row in found["records"] for way in row["held_by"]}
    hw.need(sum(holders.values()) == 80000 and abs(holders["other"] - 20000) <= 512, str(holders))
    text = hw.ask("leaks", folder / "x.hpw", "--show-leak-kinds", "reachable")
    hw.need(found["search"]["partial_holders"] and "Partial: there are very many references" in text, text)
    lost(folder, "many_places")
    hw.need(leaks(folder / "x.hpw")["search"]["partial_holders"] is False, "a small program is partial")


@TESTS.test
def many_at_once(folder):
    """Of programs that are started side by side while others are searched, each has its allocations, its search and its end"""
    program = hw.ANSWERS / "leaves_blocks"
    for number in range(2):
        place = folder / str(number)
        place.mkdir()
        script = f"seq 45 | xargs -P3 -n1 sh -c 'exec {program} lose'"
        ended = hw.record(["sh", "-c", script], place / "x.hpw", options=("-q", "--leak-check", "--children=leaves_blocks"))
        hw.need(ended.status == 0, str(ended))
        rows = [hw.report(path) for path in place.glob("x.*.hpw")]
        rows = [row for row in rows if row["target"]["command"][0].endswith("leaves_blocks")]
        wrong = [(row["target"]["exit"], row["totals"]["allocations"], row["leaks"]) for row in rows
                 if row["target"]["exit"] != {"code": 0} or row["totals"]["allocations"] != 5 or not row["leaks"]]
        hw.need(len(rows) == 45 and not wrong, f"{len(rows)} recordings, {len(wrong)} of them wrong: {wrong[:3]}")


@TESTS.test
def goes_on(folder):
    """A daemon that has allocated nothing when `run` ends leaves the gate undecided, which is said; its recording has its leaks"""
    wake = folder / "wake"
    ended = hw.heapwise("run", "--leak-check=full", "--error-exitcode=9", "-o", folder / "x.hpw", "--", hw.ANSWERS / "goes_on", wake)
    wake.touch()
    hw.need(ended.status == 125 and "other process is still running and allocated nothing so far" in ended.errors, f"{ended}")

    def found():
        for file in folder.glob("x.*.hpw"):
            # Just created it has no head yet, and cannot be read.
            ended = hw.heapwise("report", file, "--json")
            if ended.status == 0 and json.loads(ended.text)["recording"]["complete"]:
                return file
        return None
    file = hw.wait_until(found, "the daemon's recording to be complete")
    lost = leaks(file)["summary"]["definite"]
    hw.need((lost["blocks"], lost["bytes"]) == (100, 100000), f"{lost}")


@TESTS.test
def thread_suppressions(folder):
    """Suppressions of leaks in threads hold in Valgrind and come from there"""
    valgrind = [hw.need_program("valgrind"), "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9"]
    program = hw.ANSWERS / "thread_loses"
    lost(folder, "thread_loses")
    ours = entries(hw.ask("leaks", folder / "x.hpw", "--gen-suppressions=all"))
    hw.need(len(ours) == 1, str(ours))
    (folder / "ours.supp").write_text(ours[0])
    ended = hw.run([*valgrind, f"--suppressions={folder / 'ours.supp'}", program])
    hw.need(ended.status == 0, f"ours do not hold in Valgrind: {ours} {ended}")
    theirs = entries(hw.run([*valgrind, "--gen-suppressions=all", program]).errors)
    hw.need(len(theirs) == 1, str(theirs))
    (folder / "theirs.supp").write_text(theirs[0])
    summary = leaks(folder / "x.hpw", f"--suppressions={folder / 'theirs.supp'}")["summary"]
    hw.need(summary["definite"]["blocks"] == 0 and summary["suppressed"]["blocks"] == 1, f"{theirs}: {summary}")


if __name__ == "__main__":
    TESTS.main(width=2, sanitized_part=2)
