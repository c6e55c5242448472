#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line that a page of a real program shows for what is chosen gives the page's figures: sqlite3, git, python3."""

import json
import re
import shlex
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import quote, urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from pagefile import Page as PageFile
from pages import Page, page_of

TESTS = hw.Tests()
SQL = """create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into t select i, 'text ' || i * 7919 % 1009, i / 3.0 from n;
create index byb on t(b);
select count(*), b from t group by b order by 1 desc, 2 limit 20;
select group_concat(b) from (select b from t where a % 7 = 0);
update t set c = c * 2 where b like '%9';
delete from t where a % 3 = 0;
"""
SCRIPT = """
import collections, json, re, decimal
rows = [{'name': 'n%d' % i, 'values': list(range(i % 50))} for i in range(2000)]
text = json.dumps(rows)
kept = json.loads(text)
words = collections.Counter(re.findall('[a-z]+', text))
sums = [str(decimal.Decimal(i) / 7) for i in range(500)]
"""


def need_in_path(name):
    """Not that of a version manager, which is a shell script."""
    path = Path("/usr/bin") / name
    if not path.exists():
        raise hw.Skip(f"{path} is not there")
    return path


def repository(folder):
    place = folder / "repository"
    place.mkdir()
    git = [need_in_path("git"), "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "gc.auto=0"]
    steps = [["init", "-q"]]
    for i in range(12):
        steps += [i, ["add", "."], ["commit", "-q", "-m", f"Change {i}"]]
    for step in steps:
        if isinstance(step, int):
            (place / f"file{step % 3}.txt").write_text("".join(f"line {line * (step + 1) % 97}\n" for line in range(300)), encoding="utf-8")
            continue
        ended = hw.run([*git, *step], cwd=place)
        hw.need(ended.status == 0, str(ended))
    return [*git, "-C", place, "--no-pager", "log", "--stat", "-p", "-M"]


PROGRAMS = {
    "sqlite3": lambda folder: [need_in_path("sqlite3"), "-batch", folder / "file.db", SQL],
    "git": repository,
    "python3": lambda folder: [need_in_path("python3"), "-S", "-c", SCRIPT],
}

SEPARATOR = ";"
UNNAMED = re.compile(r"^\(unknown\)$|\+0x")
# Paths of names with what they have.
TREES = """(() => [...document.querySelectorAll('main canvas')].length && (({tree, options}) => {
    const found = [], path = [];
    const walk = (node) => {
        for (let i = tree.firstChild[node]; i < tree.firstChild[node + 1]; i++) {
            const child = tree.order[i];
            if (!tree.total[child]) continue;
            path.push(options.label(child));
            found.push([path.join(";"), tree.total[child]]);
            walk(child);
            path.pop();
        }
    };
    walk(0);
    return found;
})(heapwiseFlame))()"""
ROWS = """JSON.parse(JSON.stringify([...document.querySelectorAll('.rows [role=row]')].map((row) => {
    const cells = [...row.children].map((cell) => cell.title);
    return [cells[3], ...cells.slice(0, 2).map((text) => Number(text.replace(/[^0-9]/g, '')))];
})))"""
COMMAND = "document.querySelector('.trail + .bar code')?.textContent"


def added(rows):
    """Functions of one name are one."""
    sums = Counter()
    for path, total in rows:
        sums[path] += total
    return sums


def sums_of(folded):
    """The same of what flame --folded writes."""
    sums = Counter()
    for line in folded.splitlines():
        stack, _, figure = line.rpartition(" ")
        names = stack.split(";")
        for i in range(len(names)):
            sums[SEPARATOR.join(names[:i + 1])] += int(figure)
    return sums


def command_of(page):
    command = page.evaluate(COMMAND)
    hw.need(command, f"no command is shown: {page.evaluate('location.hash')}: {hw.shorten(page.text())}")
    return command


def asked(command, folder, *more):
    """Its words, and what it writes."""
    words = shlex.split(command)
    hw.need(words[0] == "heapwise", command)
    ended = heapwise(*words[1:], *more, cwd=folder)
    hw.need(ended.status == 0, f"{command}: {ended}")
    return words[1:], ended.text


def differ(found, wanted):
    """What only one of both has."""
    def some(of, other):
        return [(f"{path.count(SEPARATOR) + 1} levels: {' ← '.join(reversed(path.split(SEPARATOR)[-3:]))}", figure)
                for path, figure in sorted(of.items() - other.items())[:4]]
    return f"the page alone has {some(found, wanted)}, the command {some(wanted, found)}"


def same_tree(page, folder, fragment):
    page.go("#" + urlencode({"view": "flame", "names": "1", **fragment}, quote_via=quote))
    page.when("window.heapwiseFlame?.drawn", "0")
    command = command_of(page)
    words, text = asked(command, folder, "--folded")
    found, wanted = added(page.evaluate(TREES)), sums_of(text)
    hw.need(found and found == wanted, f"{command}: {differ(found, wanted)}")
    return words


def same_table(page, folder, kind, fragment):
    page.go("#" + urlencode({"view": "tables", "table": kind, "names": "1", **fragment}, quote_via=quote))
    command, metric = command_of(page), fragment["metric"]
    words, text = asked(command, folder, "--json")
    answer = json.loads(text)
    name = {"functions": "function", "files": "file", "modules": "module"}[kind]
    # Rows are drawn when they come into sight: those that are there are the first. What has no name is told by its place, in words.
    shown = [(one, *figures) for one, *figures in page.evaluate(ROWS) if figures[1] and not UNNAMED.search(one)]
    wanted = Counter((spot[name], spot["flat"][metric], spot["cum"][metric]) for spot in answer["spots"])
    hw.need(shown and not Counter(shown) - wanted, f"{command}: the page alone has {list((Counter(shown) - wanted).items())[:4]}, the command {list((wanted - Counter(shown)).items())[:4]}")
    return words


def same_range(page, folder, meaning, times, focus):
    page.go("#" + urlencode({"view": "flame", "range": f"{times[0]}..{times[1]}", "metric": f"range_{meaning}_bytes", **focus}, quote_via=quote))
    total = page.when("window.heapwiseFlame?.drawn || document.querySelector('.empty')", "window.heapwiseFlame?.tree?.total[0] ?? 0")
    words, text = asked(command_of(page), folder, "--json")
    answer = json.loads(text)
    if words[0] == "diff":
        sign = 1 if meaning == "grown" else -1
        changes = [sign * row["live_bytes"]["change"] for row in answer["rows"]]
        wanted = sum(one for one in changes if one > 0)
    else:
        wanted = answer["tree"]["total"]
    hw.need(total == wanted, f"{shlex.join(words)}: {wanted}, the page has {total}")
    return words


def exactly(name):
    return "^" + re.escape(name) + "$"


def chosen_names(page):
    """Functions with names: one that most goes through, one of many, and the outermost."""
    page.go("#view=flame&metric=allocated_bytes&names=1")
    page.when("window.heapwiseFlame?.drawn", "0")
    names = page.evaluate("""(({tree, options}) => [...tree.total.keys()].filter((node) => node && tree.total[node] * 500 > tree.total[0])
        .sort((a, b) => tree.total[b] - tree.total[a]).map(options.label))(heapwiseFlame)""")
    named = list(dict.fromkeys(name for name in names if re.fullmatch(r"\w+", name)))
    hw.need(len(named) >= 3, f"{named}")
    return named[len(named) // 2], named[-1], named[0]


def try_program(folder, name):
    path = folder / f"{name}.hpw"
    hw.record(PROGRAMS[name](folder), path)
    hw.need(path.exists(), "nothing was recorded")
    made = page_of(path)
    with Page(folder, made) as page:
        middle, inner, outer = chosen_names(page)
        commands = [
            same_tree(page, folder, {"metric": "allocated_bytes", "focus": exactly(middle)}),
            same_tree(page, folder, {"metric": "peak_bytes", "ignore": exactly(inner)}),
            same_tree(page, folder, {"metric": "allocations", "hide": exactly(middle), "show-from": exactly(outer)}),
            same_tree(page, folder, {"metric": "peak_blocks", "hide": "^_?_libc|^_Py|^sqlite3_", "inverted": "1"}),
            same_tree(page, folder, {"metric": "temporary", "show": "alloc|read|main"}),
            same_table(page, folder, "functions", {"metric": "allocated_bytes", "focus": exactly(inner)}),
            same_table(page, folder, "modules", {"metric": "allocations", "ignore": exactly(middle)}),
            same_table(page, folder, "functions", {"metric": "peak_bytes", "hide": exactly(middle), "focus": exactly(outer)}),
        ]
        times = [f"{int(time)}ns" for time in PageFile(made.read_text()).columns["moment.time_ns"]]
        ends = times[len(times) // 4], times[3 * len(times) // 4]
        commands += [same_range(page, folder, meaning, ends, {"focus": exactly(outer)} if meaning != "peak" else {})
                     for meaning in ("live", "grown", "shrunk", "peak")]
        page.done()
    hw.need(len({tuple(words) for words in commands}) >= 10, f"{commands}")
    return f"{len(commands)} commands"


for program in PROGRAMS:
    def one(folder, program=program):
        return try_program(folder, program)
    one.__name__, one.__doc__ = program, f"Of {program}: trees, tables and ranges"
    TESTS.test(one)


TESTS.main(width=1)  # one browser
