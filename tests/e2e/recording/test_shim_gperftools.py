#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs made for gperftools' heap profiler, beside the real one: the same files, sums and messages."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
PROFILED = hw.TARGETS / "heap_profiled"
FIRST = re.compile(r"heap profile:\s+(\d+):\s+(\d+)\s+\[\s*(\d+):\s+(\d+)\] @ heapprofile\n")
REAL = [path for where in ("/usr/lib/x86_64-linux-gnu", "/usr/local/lib") for path in Path(where).glob("libtcmalloc.so.4")]


def sums(path):
    """(live blocks, live bytes, allocations, allocated bytes) of a profile's first line."""
    found = FIRST.match(path.read_text())
    hw.need(found, f"{path} begins with {path.read_text()[:80]!r}")
    return tuple(map(int, found.groups()))


def ours(folder, story, prefix="ours", mode=(), **variables):
    """The program under heapwise, its profiles by number."""
    env = hw.clean_environment(**({"HEAPPROFILE": prefix} if prefix else {}), **variables)
    ended = hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "%p.hpw", "--as=gperftools", *mode, "--",
                    PROFILED, story, folder / (prefix or "ours")], env=env, cwd=folder)
    return ended, {path.name[len(prefix or "ours"):]: sums(path) for path in folder.glob(f"{prefix or 'ours'}*.heap")}


def theirs(folder, story, prefix="real", **variables):
    """The same with the real library; None: it is not here."""
    if not REAL:
        print("# libtcmalloc.so.4 is not here: not compared with it")
        return None
    env = hw.clean_environment(LD_PRELOAD=REAL[0], **({"HEAPPROFILE": prefix} if prefix else {}), **variables)
    ended = hw.run([PROFILED, story, folder / (prefix or "real")], env=env, cwd=folder)
    hw.need(ended.status == 0, str(ended))
    return ended, {path.name[len(prefix or "real"):]: sums(path) for path in folder.glob(f"{prefix or 'real'}*.heap")}


STORIES = (
    ("plain", {}, {".0001.heap": (13, 91000)},
     ["Starting tracking the heap", "Dumping heap profile to ours.0001.heap (Exiting, 88 kB in use)"]),
    ("allocated", {"HEAP_PROFILE_ALLOCATION_INTERVAL": "10485760"},
     {f".000{i}.heap": None for i in (1, 2, 3)} | {".0004.heap": (0, 0)},
     ["Starting tracking the heap"] + [f"Dumping heap profile to ours.000{i}.heap ({i}0 MB allocated cumulatively, " for i in (1, 2, 3)] +
     ["Dumping heap profile to ours.0004.heap (Exiting, 0 bytes in use)"]),
    ("in_use", {"HEAP_PROFILE_INUSE_INTERVAL": "5242884"},
     {f".000{i}.heap": (5 * min(i, 3), 5 * min(i, 3) * 1048577) for i in (1, 2, 3, 4)},
     ["Starting tracking the heap"] + [f"Dumping heap profile to ours.000{i}.heap ({5 * i} MB currently in use)" for i in (1, 2, 3)] +
     ["Dumping heap profile to ours.0004.heap (Exiting, 15 MB in use)"]),
    ("signal", {"HEAPPROFILESIGNAL": "12"}, {".0001.heap": (1, 4321), ".0002.heap": (0, 0)},
     ["Using signal 12 as heap profiling switch", "Starting tracking the heap", "Dumping heap profile to ours.0001.heap (signal)",
      "Dumping heap profile to ours.0002.heap (Exiting, 0 bytes in use)"]),
)


@TESTS.test
def as_real(folder):
    """The environment's triggers give the real library's files, with its sums, and its messages"""
    for story, variables, files, words in STORIES:
        place = folder / story
        place.mkdir()
        ended, found = ours(place, story, **variables)
        hw.need(ended.status == 0, f"{story}: {ended}")
        hw.need(found.keys() == files.keys(), f"{story}: {found}\n{ended}")
        for name, wanted in files.items():
            hw.need(wanted is None or found[name][:2] == wanted, f"{story}: {name} has {found[name]}, not {wanted}")
        lines = ended.errors.splitlines()
        hw.need(len(lines) == len(words) and all(line.startswith(word) for line, word in zip(lines, words)), f"{story}: {ended}")
        real = theirs(place, story, **variables)
        if real:
            hw.need(real[1].keys() == found.keys(), f"{story}: {found}, really {real}")
            last = max(found)
            hw.need(real[1][last][:2] == found[last][:2], f"{story}: {found}, really {real}")


@TESTS.test
def calls(folder):
    """HeapProfilerStart, Dump, Stop and IsHeapProfilerRunning, without the environment"""
    ended, found = ours(folder, "calls", prefix="")
    hw.need(ended.status == 0 and ended.text == "running 0\nrunning 1\nrunning 0\n", str(ended))
    hw.need({name: one[:2] for name, one in found.items()} == {".0001.heap": (1, 1234), ".0002.heap": (2, 6912)}, f"{found} {ended}")
    hw.need("ours.0001.heap (after one)\n" in ended.errors and "ours.0002.heap (after two)\n" in ended.errors, str(ended))


