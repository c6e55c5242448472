#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise attach` of programs whose allocator is part of them: their functions are changed themselves, and are byte for
byte as they were afterwards.

    test_attach_inline.py [CYCLES]     attach to a static program at full speed so often (default: 6)
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from attaching import attached, detach, kept_sizes, maps, need_going_on, need_let_go, need_near, need_sound, program_slots, running
from told import collector_of, of_site

TESTS = hw.Tests()
CYCLES = 6
TARGET_SOURCE = hw.SOURCE / "tests/targets/moments/attached.c"
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
HEAD_BYTES = 32


def build(folder, name, *more, compiler="cc", source=TARGET_SOURCE):
    program = folder / name
    subprocess.run([compiler, "-O1", "-g", "-w", "-o", program, source, *more], check=True, stderr=subprocess.DEVNULL)
    return program


def build_with(folder, library):
    """A program that has a library of Debian's in it, and the rest as it is."""
    if not (LIBRARIES / f"lib{library}.a").exists():
        raise hw.Skip(f"there is no lib{library}.a")
    return build(folder, library, "-Wl,-Bstatic", f"-l{library}", "-Wl,-Bdynamic", "-lstdc++", "-lpthread", "-lm", "-ldl")


def build_with_musl(folder, *more):
    if not shutil.which("musl-gcc"):
        raise hw.Skip("there is no musl-gcc")
    return build(folder, "musl", "-static", *more, compiler="musl-gcc")


def functions_of(program, names):
    """Addresses, as linked, of the functions that the program has."""
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^([0-9a-f]+) [TtWw] (\S+)$", listed, re.M)
    return {name: int(address, 16) for address, name in found if name in names}


def heads(target, program, names=("malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc", "_Fork", "mallocx", "tc_new")):
    """The first bytes of functions, as the process has them."""
    kind = subprocess.run(["readelf", "-hW", program], capture_output=True, text=True, check=True).stdout
    start = min(int(line.split("-")[0], 16) for line in maps(target).splitlines() if line.endswith(str(program)))
    bias = start if "DYN" in kind else 0
    found = {}
    with open(f"/proc/{target.pid}/mem", "rb") as memory:
        for name, address in functions_of(program, names).items():
            memory.seek(bias + address)
            found[name] = memory.read(HEAD_BYTES)
    hw.need({"malloc", "free"} <= set(found), f"{found}")
    return found


def need_changed(before, now, names=("malloc", "free", "calloc", "realloc")):
    for name in names:
        if name in before:
            skip = 4 if before[name].startswith(b"\xf3\x0f\x1e\xfa") else 0
            hw.need(now[name][:skip] == before[name][:skip], f"{name} has lost its mark")
            hw.need(now[name][skip] == 0xe9 and now[name] != before[name], f"{name} was not changed")
            hw.need(now[name][skip + 5:skip + 8] == before[name][skip + 5:skip + 8], f"more of {name} was changed than a jump")


def do_all(target, is_static):
    for size in (10, 20, 30, 40):
        target.tell("new", size)
    target.tell("free-new", 1)
    target.tell("free-old", 3)
    target.tell("kinds")
    target.tell("grow-old", 2)
    target.tell("threads", 20)
    target.tell("turns", 5000)
    hw.need(target.tell("child") == 7, "its child was harmed")
    if not is_static:
        hw.need(target.tell("library") == 1, "it was not loaded")


