#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Gates (`budget`, `leaks --error-exitcode`, `run --error-exitcode`, `diff --fail-on-growth`) fail, or say that they
cannot decide, wherever the figure they rest on isn't there."""

import json
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
UNDECIDED = 3  # of budget, leaks and diff
RUN_UNDECIDED = 125


def recorded(folder, program, *arguments, options=("-q",), name="a.hpw"):
    path = folder / name
    hw.record([program, *arguments], path, options=options)
    hw.need(path.exists(), f"{program} was not recorded")
    return path


def passes(path, *gate, status=0):
    ended = hw.heapwise(*gate, path)
    hw.need(ended.status == status, f"{gate}: expected {status}: {ended} {ended.text}")
    return ended


def searched_early(folder, *options):
    """A recording of the program, and what `leaks PID --json` said while it ran."""
    path = folder / "early.hpw"
    command = [hw.HEAPWISE, "run", "-q", "-f", *options, "-o", path, "--", hw.ANSWERS / "searched_early"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=hw.clean_environment()) as process:
        process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        pid = next(child for child in children if "searched_early" in Path(f"/proc/{child}/cmdline").read_text(encoding="ascii"))
        live = hw.heapwise("leaks", "--json", "--error-exitcode=7", pid)
        process.stdin.write(b"\n")
        process.stdin.close()
        process.wait()
    return path, live


@TESTS.test
def live_search(folder):
    """A search while the program ran says nothing of its end: no gate rests on it, no sentence takes it for the end"""
    path, live = searched_early(folder)
    found = json.loads(live.text)["leaks"]
    hw.need(live.status == 0 and found["decided"], f"the living process: {live}")
    never = found["summary"]["never_freed"]
    hw.need((never["bytes"], never["blocks"]) == (100, 1), f"{never} is of another moment than {found['summary']}")
    for gate in (("budget", "--fail-on", "definite"), ("budget", "--max-leak", "1G"), ("budget", "--max-leak-per-stack", "1G"),
                 ("leaks", "--error-exitcode=5")):
        ended = passes(path, *gate, status=UNDECIDED)
        hw.need("while the program ran" in ended.text + ended.errors, f"{gate}: {ended.text}")
    text = passes(path, "report").text
    hw.need("Of these, 100 B" not in text, f"of a block that was freed: {text}")
    shown = passes(path, "leaks", "--show-leak-kinds=all").text
    hw.need("No block is definitely lost.\n" not in shown and "while the program ran" in shown.split("\n\n")[1], shown)
    junit = xml.etree.ElementTree.fromstring(passes(path, "leaks", "--format=junit").text)
    hw.need(len(junit.findall("testsuite/testcase/error")) == 1 and junit.find("testsuite").get("errors") == "1", "JUnit passes")
    sarif = json.loads(passes(path, "leaks", "--format=sarif").text)
    hw.need(not sarif["runs"][0]["invocations"][0]["executionSuccessful"], "SARIF passes")
    hw.need("::error" in passes(path, "leaks", "--format=github").text, "the annotations pass")


@TESTS.test
def nothing_left(folder):
    """A program that freed everything passes the gates of leaks, also where nobody searched"""
    path = recorded(folder, hw.ANSWERS / "bad_frees", "none")
    for limit in (("--fail-on", "definite"), ("--fail-on", "all"), ("--max-leak", "1G"), ("--max-leak-per-stack", "1")):
        passes(path, "budget", *limit)


@TESTS.test
def later_search(folder):
    """The search at the end takes the place of the one while the program ran"""
    path, _ = searched_early(folder, "--leak-check=full", "--show-leak-kinds=none")
    hw.need(json.loads(passes(path, "budget", "--json", "--fail-on", "definite", status=1).text)["checks"][0]["value"] == 10000000,
            "what it lost later is not counted")


