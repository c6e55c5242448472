#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of pprof: read number for number as `go tool pprof` reads them, and written for it. Needs golang-go
(`./dev deps --peers`)."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import ask, heapwise

TESTS = hw.Tests()
GO = shutil.which("go")
METRICS = {"alloc_objects": "allocations", "alloc_space": "allocated_bytes", "inuse_objects": "live_blocks",
           "inuse_space": "live_bytes"}
ALL = ("-nodefraction=0", "-edgefraction=0", "-nodecount=0")
VALUE = r"(-?[\d.]+)B?"


def ask_json(*arguments):
    return json.loads(ask(*arguments, "--json"))


def go_environment(folder):
    return hw.clean_environment(GOCACHE=folder / "cache", HOME=folder, PPROF_TMPDIR=folder, GOTELEMETRY="off")


def pprof(folder, *arguments):
    if not GO:
        raise hw.Skip("golang-go is not installed")
    ended = hw.run([GO, "tool", "pprof", *arguments], env=go_environment(folder))
    hw.need(ended.status == 0, f"pprof {arguments}: {ended}")
    return ended.text


def build(folder):
    if not GO:
        raise hw.Skip("golang-go is not installed")
    program = folder / "heap"
    ended = hw.run([GO, "build", "-o", program, hw.SOURCE / "tests/targets/go/heap.go"], env=go_environment(folder),
                   cwd=folder)
    hw.need(ended.status == 0, f"go build: {ended}")
    return program


def go_profile(folder, name="go.pb.gz", more=0):
    program = folder / "heap"
    if not program.exists():
        build(folder)
    path = folder / name
    ended = hw.run([program, path, str(more)])
    hw.need(ended.status == 0, f"{ended}")
    return path


def own_profile(folder, name="own", code="my @a = map { 'x' x $_ } 1 .. 3000; my %h = map { $_ => [$_] } 1 .. 500"):
    recorded, path = folder / f"{name}.hpw", folder / f"{name}.pb.gz"
    ended = hw.record(["/usr/bin/perl", "-e", code], recorded)
    hw.need(ended.status == 0, f"{ended}")
    ask("export", recorded, "--format", "pprof", "-o", path)
    return path


def profiles(folder):
    return go_profile(folder), own_profile(folder)


def top_of(text):
    """{name: (flat, cum)} of `pprof -top`."""
    rows = {}
    for line in text.splitlines():
        match = re.match(rf"\s*{VALUE}\s+\S+%?\s+\S+%\s+{VALUE}\s+\S+%?\s+(.*)$", line)
        if match:
            rows[match[3].replace(" (inline)", "").replace(" (partial-inline)", "")] = (int(float(match[1])), int(float(match[2])))
    return rows


def own_top(path, metric, *options):
    found = ask_json("peek", ".", path, "--metric", metric, *options)
    return {row["name"] if "--lines" not in options else f"{row['name']} {row['file']}:{row['line']}":
            (row["flat"]["value"], row["cum"]["value"]) for row in found["functions"]}


def need_equal(ours, theirs, what):
    hw.need(theirs, f"{what}: pprof shows nothing")
    if ours != theirs:
        differ = {name: (ours.get(name), theirs.get(name)) for name in ours.keys() | theirs.keys()
                  if ours.get(name) != theirs.get(name)}
        raise hw.Failure(f"{what}: ours, pprof's: {dict(sorted(differ.items())[:8])} of {len(theirs)}")


@TESTS.test
def top(folder):
    """pprof -top: flat and cum of each function, for all four sample types"""
    for path in profiles(folder):
        for index, metric in METRICS.items():
            theirs = top_of(pprof(folder, "-top", "-unit=B", f"-sample_index={index}", *ALL, path))
            need_equal(own_top(path, metric), theirs, f"{path.name} {index}")
            functions = ask_json("report", path, "--view", "functions", "--sort", metric)["spots"]
            shown = {row["name"]: (row["flat"][metric], row["cum"][metric]) for row in functions if row["cum"][metric]}
            need_equal(shown, theirs, f"{path.name} {index}, report --view functions")


