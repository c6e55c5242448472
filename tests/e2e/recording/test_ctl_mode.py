#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise ctl PID mode`: the recording is completed, and another one, in the new mode, goes on."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import state
from told import collector_of, of_site, told

TESTS = hw.Tests()
TARGET = hw.TARGETS / "mode_changes"
# What the answer advises when a slow collector is behind threads at full speed; and how often that is followed.
BEHIND, TRIES_MOST = "try again when it does less", 20
THREADS = 8
WORKED, BRIEF = "site_worked", "site_hammered"
WORKED_BYTES = 1001


def ask_mode(target, mode):
    """The answer to a change, that is asked for again as long as the collector is only behind."""
    for _ in range(TRIES_MOST):
        ended = hw.heapwise("ctl", target.name, "mode", mode)
        if ended.status == 0:
            return ended.text
        hw.need(BEHIND in ended.errors, f"{mode}: {ended}")
    raise AssertionError(f"behind {TRIES_MOST} times: {ended}")


def change(target, mode):
    """Returns the files of the recording that was completed and of the one that goes on."""
    text = ask_mode(target, mode)
    found = re.fullmatch(rf"process {target.pid}: its mode is {mode}; .*\nbefore  (.*)\nnow     (.*)\n", text)
    hw.need(found, text)
    before, now = Path(found[1]), Path(found[2])
    hw.need(before.parent == now.parent and before != now and now.exists(), text)
    return before, now


def sites(file, *options):
    return hw.report(file, "--view", "sites", *options)


def need_sound(report, mode, hammered=False):
    """Nothing was lost, nothing had to be repaired, and nobody is accused. Samples never wait for room: what threads at
    full speed lose of them is said as such."""
    recording = report["recording"]
    if hammered and mode == "sample" and set(recording["lost"]) == {"sampled"}:
        recording = {**recording, "lost_events": recording["lost_events"] - recording["lost"]["sampled"]}
    hw.need(recording["mode"] == mode, f"mode {recording['mode']}, not {mode}")
    hw.need(recording["complete"], "it is incomplete")
    for figure in ("lost_events", "repairs", "unknown_frees", "mismatched_frees"):
        hw.need(recording[figure] == 0, f"{figure}: {recording}")


def need_completed(file, mode, hammered=False):
    """A recording that was completed by a change."""
    report = sites(file)
    need_sound(report, mode, hammered)
    hw.need(report["recording"]["changed_at_end"], f"{report['recording']}")
    hw.need(any("went on in another one" in note for note in report["notes"]), f"{report['notes']}")
    return report


def need_begun(file, mode, before, hammered=False):
    """One that began with a change."""
    report = sites(file)
    need_sound(report, mode, hammered)
    recording = report["recording"]
    hw.need(recording["mode_changes"] >= 1 and recording["earlier_file"] == before.name, f"{recording}")
    hw.need(any("blocks allocated before the change are not in this recording" in note for note in report["notes"]),
            f"{report['notes']}")
    return report


def freed(report, site):
    return of_site(report, "allocations", site) - of_site(report, "live_blocks", site)


def need_about(figure, truth, part, what):
    hw.need(abs(figure - truth) <= truth * part, f"{what}: {figure}, not about {truth}")


@TESTS.test
def exact_to_sample(folder):
    """One thread: what it did before is in the exact recording, what it does later in the sampled one"""
    with told(folder, "-q", program=TARGET) as target:
        target.tell("alone", 1000)
        before, now = change(target, "sample:4096")
        target.tell("alone", 3000)
        hw.need(json.loads(hw.ask("ctl", target.name, "status", "--json"))["file"] == str(now), "status")
    hw.need(before == folder / "x.hpw" and now == folder / "x.2.hpw", f"{before}, {now}")
    first = need_completed(before, "exact")
    hw.need(of_site(first, "live_bytes", WORKED) == 1000 * WORKED_BYTES, "live at the change")
    hw.need(freed(first, BRIEF) == 1000, "frees before it")
    second = need_begun(now, "sample", before)
    # What comes before the thread looks, 128 words, is in neither.
    need_about(of_site(second, "live_bytes", WORKED), 3000 * WORKED_BYTES, 0.2, "estimate")


