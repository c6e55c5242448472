#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Marks: what programs set with heapwise/client.h and people with `heapwise mark`, and ranges between them."""

import contextlib
import os
import random
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
MARKS = hw.TARGETS / "marks"
MARKS_CC = hw.TARGETS / "marks_cc"
LIBRARY = hw.BUILD / "src/runtime/libheapwise-rt.so"
EXPORTED = {"heapwise_rt_request", "heapwise_rt_start", "heapwise_rt_stop", "heapwise_rt_dump", "heapwise_rt_ignore",
            "heapwise_rt_block_alloc", "heapwise_rt_block_free", "heapwise_rt_is_recording", "heapwise_rt_mark", "heapwise_rt_lsan_check", "heapwise_rt_lsan_function",
            "heapwise_rt_lsan_join", "heapwise_rt_lsan_annotate", "heapwise_rt_heap_check", "heapwise_rt_leak_check", "heapwise_rt_leak_check_cancel",
            "heapwise_rt_check_stack", "heapwise_rt_check_report", "heapwise_rt_check_sums", "heapwise_rt_check_is_passed_by",
            *(f"heapwise_rt_pool_{name}" for name in ("create", "alloc", "free", "reset", "destroy", "trim", "move", "exists"))}
SITE = "site_marked"
RANGES = 60


def of_site(report, figure):
    return sum(s[figure] for s in report["sites"] if s["stack"] and s["stack"][0].get("function") == SITE)


def rows(text, word):
    """What the target says: {numbers that name the row: figures}."""
    names = 1 if word == "mark" else 2
    found = (tuple(map(int, line.split()[2:])) for line in text.splitlines() if line.startswith(f"# {word} "))
    return {row[:names]: row[names:] for row in found}


def need_same(what, found, expected):
    hw.need(found == expected, f"{what}: {found}, the program says {expected}")


def recorded(folder, *options):
    """The target's own words, and its recording."""
    file = folder / "x.hpw"
    ended = hw.record([MARKS], file, options=("-q", "-f", *options))
    hw.need(ended.status == 0 and "# recorded 1" in ended.text and "# child 0" in ended.text, f"{ended} {ended.text[-200:]}")
    return ended.text, file


@TESTS.test
def lives_at_marks(folder):
    """What is live at a mark is what the program knows to be, in threads and under signal handlers"""
    text, file = recorded(folder)
    marks = rows(text, "mark")
    hw.need(len(marks) == 64, f"{len(marks)} marks")
    for (number,), figures in marks.items():
        report = hw.report(file, "--view", "sites", "--at", f"mark:mark {number}")
        need_same(f"mark {number}", (of_site(report, "live_bytes"), of_site(report, "live_blocks")), figures)


@TESTS.test
def ranges(folder):
    """Between two marks: what is allocated, what of it is kept, and the most that was live, are the program's"""
    text, file = recorded(folder)
    found = rows(text, "range")
    chosen = random.Random(1).sample(sorted(found), RANGES) + [(0, 63), (0, 1), (62, 63)]
    for first, last in chosen:
        report = hw.report(file, "--view", "sites", "--from", f"mark:mark {first}", "--to", f"mark:mark {last}")
        got = tuple(of_site(report, figure) for figure in ("allocated_bytes", "kept_bytes", "peak_bytes"))
        need_same(f"from mark {first} to mark {last}", got, found[first, last])


@TESTS.test
def ranges_without_sums(folder):
    """The same where the recording has events alone, no sums of them"""
    text, file = recorded(folder, "--ring", "64M")
    for first, last in random.Random(2).sample(sorted(rows(text, "range")), 8):
        report = hw.report(file, "--view", "sites", "--from", f"mark:mark {first}", "--to", f"mark:mark {last}")
        got = tuple(of_site(report, figure) for figure in ("allocated_bytes", "kept_bytes", "peak_bytes"))
        need_same(f"from mark {first} to mark {last}", got, rows(text, "range")[first, last])


def has(file, name, nth=1):
    """Whether the recording has so many marks of that name."""
    return hw.run([hw.HEAPWISE, "report", "--at", f"mark:{name}#{nth}", file]).status == 0


