#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""More threads at once than there are rings, and more over time than numbers of 16 bits: nothing is lost,
no order is repaired, whether the program ends, is killed, or forks in the middle.

HW_SEED: of the randomness (printed).
"""

import mmap
import os
import random
import signal
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import truth

TESTS = hw.Tests()
MANY = hw.TARGETS / "threads_many"
OVER_TIME = hw.TARGETS / "threads_over_time"
STEPPED = hw.TARGETS / "ringless_stepped"
WAIT_MAX_NS = 1_000_000_000  # RT_WAIT_MAX_NS of the runtime
SITES = ("site_of_thread", "site_passed_on", "site_resized")  # as the target counts them
SEED = int(os.environ.get("HW_SEED") or random.SystemRandom().randrange(1 << 32))
CHILD_BLOCKS = 50

# A sanitized collector is slow, and so is a program that waits for it.
PART = 1 if hw.SANITIZERS == "none" else 10


def need_exact(report, ended):
    expectations, problems = truth.parse(ended.text)
    problems += truth.check_itself(report) + truth.check(expectations, report)
    hw.need(ended.status == 0 and not problems, f"{ended}\n" + "\n".join(problems[:20]))
    found = report["recording"]
    return f"longest wait {found['longest_wait_ns'] / 1e6:.0f} ms"


def alive_at_once(threads, rounds):
    def test(folder):
        ended = hw.record([MANY, str(threads), str(rounds // PART)], folder / "x.hpw")
        return need_exact(hw.report(folder / "x.hpw", "--view", "sites"), ended)

    return test


for threads, rounds in ((600, 1000), (1500, 300), (4000, 100)):
    TESTS.add(f"{threads} threads at once are recorded exactly", alive_at_once(threads, rounds))


@TESTS.test
def forks(folder):
    """1,500 threads, of which 15 fork in the middle: parent and children are recorded exactly"""
    ended = hw.record([MANY, "1500", str(200 // PART), "100"], folder / "x.hpw")
    remark = need_exact(hw.report(folder / "x.hpw", "--view", "sites"), ended)
    children = sorted(folder.glob("x.*.hpw"))
    hw.need(len(children) == 15, f"{len(children)} recordings of children")
    for path in children:
        report = hw.report(path, "--view", "sites")
        own = truth.total(truth.innermost(report["sites"], "site_of_child"))
        hw.need((own["allocations"], own["live_blocks"]) == (CHILD_BLOCKS, 0), f"{path.name}: {own}")
        hw.need(report["recording"]["complete"] and not report["recording"]["lost_events"],
                f"{path.name}: {report['recording']}")
        # Threads without a ring of their own leave their mark too.
        inherited = hw.run([hw.HEAPWISE, "report", path, "--view", "inherited"])
        hw.need(inherited.status == 0, f"{path.name}: {inherited}")
    return remark


ROWS_OWN = 16384  # TALLY_ROWS_OWN of the collector


def chunks(data):
    """(offset, type) of each chunk of a recording (FORMAT.md)."""
    at = 32
    while data[at : at + 4] == b"hwck":
        kind, _, stored = struct.unpack_from("<HHI", data, at + 4)
        yield at, kind
        at += 32 + stored


def rows(recording, limit=None):
    return hw.report(recording, "--view", "threads", *(["--limit", str(limit)] if limit else []))


@TESTS.test
def over_time(folder):
    """70,000 short threads: each is counted, the first 16,384 by themselves, the others in shared rows"""
    threads = 70_000 // PART // 7 * 7
    ended = hw.record([OVER_TIME, str(threads)], folder / "x.hpw")
    remark = need_exact(hw.report(folder / "x.hpw", "--view", "sites"), ended)
    report = rows(folder / "x.hpw")
    found = report["threads"]
    hw.need(sum(row["threads"] for row in found) == threads + 1, f"{len(found)} rows of {threads} threads")
    alone = sum(row["threads"] == 1 for row in found)
    hw.need(alone >= min(ROWS_OWN, threads), f"{alone} rows of one thread")
    hw.need(len(found) <= max(ROWS_OWN, threads * 3 // 4), f"{len(found)} rows") # more on a busy machine
    for figure in ("allocations", "allocated_bytes", "frees", "temporary"):
        total = sum(row[figure] for row in found)
        hw.need(total == report["totals"][figure], f"{figure}: {total}, {report['totals']}")
    # Without the sums at the end the same comes of the events.
    data = (folder / "x.hpw").read_bytes()
    end = max(at for at, kind in chunks(data) if kind == 6)
    (folder / "cut.hpw").write_bytes(data[:end])
    cut = rows(folder / "cut.hpw")
    hw.need(not cut["recording"]["complete"] and cut["recording"]["read"] == "replay", f"{cut['recording']}")
    for figure in ("threads", "allocations", "allocated_bytes", "frees", "temporary"):
        hw.need(cut["totals"][figure] == report["totals"][figure], f"{figure}: {cut['totals']}, {report['totals']}")
    text = hw.run([hw.HEAPWISE, "report", folder / "x.hpw", "--view", "threads", "--limit", "20"]).text
    hw.need(len(text.splitlines()) < 40 and "more threads" in text, hw.shorten(text))
    return f"{len(found)} rows, {remark}"


def stepped(what):
    """Threads without a ring whose events are broken off, one after each so-manieth instruction."""

    def test(folder):
        hw.need_no_sanitizer("this is about the runtime")
        ended = hw.record([STEPPED, what], folder / "x.hpw")
        expectations, problems = truth.parse(ended.text)
        hw.need(ended.status == 0 and not problems, f"{ended}: {problems}")
        report = hw.report(folder / "x.hpw", "--view", "sites")
        problems += truth.check(expectations, report)
        found = report["recording"]
        problems += [f"{key} is {found[key]}" for key in ("lost_events", "repairs", "unknown_frees") if found[key]]
        hw.need(found["complete"] and not problems, f"{found}: {problems}")
        hw.need(found["longest_wait_ns"] < WAIT_MAX_NS, f"a wait of {found['longest_wait_ns']} ns")
        rounds = int(ended.text.split("# rounds ")[1].split()[0])
        hw.need(rounds > 15, f"only {rounds} rounds: are events stepped through?")
        children = [hw.report(path, "--view", "sites") for path in folder.glob("x.*.hpw")]
        hw.need(len(children) >= rounds - 1 if what == "forks" else not children, f"{len(children)} children")
        for child in children:
            own = truth.total(truth.innermost(child["sites"], "site_of_child"))
            hw.need(own["allocations"] == 1 and not child["recording"]["lost_events"], str(child["recording"]))
        return f"{rounds} rounds, longest wait {found['longest_wait_ns'] / 1e6:.0f} ms"

    return test


TESTS.add("handlers that jump out of events of threads without a ring leave the shared one free", stepped("jumps"))
TESTS.add("threads that end inside an event, without a ring, do not take the shared one along", stepped("dies"))
TESTS.add("handlers that fork in events of threads without a ring: both go on, both are recorded", stepped("forks"))


def finished(page):
    return struct.unpack(f"<{len(SITES)}Q", page[: 8 * len(SITES)])


def killed_beyond(folder, threads, threshold):
    """Killed as soon as so many allocations are finished; its report, and what it had finished."""
    counts = folder / "counts"
    counts.write_bytes(bytes(mmap.PAGESIZE))
    with counts.open("r+b") as file:
        page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
    with (folder / "ppid").open("wb") as said:
        run = subprocess.Popen(
            [hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", "--", "/bin/sh", "-c", 'echo $$; exec "$@"', "sh",
             MANY, str(threads), "1000000", "0", counts],
            env=hw.clean_environment(), stdin=subprocess.DEVNULL, stdout=said, start_new_session=True)
    try:
        hw.wait_until(lambda: run.poll() is not None or sum(finished(page)) >= threshold, "it does not come so far")
        hw.need(run.poll() is None, f"it ended at {finished(page)}")
        os.kill(int((folder / "ppid").read_text()), signal.SIGKILL)
        run.wait(hw.TIMEOUT)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
    recordings = sorted(folder.glob("x*.hpw"), key=lambda path: path.stat().st_size)
    return hw.report(recordings[-1], "--view", "sites"), finished(page)


@TESTS.test
def killed(folder):
    """600 and 1,500 threads, killed at any moment: each finished call is recorded, and at most one more a thread"""
    chance = random.Random(SEED)
    for number in range(6):
        threads, threshold = chance.choice((600, 1500)), chance.randrange(1, 400_000 // PART)
        place = folder / str(number)
        place.mkdir()
        report, counted = killed_beyond(place, threads, threshold)
        found = report["recording"]
        wrong = [key for key in ("lost_events", "repairs", "unknown_frees") if found[key]]
        hw.need(found["complete"] and not wrong, f"{threads} threads: {found}")
        hw.need(report["target"]["exit"].get("signal") == signal.SIGKILL, f"{report['target']}")
        for name, least in zip(SITES, counted):
            told = truth.total(truth.innermost(report["sites"], name))["allocations"]
            hw.need(least <= told <= least + threads, f"{threads} threads, {name}: {told}, finished {least}")
    return f"seed {SEED}"


if __name__ == "__main__":
    TESTS.main(width=1)
