#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Views of stacks (tree…) of a recorded program: figures equal to the report's, and what they refuse."""

import csv
import io
import json
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from browser import Browser
from hw import heapwise

TESTS = hw.Tests()
TOTALS = {"allocations": "allocations", "allocated_bytes": "allocated_bytes", "live_bytes": "live_bytes_at_end",
          "peak_bytes": "peak_bytes", "temporary": "temporary"}
GRAINS = ("functions", "lines", "files", "addresses", "modules")


def recording(folder, name="a.hpw", program="containers-O2"):
    path = folder / name
    ended = hw.record([hw.TARGETS / program], path)
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def read_json(*arguments):
    ended = heapwise(*arguments, "--json")
    hw.need(ended.status == 0, f"{arguments}: {ended}")
    return json.loads(ended.text)


def refused(ended, status, *words):
    hw.need(ended.status == status, f"expected status {status}: {ended}")
    hw.need(ended.text == "", "a result was printed")
    for word in words:
        hw.need(word in ended.errors, f"no word of {word!r}: {ended}")


def nodes(node):
    yield node
    for child in node["children"]:
        yield from nodes(child)


@TESTS.test
def tree_totals(folder):
    """A tree has what the report has, by each metric and grain; children and self add up"""
    path = recording(folder)
    totals = hw.report(path)["totals"]
    for metric, total in TOTALS.items():
        for grain in GRAINS:
            found = read_json("tree", path, "--metric", metric, f"--{grain}")
            hw.need(found["tree"]["total"] == found["whole"] == totals[total],
                    f"{metric} by {grain}: {found['tree']['total']}, {found['whole']}, report: {totals[total]}")
            for node in nodes(found["tree"]):
                below = sum(child["total"] for child in node["children"])
                hw.need(node["more"] or node["total"] == node["self"] + below, f"{metric} by {grain}: {node['name']}")


@TESTS.test
def tree_ways(folder):
    """Bottom-up has the same sum; callers and callees of a function are its cum"""
    path = recording(folder)
    whole = read_json("tree", path)["whole"]
    hw.need(read_json("tree", path, "--bottom-up")["tree"]["total"] == whole, "bottom-up")
    spots = hw.report(path, "--view", "functions")["spots"]
    for spot in spots:
        if not spot["function"] or sum(other["name"] == spot["name"] for other in spots) > 1:
            continue
        cum, flat = spot["cum"]["peak_bytes"], spot["flat"]["peak_bytes"]
        for way in ("callers", "callees"):
            found = read_json("tree", path, f"--{way}", spot["function"])["tree"]
            hw.need(found["total"] == cum, f"{way} of {spot['name']}: {found['total']}, not {cum}")
        callers = read_json("tree", path, "--callers", spot["function"])["tree"]["children"]
        hw.need(sum(node["self"] for node in callers) == flat, f"flat of {spot['name']}")


@TESTS.test
def tree_text(folder):
    """As text: a chain goes straight down, small parts are summed up"""
    path = recording(folder)
    ended = heapwise("tree", path)
    hw.need(ended.status == 0 and " main  [containers-O2]" in ended.text, str(ended.text))
    hw.need("top-down by functions" in ended.text, ended.text)
    cut = heapwise("tree", path, "--depth", "1", "--threshold", "0").text
    hw.need("… " in cut and " deeper\n" in cut, cut)
    small = heapwise("tree", path, "--threshold", "100", "--metric", "allocations").text
    hw.need(" smaller\n" in small, small)


@TESTS.test
def tree_refuses(folder):
    """What is wrong is said, with what would be right"""
    path = recording(folder)
    refused(heapwise("tree", path, "--callers", "mian"), 1, "'mian'", "'main'")
    refused(heapwise("tree", path, "--callees", "xqzzkw"), 1, "xqzzkw")
    refused(heapwise("tree", path, "--callees", "ma(in"), 2, "'ma(in'", "at byte 6")
    refused(heapwise("tree", path, "--focus", "[a"), 2, "--focus", "at byte")
    refused(heapwise("tree", path, "--metric", "nonsense"), 2, "nonsense", "peak_bytes")
    refused(heapwise("tree", path, "--bottom-up", "--callers", "main"), 2, "--callers")
    refused(heapwise("tree", path, "--threshold", "x"), 2, "--threshold")
    refused(heapwise("tree", path, "--depth", "401", "--json"), 2, "--depth")
    refused(heapwise("tree", path, path), 2, "one recording")
    refused(heapwise("tree", folder / "none.hpw"), 3, "none.hpw")