def need_all(report, is_static, whole_stacks=True):
    need_sound(report["recording"])
    # Its own allocator is the one that is recorded.
    hw.need(not report["recording"]["own_malloc"] and not any("are not recorded" in note for note in report["notes"]), f"{report['notes']}")
    for figure, site, truth in (("allocations", "site_new", 4), ("live_bytes", "site_new", 60), ("allocations", "site_kinds", 7),
                                ("live_bytes", "site_kinds", 77), ("live_bytes", "do_word", 2 * 999), ("allocations", "one_block", 20),
                                ("allocations", "site_hammered", 2 * 3 * 5000), ("live_blocks", "site_hammered", 0),
                                ("live_bytes", "allocate", 0 if is_static else 1234)):
        hw.need(of_site(report, figure, site) == truth, f"{figure} of {site}: not {truth}: {report['sites']}")
    for row in report["sites"]:
        functions = [frame.get("function") for frame in row["stack"]]
        if whole_stacks and functions and functions[0] in ("site_new", "site_kinds"):
            hw.need("main" in functions, f"{functions}")
    kinds = {row["kind"] for row in report["sites"] if row["stack"] and row["stack"][0].get("function") == "site_kinds"}
    hw.need(kinds == {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign"}, f"{kinds}")


def check_program(folder, program, is_static, before_is_listed=True):
    """Exact by site, in the modes that there are, and as it was afterwards."""
    with running(folder, hw.TARGETS / "attached_library.so", program=program) as target:
        for _ in range(10):
            target.tell("old", 100)
        before = heads(target, program)
        for mode in ("exact", "aggregate", "sample:1"):
            with attached(target, folder / "x.hpw", "--mode", mode) as command:
                need_changed(before, heads(target, program))
                do_all(target, is_static)
                detach(target)
            hw.need(heads(target, program) == before, "the functions are not what they were")
            need_let_go(target)
            report = hw.report(folder / "x.hpw", "--view", "sites")
            if mode == "exact":
                need_all(report, is_static)
            else:
                hw.need(of_site(report, "allocations", "site_kinds") == 7, f"{mode}: {report['sites']}")
                hw.need(of_site(report, "live_bytes", "site_new") == 60, f"{mode}: {report['sites']}")
            target.tell("free-new", 100)
            target.tell("old", 100), target.tell("old", 100), target.tell("old", 100)
        target.tell("turns", 1000)
        target.ask("end", 0)
        hw.need(target.process.wait(60) == 0, "it has not ended as it should")


@TESTS.test
def of_static_glibc(folder):
    """A static program: its stacks are whole, although it was linked without a table of its unwind entries"""
    check_program(folder, build(folder, "static", "-static"), True)


@TESTS.test
def of_static_pie(folder):
    """A static program that is at another address each time"""
    check_program(folder, build(folder, "pie", "-static-pie", "-fcf-protection=full"), True)


@TESTS.test
def of_static_musl(folder):
    """A static program of musl, whose malloc is one jump"""
    check_program(folder, build_with_musl(folder), True)


@TESTS.test
def of_jemalloc(folder):
    """jemalloc in the executable; libraries call it, too, also one that is loaded later"""
    check_program(folder, build_with(folder, "jemalloc"), False)


@TESTS.test
def of_tcmalloc(folder):
    """tcmalloc in the executable"""
    check_program(folder, build_with(folder, "tcmalloc_minimal"), False)


@TESTS.test
def of_mimalloc(folder):
    """mimalloc in the executable"""
    check_program(folder, build_with(folder, "mimalloc"), False)


@TESTS.test
def at_full_speed(folder):
    """A static program whose threads do nothing else, attached and let go again and again at any instruction"""
    program = build(folder, "static", "-static")
    with running(folder, program=program) as target:
        before = heads(target, program)
        for cycle in range(CYCLES):
            target.tell("hammer", 3)
            with attached(target, folder / "x.hpw", "--before", "none"):
                target.tell("until", 200)
                detach(target)
            hw.need(target.tell("rest") > 0, "nothing was done")
            hw.need(heads(target, program) == before, f"cycle {cycle}: the functions are not what they were")
            need_let_go(target)
            report = hw.report(folder / "x.hpw")
            need_sound(report["recording"])
            totals = report["totals"]
            # Each thread may be in the middle of its round, at either end.
            hw.need(-3 <= totals["allocations"] - totals["frees"] <= 3, f"cycle {cycle}: {totals}")
        target.ask("end", 0)


@TESTS.test
def exact_of_threads(folder):
    """What three threads do between two moments, to the call"""
    with running(folder, program=build(folder, "static", "-static")) as target, attached(target, folder / "x.hpw"):
        target.tell("hammer", 3)
        target.tell("until", 50000)
        rounds = int(target.tell("rest"))
        detach(target)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    hw.need(of_site(report, "allocations", "site_hammered") == 2 * rounds, f"{rounds} rounds: {report['sites']}")
    hw.need(of_site(report, "live_blocks", "site_hammered") == 0, f"{report['sites']}")


@TESTS.test
def sampled(folder):
    """Samples of a static program are as near the truth as samples can be"""
    sizes = kept_sizes(20000)
    with running(folder, program=build(folder, "static", "-static")) as target:
        with attached(target, folder / "x.hpw", "--mode", "sample:16K", "--seed", "7"):
            target.tell("keep", 20000)
            detach(target)
        target.ask("end", 0)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    need_near(of_site(report, "allocated_bytes", "site_kept"), sizes, 16384, "all bytes")


HANDLERS = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static volatile int handled;
static void *volatile kept[64];
static char alternate[1 << 16];
__attribute__((noinline)) void *site_handler(size_t size) { void *volatile block = malloc(size); return block; }
/* Only while the program is in the function that is interrupted on purpose: read(), as calloc's caller never is. */
static void handle(int number) { (void)number; if (handled < 64) { kept[handled] = site_handler(50); handled++; } }
/* An allocator of the program's own, in whose malloc a signal comes. */
static char memory[1 << 24]; static size_t used;
__attribute__((noinline)) void *malloc(size_t size)
{
    void *block = memory + __atomic_fetch_add(&used, (size + 47) & ~15ul, __ATOMIC_SEQ_CST);
    *(size_t *)block = size;
    if (size == 4000) raise(SIGUSR1);
    return (char *)block + 16;
}
__attribute__((noinline)) void free(void *block) { if (block && *(size_t *)((char *)block - 16) == 4001) raise(SIGUSR1); }
__attribute__((noinline)) void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
__attribute__((noinline)) void *realloc(void *block, size_t size)
{
    void *to = malloc(size);
    if (block) { memcpy(to, block, *(size_t *)((char *)block - 16) < size ? *(size_t *)((char *)block - 16) : size); free(block); }
    return to;
}
__attribute__((noinline)) void *site_interrupted(void) { void *volatile block = malloc(4000); return block; }
__attribute__((noinline)) void *site_nested(void) { void *volatile block = calloc(1, 100); block = realloc(block, 200); return block; }
int main(int argc, char **argv)
{
    char line[64];
    struct sigaction action = {.sa_handler = handle, .sa_flags = argc > 1 ? SA_ONSTACK : 0};
    stack_t other = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    (void)argv;
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "end", 3)) return 0;
        for (int i = 0; i < 10; i++) { kept[40 + i] = site_interrupted(); kept[50 + i] = site_nested(); }
        puts("go 1"); fflush(stdout);
    }
}
"""


@TESTS.test
def nested_and_handlers(folder):
    """What the allocator calls in itself counts once, and what a signal handler calls that has interrupted it is not
    lost, on the same stack or on one of its own"""
    (folder / "own.c").write_text(HANDLERS)
    for name, flags in (("own", ()), ("own-static", ("-static",))):
        try:
            program = build(folder, name, "-fno-builtin", *flags, source=folder / "own.c")
        except subprocess.CalledProcessError:
            continue  # a libc that can't be linked with another malloc
        for arguments in ((), ("alternate",)):
            with running(folder, *arguments, program=program) as target:
                with attached(target, folder / "x.hpw", "--before", "none"):
                    target.ask("go")
                    hw.need(target.told("go") == 1, "it was harmed")
                    detach(target)
                target.ask("end")
            report = hw.report(folder / "x.hpw", "--view", "sites")
            need_sound(report["recording"])
            for site, truth in (("site_interrupted", 10), ("site_handler", 10), ("site_nested", 20)):
                found = of_site(report, "allocations", site)
                hw.need(found == truth, f"{name} {arguments}: {found} of {site}, not {truth}: {report['sites']}")


PREFIXED = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void *je_malloc(size_t); void *je_calloc(size_t, size_t); void *je_realloc(void *, size_t); void je_free(void *);
void *je_mallocx(size_t, int); void *je_rallocx(void *, size_t, int); void je_dallocx(void *, int); void je_sdallocx(void *, size_t, int);
static void *volatile kept[16];
__attribute__((noinline)) void site_prefixed(void)
{
    void *volatile a = je_malloc(100); je_free(a);
    a = je_calloc(2, 100); a = je_realloc(a, 300); je_free(a);
    a = je_mallocx(400, 0); a = je_rallocx(a, 500, 0); je_sdallocx(a, 500, 0);
    a = je_mallocx(600, 6); je_dallocx(a, 0);
    kept[0] = je_malloc(77);
}
__attribute__((noinline)) void site_of_libc(void) { kept[1] = malloc(55); free(strdup("x")); }
int main(void)
{
    char line[64];
    site_prefixed();
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "end", 3)) return 0;
        site_prefixed(); site_of_libc();
        puts("go 1"); fflush(stdout);
    }
}
"""


