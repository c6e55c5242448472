#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise attach` and `detach`: a process that runs already is recorded exactly, from then until it is let go, and is
as it was afterwards.

    test_attach.py [CYCLES]     attach to a program at full speed so often (default: 10)
"""

import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import state, status_line
from told import Told, is_readable, of_site

TESTS = hw.Tests()
TARGET = hw.TARGETS / "attached"
CYCLES = 10
HOOKED = ("malloc", "calloc", "realloc", "reallocarray", "free", "posix_memalign", "aligned_alloc", "dlclose")
IMAGE, RINGS = "/memfd:heapwise-attach", "heapwise-rings."
GONE = "nothing is recorded there any more"


@contextlib.contextmanager
def running(folder, *arguments, program=TARGET, preload=None, before=(), keep=()):
    """A target that was started without heapwise."""
    more = {"LD_PRELOAD": preload} if preload else {}
    process = subprocess.Popen([*before, program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=folder, start_new_session=True, pass_fds=keep,
                               env=hw.clean_environment(**more))
    try:
        yield Told(folder, process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def attached(target, file, *options):
    """The command, from when the target is recorded. A busy machine may take its time to stop all threads."""
    process = subprocess.Popen([hw.HEAPWISE, "attach", str(target.pid), "-f", "-o", file, "--pause", "10s", *options], stderr=subprocess.PIPE,
                               env=hw.clean_environment(), start_new_session=True, text=True)
    try:
        said = process.stderr.readline()
        hw.need("is recorded to" in said, f"attach: {said}{process.stderr.read() if not said.strip() else ''}")
        yield process
        if process.poll() is None:
            process.wait(hw.TIMEOUT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stderr.close()
        process.wait()


def detach(target):
    result = hw.heapwise("detach", str(target.pid))
    hw.need(result.status == 0, f"detach: {result}")
    return result.errors


def maps(target):
    return Path(f"/proc/{target.pid}/maps").read_text()


def need_let_go(target):
    """Of what was mapped the code alone is left, once."""
    text = maps(target)
    hw.need(RINGS not in text, "its rings are still mapped")
    hw.need(len([line for line in text.splitlines() if IMAGE in line and " r-xp " in line]) == 1, text)


def need_sound(recording, detached=True):
    hw.need(recording["complete"], f"{recording}")
    hw.need(recording.get("detached", False) == detached, f"{recording}")
    hw.need(recording["attached_ns"] > 0, f"{recording}")
    for figure in ("lost_events", "repairs", "unknown_frees", "mismatched_frees", "stacks_full"):
        hw.need(recording[figure] == 0, f"{figure}: {recording}")


def program_slots(target, program=TARGET):
    """What a program's or a library's own references to functions of libc lead to, by name: the words themselves."""
    start = min(int(line.split("-")[0], 16) for line in maps(target).splitlines() if line.endswith(str(program)))
    listed = subprocess.run(["readelf", "-rW", program], capture_output=True, text=True, check=True).stdout
    found = {}
    with open(f"/proc/{target.pid}/mem", "rb") as memory:
        for offset, name in re.findall(r"^([0-9a-f]+) .* (\w+)(?:@GLIBC\S*)? \+ 0$", listed, re.M):
            memory.seek(start + int(offset, 16))
            found[name] = memory.read(8)
    return {name: word for name, word in found.items() if name in HOOKED}


@TESTS.test
def truth(folder):
    """Blocks of every function, by site; frees of older blocks are known; the references are as they were"""
    with running(folder) as target:
        for _ in range(10):
            target.tell("old", 100)
        target.tell("kinds")  # bound, whatever was bound late
        before = program_slots(target)
        hw.need({"malloc", "free", "realloc"} <= set(before), f"{before}")
        with attached(target, folder / "x.hpw"):
            changed = program_slots(target)
            hw.need(changed["malloc"] != before["malloc"] and changed["free"] != before["free"], "nothing was changed")
            for size in (10, 20, 30, 40):
                target.tell("new", size)
            target.tell("free-new", 1)
            target.tell("free-old", 3)
            target.tell("kinds")
            target.tell("grow-old", 2)
            detach(target)
        hw.need(program_slots(target) == before, "the references are not what they were")
        need_let_go(target)
        target.tell("new", 5000)
        target.tell("free-old", 3)
        target.ask("end", 0)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    # One malloc for each `new`, seven calls in `kinds` and strdup's, and two that grow older blocks.
    hw.need(of_site(report, "allocations", "site_new") == 4 and of_site(report, "live_bytes", "site_new") == 60, f"{report['sites']}")
    hw.need(of_site(report, "allocations", "site_kinds") == 7 and of_site(report, "live_bytes", "site_kinds") == 77,
            f"{report['sites']}")
    hw.need(of_site(report, "live_bytes", "do_word") == 2 * 999, f"{report['sites']}")
    totals = hw.report(folder / "x.hpw")["totals"]
    hw.need(totals["allocations"] == 4 + 8 + 2 and totals["frees"] == 1 + 7 + 5, f"{totals}")


@TESTS.test
def at_full_speed(folder):
    """Threads that do nothing else, attached and let go again and again at any instruction: nothing is lost"""
    with running(folder) as target:
        for cycle in range(CYCLES):
            target.tell("hammer", 3)
            with attached(target, folder / "x.hpw", "--before", "none"):
                said = detach(target)
                hw.need(GONE not in said, said)
            hw.need(target.tell("rest") > 0, "nothing was done")
            need_let_go(target)
            report = hw.report(folder / "x.hpw")
            need_sound(report["recording"])
            totals = report["totals"]
            live = totals["allocations"] - totals["frees"]
            # Each thread may be in the middle of its round.
            hw.need(0 <= live <= 3, f"cycle {cycle}: {totals}")
        target.ask("end", 0)


@TESTS.test
def exact_of_threads(folder):
    """What three threads do between two moments, to the call"""
    with running(folder) as target, attached(target, folder / "x.hpw"):
        target.tell("hammer", 3)
        target.tell("until", 100000)
        rounds = int(target.tell("rest"))
        target.tell("threads", 20)
        detach(target)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    # A round is a malloc and a realloc.
    hw.need(of_site(report, "allocations", "site_hammered") == 2 * rounds, f"{rounds} rounds: {report['sites']}")
    hw.need(of_site(report, "live_blocks", "site_hammered") == 0, f"{report['sites']}")
    hw.need(of_site(report, "allocations", "one_block") == 20, f"{report['sites']}")


def kept_sizes(count):
    """Of the blocks that `keep` allocates."""
    return [100 + number % 900 for number in range(count)]


def deviation(sizes, mean, of_bytes=True):
    """The standard deviation of the estimate of a sum over blocks that are sampled each by itself (Horvitz and Thompson)."""
    spread = 0.0
    for size in sizes:
        chance = -math.expm1(-(size + 1) / mean)
        spread += (size * size if of_bytes else 1) * (1 - chance) / chance
    return math.sqrt(spread)


def need_near(found, sizes, mean, what, of_bytes=True):
    truth, off = sum(sizes) if of_bytes else len(sizes), 5 * deviation(sizes, mean, of_bytes)
    hw.need(abs(found - truth) <= off + 1, f"{what}: {found}, not {truth} within {off:.0f}")


@TESTS.test
def sampled(folder):
    """--mode sample: estimates are as near the truth as samples can be; of blocks that are larger than the distance the
    sums are exact; the mode stays"""
    sizes = kept_sizes(20000)
    with running(folder) as target:
        target.tell("keep", 3000)
        for seed in range(1, 6):
            with attached(target, folder / "x.hpw", "--mode", "sample:16K", "--seed", str(seed)):
                target.tell("keep", 20000)
                target.tell("free-new", 5000)
                refused = hw.heapwise("ctl", str(target.pid), "mode", "exact")
                hw.need(refused.status != 0 and "it was attached" in refused.errors, f"{refused}")
                detach(target)
            need_let_go(target)
            report = hw.report(folder / "x.hpw", "--view", "sites")
            need_sound(report["recording"])
            hw.need(report["recording"]["mode"] == "sample" and report["recording"]["sample_bytes"] == 16384, f"{report['recording']}")
            hw.need(report["totals"]["temporary"] is None, "temporary blocks are not known of samples")
            need_near(of_site(report, "allocated_bytes", "site_kept"), sizes, 16384, f"seed {seed}, all bytes")
            need_near(of_site(report, "allocations", "site_kept"), sizes, 16384, f"seed {seed}, all blocks", of_bytes=False)
            need_near(of_site(report, "live_bytes", "site_kept"), sizes[:15000], 16384, f"seed {seed}, live bytes")
            hw.need(of_site(report, "allocations", "site_kept") != len(sizes), "it is no estimate")
        with attached(target, folder / "x.hpw", "--mode", "sample:1"):
            target.tell("keep", 2000)
            target.tell("free-new", 500)
            target.tell("kinds")
            detach(target)
        report = hw.report(folder / "x.hpw", "--view", "sites")
        need_sound(report["recording"])
        hw.need(of_site(report, "live_bytes", "site_kept") == sum(kept_sizes(1500)), f"{report['sites']}")
        hw.need(of_site(report, "allocations", "site_kept") == 2000, f"{report['sites']}")
        hw.need(of_site(report, "live_bytes", "site_kinds") == 77, f"{report['sites']}")
        target.ask("end", 0)


@TESTS.test
def sampled_threads(folder):
    """Threads at full speed, sampled: attached and let go at any instruction, and what all of them do is estimated"""
    mean, turns = 1 << 20, 100000
    with running(folder) as target:
        target.tell("hammer", 3)
        for _ in range(max(3, CYCLES // 3)):
            with attached(target, folder / "x.hpw", "--mode", "sample:256K"):
                hw.need(GONE not in detach(target), "it has gone")
            need_let_go(target)
        target.tell("rest")
        with attached(target, folder / "x.hpw", "--mode", "sample:1M"):
            target.tell("turns", turns)
            detach(target)
        need_let_go(target)
        target.ask("end", 0)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    sizes = [size for number in range(turns) for size in (100 + number % 64, 300)] * 3
    need_near(of_site(report, "allocated_bytes", "site_hammered"), sizes, mean, "all bytes")
    hw.need(of_site(report, "live_blocks", "site_hammered") == 0, f"{report['sites']}")


@TESTS.test
def many_threads(folder):
    """Hundreds of threads, more than there are rings"""
    with running(folder) as target:
        target.tell("sleepers", 550)
        with attached(target, folder / "x.hpw", "--pause", "5s"):
            target.tell("new", 123)
            target.tell("hammer", 520)
            rounds = int(target.tell("rest"))
            detach(target)
        need_let_go(target)
        with attached(target, folder / "s.hpw", "--mode", "sample:16K"):
            target.tell("threads", 600)
            target.tell("hammer", 520)
            target.tell("rest")
            detach(target)
        need_let_go(target)
        target.ask("end", 0)
    sampled = hw.report(folder / "s.hpw", "--view", "sites")
    hw.need(set(sampled["recording"]["lost"]) <= {"sampled", "held"} and sampled["recording"]["repairs"] == 0, f"{sampled['recording']}")
    need_near(of_site(sampled, "live_bytes", "one_block"), [4321] * 600, 16384, "a block of each thread")
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    hw.need(of_site(report, "live_bytes", "site_new") == 123, f"{report['sites']}")
    hw.need(of_site(report, "allocations", "site_hammered") == 2 * rounds, f"{rounds}: {report['sites']}")


@TESTS.test
def undisturbed(folder):
    """No system call of the program notices"""
    with running(folder, "4", program=hw.TARGETS / "stops" / "waits") as target:
        with attached(target, folder / "x.hpw"):
            detach(target)
        said, _ = target.process.communicate(timeout=60)
        lines = said.decode().splitlines()
        broken = [line for line in lines if " broken" in line]
        hw.need(lines and not broken, f"{broken or said}")


@TESTS.test
def operators(folder):
    """C++'s operators new and delete, of the C++ library and of tcmalloc and jemalloc, as `run` has them"""
    (folder / "cxx.cc").write_text("""
#include <cstdio>
#include <new>
#include <string>
#include <unistd.h>
struct alignas(64) Wide { char bytes[64]; };
static void *volatile sink;
__attribute__((noinline)) void made() {
    for (int i = 0; i < 10; i++) { sink = new char[30]; delete[] (char *)sink; }
    sink = new (std::nothrow) int; delete (int *)sink;
    Wide *wide = new Wide; sink = wide; delete wide;
    sink = new long[5];
    try { static volatile size_t much = (size_t)1 << 60; sink = new char[much]; } catch (const std::bad_alloc &) { sink = nullptr; std::puts("caught 1"); std::fflush(stdout); }
}
int main() {
    char line[64];
    std::printf("ready %d\\n", (int)getpid()); std::fflush(stdout);
    while (std::fgets(line, sizeof line, stdin)) { made(); std::printf("made 1\\n"); std::fflush(stdout); }
}
""")
    subprocess.run(["c++", "-std=c++17", "-O1", "-g", "-o", folder / "cxx", folder / "cxx.cc"], check=True)
    for allocator in (None, "libtcmalloc_minimal.so.4", "libjemalloc.so.2"):
        preload = next(iter(Path("/usr/lib").glob(f"*/{allocator}")), None) if allocator else None
        if allocator and not preload:
            continue
        with running(folder, program=folder / "cxx", preload=preload) as target:
            target.ask("made")
            hw.need(target.answer() == "caught 1\n" and target.told("made") == 1, "it does not run")
            with attached(target, folder / "x.hpw"):
                target.ask("made")
                hw.need(target.answer() == "caught 1\n" and target.told("made") == 1, f"{allocator}: it was harmed")
                detach(target)
            target.ask("made")
            hw.need(target.answer() == "caught 1\n" and target.told("made") == 1, f"{allocator}: it was harmed")
            # Blocks of 30 bytes and more are nearly always samples of this distance, and what is freed is known to be.
            with attached(target, folder / "s.hpw", "--mode", "sample:1"):
                target.ask("made")
                hw.need(target.answer() == "caught 1\n" and target.told("made") == 1, f"{allocator}: it was harmed")
                detach(target)
        report = hw.report(folder / "s.hpw", "--view", "sites")
        need_sound(report["recording"])
        hw.need(of_site(report, "allocations", "made()") + of_site(report, "allocations", "made") >= 12 and
                of_site(report, "live_bytes", "made()") + of_site(report, "live_bytes", "made") == 40,
                f"{allocator}, sampled: {report['sites']}")
        report = hw.report(folder / "x.hpw", "--view", "sites")
        need_sound(report["recording"])
        hw.need(of_site(report, "allocations", "made()") + of_site(report, "allocations", "made") >= 13 and
                of_site(report, "live_bytes", "made()") + of_site(report, "live_bytes", "made") == 40,
                f"{allocator}: {report['sites']}")