@TESTS.test
def lines_and_files(folder):
    """pprof -lines and -files: the same, by line and by file"""
    for path in profiles(folder):
        theirs = top_of(pprof(folder, "-top", "-lines", "-unit=B", *ALL, path))
        named = {name: figures for name, figures in theirs.items() if re.search(r":\d+$", name)}
        ours = {name: figures for name, figures in own_top(path, "live_bytes", "--lines").items()
                if not name.endswith("None:None")}
        need_equal(ours, named, f"{path.name} -lines")
    path = go_profile(folder)
    need_equal(own_top(path, "live_bytes", "--files"), top_of(pprof(folder, "-top", "-files", "-unit=B", *ALL, path)),
               "-files")


def tree_of(text):
    """{name: (flat, cum, {caller: weight}, {callee: weight})} of `pprof -tree`."""
    rows = {}
    for block in re.split(r"^-+\+-+$", text, flags=re.MULTILINE)[2:]:
        middle, before, after = None, {}, {}
        for line in block.strip("\n").splitlines():
            match = re.match(rf"\s*{VALUE}\s+\S+%?\s+\S+%\s+{VALUE}\s+\S+%?\s+\| (\S.*)$", line)
            if match:
                middle = match
                continue
            match = re.match(rf"\s+{VALUE}\s+\S+%? \|   (.*)$", line)
            hw.need(match, f"a line of pprof: {line!r}")
            calls = before if middle is None else after
            calls[match[2].replace(" (inline)", "")] = int(float(match[1]))
        if middle:
            rows[middle[3]] = (int(float(middle[1])), int(float(middle[2])), before, after)
    return rows


def own_tree(path, metric, regex=".", *options):
    found = ask_json("peek", regex, path, "--metric", metric, *options)
    calls = lambda rows: {row["name"]: row["calls"]["value"] for row in rows if row["calls"]["value"]}
    return {row["name"]: (row["flat"]["value"], row["cum"]["value"], calls(row["callers"]), calls(row["callees"]))
            for row in found["functions"]}


@TESTS.test
def tree(folder):
    """pprof -tree: who calls whom, of all functions and of those that its default limits leave"""
    for path in profiles(folder):
        for index, metric in METRICS.items():
            theirs = tree_of(pprof(folder, "-tree", "-unit=B", f"-sample_index={index}", *ALL, path))
            need_equal(own_tree(path, metric), theirs, f"{path.name} {index}")
            theirs = tree_of(pprof(folder, "-tree", "-unit=B", f"-sample_index={index}", path))
            limits = ("--nodefraction", "0.005", "--edgefraction", "0.001", "--nodecount", "80")
            need_equal(own_tree(path, metric, ".", *limits), theirs, f"{path.name} {index}, default limits")


@TESTS.test
def peek(folder):
    """pprof -peek: functions by a regular expression"""
    for path, regex in zip(profiles(folder), ("main\\.(deep|churn|shapes)", "safesys|^main$")):
        theirs = tree_of(pprof(folder, f"-peek={regex}", "-unit=B", "-sample_index=alloc_space", path))
        need_equal(own_tree(path, "allocated_bytes", regex), theirs, path.name)


@TESTS.test
def listed(folder):
    """pprof -list: flat and cum of each source line"""
    path = go_profile(folder)
    text = pprof(folder, "-list=main.(grow|deep|shapes)$", "-unit=B", "-sample_index=alloc_space", path)
    theirs = {int(match[3]): (match[1], match[2])
              for match in re.finditer(r"^\s*(\S+)\s+(\S+)\s+(\d+):", text, flags=re.MULTILINE)
              if (match[1], match[2]) != (".", ".")}
    number = lambda word: 0 if word == "." else int(float(word.rstrip("B")))
    theirs = {line: (number(flat), number(cum)) for line, (flat, cum) in theirs.items()}
    ours = {}
    for name in ("main.grow", "main.deep", "main.shapes"):
        for part in ask_json("list", name, path)["parts"]:
            for line in part["lines"]:
                if line["flat"] and line["cum"]["allocated_bytes"]:
                    ours[line["line"]] = (line["flat"]["allocated_bytes"], line["cum"]["allocated_bytes"])
    need_equal(ours, theirs, "-list")


