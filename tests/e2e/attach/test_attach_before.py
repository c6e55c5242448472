#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a process had allocated before `heapwise attach`: it is in the recording by type, its frees are known, and live
figures are those of the process. And what is said of calls that are not seen."""

import contextlib
import json
import os
import re
import signal
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from attaching import attached, detach, running
from told import of_site

TESTS = hw.Tests()
ALLOCATORS = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2.0")


def children(pid):
    """Zombies too."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            found += [stat.parent.name] if int(fields[1]) == pid else []
    return found


def fill(target):
    for _ in range(400):
        target.tell("old", 100)
    for _ in range(20):
        target.tell("old", 5000)


def older(report, size):
    """Live blocks of sites from before, of so many bytes and what allocators add to that."""
    return sum(site["live_blocks"] for site in report["sites"]
               if site["kind"] == "unknown" and site["live_blocks"] and size <= site["live_bytes"] / site["live_blocks"] <= size * 1.28)


def need_exact(folder):
    """The target has been filled and recorded, has freed 120, grown 10 and allocated 7."""
    report = hw.report(folder / "x.hpw", "--view", "sites")
    recording = report["recording"]
    for figure in ("lost_events", "repairs", "unknown_frees", "mismatched_frees"):
        hw.need(recording[figure] == 0, f"{figure}: {recording}")
    hw.need("stopped_frees" not in recording, f"a free of a block that is not known: {recording}")
    hw.need(420 <= recording["older_blocks"] <= 440, f"{recording}")
    totals = hw.report(folder / "x.hpw")["totals"]
    hw.need(totals["allocations"] == 7 + 10 and totals["frees"] == 120 + 10, f"{totals}")
    hw.need(totals["live_blocks_at_end"] == recording["older_blocks"] + 17 - 130, f"{totals}")
    hw.need(totals["peak_blocks"] >= recording["older_blocks"] and totals["peak_bytes"] >= recording["older_bytes"], f"{totals}")
    hw.need(totals["threads"] == 1, f"{totals}")
    early = hw.report(folder / "x.hpw", "--to", "1ns")["totals"]
    hw.need(early["live_blocks_at_end"] == recording["older_blocks"] and early["allocations"] == 0, f"{early}")
    # The last 120 are the 20 of 5000 and 100 of the others; the first ten have grown.
    hw.need(older(report, 100) == 400 - 100 - 10, f"{report['sites']}")
    hw.need(older(report, 5000) == 0, f"{report['sites']}")
    hw.need(of_site(report, "live_bytes", "do_word") == 10 * 999, f"{report['sites']}")
    notes = " ".join(report["notes"])
    hw.need("were there, which are counted as live from the beginning" in notes, notes)


def exercise(folder, preload=None):
    with running(folder, preload=preload) as target:
        fill(target)
        with attached(target, folder / "x.hpw"):
            for _ in range(7):
                target.tell("new", 60)
            target.tell("free-old", 120)
            target.tell("grow-old", 10)
            detach(target)
        hw.need(not children(target.pid), f"it has children: {children(target.pid)}")
        target.ask("end", 0)
    need_exact(folder)


@TESTS.test
def of_glibc(folder):
    """Blocks from before are live by type, frees and reallocs of them are known, and no copy of the process is left"""
    exercise(folder)


@TESTS.test
def of_other_allocators(folder):
    """The same of jemalloc, tcmalloc and mimalloc"""
    for allocator in ALLOCATORS:
        exercise(folder, allocator)