@TESTS.test
def library_of_later(folder):
    """What is loaded after that is recorded, too; a child is not, and is not harmed"""
    with running(folder, hw.TARGETS / "attached_library.so") as target:
        with attached(target, folder / "x.hpw"):
            hw.need(target.tell("library") == 1, "it was not loaded")
            hw.need(target.tell("child") == 7, "its child was harmed")
            target.tell("new", 321)
            detach(target)
        target.ask("end", 0)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    hw.need(of_site(report, "live_bytes", "allocate") == 1234, f"{report['sites']}")
    hw.need(of_site(report, "live_bytes", "site_new") == 321, "a child's events are in it")
    notes = hw.report(folder / "x.hpw")["notes"]
    hw.need(any("1 library was loaded after that" in note for note in notes), f"{notes}")


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


@TESTS.test
def ends(folder):
    """The target's own end, and its exec, end the recording; --for and ^C let it go"""
    with running(folder) as target, attached(target, folder / "end.hpw") as command:
        target.tell("new", 55)
        target.ask("end", 3)
        hw.need(command.wait(hw.TIMEOUT) == 0, "attach failed")
    report = hw.report(folder / "end.hpw")
    need_sound(report["recording"], detached=False)
    hw.need(report["target"]["exit"] == {"code": 3}, f"{report['target']}")
    hw.need(report["totals"]["live_bytes_at_end"] >= 55, f"{report['totals']}")
    # It takes a while until a process with much memory has ended: the command looks at it meanwhile.
    with running(folder) as target:
        target.tell("keep", 600000)
        with attached(target, folder / "end.hpw") as command:
            target.ask("end", 4)
            hw.need(command.wait(hw.TIMEOUT) == 0, "attach failed")
    found = hw.report(folder / "end.hpw")["target"]["exit"]
    hw.need(found == {"code": 4}, f"{found}")
    with running(folder) as target, attached(target, folder / "exec.hpw") as command:
        target.tell("new", 56)
        target.ask("exec")
        hw.need(target.answer().startswith("ready"), "it did not go on")
        hw.need(command.wait(hw.TIMEOUT) == 0, "attach failed")
        hw.need(target.tell("new", 5) == 5, "it does not answer")
    report = hw.report(folder / "exec.hpw")
    need_sound(report["recording"], detached=False)
    hw.need(report["target"]["exit"] == {"exec": True}, f"{report['target']}")
    for options, signalled in ((("--for", "200ms"), None), ((), signal.SIGINT), ((), signal.SIGTERM)):
        with running(folder) as target, attached(target, folder / "go.hpw", *options) as command:
            target.tell("new", 57)
            if signalled:
                command.send_signal(signalled)
            hw.need(command.wait(hw.TIMEOUT) == 0, "attach failed")
            need_let_go(target)
            target.ask("end", 0)
        need_sound(hw.report(folder / "go.hpw")["recording"])


