#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What lines of Python keep alive: byte for byte what Python's own tracemalloc says of the same blocks, and source lines with their
figures, in memory_profiler's columns too."""

import itertools
import json
import random
import sys
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pythonstory import NATIVE, Block, record, snapshot, statistic_lines

TESTS = hw.Tests()
FORM = ("--format", "tracemalloc")
KEYS = {"line": "lineno", "file": "filename", "traceback": "traceback"}
MAIN = ("/srv/app/main.py", "<module>", 3)
# Where the unit or the number of decimals changes, and beside it.
SIZES = [0, 1, 7, 99, 100, 101, 1023, 1024, 1025, 10239, 10240, 10241, 102348, 102349, 102400, 1048575, 1048576, 10485759, 10485760,
         104857599, 104857600, 2**31, 2**32 - 1, 2**32, 10 * 2**30, 2**38, 2**40 - 1]
FILES = ["/srv/app/main.py", "/srv/app/parse.py", "/srv/app/Ä ö/größe.py", "/srv/app/日本.py", "/srv/app/😀.py", "<string>",
         "<frozen importlib._bootstrap>", "/srv/lib/tool.pyc", "relative.py", "/srv/app/with:colon.py", ""]


def frame(chance):
    file = chance.choice(FILES)
    return file, chance.choice(["run", "load", "Parser.read"]), 0 if not file else chance.choice([0, 1, 2, 9, 10, 11, 100, 4000])


def blocks_of(seed, count=300):
    """Blocks of every kind: live and freed, of one size and of others, native code between frames, stacks without Python."""
    chance = random.Random(seed)
    stacks = [[frame(chance) for _ in range(chance.randint(1, 6))] for _ in range(40)]
    found = []
    for _ in range(count):
        frames = list(chance.choice(stacks))
        for at in sorted(chance.sample(range(len(frames) + 1), chance.randint(0, 1)), reverse=True):
            frames[at:at] = [NATIVE]
        size = chance.choice(SIZES) if chance.random() < 0.5 else chance.randint(0, 5000)
        found.append(Block(size, *([NATIVE] if chance.random() < 0.1 else frames), freed=chance.random() < 0.3))
    return found


def written(*arguments):
    ended = heapwise(*arguments)
    hw.need(ended.status == 0, f"{arguments}: {ended}")
    return ended.stdout.decode().splitlines()


def same(found, expected, what):
    for number, (ours, theirs) in enumerate(itertools.zip_longest(found, expected)):
        hw.need(ours == theirs, f"{what}, line {number + 1}: {ours!r} instead of {theirs!r}")


@TESTS.test
def statistics(folder):
    """Statistics by line, file and traceback are tracemalloc's own, byte for byte"""
    for seed in range(4):
        blocks = blocks_of(seed)
        path = record(folder / f"{seed}.hpw", blocks)
        for ours, theirs in KEYS.items():
            for nframe in (0, 1, 2):
                expected = statistic_lines(snapshot(blocks, nframe).statistics(theirs), ours == "traceback")
                hw.need(len(expected) > 5, f"too little is compared: {expected}")
                depth = ["--nframe", str(nframe)] if nframe else []
                same(written("report", path, *FORM, "--by", ours, *depth), expected, f"{seed}, by {ours}, {nframe} frames")


@TESTS.test
def default_is_lines(folder):
    """By line is the default; views are keys, and tracemalloc's own words too; --limit is the first ones"""
    blocks = blocks_of(5)
    path = record(folder / "a.hpw", blocks)
    lines = written("report", path, *FORM)
    hw.need(lines == written("report", path, "--view", "lines", *FORM) == written("report", path, *FORM, "--by", "lineno"), "not by line")
    hw.need(written("report", path, "--view", "files", *FORM) == written("report", path, *FORM, "--by", "filename"), "not by file")
    hw.need(written("report", path, "--view", "sites", *FORM) == written("report", path, *FORM, "--by", "traceback"), "not by traceback")
    hw.need(written("report", path, *FORM, "--limit", "3") == lines[:3], "not the first three")


