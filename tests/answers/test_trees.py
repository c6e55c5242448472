#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Process trees: chains of forks, what each process began with, what searches of children cost, and which recording
of a run is meant."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw
from sessions import environment, wait_sessions

TESTS = hw.Tests()
CHAIN = hw.ANSWERS / "fork_chain"


def record(folder, *command, options=("-q",), **more):
    ended = hw.record(command, folder / "x.hpw", options=options, all_processes=False, env=environment(folder), **more)
    wait_sessions(folder)
    hw.need(ended.status == 0, f"{ended} {ended.text}")
    return ended


def tree_of(folder):
    return json.loads(hw.ask("report", folder, "--json"))


def chain(name, blocks, *freed):
    def test(folder):
        ended = record(folder, CHAIN, str(blocks), *map(str, freed))
        pid, processes, left = map(int, ended.text.split())
        tree = tree_of(folder)
        hw.need(tree["processes"] == processes, f"{tree['processes']} processes, {processes} in truth")
        depth = next(row["depth"] for row in tree["recordings"] if row["pid"] == pid)
        hw.need(depth == processes - 1, f"the last is at depth {depth}")
        report = hw.report(folder / f"x.{pid}.hpw", "--view", "inherited")
        inherited = report["inherited"]
        hw.need(inherited, f"not known: {report['notes']}")
        hw.need(inherited["left_blocks"] == left, f"{left} in truth: {inherited}")
        hw.need(inherited["blocks"] - inherited["freed_blocks"] == left, f"{inherited}")
        said = hw.ask("report", folder / f"x.{pid}.hpw")
        hw.need(f"It inherited {left} blocks of " in said, said)

    TESTS.add(f"Forks of forks: {name}", test)


chain("one in between does nothing", 50, 0)
chain("four in between do nothing", 50, 0, 0, 0, 0)
chain("each frees some", 100, 31, 5, 0, 7)
chain("the first does nothing, the next frees", 60, 0, 12)


@TESTS.test
def children_that_keep_nothing(folder):
    """--leak-check: a forked child that ends without a block of its own costs no search, and has no leaks"""
    ended = record(folder, hw.ANSWERS / "forked_leaks", "12", "4", options=("-q", "--leak-check=summary"))
    losers = {int(line) for line in ended.text.split()}
    hw.need(len(losers) == 3, ended.text)
    for path in sorted(folder.glob("x.*.hpw")):
        found = json.loads(hw.ask("leaks", path, "--json"))["leaks"]
        pid = int(path.name.split(".")[1])
        if pid in losers:
            kinds = found["summary"]
            hw.need(found["search"]["moment"] == "exit", f"{found['search']}")
            hw.need((kinds["definite"]["blocks"], kinds["definite"]["bytes"]) == (1, 331), f"{kinds}")
            hw.need((kinds["reachable"]["blocks"], kinds["reachable"]["bytes"]) == (1, 77), f"{kinds}")
        else:
            hw.need(found["search"] is None, f"{path.name} was searched: {found['search']}")
            hw.need("Every block was freed." in hw.ask("leaks", path), hw.ask("leaks", path))


@TESTS.test
def children_that_leak_fail(folder):
    """--error-exitcode: leaks of one forked child of many are told, and none where there are none"""
    options = ("-q", "--leak-check", "--error-exitcode=9")
    program = hw.ANSWERS / "forked_leaks"
    for lost, status in (("5", 9), ("0", 0)):
        ended = hw.record([program, "6", lost], folder / f"{lost}.hpw", options=options, env=environment(folder))
        hw.need(ended.status == status, f"one of {lost} leaks: {ended}")


SMALL_KEPT = 4  # as src/capture/collector/small.h


def script_of(folder, lines, name="script"):
    path = folder / name
    path.write_text("#!/bin/sh\n" + lines)
    path.chmod(0o755)
    return path


PIPES = "echo a,b | sed s/a/c/\necho hello | grep ell\necho a:b | cut -d: -f1\nexit 0\n"


def figures(row):
    """What a row says of a process that does the same each time."""
    return row["program"], row["forked"], row["allocations"], row["allocated_bytes"], str(row["exit"])