@TESTS.test
def killed(folder):
    """The command killed: the recording goes on. Its collector, too: the program goes on, and `detach` cleans up"""
    with running(folder) as target, attached(target, folder / "x.hpw") as command:
        target.tell("new", 11)
        command.kill()
        command.wait()
        target.tell("new", 12)
        hw.need("its recording is" in detach(target), "nobody has recorded")
        need_let_go(target)
        report = hw.report(folder / "x.hpw")
        need_sound(report["recording"])
        hw.need(report["totals"]["live_bytes_at_end"] == 23, f"{report['totals']}")
    with running(folder) as target, attached(target, folder / "y.hpw") as command:
        before = program_slots(target)
        target.tell("new", 11)
        collector = collector_of_rings(target)
        command.kill()
        os.kill(collector, signal.SIGKILL)
        hw.wait_until(lambda: not Path(f"/proc/{collector}").exists(), "the collector has gone")
        target.tell("hammer", 2)
        target.tell("until", 1000)
        target.tell("rest")
        hw.need(program_slots(target) == before, "something has changed")
        hw.need("references were put back" in detach(target), "it was not let go")
        need_let_go(target)
        hw.need(program_slots(target)["malloc"] != before["malloc"], "the references were not put back")
        target.tell("new", 12)


def need_going_on(pid):
    """It goes to sleep and wakes up some more times."""
    def slept():
        try:
            return int(status_line(pid, "voluntary_ctxt_switches"))
        except (FileNotFoundError, ProcessLookupError) as error:
            raise hw.Failure(f"process {pid} has gone") from error
    until = slept() + 5
    hw.wait_until(lambda: slept() >= until, f"process {pid} does not go on")