@TESTS.test
def late_starts(folder):
    """A profile begins empty at each HeapProfilerStart(), whatever was allocated before; its files are numbered on"""
    ended, found = ours(folder, "later", prefix="")
    hw.need(ended.status == 0 and found == {".0001.heap": (1, 2000, 2, 4100), ".0002.heap": (1, 4000, 1, 4000)}, f"{found} {ended}")
    env = hw.clean_environment(LD_PRELOAD=REAL[0]) if REAL else None
    if env:
        hw.run([PROFILED, "later", folder / "real"], env=env, cwd=folder)
        real = {path.name[len("real"):]: sums(path) for path in folder.glob("real*.heap")}
        hw.need(real == found, f"{found}, really {real}")


def allocated(recording):
    """What each stack has allocated, in bytes."""
    return [row["allocated_bytes"] for row in json.loads(hw.ask("export", "--format", "json", recording))["sites"]]


@TESTS.test
def stops(folder):
    """While the profiler is stopped nothing is recorded, which reports say; with HEAPCHECK all is"""
    for name, variables in (("alone", {}), ("checked", {"HEAPCHECK": "normal"})):
        place = folder / name
        place.mkdir()
        ended, found = ours(place, "later", prefix="", **variables)
        hw.need(ended.status == 0 and found == {".0001.heap": (1, 2000, 2, 4100), ".0002.heap": (1, 4000, 1, 4000)}, f"{name}: {found} {ended}")
        recordings = list(place.glob("*.hpw"))
        hw.need(len(recordings) == 1, f"{recordings}")
        sizes = allocated(recordings[0])
        hw.need({1000, 2000, 2100, 4000} <= set(sizes) and (3000 in sizes) == bool(variables), f"{name}: {sizes}")
        report = hw.ask("report", recordings[0])
        hw.need(("Recording was stopped" in report) != bool(variables), f"{name}: {report}")


@TESTS.test
def profile_text(folder):
    """GetHeapProfile gives the profile of the moment; its file is in TMPDIR"""
    ended, _ = ours(folder, "get", TMPDIR=str(folder / "missing"))
    hw.need(ended.status == 0 and not ended.text, str(ended))
    ended, _ = ours(folder, "get")
    first = FIRST.match(ended.text)
    hw.need(ended.status == 0 and first and first.groups()[:2] == ("1", "1234"), str(ended))
    hw.need("\nMAPPED_LIBRARIES:\n" in ended.text, str(ended))


@TESTS.test
def children(folder):
    """A child that is started, or forked, has files of its own, which end with its PID"""
    for story, blocks in (("start", (13, 91000)), ("fork", (1, 2000))):
        place = folder / story
        place.mkdir()
        ended, found = ours(place, story)
        pid = ended.text.strip()
        hw.need(ended.status == 0 and found.keys() == {".0001.heap", f"_{pid}.0001.heap"}, f"{story}: {found} {ended}")
        hw.need(found[".0001.heap"][:2] == (1, 1000) and found[f"_{pid}.0001.heap"][:2] == blocks, f"{story}: {found}")


@TESTS.test
def odd_values(folder):
    """Numbers are what strtoll makes of them; messages can be turned off; old profiles are removed; a bad signal aborts"""
    (folder / "ours.0007.heap").write_text("old")
    ended, found = ours(folder, "plain", HEAP_PROFILE_ALLOCATION_INTERVAL="abc", PERFTOOLS_VERBOSE="-1")
    hw.need(ended.status == 0 and not ended.errors and found.keys() == {".0001.heap"}, f"{found} {ended}")
    ended, _ = ours(folder, "plain", HEAPPROFILESIGNAL="abc")
    hw.need(ended.status == -6 and "Failed to set signal. Perhaps signal number abc is invalid" in ended.errors, str(ended))
    ended, found = ours(folder, "plain", HEAP_PROFILE_TIME_INTERVAL="100")
    hw.need(found.keys() == {".0001.heap", ".0002.heap"} and " sec since the last dump)" in ended.errors, f"{found} {ended}")


@TESTS.test
def unwritable(folder):
    """A profile that can't be written is told, and the program goes on"""
    ended, _ = ours(folder, "plain", prefix="none/ours")
    hw.need(ended.status == 0 and "Failed dumping heap profile to none/ours.*.heap: the file can't be written" in ended.errors, str(ended))


@TESTS.test
def read_by_pprof(folder):
    """google-pprof has the sums of our profile"""
    pprof = hw.need_program("google-pprof")
    ours(folder, "plain")
    ended = hw.run([pprof, "--text", PROFILED, folder / "ours.0001.heap"])
    hw.need(re.search(r"Total: 0\.1 MB", ended.text) and "keep_block" in ended.text, str(ended))


