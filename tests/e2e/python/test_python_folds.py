#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of Python's interpreter are left out of stacks with frames of Python, in each view, comparison and export, unless
all frames are wanted or an option names them. No figure changes by that."""

import collections
import json
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import pythons

TESTS = hw.Tests()
SCRIPTS = hw.SOURCE / "tests/targets/python"
INTERPRETER = re.compile(r"(lib)?python3\.\d+(\.so\.1\.0)?")
NOTE = "without the frames of Python's interpreter"


def compile_c(output, source, *options):
    """Compiles a program or library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise hw.Skip("there is no compiler")
    ended = hw.run([compiler, "-g", "-O1", "-o", output, source, *options])
    hw.need(ended.status == 0, f"{source}: {ended}")
    return output


def mixed(folder, name="x.hpw", script=SCRIPTS / "mixed.py"):
    """A recording of a script that takes memory on many ways through Python and C."""
    library = folder / "taker.so"
    if not library.exists():
        compile_c(library, SCRIPTS / "taker.c", "-shared", "-fPIC", "-lpthread")
    ended = hw.record([pythons.debians(), script, library], folder / name, options=("-q", "-f", "--leak-check"),
                      env=hw.clean_environment())
    hw.need(ended.status == 0, f"{script}: {ended}")
    return folder / name


def is_interpreter(frame):
    return frame.get("kind") is None and INTERPRETER.fullmatch(Path(frame.get("module") or "").name)


def is_python(frame):
    return frame.get("kind") == "code-object"


def read_stack(stack):
    """What tells stacks apart that read the same, without the interpreter's frames if there are Python's."""
    drops = any(map(is_python, stack))
    return tuple((frame["function"] or frame["offset"], frame["module"], frame["file"], frame["line"])
                 for frame in stack if not (drops and is_interpreter(frame)))


FIGURES = ("allocations", "allocated_bytes", "live_blocks", "live_bytes", "peak_bytes", "temporary")


# Innermost, these are only shown with all frames; objects have a frame that is called as their kind.
ALLOCATORS = ("malloc", "calloc", "realloc", "Python raw memory", "Python memory", "Python object", "operator new",
              "posix_memalign", "memalign", "aligned_alloc", "reallocarray")


def sums(sites):
    """Figures by kind and stack."""
    found = collections.defaultdict(collections.Counter)
    for site in sites:
        found[site["kind"], read_stack(site["stack"])].update({name: site[name] or 0 for name in FIGURES})
    return found


@TESTS.test
def sites(folder):
    """Sites are those with all frames, without the interpreter's, added up where they read the same."""
    file = mixed(folder)
    folded, whole = hw.report(file)["sites"], hw.report(file, "--all-frames")["sites"]
    for site in whole:
        while site["stack"] and not is_python(site["stack"][0]) and site["stack"][0]["function"] in ALLOCATORS:
            del site["stack"][0]
    hw.need(sums(folded) == sums(whole), "sites differ")
    between = sum(bool(is_interpreter(frame)) for site in whole for frame in site["stack"])
    hw.need(between > 1000, f"only {between} frames of the interpreter")
    for site in folded:
        names = [frame["function"] for frame in site["stack"]]
        if any(map(is_python, site["stack"])):
            hw.need(not any(map(is_interpreter, site["stack"])), f"a frame of the interpreter in {names}")
    hw.need(any("ffi_call" in [frame["function"] for frame in site["stack"]] for site in folded), "no extension is left")
    hw.need(NOTE in hw.ask("report", file) and NOTE not in hw.ask("report", file, "--all-frames"), "what the notes say")


