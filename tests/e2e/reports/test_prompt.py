#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The prompt: what its lines answer, on a terminal with completion and history, and from a pipe."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from heaps import Waiting
from terminal import Terminal

TESTS = hw.Tests()
PROMPT = "(heapwise) "


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
        (("top main -libz",), ("report", path, "--view", "functions", "--limit", "10", "--focus", "main", "--ignore", "libz")),
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
    for words in ("unknown command 'tpo'", "unknown option 'nothing'", "invalid value for sample_index 'cpu'", "list: missing FUNC",
                  "invalid regular expression", "only one regular expression", "unterminated quote",
                  "no function in these stacks matches 'no_such_function'", "report can't be filtered"):
        hw.need(words in ended.errors, f"no {words!r}: {ended.errors}")
    missing = hw.run([hw.HEAPWISE, "prompt", folder / "no.hpw"])
    hw.need(missing.status == 3 and "no.hpw" in missing.errors, f"{missing}")


def prompt(folder, *arguments, **more):
    settings = {"TERM": "xterm", "XDG_STATE_HOME": folder, "HEAPWISE_PAGER": "cat", "NO_COLOR": "1", **more}
    return Terminal([hw.HEAPWISE, *arguments], hw.clean_environment(**settings))


def leave(terminal, keys):
    terminal.wait(PROMPT)
    terminal.type(keys)
    hw.need(terminal.end()[0] == 0, "it did not end well")


@TESTS.test
def on_a_terminal(folder):
    """heapwise FILE on a terminal is the prompt: TAB completes commands, values and functions, ^D leaves, history stays"""
    path = recording(folder)
    with prompt(folder, path) as terminal:
        for keys, answer in (("repo\t\n", "Totals"), ("sample_index=inuse_sp\t\n", ""),
                             ("sample_index=alloc_sp\t\n", ""), ("peek __libc_start_m\t\n", "Allocated by functions")):
            terminal.wait(PROMPT)
            terminal.type(keys)
            terminal.wait(answer)
        leave(terminal, "\x04")
    history = (folder / "heapwise/history").read_text()
    hw.need("sample_index=inuse_space" in history.replace("\\040", " "), history)
    with prompt(folder, path) as terminal:
        terminal.wait(PROMPT)
        terminal.type("\x1b[A\n")
        terminal.wait("by functions")
        leave(terminal, "exit\n")


@TESTS.test
def of_a_heap(folder):
    """heapwise heap PID on a terminal asks for verbs: TAB completes them and types, each answers from what was read once"""
    program = subprocess.Popen([hw.TARGETS / "heaps/heap_small", "account", "wait"], cwd=folder, stdout=subprocess.PIPE)
    try:
        hw.need(program.stdout.readline() == b"ready\n", "the program did not come so far")
        with prompt(folder, "heap", str(program.pid)) as terminal:
            terminal.wait("definitely lost")
            for keys, answer in (("domi\t\n", "global list"), ("why nod\t\n", "3,000 blocks"),
                                 ("words nothing\n", "invalid address"), ("nosuch\n", "unknown verb"), ("help\n", "fragmentation")):
                terminal.wait(PROMPT)
                terminal.type(keys)
                terminal.wait(answer)
            leave(terminal, "quit\n")
        hw.wait_until(lambda: "State:\tS" in Path(f"/proc/{program.pid}/status").read_text(), "the process does not go on")
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


@TESTS.test
def answers_of_a_heap_elsewhere(folder):
    """A heap's answers go to commands of the shell and to files, also behind what is there; help tells of a verb"""
    (folder / "more").write_text("there before\n")
    (folder / "more").chmod(0o640)
    program = subprocess.Popen([hw.TARGETS / "heaps/heap_small", "account", "wait"], cwd=folder, stdout=subprocess.PIPE)
    try:
        hw.need(program.stdout.readline() == b"ready\n", "the program did not come so far")
        with prompt(folder, "heap", str(program.pid)) as terminal:
            terminal.wait("definitely lost")
            for keys, answer in (
                    ("blocks --type node --count | tr a-z A-Z\n", "3,000 BLOCKS, 70.3 KIB MATCH"),
                    (f"blocks --type node --limit 2 > {folder}/out\n", ""),
                    (f"blocks --type node --count >>{folder}/more\n", ""),
                    (f"help blocks > {folder}/help\n", ""),
                    (f"blocks --type no_such > {folder}/never\n", "neither an address"),
                    (f"blocks --count > {folder}/none/out\n", "none/out"),
                    ("| cat\n", "expected a verb before"), ("blocks |\n", "a command after"),
                    ("blocks | no-such-command-here\n", "not found"),
                    ("blocks --conta\t0x10 --count\n", "0 blocks"), ("blocks --leak defi\t --count\n", "match"),
                    ("help fragm\t\n", "pinned_pages"), ("help nosuch\n", "unknown verb 'nosuch'"),
                    ("blocks --pointers start\n", "before the heap is read")):
                terminal.wait(PROMPT)
                terminal.type(keys)
                terminal.wait(answer)
            leave(terminal, "quit\n")
        out = (folder / "out").read_text().splitlines()
        hw.need(len(out) == 4 and out[-1] == "3,000 blocks, 70.3 KiB match", out)
        hw.need((folder / "more").read_text() == "there before\n3,000 blocks, 70.3 KiB match\n", (folder / "more").read_text())
        hw.need((folder / "more").stat().st_mode & 0o777 == 0o640, "other rights")
        hw.need("--containing ADDR" in (folder / "help").read_text(), "no help")
        hw.need(not (folder / "never").exists(), "an answer that failed is a file")
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


