#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The outputs and pictures of docs/guide.md are what its commands print and draw today.

Lines `<!-- output: COMMAND -->` in the guide stand before the block that has the command and what it
prints; `<!-- output, figures vary: COMMAND -->` where figures depend on the machine's pace; and
`<!-- picture: COMMAND -->` before an image that the command writes. All run in turn, in one folder with
the example programs. HEAPWISE_GOLDEN=update rewrites all outputs if one differs: those of a recording must
be of the same run.
"""

import os
import re
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
DOCS = hw.SOURCE / "docs"
GUIDE = DOCS / "guide.md"
EXAMPLES = hw.EXAMPLES
UPDATE = os.environ.get("HEAPWISE_GOLDEN") == "update"
LARGEST_PICTURE = 100_000

MARK = r"<!-- (output|output, figures vary|picture): ([^\n]*) -->\n"
PART = re.compile(rf"((?:{MARK})+)(?:```\n(.*?)```\n|!\[[^]]*\]\(([^)]*)\)\n)", re.DOTALL)
# What differs from run to run.
OF_A_RUN = (
    (re.compile(r"\b0x[0-9a-f]+"), "0xADDRESS"),
    (re.compile(r"\b(process|thread) \d+"), r"\1 N"),
    (re.compile(r"\b[\d.]+ (ns|µs|ms|s|min|h)\b"), "TIME"),
    # What a libc calls its inner functions, and whether its lines are known, differs between machines.
    (re.compile(r"(?m)(^ +(\S.*\[libc\.so\.6\](  \(inlined\))?|libc\.so\.6\+0xADDRESS)\n)+"), "      LIBC\n"),
    (re.compile(r"(?m)^ *\[(_|strdup |libc\.so\.6\+).*\n"), ""),
    (re.compile(r"(?m)^(Stacks of threads): .*"), r"\1: SIZES"),
    # Compilers differ in what they inline.
    (re.compile(r"  \(inlined\)"), ""),
)
# What depends on when things happened.
OF_THE_PACE = (
    (re.compile(r"[▁▂▃▄▅▆▇█]+"), "LINE"),
    (re.compile(r"[+-]?\d[\d.,]*( (B|KiB|MiB|GiB)\b)?"), "N"),
)


def comparable(text, vary):
    for pattern, word in OF_A_RUN + (OF_THE_PACE if vary else ()):
        text = pattern.sub(word, text)
    return text


def difference(old, new):
    """The first line that is not the same, of both."""
    olds, news = old.splitlines() + ["(end)"], new.splitlines() + ["(end)"]
    return next((f"{a!r} is now {b!r}" for a, b in zip(olds, news) if a != b), "")


def links(folder):
    for program in EXAMPLES.iterdir():
        if program.is_file() and os.access(program, os.X_OK):
            (folder / program.name).symlink_to(program)


def shell(folder, command):
    """What a user would see, both streams."""
    environment = hw.clean_environment(PATH=f"{hw.BUILD}:{os.environ['PATH']}")
    ended = hw.run(["/bin/bash", "-c", f"{command} 2>&1"], cwd=folder, env=environment)
    hw.need(ended.status == 0, f"{command}: {ended}; it printed {hw.shorten(ended.text)}")
    return ended.text.replace(str(hw.SOURCE), "~/heapwise")


def words_of(picture):
    """Geometry depends on fonts and on the version of what draws; what it says does not."""
    if not picture.exists():
        return ""
    root = xml.etree.ElementTree.parse(picture).getroot()
    texts = [element.text.strip() for element in root.iter()
             if element.tag.endswith(("}text", "}title")) and element.text]
    return comparable("\n".join(sorted(filter(None, texts))) + "\n", False)


class Session:
    """Goes through the guide; `changed` says what differs, `text` is the guide as it should be."""

    def __init__(self, folder):
        self.folder, self.changed, self.parts = folder, [], 0
        links(folder)
        self.text = PART.sub(self.part, GUIDE.read_text(encoding="utf-8"))

    def part(self, match):
        marks, block, image = match.group(1), match.group(4), match.group(5)
        commands = re.findall(MARK, marks)
        self.parts += len(commands)
        if image:
            self.picture(commands[-1][1], image)
            return match.group(0)
        return marks + "```\n" + self.output(commands, block) + "```\n"

    def output(self, commands, block):
        now = "\n".join(f"$ {command}\n{shell(self.folder, command)}" for _, command in commands)
        vary = any(kind != "output" for kind, _ in commands)
        wrong = difference(comparable(block, vary), comparable(now, vary))
        if wrong:
            self.changed.append(f"{commands[0][1]}: {wrong}")
        return now

    def picture(self, command, image):
        shell(self.folder, command)
        new, old = self.folder / Path(image).name, DOCS / image
        hw.need(new.stat().st_size < LARGEST_PICTURE, f"{image} has {new.stat().st_size} bytes")
        wrong = difference(words_of(old), words_of(new))
        if wrong:
            self.changed.append(f"{image}: {wrong}")
            if UPDATE:
                old.parent.mkdir(exist_ok=True)
                old.write_bytes(new.read_bytes())


@TESTS.test
def outputs(folder):
    """Outputs and pictures of the guide are what its commands make"""
    hw.need_program("dot")
    session = Session(folder)
    hw.need(session.parts > 0, "no outputs found in it")
    if UPDATE and session.changed:
        GUIDE.write_text(session.text, encoding="utf-8")
        return "rewritten: " + "; ".join(session.changed)
    hw.need(not session.changed, "differs (./dev golden guide rewrites it): " + "\n".join(session.changed))
    return f"{session.parts} commands"


@TESTS.test
def bites(_):
    """A figure, a function or a line of another value is a difference, a time or an address is not"""
    text = "process 12 recorded for 1.35 s\n  1.60 MiB in 3 blocks\n      split  peak.c:25  [peak]\n"
    same = "process 345 recorded for 2 ms\n  1.60 MiB in 3 blocks\n      split  peak.c:25  [peak]  (inlined)\n"
    hw.need(not difference(comparable(text, False), comparable(same, False)), "times are told apart")
    for old, new in (("1.60", "1.61"), ("3 blocks", "4 blocks"), ("split", "splot"), (":25", ":26")):
        other = text.replace(old, new)
        hw.need(difference(comparable(text, False), comparable(other, False)), f"{old} and {new} are the same")
    hw.need(difference(comparable(text, False), comparable(text + "more\n", False)), "a line more is nothing")


@TESTS.test
def marked(_):
    """Every block of the guide that begins with a prompt and has output is marked"""
    text = PART.sub("", GUIDE.read_text(encoding="utf-8"))
    for block in re.findall(r"```\n(.*?)```\n", text, re.DOTALL):
        typed = [line for line in block.splitlines() if line and not line.startswith("$ ")]
        hw.need(not typed, f"output that no command made: {typed[:1]}")
    hw.need("<!-- output" not in text and "<!-- picture" not in text, "a mark without its block")


def runs_of(guide):
    """Recording → what outputs of the guide say about its process."""
    runs = {}
    for block in re.findall(r"```\n(\$ .*?)```\n", guide, re.DOTALL):
        for command, output in re.findall(r"^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE):
            about = re.findall(r"^ +(process \d+ ended .*)", output, re.MULTILINE)
            for name, run in zip(re.findall(r"\w+\.hpw", command), about):
                runs.setdefault(name, set()).add(run)
    return runs


@TESTS.test
def one_run(_):
    """All outputs of one recording are of the same run"""
    runs = runs_of(GUIDE.read_text(encoding="utf-8"))
    hw.need(len(runs) > 4, f"only {sorted(runs)} are shown")
    hw.need(all(len(run) == 1 for run in runs.values()), f"of several runs (./dev golden guide): {runs}")


TESTS.main()