def collector_of_rings(target):
    """The one process but the target that has its rings mapped."""
    rings = re.search(rf"/memfd:({RINGS}\S+)", maps(target))[1]
    found = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and has_mapped(pid, rings) and int(pid) != target.pid]
    hw.need(len(found) == 1, f"{found}")
    return found[0]


def has_mapped(pid, name):
    try:
        return name in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


@TESTS.test
def collector_stopped(folder):
    """A collector that is stopped: `detach` says so, lets the process go without it, and it completes the recording later"""
    with running(folder) as target, attached(target, folder / "x.hpw", "--before", "none") as command:
        before = program_slots(target)
        target.tell("new", 21)
        collector = collector_of_rings(target)
        os.kill(collector, signal.SIGSTOP)
        hw.wait_until(lambda: state(collector) == "T", "the collector is stopped")
        said = detach(target)
        hw.need(f"process {collector}) is stopped" in said and "without its collector" in said, said)
        need_let_go(target)
        hw.need(program_slots(target)["malloc"] != before["malloc"], "the references were not put back")
        target.tell("new", 5000)
        os.kill(collector, signal.SIGCONT)
        hw.need(command.wait(hw.TIMEOUT) == 0, "attach failed")
        target.ask("end", 0)
    report = hw.report(folder / "x.hpw")
    need_sound(report["recording"])
    hw.need(report["totals"]["live_bytes_at_end"] == 21, f"{report['totals']}")