@TESTS.test
def cumulative(folder):
    """--cum is tracemalloc's cumulative mode; of recursive calls a block counts once"""
    blocks = [Block(size, ("/a.py", "f", line), NATIVE, ("/b.py", "g", 7), MAIN) for size, line in ((10, 1), (500, 2), (500, 3))]
    path = record(folder / "a.hpw", blocks)
    for ours in ("line", "file"):
        same(written("report", path, *FORM, "--by", ours, "--cum"), statistic_lines(snapshot(blocks).statistics(KEYS[ours], True)), ours)
    path = record(folder / "b.hpw", [Block(100, *[("/a.py", "f", 1)] * 9, MAIN)])
    same(written("report", path, *FORM, "--cum"),
         ["/srv/app/main.py:3: size=100 B, count=1, average=100 B", "/a.py:1: size=100 B, count=1, average=100 B"], "recursion")


@TESTS.test
def ties(folder):
    """Equal sizes and counts are in tracemalloc's order: by names as Python compares them, lines as numbers, longer stacks"""
    names = ["/a.py", "/B.py", "/ä.py", "/z.py", "/\U0001f600.py", "/\uffe6.py", "/日.py", "/a.py2"]
    blocks = [Block(64, (name, "f", line), MAIN) for name in names for line in (0, 2, 10)]
    blocks += [Block(64, ("/a.py", "f", 2), MAIN, MAIN), Block(64, MAIN)]
    chance = random.Random(1)
    chance.shuffle(blocks)
    path = record(folder / "a.hpw", blocks)
    for ours, theirs in KEYS.items():
        same(written("report", path, *FORM, "--by", ours), statistic_lines(snapshot(blocks).statistics(theirs), ours == "traceback"), ours)


@TESTS.test
def changes(folder):
    """diff is compare_to(): new, gone and equal keys, positive and negative changes, in its order"""
    for seed in range(4):
        older, newer = blocks_of(seed), blocks_of(seed)[:40] + blocks_of(seed + 50, 100)
        a, b = record(folder / "a.hpw", older), record(folder / "b.hpw", newer)
        for ours, theirs in KEYS.items():
            expected = statistic_lines(snapshot(newer).compare_to(snapshot(older), theirs), ours == "traceback")
            text = "\n".join(expected)
            hw.need("(-" in text and "(+" in text and ("count=0" in text or ours == "file"), f"not all kinds of changes: {text}")
            same(written("diff", a, b, *FORM, "--by", ours), expected, f"{seed} by {ours}")
            same(written("diff", b, a, *FORM, "--by", ours),
                 statistic_lines(snapshot(older).compare_to(snapshot(newer), theirs), ours == "traceback"), f"{seed} by {ours}, turned")
        same(written("diff", a, a, *FORM), statistic_lines(snapshot(older).compare_to(snapshot(older), "lineno")), "no change")


@TESTS.test
def one_side_empty(folder):
    """A side of diff without any live block of Python is one of nothing"""
    blocks = [Block(100, MAIN), Block(11, ("/a.py", "f", 5), MAIN)]
    a, b = record(folder / "a.hpw", [Block(1, MAIN, freed=True)]), record(folder / "b.hpw", blocks)
    same(written("diff", a, b, *FORM), statistic_lines(snapshot(blocks).compare_to(snapshot([]), "lineno")), "from nothing")
    same(written("diff", b, a, *FORM), statistic_lines(snapshot([]).compare_to(snapshot(blocks), "lineno")), "to nothing")


def filter_words(filters):
    for one in filters:
        yield "--include" if one.inclusive else "--exclude"
        yield one.filename_pattern + ("" if one.lineno is None else f":{one.lineno}")


def pattern_of(chance):
    kind = chance.randrange(5)
    file = chance.choice([f for f in FILES if f])
    if kind == 0:
        return file
    if kind == 1:
        return "*" + file[chance.randrange(len(file)):]
    if kind == 2:
        return "*[" + "".join(chance.choice("!-]aopy.äß日") for _ in range(chance.randint(1, 5))) + "]*"
    if kind == 3:
        return "".join("?" if chance.random() < 0.3 else c for c in file)
    return chance.choice(["*", "*.py", "*app*", "<*>", "[", "*[!p]*", "*[a-", "*/[m-q]*.py", "*.pyc", "*[z-a]*", "*[]]*"])


