#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Dumps of recorded processes: when they are written, where, and what they say."""

import os
import re
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from told import collector_of, of_site, told

TESTS = hw.Tests()
MIB = 1 << 20
# So long a request of the target may take while a dump is written, in ms.
PAUSE_MOST_MS = 20
# FORMAT.md: the type of that chunk, and the bytes of the head of each.
ESTIMATES, CHUNK_HEAD = 30, 32


def dumps_in(folder, pattern="*.dump"):
    return sorted(folder.glob(pattern))


def wait_for_dumps(folder, number, pattern="*.dump"):
    hw.wait_until(lambda: len(dumps_in(folder, pattern)) >= number, f"not {number} dumps: {dumps_in(folder)}")
    return dumps_in(folder, pattern)


def live(dump):
    return of_site(hw.report(dump, "--view", "sites"), "live_bytes")


@TESTS.test
def summed_up(folder):
    """The summary says how many dumps were written, and where the last one is; of --keep alone that there are none"""
    loop = [sys.executable, "-c", "import subprocess as s\nfor i in range(3): s.run(['/bin/true'])"]
    for options, program, words in (
            (("--dump-at-exit", "--dump-file", "d.%i"), ["/bin/true"], "heapwise: 1 dump was written: d.0001\n"),
            (("--dump-at-exit", "--keep", "2", "--dump-file", "%p.%i"), loop,
             r"heapwise: 4 dumps were written, the latest 2 of each process are kept, the last to \d+\.0001\n"),
            (("--dump-growth", "1G"), ["/bin/true"], r"heapwise: no dumps were written\n"),
            (("--keep", "2"), ["/bin/true"], r"heapwise: no dumps were written, of which --keep would have kept the latest: options such as --dump-every "),
            ((), ["/bin/true"], None)):
        ended = hw.run([hw.HEAPWISE, "run", "-f", "-o", folder / "x.hpw", *options, "--", *program], env=hw.clean_environment(), cwd=folder)
        hw.need(ended.status == 0 and (re.search(words, ended.errors) if words else "dump" not in ended.errors), f"{options}: {ended}")


@TESTS.test
def by_command(folder):
    """`heapwise dump`: what is live then, a state of a program that went on; diff compares two"""
    with told(folder) as target:
        target.tell("keep", 1001)
        said = hw.heapwise("dump", target.name, "-o", folder / "a.dump")
        hw.need(said.status == 0 and "a.dump: after " in said.errors, f"{said}")
        target.tell("keep", 3003)
        target.tell("brief1000", 7)
        hw.ask("dump", target.name, "-o", folder / "b.dump")
        again = hw.heapwise("dump", target.name, "-o", folder / "b.dump")
        hw.need(again.status != 0 and "already exists" in again.errors, f"{again}")
    report = hw.report(folder / "a.dump")
    recording = report["recording"]
    hw.need(recording["snapshot"] and recording["dump"] == "it was requested" and recording["complete"], f"{recording}")
    hw.need(report["target"]["exit"] == {"running": True}, f"{report['target']['exit']}")
    hw.need(any("because it was requested" in note for note in report["notes"]), f"{report['notes']}")
    text = hw.ask("report", folder / "a.dump")
    hw.need("\n  live then  " in text and "\n  never freed  " not in text, text)
    hw.need(live(folder / "a.dump") == 1001 and live(folder / "b.dump") == 4004, "live bytes")
    brief = of_site(hw.report(folder / "b.dump", "--view", "sites"), "allocations", "site_brief")
    hw.need(brief == 7, f"{brief} brief allocations")
    diff = hw.ask("diff", folder / "a.dump", folder / "b.dump")
    hw.need("site_kept" in diff and "2.93 KiB" in diff, diff)
    hw.ask("html", folder / "b.dump", "-o", folder / "b.html")
    hw.ask("leaks", folder / "b.dump")


@TESTS.test
def names_of_requested(folder):
    """Without -o: a name that dumps of --dump-every do not replace, and that tells the format"""
    with told(folder, "-q") as target:
        asked = [
            hw.heapwise("dump", target.name, *options, cwd=folder)
            for options in ((), ("--format", "pprof"), ("--format", "folded"), ("--format", "html"), ())
        ]
    stem = f"heapwise.dumps.{target.pid}.m"
    expected = [stem + end for end in ("0001.dump", "0001.pb.gz", "0001.folded", "0001.html", "0002.dump")]
    for one, name in zip(asked, expected):
        hw.need(one.status == 0 and (folder / name).exists() and name in one.errors, f"{name}: {one}")