@TESTS.test
def suspended(folder):
    """While a vfork child runs in its memory a process is not attached; `detach` lets it go without waiting for the child"""
    reading, writing = os.pipe()
    os.set_inheritable(reading, True)
    with running(folder, keep=(reading,)) as target:
        def suspend():
            target.ask("vfork", reading)
            hw.wait_until(lambda: state(target.pid) == "D", "it is suspended")

        def resume():
            os.write(writing, b"x")
            hw.need(target.told("vfork") == 5, "the child was harmed")

        suspend()
        result = hw.heapwise("attach", str(target.pid), "-o", folder / "x.hpw")
        hw.need(result.status == 4 and f"thread {target.pid} " in result.errors and "vfork" in result.errors, f"{result}")
        resume()
        hw.need(IMAGE not in maps(target) and not (folder / "x.hpw").exists(), "something was changed")
        with attached(target, folder / "x.hpw", "--before", "none"):
            target.tell("new", 31)
            suspend()
            detach(target)
            resume()
            target.tell("new", 5000)
        if RINGS in maps(target):
            detach(target)
        need_let_go(target)
        target.ask("end", 0)
    os.close(reading)
    os.close(writing)
    report = hw.report(folder / "x.hpw")
    need_sound(report["recording"])
    hw.need(report["totals"]["live_bytes_at_end"] == 31, f"{report['totals']}")


@TESTS.test
def forks_in_handlers(folder):
    """A signal handler that forks in the middle of an event, also of one during which the process is let go: all children live"""
    count = 60 * CYCLES
    with running(folder, str(count), program=hw.TARGETS / "forks_in_handler") as target:
        while target.process.poll() is None and not is_readable(target.process.stdout):
            result = hw.heapwise("attach", "-q", "-f", str(target.pid), "--pause", "10s", "--for", "300ms", "-o", folder / "x.hpw")
            hw.need(result.status == 0 or target.process.poll() is not None or is_readable(target.process.stdout), f"{result}")
        hw.need(target.told("bad") == 0, "children have died")


@TESTS.test
def stopped(folder):
    """A process that is stopped stays so"""
    with running(folder) as target:
        os.kill(target.pid, signal.SIGSTOP)
        hw.wait_until(lambda: state(target.pid) == "T", "it is stopped")
        with attached(target, folder / "x.hpw"):
            hw.wait_until(lambda: state(target.pid) == "T", "it is stopped still")
            os.kill(target.pid, signal.SIGCONT)
            target.tell("new", 99)
            os.kill(target.pid, signal.SIGSTOP)
            hw.wait_until(lambda: state(target.pid) == "T", "it is stopped")
            detach(target)
        hw.wait_until(lambda: state(target.pid) == "T", "it is stopped still")
        os.kill(target.pid, signal.SIGCONT)
        target.ask("end", 0)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    hw.need(of_site(report, "live_bytes", "site_new") == 99, "it was not recorded")