@TESTS.test
def aggregated(folder):
    """Sums and dumps have them, too; without --before they are not known, and that is said"""
    with running(folder) as target:
        fill(target)
        with attached(target, folder / "x.hpw", "--mode", "aggregate"):
            target.tell("free-old", 20)
            hw.ask("ctl", str(target.pid), "reset")
            target.tell("new", 60)
            hw.ask("dump", str(target.pid), "-o", folder / "dump.hpw")
            target.tell("free-new", 1)
            detach(target)
        dump = hw.report(folder / "dump.hpw")
        live = dump["recording"]["older_blocks"] - 20 + 1
        hw.need(dump["totals"]["live_blocks_at_end"] == live and dump["totals"]["allocations"] == 1, f"{dump['totals']}")
        hw.need(dump["totals"]["threads"] == 1, f"{dump['totals']}")
        totals, recording = hw.report(folder / "x.hpw")["totals"], hw.report(folder / "x.hpw")["recording"]
        hw.need(totals["live_blocks_at_end"] == recording["older_blocks"] - 20 and totals["frees"] == 21, f"{totals}")
        with attached(target, folder / "y.hpw", "--before", "none"):
            target.tell("free-old", 20)
            detach(target)
        report = hw.report(folder / "y.hpw")
        hw.need(report["totals"]["live_blocks_at_end"] == 0 and "older_blocks" not in report["recording"], f"{report}")
        hw.need("(--before=none), nor are 20 frees of such blocks" in " ".join(report["notes"]), f"{report['notes']}")
        target.ask("end", 0)


@TESTS.test
def without_names(folder):
    """In a bundle without names they are no calls either"""
    with running(folder) as target:
        fill(target)
        with attached(target, folder / "x.hpw"):
            target.tell("new", 60)
            detach(target)
        target.ask("end", 0)
    hw.ask("bundle", "--anonymize", "-o", folder / "b.tar.zst", folder / "x.hpw")
    bundled, own = hw.report(folder / "b.tar.zst"), hw.report(folder / "x.hpw")
    hw.need(bundled["totals"] == own["totals"] and own["totals"]["allocations"] == 1, f"{bundled['totals']} {own['totals']}")
    hw.need(bundled["recording"]["older_blocks"] == own["recording"]["older_blocks"], f"{bundled['recording']}")
    text = hw.ask("report", folder / "b.tar.zst")
    hw.need("104 bytes" not in text and "before the attach" not in text, text)


@TESTS.test
def hot(folder):
    """Threads that do nothing else: what is live in the end is right but for those that were inside the allocator"""
    with running(folder) as target:
        fill(target)
        for mode in ("exact", "aggregate"):
            target.tell("hammer", 4)
            with attached(target, folder / "x.hpw", "--mode", mode):
                # At full speed at both ends. Between them, too, it would be tens of millions of blocks.
                target.tell("pause", 1000)
                hw.ask("leaks", str(target.pid))  # which waits for the list
                target.tell("pause", 0)
                target.tell("until", 20000)
                rounds = int(target.tell("rest"))
                hw.need(rounds > 0, "nothing was done")
                hw.ask("ctl", str(target.pid), "status")
                detach(target)
            report = hw.report(folder / "x.hpw", "--view", "sites")
            recording = report["recording"]
            bound = recording.get("older_threads", 0)
            hw.need(bound <= 4 and recording["repairs"] == 0 and recording["lost_events"] == 0, f"{recording}")
            hw.need(recording.get("stopped_frees", 0) <= bound, f"{recording}")
            hw.need(older(report, 5000) == 20, f"{report['sites']}")
            # A block that a thread was giving back looks like one of these.
            hw.need(0 <= older(report, 100) - 400 <= bound, f"{report['sites']}")
            hw.need(of_site(report, "live_blocks", "site_hammered") == 0, f"{report['sites']}")
        target.ask("end", 0)


@TESTS.test
def leaks(folder):
    """`leaks` and `heap` of a process meanwhile: older blocks by type, newer ones with their stacks, lost ones of both"""
    with running(folder) as target:
        fill(target)
        target.tell("lose", 700)
        with attached(target, folder / "x.hpw"):
            target.tell("new", 77)
            target.tell("lose", 900)
            text = hw.ask("leaks", str(target.pid), "--show-leak-kinds=all")
            hw.need("site_new" in text and "before the attach" in text, text)
            found = json.loads(hw.ask("leaks", str(target.pid), "--json"))
            lost = {record["stack"][0]["function"]: record["blocks"] for record in found["leaks"]["records"] if record["kind"] == "definite"}
            # A word that was left behind may hold one of them.
            hw.need(lost.get("site_lost", 0) >= 18, f"{lost}")
            hw.need(sum(blocks for name, blocks in lost.items() if re.match("(7[01][0-9] bytes|text)", name)) >= 18, f"{lost}")
            text = hw.ask("heap", str(target.pid), "leaks")
            hw.need("site_lost" in text and "before the attach" in text, text)
            detach(target)
        target.ask("end", 0)