@TESTS.test
def views(folder):
    """Totals of views are the same with and without the interpreter's frames."""
    file = mixed(folder)
    truth = hw.report(file)["totals"]["allocated_bytes"]
    for options in ((), ("--all-frames",)):
        for command in (("flame", "--folded"), ("flame", "--lines", "--folded"), ("export", "--format", "folded")):
            lines = hw.ask(*command, file, "--metric", "allocated_bytes", *options).splitlines()
            total = sum(int(line.rpartition(" ")[2]) for line in lines)
            hw.need(total == truth, f"{command} {options}: {total}, not {truth}")
            of_interpreter = sum(";work" in line and "_PyObject_MakeTpCall" in line for line in lines)
            hw.need(bool(of_interpreter) == bool(options), f"{command} {options}: {of_interpreter} lines")
        for command in (("tree",), ("tree", "--bottom-up"), ("peek", "."), ("report",), ("graph", "--nodecount", "0")):
            text = hw.ask(*command, file, "--focus", "^c_and_back$", *options)
            hw.need(("_PyObject_MakeTpCall" in text) == bool(options), f"{command} {options}: wrong frames")
    for view in ("functions", "lines", "files", "modules", "threads", "sizes"):
        totals = [hw.report(file, "--view", view, *options)["totals"] for options in ((), ("--all-frames",))]
        hw.need(totals[0] == totals[1], f"{view}: {totals}")


@TESTS.test
def exports(folder):
    """Totals of files for other tools are the same; the interpreter's frames are in them only with all frames."""
    file = mixed(folder)
    focus = ("--focus", r"\bwork\b")
    sites = hw.report(file, *focus)["sites"]
    truth = {name: sum(site[name] for site in sites) for name in FIGURES}
    for form, known in (("pprof", ("allocations", "allocated_bytes", "live_bytes")), ("dhat", ("allocations", "allocated_bytes")),
                        ("heaptrack", ("allocations", "allocated_bytes", "live_bytes")), ("speedscope", ()), ("callgrind", ()),
                        ("firefox", ()), ("json", ()), ("csv", ())):
        for options in ((), ("--all-frames",)):
            out = folder / f"x.{form}"
            # All events cannot be chosen by stacks.
            hw.ask("export", file, "--format", form, "-o", out, *options, *(focus if form != "heaptrack" else ()))
            sites = hw.report(out, *focus)["sites"] if known else ()
            for name in known:
                found = sum(site[name] for site in sites)
                hw.need(found == truth[name], f"{form} {options}: {name} {found}, not {truth[name]}")
            names = out.read_text() if not known else str({frame["function"] for site in sites for frame in site["stack"]})
            hw.need(("_PyObject_MakeTpCall" in names) == bool(options), f"{form} {options}: wrong frames")
            hw.need("taker_malloc" in names and "c_and_back" in names, f"{form} {options}: frames are gone")


@TESTS.test
def compared(folder):
    """Comparisons leave them out on both sides."""
    older = mixed(folder, "older.hpw")
    script = folder / "mixed.py"
    script.write_text((SCRIPTS / "mixed.py").read_text().replace("for _ in range(2):", "for _ in range(3):"))
    newer = mixed(folder, "newer.hpw", script)
    grown = []
    for options in ((), ("--all-frames",)):
        diff = json.loads(hw.ask("diff", older, newer, "--metric", "allocated_bytes", "--json", *options))
        sites = diff["rows"]
        between = sum(bool(is_interpreter(frame)) for site in sites for frame in site["stack"] if any(map(is_python, site["stack"])))
        hw.need(sites and bool(between) == bool(options), f"{options}: {between} frames of {len(sites)} sites")
        grown.append(sum(site["allocated_bytes"]["change"] for site in sites))
    hw.need(grown[0] == grown[1], f"grown by {grown}")