@TESTS.test
def names(folder):
    """Handlers' marks stand as often as they were set; a name is cut at 255 bytes; none is no mark, nor one of ours"""
    _, file = recorded(folder)
    for name in ("handler", "inner"):
        hw.need(has(file, name, 16) and not has(file, name, 17), f"there are not 16 marks '{name}'")
    hw.need(has(file, "x" * 255) and not has(file, "x" * 254) and not has(file, "x" * 256), "a long name")
    hw.need(not has(file, "fork:7"), "the program has set a fork's mark")
    ended = hw.run([hw.HEAPWISE, "report", "--at", "mark:none", file])
    hw.need(ended.status == 3 and "it has 'mark 0', 'mark 1'" in ended.errors, str(ended))
    hw.need(ended.errors.count("'handler'") <= 1, f"a name is listed for each of its marks: {ended}")
    ended = hw.run([hw.HEAPWISE, "report", "--at", "mark:mark 0#2", file])
    hw.need(ended.status == 3 and "1 mark named 'mark 0', not 2" in ended.errors, str(ended))


@TESTS.test
def processes(folder):
    """Marks before and after a fork, in the child and behind its exec stand in the recording of their process"""
    recorded(folder)
    files = sorted(folder.glob("x*.hpw"))
    hw.need(len(files) == 3, f"{files}")
    places = {"before fork": 1, "after fork": 1, "in child": 1, "after exec": 1}
    for name, count in places.items():
        found = [file for file in files if has(file, name)]
        hw.need(len(found) == count, f"'{name}' is in {[file.name for file in found]}")
    hw.need(has(folder / "x.hpw", "before fork") and has(folder / "x.hpw", "after fork"), "the parent's marks")
    before, after = (hw.report(folder / "x.hpw", "--at", f"mark:{name} fork")["totals"] for name in ("before", "after"))
    hw.need(before["live_bytes_at_end"] == after["live_bytes_at_end"], f"{before} {after}")


@TESTS.test
def listed(folder):
    """The view of marks has each of them, when it was, and what was live as --at says, by sums and by events"""
    _, file = recorded(folder)
    report = hw.report(file, "--view", "marks")
    marks = report["marks"]
    need_same("marks", (report["marks_total"], len(marks), report["recording"]["marks"]), (64 + 2 * 16 + 4,) * 3)
    times = [m["time_ns"] for m in marks]
    hw.need(times == sorted(times) and 0 < times[0] < times[-1] <= report["recording"]["duration_ns"], f"{times}")
    hw.need(len(set(times)) > 60, "marks have no times of their own")
    need_same("changes", [m["change_bytes"] for m in marks][1:], [b["live_bytes"] - a["live_bytes"] for a, b in zip(marks, marks[1:])])
    for row in random.Random(3).sample(marks, 10):
        at = hw.report(file, "--at", f"mark:{row['name']}#{row['nth']}")
        need_same(f"{row}", (row["live_bytes"], row["live_blocks"], row["time_ns"]),
                  (at["totals"]["live_bytes_at_end"], at["totals"]["live_blocks_at_end"], at["recording"]["range"]["to_ns"]))
    part = hw.report(file, "--view", "marks", "--from", "mark:mark 5", "--to", "mark:mark 6")["marks"]
    need_same("marks in a range", {m["name"] for m in part} - {"handler", "inner"}, {"mark 5", "mark 6"})


@TESTS.test
def listed_by_events(folder):
    """The same list, but for times, of a recording that has events alone"""
    _, file = recorded(folder, "--ring", "64M")
    marks = hw.report(file, "--view", "marks")["marks"]
    hw.need(len(marks) == 64 + 2 * 16 + 4, f"{len(marks)} marks")
    for row in random.Random(4).sample(marks, 10):
        at = hw.report(file, "--at", f"mark:{row['name']}#{row['nth']}")["totals"]
        need_same(f"{row}", (row["live_bytes"], row["live_blocks"]), (at["live_bytes_at_end"], at["live_blocks_at_end"]))


@TESTS.test
def listed_as_text(folder):
    """As text the list has names as --at takes them; without marks it says who sets them; a summary says how many there are"""
    _, file = recorded(folder)
    ended = hw.run([hw.HEAPWISE, "report", "--view", "marks", "--limit", "6", file])
    lines = ended.text.splitlines()
    hw.need(ended.status == 0 and lines[-1] == "  … 94 more marks" and lines[-2].endswith("  mark 3"), ended.text)
    one = hw.run([hw.HEAPWISE, "report", "--view", "marks", "--limit", "99", file])
    hw.need(one.text.endswith("\n  … 1 more mark\n"), one.text)
    hw.need(lines[-3].endswith("  inner") and re.search(r"after +live +change +blocks +mark$", ended.text, re.MULTILINE), ended.text)
    hw.need("The recording has 100 marks (report --view marks)." in hw.run([hw.HEAPWISE, "report", file]).text, "the summary")
    for options in (("--sort", "live_bytes"), ("--merge",)):
        ended = hw.run([hw.HEAPWISE, "report", "--view", "marks", *options, file])
        hw.need(ended.status == 2 and "marks " in ended.errors, str(ended))
    hw.record(["true"], folder / "none.hpw")
    hw.need("No marks: heapwise_mark()" in hw.run([hw.HEAPWISE, "report", "--view", "marks", folder / "none.hpw"]).text, "no marks")