@TESTS.test
def sample_to_exact(folder):
    """From the first call after the change all is exact; frees of older blocks are counted, and no errors"""
    with told(folder, "-q", "--mode", "sample:4096", program=TARGET) as target:
        target.tell("threads", THREADS)
        target.tell("work", 400)
        before, now = change(target, "exact")
        target.tell("drop")
        target.tell("work", 50)
    first = need_completed(before, "sample")
    need_about(of_site(first, "live_bytes", WORKED), THREADS * 400 * WORKED_BYTES, 0.2, "estimate")
    second = need_begun(now, "exact", before)
    for figure, truth in (("allocations", 50 * THREADS), ("live_bytes", 50 * THREADS * WORKED_BYTES)):
        found = of_site(second, figure, WORKED)
        hw.need(found == truth, f"{figure}: {found}, not {truth}")
    hw.need(freed(second, BRIEF) == 50 * THREADS, "temporary blocks")
    # Until a thread has looked, frees of blocks that were not sampled pass as before.
    hw.need(0 < second["recording"]["stopped_frees"] <= 400 * THREADS, f"{second['recording']}")
    hw.need(any("frees of such blocks that were seen" in note for note in second["notes"]), f"{second['notes']}")
    hw.need(not hw.report(now, "--view", "errors")["errors"], "wrong frees")
    again = sites(now, "--from", "0s")
    for figure in ("allocations", "allocated_bytes", "frees", "live_bytes_at_end", "peak_bytes"):
        hw.need(again["totals"][figure] == second["totals"][figure], f"replayed {figure}")


@TESTS.test
def other_distance(folder):
    """From one distance of samples to another one"""
    with told(folder, "-q", "--mode", "sample:64K", program=TARGET) as target:
        target.tell("threads", THREADS)
        target.tell("work", 1000)
        before, now = change(target, "sample:1K")
        target.tell("work", 300)
    need_completed(before, "sample")
    second = need_begun(now, "sample", before)
    hw.need(second["recording"]["sample_bytes"] == 1024, f"{second['recording']}")
    need_about(of_site(second, "live_bytes", WORKED), THREADS * 300 * WORKED_BYTES, 0.2, "estimate")


def disturbed(folder, threads, modes, pause_us=0):
    """Threads hammer, start and end while the mode changes again and again; at last it is known what lives. Samples never
    wait for room: with many of them threads are to pause."""
    files = []
    with told(folder, "-q", "--mode", modes[0], program=TARGET) as target:
        target.tell("threads", threads)
        target.tell("hammer", pause_us)
        for mode in modes[1:]:
            target.tell("brief", 3)
            files.append(change(target, mode))
            target.tell("brief", 3)
        target.tell("rest")
        target.tell("drop")
        target.tell("work", 40)
    for (before, now), mode in zip(files, modes):
        need_completed(before, mode.partition(":")[0], hammered=True)
    return need_begun(files[-1][1], modes[-1].partition(":")[0], files[-1][0])


@TESTS.test
def disturbed_to_exact(folder):
    """Threads that hand blocks on while the mode changes: every block of the exact recording is freed there"""
    last = disturbed(folder, THREADS, ["exact", "sample:64K", "exact", "sample:1M", "sample:100K", "exact"])
    hw.need(of_site(last, "live_blocks", BRIEF) == 0, f"{of_site(last, 'live_blocks', BRIEF)} blocks live on")
    hw.need(of_site(last, "live_bytes", WORKED) == THREADS * 40 * WORKED_BYTES, "live bytes")


@TESTS.test
def disturbed_to_sample(folder):
    """The same to a sampled recording, of all blocks"""
    last = disturbed(folder, THREADS, ["exact", "sample:1", "sample:2K", "exact", "sample:1"], pause_us=2000)
    hw.need(of_site(last, "live_blocks", BRIEF) == 0, f"{of_site(last, 'live_blocks', BRIEF)} blocks live on")
    need_about(of_site(last, "live_bytes", WORKED), THREADS * 40 * WORKED_BYTES, 0.001, "live bytes")


