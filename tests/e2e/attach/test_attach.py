#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise attach` and `detach`: a process that runs already is recorded exactly, from then until it is let go, and is
as it was afterwards.

    test_attach.py [CYCLES]     attach to a program at full speed so often (default: 4)
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from attaching import (GONE, IMAGE, RINGS, TARGET, attached, detach, maps, need_going_on, need_let_go, need_near, need_sound, kept_sizes, program_slots,
                       running)
from processes import state, status_line
from told import is_readable, of_site

TESTS = hw.Tests()
CYCLES = 4


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
def title(folder):
    """A title that the program shows in place of its arguments is its command; arguments of no characters are kept"""
    for told, wanted in ((["title"], ["at: work"]), ([], [str(TARGET), "a b", "", ""])):
        with running(folder, "a b", "", "") as target:
            for word in told:
                target.tell(word)
            with attached(target, folder / "x.hpw"):
                detach(target)
            target.ask("end", 0)
        command = hw.report(folder / "x.hpw")["target"]["command"]
        hw.need(command == wanted, f"{command}")


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
        target.tell("pause", 50000)  # some rounds of each thread
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
def of_libc(folder):
    """What libc allocates itself by references of its own that were not bound yet (getline's realloc): each call counts, also
    after such references were put back"""
    (folder / "lines.c").write_text("""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static __attribute__((noinline)) void lines(void) {
    char *line = NULL, text[4002];
    size_t room = 0;
    for (int i = 0; i < 4000; i++) text[i] = 'x';
    text[4000] = '\\n';
    FILE *file = fmemopen(text, 4001, "r");
    if (getline(&line, &room, file) != 4001) abort();
    free(line);
    fclose(file);
}
int main(void) {
    char line[64];
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    while (fgets(line, sizeof line, stdin)) { lines(); printf("lines 1\\n"); fflush(stdout); }
}
""")
    subprocess.run(["cc", "-O1", "-g", "-o", folder / "lines", folder / "lines.c"], check=True)
    with running(folder, program=folder / "lines") as target:
        for _ in range(2):
            with attached(target, folder / "x.hpw", "--before", "none"):
                for _ in range(50):
                    target.tell("lines")
                detach(target)
            need_let_go(target)
            report = hw.report(folder / "x.hpw")
            need_sound(report["recording"])
            hw.need("stopped_frees" not in report["recording"], f"frees of unknown blocks: {report['recording']}")
            hw.need(report["totals"]["live_blocks_at_end"] == 0 and report["totals"]["allocations"] % 50 == 0, f"{report['totals']}")
            kinds = [site["kind"] for site in hw.report(folder / "x.hpw", "--view", "sites")["sites"]]
            hw.need("realloc" in kinds, f"no call of realloc was seen: {kinds}")
            target.tell("lines")


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
    with running(folder) as target, attached(target, folder / "x.hpw", "--before", "none") as command:
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
    count = max(300, 60 * CYCLES)
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


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        CYCLES = int(sys.argv.pop(1))
    TESTS.main()