@TESTS.test
def refused(folder):
    """A process that can't be copied is recorded without what it had before, and that is said"""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        raise hw.Skip("there is no setpriv to start a target with limits")
    # A user of its own: other tests have processes of others, which would count.
    limited = ["setpriv", f"--reuid={2000000000 + os.getpid()}", "--clear-groups"] if os.geteuid() == 0 else []
    with running(folder, before=["prlimit", "--nproc=1", *limited]) as target:
        target.tell("old", 100)
        with attached(target, folder / "x.hpw") as command:
            said = command.stderr.readline()
            hw.need("is not listed: the process could not be copied" in said, said)
            target.tell("new", 60)
            target.tell("free-old", 1)
            detach(target)
        report = hw.report(folder / "x.hpw")
        hw.need(report["totals"]["live_blocks_at_end"] == 1, f"{report['totals']}")
        hw.need("since the process could not be copied" in " ".join(report["notes"]), f"{report['notes']}")
        target.ask("end", 0)


@TESTS.test
def killed(folder):
    """The command or the collector killed while the list is made: the process goes on, and keeps no copy"""
    with running(folder) as target:
        fill(target)
        for victim in ("command", "collector"):
            with attached(target, folder / "x.hpw") as command:
                collectors = [int(child) for child in children(command.pid)]
                hw.need(collectors, "there is no collector")
                # The guard is a child, too: the collector has the recording open.
                writer = [c for c in collectors if any(os.path.realpath(fd) == str(folder / "x.hpw")
                                                       for fd in Path(f"/proc/{c}/fd").iterdir())]
                os.kill(command.pid if victim == "command" else writer[0], signal.SIGKILL)
                hw.wait_until(lambda: not children(target.pid), f"the copy is gone after the {victim} was killed")
                target.tell("new", 60)
                hw.heapwise("detach", str(target.pid))
            target.tell("free-old", 3)
        target.ask("end", 0)


@TESTS.test
def ends_early(folder):
    """A process that ends while its blocks are listed ends in its recording, and has them"""
    with running(folder) as target:
        fill(target)
        for _ in range(60):
            target.tell("old", 1 << 20)
        with attached(target, folder / "x.hpw"):
            target.ask("end", 3)
    report = hw.report(folder / "x.hpw")
    hw.need(report["target"]["exit"] == {"code": 3}, f"{report['target']}")
    hw.need(report["recording"]["older_blocks"] >= 480 and report["totals"]["live_blocks_at_end"] >= 480, f"{report}")
    hw.need(not any("(exec)" in note for note in report["notes"]), f"{report['notes']}")


@TESTS.test
def dry_run(folder):
    """--dry-run says how long the process would stand still for it"""
    with running(folder) as target:
        text = hw.ask("attach", "--dry-run", str(target.pid))
        hw.need(re.search(r"^before +what it has allocated so far is listed from a copy", text, re.M), text)
        text = hw.ask("attach", "--dry-run", "--before=none", str(target.pid))
        hw.need(re.search(r"^before +what it has allocated so far is not listed", text, re.M), text)
        target.ask("end", 0)


@TESTS.test
def python(folder):
    """An interpreter: what it had is known, and what it frees of it"""
    script = "import os, sys\nprint('ready', os.getpid(), flush=True)\nkept = [bytearray(3000) for _ in range(500)]\n" \
             "for line in sys.stdin:\n    del kept[:100]\n    print(line.split()[0], len(kept), flush=True)\n"
    with running(folder, "-c", script, program="python3") as target:
        hw.need(target.tell("before") == 400, "it did not answer")
        with attached(target, folder / "x.hpw"):
            hw.need(target.tell("after") == 300, "it did not answer")
            detach(target)
    report = hw.report(folder / "x.hpw")
    recording, totals = report["recording"], report["totals"]
    hw.need(recording["older_blocks"] >= 400 and recording.get("stopped_frees", 0) == 0, f"{recording}")
    hw.need(totals["frees"] >= 100, f"{totals}")
    hw.need(totals["live_blocks_at_end"] == recording["older_blocks"] + totals["allocations"] - totals["frees"], f"{totals}")