@TESTS.test
def folder_that_is_missing(folder):
    """--dump-file in a folder that is not there: said when the program starts; not of one whose name is not known yet"""
    for pattern, is_said in (("gone/%i.dump", True), ("there/%i.dump", False), ("%n/%i.dump", False), ("%i.dump", False)):
        (folder / "there").mkdir(exist_ok=True)
        ended = hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "x.hpw", "--dump-growth", "1G", "--dump-file", pattern,
                        "--", "/bin/sh", "-c", "echo started >&2"], cwd=folder)
        lines = ["heapwise: --dump-file: gone: No such file or directory; until that changes, no dumps are written there"]
        hw.need(ended.errors.splitlines() == lines * is_said + ["started"], f"{pattern}: {ended}")


@TESTS.test
def gates_do_not_pass(folder):
    """A dump says nothing of the end: a limit that it keeps is undecided"""
    with told(folder) as target:
        target.tell("keep", 1001)
        hw.ask("dump", target.name, "-o", folder / "a.dump")
    timeline = hw.heapwise("timeline", folder / "a.dump")
    hw.need("no single events (it is a dump)" in timeline.errors, f"{timeline}")
    ended = hw.heapwise("budget", folder / "a.dump", "--max-never-freed", "1M")
    hw.need(ended.status != 0 and "dump" in ended.text + ended.errors, f"{ended}")


