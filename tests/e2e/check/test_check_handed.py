#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise check --uninit`: bytes that were never written and are handed to the kernel, beside what memcheck says of them."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import guarded
import hw

TESTS = hw.Tests()
EXPECTED = re.compile(r"^expect (\S+)(?: (\d+) (\d+))?$", re.M)
MEMCHECK = re.compile(r"Syscall param (\S+) points to uninitialised byte\(s\)(.*?)(?=Syscall param|\Z)", re.S)
MEMCHECK_BLOCK = re.compile(r"is ([\d,]+) bytes inside a block of size ([\d,]+) alloc'd.*?by 0x\w+: (\w+) ", re.S)
BAD = ("padding", "half", "vectors", "sent", "coded", "grown", "reused", "large", "many", "threads", "copied", "clock")


def search(story, *options, variant="O0"):
    """→ (hw.Ended, the line of the search, errors that were reported)."""
    program = guarded.TARGETS / f"handed-{variant}"
    ended = hw.run([hw.HEAPWISE, "check", "--uninit", "--json", *options, "--", program, *story.split()])
    lines = [json.loads(line) for line in ended.errors.splitlines() if line.startswith("{")]
    found = [line for line in lines if line["event"] == "uninit"]
    hw.need(len(found) == 1, f"{story}: {ended}")
    return ended, found[0], [row for line in lines if line["event"] == "errors" for row in line["errors"]]


def total(ended):
    """How many errors the last run had; of equal ones, all."""
    return json.loads(ended.errors.splitlines()[-1])["sums"]["errors"]


def key_of(call, offset, size):
    """Without what one tool's name of a call has and the other's has not."""
    call = re.sub(r"^socketcall\.|\[[^]]*\]", "", call)
    return call, offset, size


def keys_of(rows):
    keys = []
    for row in rows:
        hw.need(row["kind"] == "SyscallParam", str(row))
        call = re.match(r"Syscall param (\S+) points to uninitialised byte\(s\): \d+$", row["what"])
        hw.need(call, str(row))
        block = row["block"]
        keys.append(key_of(call[1], *((block["offset"], block["size"]) if block else (None, None))))
    return keys


def wanted_of(ended):
    return [key_of(call, *((int(offset), int(size)) if size else (None, None)))
            for call, offset, size in EXPECTED.findall(ended.text)]


@TESTS.test
def bad(_folder):
    """Each call that hands over such bytes is found, with their offset, the block and its stack, in few runs"""
    for story in BAD:
        for variant in ("O0", "O2"):
            ended, found, rows = search(story, "--error-exitcode=9", variant=variant)
            told = f"{story} {variant}: {found} {rows}"
            hw.need(wanted_of(ended) and sorted(keys_of(rows), key=str) == sorted(wanted_of(ended), key=str),
                    f"wanted {wanted_of(ended)}: {told}")
            hw.need(found["search"]["verdict"] == "none" and not found["unwritten"] and ended.status == 9, told)
            hw.need(found["buffers"]["calls"] >= len(rows) and found["buffers"]["changed"] == 0, told)
            hw.need(found["search"]["runs"] == 5, told)
    _, _, rows = search("padding")
    hw.need(rows[0]["access"]["bytes"] == 3, str(rows))
    hw.need([f["function"] for f in rows[0]["block"]["allocated_at"]][:2] == ["make_record", "hand_record"], str(rows))
    hw.need(rows[0]["stacks"][0]["stack"][0]["function"] == "hand", str(rows))


@TESTS.test
def good(_folder):
    """What was written is not reported, whatever its value; nor what the kernel does not read"""
    for story in ("written", "equal 0x55", "equal 0xaa", "equal 0", "equal 0xff", "addresses"):
        ended, found, rows = search(story, "--error-exitcode=9")
        hw.need(not rows and found["buffers"]["calls"] == 0 and ended.status == 0, f"{story}: {found} {rows}")
        hw.need(found["search"]["verdict"] == "none" and found["search"]["runs"] == 5, f"{story}: {found}")
    for story in ("cleared", "forked"):  # nothing that would be filled, in the process that was started
        _, found, rows = search(story)
        hw.need(not rows and found["buffers"]["calls"] is None, f"{story}: {found} {rows}")


