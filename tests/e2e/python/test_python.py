#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs in Python: what is recorded of each line is what tracemalloc says of it, or the program's own arithmetic,
with each version of the interpreter that is installed (in /usr/bin, or by pyenv)."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
SCRIPTS = hw.SOURCE / "tests/targets/python"
KNOWN = range(8, 14)
MARK = "mark:python-exit"


def interpreters():
    """{minor version: an interpreter of it}."""
    found = {}
    places = [*Path("/usr/bin").glob("python3.*"), *(Path.home() / ".pyenv/versions").glob("3.*/bin/python3.*")]
    for place in sorted(places):
        if re.fullmatch(r"python3\.\d+", place.name):
            found[int(place.name[8:])] = place
    return found


PYTHONS = interpreters()


def python(minor=None):
    if minor is None:
        return Path("/usr/bin/python3").resolve()
    if minor not in PYTHONS:
        raise hw.Skip(f"there is no Python 3.{minor}")
    return PYTHONS[minor]


def said(interpreter, script, *arguments, options=(), **environment):
    """What a script says without heapwise."""
    ended = hw.run([interpreter, *options, SCRIPTS / script, *arguments], env=hw.clean_environment(**environment))
    hw.need(ended.status == 0, f"{script}: {ended}")
    return json.loads(ended.text.splitlines()[-1])


def recorded(folder, interpreter, script, *, options=(), run=(), **environment):
    """What it says with heapwise, and its recording."""
    file = folder / "x.hpw"
    path = script if isinstance(script, Path) else SCRIPTS / script
    ended = hw.record([interpreter, *options, path], file, options=("-q", "-f", *run),
                      env=hw.clean_environment(**environment))
    hw.need(ended.status == 0, f"{script}: {ended}")
    return ended.text.splitlines(), file


def by_line(report, script):
    """{line: [live bytes, blocks]} of what lines of the script allocated themselves."""
    found = collections.defaultdict(lambda: [0, 0])
    for site in report["sites"]:
        frame = site["stack"][0] if site["stack"] else {}
        if (frame.get("file") or "").endswith(script):
            found[frame["line"]][0] += site["live_bytes"]
            found[frame["line"]][1] += site["live_blocks"]
    return found


def need_lines(found, expected, share, spare):
    """Each line within a share of its figures, or a few small blocks."""
    for line, (size, blocks) in sorted(expected.items()):
        have = found.get(int(line), [0, 0])
        hw.need(abs(have[0] - size) <= max(share * size, spare * 64) and abs(have[1] - blocks) <= max(share * blocks, spare),
                f"line {line}: {have[0]} bytes in {have[1]} blocks, not {size} in {blocks}")


def need_sound(report):
    notes = report["recording"]
    hw.need(not notes.get("lost_events"), f"lost events: {notes.get('lost_events')}")
    hw.need(not report.get("errors"), f"errors: {report.get('errors')}")


def need_as_traced(folder, interpreter, options=(), run=(), **environment):
    traced = said(interpreter, "kept.py", "trace", options=options, **environment)
    hw.need(len(traced["found"]) == 8, f"tracemalloc has {traced['found']}")
    _, file = recorded(folder, interpreter, "kept.py", options=options, run=run, **environment)
    report = hw.report(file, "--at", MARK)
    need_sound(report)
    need_lines(by_line(report, "kept.py"), traced["found"], 0.005, 4)
    large = next(int(line) for line, name in traced["names"].items() if name == "large")
    head = 33
    need_lines(by_line(report, "kept.py"), {large: [sum(2000 + i % 100 + head for i in range(3000)), 3000]}, 0, 0)
    return file


for version in KNOWN:
    def of_version(folder, minor=version):
        file = need_as_traced(folder, python(minor))
        text = hw.ask("report", file)
        hw.need(f"Python 3.{minor}: objects and frames" in text, text[:600])
    TESTS.add(f"each line of a script as tracemalloc has it, Python 3.{version}", of_version)

for words in (("-X", "dev"), ("PYTHONMALLOC", "malloc"), ("PYTHONMALLOC", "debug"), ("PYTHONMALLOC", "pymalloc_debug")):
    def of_allocator(folder, words=words):
        if words[0] == "-X":
            need_as_traced(folder, python(), options=words)
        else:
            need_as_traced(folder, python(), **dict([words]))
    TESTS.add("the same with other allocators: " + " ".join(words), of_allocator)