@TESTS.test
def compared(folder):
    """pprof -base and -diff_base: what is more and what is less"""
    older, newer = go_profile(folder, "older.pb.gz"), go_profile(folder, "newer.pb.gz", 60000)
    for option in ("-base", "-diff_base"):
        theirs = top_of(pprof(folder, "-top", "-unit=B", *ALL, f"{option}={older}", newer))
        theirs = {name: figures for name, figures in theirs.items() if figures != (0, 0)}
        ours = {name: figures for name, figures in own_top(newer, "live_bytes", "--base", older).items()
                if figures != (0, 0)}
        need_equal(ours, theirs, option)
    found = ask_json("diff", older, newer)
    # Of a small stack the older profile, a sample, may have nothing.
    grown = [row for row in found["rows"] if row["status"] in ("grown", "new")]
    hw.need(any(row["stack"][0]["function"] == "main.grow" for row in grown), f"diff: {found['verdict']}")


@TESTS.test
def filtered(folder):
    """pprof's focus, ignore, hide, show, show_from and tagfocus"""
    go, own = profiles(folder)
    for path, option, regex in ((go, "focus", "grow|shapes"), (go, "ignore", "deep"), (go, "hide", "main.deep"),
                                (go, "show", "^main"), (go, "show_from", "main.main"), (own, "focus", "sv_grow"),
                                (own, "ignore", "more_bodies|newSV"), (own, "hide", "runops|perl_run")):
        theirs = top_of(pprof(folder, "-top", "-unit=B", *ALL, f"-{option}={regex}", path))
        ours = own_top(path, "live_bytes", f"--{option.replace('_', '-')}", regex)
        need_equal(ours, theirs, f"{path.name} -{option}={regex}")
    for tags in ("64b:256b", "1kb:4kb", "512b:"):
        theirs = top_of(pprof(folder, "-top", "-unit=B", "-sample_index=alloc_space", *ALL, f"-tagfocus={tags}", go))
        need_equal(own_top(go, "allocated_bytes", "--tagfocus", tags), theirs, f"-tagfocus={tags}")


def dot_of(text):
    """Nodes {name: "flat of cum"} and arrows {(from, to): label} of a graph."""
    names, nodes, arrows = {}, {}, {}
    for match in re.finditer(r'^(N\d+) \[label="([^"]*)"', text, flags=re.MULTILINE):
        lines = match[2].split("\\n")
        figures = next(i for i, line in enumerate(lines) if re.match(r"-?[\d.]+", line))
        names[match[1]] = "".join(lines[:figures]).replace("\\", "")
        nodes[names[match[1]]] = " ".join(lines[figures:])
    for match in re.finditer(r'^(N\d+) -> (N\d+) \[label=" ?([^"\\]*)', text, flags=re.MULTILINE):
        arrows[names[match[1]], names[match[2]]] = match[3].strip()
    return nodes, arrows


def plain_figures(words):
    """`1234B (5.67%) of 6789B (8.9%)`: the numbers of bytes."""
    return [int(float(number)) for number in re.findall(r"(?<![\d.(])(\d[\d.,]*) ?B\b", words.replace(",", ""))]


@TESTS.test
def graph(folder):
    """pprof -dot: which functions and calls its graph has, and the figures in them; tags apart, which it draws too"""
    for path in profiles(folder):
        theirs, their_arrows = dot_of(pprof(folder, "-dot", "-unit=B", "-taghide=.", path))
        found = ask_json("graph", path, "--metric", "live_bytes")
        ours = {node["name"]: [node["flat"], node["cum"]] for node in found["nodes"]}
        arrows = {(found["nodes"][edge["from"]]["name"], found["nodes"][edge["to"]]["name"]): edge["weight"]
                  for edge in found["edges"]}
        short = lambda name: re.sub(r"[^\w]", "", name)
        need_equal({short(name) for name in ours}, {short(name) for name in theirs}, f"{path.name}: functions")
        need_equal({(short(a), short(b)): weight for (a, b), weight in arrows.items()},
                   {(short(a), short(b)): plain_figures(label)[0] for (a, b), label in their_arrows.items()},
                   f"{path.name}: calls")