@TESTS.test
def modes(folder):
    """Samples have marks too; sums alone have none, and say so"""
    _, file = recorded(folder, "--mode", "sample")
    hw.need(has(file, "before fork") and has(file, "inner", 16), "a sampled recording has no marks")
    _, file = recorded(folder, "--mode", "aggregate")
    hw.need(not has(file, "before fork"), "sums have marks")


@TESTS.test
def unrecorded(folder):
    """Where nobody records a mark is the test of a pointer, and nothing is recorded"""
    ended = hw.run([MARKS])
    hw.need("# recorded 0" in ended.text and "# child 5" in ended.text, f"{ended} {ended.text[-200:]}")
    ended = hw.run([hw.need_program("objdump"), "-d", "--no-show-raw-insn", MARKS])
    code = re.search(r"<mark_alone>:\n(.*?)\n\n", ended.text, re.DOTALL).group(1)
    words = [line.split("\t")[1].split()[0] for line in code.splitlines() if line.count("\t")]
    words = [word for word in words if word not in ("endbr64", "nop")]
    hw.need([word[:3] for word in words[:3]] == ["mov", "tes", "je"], f"{words}")


@TESTS.test
def documented(folder):
    """The program and the commands that docs/moments.md shows do what it says"""
    text = (hw.SOURCE / "docs/moments.md").read_text()
    source = re.search(r"```c file=app.c\n(.*?)```", text, re.DOTALL).group(1)
    (folder / "app.c").write_text(source)
    commands = re.search(r"```sh\n(gcc .*?)```", text, re.DOTALL).group(1).splitlines()
    hw.need_program("gcc")
    for line in commands:
        words = line.split()
        words[0] = str(hw.HEAPWISE) if words[0] == "heapwise" else words[0]
        more = [f"-I{hw.SOURCE / 'include'}"] if words[0] == "gcc" else []
        ended = hw.run(words + more, cwd=folder)
        hw.need(ended.status == 0, f"{line}: {ended}")
    file = folder / "app.hpw"
    marks = hw.report(file, "--view", "marks")["marks"]
    need_same("marks", [(m["name"], m["nth"], m["live_bytes"]) for m in marks],
              [("request", 1, 0), ("request", 2, 1000), ("request", 3, 2000), ("served", 1, 3000)])
    totals = hw.report(file, "--from", "mark:request#2", "--to", "mark:served")["totals"]
    found = [totals[f] for f in ("allocations", "live_bytes_at_end", "kept_bytes", "peak_bytes")]
    need_same("allocated twice, live, kept, the peak", found, [4, 3000, 2000, 3000 + 5000])


@TESTS.test
def exports(folder):
    """The runtime exports what programs and the library beside it call, and nothing else of its own"""
    ended = hw.run([hw.need_program("nm"), "-D", "--defined-only", LIBRARY])
    found = {line.split()[-1] for line in ended.text.splitlines()}
    ours = {name for name in found if name.startswith(("heapwise", "rt_", "hw_"))}
    hw.need(ours == EXPORTED, f"{sorted(ours)}")