@TESTS.test
def of_prefixed(folder):
    """jemalloc beside libc's malloc, under names with a prefix, as Rust's: both are recorded, and the functions with flags"""
    archive = LIBRARIES / "libjemalloc.a"
    if not archive.exists():
        raise hw.Skip("there is no libjemalloc.a")
    names = ("malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc", "mallocx", "rallocx", "xallocx",
             "sallocx", "dallocx", "sdallocx", "nallocx", "mallctl", "malloc_usable_size", "malloc_stats_print")
    (folder / "names").write_text("".join(f"{name} je_{name}\n" for name in names))
    subprocess.run(["objcopy", "--redefine-syms", folder / "names", archive, folder / "libprefixed.a"], check=True)
    (folder / "prefixed.c").write_text(PREFIXED)
    program = build(folder, "prefixed", folder / "libprefixed.a", "-lstdc++", "-lpthread", "-lm", "-ldl", source=folder / "prefixed.c")
    with running(folder, program=program) as target:
        said = hw.heapwise("attach", "--dry-run", str(target.pid))
        hw.need(said.status == 0 and "je_malloc" in said.text and "je_sdallocx" in said.text, f"{said}")
        slots = program_slots(target, program)
        with attached(target, folder / "x.hpw"):
            hw.need(program_slots(target, program) != slots, "libc's malloc is not recorded")
            target.ask("go")
            hw.need(target.told("go") == 1, "it was harmed")
            detach(target)
        hw.need(program_slots(target, program) == slots, "the references are not what they were")
        target.ask("end")
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    for figure, site, truth in (("allocations", "site_prefixed", 7), ("live_bytes", "site_prefixed", 77), ("allocations", "site_of_libc", 1),
                                ("live_bytes", "site_of_libc", 55)):
        hw.need(of_site(report, figure, site) == truth, f"{figure} of {site}: not {truth}: {report['sites']}")