@TESTS.test
def written(folder):
    """What is exported is a profile to pprof: its totals are the report's, its default is what is in use"""
    path = own_profile(folder)
    totals = hw.report(folder / "own.hpw")["totals"]
    raw = pprof(folder, "-raw", path)
    sums = [0, 0, 0, 0]
    for match in re.finditer(r"^\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+): ", raw, flags=re.MULTILINE):
        sums = [a + int(b) for a, b in zip(sums, match.groups())]
    hw.need(sums == [totals["allocations"], totals["allocated_bytes"], totals["live_blocks_at_end"],
                     totals["live_bytes_at_end"]], f"{sums}, {totals}")
    hw.need("alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]" in raw, raw[:600])
    again = hw.report(path)["totals"]
    for key in ("allocations", "allocated_bytes", "live_blocks_at_end", "live_bytes_at_end"):
        hw.need(again[key] == totals[key], f"{key}: {again[key]} was {totals[key]}")
    hw.need(again["peak_bytes"] is None and again["temporary"] is None, "what the file does not say is said")


@TESTS.test
def differences(folder):
    """A difference that pprof wrote: what is above 0 less what is below, in every view; refused where it makes no sense"""
    older, newer = go_profile(folder, "older.pb.gz", 20000), go_profile(folder, "newer.pb.gz")
    path = folder / "difference.pb.gz"
    if not GO:
        raise hw.Skip("golang-go is not installed")
    ended = hw.run([GO, "tool", "pprof", "-proto", f"-base={older}", newer], env=go_environment(folder))
    path.write_bytes(ended.stdout)
    theirs = {name: figures for name, figures in top_of(pprof(folder, "-top", "-unit=B", *ALL, path)).items()
              if figures != (0, 0)}
    hw.need(any(figures[0] < 0 for figures in theirs.values()), "nothing is below 0")
    ours = {name: figures for name, figures in own_top(path, "live_bytes").items() if figures != (0, 0)}
    need_equal(ours, theirs, "peek")
    spots = ask_json("report", path, "--view", "functions", "--sort", "live_bytes")["spots"]
    need_equal({row["name"]: (row["change"]["flat"]["live_bytes"], row["change"]["cum"]["live_bytes"]) for row in spots
                if row["change"]["flat"]["live_bytes"] or row["change"]["cum"]["live_bytes"]}, theirs, "report")
    for command in (("diff", path, newer), ("report", path, "--base", older), ("report", "--merge", path, newer)):
        refused = heapwise(*command)
        hw.need(refused.status == 3 and "difference of two states" in refused.errors, f"{command}: {refused}")
    for command in (("report", path, "--view", "marks"), *(("export", path, "--format", name) for name in (
            "massif", "dhat", "speedscope", "firefox", "callgrind", "csv", "gperftools", "jemalloc", "json"))):
        refused = heapwise(*command)
        hw.need(refused.status == 3 and "difference of two states" in refused.errors, f"{command}: {refused}")
    again = folder / "again.pb.gz"
    ask("export", path, "--format", "pprof", "-o", again)
    need_equal(own_top(again, "live_bytes"), own_top(path, "live_bytes"), "written again")


def number(value):
    value &= (1 << 64) - 1
    low, high = value & 127, value >> 7
    return bytes([low | 128]) + number(high) if high else bytes([low])


def message(field, *parts):
    data = b"".join(parts)
    return number(field << 3 | 2) + number(len(data)) + data


def field(name, value):
    return number(name << 3) + number(value)


def made_profile(path, samples):
    """A profile of in-use space of these (stack, bytes), functions innermost first."""
    names = sorted({name for stack, _ in samples for name in stack})
    strings = ["", "inuse_space", "bytes", "a.c", *names]
    parts = [message(1, field(1, 1), field(2, 2))]
    for i, name in enumerate(names, 1):
        parts += [message(5, field(1, i), field(2, i + 3), field(4, 3)),
                  message(4, field(1, i), message(4, field(1, i), field(2, i)))]
    for stack, value in samples:
        parts.append(message(2, *(field(1, names.index(name) + 1) for name in stack), field(2, value)))
    path.write_bytes(b"".join(parts) + b"".join(message(6, text.encode()) for text in strings))
    return path