@TESTS.test
def asked(folder):
    """ctl, mark and dump reach it as a process under `run`; a second attach and a change of the mode are refused"""
    with running(folder) as target, attached(target, folder / "x.hpw", "--before", "none"):
        target.tell("new", 70)
        hw.need("live" in hw.ask("ctl", str(target.pid), "status"), "no status")
        hw.ask("mark", str(target.pid), "here")
        hw.ask("dump", str(target.pid), "-o", folder / "dump.hpw")
        hw.need(hw.report(folder / "dump.hpw")["totals"]["live_bytes_at_end"] == 70, "the dump is wrong")
        twice = hw.heapwise("attach", str(target.pid))
        hw.need(twice.status == 4 and "is attached already" in twice.errors, f"{twice}")
        mode = hw.heapwise("ctl", str(target.pid), "mode", "sample")
        hw.need(mode.status != 0 and "was attached" in mode.errors, f"{mode}")
        detach(target)
        again = hw.heapwise("detach", str(target.pid))
        hw.need(again.status == 3 and "is not attached" in again.errors, f"{again}")


@TESTS.test
def copies(folder):
    """A child that was forked meanwhile is not harmed by `detach`, and can be attached itself"""
    with running(folder) as target, attached(target, folder / "x.hpw"):
        child = int(target.tell("left"))
        need_going_on(child)
        hw.need(hw.heapwise("detach", str(child)).status == 0, "its references were not put back")
        need_going_on(child)
        result = hw.heapwise("attach", str(child), "--pause", "10s", "--for", "200ms", "-o", folder / "c.hpw")
        hw.need(result.status == 0, f"{result}")
        need_going_on(child)
        os.kill(child, signal.SIGKILL)
        target.tell("new", 44)
        detach(target)
    report = hw.report(folder / "c.hpw", "--view", "sites")
    need_sound(report["recording"])
    hw.need(of_site(report, "allocations", "site_new") > 0, f"{report['sites']}")
    hw.need(of_site(hw.report(folder / "x.hpw", "--view", "sites"), "live_bytes", "site_new") == 44, "a child's events are in it")


@TESTS.test
def at_once(folder):
    """Of two commands at once one is refused; what a first `detach` could not unmap a second does; -q says nothing"""
    with running(folder) as target:
        commands = [subprocess.Popen([hw.HEAPWISE, "attach", "-q", str(target.pid), "--pause", "10s", "--for", "300ms", "-o", folder / f"{i}.hpw"],
                                     stderr=subprocess.PIPE, env=hw.clean_environment(), text=True) for i in range(2)]
        ended = sorted((c.wait(hw.TIMEOUT), c.communicate()[1]) for c in commands)
        # The second may also have come when all was over.
        hw.need(ended[0] == (0, "") and (ended[1] == (0, "") or (ended[1][0] == 4 and "attached" in ended[1][1])), f"{ended}")
        need_let_go(target)
        target.tell("hammer", 2)
        with attached(target, folder / "x.hpw"):
            os.kill(target.pid, signal.SIGSTOP)
            hw.wait_until(lambda: state(target.pid) == "T", "it is stopped")
            detach(target)
            os.kill(target.pid, signal.SIGCONT)
        if RINGS in maps(target):
            detach(target)
        need_let_go(target)
        target.tell("rest")
        target.ask("end", 0)