@TESTS.test
def filters(folder):
    """--include and --exclude are tracemalloc.Filter: patterns of fnmatch, lines, all frames, several of both"""
    blocks = blocks_of(3)
    path = record(folder / "a.hpw", blocks)
    chance, sizes = random.Random(4), set()
    for _ in range(60):
        any_frame = chance.random() < 0.5
        chosen = [tracemalloc.Filter(chance.random() < 0.6, pattern_of(chance), chance.choice([None, None, None, 0, 2, 10]), any_frame)
                  for _ in range(chance.randint(1, 3))]
        expected = statistic_lines(snapshot(blocks).filter_traces(chosen).statistics("lineno"))
        words = list(filter_words(chosen))
        same(written("report", path, *FORM, *words, *(["--any-frame"] if any_frame else [])), expected, f"{words}, {any_frame}")
        sizes.add(len(expected))
    hw.need(len(sizes) > 10, f"filters did not filter: {sizes}")


@TESTS.test
def frame_filters(folder):
    """Filters of stacks go first: what --focus leaves is what is added up"""
    blocks = [Block(100, ("/a.py", "load", 5), MAIN), Block(7, ("/a.py", "save", 5), MAIN), Block(3, NATIVE, MAIN)]
    path = record(folder / "a.hpw", blocks)
    same(written("report", path, *FORM, "--focus", "^load$"), ["/a.py:5: size=100 B, count=1, average=100 B"], "--focus")
    same(written("report", path, *FORM, "--hide", "^save$"), statistic_lines(snapshot(
        [blocks[0], Block(7, MAIN), blocks[2]]).statistics("lineno")), "--hide")


@TESTS.test
def same_as_views(folder):
    """The view of lines that docs/python.md names for columns and JSON has the same bytes and blocks"""
    blocks = [block for block in blocks_of(6) if all(f == NATIVE or (f[0].endswith(".py") or f[0][:1] == "<") and f[2] for f in block.frames)]
    path = record(folder / "a.hpw", blocks)
    words = ("--view", "lines", "--show", r"\.py$|^<", "--sort", "live_bytes", "--json")
    ours = {}
    for spot in json.loads(hw.ask("report", path, *words))["spots"]:  # of each function its lines
        size, count = ours.get((spot["file"], spot["line"]), (0, 0))
        if spot["flat"]["live_blocks"]:
            ours[spot["file"], spot["line"]] = size + spot["flat"]["live_bytes"], count + spot["flat"]["live_blocks"]
    theirs = {}
    for statistic in snapshot(blocks).statistics("lineno"):
        frame_of = statistic.traceback[0]
        theirs[frame_of.filename, frame_of.lineno] = statistic.size, statistic.count
    hw.need(ours == theirs and len(ours) > 5, f"{ours} is not {theirs}")


@TESTS.test
def tracebacks_have_sources(folder):
    """A traceback has its source lines where they are found, and either order of frames"""
    source = folder / "größe.py"
    source.write_text("import os\n\tx =\t[1] \f\r\n\nüber = 1  \n", encoding="utf-8")
    blocks = [Block(10, (str(source), "f", line), (str(source), "g", 1), MAIN) for line in (1, 2, 3, 4, 5, 400)]
    path = record(folder / "a.hpw", blocks)
    for recent_first in (False, True):
        words = ["--most-recent-first"] if recent_first else []
        expected = statistic_lines(snapshot(blocks).statistics("traceback"), True, recent_first)
        hw.need("    über = 1" in expected, f"tracemalloc has no sources: {expected}")
        same(written("report", path, *FORM, "--by", "traceback", *words), expected, f"{words}")


@TESTS.test
def moments(folder):
    """At a moment it is what was live then"""
    blocks = [Block(100, MAIN, freed=True), Block(50, ("/a.py", "f", 1), MAIN)]
    path = record(folder / "a.hpw", blocks)
    same(written("report", path, *FORM), ["/a.py:1: size=50 B, count=1, average=50 B"], "end")
    same(written("report", path, *FORM, "--at", "peak"),
         ["/srv/app/main.py:3: size=100 B, count=1, average=100 B", "/a.py:1: size=50 B, count=1, average=50 B"], "peak")
    same(written("diff", f"{path}@peak", f"{path}@end", *FORM),
         ["/srv/app/main.py:3: size=0 B (-100 B), count=0 (-1)", "/a.py:1: size=50 B (+0 B), count=1 (+0), average=50 B"], "diff")


