#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of memory errors on their way: ring, recording, report, `heapwise check` while the program runs."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
REPORTS = hw.ANSWERS / "reports_errors"
KEPT = 10_000  # PROGRAM_ERRORS_MAX


def check(folder, *words, options=(), path=None, **more):
    """A run under `heapwise check`, with its recording at `path`."""
    path = path or folder / "check.hpw"
    ended = hw.run([hw.HEAPWISE, "check", "-f", "-o", str(path), *options, "--", str(REPORTS), *map(str, words)],
                   **more)
    return ended, path


def answer(path):
    ended = hw.heapwise("report", "--json", "--view", "errors", path)
    hw.need(ended.status == 0, f"report: {ended}")
    return json.loads(ended.text)


def functions(stack):
    return [frame["function"] for frame in stack]


def only(rows, kind, count=1):
    rows = [row for row in rows if row["kind"] == kind]
    hw.need(len(rows) == 1, f"expected one {kind}: {rows}")
    hw.need(rows[0]["count"] == count, f"expected {count} times: {rows[0]}")
    return rows[0]


def taken(ended):
    return int(re.search(r"taken (\d+)", ended.text)[1])


@TESTS.test
def block_facts(folder):
    """An error names the access, the block, the distance between them, and where it was allocated and freed"""
    ended, path = check(folder, "write", 5, "read", 2)
    hw.need(ended.status == 0 and taken(ended) == 7, str(ended))
    rows = answer(path)["errors"]
    row = only(rows, "InvalidWrite", 5)
    block = row["block"]
    hw.need(row["what"] == "Invalid write of size 4", row["what"])
    hw.need(row["access"]["bytes"] == 4 and row["access"]["exact"], row["access"])
    hw.need(block["size"] == 10 and block["offset"] == 10 and block["guarded"] and not block["freed"], block)
    hw.need(int(row["access"]["address"], 16) == int(block["address"], 16) + 10, f"{row}")
    hw.need(functions(block["allocated_at"])[:2] == ["make", "write_behind"] and not block["freed_at"], block)
    hw.need(functions(row["stacks"][0]["stack"])[:3] == ["put", "write_behind", "main"], f"{row['stacks']}")
    hw.need("is 0 bytes after a block of size 10, allocated" in row["stacks"][1]["what"], row["stacks"][1])
    row = only(rows, "InvalidRead", 2)
    block = row["block"]
    hw.need(block["freed"] and block["offset"] == 3 and block["freed_by"] and block["allocated_by"], block)
    hw.need(functions(block["freed_at"])[0] == "drop" and functions(block["allocated_at"])[0] == "make", block)
    hw.need("3 bytes inside a freed block of size 10, freed" in row["stacks"][1]["what"], row["stacks"][1])


@TESTS.test
def printed_in_text(folder):
    """check prints each error once, with its stacks and lines, and a summary with the worst first"""
    ended, _ = check(folder, "read", 9, "write", 3, "overlap", "sums")
    text = ended.errors
    for what in ("Invalid read of size 1", "Invalid write of size 4", "Source and destination overlap in memcpy(0x"):
        hw.need(text.count(what) == 1, f"{what}: {text}")
    hw.need("put (reports_errors.c:" in text or re.search(r"put .*reports_errors\.c:\d+", text), text)
    hw.need("13 errors at 3 places" in text, text)
    summary = [line.split(" in ")[0].strip() for line in text.splitlines() if " × " in line]
    hw.need(summary == ["3 × InvalidWrite", "1 × Overlap", "9 × InvalidRead"], f"{summary}\n{text}")
    hw.need("Guarded 512 of 1,204 blocks (42 %), 37 of 38 call stacks, back-end madvise, seed 0x5eed; limited by"
            in text, text)


@TESTS.test
def coverage_answer(folder):
    """What was looked at is a record of the answer"""
    _, path = check(folder, "sums")
    coverage = answer(path)["coverage"]
    wanted = {"is_there": True, "backend": "madvise", "seed": "0x5eed", "limited_by": "budget, memory", "blocks": 1204,
              "guarded_blocks": 512, "stacks": 38, "guarded_stacks": 37, "dropped": 0, "left_out": 0}
    hw.need({key: coverage[key] for key in wanted} == wanted, f"{coverage}")