@TESTS.test
def few_files_of_scripts(folder):
    """A script of four lines leaves few files, and the table has all processes with their totals and ends"""
    script = script_of(folder, PIPES)
    trees = {}
    for name, options in (("few", ("-q",)), ("all", ("-q", "--all-processes"))):
        (folder / name).mkdir()
        trees[name] = (record(folder / name, script, options=options), tree_of(folder / name))
    hw.need(trees["few"][0].text == trees["all"][0].text, "the script does something else")
    few, whole = (tree["recordings"] for _, tree in trees.values())
    hw.need(len(list((folder / "all").glob("*.hpw"))) == len(whole), "a file is missing")
    hw.need(all(row["own_file"] for row in whole), "a row with --all-processes")
    hw.need(len(list((folder / "few").glob("*.hpw"))) == 1 + SMALL_KEPT, "too many files")
    hw.need(sum(row["own_file"] for row in few) == 1 + SMALL_KEPT, f"{few}")
    hw.need(trees["few"][1]["processes"] == trees["all"][1]["processes"] == 7, "the number of processes")
    hw.need(sorted(map(figures, few)) == sorted(map(figures, whole)), f"{few} {whole}")
    for row in few:  # who started whom
        hw.need(row["depth"] == (0 if row["program"].startswith("/bin/sh") and not row["forked"] else 1), f"{row}")
    hw.need(trees["few"][1]["totals"]["allocations"] == sum(row["allocations"] for row in few), "the sum")
    said = hw.ask("report", folder / "few")
    hw.need(f"{1 + SMALL_KEPT} recordings of 7 processes; 5 small ones have no file, their totals are in others'" in said,
            said)
    hw.need(said.count(" in x.hpw: ") == 5, said)
    merged = hw.ask("report", "--merge", *sorted((folder / "few").glob("*.hpw")))
    hw.need("5 small processes of these runs, which allocated " in merged, merged)
    main = folder / "few" / "x.hpw"
    hw.ask("bundle", "--anonymize", "-o", folder / "nameless.tar", main)
    merged = hw.ask("report", "--merge", main, folder / "nameless.tar")
    hw.need("10 small processes of these runs, which allocated " in merged, f"some are not in the bundle: {merged}")


@TESTS.test
def rows_are_said(folder):
    """run says how many recordings have no file and where they are told; the number of processes stays the true one"""
    ended = record(folder, script_of(folder, PIPES), options=())
    hw.need("recordings of 7 processes" in ended.errors, ended.errors)
    hw.need("5 small recordings have no file of their own: their totals are in " in ended.errors, ended.errors)


@TESTS.test
def what_matters_keeps_its_file(folder):
    """Processes that failed, crashed, or allocated much keep their files however many there are"""
    lines = "(exit 3)\nsh -c 'kill -SEGV $$'\nperl -e '$x = q(x) x 3000000'\n" + 3 * PIPES.replace("exit 0\n", "")
    record(folder, script_of(folder, lines + "exit 0\n"))
    rows = tree_of(folder)["recordings"]
    ends = {str(row["exit"]) for row in rows if not row["own_file"]}
    hw.need(ends == {"{'code': 0}", "{'exec': True}"}, f"rows ended with {ends}")
    kept = [row for row in rows if row["own_file"]]
    for wanted in ({"signal": 11}, {"code": 3}):
        hw.need(any(row["exit"] == wanted for row in kept), f"none with {wanted}: {rows}")
    hw.need(any(row["peak_bytes"] > 3000000 for row in kept), f"{kept}")
    hw.need(len(kept) < 12, f"{len(kept)} files")


@TESTS.test
def gates_over_trees(folder):
    """--error-exitcode over a tree of many processes: decided, and a leak of one child is found"""
    options = ("-q", "--leak-check", "--error-exitcode=9")
    for lost, status in (("25", 9), ("0", 0)):
        ended = hw.record([hw.ANSWERS / "forked_leaks", "30", lost], folder / f"{lost}.hpw", options=options,
                          all_processes=False, env=environment(folder))
        hw.need(ended.status == status, f"one of {lost} leaks: {ended}")
    wait_sessions(folder)
    hw.need(len(list(folder.glob("0.*hpw"))) == 1 + SMALL_KEPT, f"{list(folder.iterdir())}")


SMALL = hw.ANSWERS / "forked_small"


@TESTS.test
def wrong_frees_keep_their_file(folder):
    """A small process that freed a block twice keeps its file, with the error"""
    pid = int(record(folder, SMALL, "12", "1000", "twice", "3").text)
    said = hw.ask("report", folder / f"x.{pid}.hpw", "--view", "errors")
    hw.need("DoubleFree" in said, said)
    hw.need(len(list(folder.glob("*.hpw"))) == 2 + SMALL_KEPT, "others should be rows")


@TESTS.test
def searches_keep_their_file(folder):
    """A small process that asked for a search keeps its file, with what was found"""
    pid = int(record(folder, SMALL, "12", "1000", "asks", "3").text)
    search = json.loads(hw.ask("leaks", folder / f"x.{pid}.hpw", "--json"))["leaks"]["search"]
    hw.need(search, "the search is lost")
    hw.need(len(list(folder.glob("*.hpw"))) == 2 + SMALL_KEPT, "others should be rows")


def gate_of_many(name, status, options, *command):
    def test(folder):
        ended = hw.record(command, folder / "x.hpw", options=("-q", "--error-exitcode=9", *options), all_processes=False,
                          env=environment(folder))
        hw.need(ended.status == status, f"{ended}")

    TESTS.add(f"More processes than are named: {name}", test)