@TESTS.test
def said_beside(folder):
    """What the layout has no place for is said: native blocks, nothing left, no Python at all; names can't break lines"""
    path = record(folder / "a.hpw", [Block(5, NATIVE), Block(6, NATIVE), Block(7, ("/a\x1b[31m.py", "f", 1), MAIN)])
    ended = heapwise("report", path, *FORM)
    hw.need("sizes may be" not in ended.errors, str(ended))
    hw.need("11 B in 2 live blocks without a Python frame" in ended.errors, str(ended))
    hw.need("\x1b" not in ended.text and ended.text.count("\n") == 1, repr(ended.text))
    ended = heapwise("report", record(folder / "b.hpw", [Block(5, NATIVE)]), *FORM)
    hw.need(ended.status == 3 and not ended.stdout and "no frames of Python" in ended.errors, str(ended))
    ended = heapwise("report", path, *FORM, "--include", "nothing")
    hw.need(ended.status == 0 and not ended.stdout and "fits --include and --exclude" in ended.errors, str(ended))
    ended = heapwise("report", record(folder / "c.hpw", [Block(5, MAIN, freed=True)]), *FORM)
    hw.need(ended.status == 0 and not ended.stdout and "is live" in ended.errors, str(ended))


@TESTS.test
def refusals(folder):
    """What can't be combined is refused, with the reason"""
    path = record(folder / "a.hpw", [Block(5, MAIN)])
    for words, reason in {
        ("--by", "line"): "--by needs --format tracemalloc",
        ("--include", "*"): "--include needs --format tracemalloc",
        ("--nframe", "2", "--view", "lines"): "--nframe needs --format tracemalloc",
        (*FORM, "--by", "func"): "expected line, file or traceback",
        (*FORM, "--view", "threads"): "needs --view lines, files or sites",
        (*FORM, "--view", "lines", "--by", "file"): "exclude each other",
        (*FORM, "--json"): "excludes --json",
        (*FORM, "--csv"): "excludes --csv",
        (*FORM, "--sort", "live_bytes"): "excludes --sort",
        (*FORM, "--base", "a.hpw"): "heapwise diff",
        (*FORM, "--by", "traceback", "--cum"): "--cum needs --by line or file",
        (*FORM, "--include", ""): "expected a pattern",
        (*FORM, "--include", ":5"): "expected a pattern",
        (*FORM, "--nframe", "0"): "from 1 on",
        ("--format", "tracemallocs"): "or tracemalloc",
    }.items():
        ended = heapwise("report", path, *words)
        hw.need(ended.status == 2 and reason in ended.errors and not ended.stdout, f"{words}: {ended}")
    for words, reason in {
        (*FORM, "--by", "owner"): "expected line, file or traceback",
        ("--by", "line"): "expected type, owner or stack",
        ("--exclude", "*"): "needs --format tracemalloc",
        (*FORM, "--json"): "excludes --json",
        (*FORM, "--view", "tree"): "excludes --view",
        (*FORM, "--metric", "peak_bytes"): "excludes --metric",
        (*FORM, "--fail-on-growth", "5%"): "excludes --fail-on-growth",
        ("--format", "texts"): "expected text or tracemalloc",
    }.items():
        ended = heapwise("diff", path, path, *words)
        hw.need(ended.status == 2 and reason in ended.errors and not ended.stdout, f"diff {words}: {ended}")


SOURCE = """\
import json

@cached
def load(path):
    rows = read(path)
    # nothing here
    index = {row: 1 for row in rows}
\tdel rows
    return index


def other():
    pass
"""
MIB = 1 << 20