CXX = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>
static void *volatile kept[64];
struct alignas(64) wide { char bytes[128]; };
__attribute__((noinline)) void site_operators()
{
    int *volatile one = new int(1); delete one;
    char *volatile many = new char[100]; delete[] many;
    wide *volatile aligned = new wide; delete aligned;
    one = new (std::nothrow) int(2); delete one;
    kept[0] = new char[77];
}
__attribute__((noinline)) bool site_failing()
{
    volatile size_t size = ~(size_t)0 >> 2;
    try { kept[1] = new char[size]; } catch (const std::bad_alloc &) { return true; }
    return false;
}
int main()
{
    char line[64];
    std::printf("ready %d\\n", (int)getpid()); std::fflush(stdout);
    while (std::fgets(line, sizeof line, stdin)) {
        if (!std::strncmp(line, "end", 3)) return 0;
        site_operators();
        std::puts(site_failing() ? "go 1" : "go 0"); std::fflush(stdout);
    }
}
"""


@TESTS.test
def of_cxx(folder):
    """Operators new and delete of C++, of libstdc++ and of an allocator; one that throws"""
    (folder / "cxx.cpp").write_text(CXX)
    programs = [("static", ("-static",))]
    if (LIBRARIES / "libtcmalloc_minimal.a").exists():
        programs.append(("tcmalloc", ("-Wl,-Bstatic", "-ltcmalloc_minimal", "-Wl,-Bdynamic", "-lpthread")))
        programs.append(("static-tcmalloc", ("-static", "-Wl,--whole-archive", "-ltcmalloc_minimal", "-Wl,--no-whole-archive", "-lpthread")))
    for name, flags in programs:
        try:
            program = build(folder, name, "-std=c++17", *flags, compiler="c++", source=folder / "cxx.cpp")
        except subprocess.CalledProcessError:
            hw.need(name == "static-tcmalloc", f"{name} can't be linked")
            continue
        with running(folder, program=program) as target:
            with attached(target, folder / "x.hpw"):
                target.ask("go")
                hw.need(target.told("go") == 1, f"{name}: no bad_alloc came")
                detach(target)
            target.ask("go")
            hw.need(target.told("go") == 1, f"{name}: no bad_alloc came afterwards")
            target.ask("end")
        report = hw.report(folder / "x.hpw", "--view", "sites")
        need_sound(report["recording"])
        rows = [row for row in report["sites"] if any("site_operators" in (frame.get("function") or "") for frame in row["stack"])]
        hw.need(sum(row["allocations"] for row in rows) == 5 and sum(row["live_bytes"] for row in rows) == 77, f"{name}: {[(r['kind'], r['allocations'], r['live_bytes'], [f.get('function') for f in r['stack']][:4]) for r in report['sites']]}")


@TESTS.test
def killed(folder):
    """The command and its collector are killed: detach changes the functions back"""
    program = build(folder, "static", "-static")
    with running(folder, program=program) as target:
        before = heads(target, program)
        with attached(target, folder / "x.hpw", "--before", "none") as command:
            collector = collector_of(folder)
            command.kill()
            os.kill(collector, signal.SIGKILL)
            command.wait()
        need_changed(before, heads(target, program))
        target.tell("new", 60)
        detach(target)
        hw.need(heads(target, program) == before, "the functions are not what they were")
        target.tell("turns", 1000)
        target.ask("end", 0)


@TESTS.test
def refused(folder):
    """Without symbols; a function that something else has changed: it says so, and harms nothing"""
    program = build(folder, "stripped", "-static", "-s")
    with running(folder, program=program) as target:
        for more in ((), ("--dry-run",)):
            result = hw.heapwise("attach", "--route=inject", str(target.pid), *more, "-o", folder / "x.hpw")
            hw.need(result.status == 3 and "stripped" in result.errors and "heapwise heap" in result.errors, f"{result}")
        hw.need(target.tell("turns", 10) == 10, "it was harmed")
        target.ask("end", 0)
    program = build(folder, "probed", "-static")
    with running(folder, program=program) as target:
        address = functions_of(program, ("free",))["free"]
        with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            first = memory.read(1)
            memory.seek(address)
            memory.write(b"\xcc")
            result = hw.heapwise("attach", "--route=inject", str(target.pid), "-o", folder / "x.hpw")
            memory.seek(address)
            memory.write(first)
        hw.need(result.status == 3 and "free" in result.errors and "breakpoint" in result.errors, f"{result}")
        target.tell("turns", 10)
        target.ask("end", 0)
    hw.need(not (folder / "x.hpw").exists(), "there is a recording")


@TESTS.test
def of_children(folder):
    """A child that a static program forks meanwhile is not harmed, has its functions put back by `detach`, and can be
    attached itself"""
    program = build(folder, "static", "-static")
    with running(folder, program=program) as target, attached(target, folder / "x.hpw"):
        child = int(target.tell("left"))
        need_going_on(child)
        hw.need(hw.heapwise("detach", str(child)).status == 0, "its functions were not put back")
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


STORM = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static volatile unsigned long handled, done[2];
static void handle(int number) { (void)number; handled++; }
static void *hammer(void *own)
{
    for (volatile unsigned long *count = own;; ++*count) {
        char *volatile block = malloc(50 + *count % 100);
        block = realloc(block, 300);
        free(block);
        block = calloc(3, 50);
        free(block);
    }
}
int main(void)
{
    char line[64];
    pthread_t thread;
    struct itimerval often = {{0, 50}, {0, 50}};
    signal(SIGALRM, handle);
    for (int i = 0; i < 2; i++) pthread_create(&thread, NULL, hammer, (void *)&done[i]);
    setitimer(ITIMER_REAL, &often, NULL);
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    for (;;) {
        if (!fgets(line, sizeof line, stdin)) { clearerr(stdin); continue; }
        if (!strncmp(line, "end", 3)) _exit(0);
        printf("did %lu\\n", done[0] + done[1] + (handled > 0)); fflush(stdout);
    }
}
"""