@TESTS.test
def aggregated(folder):
    """The same in a recording without events."""
    traced = said(python(), "kept.py", "trace")
    _, file = recorded(folder, python(), "kept.py", run=("--mode", "aggregate"))
    report = hw.report(file)
    need_sound(report)
    found = collections.Counter()
    for site in report["sites"]:
        if site["stack"] and (site["stack"][0].get("file") or "").endswith("kept.py"):
            found[site["stack"][0]["line"]] += site["allocations"]
    for line, (_, blocks) in traced["found"].items():
        hw.need(found[int(line)] >= blocks * 0.995 - 4, f"line {line}: {found[int(line)]} allocations, {blocks} blocks kept")


@TESTS.test
def sampled(folder):
    """A sampled recording has Python stacks, and estimates near the truth."""
    _, file = recorded(folder, python(), "kept.py", run=("--mode", "sample:16K", "--seed", "7"))
    report = hw.report(file, "--at", "end")
    large = sum(site["allocated_bytes"] for site in report["sites"]
                if site["stack"] and site["stack"][0].get("function") == "large")
    truth = sum(2000 + i % 100 + 33 for i in range(3000))
    # 16 KiB between samples: 380 of them, so that four standard deviations are a fifth.
    hw.need(abs(large - truth) < 0.21 * truth, f"{large} bytes by large(), not about {truth}")


for version in KNOWN:
    def of_threads(folder, minor=version):
        lines, file = recorded(folder, python(minor), "threads.py")
        truth = json.loads(lines[-1])
        hw.need(truth["status"] == 3, f"the child ended with {truth['status']}")
        report = hw.report(file, "--at", MARK)
        need_sound(report)
        found = by_line(report, "threads.py")
        for line, (size, blocks) in truth["expected"].items():
            have = found[int(line)]
            # The list that keeps them grows on one of these lines, by one block.
            hw.need(have[1] - blocks in (0, 1) and 0 <= have[0] - size <= (have[1] - blocks) * 400000,
                    f"line {line}: {have}, not {size, blocks}")
        child = hw.report(file.with_name(f"x.{truth['child']}.hpw"))
        found = by_line(child, "threads.py")[43]
        hw.need(found[0] >= sum(3001 + i + truth["head"] for i in range(100)) and found[1] >= 100, f"the child's line 43: {found}")
    TESTS.add(f"threads, a child, generators and coroutines, Python 3.{version}", of_threads)


def by_stack(report):
    """{stack: [live bytes, blocks]} of what keep() of chains.py allocated on the line of its own."""
    found = collections.defaultdict(lambda: [0, 0])
    for site in report["sites"]:
        stack = tuple((frame["function"], frame.get("line")) for frame in site["stack"])
        if stack and stack[0][0] == "keep":
            found[stack][0] += site["live_bytes"]
            found[stack][1] += site["live_blocks"]
    return found


for version in KNOWN:
    def of_chains(folder, minor=version):
        lines, file = recorded(folder, python(minor), "chains.py")
        truth = {tuple(tuple(frame) for frame in stack): figures for stack, *figures in json.loads(lines[-1])}
        line = next(iter(truth))[0][1]
        report = hw.report(file, "--at", MARK)
        need_sound(report)
        found = {stack: figures for stack, figures in by_stack(report).items() if stack[0][1] == line}
        wrong = [(stack, found.get(stack), truth.get(stack)) for stack in {**found, **truth}
                 if found.get(stack) != truth.get(stack)]
        hw.need(len(truth) > 300 and not wrong, f"{len(wrong)} of {len(truth)} stacks are not as the program says: {wrong[:3]}")
    TESTS.add(f"stacks that resemble each other are told apart, Python 3.{version}", of_chains)


@TESTS.test
def without_objects(folder):
    """--no-pyobjects records what malloc sees."""
    _, file = recorded(folder, python(), "kept.py", run=("--no-pyobjects",))
    report = hw.report(file)
    kinds = {site["kind"] for site in report["sites"]}
    hw.need(not any("Python" in kind for kind in kinds) and "malloc" in kinds, f"kinds {kinds}")


