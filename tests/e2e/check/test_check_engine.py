#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""memcheck as the engine of `heapwise check`: errors are shown as they occur, and all else is as the program has it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
BAD = hw.TARGETS / "engine/engine_errors"
STATIC = hw.TARGETS / "engine/engine_errors_static"
# What each makes, in memcheck's words.
KINDS = {
    "read1": "InvalidRead", "read4": "InvalidRead", "read8": "InvalidRead", "write2": "InvalidWrite", "write4": "InvalidWrite",
    "cond": "UninitCondition", "value8": "UninitValue", "param": "SyscallParam", "free_twice": "InvalidFree",
    "free_inside": "InvalidFree", "overlap": "Overlap", "fishy": "FishyValue", "length": "InvalidRead",
}


def kinds_shown(file):
    ended = hw.heapwise("report", "--view", "errors", "--json", file)
    hw.need(ended.status == 0, str(ended))
    return sorted(error["kind"] for error in json.loads(ended.text)["errors"])


def engine(*words, **more):
    if not shutil.which("valgrind"):
        raise hw.Skip("no Valgrind here (./dev deps --peers installs it)")
    return hw.heapwise(*ENGINE, *words, **more)


ENGINE = ("check", "--engine=valgrind")


@TESTS.test
def finds(folder):
    """The engine shows each error that memcheck has, as the view errors does; streams and status are the program's"""
    ended = engine("-o", folder / "a.xml", "--", BAD, *KINDS)
    hw.need((ended.status, ended.text) == (0, "done\n"), f"{ended} {ended.text}")
    for name, kind in KINDS.items():
        hw.need(re.search(rf"\[{kind}\]$", ended.errors, re.MULTILINE) and f" {name} " in ended.errors.replace("\n", " "), f"{name}: {ended.errors}")
    hw.need(f"heapwise: {len(KINDS)} errors, " in ended.errors, ended.errors)
    hw.need("value: -3  [" in ended.errors, ended.errors)
    hw.need(kinds_shown(folder / "a.xml") == sorted(KINDS.values()), "what is kept has other errors")
    hw.need(f"heapwise report --view errors {folder}/a.xml" in ended.errors, ended.errors)


@TESTS.test
def endings(folder):
    """Exit statuses and signals are the program's; --error-exitcode replaces a status, not a signal"""
    for words, options, status in (
            (["status"], [], 7), (["read4", "status"], [], 7), (["read4", "status"], ["--error-exitcode=9"], 9),
            (["status"], ["--error-exitcode=9"], 7), (["read4"], [], 0), (["read4"], ["--error-exitcode=9"], 9),
            (["read4", "killed"], ["--error-exitcode=9"], -signal.SIGKILL), (["read4", "aborted"], [], -signal.SIGTERM)):
        ended = engine(*options, "--", BAD, *words)
        hw.need(ended.status == status, f"{words} {options}: {ended}")
        hw.need(("InvalidRead" in ended.errors) == ("read4" in words), f"{words}: {ended.errors}")


@TESTS.test
def as_it_occurs(folder):
    """An error is shown while the program goes on; a signal to the command reaches the program"""
    if not shutil.which("valgrind"):
        raise hw.Skip("no Valgrind here (./dev deps --peers installs it)")
    log = folder / "log"
    with open(log, "wb") as stderr:
        command = subprocess.Popen([hw.HEAPWISE, *ENGINE, "--", BAD, "read4", "wait"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=stderr, env=hw.clean_environment(), start_new_session=True)
    try:
        hw.wait_until(lambda: "read4" in log.read_text(), "the error is shown")
        hw.need(command.poll() is None, "the command has ended")
        command.send_signal(signal.SIGTERM)
        hw.need(command.wait(hw.TIMEOUT) == -signal.SIGTERM, f"{command.returncode}")
    finally:
        command.stdin.close()
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGKILL)
            command.wait()
    hw.need(log.read_text().count("[InvalidRead]") == 1, log.read_text())


@TESTS.test
def options(folder):
    """Suppressions, origins, leaks, children and the end at the first error are as asked"""
    known = folder / "known.supp"
    known.write_text("{\nknown\nMemcheck:Addr4\nfun:read4\n}\ninterceptor_via_fun:^length$\n")
    ended = engine("--suppressions", known, "--error-exitcode=9", "--", BAD, "read4", "length")
    hw.need(ended.status == 0 and "no errors but 2 suppressed" in ended.errors, str(ended))
    ended = engine("--track-origins", "--", BAD, "cond")
    hw.need("Uninitialised value was created by a heap allocation" in ended.errors, ended.errors)
    ended = engine("--leak-check=full", "--error-exitcode=9", "--", BAD, "leak")
    hw.need(ended.status == 9 and "77 B" in ended.errors and "leak " in ended.errors, str(ended))
    hw.need(engine("--error-exitcode=9", "--", BAD, "leak").status == 0, "leaks that nobody asked for")
    ended = engine("-o", folder / "c.xml", "--", BAD, "child")
    kept = sorted(folder.glob("c.xml*"))
    hw.need(len(kept) == 2 and "InvalidRead" in ended.errors and re.search(r"\[InvalidRead, engine_errors \(\d+\)\]", ended.errors), str(ended))
    hw.need([kinds_shown(file) for file in kept] == [[], ["InvalidRead"]], f"{kept}")
    ended = engine("--trace-children=no", "--", BAD, "child")
    hw.need("InvalidRead" not in ended.errors, ended.errors)
    ended = engine("--errors=first", "--error-exitcode=9", "--", BAD, "read4", "write4")
    hw.need(ended.status == 9 and "done" not in ended.text and "InvalidWrite" not in ended.errors, str(ended))


