# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that say of their own blocks (tests/targets/heaps/account.h), and the roads by which their
heaps are read: a core of the kernel's, one of gcore's, the process as it runs."""

import json
import mmap
import os
import signal
import struct
import subprocess
from collections import Counter
from pathlib import Path

import hw

ROW = struct.Struct("<QQcc46s")
LEAKS = {b"r": "reachable", b"d": "definite", b"i": "indirect", b"p": "possible"}


def read_account(path):
    """address: (size, used, kind of leak, type)"""
    rows = {}
    data = path.read_bytes()
    for at in range(0, len(data), ROW.size):
        address, size, state, leak, kind = ROW.unpack_from(data, at)
        if state == b"\0":
            break
        rows[address ^ (2**64 - 1)] = (size, state == b"u", LEAKS.get(leak), kind.rstrip(b"\0").decode())
    return rows


def need_cores_here():
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern[:1] in ("|", "/"):
        raise hw.Skip(f"cores go elsewhere here: {pattern}")


def kernel_core(program, folder, environment=None, before=(), setup=":"):
    """The core that the kernel writes when the program aborts; `before`: words that start it, `setup`: what a shell
    does first."""
    need_cores_here()
    # A command that is built with sanitizers forbids cores to what it starts, too.
    environment = dict(environment or hw.clean_environment())
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "")) + ":disable_coredump=0"
    ended = hw.run(
        ["sh", "-c", f'ulimit -c unlimited && {setup} && exec "$@"', "sh", *before, program, "account", "abort"],
        cwd=folder, env=environment)
    hw.need(ended.status == -signal.SIGABRT, f"no core may be dumped here: {ended}")
    cores = list(folder.glob("core*"))
    hw.need(cores, "no core was dumped")
    return cores[0]


class Waiting:
    """The program, at the moment that is looked at."""

    def __init__(self, program, folder, environment=None):
        self.process = subprocess.Popen(
            [program, "account", "wait"], cwd=folder, stdout=subprocess.PIPE, env=environment or hw.clean_environment())
        if self.process.stdout.readline() != b"ready\n":
            raise hw.Failure(f"{program} did not come so far")

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Recorded(Waiting):
    """The same, started by `heapwise run`."""

    def __init__(self, program, folder, recording, environment=None, options=()):
        self.process = subprocess.Popen(
            [hw.HEAPWISE, "run", "-q", *options, "-o", recording, "--", program, "account", "wait"],
            cwd=folder, stdout=subprocess.PIPE, env=environment or hw.clean_environment())
        if self.process.stdout.readline() != b"ready\n":
            raise hw.Failure(f"{program} did not come so far")
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.pid = next(int(pid) for pid in children if Path(f"/proc/{pid}/exe").resolve() == Path(program).resolve())

    def __enter__(self):
        return self.pid

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def gcore(pid, folder):
    hw.need_program("gcore")
    ended = hw.run(["gcore", "-o", "dumped", str(pid)], cwd=folder)
    core = folder / f"dumped.{pid}"
    if not core.exists():
        raise hw.Failure(f"gcore: {ended}")
    return core


def cut_notes(core, to):
    """As gcore of gdb 7.10 to 8.2: mappings that were not dumped are not in NT_FILE."""
    # Cores have gigabytes of zeros, which are holes in the file.
    copied = hw.run(["cp", "--sparse=always", core, to])
    hw.need(copied.status == 0, f"cp: {copied}")
    with open(to, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        cut_notes_in(data)


def cut_notes_in(data):
    offset, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    headers = [list(struct.unpack_from("<IIQQQQQQ", data, offset + 56 * i)) for i in range(count)]
    kept = [h for h in headers if h[0] != 1 or h[5]]
    dumped = [(h[3], h[3] + h[6]) for h in kept if h[0] == 1]
    for header in (h for h in kept if h[0] == 4):
        at, end, notes = header[2], header[2] + header[5], b""
        while at < end:
            name, size, kind = struct.unpack_from("<III", data, at)
            body = at + 12 + (name + 3) // 4 * 4
            after = body + (size + 3) // 4 * 4
            if kind != 0x46494C45:
                notes += data[at:after]
            else:
                files, page = struct.unpack_from("<QQ", data, body)
                rows = [struct.unpack_from("<QQQ", data, body + 16 + 24 * k) for k in range(files)]
                names = bytes(data[body + 16 + 24 * files:body + size]).split(b"\0")
                left = [(row, path) for row, path in zip(rows, names) if any(a <= row[0] < b for a, b in dumped)]
                text = struct.pack("<QQ", len(left), page) + b"".join(struct.pack("<QQQ", *row) for row, _ in left)
                text += b"".join(path + b"\0" for _, path in left)
                notes += struct.pack("<III", name, len(text), kind) + data[at + 12:body] + text + b"\0" * (-len(text) % 4)
            at = after
        data[header[2]:header[2] + len(notes)] = notes
        header[5], header[6] = len(notes), 0
    for i, header in enumerate(kept):
        struct.pack_into("<IIQQQQQQ", data, offset + 56 * i, *header)
    struct.pack_into("<H", data, 56, len(kept))


def ask(*words):
    """The tool's JSON about it."""
    ended = hw.run([hw.HEAPWISE, *words])
    if ended.status:
        raise hw.Failure(f"{' '.join(map(str, words))}: {ended}")
    return json.loads(ended.stdout)