@TESTS.test
def refused(folder):
    """What can't be attached is refused in a sentence, and unharmed"""
    (folder / "own.c").write_text("""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <linux/seccomp.h>
#ifdef OWN
static char memory[1 << 24]; static size_t used;
void *malloc(size_t n) { void *p = memory + used; used += (n + 31) & ~15ul; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
#endif
int main(void) {
    char line[64];
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
#ifdef STRICT
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    while (read(0, line, 1) > 0) if (*line == '\\n' && write(1, "ok 1\\n", 5) != 5) break;
#else
    while (fgets(line, sizeof line, stdin)) { void *volatile p = malloc(10); free(p); puts("ok 1"); fflush(stdout); }
#endif
}
""")
    for name, flags, reason in (("static", ("-static",), "statically linked"), ("own", ("-DOWN", "-fno-builtin"), "defines malloc itself"),
                                ("strict", ("-DSTRICT",), "seccomp")):
        subprocess.run(["cc", "-O1", "-w", *flags, "-o", folder / name, folder / "own.c"], check=True)
        with running(folder, program=folder / name) as target:
            if name == "strict":
                hw.wait_until(lambda: "Seccomp:\t1" in Path(f"/proc/{target.pid}/status").read_text(), "it has restricted itself")
            for more in ((), ("--dry-run",)):
                result = hw.heapwise("attach", str(target.pid), *more, "-o", folder / "x.hpw")
                hw.need(result.status in (3, 4) and reason in result.errors, f"{name}: {result}")
            target.ask("go")
            hw.need(target.told("ok") == 1, f"{name}: it was harmed")
    with running(folder) as target:
        tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(target.pid)], stderr=subprocess.DEVNULL)
        hw.wait_until(lambda: f"TracerPid:\t{tracer.pid}" in Path(f"/proc/{target.pid}/status").read_text(), "it is traced")
        result = hw.heapwise("attach", str(target.pid), "-o", folder / "x.hpw")
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        hw.need(result.status == 4 and "tracing it" in result.errors, f"{result}")
        target.ask("end", 0)
    with tempfile.TemporaryDirectory() as other:
        recorded = subprocess.Popen([hw.HEAPWISE, "run", "-q", "-o", f"{other}/r.hpw", TARGET], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, env=hw.clean_environment())
        pid = recorded.stdout.readline().split()[1].decode()
        result = hw.heapwise("attach", pid)
        hw.need(result.status == 4 and "is recorded already" in result.errors, f"{result}")
        result = hw.heapwise("detach", pid)
        hw.need(result.status != 0, f"{result}")
        recorded.communicate(b"end 0\n", timeout=60)
    hw.need(not (folder / "x.hpw").exists(), "there is a recording")
    for arguments, status in ((("99999999",), 3), (("x",), 2), ((), 2), (("1", "2"), 2), (("1", "--for", "soon"), 2),
                              (("1", "--mode", "sample:0"), 2), (("1", "--seed", "x"), 2)):
        result = hw.heapwise("attach", *arguments)
        hw.need(result.status == status and result.errors, f"{arguments}: {result}")


FILTERED = """
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define IF(number, action) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)
#define ELSE(action) BPF_STMT(BPF_RET | BPF_K, action)
#define DENIED SECCOMP_RET_ERRNO | EPERM
static struct sock_filter few[] = {NUMBER, IF(SYS_read, SECCOMP_RET_ALLOW), IF(SYS_write, SECCOMP_RET_ALLOW),
    IF(SYS_brk, SECCOMP_RET_ALLOW), IF(SYS_newfstatat, SECCOMP_RET_ALLOW), IF(SYS_fstat, SECCOMP_RET_ALLOW),
    IF(SYS_exit_group, SECCOMP_RET_ALLOW), IF(SYS_restart_syscall, SECCOMP_RET_ALLOW),
    ELSE(SECCOMP_RET_KILL_PROCESS)};
/* As a container's: what has to do with the whole machine is denied. */
static struct sock_filter container[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0), ELSE(SECCOMP_RET_KILL_PROCESS), NUMBER,
    IF(SYS_mount, DENIED), IF(SYS_umount2, DENIED), IF(SYS_pivot_root, DENIED), IF(SYS_reboot, DENIED), IF(SYS_bpf, DENIED),
    IF(SYS_keyctl, DENIED), IF(SYS_add_key, DENIED), IF(SYS_ptrace, DENIED), IF(SYS_init_module, DENIED),
    IF(SYS_kexec_load, DENIED), IF(SYS_unshare, DENIED), IF(SYS_setns, DENIED), IF(SYS_userfaultfd, DENIED),
    ELSE(SECCOMP_RET_ALLOW)};
/* No new code: mmap with PROT_EXEC. */
static struct sock_filter no_code[] = {NUMBER, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), ELSE(SECCOMP_RET_KILL_PROCESS), ELSE(SECCOMP_RET_ALLOW)};
/* All calls that attaching takes, and futex none. */
static struct sock_filter no_futex[] = {NUMBER, IF(SYS_futex, SECCOMP_RET_TRAP), ELSE(SECCOMP_RET_ALLOW)};
static __attribute__((noinline)) void made(int count) { while (count--) { void *volatile p = malloc(10); free(p); } }
int main(int argc, char **argv) {
    char line[64];
    size_t bytes = *argv[1] == 'f' ? sizeof few : *argv[1] == 'c' ? sizeof container : *argv[1] == 'n' ? sizeof no_code : sizeof no_futex;
    struct sock_fprog filter = {bytes / sizeof *few, *argv[1] == 'f' ? few : *argv[1] == 'c' ? container : *argv[1] == 'n' ? no_code : no_futex};
    (void)argc;
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) abort();
    while (fgets(line, sizeof line, stdin)) { made(100); puts("made 100"); fflush(stdout); }
}
"""


