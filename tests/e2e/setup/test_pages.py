#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that pages of docs/ show are those that there are: every command, and each of its options with its argument.

What guides print is checked by test_guide.py; this is about all others: an option that was renamed, or never was."""

import functools
import re
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
PAGES = sorted([*(hw.SOURCE / "docs").glob("*.md"), *(hw.SOURCE / "docs/howto").glob("*.md"), hw.SOURCE / "README.md"])
# After these words come the arguments of another program.
STARTERS = ("run", "check", "watch", "growth")


@functools.cache
def options_of(verb):
    """Option → whether it takes an argument; None: there is no such command."""
    ended = hw.heapwise(verb, "--help")
    if ended.status:
        return None
    found = {"--help": False}
    for line in ended.text.splitlines():
        names = re.match(r" +((?:-\w, +)?--[\w-]+|-\w)(\[?=?\[?[ =]?[A-Z\[a-z|]*)?", line)
        if not names:
            continue
        takes = re.match(r" +(?:-\w(?:, +)?)?(?:--[\w-]+)?([ =]\S+|\[=\S+)?(?:  |$| [a-z])", line)
        argument = bool(takes and takes[1] and not takes[1].startswith("[") and takes[1].strip())
        for name in re.split(r", +", names[1]):
            found[name] = argument
    return found


def spans(text):
    """Code of a page: lines of blocks, and spans in text."""
    blocks = re.compile(r"^```[^\n]*\n(.*?)^```|((?:^    [^\n]*\n)+)", re.MULTILINE | re.DOTALL)
    for match in blocks.finditer(text):
        yield from (line.strip() for line in (match[1] or match[2]).splitlines())
    for match in re.finditer(r"(?<!`)`([^`]+)`(?!`)", blocks.sub("", text)):
        yield re.sub(r"\s+", " ", match[1])


def commands(text):
    """Each use of heapwise in a line, as words."""
    for line in spans(text):
        line = re.split(r"\s{3,}|\s#\s", re.sub(r"^\$ ", "", line))[0]
        for part in re.split(r"[;|&()]+", line):
            try:
                words = shlex.split(part)
            except ValueError:
                continue
            while words and re.match(r"[A-Z_]+=", words[0]):
                words.pop(0)
            if len(words) > 1 and words[0] == "heapwise" and re.fullmatch(r"[a-z]+", words[1]):
                yield words[1:]


def wrong_in(words):
    """What is wrong with a command; None: nothing."""
    verb, rest = words[0], words[1:]
    known = options_of(verb)
    if known is None:
        return f"there is no command '{verb}'"
    while rest:
        word = rest.pop(0)
        if word == "--" or (verb in STARTERS and not word.startswith("-")):
            return None
        name = re.split(r"[=\[…]", word)[0]
        if not re.fullmatch(r"-\w|--\w[\w-]*", name):
            continue
        if name not in known:
            return f"'heapwise {verb}' has no {name}"
        if known[name] and "=" not in word and rest:
            rest.pop(0)
    return None


@TESTS.test
def known(_):
    """Each command on a page is there, with its options"""
    count, wrong = 0, []
    for page in PAGES:
        for words in commands(page.read_text(encoding="utf-8")):
            count += 1
            problem = wrong_in(list(words))
            if problem:
                wrong.append(f"{page.relative_to(hw.SOURCE)}: `heapwise {' '.join(words)}`: {problem}")
    hw.need(not wrong, "\n".join(wrong))
    hw.need(count > 200, f"only {count} commands were found")
    return f"{count} commands on {len(PAGES)} pages"


@TESTS.test
def bites(_):
    """A command or an option that is not there is found, and one of another program is not looked at"""
    text = "Say `heapwise report --vew peak`, `heapwise rport x`.\n\n    $ heapwise run -o x.hpw ./app --vew   # and\n    A=1 heapwise diff --nothing a b\n"
    problems = [wrong_in(list(words)) for words in commands(text)]
    hw.need(sorted(map(str, problems)) == ["'heapwise diff' has no --nothing", "'heapwise report' has no --vew", "None",
                                           "there is no command 'rport'"], f"{problems}")


TESTS.main()