def folded_sum(text):
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())


@TESTS.test
def flame_totals(folder):
    """Folded stacks add up to the report's total, by each metric and grain; JSON is the tree's"""
    path = recording(folder)
    totals = hw.report(path)["totals"]
    for metric, total in TOTALS.items():
        for grain in GRAINS:
            ended = heapwise("flame", path, "--folded", "--metric", metric, f"--{grain}")
            hw.need(ended.status == 0 and folded_sum(ended.text) == totals[total], f"{metric} by {grain}: {ended}")
    hw.need(read_json("flame", path) == read_json("tree", path), "not the tree's JSON")


@TESTS.test
def flame_terminal(folder):
    """Colours and characters are those that the terminal has; NO_COLOR and --color decide"""
    path = recording(folder)
    plain = heapwise("flame", path, "--width", "60")
    hw.need(plain.status == 0 and "\033" not in plain.text and "─" in plain.text, str(plain))
    lines = plain.text[plain.text.index("\n[all") + 1:].splitlines()
    hw.need(len(lines[0]) == 60 and max(map(len, lines)) == 60, plain.text)
    narrow = heapwise("flame", path, env=hw.clean_environment(COLUMNS="33", LC_ALL="C"))
    graph = narrow.text[narrow.text.index("\n[all") + 1:]
    hw.need(graph.isascii() and len(graph.splitlines()[0]) == 33, narrow.text)
    coloured = heapwise("flame", path, "--color", "always", env=hw.clean_environment(NO_COLOR="1"))
    hw.need("\033[30;48;5;" in coloured.text, coloured.text)
    refused(heapwise("flame", path, "--color", "sometimes"), 2, "sometimes", "always")
    refused(heapwise("flame", path, "--width", "3"), 2, "--width")
    refused(heapwise("flame", path, "--svg", "-", "--folded"), 2, "--svg")


@TESTS.test
def flame_picture(folder):
    """The picture is well-formed, is refused where it can't be written, and reads in a browser"""
    path, picture = recording(folder), folder / "out.svg"
    ended = heapwise("flame", path, "--svg", picture)
    hw.need(ended.status == 0 and ended.text == "", str(ended))
    root = xml.etree.ElementTree.parse(picture).getroot()
    names = [g.get("data-name") for g in root.iter("{http://www.w3.org/2000/svg}g")]
    hw.need("main" in names and "all" in names, f"{names[:20]}")
    hw.need(heapwise("flame", path, "--svg", "-").stdout == picture.read_bytes(), "stdout differs from the file")
    refused(heapwise("flame", path, "--svg", folder / "no/out.svg"), 4, "no/out.svg", "No such file")


@TESTS.test
def flame_browser(folder):
    """In Chromium: search counts what fits, a click makes a frame as wide as the picture"""
    path, picture, page = recording(folder), folder / "out.svg", folder / "page.html"
    heapwise("flame", path, "--svg", picture)
    svg = picture.read_text(encoding="utf-8").split("?>", 1)[1]
    page.write_text(f"<!doctype html><meta charset=utf-8>{svg}", encoding="utf-8")
    main = '[...document.querySelectorAll("#flame g")].filter((g) => g.dataset.name === "main")[0]'
    with Browser(folder) as browser:
        browser.open(f"{picture.as_uri()}?s=^main$")
        hw.need(">^main$: " in browser.evaluate("document.documentElement.outerHTML"), "nothing was searched for")
        browser.open(page.as_uri())
        browser.evaluate(f'{main}.dispatchEvent(new MouseEvent("click")), 0')
        hw.need(browser.evaluate(f'{main}.querySelector("rect").getAttribute("width")') == "1200", "main is not as wide")
        found = browser.evaluate("document.documentElement.outerHTML")
        hw.need('class="outer"' in found and "display: none" in found, "nothing is zoomed")
        hw.need(not browser.exceptions, f"{browser.exceptions}")