@TESTS.test
def like_memcheck(_folder):
    """memcheck says the same of these programs: calls, offsets, sizes and the functions that allocated"""
    if not shutil.which("valgrind"):
        raise hw.Skip("there is no valgrind")
    for story in BAD:
        said = subprocess.run(["valgrind", "-q", "--leak-check=no", guarded.TARGETS / "handed-O0", story],
                              check=True, capture_output=True, text=True).stderr
        wanted = []
        for call, rest in MEMCHECK.findall(said):
            block = MEMCHECK_BLOCK.search(rest)
            facts = [int(block[i].replace(",", "")) for i in (1, 2)] if block else (None, None)
            wanted.append((*key_of(call, *facts), block[3] if block else None))
        _, _, rows = search(story)
        allocators = [row["block"]["allocated_at"][0]["function"] if row["block"] else None for row in rows]
        got = [(*key, function) for key, function in zip(keys_of(rows), allocators)]
        hw.need(sorted(got, key=str) == sorted(wanted, key=str), f"{story}: memcheck {wanted}, heapwise {got}")


@TESTS.test
def sometimes(_folder):
    """Of a call that is not made in each run nothing is reported, and that is said"""
    _, found, rows = search("sometimes")
    hw.need(not rows and found["buffers"]["calls"] == 0 and found["buffers"]["changed"] == 1, f"{found} {rows}")
    said = hw.run([hw.HEAPWISE, "check", "--uninit", "--", guarded.TARGETS / "handed-O0", "sometimes"]).errors
    hw.need("1 call that may have had such bytes was not made again in each run" in said, said)


@TESTS.test
def beside_findings(_folder):
    """A program that does both has both reported"""
    program = guarded.TARGETS / "unwritten-O0"
    ended = hw.run([hw.HEAPWISE, "check", "--uninit", "--json", "--", program, "both"])
    lines = [json.loads(line) for line in ended.errors.splitlines() if line.startswith("{")]
    kinds = sorted(row["kind"] for line in lines if line["event"] == "errors" for row in line["errors"])
    hw.need(kinds == ["SyscallParam", "UninitValue"], f"{ended}")


@TESTS.test
def bounds(_folder):
    """Beyond each bound that is said, and what is reported stays right"""
    first = ("write(buf)", 1, 16)
    ended, found, rows = search("often 70")
    hw.need(keys_of(rows) == [first] and total(ended) == 64, f"{ended}")
    hw.need(found["buffers"]["calls"] == 64 and found["buffers"]["left_out"] == 6, f"{found}")
    _, found, rows = search("often 64")
    hw.need(found["buffers"]["calls"] == 64 and found["buffers"]["left_out"] == 0, f"{found}")
    _, found, rows = search("ranges 17")  # the first bytes are the record's; the last ones too
    hw.need(keys_of(rows) == [("write(buf)", 1, 17 * 16)] and found["buffers"]["left_out"] > 0, f"{found} {rows}")
    ended, found, _ = search("kinds 70")  # a call of each kind is reported, up to 64
    hw.need(found["buffers"]["calls"] == 70 and total(ended) == 64, f"{ended}")
    said = hw.run([hw.HEAPWISE, "check", "--uninit", "--", guarded.TARGETS / "handed-O0", "kinds", "70"]).errors
    hw.need("; 64 of them are reported" in said, said)
    ended, found, _ = search("kinds 5000")  # more kinds than are counted, and more ranges than are noted
    hw.need(found["buffers"]["left_out"] >= 5000 - 4096 and total(ended) == 64, f"{found} {total(ended)}")


@TESTS.test
def bound_of_runs(_folder):
    """Where the bound of runs ends the comparison nothing is reported, and that is said"""
    program = guarded.TARGETS / "unwritten-O0"
    ended = hw.run([hw.HEAPWISE, "check", "--uninit", "--uninit-runs=6", "--json", "--", program, "both"])
    line = next(json.loads(line) for line in ended.errors.splitlines() if '"uninit"' in line)
    hw.need(line["buffers"]["calls"] is None and "SyscallParam" not in ended.errors, ended.errors)
    said = hw.run([hw.HEAPWISE, "check", "--uninit", "--uninit-runs=6", "--", program, "both"]).errors
    hw.need("can't tell whether buffers that were handed to the kernel" in said, said)


@TESTS.test
def real_programs(_folder):
    """Programs of the system hand nothing over that was never written, as memcheck says"""
    commands = (["ls", "-l", "/"], ["bash", "-c", "for i in 1 2 3; do echo $i | sed s/1/x/; done"],
                ["perl", "-e", 'print "U" x 5000, "\\n"'], ["python3", "-S", "-c", "print('U' * 5000)"],
                ["sqlite3", ":memory:", "select hex(zeroblob(3000));"], ["git", "--version"])
    for command in commands:
        if not shutil.which(command[0]):
            continue
        ended = hw.run([hw.HEAPWISE, "check", "--uninit", "--json", "--", *command])
        line = next(json.loads(line) for line in ended.errors.splitlines() if '"uninit"' in line)
        hw.need(line["buffers"]["calls"] == 0, f"{command}: {line}")


TESTS.main()