@TESTS.test
def filtered(folder):
    """A process under seccomp filters is attached if they let all calls pass; else it is refused, with the call, and lives"""
    (folder / "filtered.c").write_text(FILTERED)
    subprocess.run(["cc", "-O1", "-g", "-w", "-o", folder / "filtered", folder / "filtered.c"], check=True)
    for kind, reason in (("few", "mmap"), ("container", None), ("no-code", "mmap of code"), ("trap", "futex")):
        with running(folder, kind, program=folder / "filtered") as target:
            target.tell("made")  # now it has its filter
            if os.geteuid() or status_line(os.getpid(), "Seccomp") != "0":
                result = hw.heapwise("attach", str(target.pid), "-o", folder / "x.hpw")
                hw.need(result.status == 4 and "CAP_SYS_ADMIN" in result.errors, f"{kind}: {result}")
            elif reason:
                result = hw.heapwise("attach", str(target.pid), "--pause", "10s", "-f", "-o", folder / "x.hpw")
                hw.need(result.status == 4 and f"does not let {reason}" in result.errors, f"{kind}: {result}")
                hw.need(IMAGE not in maps(target) and RINGS not in maps(target), "something was mapped")
            else:
                with attached(target, folder / "x.hpw"):
                    for _ in range(20):
                        target.tell("made")
                    detach(target)
                need_let_go(target)
                report = hw.report(folder / "x.hpw", "--view", "sites")
                need_sound(report["recording"])
                hw.need(of_site(report, "allocations", "made") == 2000, f"{report['sites']}")
            hw.need(target.tell("made") == 100, f"{kind}: it was harmed")


@TESTS.test
def kept_pointers(folder):
    """Addresses of functions that were kept before are counted, in the command and in the recording; ulimit -v is looked at"""
    (folder / "keeper.c").write_text("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static struct { void *(*take)(size_t); void (*give)(void *); } table;
int main(void) {
    char line[64];
    table.take = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
    table.give = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    while (fgets(line, sizeof line, stdin)) { void *volatile p = malloc(33); table.give(table.take(10)); free(p); puts("ok 1"); fflush(stdout); }
}
""")
    subprocess.run(["cc", "-O1", "-g", "-o", folder / "keeper", folder / "keeper.c"], check=True)
    with running(folder, program=folder / "keeper") as target:
        said = hw.ask("attach", str(target.pid), "--dry-run")
        hw.need(re.search(r"not recorded +2 words hold .*2 of keeper", said), said)
        with attached(target, folder / "x.hpw") as command:
            hw.need("2 of keeper" in command.stderr.readline(), "the words are not named")
            target.tell("ok")
            detach(target)
    report = hw.report(folder / "x.hpw")
    hw.need(report["totals"]["allocations"] == 1, f"{report['totals']}")
    hw.need(any("2 words of the program" in note for note in report["notes"]), f"{report['notes']}")
    hw.need_program("prlimit")
    with running(folder, before=("prlimit", "--as=300000000:")) as target:
        result = hw.heapwise("attach", str(target.pid), "-o", folder / "y.hpw")
        hw.need(result.status == 4 and "ulimit -v" in result.errors and f"prlimit --pid {target.pid} --as=" in result.errors, f"{result}")
        raised = re.search(r"prlimit --pid \d+ --as=\d+:", result.errors)[0]
        subprocess.run(raised.split(), check=True)
        with attached(target, folder / "y.hpw"):
            target.tell("new", 71)
            detach(target)


@TESTS.test
def many_references(folder):
    """A program with more references than can be changed is refused; with a few less it is recorded"""
    for count, status in ((9000, 3), (8000, 0)):
        (folder / "many.c").write_text(f"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *(*table[])(size_t) = {{{",".join(["malloc"] * count)}}};
int main(void) {{
    char line[64];
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {{
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) free(table[i](10));
        puts("ok 1"); fflush(stdout);
    }}
}}
""")
        subprocess.run(["cc", "-O0", "-g", "-fPIE", "-pie", "-o", folder / "many", folder / "many.c"], check=True)
        with running(folder, program=folder / "many") as target:
            result = hw.heapwise("attach", str(target.pid), "--dry-run")
            hw.need(result.status == status, f"{count}: {result}")
            if status:
                hw.need(re.search(r"has 90\d\d references .* more than the 8192 ", result.errors), f"{result}")
                continue
            with attached(target, folder / "x.hpw"):
                target.ask("go")
                hw.need(target.told("ok") == 1, "it was harmed")
                detach(target)
            report = hw.report(folder / "x.hpw", "--view", "sites")
            hw.need(of_site(report, "allocations", "main") == count, f"{report['sites']}")


@TESTS.test
def foreseen(folder):
    """--dry-run says what would be done, and does nothing"""
    with running(folder) as target:
        said = hw.ask("attach", str(target.pid), "--dry-run")
        hw.need("libc.so.6" in said and "thread" in said and re.search(r"\d+ words in \d+ objects", said), said)
        hw.need(IMAGE not in maps(target), "something was mapped")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        CYCLES = int(sys.argv.pop(1))
    TESTS.main()