@TESTS.test
def once(folder):
    """No byte counts twice: a block that comes from malloc is one block, of one kind."""
    script = folder / "once.py"
    script.write_text("kept = [bytes(100000 + i) for i in range(200)]\n")
    _, file = recorded(folder, python(), script)
    report = hw.report(file, "--at", MARK)
    size = sum(s["live_bytes"] for s in report["sites"] if s["live_bytes"] > 10000000)
    hw.need(size == sum(100033 + i for i in range(200)), f"{size} bytes in sites of more than 10 MB")
    kinds = {s["kind"] for s in report["sites"] if s["live_bytes"] > 10000000}
    hw.need(kinds == {"Python object"}, f"of kinds {kinds}")


@TESTS.test
def stacks(folder):
    """Stacks have qualified names, files and lines, outermost last; names are cut at their bound."""
    script = folder / "deep.py"
    script.write_text("""
class Outer:
    def method(self):
        def inner():
            return b"y" * 54321
        return inner()

kept = [Outer().method()]
exec(compile("kept.append(b'y' * 65432)", "y" * 20000, "exec"))
""")
    _, file = recorded(folder, python(), script)
    report = hw.report(file, "--at", MARK)
    site = next(s for s in report["sites"] if s["live_bytes"] == 54321 + 33)
    found = [(frame["function"], frame.get("line")) for frame in site["stack"]]
    expected = [("Outer.method.<locals>.inner", 5), ("Outer.method", 6), ("<module>", 8)]
    if python().name < "python3.11":
        expected = [("inner", 5), ("method", 6), ("<module>", 8)]
    hw.need(found == expected, f"stack {found}")
    site = next(s for s in report["sites"] if s["live_bytes"] == 65432 + 33)
    hw.need(re.fullmatch("y{16000,16384}", site["stack"][0]["file"]), f"file of {len(site['stack'][0]['file'])} characters")


@TESTS.test
def compiled_again(folder):
    """Code that has the address of code that was freed has its own name and lines."""
    script = folder / "again.py"
    script.write_text("""
kept = []
for i in range(300):
    exec(compile("\\n" * i + "def made():\\n    kept.append(bytes(70000 + %d))\\nmade()" % i, "file%d" % (i % 7), "exec"))
""")
    _, file = recorded(folder, python(), script)
    wrong = 0
    found = 0
    for site in hw.report(file, "--at", MARK)["sites"]:
        frame = site["stack"][0] if site["stack"] else {}
        if not (frame.get("file") or "").startswith("file") or site["live_bytes"] < 70000:
            continue
        i = frame["line"] - 2
        found += site["live_blocks"]
        wrong += frame["file"] != f"file{i % 7}" or site["live_bytes"] != 70033 + i
    hw.need(found == 300 and not wrong, f"{found} blocks of 300, {wrong} sites with another's name or line")


@TESTS.test
def unknown_version(folder):
    """An interpreter that is not known is said to be so, and runs."""
    if 7 not in PYTHONS:
        raise hw.Skip("there is no Python 3.7")
    script = folder / "x.py"
    script.write_text("kept = [bytes(100000 + i) for i in range(200)]\nprint(len(kept))\n")
    lines, file = recorded(folder, PYTHONS[7], script)
    hw.need(lines == ["200"], f"it says {lines}")
    text = hw.ask("report", file)
    hw.need("Python 3.7: objects without Python frames" in text, text[:600])


EMBEDDING = """
#include <dlfcn.h>
int main(int count, char **words)
{
	void *library = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_GLOBAL) : 0;
	if (!library)
		return 2;
	void (*begin)(int) = dlsym(library, "Py_InitializeEx");
	int (*run)(const char *) = dlsym(library, "PyRun_SimpleString");
	int (*end)(void) = dlsym(library, "Py_FinalizeEx");
	begin(0);
	run(count > 2 ? words[2] : "def made():\\n    return [b'y' * (12345 + i) for i in range(100)]\\nkept = made()\\n");
	return end();
}
"""