@TESTS.test
def no_figures(folder):
    """A recording of errors alone has no figures: views show none, others are refused, no gate passes"""
    _, path = check(folder, "write")
    totals = hw.report(path)["totals"]
    known = {key for key, value in totals.items() if value is not None} - {"peak_time_ns", "threads"}
    hw.need(not known, f"known: {known}")
    text = hw.heapwise("report", path).text
    hw.need("1 error was found" in text and "Only errors were recorded" in text, text)
    for words in (["report", "--view", "peak"], ["flame"], ["tree"], ["export", "--format", "folded"], ["leaks"],
                  ["report", "--class", "heap"]):
        ended = hw.heapwise(*words, path)
        hw.need(ended.status != 0 and "errors only" in ended.errors, f"{words}: {ended}")
    for limit in ("--max-peak", "--max-never-freed", "--max-allocations"):
        ended = hw.heapwise("budget", limit, "1G", path)
        hw.need(ended.status == 3 and "only errors were recorded" in ended.text, f"{limit}: {ended}")


@TESTS.test
def json_lines(folder):
    """With --json each event is a line: errors as they happen, and an end"""
    ended, _ = check(folder, "write", 3, "read", "sums", options=["--json"])
    lines = [json.loads(line) for line in ended.errors.splitlines()]
    hw.need({line["schema"] for line in lines} == {"heapwise.check/1"}, str(lines))
    rows = [row for line in lines if line["event"] == "errors" for row in line["errors"]]
    hw.need([row["kind"] for row in rows] == ["InvalidWrite", "InvalidRead"], str(rows))
    hw.need(rows[0]["block"]["offset"] == 10 and functions(rows[0]["block"]["allocated_at"])[0] == "make", str(rows[0]))
    end = lines[-1]
    hw.need(end["event"] == "end" and end["sums"]["errors"] == 4 and end["sums"]["different"] == 2, str(end))
    hw.need(end["coverage"]["blocks"] == 1204, str(end))


@TESTS.test
def statuses(folder):
    """The exit status is the program's, or --error-exitcode if there are errors"""
    hw.need(check(folder, "write")[0].status == 0, "not the program's status")
    hw.need(check(folder, "write", options=["--error-exitcode=9"])[0].status == 9, "errors, but not 9")
    hw.need(check(folder, "sums", options=["--error-exitcode=9"])[0].status == 0, "9 without errors")
    ended = hw.run([hw.HEAPWISE, "check", "--", "sh", "-c", "exit 7"])
    hw.need(ended.status == 7, str(ended))
    ended = hw.run([hw.HEAPWISE, "check", "--", "sh", "-c", "kill -USR1 $$"])
    hw.need(ended.status == -signal.SIGUSR1, str(ended))


@TESTS.test
def nothing_left(folder):
    """Without --output no recording is left"""
    ended = hw.run([hw.HEAPWISE, "check", "--", str(REPORTS), "write"], cwd=folder,
                   env=hw.clean_environment(TMPDIR=str(folder)))
    hw.need("InvalidWrite" in ended.errors, str(ended))
    hw.need(not list(folder.iterdir()), f"left: {list(folder.iterdir())}")


@TESTS.test
def killed_program(folder):
    """An error right before SIGKILL is in the recording and is printed"""
    ended, path = check(folder, "killed")
    hw.need(ended.status == -signal.SIGKILL, str(ended))
    hw.need(ended.errors.count("Invalid write of size 4") == 1, ended.errors)
    only(answer(path)["errors"], "InvalidWrite")


def collector_of(path):
    """The process that writes the recording."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(fd) == str(path) for fd in (process / "fd").iterdir()):
                return int(process.name)
        except OSError:
            continue
    return None


@TESTS.test
def killed_collector(folder):
    """An error is printed while the program runs, and survives a SIGKILL of the collector"""
    path = folder / "check.hpw"
    with subprocess.Popen([hw.HEAPWISE, "check", "-o", path, "--", REPORTS, "waits"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=hw.clean_environment()) as process:
        lines = []
        while not lines or "Invalid write of size 4" not in lines[-1]:
            lines.append(process.stderr.readline())
            hw.need(lines[-1], f"it ended without printing the error: {lines}")
        collector = collector_of(path)
        hw.need(collector, "nobody writes the recording")
        os.kill(collector, signal.SIGKILL)
        process.stdin.write("go on\n")
        process.stdin.close()
        rest = process.stderr.read()
        hw.need("the collector was killed" in rest, rest)
        hw.need("Invalid write of size 4" not in rest, f"printed twice: {rest}")
        hw.need(process.wait() == 0, "not the program's status")
    only(answer(path)["errors"], "InvalidWrite")


@TESTS.test
def ended_child(folder):
    """An error of a child that has ended is printed while its parent goes on"""
    script = f"{REPORTS} write; read line"
    with subprocess.Popen([hw.HEAPWISE, "check", "--", "sh", "-c", script], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=hw.clean_environment()) as process:
        lines = []
        while not lines or "Invalid write of size 4" not in lines[-1]:
            lines.append(process.stderr.readline())
            hw.need(lines[-1], f"it ended without printing the error: {lines}")
        process.stdin.write("go on\n")
        process.stdin.close()
        rest = process.stderr.read()
        hw.need("Invalid write of size 4" not in rest and "1 error" in rest, rest)


@TESTS.test
def threads(folder):
    """Reports of threads are merged, and all count"""
    _, path = check(folder, "threads", 500)
    only(answer(path)["errors"], "InvalidWrite", 2000)


@TESTS.test
def children(folder):
    """A forked child's errors are in its own recording, and are printed with its name and number"""
    ended, path = check(folder, "forks", 3)
    names = set(re.findall(r"\[Invalid(?:Read|Write), (\S+ \(\d+\))", ended.errors))
    hw.need(len(names) == 2, f"{names}: {ended.errors}")
    other = [one for one in folder.glob("check.*.hpw")]
    hw.need(len(other) == 1, f"{other}")
    only(answer(other[0])["errors"], "InvalidRead", 3)
    only(answer(path)["errors"], "InvalidWrite", 3)