@TESTS.test
def list_totals(folder):
    """A listing's figures are those of its function in the report, of a file those of the file"""
    path = recording(folder)
    for spot in hw.report(path, "--view", "functions")["spots"]:
        if not spot["file"] or not spot["function"]:
            continue
        parts = read_json("list", spot["function"], path)["parts"]
        for which in ("flat", "cum"):
            mine = [part[which] for part in parts if part["function"] == spot["function"]]
            if which == "flat" or len(mine) == 1:
                found = sum(part["allocated_bytes"] for part in mine)
                hw.need(found >= spot[which]["allocated_bytes"], f"{which} of {spot['function']}: {found}")
        for part in parts:
            lines = sum(line["flat"]["allocated_bytes"] for line in part["lines"] if line["flat"])
            hw.need(lines == part["flat"]["allocated_bytes"], f"lines of {part['function']}: {lines}")
    for spot in hw.report(path, "--view", "files")["spots"]:
        if not spot["file"]:
            continue
        part, = read_json("list", spot["file"], path)["parts"]
        hw.need(part["flat"] == spot["flat"] and part["cum"] == spot["cum"], f"{part['file']}: {part['flat']}")


@TESTS.test
def list_sources(folder):
    """A listing says where its source was found, or was looked for, and whether it has changed since"""
    path = recording(folder)
    text = heapwise("list", "main", path).text
    hw.need("fill_list(list, 5003)" in text and "  source: " in text and "lines may have" not in text, text)
    # The same program, compiled from a file that is gone.
    hw.need_program("gcc")
    gone, program = folder / "gone.c", folder / "gone"
    gone.write_text("#include <stdlib.h>\n\nint main(void)\n{\n\tchar *p = malloc(4711);\n\treturn p == NULL;\n}\n")
    hw.need(hw.run(["gcc", "-g", "-O0", "-o", program, gone]).status == 0, "gcc failed")
    hw.record([program], folder / "gone.hpw")
    text = heapwise("list", "main", folder / "gone.hpw").text
    hw.need("4.60 KiB" in text and "malloc(4711)" in text, text)
    gone.touch()
    text = heapwise("list", "gone.c:5", folder / "gone.hpw").text
    hw.need("it has changed since the recording began" in text, text)
    kept = folder / "kept" / "gone.c"
    kept.parent.mkdir()
    gone.rename(kept)
    ended = heapwise("list", "main", folder / "gone.hpw")
    hw.need("not found; tried\n    " + str(gone) in ended.text and "--source-path" in ended.text, str(ended.text))
    hw.need("malloc(4711)" not in ended.text and "4.60 KiB" in ended.text, ended.text)
    ended = heapwise("list", "main", folder / "gone.hpw", "--source-path", "/nowhere", "--source-path", kept.parent)
    hw.need(f"  source: {kept}\n" in ended.text and "malloc(4711)" in ended.text, ended.text)


@TESTS.test
def list_nul(folder):
    """A line of source with a NUL in it is whole in JSON, as it is in text"""
    source, program = folder / "nul.c", folder / "nul"
    source.write_bytes(b"#include <stdlib.h>\nint main(void) { void *volatile p = malloc(10); return !p; /* before\0after */ }\n")
    made = hw.run([hw.need_program("gcc"), "-g", "-w", source, "-o", program])
    hw.need(made.status == 0, str(made))
    hw.record([program], folder / "nul.hpw", options=("-q",))
    hw.need("before?after */ }" in heapwise("list", "main", folder / "nul.hpw").text, "text")
    lines = [line["text"] for part in read_json("list", "main", folder / "nul.hpw")["parts"] for line in part["lines"]]
    hw.need(any(line and line.endswith("before?after */ }") for line in lines), f"{lines}")


@TESTS.test
def list_refuses(folder):
    """What is not there is not listed, and what is like it is named"""
    path = recording(folder)
    refused(heapwise("list"), 2, "missing function")
    refused(heapwise("list", "mian", path), 1, "'mian'", "'main'")
    refused(heapwise("list", "containres.cc:3", path), 1, "'containres.cc'", "containers.cc'")
    refused(heapwise("list", "ma(in", path), 2, "'ma(in'", "at byte 6")
    refused(heapwise("list", "main", path, path), 2, "one recording")
    stripped = folder / "stripped"
    hw.need_program("strip")
    hw.run(["strip", "-g", "-o", stripped, hw.TARGETS / "peak_twice-O2"])
    hw.record([stripped], folder / "stripped.hpw")
    refused(heapwise("list", "main", folder / "stripped.hpw"), 1, "no line information for 'main'", "debug information")


