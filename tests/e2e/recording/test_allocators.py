#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Other allocators under the program: recorded completely, by C and C++ programs, and left in place.

Each target keeps its own figures (test_truth.py); here they run with an allocator library preloaded, or
are linked with one.
"""

import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import truth
from sessions import environment, wait_sessions

LIBRARIES = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc (minimal)": "libtcmalloc_minimal.so.4",
    "tcmalloc": "libtcmalloc.so.4",
    "mimalloc": "libmimalloc.so.2.0",
}
RUNTIME = hw.BUILD / "src/runtime/libheapwise-rt.so"
FOLDER = Path("/usr/lib/x86_64-linux-gnu")
# Those that promise nothing which only libc's malloc keeps (errno, usable sizes).
PROGRAMS = sys.argv[1:]

TESTS = hw.Tests()
OBJECTS, COMPILING = tempfile.TemporaryDirectory(prefix="heapwise-objects-"), threading.Lock()


def recorded_completely(library, program):
    def test(folder):
        path = FOLDER / LIBRARIES[library]
        if not path.exists():
            raise hw.Skip(f"{path.name} is not installed")
        env = hw.clean_environment(LD_PRELOAD=path)
        if hw.run([hw.TARGETS / program], env=env).status:
            raise hw.Skip("natively it fails with this allocator")
        ended = hw.record([hw.TARGETS / program], folder / "x.hpw", env=env)
        expectations, problems = truth.parse(ended.text)
        report = hw.report(folder / "x.hpw", "--view", "sites")
        problems += truth.check_itself(report) + truth.check(expectations, report)
        hw.need(not problems and ended.status == 0, "\n".join([str(ended), *problems]))

    return test


def kept(library):
    def test(folder):
        path = FOLDER / LIBRARIES[library]
        if not path.exists():
            raise hw.Skip(f"{path.name} is not installed")
        env = hw.clean_environment(LD_PRELOAD=path)
        ended = hw.record(["/bin/cat", "/proc/self/maps"], folder / "x.hpw", env=env)
        hw.need(path.name.split(".so")[0] in ended.text, "the allocator is not loaded")
        hw.need(hw.report(folder / "x.hpw")["totals"]["allocations"] > 0, "nothing was seen")

    return test


def compiled(source):
    """A target's source, built once with the distribution's compiler."""
    is_cc = source.endswith(".cc")
    compiler = hw.need_program("g++" if is_cc else "gcc")
    made = Path(OBJECTS.name, f"{source}.o")
    with COMPILING:
        if not made.exists():
            built = hw.run([compiler, "-std=gnu++17" if is_cc else "-std=gnu11", "-O2", "-g", "-D_GNU_SOURCE", "-w", "-pthread",
                            f"-I{hw.SOURCE}/tests/targets", "-c", "-o", made, hw.target_source("", source)])
            hw.need(built.status == 0, str(built))
    return compiler, made


def link(folder, source, *libraries):
    """A target's source, built and linked with a library."""
    compiler, made = compiled(source)
    program = folder / source.partition(".")[0]
    built = hw.run([compiler, "-pthread", "-o", program, made, "-Wl,--no-as-needed", *libraries])
    hw.need(built.status == 0, str(built))
    return program


def linked(library, source):
    def test(folder):
        path = FOLDER / LIBRARIES[library]
        if not path.exists():
            raise hw.Skip(f"{path.name} is not installed")
        program = link(folder, source, path)
        ended = hw.record([program], folder / "x.hpw")
        expectations, problems = truth.parse(ended.text)
        report = hw.report(folder / "x.hpw", "--view", "sites")
        problems += truth.check_itself(report) + truth.check(expectations, report)
        hw.need(not problems and ended.status == 0, "\n".join([str(ended), *problems]))
        hw.need(not report["recording"]["own_malloc"], "taken for the program's own malloc")

    return test


def left_in_place(library):
    """The program's own link: it asks its address space which allocator it runs on."""

    def test(folder):
        path = FOLDER / LIBRARIES[library]
        if not path.exists():
            raise hw.Skip(f"{path.name} is not installed")
        source = folder / "asks.c"
        source.write_text(ASKS)
        program = folder / "asks"
        built = hw.run([hw.need_program("gcc"), "-o", program, source, "-Wl,--no-as-needed", path])
        hw.need(built.status == 0, str(built))
        native = hw.run([program])
        recorded = hw.record([program], folder / "x.hpw")
        hw.need(native.text.strip() and native.text == recorded.text,
                f"natively {native.text!r}, recorded {recorded.text!r}")
        hw.need(path.name.split(".so")[0] in native.text, f"natively {native.text!r}")

    return test