def compare(account, blocks, own_most=0, spare=0):
    """Every block in use, every free one, and nothing else but `own_most` (None: whatever else)."""
    found = {int(b["address"], 16): b for b in blocks}
    wrong = Counter()
    example = {}
    for address, (size, used, leak, kind) in account.items():
        block = found.get(address)
        state = block["state"] if block else "not there"
        problem = None
        if used and state != "used":
            problem = f"a used '{kind}' is {state}"
        elif used and not size <= block["size"] < size * (1 + spare) + 32 + 40000 * (size > 100000):
            problem = f"a '{kind}' of {size} bytes has {block['size']}"
        elif used and leak and block["leak"] != leak:
            problem = f"a '{kind}' is {block['leak']}, not {leak}"
        if problem:
            wrong[problem] += 1
            example.setdefault(problem, f"0x{address:x}")
    # What the program freed libc may have got, for a thread's table.
    others = [a for a, b in found.items() if b["state"] == "used" and not (a in account and account[a][1])]
    if own_most is not None and len(others) > own_most:
        wrong[f"{len(others)} blocks are used that the program does not know"] = len(others)
    if wrong:
        raise hw.Failure("; ".join(f"{n} times: {what} ({example.get(what, '')})" for what, n in wrong.most_common(5)))


def members_of(block):
    """name: value, of the members of a block that `show` tells, of all levels."""
    values = {}
    rest = list(block["members"])
    while rest:
        member = rest.pop()
        rest += member.get("members", [])
        if "value" in member:
            values[member["name"]] = member["value"]
    return values


def need_member_pointers(program, *words):
    """`show` says what the pointers to members of targets/heaps/cxx/members.cc mean. words: what names core and program."""
    (block,) = ask("core", "--json", *words, "show", "Pointers")["blocks"]
    wanted = {
        "no_field": "NULL", "field": "32 (both)", "field_of_two": "24 (two)", "none": "NULL",
        "plain": f"<One::plain> in {program.name}", "first": "virtual function 0", "second": "virtual function 1",
        "other": f"<Two::other> in {program.name}, this +16", "third": "virtual function 0, this +16"}
    found = members_of(block)
    wrong = {name: (found.get(name), value) for name, value in wanted.items() if found.get(name) != value}
    if wrong:
        raise hw.Failure(f"pointers to members (found, wanted): {wrong}")