@TESTS.test
def graph_totals(folder):
    """Without limits flat adds up to the report's total; nodes have the figures of its tables"""
    path = recording(folder)
    totals = hw.report(path)["totals"]
    everything = ("--nodecount", "0", "--nodefraction", "1e-10", "--edgefraction", "0")
    for metric, total in TOTALS.items():
        for grain in GRAINS:
            found = read_json("graph", path, *everything, "--metric", metric, f"--{grain}")
            flat = sum(node["flat"] for node in found["nodes"])
            hw.need(flat == found["shown"] == totals[total], f"{metric} by {grain}: {flat}, not {totals[total]}")
    for view in ("functions", "files", "modules"):
        table = [(spot["name"], spot["flat"]["peak_bytes"], spot["cum"]["peak_bytes"])
                 for spot in hw.report(path, "--view", view)["spots"] if spot["cum"]["peak_bytes"]]
        nodes = [(node["name"], node["flat"], node["cum"])
                 for node in read_json("graph", path, *everything, f"--{view}")["nodes"]]
        hw.need(sorted(table) == sorted(nodes), f"{view}: {set(table) ^ set(nodes)}")


@TESTS.test
def graph_dot(folder):
    """dot reads the graph: all nodes and edges, with names of C++ templates in them"""
    hw.need_program("dot")
    path = recording(folder)
    for options in ((), ("--lines",), ("--addresses", "--nodecount", "0", "--nodefraction", "0", "--edgefraction", "0"),
                    ("--files", "--show_bytes"), ("--modules", "--unit", "MiB", "--all-frames")):
        text = heapwise("graph", path, *options).text
        plain = hw.run(["dot", "-Tplain"], stdin=text.encode())
        hw.need(plain.status == 0 and plain.errors == "", f"{options}: {plain}")
        found = read_json("graph", path, *[option for option in options if option != "--show_bytes"])
        drawn = [line.split(" ", 1)[0] for line in plain.text.splitlines()]
        hw.need(drawn.count("node") == len(found["nodes"]) + 1, f"{options}: nodes and the legend: {drawn.count('node')}")
        hw.need(drawn.count("edge") == len(found["edges"]), f"{options}: edges: {drawn.count('edge')}")


@TESTS.test
def graph_pictures(folder):
    """Pictures are what their names say"""
    hw.need_program("dot")
    path = recording(folder)
    begins = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG", "gif": b"GIF8", "dot": b"digraph", "PNG": b"\x89PNG"}
    for form, begin in begins.items():
        ended = heapwise("graph", path, "-o", folder / f"out.{form}")
        hw.need(ended.status == 0 and ended.errors == "", f"{form}: {ended}")
        hw.need((folder / f"out.{form}").read_bytes().startswith(begin), f"{form}: something else")


@TESTS.test
def graph_refuses(folder):
    """Without dot only DOT is written, and that is said; what is wrong is said"""
    path = recording(folder)
    empty = folder / "empty"
    empty.mkdir()
    without = {"env": hw.clean_environment(PATH=empty)}
    refused(heapwise("graph", path, "-o", folder / "x.svg", **without), 4, "dot", "graphviz", "-o FILE.dot")
    hw.need(not (folder / "x.svg").exists(), "an empty picture is left behind")
    ended = heapwise("graph", path, "-o", folder / "x.dot", **without)
    hw.need(ended.status == 0 and (folder / "x.dot").stat().st_size, str(ended))
    broken = empty / "dot"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o700)
    refused(heapwise("graph", path, "-o", folder / "x.png", **without), 4, "dot could not draw", "status 3")
    refused(heapwise("graph", path, "-o", folder / "x.bmp"), 2, "x.bmp", ".svg")
    refused(heapwise("graph", path, "-o", folder / "no/x.dot"), 4, "no/x.dot")
    refused(heapwise("graph", path, "--nodefraction", "2"), 2, "--nodefraction")
    refused(heapwise("graph", path, "--nodecount", "-1"), 2, "--nodecount")
    refused(heapwise("graph", path, "--unit", "seconds"), 2, "seconds", "KiB")