# Where a block of it lives tells less than whose malloc comes first behind the recorder.
ASKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	Dl_info info;
	char line[4096];
	void *(*last)(unsigned long) = 0;
	for (struct link_map *m = _r_debug.r_map; m && !last; m = m->l_next) {
		void *library = *m->l_name ? dlopen(m->l_name, RTLD_NOW | RTLD_NOLOAD) : 0;
		void *found = library ? dlsym(library, "malloc") : 0;
		if (found && dladdr(found, &info) && !strstr(info.dli_fname, "heapwise"))
			last = found;
	}
	if (!last || !dladdr((void *)last, &info))
		return 1;
	puts(strrchr(info.dli_fname, '/') + 1);
	return snprintf(line, sizeof line, "%p", last((unsigned long)71)) > 0 ? 0 : 1;
}
"""


@TESTS.test
def static_allocator(folder):
    """tcmalloc linked statically: the program's own malloc, and the recording says so"""
    archive = FOLDER / "libtcmalloc_minimal.a"
    if not archive.exists():
        raise hw.Skip(f"{archive.name} is not installed")
    program = link(folder, "malloc_free.c", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive",
                   "-lstdc++", "-lm")
    native = hw.run([program])
    ended = hw.record([program], folder / "x.hpw", options=())
    hw.need(ended.status == native.status == 0, f"{ended}, natively {native}")
    hw.need(hw.report(folder / "x.hpw")["recording"]["own_malloc"], "the recording does not know")
    hw.need("malloc" in ended.errors, f"not a word of it: {ended}")


LACKED = """
#include <stdlib.h>
int main(void)
{
	void *p = reallocarray(0, 10, 10), *q = malloc(10);
	if (!p || !q)
		return 1;
	p = reallocarray(p, 20, 20);
	q = reallocarray(q, 30, 30);
	free(p);
	free(q);
	return reallocarray(0, (size_t)-1, 2) != 0;
}
"""


def in_front(library):
    def test(folder):
        path = FOLDER / LIBRARIES[library]
        if not path.exists():
            raise hw.Skip(f"{path.name} is not installed")
        source, program = folder / "lacked.c", folder / "lacked"
        source.write_text(LACKED)
        built = hw.run([hw.need_program("gcc"), "-D_GNU_SOURCE", "-O0", "-w", "-o", program, source])
        hw.need(built.status == 0, str(built))
        for number, command in enumerate(([program], [hw.TARGETS / "new_forms-O2"], [hw.TARGETS / "aligned-O2"])):
            native = hw.run(command, env=hw.clean_environment(LD_PRELOAD=path))
            name = folder / f"{number}.hpw"
            ended = hw.run(command, env=environment(folder, LD_PRELOAD=f"{path}:{RUNTIME}",
                                                    HEAPWISE_OPTIONS=f"-o {name}"))
            wait_sessions(folder)
            hw.need(ended.status == native.status and not ended.errors, f"{command}: {ended}, natively {native}")
            report = hw.report(name)
            hw.need(report["totals"]["allocations"] == 0 and report["recording"]["own_malloc"], f"{report['totals']}")
            text = hw.run([hw.HEAPWISE, "report", name]).text
            hw.need("Put libheapwise-rt.so first" in text and "No allocation was seen" in text, text)

    return test


@TESTS.test
def wrapper_in_front(folder):
    """A malloc in front that asks for the next one gets it, and is not called in a circle"""
    source, library = folder / "wraps.c", folder / "wraps.so"
    source.write_text(WRAPS)
    built = hw.run([hw.need_program("gcc"), "-w", "-O1", "-fPIC", "-shared", "-o", library, source])
    hw.need(built.status == 0, str(built))
    for target in ("malloc_free-O2", "reallocarray-O2", "new_forms-O2"):
        name = folder / f"{target}.hpw"
        ended = hw.run([hw.TARGETS / target], env=environment(folder, LD_PRELOAD=f"{library}:{RUNTIME}",
                                                              HEAPWISE_OPTIONS=f"-o {name}"))
        wait_sessions(folder)
        hw.need(ended.status == 0 and not ended.errors, f"{target}: {ended}")
        hw.need(hw.report(name)["recording"]["own_malloc"], f"{target}: not said")


WRAPS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
void *malloc(size_t size)
{
	static void *(*next)(size_t);
	if (!next)
		next = dlsym(RTLD_NEXT, "malloc");
	return next(size);
}
void free(void *block)
{
	static void (*next)(void *);
	if (!next)
		next = dlsym(RTLD_NEXT, "free");
	next(block);
}
"""


LINKED = ("malloc_free.c", "peak_realloc.c", "realloc_moved.c", "new_forms.cc", "containers.cc", "exceptions.cc",
          "std_thread.cc", "thread_local.cc", "tls_destructor.c")
for library in LIBRARIES:
    TESTS.add(f"{library} in front of the recorder: its own blocks alone, and nothing is recorded", in_front(library))
for library in LIBRARIES:
    TESTS.add(f"{library}, linked, stays the program's allocator", left_in_place(library))
    for source in LINKED:
        TESTS.add(f"{library}, linked: {source}", linked(library, source))
for library in LIBRARIES:
    TESTS.add(f"{library} stays the program's allocator", kept(library))
    for program in PROGRAMS:
        TESTS.add(f"{library}: {program}", recorded_completely(library, program))

if __name__ == "__main__":
    sys.argv[1:] = []
    TESTS.main(width=2, sanitized_part=3)