@TESTS.test
def lines_of_a_heap(folder):
    """`prompt` answers lines from a pipe, each as the verb does by itself"""
    with Waiting(hw.TARGETS / "heaps/heap_small", folder) as pid:
        lines = f"blocks --type node --count\n\nnosuch\ntypes --limit 1 | wc -l\nblocks --count > {folder}/out\nquit\nleaks\n"
        ended = hw.run([hw.HEAPWISE, "heap", str(pid), "prompt"], stdin=lines.encode())
        hw.need(ended.status == 0 and "unknown verb 'nosuch'" in ended.errors, f"{ended}")
        hw.need(ended.text == "3,000 blocks, 70.3 KiB match\n4\n", ended.text)
        hw.need((folder / "out").read_text().endswith(" match\n"), "no file")


@TESTS.test
def answers_of_a_heap_interrupted(folder):
    """^C ends an answer that goes to a command, and the command; the prompt stays, and no file is left"""
    program = subprocess.Popen([hw.TARGETS / "heaps/heap_small", "account", "wait"], cwd=folder, stdout=subprocess.PIPE)
    try:
        hw.need(program.stdout.readline() == b"ready\n", "the program did not come so far")
        with prompt(folder, "heap", str(program.pid)) as terminal:
            terminal.wait("definitely lost")
            terminal.wait(PROMPT)
            terminal.type("blocks | exec perl -e 'print STDERR qq(waiting\\n); sleep'\n")
            terminal.wait("waiting\r\n")
            terminal.type("\x03")
            terminal.wait(PROMPT)
            terminal.type("blocks --type node --count\n")
            terminal.wait("3,000 blocks")
            leave(terminal, "quit\n")
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


@TESTS.test
def without_a_meaning(folder):
    """^@, as Control and space give it, is no ^D, wherever in a line"""
    path = recording(folder)
    with prompt(folder, path) as terminal:
        for keys in ("\x00top1\n", "top\x001\x00\n"):
            terminal.wait(PROMPT)
            terminal.type(keys)
            terminal.wait("Functions by")
        leave(terminal, "\x00\x04")


@TESTS.test
def typed_ahead(folder):
    """Keys that come before the prompt are not lost, ^D neither"""
    path = recording(folder)
    with prompt(folder, path) as terminal:
        terminal.type("top1\nrepo\t\nsample_index=inuse_sp\t\no\n\x04")
        status, text = terminal.end()
    hw.need(status == 0, "it did not end well")
    for words in ("Functions by", "Totals", "= inuse_space"):
        hw.need(words in text, f"no {words!r}: {text}")
    # While an answer is on its way, which ends when it is told so.
    (folder / "go").touch()
    pager = "touch shown; while test -e go; do sleep 0.01; done; cat"
    with prompt(folder, path, HEAPWISE_PAGER=f"cd '{folder}'; {pager}") as terminal:
        terminal.wait(PROMPT)
        terminal.type("top1\n")
        hw.wait_until((folder / "shown").exists, "no answer")
        terminal.type("\x04")
        (folder / "go").unlink()
        terminal.wait("Functions by")
        hw.need(terminal.end()[0] == 0, "it did not end well")


@TESTS.test
def interrupted(folder):
    """^C ends an answer, not the prompt"""
    path = recording(folder)
    # No shell that starts a program: it may take ^C for its own, and wait.
    with prompt(folder, path, HEAPWISE_PAGER="exec perl -e 'print STDERR qq(waiting\n); sleep'") as terminal:
        terminal.wait(PROMPT)
        terminal.type("\x03")
        terminal.type("top1\n")
        terminal.wait("waiting")
        terminal.type("\x03")
        terminal.wait(PROMPT)
        terminal.type("o\n")
        terminal.wait("sample_index")
        leave(terminal, "quit\n")


@TESTS.test
def in_a_pipe(folder):
    """heapwise FILE elsewhere is the report"""
    path = recording(folder)
    hw.need(told(path) == told("report", path), "it is another answer")
    wrong = hw.run([hw.HEAPWISE, "no-such-file"])
    hw.need(wrong.status == 2 and "unknown command 'no-such-file'" in wrong.errors, f"{wrong}")


TESTS.main(width=2)