@TESTS.test
def differences_whole(folder):
    """In a difference all frames count, and no function is taken for another one's new name"""
    samples = ((("f", "operator new"), 29), (("f", "main"), 31), (("f",), 37), (("gone", "main", "_start"), -13),
               (("come", "main", "_start"), 13), (("come", "main"), 5))
    want = {}
    for stack, value in samples:
        for name in stack:
            flat, cum = want.get(name, (0, 0))
            want[name] = flat + value * (name == stack[0]), cum + value
    want = {name: figures for name, figures in want.items() if figures != (0, 0)}
    path = made_profile(folder / "made.pb", samples)
    need_equal({name: row for name, row in own_top(path, "live_bytes").items() if row != (0, 0)}, want, "peek")
    spots = ask_json("report", path, "--view", "functions", "--sort", "live_bytes")["spots"]
    shown = {row["name"]: (row["change"]["flat"]["live_bytes"], row["change"]["cum"]["live_bytes"]) for row in spots}
    need_equal({name: row for name, row in shown.items() if row != (0, 0)}, want, "report")


@TESTS.test
def fetched(folder):
    """From a program that serves its profiles: one state, a difference over a second, and what goes wrong"""
    server = subprocess.Popen([build(folder), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        base = f"http://{server.stdout.readline().decode().strip()}/debug/pprof"
        environment = hw.clean_environment(XDG_STATE_HOME=folder / "state")
        fetch = lambda *words: hw.run([hw.HEAPWISE, *words], env=environment)
        ended = fetch("report", f"{base}/heap", "--view", "functions", "--json")
        hw.need(ended.status == 0, f"{ended}")
        names = {row["name"] for row in json.loads(ended.text)["spots"]}
        hw.need("main.shapes.func1" in names or "main.shapes" in names, f"{names}")
        kept = list((folder / "state/heapwise/profiles").iterdir())
        hw.need(len(kept) == 1 and str(kept[0]) in ended.errors, f"{kept}: {ended.errors}")
        ended = fetch("diff", f"{base}/heap", f"{base}/heap", "--json")
        # What one command fetches from one place has a number, in whichever second that was.
        hw.need(ended.status == 0 and len(list((folder / "state/heapwise/profiles").iterdir())) == 3, f"{ended}")
        ended = fetch("peek", ".", f"{base}/heap?seconds=1", "--json", "--metric", "allocated_bytes")
        hw.need(ended.status == 0, f"{ended}")
        flat = {row["name"]: row["flat"]["value"] for row in json.loads(ended.text)["functions"]}
        hw.need(flat.get("main.grow", 0) > 0, f"{flat}")
        for words in (("list", "main.grow"), ("flame", "-o", folder / "flame.svg"), ("html", "-o", folder / "page.html"), ("graph",),
                      ("export", "--format=folded"), ("budget", "--max-never-freed=1G")):
            ended = fetch(*words, f"{base}/heap")
            hw.need(ended.status == 0 and (ended.text or "-o" in words), f"{words}: {ended}")
        for words, what in (((f"{base}/nothing",), "404"), (("http://127.0.0.1:1/x",), "cannot fetch"),
                            ((f"{base}/goroutine?debug=1",), "unrecognised file format")):
            ended = fetch("report", *words)
            hw.need(ended.status == 3 and what in ended.errors, f"{words}: {ended}")
    finally:
        server.stdin.close()
        server.wait(hw.TIMEOUT)


@TESTS.test
def not_of_a_heap(folder):
    """A profile of CPU time is refused, with what it is"""
    ended = hw.run([build(folder), "cpu"])
    path = folder / "cpu.pb.gz"
    path.write_bytes(ended.stdout)
    refused = heapwise("report", path)
    hw.need(refused.status == 3 and "cpu/nanoseconds" in refused.errors, f"{refused}")


@TESTS.test
def unpacked(folder):
    """Packed by zstd, or not at all: it is the same"""
    path = own_profile(folder)
    plain, zstd = folder / "plain", folder / "packed"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    hw.need(hw.run(["zstd", "-q", plain, "-o", zstd]).status == 0, "zstd")
    for other in (plain, zstd):
        hw.need(own_top(other, "live_bytes") == own_top(path, "live_bytes"), f"{other.name} differs")


if __name__ == "__main__":
    TESTS.main(width=2)