@TESTS.test
def unseen_malloc(folder):
    """A malloc of the executable's own is not searched: nothing passes for that"""
    path = recorded(folder, hw.TARGETS / "own_malloc", options=("-q", "--leak-check=full"))
    for gate, why in ((("budget", "--fail-on", "definite"), "allocator of its own"), (("budget", "--max-peak", "1G"), "has its own malloc"),
                      (("leaks", "--error-exitcode=5"), "allocator of its own")):
        ended = passes(path, *gate, status=UNDECIDED)
        hw.need(why in ended.text + ended.errors, f"{gate}: {ended.text}")
    hw.need("no leaks are possible" not in passes(path, "leaks").text, "it was not searched")
    hw.need("no leaks are possible" not in passes(path, "leaks", "--format=memcheck").text, "it was not searched, as memcheck")
    junit = xml.etree.ElementTree.fromstring(passes(path, "leaks", "--format=junit").text)
    hw.need(junit.find("testsuite").get("errors") == "1", "JUnit passes")
    ended = hw.heapwise("run", "-q", "-f", "-o", path, "--leak-check=full", "--error-exitcode=5", "--", hw.TARGETS / "own_malloc")
    hw.need(ended.status == RUN_UNDECIDED and "cannot be decided" in ended.errors, f"run: {ended}")


@TESTS.test
def samples(folder):
    """An estimate is judged by its range: kept if its upper end is, exceeded if its lower end is, undecided between"""
    path = recorded(folder, hw.ANSWERS / "moved_leak", "1", "1", options=("-q", "--mode=sample:8192"))
    low, high = hw.report(path)["totals"]["ranges"]["live_bytes_at_end"]
    value = hw.report(path)["totals"]["live_bytes_at_end"]
    hw.need(low < value < high, f"{low} {value} {high}")
    for limit, status in ((high, 0), (high - 1, UNDECIDED), (value, UNDECIDED), (low, UNDECIDED), (low - 1, 1)):
        ended = passes(path, "budget", "--json", "--max-never-freed", str(limit), status=status)
        check = json.loads(ended.text)["checks"][0]
        hw.need(check["range"] == [low, high] and check["value"] == value, f"{check}")
    text = passes(path, "budget", "--max-never-freed", str(value), status=UNDECIDED).text
    hw.need(" to " in text and "range of the estimate" in text, text)
    exact = recorded(folder, hw.ANSWERS / "moved_leak", name="none.hpw")
    passes(path, "diff", "--fail-on-growth", str(value), exact, status=UNDECIDED)
    passes(path, "diff", "--fail-on-growth", str(2 * high), exact)
    passes(path, "diff", "--fail-on-growth", "1", exact, status=1)


@TESTS.test
def unsearched(folder):
    """Without a search, or of processes that have none, a status for leaks is no 0"""
    path = recorded(folder, hw.ANSWERS / "moved_leak", "1", "0")
    passes(path, "leaks", "--error-exitcode=5", status=UNDECIDED)
    passes(path, "leaks")
    clean = recorded(folder, hw.ANSWERS / "moved_leak", name="clean.hpw")
    passes(clean, "leaks", "--error-exitcode=5")
    gate = ("run", "-q", "-f", "-o", folder / "%p.hpw", "--leak-check=full", "--error-exitcode=9")
    for script, status in (("exec true", 0), ("sh -c 'kill -9 $$'; true", RUN_UNDECIDED), ("sh -c 'kill -9 $$'; exit 4", 4)):
        ended = hw.heapwise(*gate, "--", "sh", "-c", script)
        hw.need(ended.status == status, f"{script}: {ended}")


@TESTS.test
def gone_on(folder):
    """A program that made way for another (exec) is not the whole of the process: its recording alone keeps no limit, the other's does"""
    path = recorded(folder, "env", hw.ANSWERS / "moved_leak", "1", "0")
    later = next(p for p in folder.glob("*.hpw") if p != path)
    gates = [("budget", f"--max-{of}", "1G") for of in ("peak", "never-freed", "allocations", "growth")]
    gates[-1] += ("--baseline", path)
    gates += [("budget", "--max-never-freed", "0"), ("leaks", "--error-exitcode=5"), ("budget", "--fail-on", "definite")]
    for gate in gates:
        ended = passes(path, *gate, status=UNDECIDED)
        words = "no leak search" if gate in gates[-2:] else "executed another program"
        hw.need(words in ended.text + ended.errors, f"{gate}: {ended}")
    passes(path, "budget", "--max-peak", "1", status=1)
    passes(later, "budget", "--max-peak", "1G")
    passes(later, "budget", "--max-never-freed", "0", status=1)


