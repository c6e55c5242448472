#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise watch -o FILE`: a recording of what the kernel sees, on which views work as on any other."""

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import hw
from test_watch import (CASES, KEPT_BLOCKS, KEPT_BYTES, LOOP, WATCHED, WATCHED_STATIC, answer, end, expectations,
                        running, skip_if_refused, start, tell)

TESTS = hw.Tests()
THROWAWAY = 40000  # blocks of watched_loop that are freed at once
UNMAPPED = "site_partly_unmapped"  # maps by itself, which is no call of the allocator


@contextlib.contextmanager
def recording(target, file, *options, command="watch"):
    """The command, from when the probes are there."""
    process = start([hw.HEAPWISE, command, str(target), "-o", file, *options], stderr=subprocess.PIPE)
    try:
        said = process.stderr.readline()
        if "from now on" not in said:
            said += process.stderr.read()
            skip_if_refused(said)
            raise hw.Failure(said)
        yield process
    finally:
        end(process)


def finish(process, how=signal.SIGINT):
    """Ends the command, or waits until it does; what it says."""
    if how:
        process.send_signal(how)
    said = process.stderr.read()
    hw.need(process.wait(hw.TIMEOUT) == 0, f"exit status {process.returncode}: {said}")
    return said


def by_function(file, *options):
    """{function that called the allocator: (live bytes, live blocks, allocations)}"""
    found = {}
    for row in hw.report(file, "--view", "sites", "--limit", "1000", *options)["sites"]:
        name = row["stack"][0]["function"]
        before = found.get(name, (0, 0, 0))
        found[name] = tuple(map(sum, zip(before, (row["live_bytes"], row["live_blocks"], row["allocations"]))))
    return found


def need_truth(file, expected):
    seen = by_function(file)
    for function, (bytes_, blocks) in expected.items():
        if function != UNMAPPED:
            hw.need(seen.get(function, ())[:2] == (bytes_, blocks), f"{function}: {seen.get(function)}, not {bytes_} {blocks}: {seen}")
    wrong = [name for name, row in seen.items() if name and name.startswith("site_") and row[1] and name not in expected]
    hw.need(not wrong, f"what is not there: {wrong}")


def watched_truth(program, folder, *options):
    file = folder / "all.hpw"
    with running(program) as target, recording(target.pid, file, "--all", *options) as command:
        tell(target)
        expected = expectations(answer(target, "done"))
        finish(command)
    need_truth(file, expected)
    return file, expected


@TESTS.test
def truth(folder):
    """Live blocks, calls and stacks are those of the program, in each way to allocate"""
    file, expected = watched_truth(WATCHED, folder)
    report = hw.report(file, "--view", "sites", "--limit", "1000")
    about = report["recording"]
    hw.need(about["watched"] and about["mode"] == "exact" and about["complete"] and about["detached"], f"{about}")
    hw.need(about["attached_ns"] > 0 and about["lost_events"] == 0 and about["repairs"] == 0, f"{about}")
    hw.need(about["mismatched_frees"] is None and about["unknown_frees"] is None, f"probes do not see these: {about}")
    calls = {name: row[2] for name, row in by_function(file).items()}
    hw.need(calls["site_temporary"] == 1000 and calls["site_malloc"] == 10, f"{calls}")
    hw.need(calls["site_realloc"] == 2, f"a realloc is another allocation: {calls}")  # of 77, and to 7,777
    totals = report["totals"]
    hw.need(totals["live_blocks_at_end"] == totals["allocations"] - totals["frees"], f"{totals}")
    hw.need(totals["failed"] == 1, f"the realloc that fails: {totals}")
    hw.need(totals["live_bytes_at_end"] >= sum(row[0] for name, row in expected.items() if name != UNMAPPED), f"{totals}")


@TESTS.test
def static(folder):
    """A static program is recorded, too, which nothing else can"""
    watched_truth(WATCHED_STATIC, folder)


@TESTS.test
def by_perf(folder):
    """With the probes of kernels before 6.6, too"""
    watched_truth(WATCHED, folder, "--probes=perf")


@TESTS.test
def says_so(folder):
    """The report says that the kernel saw it, and what is not known"""
    file, _ = watched_truth(WATCHED, folder)
    text = hw.ask("report", file)
    for words in ("seen by probes in the kernel", "blocks allocated before are not in this recording"):
        hw.need(words in text, text)
    errors = hw.ask("report", file, "--view", "errors")
    hw.need("Errors are not known" in errors, errors)