def embedding(folder):
    """A program that loads an interpreter as a library, which does not handle signals; and such libraries."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    libraries = sorted((Path.home() / ".pyenv/versions").glob("3.*/lib/libpython3.*.so.1.0"))
    libraries = [path for path in libraries if path.name.split(".")[1].isdigit() and int(path.name.split(".")[1]) in KNOWN]
    if not compiler or not libraries:
        raise hw.Skip("there is no compiler, or no interpreter that is a library")
    program = folder / "embed"
    (folder / "embed.c").write_text(EMBEDDING)
    hw.need(hw.run([compiler, "-o", program, folder / "embed.c", "-ldl"]).status == 0, "it does not compile")
    return program, libraries


@TESTS.test
def embedded(folder):
    """An interpreter that a program loads as a library, and begins later."""
    program, libraries = embedding(folder)
    for library in libraries:
        file = folder / "x.hpw"
        ended = hw.record([program, library], file, options=("-q", "-f"),
                          env=hw.clean_environment(PYTHONHOME=library.parents[1]))
        hw.need(ended.status == 0, f"{library.name}: {ended}")
        found = [(site["live_bytes"], site["live_blocks"]) for site in hw.report(file, "--at", MARK)["sites"]
                 if site["live_bytes"] > 1000000 and any(frame["function"] == "made" for frame in site["stack"])]
        expected = (sum(12345 + i + 33 for i in range(100)), 100)
        hw.need(found == [expected], f"{library.name}: {found}, not {expected}")


WAITING = """
import sys
for _ in range(3000):
    str(_ * 1000)
print("waits", flush=True)
sys.stdin.readline()
print("goes on", flush=True)
"""


def waiting(folder, *program, options=(), errors=subprocess.PIPE, **environment):
    """A program that waits for a line, being recorded."""
    return subprocess.Popen([hw.HEAPWISE, "run", "-f", "-o", folder / "x.hpw", *options, "--", *program], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=errors, env=hw.clean_environment(**environment))


@TESTS.test
def said_at_once(folder):
    """What is recorded of an interpreter is said while its program runs, and not again at its end."""
    kinds = [(python(), "with Python frames")]
    if 7 in PYTHONS:
        kinds.append((PYTHONS[7], "without Python frames: those of this version or build are not known"))
    for interpreter, words in kinds:
        with waiting(folder, interpreter, "-c", WAITING) as process:
            line = process.stderr.readline().decode()
            hw.need(line.startswith("heapwise: Python 3.") and line.endswith(f"objects and what it gets from malloc, {words}\n"), line)
            hw.need(process.poll() is None, "it has ended already")
            rest = process.communicate(b"\n")[1].decode()
            hw.need("Python" not in rest and "recorded" in rest and process.returncode == 0, rest)


@TESTS.test
def said_to_nobody(folder):
    """With -q nothing is said; where nobody reads what is said the program goes on."""
    with waiting(folder, python(), "-c", WAITING, options=["-q"]) as process:
        hw.need(process.communicate(b"\n") == (b"waits\ngoes on\n", b"") and process.returncode == 0, "with -q")
    program, libraries = embedding(folder)
    reading, writing = os.pipe()
    os.close(reading)
    with waiting(folder, program, libraries[-1], WAITING, errors=writing, PYTHONHOME=libraries[-1].parents[1]) as process:
        os.close(writing)
        hw.need(process.stdout.readline() == b"waits\n", "it does not begin")
        # Most likely it has been said by then.
        for _ in range(3):
            hw.report(folder / "x.hpw")
        hw.need(process.communicate(b"\n")[0] == b"goes on\n", "it does not go on")


@TESTS.test
def unchanged(folder):
    """Tests of CPython itself come out as without heapwise."""
    # Of weak references in dictionaries each test takes seconds, most of them in threads that nothing else is wanted of.
    weak = ["ReferencesTestCase", "SubclassableWeakrefTestCase", "WeakMethodTestCase", "FinalizeTestCase"]
    weak = ["test_weakref"] if "HW_TEST_LONG" in os.environ else [f"test_weakref.{name}" for name in weak]
    names = ["test_generators", "test_gc", *weak, "test_threading_local", "test_list", "test_bytes"]
    command = [python(), "-m", "unittest", "-q", *(f"test.{name}" for name in names)]
    alone = hw.run(command, cwd=folder)
    if b"No module named 'test" in alone.stderr:
        raise hw.Skip("the tests of CPython are not installed")
    with_it = hw.run([hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", "--", *command], cwd=folder)
    counts = [re.findall(r"Ran (\d+) tests", ended.errors) + re.findall(r"^(OK.*|FAILED.*)$", ended.errors, re.M)
              for ended in (alone, with_it)]
    hw.need(alone.status == with_it.status and counts[0] == counts[1], f"{counts}; {with_it}")


TESTS.main(width=2)