def loaded(folder):
    """A source file, and blocks of its function: one that is freed, native code below, a callee."""
    source = folder / "app.py"
    source.write_text(SOURCE)
    name = str(source)
    return source, record(folder / "app.hpw", [
        Block(3 * MIB, NATIVE, (name, "load", 5), MAIN, freed=True),
        Block(MIB // 2, (name, "read", 99), (name, "load", 5), MAIN),
        Block(5 * MIB + MIB // 4, NATIVE, NATIVE, (name, "load", 7), (name, "load", 5), MAIN),
        Block(1, (name, "load", 9), MAIN),
    ])


@TESTS.test
def list_function(folder):
    """list has exact bytes for each line of Python; native code below a line is the line's own, a callee is not"""
    source, path = loaded(folder)
    ended = heapwise("list", "load", path, "--json")
    hw.need(ended.status == 0, str(ended))
    part, = json.loads(ended.text)["parts"]
    figures = {line["line"]: (line["flat"] and line["flat"]["allocated_bytes"], line["cum"] and line["cum"]["allocated_bytes"],
                              line["cum"] and line["cum"]["live_bytes"]) for line in part["lines"] if line["cum"]}
    hw.need(figures == {5: (3 * MIB, 3 * MIB + MIB // 2 + 5 * MIB + MIB // 4, MIB // 2 + 5 * MIB + MIB // 4),
                        7: (5 * MIB + MIB // 4, 5 * MIB + MIB // 4, 5 * MIB + MIB // 4), 9: (1, 1, 1)}, f"{figures}")
    hw.need(part["flat"]["allocated_bytes"] == sum(flat or 0 for flat, _, _ in figures.values()), "flat doesn't add up")
    hw.need({line["line"]: line["text"] for line in part["lines"]}[5] == SOURCE.splitlines()[4], "not its source")


@TESTS.test
def list_without_line(folder):
    """Figures of code whose line is not known have a row of their own, and no number"""
    source = folder / "app.py"
    source.write_text(SOURCE)
    path = record(folder / "a.hpw", [Block(100, (str(source), "load", 0), MAIN), Block(7, (str(source), "load", 5), MAIN)])
    part, = json.loads(heapwise("list", "load", path, "--json").text)["parts"]
    hw.need(part["lines"][0]["line"] is None and part["lines"][0]["cum"]["live_bytes"] == 100, f"{part['lines'][0]}")
    hw.need(sum(line["flat"]["live_bytes"] for line in part["lines"] if line["flat"]) == part["flat"]["live_bytes"] == 107, f"{part}")
    hw.need("?  (the line is not known)" in heapwise("list", "load", path).text, "not said in text")
    path = record(folder / "b.hpw", [Block(100, ("/gone.py", "load", 0), MAIN)])
    part, = json.loads(heapwise("list", "load", path, "--json").text)["parts"]
    hw.need([line["line"] for line in part["lines"]] == [None], f"{part}")


def profiler_table(file, rows, precision=1):
    """What memory_profiler's show_results() writes: {line: increment in bytes, or None} of the lines of a function."""
    template = "{0:>6} {1:>12} {2:>12}  {3:>10}   {4:<}"
    header = template.format("Line #", "Mem usage", "Increment", "Occurrences", "Line Contents")
    text = f"Filename: {file}\n\n{header}\n{'=' * len(header)}\n"
    lines = Path(file).read_text().splitlines(keepends=True)
    for number, increment in rows.items():
        memory = "" if increment is None else f"{increment / MIB:{precision + 4}.{precision}f} MiB"
        known = "" if increment is None else "-"
        text += template.format(number, known, memory, known, lines[number - 1])
    return text + "\n\n"


@TESTS.test
def memory_profiler(folder):
    """memory_profiler's header and columns, byte for byte but for dashes where nothing was traced, which is said"""
    source, path = loaded(folder)
    words = ("list", "load", path, "--format", "memory_profiler")
    peak = {5: 3 * MIB + MIB // 2 + 5 * MIB + MIB // 4, 6: None, 7: 5 * MIB + MIB // 4, 8: None, 9: 1}
    ended = heapwise(*words)
    hw.need(ended.status == 0 and ended.text == profiler_table(source, peak), f"{ended.text!r} is not {profiler_table(source, peak)!r}")
    hw.need("lines were not traced" in ended.errors and "live at the peak" in ended.errors, str(ended))
    hw.need("Line #    Mem usage    Increment  Occurrences   Line Contents\n" in ended.text, "not its header")
    live = {**peak, 5: MIB // 2 + 5 * MIB + MIB // 4}
    ended = heapwise(*words, "--metric", "live_bytes", "--precision", "4")
    hw.need(ended.text == profiler_table(source, live, 4) and "is live" in ended.errors, str(ended))
    hw.need(heapwise(*words, "--precision", "0").text == profiler_table(source, peak, 0), "not without decimals")


@TESTS.test
def memory_profiler_beside(folder):
    """Without a source, without a line, of a whole file, compared: still that layout, and what is missing is said"""
    path = record(folder / "a.hpw", [Block(MIB, ("/gone.py", "load", 0), MAIN), Block(MIB, ("/gone.py", "load", 5), MAIN)])
    ended = heapwise("list", "load", path, "--format", "memory_profiler")
    rows = ended.text.splitlines()[4:]
    hw.need(rows[:2] == ["     -            -      1.0 MiB           -   ", "     5            -      1.0 MiB           -   "], f"{rows}")
    hw.need("/gone.py was not found" in ended.errors, str(ended))
    source, path = loaded(folder)
    text = heapwise("list", "app.py", path, "--format", "memory_profiler").text
    hw.need(len(text.splitlines()) == 4 + len(SOURCE.splitlines()) + 1 + 2 or "    99" in text, text)
    name = str(source)
    smaller = record(folder / "b.hpw", [Block(9 * MIB, (name, "load", 5), MAIN), Block(1, (name, "load", 7), MAIN), Block(1, (name, "load", 9), MAIN)])
    text = heapwise("list", "load", path, "--base", smaller, "--format", "memory_profiler").text
    hw.need("     5            -     -0.2 MiB" in text, text)
    for bad, reason in {("--metric", "live_blocks"): "invalid --metric", ("--precision", "10"): "from 0 to 9", ("--json",): "excludes"}.items():
        ended = heapwise("list", "load", path, "--format", "memory_profiler", *bad)
        hw.need(ended.status == 2 and reason in ended.errors, f"{bad}: {ended}")
    ended = heapwise("list", "load", path, "--precision", "2")
    hw.need(ended.status == 2 and "needs --format memory_profiler" in ended.errors, str(ended))


SCRIPT = """\
import ctypes, sys
traced = len(sys.argv) > 1
if traced:
    import tracemalloc
    tracemalloc.start()
def load(count):
    rows = [str(number) * 3 for number in range(count)]
    return {row: [row] for row in rows}
class Node:
    def __init__(self, below):
        self.below = below
        self.data = bytes(1000)
kept = load(20000)
blocks = [bytearray(size) for size in range(2000)]
gone = load(30000)
node = None
for _ in range(1000):
    node = Node(node)
del gone
if traced:
    chosen = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
    for statistic in chosen.statistics("lineno"):
        print(statistic.traceback[0].lineno, statistic.size, statistic.count)
else:
    ctypes.CDLL(None).heapwise_rt_mark(b"here")
"""


@TESTS.test
def of_a_program(folder):
    """A recorded program of Python: its lines have the bytes and blocks that tracemalloc has seen in another run, but for what free lists keep"""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    path = folder / "script.hpw"
    python = str(Path("/usr/bin/python3").resolve())
    ended = hw.record([python, script], path)
    hw.need(ended.status == 0, str(ended))
    words = ("report", path, "--at", "mark:here", *FORM, "--include", str(script))
    ended = heapwise(*words)
    hw.need("no frames of Python" not in ended.errors, ended.errors)
    traced = hw.run([python, script, "traced"])
    hw.need(traced.status == 0, str(traced))
    theirs = {int(line): (int(size), int(count)) for line, size, count in map(str.split, traced.text.splitlines())}
    shown = {int(text.split(": size=")[0].rsplit(":", 1)[1]): int(text.split(", count=")[1].split(",")[0]) for text in ended.text.splitlines()}
    spots = json.loads(hw.ask("report", path, "--at", "mark:here", "--view", "lines", "--show", "script[.]py$", "--sort", "live_bytes", "--json"))["spots"]
    ours = {}
    for spot in spots:
        ours[spot["line"]] = ours.get(spot["line"], 0) + spot["flat"]["live_bytes"]
    large = {line: figures for line, figures in theirs.items() if figures[0] > 10000}
    hw.need(len(large) >= 4, f"{theirs}")
    for line, (size, count) in large.items():
        hw.need(abs(ours.get(line, 0) - size) <= size * 0.005 and abs(shown.get(line, 0) - count) <= max(100, count * 0.01),
                f"line {line}: {ours.get(line)} bytes in {shown.get(line)} blocks, not {size} in {count}; {ended.text}")


TESTS.main()