@TESTS.test
def views(folder):
    """Views of stacks, times and leaks, comparisons and exports work on it"""
    file, _ = watched_truth(WATCHED, folder)
    for words in (("report", file, "--view", "timeline"), ("report", file, "--at", "peak"), ("flame", file, "-o", folder / "x.svg"),
                  ("export", file, "--format", "pprof", "-o", folder / "x.pb.gz"), ("tree", file), ("report", file, "--view", "growth")):
        ended = hw.heapwise(*words)
        hw.need(ended.status == 0, f"{words}: {ended}")


@TESTS.test
def start_to_end(folder):
    """A command is recorded from its first allocation to its end, with its exit status and names of its own files"""
    file = folder / "c.hpw"
    ended = hw.heapwise("watch", "-c", f"{CASES} malloc", "--all", "-o", file)
    skip_if_refused(ended.errors)
    hw.need(ended.status == 0 and "heapwise report" in ended.errors, f"{ended}")
    report = hw.report(file)
    hw.need("attached_ns" not in report["recording"] and report["recording"]["lost_events"] == 0, f"{report['recording']}")
    hw.need(report["target"]["exit"]["code"] == 0, f"{report['target']}")
    seen = by_function(file)
    hw.need(seen["allocate"] == (30000, 1, 1), f"{seen}")


@TESTS.test
def as_run(folder):
    """Of a command that `run` records too both have the same calls"""
    watched, run = folder / "watched.hpw", folder / "run.hpw"
    ended = hw.heapwise("watch", "-c", f"{CASES} calloc", "--all", "-q", "-o", watched)
    skip_if_refused(ended.errors)
    hw.need(ended.status == 0 and not ended.errors, f"{ended}")
    hw.need(hw.record([CASES, "calloc"], run).status == 0, "run")
    totals = [{key: hw.report(file)["totals"][key] for key in ("allocations", "frees", "live_blocks_at_end", "live_bytes_at_end")} for file in (watched, run)]
    hw.need(totals[0] == totals[1], f"{totals}")


@TESTS.test
def loop(folder):
    """80,000 allocations that come at once are all there, with the peak and the temporary ones"""
    file = folder / "loop.hpw"
    with running(LOOP, "3") as target, recording(target.pid, file, "--all") as command:
        tell(target)
        answer(target, "done")
        finish(command)
    report = hw.report(file)
    hw.need(report["recording"]["lost_events"] == 0, f"{report['recording']}")
    rows = by_function(file)["allocate_both"]
    hw.need(rows == (KEPT_BYTES, KEPT_BLOCKS, KEPT_BLOCKS + THROWAWAY), f"{rows}")
    totals = report["totals"]
    hw.need(KEPT_BYTES <= totals["peak_bytes"] <= KEPT_BYTES + 1003 + 4096, f"{totals}")


@TESTS.test
def threads(folder):
    """Addresses that go from thread to thread at once, by reallocs too, also in vain, are all right"""
    file = folder / "threads.hpw"
    with running(hw.TARGETS / "watched_threads", "20000") as target, recording(target.pid, file, "--all") as command:
        tell(target)
        lines = answer(target, "done")
        finish(command)
    allocations, _, failed, live = (int(word) for word in next(line for line in lines if "truth" in line).split()[2:])
    report = hw.report(file)
    hw.need(report["recording"]["repairs"] == 0 and report["recording"]["lost_events"] == 0, f"{report['recording']}")
    rows = by_function(file)
    for name in ("allocate_dtv", "_dl_allocate_tls", "_dl_allocate_tls_storage", "calloc"):
        rows.pop(name, None)  # libc's, for the threads
    hw.need(sum(row[2] for row in rows.values()) == allocations, f"{allocations} allocations: {rows}")
    hw.need(sum(row[1] for row in rows.values()) == live, f"{live} live blocks: {rows}")
    hw.need(report["totals"]["failed"] == failed, f"{failed} failed: {report['totals']}")


@TESTS.test
def let_go_while_busy(folder):
    """Of threads that never pause no block looks live for having been freed while the probes were taken away"""
    for way in ("auto", "perf"):
        file = folder / f"{way}.hpw"
        with running(hw.TARGETS / "watched_threads", str(2**60)) as target, recording(target.pid, file, "--all", f"--probes={way}") as command:
            tell(target)
            hw.wait_until(lambda: file.stat().st_size > 16384, "the first calls in the file")
            said = finish(command)
        report = hw.report(file)
        if report["recording"]["lost_events"]:
            hw.need("LOST" in said, said)  # on a machine that is too busy
            continue
        hw.need(report["recording"]["repairs"] == 0, f"{way}: {report['recording']}")
        live = sum(row[1] for row in by_function(file).values())
        hw.need(live <= 64 + 2 * 4 + 8, f"{way}: {live} live blocks; it has 64 places for them, 4 threads with two each, and libc's")