@TESTS.test
def known_natively(folder):
    """The native engine leaves out what suppressions fit, in all of their forms, and judges what is left"""
    known = folder / "known.supp"
    known.write_text("{\ntwice\nMemcheck:Free\nfun:free\nfun:free_twice\n}\n{\nplace\nMemcheck:Free\nfun:free_inside\n}\n")
    base = ("check", "-f", "-o", folder / "a.hpw", "--error-exitcode=9")
    bad = hw.heapwise(*base, "--", BAD, "free_twice", "free_inside")
    hw.need(bad.status == 9 and "free_twice" in bad.errors and "free_inside" in bad.errors, str(bad))
    good = hw.heapwise(*base, "--suppressions", known, "--", BAD, "free_twice", "free_inside")
    hw.need(good.status == 0 and "free_twice" not in good.errors and "free_inside" not in good.errors, str(good))
    hw.need(hw.heapwise("budget", "--max-errors=0", "--suppressions", known, folder / "a.hpw").status == 0, "budget")
    hw.need(hw.heapwise("budget", "--max-errors=0", folder / "a.hpw").status == 1, "budget without suppressions")
    ended = hw.heapwise("report", "--view", "errors", "--gen-suppressions=yes", folder / "a.hpw")
    entries = re.findall(r"^\{\n.*?^\}\n", ended.text, re.MULTILINE | re.DOTALL)
    hw.need(len(entries) == 2 and all("Memcheck:Free\n   fun:free\n   fun:free_" in entry for entry in entries), ended.text)
    known.write_text("".join(entries))
    hw.need(hw.heapwise(*base, "--suppressions", known, "--", BAD, "free_twice", "free_inside").status == 0, "own entries")
    known.write_text("{\n}\n")
    ended = hw.heapwise(*base, "--suppressions", known, "--", BAD)
    hw.need(ended.status == 125 and "known.supp:2" in ended.errors and "done" not in ended.text, str(ended))


@TESTS.test
def escalated(folder):
    """--escalate runs what has failed again under memcheck, and nothing else"""
    if not shutil.which("valgrind"):
        raise hw.Skip("no Valgrind here (./dev deps --peers installs it)")
    again = "running it again under Valgrind's memcheck"
    ended = hw.heapwise("check", "--escalate", "--error-exitcode=9", "--", BAD)
    hw.need(ended.status == 0 and again not in ended.errors and ended.text == "done\n", str(ended))
    ended = hw.heapwise("check", "--escalate", "--error-exitcode=9", "--", BAD, "free_twice", "cond")
    hw.need(ended.status == 9 and again in ended.errors and "[UninitCondition]" in ended.errors, str(ended))
    ended = hw.heapwise("check", "--escalate", "--", BAD, "cond", "status")
    hw.need(ended.status == 7 and "[UninitCondition]" in ended.errors, str(ended))
    ended = hw.heapwise("check", "--escalate", "--error-exitcode=9", "--", BAD, "cond", "status")
    hw.need(ended.status == 9, str(ended))
    ended = hw.heapwise("check", "--escalate", "--error-exitcode=9", "--", BAD, "cond", "aborted")
    hw.need(ended.status == -signal.SIGTERM and "[UninitCondition]" in ended.errors, str(ended))


@TESTS.test
def cannot(folder):
    """What can't be checked is said: no Valgrind, no such program, set-user-ID, static, an output that is something else"""
    without = hw.clean_environment(PATH=str(folder))
    ended = hw.heapwise(*ENGINE, "--", BAD, env=without)
    hw.need(ended.status == 125 and "Debian's package valgrind" in ended.errors, str(ended))
    ended = engine("--", folder / "none")
    hw.need(ended.status == 127, str(ended))
    (folder / "text").write_text("text\n")
    ended = engine("--", folder / "text")
    hw.need(ended.status == 126, str(ended))
    ended = engine("-o", folder / "text", "--", BAD)
    hw.need(ended.status == 125 and "use -f" in ended.errors and (folder / "text").read_text() == "text\n", str(ended))
    shutil.copy(BAD, folder / "setuid")
    (folder / "setuid").chmod(0o4755)
    ended = engine("--", folder / "setuid")
    hw.need(ended.status == 126 and "set-user-ID" in ended.errors, str(ended))
    ended = engine("--", STATIC, "cond")
    hw.need(ended.status == 0 and ended.text == "done\n" and "memcheck then sees no heap blocks" in ended.errors, str(ended))