@TESTS.test
def in_progress(folder):
    """A recording that goes on decides nothing that its end could change"""
    path = folder / "early.hpw"
    command = [hw.HEAPWISE, "run", "-q", "-f", "-o", path, "--", hw.ANSWERS / "searched_early"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hw.clean_environment()) as process:
        process.stdout.readline()
        for limit in ("--max-peak", "--max-never-freed", "--max-allocations", "--max-per-stack"):
            passes(path, "budget", limit, "1G", status=UNDECIDED)
        process.stdin.write(b"\n")
        process.stdin.close()
        process.wait()
    passes(path, "budget", "--max-peak", "1G")


@TESTS.test
def whole_time(folder):
    """What a ring, a limited file or an aggregate leaves out are events: their totals are of the whole time"""
    for options in (("--mode=aggregate",), ("--ring=64K",), ("--max-file=64K",)):
        path = recorded(folder, hw.ANSWERS / "moved_leak", "1", "1", options=("-q", "-f", *options))
        for limit, value in (("--max-never-freed", 81920), ("--max-per-stack", 40960), ("--max-allocations", 20)):
            passes(path, "budget", limit, str(value))
            passes(path, "budget", limit, str(value - 1), status=1)
        passes(path, "budget", "--max-peak", "81919", status=1)


def of_many(folder, what, *options):
    """The gate of a run of twenty processes."""
    (folder / what).mkdir(exist_ok=True)
    program = hw.ANSWERS / "leaves_blocks"
    script = "; ".join([f"{program} {what}"] * 20)
    return hw.heapwise("run", "-q", "-f", "--leak-check=full", "--error-exitcode=9", "--children=leaves_blocks", *options,
                       "-o", folder / what / "x.hpw", "--", "sh", "-c", script)


@TESTS.test
def many_processes(folder):
    """Of more processes than are shown each was searched, and that decides: blocks that are held are no leaks"""
    ended = of_many(folder, "hold")
    hw.need(ended.status == 0 and "cannot be decided" not in ended.errors, f"{ended}")
    hw.need(of_many(folder, "hold", "--errors-for-leak-kinds=all").status == 9, "blocks that are held are errors")
    known = folder / "known.supp"
    known.write_text("{\n known\n Memcheck:Leak\n ...\n fun:main\n}\n", encoding="ascii")
    hw.need(of_many(folder, "lose").status == 9, "leaks are errors")
    ended = of_many(folder, "lose", f"--suppressions={known}")
    hw.need(ended.status == 125 and "not compared with suppressions" in ended.errors, f"{ended}")


@TESTS.test
def unheard_children(folder):
    """A child that could tell nobody that it is there was not searched: no gate passes for that"""
    command = ("run", "-q", "-f", "-o", folder / "x.hpw", "--leak-check=full", "--error-exitcode=9", "--", hw.ANSWERS / "starts_unheard")
    ended = hw.heapwise(*command, "files")
    hw.need(ended.status == RUN_UNDECIDED and "1 process that the program started was not searched" in ended.errors, f"{ended}")


@TESTS.test
def forked_children(folder):
    """A child's blocks that no inherited memory holds are judged; of others it can't be decided"""
    for how, status in (("global", 0), ("lose", 9), ("inherited", RUN_UNDECIDED)):
        ended = hw.heapwise("run", "-q", "-f", "-o", folder / f"{how}.hpw", "--leak-check=full", "--error-exitcode=9", "--",
                            hw.ANSWERS / "forked_keeps", how)
        hw.need(ended.status == status, f"{how}: expected {status}: {ended} {ended.errors}")


@TESTS.test
def by_number(folder):
    """What a program starts, or ends by, through the number of a system call is seen as by libc's functions"""
    gate = ("run", "-q", "--leak-check=full", "--error-exitcode=9", "-o")
    for number, (status, *arguments) in enumerate((
        (9, "exec", hw.ANSWERS / "leaves_blocks", "lose"), (0, "exec", hw.ANSWERS / "leaves_blocks"),
        (9, "execat", hw.ANSWERS / "leaves_blocks", "lose"), (9, "fork", hw.ANSWERS / "leaves_blocks", "lose"),
        (0, "fails"), (9, "end"),
    )):
        ended = hw.heapwise(*gate, folder / f"{number}.hpw", "--", hw.ANSWERS / "starts_unheard", *arguments)
        hw.need(ended.status == status, f"{arguments}: expected {status}: {ended} {ended.errors}")


TESTS.main()
