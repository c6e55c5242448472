#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs: output and status are the same with and without recording.

Each runs natively twice and recorded once, in a fresh folder of the same content and the same name. Words
that differ between the two native runs (times, process ids) are masked; nothing else is.
"""

import json
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

PYTHON_SOURCE = """
import collections, json, re, sqlite3, sys, threading, zlib
rows = [{'key': f'k{i % 97}', 'value': i * i, 'text': 'x' * (i % 61)} for i in range(6000)]
text = json.dumps(rows)
back = json.loads(text)
totals = collections.Counter()
for row in back:
    totals[row['key']] += row['value']
packed = zlib.compress(text.encode())
found = re.findall(r'"value": (\\d+)', text)
results = []
threads = [threading.Thread(target=lambda n=n: results.append(sum(range(n * 1000)))) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
base = sqlite3.connect(':memory:')
base.execute('create table t (k text, v integer)')
base.executemany('insert into t values (?, ?)', [(r['key'], r['value']) for r in back])
print(base.execute('select k, sum(v) from t group by k order by k limit 5').fetchall())
print(totals.most_common(3), len(zlib.decompress(packed)), len(found), sorted(results))
print('on stderr', file=sys.stderr)
sys.exit(5)
"""

C_SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *left, *right; int key; char text[32]; };
static struct node *add(struct node *tree, int key)
{
	if (!tree) {
		tree = calloc(1, sizeof *tree);
		tree->key = key;
		snprintf(tree->text, sizeof tree->text, "number %d", key);
	} else if (key < tree->key) {
		tree->left = add(tree->left, key);
	} else {
		tree->right = add(tree->right, key);
	}
	return tree;
}
int main(int argc, char **argv)
{
	struct node *tree = NULL;
	int unused;
	for (int i = 0; i < 100; i++)
		tree = add(tree, i * 37 % 100 + argc);
	printf("%s %s\\n", argv[0], tree->text);
	return 0;
}
"""

SQL = """
create table item (id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into item select i, 'item ' || (i * 7919 % 20000), i * 0.25 from n;
create index by_name on item (name);
select count(*), sum(price), min(name), max(name) from item;
select substr(name, 1, 6) as start, count(*), avg(price) from item group by start order by 2 desc, 1 limit 10;
select a.name, b.price from item a join item b on a.name = b.name where a.id % 4001 = 0 order by 1;
delete from item where id % 3 = 0;
vacuum;
select count(*) from item where name like '%99%';
select no_such_column from item;
"""

PERL_SOURCE = """
use strict; use warnings;
my %count; my @words = map { 'w' . ($_ * 7919 % 1009) } 1 .. 30000;
$count{$_}++ for @words;
my $text = join ' ', @words;
my $changed = $text =~ s/w(\\d)(\\d+)/$2-$1/gr;
printf "%d %d %s\\n", scalar keys %count, length $changed, substr $changed, 0, 40;
my @deep; push @{$deep[$_ % 10]}, [$_, { square => $_ ** 2 }] for 1 .. 5000;
print join(',', map { scalar @$_ } @deep), "\\n";
print sort { $a cmp $b } map { "$_\\n" } grep { $count{$_} > 29 } keys %count;
my $child = fork; if (!$child) { my @more = map { "x" x $_ } 1 .. 2000; exit 3 }
waitpid $child, 0; print "child: ", $? >> 8, "\\n";
warn "a warning\\n"; exit 4;
"""


def write_json(folder):
    rows = [
        {"id": i, "name": f"name {i * 7919 % 5000}", "tags": ["a", "b" * (i % 9)], "x": i / 8}
        for i in range(5000)
    ]
    (folder / "data.json").write_text(json.dumps(rows))


def write_xml(folder):
    rows = "".join(
        f'<item id="i{i}"><name>n{i}</name><v>{i * i}</v></item>\n' for i in range(8000)
    )
    (folder / "data.xml").write_text(f"<?xml version='1.0'?>\n<list>\n{rows}</list>\n")
    (folder / "bad.xml").write_text("<list><item></list>\n")


def write_git(folder):
    (folder / "repository").mkdir()
    for i in range(60):
        (folder / "repository" / f"file{i}.txt").write_text(f"line {i}\n" * (i + 1))


GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "gc.auto=0"]