@TESTS.test
def under_signals(folder):
    """Signals all the time, at any instruction of a static program's allocator: attached and let go again and again"""
    (folder / "storm.c").write_text(STORM)
    program = build(folder, "storm", "-static", "-pthread", source=folder / "storm.c")
    with running(folder, program=program) as target:
        before = heads(target, program)
        for cycle in range(CYCLES):
            with attached(target, folder / "x.hpw", "--before", "none"):
                target.ask("did")
                first = target.told("did")
                hw.wait_until(lambda: target.tell("did") > first + 50, "it goes on")
                detach(target)
            hw.need(heads(target, program) == before, f"cycle {cycle}: the functions are not what they were")
            report = hw.report(folder / "x.hpw")
            need_sound(report["recording"])
        target.ask("end")


@TESTS.test
def changed_meanwhile(folder):
    """A function that something else has changed while the process was attached stays as it is, which is said"""
    program = build(folder, "static", "-static")
    with running(folder, program=program) as target:
        before = heads(target, program)
        address = functions_of(program, ("valloc",))["valloc"]  # nobody calls it
        with attached(target, folder / "x.hpw") as command:
            with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
                memory.seek(address)
                memory.write(b"\xcc")
            detach(target)
            said = command.stderr.read()
            hw.need("1 of the functions" in said and "stay as they are" in said, said)
        hw.need(heads(target, program) == before, "the other functions are not what they were")
        hw.need(heads(target, program, ("malloc", "free", "valloc"))["valloc"][:1] == b"\xcc", "it was overwritten")
        target.tell("turns", 100)
        target.ask("end", 0)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        CYCLES = int(sys.argv.pop(1))
    TESTS.main()