@TESTS.test
def leaves_nothing(folder):
    """Neither files nor variables of the command are left for the program, nor a folder behind"""
    temporary = folder / "tmp"
    temporary.mkdir()
    env = hw.clean_environment(TMPDIR=str(temporary), HEAPWISE_SESSION="/nowhere", LD_PRELOAD="")
    ended = engine("-q", "--", "/usr/bin/env", env=env)
    hw.need(ended.status == 0 and "HEAPWISE_SESSION" not in ended.text, ended.text)
    hw.need("libheapwise" not in ended.text and not ended.errors, f"{ended.errors}")
    hw.need(not list(temporary.glob("heapwise-*")), f"{list(temporary.iterdir())}")


@TESTS.test
def documents(folder):
    """With --format the errors that memcheck finds are one document, and nothing is printed before"""
    program = hw.TARGETS / "engine/engine_errors"
    hw.need_program("valgrind")
    path = folder / "errors.sarif"
    ended = hw.heapwise("check", "--engine=valgrind", "--format=sarif", "--log-file", path, "--", program, "read4", "free_twice")
    hw.need(not ended.errors, str(ended))
    results = json.loads(path.read_text())["runs"][0]["results"]
    hw.need(sorted(result["ruleId"] for result in results) == ["InvalidFree", "InvalidRead"], str(results))


def lines_of(text):
    """The documents among the lines, and the other ones."""
    lines = text.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")], [line for line in lines if not line.startswith("{")]


@TESTS.test
def as_lines(folder):
    """With --json memcheck's errors are lines as they come, of all processes, and the last line has what they come to"""
    known = folder / "known.supp"
    known.write_text("{\nknown\nMemcheck:Addr4\nfun:write4\n}\n")
    for options in (["--json"], ["--format=json"]):
        log = folder / "log"
        ended = engine(*options, "-f", "-o", folder / "a.xml", "--suppressions", known, "--log-file", log, "--error-exitcode=9", "--",
                       BAD, "cond", "write4", "free_twice", "child")
        hw.need(ended.status == 9 and "no effect" not in ended.errors, str(ended))
        documents, others = lines_of(log.read_text())
        hw.need(not others and all(document["schema"] == "heapwise.check/1" for document in documents), f"{others}")
        events = [document["event"] for document in documents]
        hw.need(events.count("end") == 1 and events[-1] == "end" and set(events) == {"errors", "end"}, f"{events}")
        found = {}
        for document in documents[:-1]:
            hw.need(Path(document["process"]["recording"]).exists() and document["process"]["command"] == str(BAD), f"{document['process']}")
            found.setdefault(document["process"]["pid"], []).extend(error["kind"] for error in document["errors"])
        hw.need(sorted(map(sorted, found.values())) == [["InvalidFree", "UninitCondition"], ["InvalidRead"]], f"{found}")
        hw.need(documents[-1]["sums"] == {"errors": 3, "different": 3, "suppressed": 1, "processes": 2, "undecided": 0,
                                          "ended_program": False}, f"{documents[-1]}")
    documents, _ = lines_of(engine("--json", "--", BAD).errors)
    hw.need([document["event"] for document in documents] == ["end"] and documents[0]["sums"]["errors"] == 0, f"{documents}")
    documents, others = lines_of(engine("--json", "--errors=first", "--leak-check=full", "--", BAD, "leak", "read4").errors)
    hw.need(documents[0]["process"]["recording"] is None and documents[-1]["sums"]["ended_program"], f"{documents}")
    hw.need(any("leak" in line for line in others), f"{others}")


@TESTS.test
def lines_as_it_occurs(folder):
    """A line with an error is there while the program goes on"""
    hw.need_program("valgrind")
    log = folder / "log"
    command = subprocess.Popen([hw.HEAPWISE, *ENGINE, "--json", "--log-file", log, "--", BAD, "read4", "wait"], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=hw.clean_environment(), start_new_session=True)
    try:
        hw.wait_until(lambda: log.exists() and log.read_text().endswith("}\n"), "the line is there")
        hw.need(command.poll() is None, "the command has ended")
        documents, _ = lines_of(log.read_text())
        hw.need([error["kind"] for error in documents[0]["errors"]] == ["InvalidRead"] and len(documents) == 1, f"{documents}")
    finally:
        command.stdin.close()
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGKILL)
        command.wait()


if __name__ == "__main__":
    TESTS.main()
