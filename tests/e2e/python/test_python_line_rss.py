#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""run --line-rss: how often lines of Python functions ran equals what the interpreter itself says (sys.settrace), and
resident memory grows where the program makes it grow, with each version that is installed (in /usr/bin, or by pyenv)."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import pythons

TESTS = hw.Tests()
SCRIPT = hw.SOURCE / "tests/targets/python/line_sizes.py"
MIB = 1 << 20
NEAR = 3 * MIB // 4  # what else grows meanwhile: the interpreter's own, and pages around
TRACED = ("build", "numbers", "feed", "deep", "fails", "thrown", "waits", "calls", "later", "loops", "grows", "held")


def traced_lines(recording, wanted):
    """{line: what was seen of it} in a function or file"""
    (part,) = json.loads(hw.ask("list", wanted, recording, "--json"))["parts"]
    return {line["line"]: line["traced"] for line in part["lines"] if line.get("traced")}


def need_counts(recording, truth):
    seen = {line: row["occurrences"] for line, row in traced_lines(recording, SCRIPT.name).items()}
    truth = {int(key.split(":")[1]): times for key, times in truth.items()}
    hw.need(seen == truth, f"differ: {sorted(set(seen.items()) ^ set(truth.items()))}")


def line_of(text):
    lines = SCRIPT.read_text(encoding="utf-8").splitlines()
    return next(i + 1 for i, line in enumerate(lines) if text in line)


def need_growth(recording, function, text, grown):
    row = traced_lines(recording, function)[line_of(text)]
    hw.need(abs(row["resident_growth_bytes"] - grown) < NEAR, f"{text}: {row}, not about {grown}")
    return row


def need_truth(folder, interpreter):
    counted = folder / "truth.json"
    hw.need(hw.run([interpreter, SCRIPT, counted]).status == 0, "the program alone failed")
    recordings = hw.record([interpreter, SCRIPT], folder / "x.hpw", options=("-q", "--line-rss", ",".join(TRACED)))
    del recordings
    files = sorted(folder.glob("x*.hpw"), key=lambda file: file.name != "x.hpw")
    hw.need(len(files) == 2, f"{files}")
    need_counts(files[0], json.loads(counted.read_text(encoding="utf-8")))
    need_counts(files[1], json.loads((folder / "truth.json.child").read_text(encoding="utf-8")))
    # Eight calls are in that line at a time: what grows counts once.
    need_growth(files[0], "deep", "return deep(depth - 1)", 8 * MIB)
    need_growth(files[0], "deep", "return bytearray(8 * MIB)", 8 * MIB)
    largest = need_growth(files[0], "grows", "kept.append(", 16 * MIB)["resident_bytes"]
    need_growth(files[0], "grows", "del kept", -16 * MIB)
    before = traced_lines(files[0], "grows")[line_of("kept = []")]["resident_bytes"]
    # A function that allocates nothing is in no stack.
    hw.need(traced_lines(files[0], "later")[line_of("total += count")]["occurrences"] == 18, "later")
    hw.need(abs(largest - before - 16 * MIB) < NEAR, f"{largest} after {before}")


for version in pythons.KNOWN:
    def of_version(folder, minor=version):
        need_truth(folder, pythons.python(minor))
    TESTS.add(f"as often as the interpreter says, Python 3.{version}", of_version)


@TESTS.test
def debians(folder):
    """as often as Debian's interpreter says"""
    need_truth(folder, pythons.debians())


@TESTS.test
def profiler_layout(folder):
    """in memory_profiler's layout; other figures on request, and of other functions"""
    hw.record([pythons.debians(), SCRIPT], folder / "x.hpw", options=("-q", "--line-rss", "grows"))

    def rows(*arguments):
        got = hw.run([hw.HEAPWISE, "list", arguments[0], folder / "x.hpw", "--format", "memory_profiler", *arguments[1:]])
        hw.need(got.status == 0, got.stderr)
        table = {}
        for line in got.stdout.decode().splitlines():
            found = re.fullmatch(r" {0,5}(\d+) +(-|[-\d.]+ MiB) +(-|[-\d.]+ MiB) +(-|\d+)   (.*)", line)
            if found:
                table[int(found[1])] = found.groups()[1:4]
        return table, got.stderr.decode()

    append = line_of("kept.append(")
    table, said = rows("grows")
    usage, increment, times = table[append]
    hw.need(times == "4" and abs(float(increment[:-4]) - 16) < 1 and float(usage[:-4]) > 16, f"{table[append]}")
    hw.need("resident memory grew" in said and "not traced" not in said, said)
    table, said = rows("grows", "--metric", "peak_bytes")
    hw.need(table[append] == ("-", "16.0 MiB", "-"), f"{table[append]}")
    table, said = rows("other")
    hw.need(all(row[0] == row[2] == "-" for row in table.values()) and "not traced" in said, f"{table} {said}")


