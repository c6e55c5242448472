#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Process trees: every process that a recorded program starts, and every program that a process becomes, has a
recording of its own, complete and exact. The target (tests/targets/processes/family.c) prints its leaves' PIDs, and each
leaf allocates a known number of blocks of a size that nobody else asks for."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from sessions import PERL, environment, wait_sessions

TESTS = hw.Tests()
FAMILY = hw.TARGETS / "family"
ONE_BLOCK = hw.TARGETS / "one_block"
LEAF_BLOCKS, LEAF_BYTES, LEAF_STATUS, INHERITED = 40, 3001, 7, 6  # as in family.c
OWN_BYTES, MIDDLE_BYTES = 5003, 7001


def record(folder, *command, options=("-q",), **more):
    ended = hw.record(
        command, folder / "x.hpw", options=options, env=environment(folder), **more
    )
    wait_sessions(folder)
    return ended


def recordings(folder, unrecorded=0):
    """{(pid, file name): report} of all recordings; each must be complete and whole, and all together have started
    so many programs that are not recorded."""
    found = {}
    for path in sorted(folder.glob("*.hpw")):
        report = hw.report(path, "--view", "sizes")
        recording = report["recording"]
        hw.need(recording["complete"], f"{path.name} is incomplete")
        for counter in ("lost_events", "repairs", "unknown_frees"):
            hw.need(recording[counter] == 0, f"{path.name}: {counter} is {recording[counter]}")
        unrecorded -= recording["children_unrecorded"]
        found[report["target"]["pid"], path.name] = report
    hw.need(unrecorded == 0, f"{-unrecorded} more than expected are not recorded")
    return found


def leaf_blocks(report):
    return sum(row["allocations"] for row in report["sizes"] if row["size"] == LEAF_BYTES)


def check_leaves(folder, ended, count, blocks=LEAF_BLOCKS):
    """Each printed PID has exactly one recording with a leaf's allocations, and nobody else has any."""
    hw.need(ended.status == 0, f"{ended} {ended.text}")
    pids = [int(line) for line in ended.text.split()]
    hw.need(len(pids) == count, f"{len(pids)} leaves, expected {count}")
    reports = recordings(folder)
    for pid in pids:
        mine = [report for (owner, _), report in reports.items() if owner == pid]
        found = [leaf_blocks(report) for report in mine]
        hw.need(sorted(found)[-1:] == [blocks] and sum(found) == blocks, f"leaf {pid} has {found} blocks")
        leaf = max(mine, key=leaf_blocks)
        code = (leaf["target"]["exit"] or {}).get("code")
        # It is not the collector's child: before Linux 6.15 that is seen only until its parent asks.
        hw.need(code in (LEAF_STATUS, None), f"leaf {pid} ended with {code}")
    others = [name for (pid, name), report in reports.items() if pid not in pids and leaf_blocks(report)]
    hw.need(not others, f"blocks of leaves in {others}")
    hw.need(any(name == "x.hpw" for _, name in reports), "the program itself is missing")
    return reports


def way(name, count):
    def test(folder):
        check_leaves(folder, record(folder, FAMILY, name), count)

    return test


for name, count in (
    ("fork", 1), ("vfork", 1), ("posix_spawn", 1), ("clone", 1), ("system", 1), ("popen", 1),
    ("threads", 40),
):
    TESTS.add(f"Started by {name}: {count} recorded, exact", way(name, count))