@contextlib.contextmanager
def program(folder, *arguments, before=(), options=()):
    """The other target under `heapwise run`, when it waits for a line."""
    process = subprocess.Popen([hw.HEAPWISE, "run", "-q", *options, "-o", folder / "x.hpw", "--", *before, MARKS_CC,
                                *map(str, arguments), folder],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True, env=hw.clean_environment())
    try:
        line = process.stdout.readline().decode()
        hw.need(line.startswith("# "), f"the target said {line!r}")
        yield process
        process.communicate(b"\n", timeout=60)
        hw.need(process.returncode == 0, f"status {process.returncode}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def number_of(folder):
    """Of the target, as this side sees it."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if words[0] == os.fsencode(MARKS_CC) and os.fsencode(folder) in words:
                return path.parent.name
    raise hw.Failure("the target is not there")


def mark(*words):
    return hw.run([hw.HEAPWISE, "mark", *words])


@TESTS.test
def all_lengths(folder):
    """Two threads that mark thousands of times: each name is whole, whatever its length"""
    with program(folder, 2550):
        pass
    for letter in "ab":
        for length in (1, 7, 8, 9, 16, 100, 248, 249, 255):
            hw.need(has(folder / "x.hpw", letter * length, 10), f"not 10 marks of {length} '{letter}'")
            hw.need(not has(folder / "x.hpw", letter * length, 11), f"too many marks of {length} '{letter}'")
    hw.need(hw.report(folder / "x.hpw")["recording"]["lost_events"] == 0, "events are lost")


@TESTS.test
def from_outside(folder):
    """heapwise mark: all that came before is before the mark, and it says when that was"""
    with program(folder, 10):
        pid = number_of(folder)
        first, second = mark(pid, "outside"), mark(pid, "outside")
        hw.need(first.status == 0 and re.match(r"marked 'outside' after [\d.]+ .?s of .*/x\.hpw\n$", first.text),
                f"{first} {first.text}")
        hw.need(second.status == 0, str(second))
        hw.need(mark(pid, "step#2").status == 0, "no mark with a number in its name")
    hw.need(has(folder / "x.hpw", "step#2"), "a name that ends in a number is not found")
    hw.need("  step#2#1\n" in hw.run([hw.HEAPWISE, "report", "--view", "marks", folder / "x.hpw"]).text, "as --at takes it")
    at = hw.report(folder / "x.hpw", "--view", "sites", "--at", "mark:outside#2")
    hw.need(at["totals"]["live_bytes_at_end"] >= 1001, f"{at['totals']}")
    after = hw.report(folder / "x.hpw", "--from", "mark:outside#2", "--to", "mark:end of main")
    hw.need(after["totals"]["allocations"] <= 2, f"{after['totals']}")  # stdin's buffer


@TESTS.test
def from_outside_in_namespace(folder):
    """A process in a PID namespace of its own is marked by its number here"""
    unshare = [hw.need_program("unshare"), "--pid", "--fork", "--mount", "--mount-proc"]
    if hw.run([*unshare, "true"]).status != 0:
        unshare.append("--map-root-user")
        if hw.run([*unshare, "true"]).status != 0:
            raise hw.Skip("no namespaces may be made here")
    with program(folder, 10, before=unshare):
        ended = mark(number_of(folder), "inside")
        hw.need(ended.status == 0, str(ended))
    found = [file for file in folder.glob("x*.hpw") if has(file, "inside")]
    hw.need(len(found) == 1, f"{found}")


@TESTS.test
def refused(folder):
    """What can't be marked is refused with the reason: no such process, not recorded, no name, a name of ours"""
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            ended = mark(str(other.pid), "x")
            hw.need(ended.status == 3 and "is not being recorded" in ended.errors, str(ended))
        finally:
            other.kill()
    ended = mark(str(other.pid), "x")
    hw.need(ended.status == 3 and str(other.pid) in ended.errors, str(ended))
    for words, reason in ((("1", ""), "needs a name"), (("1", "x" * 256), "255 bytes"), (("1", "fork:1"), "heapwise's own"),
                          (("x", "y"), "not a PID"), (("1",), "expected a PID and a name"), ((), "expected a PID")):
        ended = mark(*words)
        hw.need(ended.status == 2 and reason in ended.errors, f"{words}: {ended}")
    with program(folder, 10, options=("--mode", "aggregate")):
        ended = mark(number_of(folder), "x")
        hw.need(ended.status == 4 and "has no events" in ended.errors, str(ended))


@TESTS.test
def collector_gone(folder):
    """A process whose collector has died is said to be one"""
    with program(folder, 10):
        pid = number_of(folder)
        collectors = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline")
                      if is_collector_of(path, folder)]
        hw.need(len(collectors) == 1, f"{collectors}")
        handle = os.pidfd_open(int(collectors[0]))
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            hw.need(select.select([handle], [], [], hw.TIMEOUT)[0], "the collector is not gone")
        finally:
            os.close(handle)
        ended = mark(pid, "x")
        hw.need(ended.status == 4 and "collector can't be reached" in ended.errors, str(ended))


def is_collector_of(path, folder):
    try:
        if os.readlink(path.parent / "exe") != str(hw.HEAPWISE):
            return False
        opened = [os.readlink(link) for link in (path.parent / "fd").iterdir()]
    except OSError:
        return False
    return any(name.startswith(str(folder)) and name.endswith(".hpw") for name in opened)


TESTS.main(width=2)