gate_of_many("one leaks less than the others allocate", 9, ("--leak-check",), SMALL, "30", "200000", "loses", "20")
gate_of_many("one frees a block twice", 9, (), SMALL, "30", "200000", "twice", "20")
gate_of_many("what is never freed is no error unless asked for", 0, ("--all-processes",), "sh", "-c",
             "for i in $(seq 20); do ls; done")


@TESTS.test
def more_than_a_thousand(folder):
    """However many small processes there are, few files stay"""
    record(folder, SMALL, "1100", "10", "", "0")
    tree = tree_of(folder)
    files = [row for row in tree["recordings"] if row["own_file"]]
    hw.need(tree["processes"] == 1101, f"{tree['processes']} processes: {files}")
    hw.need(len(list(folder.glob("*.hpw"))) == 1 + SMALL_KEPT, f"{len(files)} files: {files}")


@TESTS.test
def ended_make_room(folder):
    """However few processes the collector takes at a time, those that have ended are none of them, asked for or not"""
    limited = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]
    for what, children in (("late", 100), ("", 600)):
        path = folder / f"{what}x" / "a.hpw"
        path.parent.mkdir()
        ended = hw.run([*limited, hw.HEAPWISE, "run", "-o", path, "--", SMALL, str(children), "10", what, "0"], env=environment(folder))
        hw.need(ended.status == 0 and "at a time" not in ended.errors, f"{ended}")
        tree = tree_of(path.parent)
        hw.need(tree["processes"] == children + 1, f"{tree['processes']}")
    wait_sessions(folder)


@TESTS.test
def forked_from_a_row(folder):
    """What a kept recording names as its parent's is kept"""
    ended = record(folder, "/bin/sh", "-c", f"{PIPES.replace('exit 0', ':')}{CHAIN} 50 0 3; exit 0")
    pid, _, left = map(int, ended.text.splitlines()[-1].split())
    inherited = hw.report(folder / f"x.{pid}.hpw", "--view", "inherited")["inherited"]
    hw.need(inherited and inherited["left_blocks"] == left, f"{inherited}")


def wrapped(name, *command):
    def test(folder):
        grow = "my @a = map { q(x) x 5000 } 1 .. 600; exit 0"
        hw.need_program(command[0])
        line = [part.replace("PROGRAM", f"perl -e '{grow}'") if " " in part else part for part in command]
        if line == list(command):
            at = line.index("PROGRAM")
            line[at:at + 1] = ["perl", "-e", grow]
        record(folder, *line)
        for ask in (("report",), ("leaks",), ("timeline",), ("flame",), ("budget", "--max-peak", "1G"),
                    ("export", "--format", "folded", "-o", "out")):
            ended = hw.heapwise(*ask, cwd=folder)
            rows = tree_of(folder)["recordings"]
            main = max(rows, key=lambda row: row["peak_bytes"])
            hw.need(main["program"].startswith("perl"), f"{main}")
            hw.need(f"reading {Path(main['file']).name}" in ended.errors, f"{ask}: {ended}")
            if len([row for row in rows if row["own_file"]]) > 1:
                hw.need("'heapwise report .' shows all" in ended.errors, f"{ask}: {ended}")
                hw.need("leaks" not in ask or "'heapwise leaks FILE…' the leaks of others" in ended.errors, f"{ended}")

    TESTS.add(f"The main program is shown: {name}", test)


wrapped("env", "env", "FOO=1", "PROGRAM")
wrapped("timeout", "timeout", "60", "PROGRAM")
wrapped("a shell", "sh", "-c", "PROGRAM; true")
wrapped("a shell that execs", "sh", "-c", "exec PROGRAM")
wrapped("nice", "nice", "PROGRAM")


@TESTS.test
def nameless(folder):
    """--anonymize names no other program of the run either, on standard error or anywhere"""
    path = folder / "a.hpw"
    ended = hw.record(["/bin/sh", "-c", "perl -e 'my @quokka = map { q(x) x 5000 } 1 .. 600'; :"], path, options=("-q", "--all-processes"))
    hw.need(ended.status == 0, f"{ended}")
    plain = hw.heapwise("report", path)
    hw.need("recordings of a run" in plain.errors and "quokka" in plain.errors, f"it is no case of it: {plain}")
    for words in (("report", "--anonymize", path), ("tree", "--anonymize", path), ("report", "--anonymize")):
        ended = hw.heapwise(*words, cwd=folder)
        hw.need(ended.status == 0 and "recordings of" in ended.errors and "quokka" not in ended.errors + ended.text, f"{words}: {ended}")


if __name__ == "__main__":
    TESTS.main(width=1)