@TESTS.test
def started_by_storm(folder):
    """Started by storm: all at once, and each has a recording that is exact"""
    # A child waits a second to be heard (runtime/preload/session.c), which a collector with sanitizers on a busy
    # machine needs for some dozen of them.
    count = 200 if hw.SANITIZERS == "none" else 25
    ended = record(folder, FAMILY, "storm", str(count))
    hw.need(ended.status == 0, f"{ended} {ended.text}")
    pids = {int(line) for line in ended.text.split()}
    hw.need(len(pids) == count, f"{len(pids)} leaves, expected {count}")
    tree = json.loads(hw.ask("report", folder, "--json"))
    hw.need(tree["processes"] == count + 1 and not tree["children_unrecorded"], f"{tree}")
    leaves = [row for row in tree["recordings"] if row["pid"] in pids]
    hw.need(len(leaves) == count, f"{len(leaves)} recordings of leaves")
    for row in tree["recordings"]:
        leaf = row["pid"] in pids
        hw.need(row["complete"] and not row["lost_events"], f"{row}")
        hw.need(row["allocations"] == LEAF_BLOCKS * leaf and row["frees"] == LEAF_BLOCKS // 2 * leaf, f"{row}")
        hw.need(row["allocated_bytes"] == LEAF_BLOCKS * LEAF_BYTES * leaf, f"{row}")
        hw.need((row["exit"] or {}).get("code") in (LEAF_STATUS * leaf, None), f"{row}")
    some = hw.report(leaves[count // 2]["file"], "--view", "sizes")
    hw.need(leaf_blocks(some) == LEAF_BLOCKS, f"{some['sizes']}")


@TESTS.test
def inherited_blocks(folder):
    """Blocks that a forked child had from its parent: their frees are counted apart, as no error"""
    ended = record(folder, FAMILY, "inheritance")
    reports = check_leaves(folder, ended, 1, LEAF_BLOCKS + 1)
    child = next(r for (pid, _), r in reports.items() if pid == int(ended.text))
    hw.need(child["recording"]["inherited_frees"] == INHERITED, f"{child['recording']}")
    hw.need(child["totals"]["frees"] == INHERITED + 1 + LEAF_BLOCKS // 2, f"{child['totals']}")
    root = next(r for (_, name), r in reports.items() if name == "x.hpw")
    hw.need(root["recording"]["inherited_frees"] == 0, f"{root['recording']}")


def began_with(folder, name, size):
    """The view `inherited` of a recording, and [blocks, function] of its sites with blocks of that size."""
    report = hw.report(folder / name, "--view", "inherited")
    hw.need(not any("known" in note for note in report["notes"]), f"notes: {report['notes']}")
    sites = [
        [site["live_blocks"], [frame["function"] for frame in site["stack"]]]
        for site in report["sites"]
        if site["live_blocks"] and site["live_bytes"] == size * site["live_blocks"]
    ]
    total = sum(site["live_blocks"] for site in report["sites"])
    hw.need(total == report["inherited"]["blocks"], f"{total} blocks by site, {report['inherited']}")
    return report["inherited"], sites


@TESTS.test
def inherited_by_site(folder):
    """What a forked child began with is shown by its parent's sites, apart from its own"""
    ended = record(folder, FAMILY, "inheritance")
    child = f"x.{int(ended.text)}.hpw"
    inherited, sites = began_with(folder, child, OWN_BYTES)
    hw.need(inherited["from"] == "x.hpw" and not inherited["at_most"], f"{inherited}")
    hw.need(len(sites) == 1 and sites[0][0] == INHERITED, f"{sites}")
    hw.need("by_inheritance" in sites[0][1] and "main" in sites[0][1], f"{sites}")
    own = hw.report(folder / child, "--view", "sites")
    hw.need(all(site["max_size"] != OWN_BYTES for site in own["sites"]), "mixed with its own")
    verdict = " ".join(hw.report(folder / child)["verdict"])
    hw.need(f"from its parent; {INHERITED} of them were freed here." in verdict, verdict)


@TESTS.test
def inherited_by_daemon(folder):
    """A daemon's blocks of both its forebears, which have ended before it says anything, also where libc's daemon() forked it"""
    for way in ("daemon", "daemon of libc"):
        place = folder / way
        place.mkdir()
        ended = record(place, FAMILY, way)
        inherited, sites = began_with(place, f"x.{int(ended.text)}.hpw", OWN_BYTES)
        hw.need(inherited["generations"] == 2 and inherited["at_most"], f"{way}: {inherited}")
        hw.need([blocks for blocks, _ in sites] == [INHERITED], f"{way}: {sites}")
        _, middle = began_with(place, f"x.{int(ended.text)}.hpw", MIDDLE_BYTES)
        hw.need([blocks for blocks, _ in middle] == [1], f"{way}: {middle}")


@TESTS.test
def inherited_parent_missing(folder):
    """Without the parent's recording a sentence says so, and the rest of the report stands"""
    ended = record(folder, FAMILY, "inheritance")
    (folder / "x.hpw").unlink()
    report = hw.report(folder / f"x.{int(ended.text)}.hpw")
    hw.need(report["inherited"] is None, f"{report['inherited']}")
    hw.need(any("x.hpw" in note and "unknown" in note for note in report["notes"]), f"{report['notes']}")
    hw.need(report["recording"]["inherited_frees"] == INHERITED, f"{report['recording']}")
    hw.need(report["recording"]["complete"], "counts as damage")


@TESTS.test
def inherited_parent_damaged(folder):
    """With a cut recording of the parent too: nothing is guessed"""
    ended = record(folder, FAMILY, "inheritance")
    whole = (folder / "x.hpw").read_bytes()
    (folder / "x.hpw").write_bytes(whole[:200])
    report = hw.report(folder / f"x.{int(ended.text)}.hpw", "--view", "inherited")
    hw.need(report["inherited"] is None and report["sites"] == [], f"{report}")
    hw.need(any("inherited from the parent process is unknown" in note for note in report["notes"]), f"{report['notes']}")


@TESTS.test
def shell_script(folder):
    """A shell script: its commands, pipelines and what it execs at last"""
    script = folder / "script"
    script.write_text(f"#!/bin/sh\n{FAMILY} print-leaf\n{FAMILY} print-leaf | cat\nexec {FAMILY} fork\n")
    script.chmod(0o755)
    reports = check_leaves(folder, record(folder, script), 3)
    root = next(pid for (pid, name) in reports if name == "x.hpw")
    mine = sorted(name for (pid, name) in reports if pid == root)
    hw.need(mine == [f"x.{root}.1.hpw", "x.hpw"], f"the script's own: {mine}")
    commands = {tuple(r["target"]["command"][:1]) for r in reports.values()}
    hw.need(("cat",) in commands, f"commands are {commands}")


@TESTS.test
def wrapper_script(folder):
    """A wrapper that execs the real program: the summary sends to the program's recording"""
    script = folder / "wrapper"
    script.write_text(f'#!/bin/sh\nexec {PERL} "$@"\n')
    script.chmod(0o755)
    ended = record(folder, script, "-e", "my @a = map { 'x' x $_ } 1 .. 2000", options=())
    report = next(r for (_, name), r in recordings(folder).items() if name != "x.hpw")
    hw.need(report["target"]["exe"].endswith("perl"), report["target"]["exe"])
    hw.need(report["recording"]["file"] in ended.errors.splitlines()[-1], str(ended))


@TESTS.test
def names_of_files(folder):
    """FILE for the program, FILE.PID for another process, FILE.PID.N for what a process becomes"""
    script = f'{FAMILY} leaf; $0 fork; exec "$0" leaf'
    ended = record(folder, "/bin/sh", "-c", script, FAMILY)
    names = {}
    for pid, name in recordings(folder):
        names.setdefault(pid, []).append(name)
    root = next(pid for pid in names if "x.hpw" in names[pid])
    hw.need(sorted(names.pop(root)) == [f"x.{root}.1.hpw", "x.hpw"], f"{names}")
    for pid, found in names.items():
        wanted = [f"x.{pid}.hpw"] + [f"x.{pid}.{n}.hpw" for n in range(1, len(found))]
        hw.need(sorted(found) == sorted(wanted), f"{found}, expected {wanted}")
    hw.need(ended.status == LEAF_STATUS, str(ended))


@TESTS.test
def table_of_all(folder):
    """Several recordings, or their folder, are shown as a table of processes that adds up"""
    script = f"{FAMILY} leaf; {FAMILY} fork; exit 0"
    ended = record(folder, "/bin/sh", "-c", script, options=())
    hw.need("to list all: heapwise report" in ended.errors, str(ended))
    reports = recordings(folder)
    by_folder = hw.run([hw.HEAPWISE, "report", folder, "--json"])
    by_name = hw.run([hw.HEAPWISE, "report", *sorted(folder.glob("x*.hpw")), "--json"])
    hw.need(by_folder.status == 0 and by_folder.stdout == by_name.stdout, f"{by_folder} {by_name}")
    tree = json.loads(by_folder.text)
    hw.need(tree["schema"] == "heapwise.tree/1", tree["schema"])
    rows = tree["recordings"]
    hw.need(len(rows) == len(reports) and tree["processes"] == len({r["pid"] for r in rows}), f"{rows}")
    allocations = sum(r["totals"]["allocations"] for r in reports.values())
    hw.need(tree["totals"]["allocations"] == allocations, f"{tree['totals']}, expected {allocations}")
    depth = {}
    for row in rows:  # behind the one that started it, one step deeper
        wanted = depth[row["ppid"]] + 1 if row["ppid"] in depth else 0
        hw.need(row["depth"] == depth.setdefault(row["pid"], wanted), f"{row}")
    hw.need(sorted(set(depth.values())) == [0, 1, 2], f"depths are {depth}")
    text = hw.run([hw.HEAPWISE, "report", folder])
    for row in rows:
        hw.need(f" {row['pid']} " in text.text and Path(row["file"]).name in text.text, text.text)
    broken = folder / "x.broken.hpw"
    broken.write_text("nothing")
    ended = hw.run([hw.HEAPWISE, "report", folder])
    hw.need(ended.status == 3 and "x.broken.hpw" in ended.errors, str(ended))
    hw.need(ended.text == text.text, "the others are not shown")


@TESTS.test
def names_taken(folder):
    """A file that has such a name already is left alone"""
    script = 'for i in "" .1 .2; do echo precious >x.$$$i.hpw; done; exec "$0"'
    ended = record(folder, "/bin/sh", "-c", script, ONE_BLOCK, cwd=folder)
    hw.need(ended.status == 0, str(ended))
    found = sorted(p for p in folder.glob("x.*.hpw") if p.read_bytes() == b"precious\n")
    hw.need(len(found) == 3, f"{found}")
    third = next(p for p in folder.glob("x.*.3.hpw"))
    hw.need(hw.report(third)["totals"]["allocations"] == 1, "not the image's recording")


@TESTS.test
def children_no(folder):
    """--children=no records the program alone, what it becomes included, and counts processes"""
    script = f'{FAMILY} fork >/dev/null; {FAMILY} leaf; exec "$0" leaf'
    ended = record(folder, "/bin/sh", "-c", script, FAMILY, options=("--children=no",))
    names = sorted(p.name for p in folder.glob("*.hpw"))
    hw.need(len(names) == 2 and "x.hpw" in names, f"{names}")
    hw.need("3 other processes that it started were not recorded" in ended.errors, str(ended))


@TESTS.test
def children_pattern(folder):
    """--children=PATTERN records processes of matching programs"""
    script = f"{FAMILY} print-leaf; {PERL} -e 'print STDERR 1'; cat /dev/null"
    ended = record(folder, "/bin/sh", "-c", script, options=("-q", "--children=f[a-b]mil*"))
    hw.need(ended.status == 0, str(ended))
    exes = sorted(
        Path(hw.report(p)["target"]["exe"]).name for p in folder.glob("*.hpw") if p.name != "x.hpw"
    )
    hw.need(exes == ["family"], f"recorded are {exes}")


@TESTS.test
def environment_dropped(folder):
    """Programs started with an empty environment are recorded, and their environment stays theirs"""
    check_leaves(folder, record(folder, FAMILY, "environment"), 3)
    for path in folder.glob("*.hpw"):
        path.unlink()
    ended = record(folder, "/usr/bin/env", "-i", "A=b", FAMILY, "print-leaf")
    hw.need(ended.status == LEAF_STATUS, str(ended))
    blocks = [leaf_blocks(r) for r in recordings(folder).values()]
    hw.need(sorted(blocks) == [0, LEAF_BLOCKS], f"{blocks}")


@TESTS.test
def environment_dropped_before_shells(folder):
    """system and popen after clearenv are followed, and the process's environment stays as it is"""
    check_leaves(folder, record(folder, FAMILY, "shells"), 5)


@TESTS.test
def exec_forms(folder):
    """Every form of exec and posix_spawn: same arguments, environment and errors, each program recorded"""
    script = folder / "script"
    script.write_text("echo script \"$0|$1|$2|$3\" $A\n")
    script.chmod(0o755)
    program = hw.TARGETS / "exec_forms"
    command = [program, script, program]
    env = environment(folder, PATH=f"{hw.TARGETS}:/usr/bin:/bin")
    native = hw.run(command, env=env)
    recorded = hw.record(command, folder / "x.hpw", env=env)
    hw.need(native.status == 0 and native.text.count("argument exec_forms\n") > 12, str(native))
    hw.need(recorded.status == 0 and recorded.errors == native.errors, str(recorded))
    if native.text != recorded.text:
        different = [
            (a, b) for a, b in zip(native.text.splitlines(), recorded.text.splitlines()) if a != b
        ]
        raise hw.Failure(f"natively, recorded: {different[:5]}")
    wait_sessions(folder)
    shown = [
        report for report in recordings(folder).values() if report["target"]["command"][1:2] == ["show"]
    ]
    hw.need(len(shown) == native.text.count("argument exec_forms\n"), f"{len(shown)} are recorded")
    for report in shown:
        found = sum(row["allocations"] for row in report["sizes"] if row["size"] == 3307)
        hw.need(found == 1, f"{report['target']['command']}: {found}")


def sanitized_child(kind):
    def test(folder):
        program = hw.TARGETS / f"refused_{kind}"
        if not program.exists():
            raise hw.Skip(f"this compiler has no {kind} sanitizer")
        script = f"{program} && LD_PRELOAD=$LD_PRELOAD:{hw.COUNT_LIBRARY} {FAMILY} print-leaf"
        native = hw.run([program])
        ended = record(folder, "/bin/sh", "-c", script)
        hw.need(native.status == 0 and not native.errors, str(native))
        hw.need(ended.text.startswith(native.text) and not ended.errors, f"{ended} {ended.text}")
        hw.need(ended.status == LEAF_STATUS, str(ended))
        exes = [Path(r["target"]["exe"]).name for r in recordings(folder, unrecorded=1).values()]
        hw.need(f"refused_{kind}" not in exes and "family" in exes, f"recorded are {exes}")

    return test


for kind in ("address", "thread"):
    TESTS.add(f"A child built with -fsanitize={kind} runs as without us", sanitized_child(kind))


@TESTS.test
def recorder_inside(folder):
    """A recorder inside a recorded program records its own program"""
    hw.need_no_sanitizer("a program with a sanitizer can't be recorded")
    inner = folder / "inner.hpw"
    ended = record(folder, hw.HEAPWISE, "run", "-q", "-o", inner, "--", FAMILY, "print-leaf")
    if "built with AddressSanitizer" in ended.errors:
        raise hw.Skip("this command cannot be recorded itself")
    hw.need(ended.status == LEAF_STATUS and not ended.errors, str(ended))
    hw.need(leaf_blocks(hw.report(inner, "--view", "sizes")) == LEAF_BLOCKS, "not recorded inside")


@TESTS.test
def static_child(folder):
    """A child that cannot be recorded runs as without us"""
    ended = record(folder, "/bin/sh", "-c", '"$0"; echo $?', hw.TARGETS / "refused_static")
    hw.need(ended.text.endswith("0\n") and not ended.errors, f"{ended} {ended.text}")


@TESTS.test
def orphan(folder):
    """run returns when the program ends; the collector stays for a child that has not allocated yet"""
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [hw.HEAPWISE, "run", "-o", folder / "x.hpw", "--", FAMILY, "orphan"],
            stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(folder), start_new_session=True,
        )
        child = os.pidfd_open(int(process.stdout.readline()))
        # Its output is still held by the child: only the end of run itself is awaited.
        status = process.wait(hw.TIMEOUT / 2)
        hw.need(status == 0, hw.describe(status))
        hw.need(not select.select([child], [], [], 0)[0], "the child has ended")
        hw.need(hw.report(folder / "x.hpw")["recording"]["complete"], "the program's is incomplete")
        hw.need(len(list((folder / "sessions").iterdir())) == 1, "the session is gone")
    finally:
        os.close(reading)
        os.close(writing)
        process.stdout.close()
        process.stderr.close()
    select.select([child], [], [], hw.TIMEOUT / 2)
    os.close(child)
    wait_sessions(folder)
    leaves = [r for (_, name), r in recordings(folder).items() if name != "x.hpw"]
    hw.need([leaf_blocks(r) for r in leaves] == [LEAF_BLOCKS], "the child's recording")


@TESTS.test
def living_static_daemon(folder):
    """A static program that has become a daemon is said, though nothing was heard of it and its parents are gone"""
    reading, writing = os.pipe()
    try:
        ended = subprocess.run([hw.HEAPWISE, "run", "-o", folder / "x.hpw", "--", "/bin/sh", "-c", '"$0"; exit 5', hw.TARGETS / "daemon_static"],
                               stdin=reading, stderr=subprocess.PIPE, env=environment(folder), timeout=hw.TIMEOUT / 2)
        hw.need(ended.returncode == 5, f"{ended}")
        hw.need(b"1 other process is still running and allocated nothing so far" in ended.stderr, ended.stderr.decode())
        hw.need(list((folder / "sessions").iterdir()), "its session is gone")
    finally:
        os.close(reading)
        os.close(writing)
    wait_sessions(folder)


@TESTS.test
def living_child(folder):
    """A child that is recorded and lives on is said; its recording will be complete when it ends"""
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [hw.HEAPWISE, "run", "-o", folder / "x.hpw", "--", PERL, "-e",
             "my $pid = open my $child, '-|', $^X, '-e', "
             "'$| = 1; my @a = map { q(x) x $_ } 1 .. 300; print qq(ready\\n); close STDOUT; <STDIN>';"
             "<$child>; use POSIX; POSIX::_exit(5)"],
            stdin=reading, stderr=subprocess.PIPE, env=environment(folder), start_new_session=True,
        )
        # The child holds its standard error open: what run says ends with the next command.
        said = b""
        while b"to see the report" not in said and (line := process.stderr.readline()):
            said += line
        status = process.wait(hw.TIMEOUT / 2)
    finally:
        os.close(reading)
        os.close(writing)
        process.stderr.close()
    hw.need(status == 5, hw.describe(status))
    hw.need(b"1 other process is still running" in said, said.decode())
    wait_sessions(folder)
    children = [r for (_, name), r in recordings(folder).items() if name != "x.hpw"]
    hw.need(max(r["totals"]["allocations"] for r in children) > 300, "the child's recording")


if __name__ == "__main__":
    TESTS.main(width=1)