@TESTS.test
def exact_place(folder):
    """A fault at a function's first instruction is of that function, not of the one before it"""
    ended, path = check(folder, "fault", 2)
    hw.need(ended.status == 0, str(ended))
    row = only(answer(path)["errors"], "InvalidRead", 2)
    hw.need(functions(row["stacks"][0]["stack"])[:2] == ["touch", "fault"], f"{row['stacks'][0]}")
    hw.need(row["block"] is None and row["access"]["address"] == "0x10", f"{row}")


@TESTS.test
def bounded(folder):
    """More different errors than a recording keeps are counted, and it is said"""
    ended, path = check(folder, "many", KEPT + 7, "sums")
    hw.need(taken(ended) == KEPT + 7, str(ended))
    document = answer(path)
    hw.need(document["errors_total"] == KEPT and document["coverage"]["left_out"] == 7, f"{document['coverage']}")
    hw.need("7 reports of further, different errors" in ended.errors, ended.errors[-600:])


@TESTS.test
def hostile(folder):
    """Nonsense in reports harms nothing: unknown kinds are no errors, texts that are no names are dropped"""
    ended, path = check(folder, "nonsense", 3)
    hw.need(ended.status == 0, str(ended))
    row = only(answer(path)["errors"], "MismatchedFree", 3)
    hw.need("\x1b" not in ended.errors and row["stacks"][0]["stack"] == [], f"{row}")
    hw.need("an unknown free function of a block from another function" in row["what"], row["what"])


@TESTS.test
def with_heap(folder):
    """With --mode exact the heap is recorded too, and its figures are as ever"""
    _, path = check(folder, "write", 2, "sums", options=["--mode", "exact"])
    only(answer(path)["errors"], "InvalidWrite", 2)
    hw.need(hw.report(path)["totals"]["allocations"] >= 1, "no allocations")


@TESTS.test
def anonymized(folder):
    """A copy without names keeps the errors, their blocks and what was looked at"""
    _, path = check(folder, "overlap", "sums")
    bundle = folder / "x.hwb"
    ended = hw.heapwise("bundle", "--anonymize", "-o", bundle, path)
    hw.need(ended.status == 0, str(ended))
    document = answer(bundle)
    row = only(document["errors"], "Overlap")
    hw.need("memcpy" not in json.dumps(document) and row["access"]["address"], f"{row}")
    hw.need(document["coverage"]["blocks"] == 1204, f"{document['coverage']}")


@TESTS.test
def wrong_usage(folder):
    """Options that make no sense are refused in a sentence"""
    for option, words in (("--align=3", "1, 2, 4, 8 or 16"), ("--errors=some", "all or first"),
                          ("--backend=magic", "auto"), ("--seed=xyz", "hexadecimal"), ("--mode=sample", "exact"),
                          ("--kill-on-error=NOPE", "a signal"), ("--before=101", "from 0 to 100")):
        ended = hw.heapwise("check", option, "true")
        hw.need(ended.status == 125 and words in ended.errors, f"{option}: {ended}")


@TESTS.test
def not_started(folder):
    """What can't be started is one sentence, and the file that is there stays as it is"""
    path = folder / "kept.hpw"
    path.write_bytes(b"kept")
    for words, status, says in ((["-o", path, "true"], 125, "already exists"), (["./none"], 127, "No such file"),
                                (["--log-file", folder / "none/log", "true"], 125, "can't write")):
        ended = hw.heapwise("check", *words, cwd=folder)
        hw.need(ended.status == status and says in ended.errors and len(ended.errors.splitlines()) == 1, f"{words}: {ended}")
    hw.need(path.read_bytes() == b"kept", "it was replaced")


TESTS.main()