def change_while_counting(target, mode, more=100000):
    """Changes the mode while all threads allocate as fast as they can. Returns the files, how many calls had returned before
    the request, and how many had been begun when it was answered."""
    done = target.tell("done")
    hw.wait_until(lambda: target.tell("done") >= done + more, "the threads don't go on", seconds=120)
    done = target.tell("done")
    files = change(target, mode)
    return files, done, target.tell("begun")


@TESTS.test
def none_twice_none_missing(folder):
    """16 threads at full speed: what was done before a change is in the recording before, what is begun after it in the one
    after, nothing is in both, and what is in neither is counted"""
    with told(folder, "-q", program=TARGET) as target:
        target.tell("threads", 16)
        target.tell("count")
        changes = [change_while_counting(target, mode) for mode in ("sample:1", "exact", "sample:1", "exact")]
        hw.wait_until(lambda: target.tell("done") >= changes[-1][2] + 100000, "the threads don't go on", seconds=120)
        target.tell("rest")
        total = target.tell("done")
    parts = [sites(file) for file in [changes[0][0][0]] + [now for (_, now), _, _ in changes]]
    counts = [of_site(part, "allocations", "site_counted") for part in parts]
    losses = [part["recording"]["lost_events"] for part in parts]
    missed = [part["recording"].get("change_missed", 0) for part in parts]
    told_of = f"{counts}, lost {losses}, in neither {missed}, {total} calls; {changes}"
    # A sample that a thread was about to note when the recording of samples ended can be lost after that.
    hw.need(losses[0] == missed[0] == 0 and max(losses[2::2]) <= 16, f"exact recordings lose nothing: {told_of}")
    hw.need(sum(counts) + sum(losses) + sum(missed) == total, f"all is somewhere, and once: {told_of}")
    for i, (_, done, begun) in enumerate(changes, 1):
        before = sum(counts[:i]) + sum(losses[:i]) + sum(missed[:i])
        after = sum(counts[i:]) + sum(losses[i:]) + sum(missed[i + 1:])
        hw.need(done <= before + missed[i] and before <= begun, f"before change {i}: {told_of}")
        hw.need(total - begun <= after, f"after change {i}: {told_of}")
    hw.need(sum(missed) <= 16 * len(changes), f"more than an event of each thread at each change: {told_of}")
    for part, count in zip(parts[1:], missed[1:]):
        hw.need(any("in neither recording" in note for note in part["notes"]) == (count > 0), f"{part['notes']}: {told_of}")


@TESTS.test
def many_threads(folder):
    """64 threads"""
    last = disturbed(folder, 64, ["sample:512K", "exact", "sample:512K", "exact"])
    hw.need(of_site(last, "live_blocks", BRIEF) == 0, f"{of_site(last, 'live_blocks', BRIEF)} blocks live on")
    hw.need(of_site(last, "live_bytes", WORKED) == 64 * 40 * WORKED_BYTES, "live bytes")


@TESTS.test
def back_to_one_thread(folder):
    """A single thread to and fro: what it does long after each change is whole"""
    with told(folder, "-q", program=TARGET) as target:
        target.tell("step", 5000)
        change(target, "sample:64")
        target.tell("step", 5000)
        before, now = change(target, "exact")
        target.tell("alone", 10)
        target.tell("step", 5000)
        target.tell("drop")
    last = need_begun(now, "exact", before)
    hw.need(of_site(last, "live_blocks", BRIEF) == 0 and of_site(last, "live_blocks", WORKED) == 0, "blocks live on")
    hw.need(freed(last, WORKED) == 10, "frees")


@TESTS.test
def collector_killed(folder):
    """When the collector is killed after a change, what is incomplete is the recording that was under way, and it is named"""
    with told(folder, "-q", program=TARGET) as target:
        target.tell("alone", 10)
        collector = collector_of(folder)
        change(target, "sample:1")
        target.tell("alone", 10)
        os.kill(collector, signal.SIGKILL)
        hw.wait_until(lambda: state(collector) in ("", "Z", None), "it lives")
    hw.need("x.2.hpw is incomplete, but can be read" in target.errors, target.errors)
    need_completed(folder / "x.hpw", "exact")
    hw.need(not sites(folder / "x.2.hpw")["recording"]["complete"], "taken for complete")


