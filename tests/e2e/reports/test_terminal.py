#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is other on a terminal: colours, the pager, and that long work says so."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from terminal import Terminal

TESTS = hw.Tests()
DIRECT = {"TERM": "xterm", "HEAPWISE_PAGER": "cat"}


def recording(folder, program="peak_twice-O2"):
    path = folder / "a.hpw"
    ended = hw.record([hw.TARGETS / program], path)
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def on_terminal(*arguments, **environment):
    """Exit status and what the terminal got, from stdout and stderr."""
    with Terminal([hw.HEAPWISE, *arguments], hw.clean_environment(**environment)) as terminal:
        return terminal.end()


@TESTS.test
def colours(folder):
    """Colours on a terminal alone, unless NO_COLOR or TERM=dumb; --color has the last word"""
    path = recording(folder)
    for command in (("report",), ("report", "--view", "functions"), ("tree",), ("flame",), ("list", "main")):
        plain = hw.run([hw.HEAPWISE, *command, path]).text
        hw.need("\033" not in plain, f"{command}: colours in a pipe")
        status, text = on_terminal(*command, path, **DIRECT)
        hw.need(status == 0 and "\033[" in text, f"{command}: no colours: {text}")
        for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            status, text = on_terminal(*command, path, **{**DIRECT, **more})
            hw.need(status == 0 and "\033" not in text, f"{command} {more}: {text}")
        status, text = on_terminal(*command, path, "--color=never", **DIRECT)
        hw.need(status == 0 and "\033" not in text, f"{command} --color=never: {text}")
        always = hw.run([hw.HEAPWISE, *command, path, "--color=always"]).text
        hw.need("\033[" in always, f"{command} --color=always: {always}")
        if command[0] != "flame":  # which is drawn otherwise
            bare = "".join(part.split("m", 1)[-1] if i else part for i, part in enumerate(always.split("\033[")))
            hw.need(bare == plain, f"{command}: colours change the text")
    searched = folder / "searched.hpw"
    hw.record([hw.TARGETS / "phases"], searched, options=("-q", "--leak-check=full"))
    of_calls = ("--metric", "allocations", f"{path}@start", path)
    for command in (("diff", *of_calls), ("diff", "--trend", *of_calls), ("leaks", searched), ("timeline", "--format=ms_print", path)):
        plain = hw.run([hw.HEAPWISE, *command]).text
        hw.need(plain and "\033" not in plain, f"{command}: colours in a pipe: {plain}")
        status, text = on_terminal(*command, **DIRECT)
        hw.need(status == 0 and "\033[" in text, f"{command}: no colours: {text}")
        always = hw.run([hw.HEAPWISE, *command, "--color=always"]).text
        bare = "".join(part.split("m", 1)[-1] if i else part for i, part in enumerate(always.split("\033[")))
        hw.need(bare == plain != always, f"{command}: colours change the text")
        status, text = on_terminal(*command, TERM="xterm", HEAPWISE_PAGER="sed s/^/PAGED/")
        hw.need(status == 0 and text.startswith("PAGED"), f"{command}: no pager: {text}")
        status, text = on_terminal(*command, "--no-pager", TERM="xterm", HEAPWISE_PAGER="sed s/^/PAGED/")
        hw.need(status == 0 and "PAGED" not in text, f"{command}: a pager: {text}")
    text = hw.run([hw.HEAPWISE, "report", path, "--json", "--color=always"]).text
    hw.need("\033" not in text, "colours in JSON")


@TESTS.test
def pager(folder):
    """$HEAPWISE_PAGER, $PAGER or less, on a terminal alone; --no-pager does without"""
    path = recording(folder)
    mark = "sed s/^/PAGED/"
    for command in (("report",), ("report", folder), ("tree",), ("flame",), ("list", "main")):
        status, text = on_terminal(*command, path, TERM="xterm", HEAPWISE_PAGER=mark, PAGER="false")
        hw.need(status == 0 and text.startswith("PAGED"), f"{command}: {text}")
    status, text = on_terminal("tree", path, TERM="xterm", PAGER=mark)
    hw.need(status == 0 and text.startswith("PAGED"), f"PAGER: {text}")
    for more in ({"HEAPWISE_PAGER": "", "PAGER": mark}, {"PAGER": "cat"}):
        status, text = on_terminal("tree", path, TERM="xterm", **more)
        hw.need(status == 0 and "PAGED" not in text and "top-down" in text, f"{more}: {text}")
    status, text = on_terminal("tree", path, "--no-pager", TERM="xterm", PAGER=mark)
    hw.need(status == 0 and "PAGED" not in text and "top-down" in text, text)
    piped = hw.run([hw.HEAPWISE, "tree", path], env=hw.clean_environment(PAGER=mark)).text
    hw.need("PAGED" not in piped, "a pager in a pipe")
    # One that leaves early is no error; neither is one that is never started.
    status, text = on_terminal("tree", path, TERM="xterm", PAGER="head -1")
    hw.need(status == 0 and len(text.splitlines()) == 1, text)
    status, text = on_terminal("tree", folder / "none.hpw", TERM="xterm", PAGER=mark)
    hw.need(status == 3 and "PAGED" not in text, text)
    # Without less there is none.
    status, text = on_terminal("tree", path, TERM="xterm", PATH=folder)
    hw.need(status == 0 and "top-down" in text, text)


@TESTS.test
def progress(folder):
    """What takes longer than a second says so on a terminal, and takes it back"""
    path = recording(folder)
    slow = folder / "dot"
    slow.write_text("#!/bin/sh\ncat >/dev/null\nsleep 2.5\n")
    slow.chmod(0o700)
    search = f"{folder}:{os.environ['PATH']}"
    status, text = on_terminal("graph", path, "-o", folder / "x.svg", TERM="xterm", PATH=search)
    hw.need(status == 0 and "heapwise: drawing " in text and "… 1 s" in text and "… 2 s" in text, text)
    hw.need(text.endswith("\r\033[K"), f"it stays: {text!r}")
    status, text = on_terminal("tree", path, **DIRECT)
    hw.need("reading" not in text and "looking up" not in text, f"said of a moment's work: {text}")
    ended = hw.run([hw.HEAPWISE, "graph", path, "-o", folder / "x.svg"], env=hw.clean_environment(PATH=search))
    hw.need(ended.status == 0 and ended.errors == "", f"said in a pipe: {ended}")


TESTS.main()