@TESTS.test
def forked(folder):
    """A child of an attached process has memory that fork has wiped, which is no reason to list nothing, or to stop it for `heap`"""
    with running(folder) as target:
        fill(target)
        with attached(target, folder / "x.hpw"):
            child = int(target.tell("left"))
            flags = [line for line in Path(f"/proc/{child}/smaps").read_text().splitlines() if line.startswith("VmFlags:")]
            hw.need(any(" wf" in line for line in flags), "nothing in the child is wiped: what is tested here has changed")
            try:
                for _ in range(2):  # again: what the first attaching has left is no reason either
                    with attached(child, folder / "c.hpw"):
                        detach(child)
                    report = hw.report(folder / "c.hpw", "--view", "sites")
                    hw.need(report["recording"].get("older_blocks", 0) >= 420, f"{report['recording']}")
                    hw.need(older(report, 5000) == 20, f"{report['sites']}")
                looked = hw.heapwise("heap", str(child))
                hw.need(looked.status == 0 and "would not contain" not in looked.errors, f"{looked}")
            finally:
                os.kill(child, signal.SIGKILL)
            detach(target)


@TESTS.test
def unseen_calls(folder):
    """Kept pointers to free and operator new make a right free look mismatched: that is said with it; without errors no more is claimed than was seen"""
    (folder / "keeper.cc").write_text("""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <new>
static struct { void *(*take)(size_t); void (*give)(void *); } table;
int main() {
    char line[64];
    table.take = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
    table.give = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        void *volatile first = malloc(200), *volatile second;
        table.give(first);
        second = *line == 'u' ? table.take(200) : operator new(200);
        bool again = (size_t)first == (size_t)second;
        operator delete(second);
        printf("%.1s %d\\n", line, again); fflush(stdout);
    }
}
""")
    subprocess.run(["c++", "-O1", "-g", "-fno-builtin", "-o", folder / "keeper", folder / "keeper.cc"], check=True)
    for word in ("u", "s"):  # the second block comes from an unseen call, or from one that is seen
        with running(folder, program=folder / "keeper") as target:
            with attached(target, folder / "x.hpw"):
                hw.need(target.tell(word) == 1, "the allocator has given out another address")
                detach(target)
        report = hw.report(folder / "x.hpw")
        hw.need(report["recording"]["mismatched_frees"] == (word == "u"), f"{report['recording']}")
        hw.need(any("may look mismatched" in note for note in report["notes"]), f"{report['notes']}")
        shown = hw.ask("report", "--view", "errors", folder / "x.hpw")
        hw.need("may look mismatched" in shown and "each free was of a live block" not in shown, shown)
        hw.need(("each free that was seen" in shown) == (word == "s"), shown)


@TESTS.test
def reopened(folder):
    """Libraries that are closed and opened again count once each, also those that come to the place of another one"""
    (folder / "plugin.c").write_text("#include <stdlib.h>\nvoid *make(void) { return malloc(77); }\n")
    for name in ("one", "two"):
        subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", "-o", folder / f"{name}.so", folder / "plugin.c"], check=True)
    (folder / "host.c").write_text("""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    char line[64];
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        for (int i = 0; i < 40; i++) {
            void *library = dlopen(i % 2 ? "./one.so" : "./two.so", RTLD_NOW);
            void *(*make)(void) = library ? (void *(*)(void))dlsym(library, "make") : abort;
            free(make());
            dlclose(library);
        }
        puts("again 40"); fflush(stdout);
    }
}
""")
    subprocess.run(["cc", "-w", "-o", folder / "host", folder / "host.c"], check=True)
    with running(folder, program=folder / "host") as target:
        with attached(target, folder / "x.hpw"):
            target.tell("again")
            detach(target)
    notes = hw.report(folder / "x.hpw")["notes"]
    hw.need(any("2 libraries were loaded after that" in note for note in notes), f"{notes}")


if __name__ == "__main__":
    TESTS.main()