@TESTS.test
def killed(folder):
    """A kill right after the change leaves two complete recordings"""
    with told(folder, "-q", program=TARGET, status=-signal.SIGKILL) as target:
        target.tell("threads", THREADS)
        target.tell("hammer")
        before, now = change(target, "sample:512K")
        os.kill(target.pid, signal.SIGKILL)
    need_completed(before, "exact")
    need_begun(now, "sample", before, hammered=True)


@TESTS.test
def children(folder):
    """A child that is forked after a change, or before it and speaks later, is recorded in the new mode"""
    with told(folder, "-q", "--mode", "sample:1M", program=TARGET) as target:
        target.tell("alone", 10)
        change(target, "exact")
        hw.need(target.tell("fork", 25) == 0, "the child's status")
    found = [path for path in folder.glob("x.*.hpw") if path.name != "x.2.hpw"]
    hw.need(len(found) == 1, f"{found}")
    report = sites(found[0])
    need_sound(report, "exact")
    hw.need(of_site(report, "live_bytes", WORKED) == 25 * WORKED_BYTES, "what the child allocated")
    hw.need(freed(report, BRIEF) == 25, "what it freed")
    hw.need("mode_changes" not in report["recording"], "it is the child's first recording")


@TESTS.test
def children_of_changed(folder):
    """A child whose parent's mode was changed: all that it does is in its recording, in both modes and after any change"""
    for start, modes in (("exact", ["sample:1"]), ("sample:1M", ["exact", "sample:1"]), ("sample:1", ["exact"]),
                         ("exact", ["sample:1M", "sample:1"])):
        place = folder / "-".join([start, *modes]).replace(":", "")
        place.mkdir()
        with told(place, "-q", "--mode", start, program=TARGET) as target:
            target.tell("alone", 10)
            parts = set()
            for mode in modes:
                parts |= set(change(target, mode))
                target.tell("alone", 200)
            hw.need(target.tell("fork", 25) == 0, "the child's status")
        found = [path for path in place.glob("x.*.hpw") if path not in parts]
        hw.need(len(found) == 1, f"{place.name}: {found}")
        report = sites(found[0])
        need_sound(report, modes[-1].partition(":")[0])
        hw.need(of_site(report, "live_blocks", WORKED) == 25, f"{place.name}: {of_site(report, 'live_blocks', WORKED)} blocks")
        hw.need(freed(report, BRIEF) == 25, f"{place.name}: what it freed")


@TESTS.test
def child_from_before(folder):
    """A child that was forked before a change, and allocates first after it, is recorded in the new mode"""
    for options, mode in ((("--mode", "sample:1M"), "exact"), ((), "sample:1")):
        place = folder / mode.partition(":")[0]
        place.mkdir()
        with told(place, "-q", *options, program=TARGET) as target:
            target.tell("alone", 10)
            hw.need(target.tell("sleeper", 25) == 0, "no child")
            change(target, mode)
            hw.need(target.tell("wake") == 0, "the child's status")
        found = [path for path in place.glob("x.*.hpw") if path.name != "x.2.hpw"]
        hw.need(len(found) == 1, f"{found}")
        report = sites(found[0])
        need_sound(report, mode.partition(":")[0])
        need_about(of_site(report, "live_bytes", WORKED), 25 * WORKED_BYTES, 0.001, "what the child allocated")
        hw.need(freed(report, BRIEF) == 25, "what it freed")


@TESTS.test
def searched(folder):
    """A leak search after a change finds new blocks that are lost, and takes memory of older ones for references"""
    with told(folder, "-q", "--mode", "sample:1M", program=TARGET) as target:
        target.tell("outer")
        change(target, "exact")
        target.tell("inner", 12345)
        target.tell("lose", 20)
        found = json.loads(hw.heapwise("leaks", target.name, "--json").text)
    lost = {frame["function"] for record in found["leaks"]["records"] if record["kind"] in ("definite", "indirect", "possible")
            for frame in record["stack"][:1]}
    hw.need(lost == {"site_lost"}, f"{lost}: {found['leaks']['records']}")