@TESTS.test
def said_at_the_end(folder):
    """the end says what was traced, and when nothing was"""
    plain = folder / "plain.py"
    plain.write_text("def grows():\n    return 1\ngrows()\n", encoding="utf-8")
    for names, script, words in (
            ("grows", SCRIPT, "lines of grows were traced: heapwise list FUNC"),
            ("nosuch", SCRIPT, "no lines of nosuch were traced in any of them"),
            ("grows", plain, "lines of grows were traced: heapwise list FUNC --format"),
            ("nosuch", plain, "no lines of nosuch were traced: no function of that name ran"),
    ):
        got = hw.run([hw.HEAPWISE, "run", "-f", "-o", folder / "x.hpw", "--line-rss", names, "--", pythons.debians(), script])
        hw.need(got.status == 0 and f"heapwise: {words}" in got.errors, f"{words}: {got.errors}")


@TESTS.test
def said_of_processes(folder):
    """of several processes the recording is named that has most of it; long lists of names say that they are cut"""
    script = folder / "forks.py"
    script.write_text("import os\ndef child():\n    return bytearray(1 << 20)\ndef grows():\n    return bytearray(64 << 20)\n"
                      "pid = os.fork()\nif not pid:\n    child()\n    os._exit(0)\nos.waitpid(pid, 0)\ngrows()\n", encoding="utf-8")
    names = "child,grows," + ",".join(f"function_{i}" for i in range(12))
    interpreter = sys.executable
    ended = hw.heapwise("run", "-o", folder / "x.hpw", "--all-processes", "--line-rss", names, interpreter, script)
    hw.need(len(list(folder.glob("x*.hpw"))) == 2, f"{ended}")
    hw.need(b"each process in its own recording: heapwise list FUNC " in ended.stderr, f"{ended}")
    named = ended.stderr.split(b"own recording: heapwise list FUNC ")[1].split()[0].decode()
    hw.need(traced_lines(folder / Path(named).name, "grows"), f"{ended}")
    hw.need("function_3,func… were traced".encode() in ended.stderr, f"{ended}")


@TESTS.test
def refused(folder):
    """names that are none, too many bytes of them, and no objects: usage errors"""
    for options, words in (
            (["--line-rss", "a,,b"], "invalid --line-rss 'a,,b': expected names of functions"),
            (["--line-rss", ""], "expected names of functions"),
            (["--line-rss", "f" * 512], "have 512 bytes: at most 511"),
            (["--line-rss", "f", "--no-pyobjects"], "--line-rss needs what --no-pyobjects leaves out"),
    ):
        got = hw.run([hw.HEAPWISE, "run", "-o", folder / "x.hpw", *options, "--", "/bin/true"])
        hw.need(got.status == 125 and words in got.stderr.decode(), f"{options[1][:20]}: {got.status} {got.stderr}")


@TESTS.test
def own_trace(folder):
    """a program that installs its own trace function keeps it, and reads none before"""
    script = folder / "own.py"
    script.write_text("import sys\n"
                      "assert sys.gettrace() is None\n"
                      "seen = []\n"
                      "def traced():\n    return 1\n"
                      "sys.settrace(lambda frame, what, argument: seen.append(what))\n"
                      "traced()\n"
                      "sys.settrace(None)\n"
                      "print(seen)\n", encoding="utf-8")
    plain = hw.run([pythons.debians(), script])
    got = hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "x.hpw", "--line-rss", "traced", "--", pythons.debians(), script])
    hw.need(plain.status == got.status == 0 and plain.stdout == got.stdout, f"{got.stdout} {got.stderr}")


TESTS.main(width=2)
