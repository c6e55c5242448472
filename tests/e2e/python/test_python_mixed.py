#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that C takes for Python: native stacks have the Python frames in their places, as the interpreter itself has
them at that moment, with each version that is installed (in /usr/bin, or by pyenv)."""

import collections
import json
import mmap
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import pythons

TESTS = hw.Tests()
SCRIPTS = hw.SOURCE / "tests/targets/python"


def taker(folder):
    """The library that takes memory."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise hw.Skip("there is no compiler")
    library = folder / "taker.so"
    ended = hw.run([compiler, "-shared", "-fPIC", "-g", "-O1", "-o", library, SCRIPTS / "taker.c", "-lpthread"])
    hw.need(ended.status == 0, f"taker.c: {ended}")
    return library


def record(folder, interpreter, script, *arguments, run=(), **environment):
    """What a script says, and its recording."""
    file = folder / "x.hpw"
    ended = hw.record([interpreter, script, *arguments], file, options=("-q", "-f", *run),
                      env=hw.clean_environment(**environment))
    hw.need(ended.status == 0, f"{script}: {ended}")
    return ended.text.splitlines(), file


def is_python(frame):
    return frame.get("kind") == "code-object"


def python_frames(stack):
    return tuple((frame["function"], frame.get("line")) for frame in stack if is_python(frame))


def taken(file, *options):
    """The sites of the library's functions, with whole stacks but for malloc itself."""
    sites = hw.report(file, "--all-frames", *options)["sites"]
    for site in sites:
        site["stack"] = site["stack"][1:]
    return [site for site in sites
            if site["stack"] and (site["stack"][0].get("function") or "").startswith("taker_")
            and site["kind"] != "pthread_create"]


def need_places(site):
    """Native frames are between the Python frames that they are called by, and that they call."""
    stack = site["stack"]
    names = [frame.get("function") or "" for frame in stack]
    inner = next(i for i, frame in enumerate(stack) if is_python(frame))
    hw.need(not any(name.startswith("_PyEval_EvalFrameDefault") for name in names), f"an activation in {names}")
    hw.need("taker_" in names[0] and all(not name.startswith("taker_") for name in names[1:inner]), f"innermost: {names}")
    for i, frame in enumerate(stack[:-1]):
        outer = next((f for f in stack[i + 1:] if is_python(f)), {})
        between = names[i + 1:next((j for j in range(i + 1, len(stack)) if is_python(stack[j])), len(stack))]
        name = names[i].rpartition(".")[2]
        if not is_python(frame) or not outer:
            continue
        if name == "key" or (name == "called" and outer["function"].endswith("c_and_back")):
            hw.need(between, f"nothing between {names[i]} and its caller {outer['function']}")
        if (name == "called" and outer["function"] == "c_and_back") or outer["function"] == "by_c":
            hw.need("taker_around" in between, f"{between} between {names[i]} and {outer['function']}")


def need_mixed(folder, interpreter, run=()):
    lines, file = record(folder, interpreter, SCRIPTS / "mixed.py", taker(folder), run=("--mmap", *run))
    truth = collections.Counter()
    for block in json.loads(lines[-1]):
        size = -(-block["size"] // mmap.PAGESIZE) * mmap.PAGESIZE if block["kind"] == "mmap" else block["size"]
        truth[block["kind"], tuple(map(tuple, block["stack"]))] += size
    found = collections.Counter()
    for site in taken(file) + taken(file, "--class", "mapping"):
        need_places(site)
        found[site["kind"], python_frames(site["stack"])] += site["allocated_bytes"]
    for way, size in truth.items():
        hw.need(found[way] == size, f"{found[way]} bytes, not {size}, of {way[0]} at {way[1]}")
    hw.need(set(found) == set(truth), f"more: {sorted(set(found) - set(truth))[:3]}")
    return file


for version in pythons.KNOWN:
    def of_version(folder, minor=version):
        need_mixed(folder, pythons.python(minor))
    TESTS.add(f"native stacks with Python frames, Python 3.{version}", of_version)


@TESTS.test
def debians(folder):
    """Debian's interpreter, which is stripped and has no library."""
    need_mixed(folder, pythons.debians())


@TESTS.test
def apart(folder):
    """Where Python frames have no certain place the stack stays native, and says so; others are as they were."""
    for interpreter in (pythons.debians(), *pythons.ALL.values()):
        if int(interpreter.name[8:]) not in pythons.KNOWN:
            continue
        _, file = record(folder, interpreter, SCRIPTS / "apart.py", taker(folder))
        sites = {site["allocated_bytes"]: site for site in taken(file)}
        for size in (123457, 234567):
            names = [frame.get("function") for frame in sites[size]["stack"]]
            hw.need(not python_frames(sites[size]["stack"]), f"{size} bytes have Python frames: {names}")
            hw.need(sites[size]["truncated_reason"] == "python-frames", f"truncated: {sites[size]['truncated_reason']}")
        text = hw.heapwise("report", file, "--view", "sites", "--all-frames", "--focus", "^taker_malloc$").text
        hw.need(text.count("(its Python frames could not be placed)") == 2, f"not two remarks: {text}")
        names = [name for name, _ in python_frames(sites[345679]["stack"])]
        hw.need(names == ["inner", "outer", "<module>"], f"{interpreter}: afterwards {names}")


def need_child(folder, interpreter, way):
    lines, file = record(folder, interpreter, SCRIPTS / "processes.py", way, taker(folder))
    told = json.loads(lines[-1])
    hw.need(told["status"] == 0, f"the child ended with {told['status']}")
    report = hw.report(file.with_name(f"x.{told['child']}.hpw"))
    hw.need(not report["recording"].get("lost_events"), "lost events")
    found = collections.Counter()
    for site in report["sites"]:
        names = [name for name, _ in python_frames(site["stack"])]
        if names[:2] == ["taken" if site["kind"] == "Python object" else "by_library", "child"] or \
                names[1:3] == ["taken", "child"]:
            found[site["kind"]] += site["allocated_bytes"] if site["allocated_bytes"] > 300000 else 0
    head = 33
    more = found["Python object"] - sum(300007 + i + head for i in range(20))
    # The list that keeps them grows on the same line.
    hw.need(0 <= more < 2000 and found["calloc"] == 456789, f"{way}: {found}, {more} bytes too many")


for method in ("spawn", "forkserver", "fork"):
    def of_method(folder, way=method):
        need_child(folder, pythons.debians(), way)
        for minor in (8, 13):
            if minor in pythons.ALL:
                need_child(folder, pythons.ALL[minor], way)
    TESTS.add(f"children of multiprocessing, {method}", of_method)


TESTS.main(width=2)