# Name, what prepares the folder, standard input, more environment, and the commands, in order.
PROGRAMS = [
    (
        "jq",
        write_json,
        b"",
        {},
        [
            ["jq", "-c", "group_by(.name[5:6]) | map({n: length, s: (map(.x) | add)})", "data.json"],
            ["jq", ".[1:4], (.[0] | .x / 0)", "data.json"],
        ],
    ),
    (
        "xmllint",
        write_xml,
        b"",
        {},
        [
            ["xmllint", "--format", "data.xml"],
            ["xmllint", "--xpath", "sum(//v[. > 1000])", "data.xml"],
            ["xmllint", "--noout", "bad.xml"],
        ],
    ),
    ("sqlite3", None, SQL.encode(), {}, [["sqlite3", "base.db"]]),
    ("perl", None, b"", {"PERL_HASH_SEED": "0"}, [["perl", "-e", PERL_SOURCE]]),
    ("python3", None, b"", {"PYTHONHASHSEED": "0"}, [["/usr/bin/python3", "-c", PYTHON_SOURCE]]),
    (
        "python3 with PYTHONMALLOC=malloc",
        None,
        b"",
        {"PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"},
        [["/usr/bin/python3", "-c", PYTHON_SOURCE]],
    ),
    (
        "gcc compiling a file",
        lambda folder: (folder / "tree.c").write_text(C_SOURCE),
        b"",
        {},
        [
            ["gcc", "-O2", "-g", "-Wall", "tree.c", "-o", "tree"],
            ["./tree", "argument"],
            ["gcc", "-S", "-O1", "-o", "-", "tree.c"],
            ["gcc", "-c", "missing.c"],
        ],
    ),
    (
        "git",
        write_git,
        b"",
        {
            "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
            "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": "/nonexistent",
        },
        [
            [*GIT, "init", "-b", "main", "repository"],
            [*GIT, "-C", "repository", "add", "--all", "."],
            [*GIT, "-C", "repository", "commit", "-m", "a commit"],
            [*GIT, "-C", "repository", "log", "--stat", "-p"],
            [*GIT, "-C", "repository", "repack", "-ad"],
            [*GIT, "-C", "repository", "fsck"],
            [*GIT, "-C", "repository", "checkout", "nothing"],
        ],
    ),
]


def perform(home, prepare, stdin, environment, commands, recorded):
    """Runs the commands in a fresh folder of ever the same name. Returns how each ended."""
    work = home / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    if prepare:
        prepare(work)
    ended = []
    for number, command in enumerate(commands):
        more = {"env": hw.clean_environment(**environment), "cwd": work, "stdin": stdin}
        if recorded:
            recording = home / f"{number}.hpw"
            ended.append(hw.record(command, recording, **more))
            hw.need(recording.exists(), f"no recording of {command[:2]}: {ended[-1]}")
        else:
            ended.append(hw.run(command, **more))
    return ended


def masked(first, second, text):
    """text without the words that differ between two native runs, and these places' number."""
    words = [t.split(b" ") for t in (first, second, text)]
    if len(words[0]) != len(words[1]):
        raise hw.Failure("two native runs differ in length: the command is of no use here")
    places = {i for i, (a, b) in enumerate(zip(*words[:2])) if a != b}
    return [word for i, word in enumerate(words[2]) if i not in places]


def compare(what, first, second, recorded):
    wanted, found = masked(first, second, first), masked(first, second, recorded)
    if wanted == found:
        return []
    at = next(
        (i for i, (a, b) in enumerate(zip(wanted, found)) if a != b), min(len(wanted), len(found))
    )
    show = lambda words: b" ".join(words[max(0, at - 3) : at + 8]).decode(errors="replace")[:200]
    return [f"{what} differs: natively {show(wanted)!r}, recorded {show(found)!r}"]


def check_program(folder, name, prepare, stdin, environment, commands):
    for command in commands:
        if "/" not in command[0]:
            hw.need_program(command[0])
    native = [perform(folder, prepare, stdin, environment, commands, False) for _ in range(2)]
    recorded = perform(folder, prepare, stdin, environment, commands, True)
    problems = []
    for command, first, second, third in zip(commands, *native, recorded):
        found = compare("stdout", first.stdout, second.stdout, third.stdout)
        found += compare("stderr", first.stderr, second.stderr, third.stderr)
        if first.status != third.status:
            found.append(f"{hw.describe(third.status)}, natively {hw.describe(first.status)}")
        problems += [f"{' '.join(command[:3])}: {problem}" for problem in found]
    for number in range(len(commands)):
        report = hw.report(folder / f"{number}.hpw")
        if not report["recording"]["complete"] or report["recording"]["lost_events"]:
            problems.append(f"recording {number} is not complete: {report['recording']}")
        if not report["totals"]["allocations"]:
            problems.append(f"recording {number} is empty")
    hw.need(not problems, "\n".join(problems))


def main():
    tests = hw.Tests()
    for program in PROGRAMS:
        tests.add(program[0], lambda folder, p=program: check_program(folder, *p))
    tests.main()


if __name__ == "__main__":
    main()