@TESTS.test
def by_growth(folder):
    """--dump-growth: soon after each step, and not at all while less is live"""
    with told(folder, "-q", "--dump-growth", "1M") as target:
        began = time.monotonic()
        target.tell("keep", 2 * MIB)
        wait_for_dumps(folder, 1)
        late = time.monotonic() - began
        target.tell("keep", MIB // 2)
        target.tell("free", 2)
        target.tell("keep", 3 * MIB + 5)
        wait_for_dumps(folder, 2)
    first, second = dumps_in(folder)
    hw.need(first.name == "x.0001.dump" and live(first) == 2 * MIB and live(second) == 3 * MIB + 5, f"{live(second)}")
    hw.need(late < 5, f"the first came after {late:.3f} s")
    why = hw.report(first)["recording"]["dump"]
    hw.need("were live" in why, why)


@TESTS.test
def by_allocation_and_peak(folder):
    """--dump-allocated, --dump-freed, --dump-peak: the reason is in the name, and in the file"""
    options = ("-q", "--dump-allocated", "10M", "--dump-file", "%n.%p.%i.%r.dump")
    with told(folder, *options) as target:
        target.tell("brief1000", 11000)
        found = wait_for_dumps(folder, 1)[0]
        hw.need(found.name == f"dumps.{target.pid}.0001.i.dump", found.name)
    hw.need("had been allocated" in hw.report(found)["recording"]["dump"], "the reason")
    with told(folder, "-q", "-f", "--dump-peak", "4M", "--dump-file", "p%i.%r") as target:
        target.tell("keep", 5 * MIB)
        wait_for_dumps(folder, 1, "p*")
        target.tell("free", 1)
        target.tell("keep", 3 * MIB)
    hw.need([p.name for p in dumps_in(folder, "p*")] == ["p0001.u"], f"{dumps_in(folder, 'p*')}")


@TESTS.test
def samples_weigh(folder):
    """In a sampled recording distances are estimates: small blocks count for those that are not seen"""
    with told(folder, "-q", "--mode", "sample:64K", "--seed", "3", "--dump-allocated", "64M") as target:
        target.tell("brief1000", 80000)
        wait_for_dumps(folder, 1)
        target.tell("brief1000", 80000)
        wait_for_dumps(folder, 2)


def site_figures(recording, site):
    """A site's estimates, and the ranges of them."""
    rows = [s for s in hw.report(recording, "--view", "sites")["sites"] if s["stack"][0].get("function") == site]
    hw.need(len(rows) == 1, f"{len(rows)} rows of {site}")
    figures = ("allocations", "allocated_bytes", "live_blocks", "live_bytes")
    return {name: rows[0][name] for name in figures}, {name: rows[0]["ranges"][name] for name in figures}


@TESTS.test
def samples_stand_for_all(folder):
    """A dump of a sampled recording has the estimates that the recording itself has, not the samples"""
    with told(folder, "-q", "--mode", "sample:4K", "--seed", "5") as target:
        target.tell("keep64", 200000)
        target.tell("brief1000", 20000)
        target.tell("free", 50000)
        hw.ask("dump", target.name, "-o", folder / "a.dump")
        hw.ask("dump", target.name, "-o", folder / "a.heap", "--format", "jemalloc")
        hw.ask("ctl", target.name, "reset")
        target.tell("brief1000", 10000)
        hw.ask("dump", target.name, "-o", folder / "b.dump")
    truth = {"allocations": 200000, "allocated_bytes": 12800000, "live_blocks": 150000, "live_bytes": 9600000}
    figures, ranges = site_figures(folder / "a.dump", "site_kept")
    hw.need(all(abs(figures[name] / true - 1) < 0.1 for name, true in truth.items()), f"{figures} for {truth}")
    hw.need(all(low < figures[name] < high for name, (low, high) in ranges.items()), f"{figures} in {ranges}")
    hw.need((figures, ranges) == site_figures(folder / "x.hpw", "site_kept"), "the recording says otherwise")
    broken = bytearray((folder / "a.dump").read_bytes())
    broken[broken.index(b"hwck" + bytes([ESTIMATES])) + CHUNK_HEAD] ^= 255
    (folder / "broken.dump").write_bytes(broken)
    said = hw.heapwise("report", folder / "broken.dump")
    hw.need("what its samples stand for is not known" in said.text and "95%" not in said.text, f"{said}")
    dump, whole = hw.report(folder / "a.dump"), hw.report(folder / "b.dump")
    hw.need(dump["totals"]["peak_bytes"] is None, "the peak of samples")
    peak = hw.heapwise("report", "--view", "peak", folder / "a.dump")
    hw.need(peak.status == 3 and "no data for --view peak" in peak.errors, f"{peak}")
    hw.need(abs(dump["totals"]["allocations"] / 220000 - 1) < 0.1, f"{dump['totals']}")
    hw.need(abs(dump["totals"]["frees"] / 70000 - 1) < 0.1, f"{dump['totals']}")
    hw.need(abs(whole["totals"]["allocations"] / 10000 - 1) < 0.1, f"{whole['totals']} after a reset")
    hw.need(whole["totals"]["live_bytes_at_end"] == dump["totals"]["live_bytes_at_end"], "live after a reset")
    thread = hw.report(folder / "a.dump", "--view", "threads")["threads"][0]
    hw.need(abs(thread["allocations"] / 220000 - 1) < 0.1, f"{thread}")
    sizes = hw.report(folder / "a.dump", "--view", "sizes")["sizes"]
    hw.need(any(s["size"] == 64 and abs(s["allocations"] / 200000 - 1) < 0.1 for s in sizes), f"{sizes}")
    heap = hw.report(folder / "a.heap")["totals"]
    hw.need(abs(heap["live_bytes_at_end"] / 9600000 - 1) < 0.1, f"{heap} of jemalloc's format")


@TESTS.test
def by_time_and_keep(folder):
    """--dump-every and --keep: the latest ones remain"""
    with told(folder, "-q", "--dump-every", "10ms", "--keep", "2") as target:
        hw.wait_until(lambda: any("0006" in p.name for p in dumps_in(folder)), "no sixth dump")
        target.tell("keep", 1)
    hw.need(1 <= len(dumps_in(folder)) <= 2, f"{dumps_in(folder)}")


@TESTS.test
def by_resident(folder):
    """--dump-rss: once the process has so much, and not again while it stays"""
    with told(folder, "-q", "--dump-rss", "40M") as target:
        target.tell("keep", 60 * MIB)
        hw.need(not dumps_in(folder), "memory that is not touched counts")
        target.tell("touch", 60 * MIB)
        wait_for_dumps(folder, 1)
        target.tell("keep", 1000)
    hw.need(len(dumps_in(folder)) == 1, f"{dumps_in(folder)}")
    wrong = hw.heapwise("run", "--dump-rss", "101%", "true")
    hw.need(wrong.status != 0 and "invalid --dump-rss '101%'" in wrong.errors, f"{wrong}")


@TESTS.test
def by_signal(folder):
    """--dump-signal: a dump for each, and the program's own handler wins"""
    with told(folder, "-q", "--dump-signal", "USR2") as target:
        target.tell("keep", 1234)
        target.tell("raise", signal.SIGUSR2)
        first = wait_for_dumps(folder, 1)[0]
        os.kill(target.pid, signal.SIGUSR2)
        wait_for_dumps(folder, 2)
        target.tell("handle", signal.SIGUSR2)
        target.tell("raise", signal.SIGUSR2)
        hw.ask("dump", target.name, "-o", folder / "last")
    hw.need(len(dumps_in(folder)) == 2 and live(first) == 1234, f"{dumps_in(folder)}")
    hw.need("handles the signal" in hw.ask("report", folder / "x.hpw"), "that the program took the signal is not said")
    for unfit in ("KILL", "33"):
        wrong = hw.heapwise("run", "--dump-signal", unfit, "true")
        hw.need(wrong.status == 125 and f"invalid --dump-signal '{unfit}'" in wrong.errors, f"{wrong}")


@TESTS.test
def handled_signal(folder):
    """A signal that the program ignores already gives no dump, which the report says"""
    before = ("/usr/bin/python3", "-c",
              "import signal, sys, os; signal.signal(signal.SIGUSR2, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])")
    with told(folder, "-q", "--dump-signal", "SIGUSR2", before=before) as target:
        target.tell("raise", signal.SIGUSR2)
        target.tell("keep", 5)
    hw.need(not dumps_in(folder), f"{dumps_in(folder)}")
    texts = [hw.ask("report", file) for file in folder.glob("*.hpw")]
    hw.need(any("handles the signal" in text for text in texts), "nothing is said")


@TESTS.test
def at_exit_and_children(folder):
    """--dump-at-exit: of a forked child, too; the files are there when the processes have ended"""
    with told(folder, "-q", "--dump-at-exit", "--dump-file", "%p.%r%i") as target:
        target.tell("keep", 100)
        target.tell("fork", 2000)
        pid = target.pid
    found = dumps_in(folder, "*.f*")
    hw.need(len(found) == 2 and (folder / f"{pid}.f0001") in found, f"{found}")
    report = hw.report(folder / f"{pid}.f0001")
    hw.need(report["recording"]["dump"] == "the process ended" and not report["recording"]["snapshot"], "the end")
    place = folder / "names"
    place.mkdir()
    with told(place, "-q", "--dump-at-exit", "--dump-file", "of%f-%i") as target:
        target.tell("fork", 2000)
    names = sorted(re.sub(r"\d+", "N", path.name) for path in place.glob("of*"))
    hw.need(names == ["of-N", "of_N-N"], f"%f: {names}")


@TESTS.test
def from_inside(folder):
    """heapwise_dump(): the file is there when it returns; without a name, under the next"""
    with told(folder, "-q", "--dump-file", "own.%i") as target:
        target.tell("keep", 77)
        hw.need(target.tell("dump", 1) == 0 and live(folder / "own.dump") == 77, "own.dump")
        hw.need(target.tell("dump") == 0 and live(folder / "own.0001") == 77, "own.0001")


@TESTS.test
def no_place(folder):
    """A dump that can't be written: the summary says so, once, and nothing is left behind"""
    with told(folder, "--dump-every", "5ms", "--dump-file", folder / "none/%i") as target:
        hw.wait_until(lambda: "failed_dumps" in hw.ask("ctl", target.name, "status", "--json")
                      and '"failed_dumps": 0' not in hw.ask("ctl", target.name, "status", "--json"), "no failure")
    hw.need(target.errors.count("a dump was not written") == 1, target.errors)
    hw.need(sorted(p.name for p in folder.iterdir()) == ["x.hpw"], f"{list(folder.iterdir())}")


@TESTS.test
def other_formats(folder):
    """--dump-format: the files are of that format"""
    with told(folder, "-q", "--dump-at-exit", "--dump-format", "folded", "--dump-file", "%i.folded") as target:
        target.tell("keep", 4711)
    hw.need("site_kept" in (folder / "0001.folded").read_text(), "no site")


@TESTS.test
def stopped_target(folder):
    """A process that is stopped can be dumped"""
    with told(folder, "-q") as target:
        target.tell("keep", 99)
        os.kill(target.pid, signal.SIGSTOP)
        hw.ask("dump", target.name, "-o", folder / "a.dump")
        os.kill(target.pid, signal.SIGCONT)
    hw.need(live(folder / "a.dump") == 99, "live bytes")


def held(pid):
    """What a process has: descriptors, and pages of its own."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()
    return len(os.listdir(f"/proc/{pid}/fd")), int(pages[1]) - int(pages[2])


@TESTS.test
def many_dumps(folder):
    """Many dumps in a row leave nothing in the collector, and the program is never held for long"""
    hw.need_no_sanitizer("it keeps what is freed")
    count = 200
    with told(folder, "-q", "--dump-file", "own.%i", "--keep", "3") as target:
        target.tell("keep64", 20000)
        for _ in range(20):
            target.tell("dump")
        pid = collector_of(folder)
        before = held(pid)
        for _ in range(count):
            hw.need(target.tell("dump") == 0, "a dump failed")
        # The last answer comes before what was open for it is closed.
        hw.wait_until(lambda: held(pid)[0] <= before[0], f"{before} and no more descriptors")
        after = held(pid)
    hw.need(after[1] <= before[1] + 512, f"{before} became {after}")
    hw.need(len(dumps_in(folder, "own.*")) == 3, f"{dumps_in(folder, 'own.*')}")


TESTS.main(width=2)