@TESTS.test
def samples(folder):
    """A sample is an estimate near the truth, and says so"""
    file = folder / "sample.hpw"
    with running(LOOP, "3") as target, recording(target.pid, file, "--sample-bytes", "16K") as command:
        tell(target)
        answer(target, "done")
        finish(command)
    report = hw.report(file)
    about = report["recording"]
    hw.need(about["mode"] == "sample" and about["sample_bytes"] == 16384 and about["watched"], f"{about}")
    live, blocks, calls = by_function(file)["allocate_both"]
    hw.need(abs(live / KEPT_BYTES - 1) < 0.2 and abs(blocks / KEPT_BLOCKS - 1) < 0.2, f"{live} {blocks}")
    hw.need(abs(calls / (KEPT_BLOCKS + THROWAWAY) - 1) < 0.2, f"{calls}")


@TESTS.test
def two(folder):
    """Two recordings are compared"""
    files = folder / "a.hpw", folder / "b.hpw"
    for file, target in zip(files, ((CASES, "malloc"), (CASES, "calloc"))):
        ended = hw.heapwise("watch", "-c", " ".join(map(str, target)), "--all", "-q", "-o", file)
        skip_if_refused(ended.errors)
        hw.need(ended.status == 0, f"{ended}")
    ended = hw.heapwise("diff", *files, "--json")
    hw.need(ended.status in (0, 1), f"{ended}")
    hw.need(json.loads(ended.text)["schema"].startswith("heapwise.diff"), ended.text[:200])


@TESTS.test
def gates(folder):
    """Gates are decided where all is known, from the first allocation on; what probes do not see is undecided"""
    file, attached = folder / "start.hpw", folder / "attached.hpw"
    ended = hw.heapwise("watch", "-c", f"{CASES} malloc", "--all", "-q", "-o", file)
    skip_if_refused(ended.errors)
    with running(WATCHED) as target, recording(target.pid, attached, "--all") as command:
        tell(target)
        answer(target, "done")
        finish(command)
    for recorded, limit, status in ((file, ("--max-never-freed", "30000"), 0), (file, ("--max-never-freed", "29999"), 1),
                                    (file, ("--max-errors", "0"), 3), (attached, ("--max-errors", "0"), 3),
                                    (attached, ("--max-never-freed", "1G"), 3)):
        ended = hw.heapwise("budget", recorded, *limit)
        hw.need(ended.status == status, f"{recorded} {limit}: {ended}, not {status}")


@TESTS.test
def moments(folder):
    """Sums of sites are the totals, at the end and at other moments, and from the events alone"""
    file = folder / "moments.hpw"
    with running(LOOP, "3", "8") as target, recording(target.pid, file, "--all") as command:
        tell(target)
        answer(target, "done")
        finish(command)
    for options in ((), ("--at", "peak"), ("--at", "end"), ("--from", "start", "--to", "peak")):
        report = hw.report(file, "--view", "sites", "--limit", "100000", *options)
        for key in ("allocations", "live_blocks", "live_bytes"):
            total = report["totals"][key if key == "allocations" else f"{key}_at_end"]
            hw.need(sum(row[key] for row in report["sites"]) == total, f"{options} {key}: {report['totals']}")
    end = hw.report(file, "--view", "sites", "--at", "end")["totals"]
    hw.need(end["live_bytes_at_end"] == hw.report(file)["totals"]["live_bytes_at_end"], f"{end}")


@TESTS.test
def ends(folder):
    """A command that a signal kills: its end is known; one that was there before: that it is not"""
    file = folder / "signal.hpw"
    ended = hw.heapwise("watch", "-c", "/bin/sh -c 'kill -9 $$'", "--all", "-q", "-o", file)
    skip_if_refused(ended.errors)
    hw.need(hw.report(file)["target"]["exit"] == {"signal": 9}, f"{hw.report(file)['target']}")
    with running(WATCHED) as target, recording(target.pid, file, "--all", "-f") as command:
        tell(target)
        answer(target, "done")
        target.kill()
        finish(command, None)
    report = hw.report(file)
    hw.need(not report["recording"].get("detached") and not report["target"]["exit"], f"{report['target']}")


@TESTS.test
def killed(folder):
    """If the command is killed the process goes on, and the file has what came until shortly before"""
    file = folder / "killed.hpw"
    with running(LOOP, "3") as target, recording(target.pid, file, "--all") as command:
        tell(target)
        answer(target, "done")
        hw.wait_until(lambda: by_function(file).get("allocate_both", (0, 0, 0))[1] == KEPT_BLOCKS, "all blocks in the file")
        command.kill()
        command.wait()
        tell(target)
        hw.need(target.wait(hw.TIMEOUT) == 0, "the process does not go on")
    about = hw.report(file)["recording"]
    hw.need(not about["complete"] and about["watched"], f"{about}")
    hw.need(by_function(file)["allocate_both"] == (KEPT_BYTES, KEPT_BLOCKS, KEPT_BLOCKS + THROWAWAY), f"{by_function(file)}")