@TESTS.test
def tables(folder):
    """Functions, files and modules: flat adds up to the total, cum is at most that"""
    path = recording(folder)
    for view in ("functions", "files", "modules"):
        report = hw.report(path, "--view", view)
        for metric, total in TOTALS.items():
            flat = sum(spot["flat"][metric] for spot in report["spots"])
            hw.need(flat == report["totals"][total], f"{view}: {metric}: {flat}, not {report['totals'][total]}")
            wrong = [spot["name"] for spot in report["spots"]
                     if not spot["flat"][metric] <= spot["cum"][metric] <= report["totals"][total]]
            hw.need(not wrong, f"{view}: {metric}: cum of {wrong}")


def read_csv(*arguments):
    ended = heapwise(*arguments, "--csv")
    hw.need(ended.status == 0 and ended.errors == "", f"{arguments}: {ended}")
    return list(csv.DictReader(io.StringIO(ended.text), strict=True))


def levels(node, depth=0):
    yield depth, node
    for child in node["children"]:
        yield from levels(child, depth + 1)


def cells(row, *names):
    """Of a row of JSON, as CSV has them"""
    return [str("" if row[name] is None else row[name]) for name in names]


@TESTS.test
def comma_separated(folder):
    """CSV has the rows of JSON in each of these commands; together they are refused"""
    path, other = recording(folder), recording(folder, "b.hpw", "peak_twice-O2")
    for command, options in (("tree", ()), ("tree", ("--lines", "--bottom-up")), ("tree", ("--base", other)), ("flame", ())):
        rows = read_csv(command, path, *options)
        names = ("name", "file", "line", "total", "self", "more") + (("total_base", "self_base") if "--base" in options else ())
        known = [[str(depth), *cells(node, *names)] for depth, node in levels(read_json(command, path, *options)["tree"])]
        hw.need([[row["depth"], *(row[name] for name in names)] for row in rows] == known, f"{command} {options}: {rows[:3]}")
        hw.need(len(rows) > 3, f"{command}: only {len(rows)} rows")
    rows, known = read_csv("graph", path), read_json("graph", path)["nodes"]
    hw.need([[row["name"], row["flat"], row["cum"]] for row in rows] == [cells(one, "name", "flat", "cum") for one in known],
            f"graph: {rows[:3]}")
    rows, known = read_csv("peek", ".", path), read_json("peek", ".", path)["functions"]
    for row, one in zip(rows, known, strict=True):
        hw.need([row["name"], row["flat.value"], row["cum.value"]] == [one["name"], *cells(one["flat"], "value"), *cells(one["cum"], "value")]
                and row["callers"] == ";".join(call["name"] for call in one["callers"]), f"peek: {row} is not {one}")
    parts = read_json("list", "main", path)["parts"]
    known = [(part, line) for part in parts for line in part["lines"]]
    for row, (part, line) in zip(read_csv("list", "main", path), known, strict=True):
        flat = str(line["flat"]["allocated_bytes"]) if line["flat"] else ""
        hw.need([row["function"], row["file"], row["line"], row["flat.allocated_bytes"]]
                == [part["function"], part["file"], str(line["line"]), flat] and row["text"].lstrip("'") == (line["text"] or ""),
                f"list: {row} is not {line}")
    rows = read_csv("report", path, other)
    known = json.loads(heapwise("report", path, other, "--json").text)["recordings"]
    for row, one in zip(rows, known, strict=True):
        hw.need([row["file"], row["allocations"], row["exit.code"]] == [*cells(one, "file", "allocations"), *cells(one["exit"], "code")],
                f"report of several: {row} is not {one}")
    rows = read_csv("diff", "--view", "tree", other, path)
    hw.need(rows[0]["depth"] == "0" and rows[0]["total_base"] != "", f"diff: {rows[0]}")
    for words in (("tree",), ("flame",), ("graph",), ("peek", "."), ("list", "main")):
        refused(heapwise(*words, path, "--csv", "--json"), 2, "--csv", "--json", "exclude each other")
    refused(heapwise("graph", path, "--csv", "-o", folder / "x.svg"), 2, "-o", "--csv")


TESTS.main()
