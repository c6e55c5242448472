#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The prompt: what its lines answer, on a terminal with completion and history, and from a pipe."""

import os
import pty
import select
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
# By hand: the first key may come before the prompt reads key by key, and is lost then.
TERMINAL = hw.Tests()


def recording(folder):
    path = folder / "a.hpw"
    ended = hw.record([hw.TARGETS / "peak_twice-O2"], path)
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def ask(path, *lines, cwd=None):
    """What the prompt answers to lines from a pipe."""
    ended = hw.run([hw.HEAPWISE, "prompt", path], stdin="".join(f"{line}\n" for line in lines).encode(), cwd=cwd)
    hw.need(ended.status == 0, f"{lines}: {ended}")
    return ended


def told(*arguments):
    ended = hw.run([hw.HEAPWISE, *arguments])
    hw.need(ended.status == 0, f"{arguments}: {ended}")
    return ended.text


@TESTS.test
def same_answers(folder):
    """A line answers as the command does from a shell, with what was set before"""
    path = recording(folder)
    pairs = (
        (("report",), ("report", path)),
        (("top",), ("report", path, "--view", "functions", "--limit", "10")),
        (("top3 -cum",), ("report", path, "--view", "functions", "--limit", "3", "--cum")),
        (("sample_index=inuse_space", "granularity=lines", "top"),
         ("report", path, "--view", "lines", "--limit", "10", "--sort", "live_bytes")),
        (("top main -libc",), ("report", path, "--view", "functions", "--limit", "10", "--focus", "main", "--ignore", "libc")),
        (("focus=main", "top", "focus=", "top"),
         ("report", path, "--view", "functions", "--limit", "10", "--focus", "main")),
        (("sample_index=alloc_objects", "peek main"), ("peek", "main", path, "--metric", "allocations")),
        (("nodecount=5", "tree"),
         ("peek", ".", path, "--nodefraction", "0.005", "--edgefraction", "0.001", "--nodecount", "5")),
        (("calls",), ("tree", path)),
        (("list main",), ("list", "main", path)),
        (("at=peak", "calls"), ("tree", path, "--at", "peak")),
        (("hide=\"^mai n\"", "calls"), ("tree", path, "--hide", "^mai n")),
    )
    for lines, command in pairs:
        answer = ask(path, *lines).text
        expected = told(*command)
        if lines[-2:-1] == ("focus=",):
            expected += told("report", path, "--view", "functions", "--limit", "10")
        hw.need(answer == expected, f"{lines}: {answer}\nand {command}: {expected}")


@TESTS.test
def redirected(folder):
    """> FILE writes the answer there; pictures get a name"""
    path = recording(folder)
    ended = ask(path, "top > out.txt", "dot >graph.dot", "svg", "top", cwd=folder)
    hw.need((folder / "out.txt").read_text() == ended.text, f"out.txt differs: {ended.text}")
    hw.need((folder / "graph.dot").read_text().startswith("digraph"), "no dot")
    hw.need("<svg" in (folder / "heapwise001.svg").read_text(), "no picture")
    hw.need("wrote heapwise001.svg" in ended.errors, ended.errors)


@TESTS.test
def mistakes(folder):
    """What it does not know it says, and goes on"""
    path = recording(folder)
    ended = ask(path, "tpo", "nothing=1", "sample_index=cpu", "list", "peek (", "top a b", "list 'x", "list no_such_function",
                "", "report now", "calls", "quit", "top")
    hw.need(ended.text == told("tree", path), ended.text)
    for words in ("no command 'tpo'", "no option 'nothing'", "sample_index cannot be 'cpu'", "list what?",
                  "no regular expression", "one regular expression is enough", "a quote is not closed",
                  "nothing in these stacks is called 'no_such_function'", "a report is of all"):
        hw.need(words in ended.errors, f"no {words!r}: {ended.errors}")
    missing = hw.run([hw.HEAPWISE, "prompt", folder / "no.hpw"])
    hw.need(missing.status == 3 and "no.hpw" in missing.errors, f"{missing}")


class Terminal:
    """A prompt on a terminal. What was read before is forgotten with each wait."""

    def __init__(self, folder, *arguments, **more):
        environment = hw.clean_environment(TERM="xterm", XDG_STATE_HOME=folder, HEAPWISE_PAGER="cat", NO_COLOR="1", **more)
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.execve(hw.HEAPWISE, [str(word) for word in (hw.HEAPWISE, *arguments)], environment)

    def wait(self, words):
        got, until = "", time.monotonic() + hw.TIMEOUT
        while words not in got:
            hw.need(select.select([self.file], [], [], max(0, until - time.monotonic()))[0], f"no {words!r}: {got!r}")
            try:
                got += os.read(self.file, 1 << 16).decode(errors="replace").replace("\r", "")
            except OSError:
                raise hw.Failure(f"it ended without {words!r}: {got!r}") from None
        return got

    def type(self, text):
        os.write(self.file, text.encode())

    def end(self):
        until = time.monotonic() + hw.TIMEOUT
        while select.select([self.file], [], [], max(0, until - time.monotonic()))[0]:
            try:
                if not os.read(self.file, 1 << 16):
                    break
            except OSError:
                break
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.file)
        return status


@TERMINAL.test
def on_a_terminal(folder):
    """heapwise FILE on a terminal is the prompt: TAB completes commands, values and functions, ^D leaves, history stays"""
    path = recording(folder)
    terminal = Terminal(folder, path)
    terminal.wait("(heapwise) ")
    terminal.type("repo\t\n")
    terminal.wait("Totals")
    terminal.wait("(heapwise) ")
    terminal.type("sample_index=inuse_sp\t\n")
    terminal.wait("(heapwise) ")
    terminal.type("peek __libc_start_c\t\n")
    terminal.wait("Live at the end by functions")
    terminal.wait("(heapwise) ")
    terminal.type("\x04")
    hw.need(terminal.end() == 0, "it did not end well")
    history = (folder / "heapwise/history").read_text()
    hw.need("sample_index=inuse_space" in history.replace("\\040", " "), history)
    again = Terminal(folder, path)
    again.wait("(heapwise) ")
    again.type("\x1b[A\n")
    again.wait("by functions")
    again.type("exit\n")
    hw.need(again.end() == 0, "it did not end well")


@TERMINAL.test
def interrupted(folder):
    """^C ends an answer, not the prompt"""
    path = recording(folder)
    terminal = Terminal(folder, path)
    terminal.wait("(heapwise) ")
    terminal.type("\x03")
    terminal.type("top1\n")
    terminal.wait("Functions by")
    terminal.wait("(heapwise) ")
    terminal.type("quit\n")
    hw.need(terminal.end() == 0, "it did not end well")


@TESTS.test
def in_a_pipe(folder):
    """heapwise FILE elsewhere is the report"""
    path = recording(folder)
    hw.need(told(path) == told("report", path), "it is another answer")
    wrong = hw.run([hw.HEAPWISE, "no-such-file"])
    hw.need(wrong.status == 2 and "no command 'no-such-file'" in wrong.errors, f"{wrong}")


if __name__ == "__main__":
    on_terminal = sys.argv[1:2] == ["terminal"]
    if on_terminal:
        del sys.argv[1]
    (TERMINAL if on_terminal else TESTS).main(width=2)