@TESTS.test
def lost(folder):
    """Calls that come while the command can't take them are counted as lost, and nothing is called exact"""
    file = folder / "lost.hpw"
    script = "import sys\nprint('ready', flush=True)\ninput()\nfor i in range(400000): bytes(700)\nprint('done', flush=True)\ninput()"
    with running("/usr/bin/env", "PYTHONMALLOC=malloc", sys.executable, "-c", script) as target, recording(target.pid, file, "--all") as command:
        command.send_signal(signal.SIGSTOP)
        tell(target)
        answer(target, "done")
        command.send_signal(signal.SIGCONT)
        said = finish(command)
    hw.need("LOST" in said and "every block was freed" not in said, said)
    about = hw.report(file)["recording"]
    hw.need(about["lost_events"] > 0 and about["lost"]["ring"] == about["lost_events"], f"{about}")
    text = hw.ask("report", file)
    hw.need("because the ring of events from the kernel was full" in text, text)


@TESTS.test
def disk_full(folder):
    """A file that can't grow is said, with exit status 4; the process goes on, and the figures were counted"""
    file = folder / "full.hpw"
    with running(LOOP, "3") as target:
        command = start(["/bin/sh", "-c", 'ulimit -f 8; exec "$@"', "sh", hw.HEAPWISE, "watch", str(target.pid), "--all", "-o", file], stderr=subprocess.PIPE)
        try:
            said = command.stderr.readline()
            skip_if_refused(said)
            tell(target)
            answer(target, "done")
            command.send_signal(signal.SIGINT)
            said = command.stderr.read()
            hw.need(command.wait(hw.TIMEOUT) == 4 and str(file.name) in said, f"{command.returncode}: {said}")
        finally:
            end(command)
        tell(target)
        hw.need(target.wait(hw.TIMEOUT) == 0, "the process does not go on")
    hw.need(not hw.report(file)["recording"]["complete"], "it is called complete")


@TESTS.test
def for_a_time(folder):
    """--for ends the recording, and the process goes on"""
    file = folder / "for.hpw"
    with running(WATCHED) as target, recording(target.pid, file, "--all", "--for", "200ms") as command:
        finish(command, None)
        hw.need(target.poll() is None, "the process has ended")
    hw.need(hw.report(file)["recording"]["detached"], "it is not said that it went on")


@TESTS.test
def executes(folder):
    """A process that becomes another program: the recording ends there"""
    file = folder / "exec.hpw"
    script = f"echo ready; read line; exec {WATCHED}"
    with running("/bin/sh", "-c", script) as target, recording(target.pid, file, "--all") as command:
        tell(target)
        answer(target, "ready")
        said = finish(command, None)
    report = hw.report(file)
    hw.need(report["target"]["exit"]["exec"], f"{report['target']} {said}")
    hw.need("went on as another program (exec), which is not recorded" in said, said)
    ended = hw.heapwise("budget", file, "--max-never-freed", "1G")
    hw.need(ended.status == 3 and "which was not watched" in ended.text, f"{ended}")


@TESTS.test
def wrong_uses(folder):
    """-o takes an age or a file; what only has a meaning for what is printed can't go with a file"""
    file = folder / "x.hpw"
    for words, reason in (((1, "-o", file, "--json"), "can't go with it"), ((1, "-o", file, "-z", "10"), "can't go with it"),
                          ((1, "5", "-o", file), "INTERVAL"), ((1, "--for", "1s"), "-o FILE is missing"),
                          ((1, "-o", file, "-o", "500"), "-o OLDER"), ((1, "-o", file, "--for", "x"), "expected a time")):
        ended = hw.heapwise("watch", *map(str, words))
        hw.need(ended.status == 2 and reason in ended.errors and not file.exists(), f"{words}: {ended}")
    file.write_text("mine")
    with running(WATCHED) as target:
        ended = hw.heapwise("watch", str(target.pid), "-o", file, "--for", "100ms")
        skip_if_refused(ended.errors)
        hw.need(ended.status == 4 and "already exists" in ended.errors and file.read_text() == "mine", f"{ended}")
        ended = hw.heapwise("watch", str(target.pid), "-o", file, "-f", "--for", "100ms")
        hw.need(ended.status == 0, f"{ended}")
    hw.report(file)


if __name__ == "__main__":
    TESTS.main()
