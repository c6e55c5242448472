#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise attach` of programs with other libcs: musl, and glibc that can't be asked for unwind tables."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from attaching import attached, detach, kept_sizes, maps, need_let_go, need_near, need_sound, program_slots, running
from told import of_site

TESTS = hw.Tests()


@contextlib.contextmanager
def running_with_musl(folder):
    """The target as a program of another libc, which has no function that tells where unwind tables are."""
    if not shutil.which("musl-gcc"):
        raise hw.Skip("there is no musl-gcc")
    source = hw.SOURCE / "tests/targets/moments"
    # As compilers for musl do, and this wrapper does not.
    compiler = ["musl-gcc", "-O1", "-g", "-Wl,--eh-frame-hdr"]
    subprocess.run([*compiler, "-o", folder / "other", source / "attached.c"], check=True)
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", folder / "library.so", source / "attached_library.c"], check=True)
    with running(folder, folder / "library.so", program=folder / "other") as target:
        yield target, os.path.realpath("/lib/ld-musl-x86_64.so.1")


def need_stacks(report, site):
    """From the site to main, without a gap."""
    for row in report["sites"]:
        functions = [frame.get("function") for frame in row["stack"]]
        if functions and functions[0] == site:
            hw.need("main" in functions, f"{functions}")


@TESTS.test
def of_musl(folder):
    """A program of musl: blocks of every function, its libc's own too, are each recorded once, with their stacks; what
    is loaded later; the references are as they were"""
    with running_with_musl(folder) as (target, libc):
        target.tell("old", 100)
        before = program_slots(target, folder / "other"), program_slots(target, libc)
        hw.need({"malloc", "free", "realloc", "calloc"} <= set(before[0]) and "malloc" in before[1], f"{before}")
        with attached(target, folder / "x.hpw"):
            changed = program_slots(target, folder / "other"), program_slots(target, libc)
            hw.need(changed[0]["malloc"] != before[0]["malloc"] and changed[1]["malloc"] != before[1]["malloc"], "nothing was changed")
            target.tell("new", 60)
            target.tell("kinds")
            target.tell("threads", 20)
            target.tell("turns", 5000)
            hw.need(target.tell("library") == 1, "it was not loaded")
            hw.need(target.tell("child") == 7, "its child was harmed")
            target.tell("free-old", 1)
            detach(target)
        hw.need((program_slots(target, folder / "other"), program_slots(target, libc)) == before, "the references are not what they were")
        need_let_go(target)
        target.tell("kinds")
        target.ask("end", 0)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    for figure, site, truth in (("allocations", "site_new", 1), ("live_bytes", "site_new", 60), ("allocations", "site_kinds", 7),
                                ("live_bytes", "site_kinds", 77), ("allocations", "one_block", 20), ("live_bytes", "allocate", 1234),
                                ("allocations", "site_hammered", 2 * 3 * 5000), ("live_blocks", "site_hammered", 0)):
        hw.need(of_site(report, figure, site) == truth, f"{figure} of {site}: not {truth}: {report['sites']}")
    for site in ("site_new", "site_kinds"):
        need_stacks(report, site)
    kinds = {row["kind"] for row in report["sites"] if row["stack"] and row["stack"][0].get("function") == "site_kinds"}
    hw.need(kinds == {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign"}, f"{kinds}")


@TESTS.test
def of_musl_sampled(folder):
    """Samples of a program of musl: no block counts twice"""
    sizes = kept_sizes(20000)
    with running_with_musl(folder) as (target, _):
        with attached(target, folder / "x.hpw", "--mode", "sample:16K", "--seed", "7"):
            target.tell("keep", 20000)
            detach(target)
        with attached(target, folder / "y.hpw", "--mode", "sample:1"):
            target.tell("kinds")
            target.tell("turns", 100)
            detach(target)
        target.ask("end", 0)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    need_near(of_site(report, "allocated_bytes", "site_kept"), sizes, 16384, "all bytes")
    report = hw.report(folder / "y.hpw", "--view", "sites")
    need_sound(report["recording"])
    hw.need(of_site(report, "live_bytes", "site_kinds") == 77 and of_site(report, "allocations", "site_kinds") == 7, f"{report['sites']}")
    hw.need(of_site(report, "allocations", "site_hammered") == 600 and of_site(report, "live_blocks", "site_hammered") == 0,
            f"{report['sites']}")


def older_libc(folder):
    """libc without the name of its function that tells where unwind tables are: as glibc was before 2.35."""
    with running(folder) as target:
        libc = next(line.split()[-1] for line in maps(target).splitlines() if "/libc.so.6" in line)
        target.ask("end", 0)
    name, text = b"\0_dl_find_object\0", Path(libc).read_bytes()
    hw.need(text.count(name) == 1, "libc is another one than expected")
    path = folder / "libc.so.6"
    path.write_bytes(text.replace(name, b"\0_dl_find_nothin\0"))
    return path


@TESTS.test
def of_older_glibc(folder):
    """A libc that can't be asked where unwind tables are: whole stacks, also of libraries that come and go"""
    program, libc = folder / "older", older_libc(folder)
    # dlclose was in a library of its own before 2.34.
    (folder / "dl.c").write_text("""
#include <dlfcn.h>
int dlclose(void *handle) { return ((int (*)(void *))dlsym(RTLD_NEXT, "dlclose"))(handle); }
""")
    subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-shared", "-fPIC", "-Wl,-soname,libdl.so.2", "-o", folder / "libdl.so.2",
                    folder / "dl.c"], check=True)
    subprocess.run(["cc", "-O1", "-g", f"-Wl,-rpath,{folder}", "-Wl,--no-as-needed", "-o", program,
                    hw.SOURCE / "tests/targets/moments/attached.c", folder / "libdl.so.2"], check=True)
    with running(folder, hw.TARGETS / "attached_library.so", program=program) as target:
        hw.need(str(libc) in maps(target) and str(folder / "libdl.so.2") in maps(target), maps(target))
        before = program_slots(target, program)
        for mode in ("exact", "aggregate"):
            with attached(target, folder / "x.hpw", "--mode", mode):
                target.tell("new", 60)
                target.tell("kinds")
                for _ in range(2):
                    hw.need(target.tell("library") == 1, "it was not loaded")
                target.tell("turns", 1000)
                target.tell("hammer", 2)
                target.tell("reload", 300)
                target.tell("rest")
                hw.need(target.tell("child") == 7, "its child was harmed")
                detach(target)
            hw.need(program_slots(target, program) == before, "the references are not what they were")
            need_let_go(target)
            report = hw.report(folder / "x.hpw", "--view", "sites")
            need_sound(report["recording"])
            for figure, site, truth in (("live_bytes", "site_new", 60), ("allocations", "site_kinds", 7),
                                        ("live_bytes", "allocate", 2 * 1234), ("live_blocks", "site_hammered", 0)):
                hw.need(of_site(report, figure, site) == truth, f"{figure} of {site}: not {truth}: {report['sites']}")
            for site in ("site_new", "site_kinds", "allocate"):
                need_stacks(report, site)
            hw.need(any(frame.get("function") == "__libc_start_main_impl" or "libc.so.6" in (frame.get("module") or "")
                        for row in report["sites"] for frame in row["stack"]), f"{report['sites']}")
        target.ask("end", 0)


if __name__ == "__main__":
    TESTS.main()