@TESTS.test
def difference(folder):
    """What changes over a change of the mode can't be said: a dump's difference is refused, not wrong"""
    with told(folder, "-q", program=TARGET) as target:
        target.tell("alone", 10)
        asker = subprocess.Popen([hw.HEAPWISE, "dump", target.name, "--seconds", "3", "--format", "pprof", "-o", folder / "d.pb.gz"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=hw.clean_environment())
        try:
            hw.wait_until(lambda: json.loads(hw.ask("ctl", target.name, "status", "--json"))["dumps"] >= 1, "no first dump")
            change(target, "sample:1")
            _, errors = asker.communicate(timeout=60)
        finally:
            asker.kill()
        hw.need(asker.returncode != 0 and b"went on in another recording meanwhile" in errors, f"{asker.returncode}: {errors}")
    hw.need(not (folder / "d.pb.gz").exists(), "it was written")


@TESTS.test
def executed(folder):
    """A program that is executed after a change is recorded in the new mode"""
    with told(folder, "-q", program=TARGET) as target:
        target.tell("alone", 10)
        before, now = change(target, "sample:1")
        target.ask("exec")
        hw.need(target.answer().split()[0] == "pid", "no new image")
        target.tell("alone", 20)
    need_completed(before, "exact")
    need_begun(now, "sample", before)
    found = [path for path in folder.glob("x.*.hpw") if path != now]
    hw.need(len(found) == 1, f"{found}")
    report = sites(found[0])
    need_sound(report, "sample")
    need_about(of_site(report, "live_bytes", WORKED), 20 * WORKED_BYTES, 0.01, "of the new image")


@TESTS.test
def dumped(folder):
    """Dumps after a change are of the new recording, those on request and those that are due"""
    with told(folder, "-q", "--dump-allocated", "1M", program=TARGET) as target:
        target.tell("alone", 100)
        _, now = change(target, "sample:1")
        hw.ask("dump", target.name, "-o", folder / "early.dump")
        target.tell("alone", 50)
        hw.ask("dump", target.name, "-o", folder / "late.dump")
        target.tell("alone", 2000)
        hw.wait_until(lambda: list(folder.glob("x.2.*.dump")), "no dump is due")
    early, late = sites(folder / "early.dump"), sites(folder / "late.dump")
    for report in (early, late):
        hw.need(report["recording"]["mode"] == "sample" and report["recording"]["mode_changes"] == 1, f"{report['recording']}")
    hw.need(of_site(early, "live_blocks", WORKED) == 0, "blocks of before")
    found = of_site(late, "live_blocks", WORKED)
    hw.need(0 < found <= 50, f"{found} blocks")
    hw.need(sites(next(iter(folder.glob("x.2.*.dump"))))["recording"]["mode_changes"] == 1, "the dump that was due")


@TESTS.test
def words(folder):
    """What the end of a run says, and the list of recordings; the mode of before is no change"""
    with told(folder, program=TARGET) as target:
        target.tell("alone", 10)
        unchanged = hw.heapwise("ctl", target.name, "mode", "exact")
        hw.need(unchanged.status == 0 and "its mode is that already" in unchanged.errors, f"{unchanged}")
        change(target, "sample")
        target.tell("alone", 10)
    hw.need("2 recordings of 1 process" in target.errors, target.errors)
    hw.need("live when the mode was changed" in target.errors, target.errors)
    hw.need(re.search(r"x\.2\.hpw: mode_changes \(\d+\), sampled", target.errors), target.errors)
    text = hw.ask("report", folder / "x.hpw")
    hw.need("went on in another recording, recorded for" in text and "still running" not in text, text)
    table = hw.ask("report", folder)
    hw.need(re.search(r" mode +x\.hpw: ", table) and re.search(r" status 0 +x\.2\.hpw: ", table), table)
    rows = json.loads(hw.ask("report", "--json", folder))["recordings"]
    hw.need([row["changed_at_end"] for row in rows] == [True, False], f"{rows}")
    gate = hw.heapwise("budget", folder / "x.hpw", "--max-live", "1")
    hw.need(gate.status != 0, f"{gate}")
    undecided = hw.heapwise("budget", folder / "x.2.hpw", "--max-allocations", "1000000")
    hw.need(undecided.status != 0, f"a gate passes on a part of the run: {undecided}")


def need_refused(target, mode, words_of_reason):
    ended = hw.heapwise("ctl", target.name, "mode", mode)
    hw.need(ended.status != 0 and words_of_reason in ended.errors, f"{words_of_reason}: {ended}")
    hw.need("its mode stays" in ended.errors, f"{ended}")


REFUSED = (
    ("aggregate", ("--mode", "aggregate"), "exact", "in mode aggregate"),
    ("to aggregate", (), "aggregate", "in mode aggregate"),
    ("mappings", ("--mmap",), "sample", "with --mmap"),
    ("stacks of frees", ("--free-stacks",), "sample", "with --free-stacks"),
    ("a ring", ("--ring", "4M"), "sample", "--ring"),
    ("a limit of the file", ("--max-file", "64M"), "sample", "--max-file"),
    ("leaks at the end", ("--leak-check",), "sample", "leaks of the whole run"),
    ("jemalloc", ("--as=jemalloc",), "sample:4K", "functions of another tool"),
    ("gperftools", ("--as=gperftools",), "sample:4K", "functions of another tool"),
)


@TESTS.test
def refused(folder):
    """What can't be right in two files is refused, with the reason and what to do; the recording goes on"""
    for name, options, mode, reason in REFUSED:
        place = folder / name.replace(" ", "-")
        place.mkdir()
        with told(place, "-q", *options, program=TARGET, status=None) as target:
            target.tell("alone", 10)
            need_refused(target, mode, reason)
            target.tell("alone", 10)
        hw.need(not (place / "x.2.hpw").exists(), f"{name}: another recording")


@TESTS.test
def refused_for_now(folder):
    """Stopped recordings and processes, and programs that report blocks or disable system calls"""
    with told(folder, "-q", program=TARGET) as target:
        target.tell("alone", 10)
        hw.ask("ctl", target.name, "stop")
        need_refused(target, "sample", "'heapwise ctl PID start' first")
        hw.ask("ctl", target.name, "start")
        os.kill(target.pid, signal.SIGSTOP)
        hw.wait_until(lambda: state(target.pid) == "T", "it does not stop")
        need_refused(target, "sample", "the process is stopped")
        os.kill(target.pid, signal.SIGCONT)
        change(target, "sample")
        change(target, "exact")
        target.tell("block", 100)
        need_refused(target, "sample", "blocks or pools of its own")
        target.tell("unblock")
    with told(folder, "-q", "-f", program=TARGET) as target:
        target.tell("sandbox")
        need_refused(target, "sample", "disabled system calls")


@TESTS.test
def too_often(folder):
    """The mode of a program can be changed 255 times, and samples are at most 64 GiB apart"""
    with told(folder, "-q", program=TARGET) as target:
        target.tell("alone", 10)
        for distance in range(1, 256):
            hw.ask("ctl", target.name, "mode", f"sample:{distance}M")
        need_refused(target, "exact", "it was changed too often")
        target.tell("alone", 10)
        far = hw.heapwise("ctl", target.name, "mode", "sample:65G")
        hw.need(far.status == 2 and "1 to 64G" in far.errors, f"{far}")
    need_completed(folder / "x.255.hpw", "sample")
    need_begun(folder / "x.256.hpw", "sample", folder / "x.255.hpw")


@TESTS.test
def by_itself(folder):
    """A program can't change its own mode"""
    with told(folder, "-q", program=TARGET) as target:
        target.tell("alone", 10)
        hw.need(target.tell("ask") != 0, "its request was granted")
    hw.need(not (folder / "x.2.hpw").exists(), "another recording")


TESTS.main(width=2)