@TESTS.test
def leak_check(folder):
    """HEAPCHECK searches at the end: exit status 1 and its sentence for leaks, in all of its modes"""
    env = hw.clean_environment
    for mode, story, status, words in (
            ("normal", "leaks", 1, "Leak check _main_ detected leaks of 777 bytes in 1 objects\n"),
            ("minimal", "plain", 0, 'No leaks found for check "_main_" (but no 100% guarantee that there aren\'t any): found 13 reachable heap '
                                    "objects of 91000 bytes\n"),
            ("draconian", "plain", 1, "Leak check _main_ detected leaks of 91000 bytes in 13 objects\n"),
            ("normal", "ignored", 1, "Leak check _main_ detected leaks of 777 bytes in 1 objects\n"),
            ("local", "leaks", 0, ""),
            ("bad", "plain", 125, "Unsupported heap_check flag: bad")):
        ended = hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "a.hpw", "--as=gperftools", "--", PROFILED, story],
                       env=env(HEAPCHECK=mode), cwd=folder)
        hw.need(ended.status == status and words in ended.errors, f"{mode}: {ended}")
        hw.need(mode != "local" or not ended.errors, f"{mode}: {ended}")


@TESTS.test
def leak_dumps(folder):
    """HEAP_CHECK_DUMP_DIRECTORY gets a profile of the leaks, as the real library writes it; none if there are no leaks"""
    place = folder / "50% dumps"
    place.mkdir()
    for story, status in (("leaks", 1), ("plain", 0)):
        env = hw.clean_environment(HEAPCHECK="normal", HEAP_CHECK_DUMP_DIRECTORY=str(place))
        ended = hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "a.hpw", "--as=gperftools", "--", PROFILED, story], env=env, cwd=folder)
        hw.need(ended.status == status, f"{story}: {ended}")
        found = list(place.iterdir())
        if not status:
            hw.need(not found, f"{found}")
            continue
        hw.need(len(found) == 1 and re.fullmatch(r"heap_profiled\.\d+\._main_-end\.heap", found[0].name), f"{found}")
        hw.need(sums(found[0]) == (1, 777, 1, 777) and found[0].name in ended.errors, f"{found[0].read_text()} {ended}")
        shown = hw.run([hw.need_program("google-pprof"), "--text", "--show_bytes", PROFILED, found[0]])
        hw.need(shown.text.startswith("Total: 777 B"), str(shown))
        if REAL:
            real = folder / "real"
            real.mkdir()
            env = hw.clean_environment(LD_PRELOAD=REAL[0], HEAPCHECK="normal", HEAP_CHECK_DUMP_DIRECTORY=str(real))
            hw.run([PROFILED, story], env=env, cwd=folder)
            theirs = [path for path in real.iterdir() if "_main_" in path.name]
            hw.need(len(theirs) == 1 and re.sub(r"\d+", "N", theirs[0].name) == re.sub(r"\d+", "N", found[0].name), f"{theirs}")
            hw.need(sums(theirs[0]) == sums(found[0]), f"{theirs[0].read_text()}")
        found[0].unlink()


ROW = re.compile(r"\s*(\d+):\s+(\d+)\s+\[\s*(\d+):\s+(\d+)\] @")


def mapped(path):
    """Live and allocated bytes of the rows of a profile, of sizes that the program maps."""
    rows = [tuple(map(int, ROW.match(line).groups())) for line in path.read_text().split("\nMAPPED_")[0].splitlines()[1:] if ROW.match(line)]
    return sorted((row[1], row[3]) for row in rows if row[3] in (0x200000, 0x10000, 0x5000, 0x3000, 0x30000, 0x7000, 1234))


@TESTS.test
def mappings(folder):
    """HEAP_PROFILE_MMAP and HEAP_PROFILE_ONLY_MMAP: the real library's bytes of what is mapped, and its first line"""
    wanted = [(0, 0x10000), (0, 0x3000), (0x4000, 0x5000), (0x30000, 0x30000), (0x200000, 0x200000)]
    for name, head, blocks in (("HEAP_PROFILE_MMAP", (1, 1234, 1, 1234), [(1234, 1234)]), ("HEAP_PROFILE_ONLY_MMAP", (0, 0, 0, 0), [])):
        place = folder / name
        place.mkdir()
        ended, found = ours(place, "maps", prefix="", **{name: "true"})
        hw.need(ended.status == 0 and found[".0001.heap"] == head, f"{name}: {found} {ended}")
        rows = mapped(place / "ours.0001.heap")
        hw.need(rows == sorted(wanted + blocks), f"{name}: {rows}")
        real = theirs(place, "maps", prefix="", **{name: "true"})
        if real:
            hw.need(real[1][".0001.heap"] == head and mapped(place / "real.0001.heap") == rows, f"{name}: really {real[1]} {mapped(place / 'real.0001.heap')}")


TESTS.main()