@TESTS.test
def named(folder):
    """A filter that names a frame of the interpreter finds it with all frames alone, a suppression always."""
    file = mixed(folder)
    name = "_PyObject_MakeTpCall"
    found = []
    for options in ((), ("--all-frames",)):
        sites = hw.report(file, "--focus", f"^{name}$", *options)["sites"]
        for site in sites:
            hw.need(name in [frame["function"] for frame in site["stack"]], f"it is not shown: {site}")
            hw.need(bool(options) or not any(map(is_python, site["stack"])), f"a stack of Python: {site}")
        found.append(sum(site["allocated_bytes"] for site in sites))
    hw.need(found[0] < found[1] > 1000000, f"{found} bytes")
    suppressions = folder / "x.supp"
    suppressions.write_text("{\n  a\n  Memcheck:Leak\n  ...\n  fun:taker_malloc\n  ...\n  fun:%s\n  ...\n}\n" % name)
    leaks = [json.loads(hw.heapwise("leaks", file, "--json", "--show-leak-kinds=all", *options).text)["leaks"]
             for options in ((), ("--suppressions", suppressions))]
    lost = sum(record["blocks"] for record in leaks[0]["records"] if record["kind"] != "reachable"
               and {name, "taker_malloc"} <= {frame["function"] for frame in record["stack"]})
    hw.need(leaks[1]["summary"]["suppressed"]["blocks"] == lost > 50, f"{leaks[1]['summary']['suppressed']}, not {lost} blocks")


EMBEDDING = """
#include <Python.h>
void *taker_malloc(size_t bytes);
static void *keep[100];
static int kept;

static PyObject *host_take(PyObject *self, PyObject *size)
{
	(void)self;
	keep[kept++] = taker_malloc(PyLong_AsSize_t(size));
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"take", host_take, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "host", NULL, -1, methods, NULL, NULL, NULL, NULL};

static PyObject *host_init(void)
{
	return PyModule_Create(&module);
}

__attribute__((noinline)) static int host_run(const char *code)
{
	int result = PyRun_SimpleString(code);
	return result + kept - 2;
}

int main(void)
{
	PyImport_AppendInittab("host", host_init);
	Py_InitializeEx(0);
	for (int i = 0; i < 3000; i++)
		PyRun_SimpleString("str(1000)");
	int result = host_run("import host\\ndef key(i):\\n  host.take(123456 + i)\\n  return i\\nsorted([0, 1], key=key)\\n");
	return Py_FinalizeEx() || result;
}
"""


def embedded(folder, *libraries):
    """The stacks of the two blocks that a program with the interpreter in it takes."""
    if not Path("/usr/include/python3.11/Python.h").exists():
        raise hw.Skip("there are no headers of Python 3.11")
    (folder / "host.c").write_text(EMBEDDING)
    program = compile_c(folder / "host", folder / "host.c", SCRIPTS / "taker.c", "-I/usr/include/python3.11", "-rdynamic", *libraries)
    ended = hw.record([program], folder / "x.hpw", options=("-q", "-f"), env=hw.clean_environment(PYTHONHOME="/usr"))
    hw.need(ended.status == 0, f"host: {ended}")
    sites = [site for site in hw.report(folder / "x.hpw")["sites"] if site["max_size"] in (123456, 123457)]
    hw.need(sum(site["allocations"] for site in sites) == 2, f"{len(sites)} sites")
    return [[frame["function"] for frame in site["stack"]] for site in sites]


@TESTS.test
def embedded_library(folder):
    """Of a program that has the interpreter as a library its own frames stay, whichever side of Python they are."""
    for names in embedded(folder, "-lpython3.11"):
        names = [name for name in names if name and not name.startswith("__libc_start")]
        hw.need(names[:6] == ["taker_malloc", "host_take", "key", "<module>", "host_run", "main"], f"{names}")


@TESTS.test
def embedded_whole(folder):
    """Where a program contains the interpreter, nothing tells the frames of both apart: all stay."""
    library = Path("/usr/lib/x86_64-linux-gnu/libpython3.11.a")
    if not library.exists():
        raise hw.Skip("there is no libpython3.11.a")
    for names in embedded(folder, library, "-no-pie", "-lm", "-lz", "-lexpat", "-ldl", "-lutil"):
        for name in ("taker_malloc", "host_take", "key", "<module>", "host_run", "main", "PyRun_SimpleStringFlags"):
            hw.need(name in names, f"no {name} in {names}")


TESTS.main(width=2)
