#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise attach --route`: which way a process is recorded, by choice or since another is refused."""

import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import hw
from attaching import attached, detach
from test_watch import LOOP, WATCHED, WATCHED_STATIC, answer, end, expectations, running, skip_if_refused, start, tell
from test_watch_record import finish, need_truth, recording

TESTS = hw.Tests()


def need_probes():
    with running(WATCHED) as target:
        said = hw.heapwise("attach", str(target.pid), "--route=ebpf", "--dry-run")
        skip_if_refused(said.errors)
        hw.need(said.status == 0 and "ebpf: probes in the kernel" in said.text, f"{said}")


@TESTS.test
def chosen(folder):
    """--route=ebpf records exactly by probes, although the process could be attached"""
    need_probes()
    file = folder / "x.hpw"
    with running(WATCHED) as target, recording(target.pid, file, "--route=ebpf", command="attach") as command:
        mapped = Path(f"/proc/{target.pid}/maps").read_text()
        hw.need("heapwise" not in mapped, f"something was mapped: {mapped}")
        tell(target)
        expected = expectations(answer(target, "done"))
        finish(command)
    need_truth(file, expected)
    about = hw.report(file)["recording"]
    hw.need(about["watched"] and about["mode"] == "exact", f"{about}")


@TESTS.test
def sampled(folder):
    """--mode sample:BYTES and aggregate are modes of this route, too"""
    need_probes()
    for mode, name in (("sample:16K", "sample"), ("aggregate", "aggregate")):
        file = folder / f"{name}.hpw"
        with running(LOOP, "3") as target, recording(target.pid, file, "--route=ebpf", "--mode", mode, command="attach") as command:
            tell(target)
            answer(target, "done")
            finish(command)
        report = hw.report(file)
        hw.need(report["recording"]["mode"] == name, f"{report['recording']}")
        hw.need(abs(report["totals"]["allocations"] / 80000 - 1) < 0.2, f"{name}: {report['totals']}")


@TESTS.test
def auto(folder):
    """A static program can't be attached: it is recorded by probes, and the reason is said"""
    need_probes()
    file = folder / "static.hpw"
    with running(WATCHED_STATIC) as target:
        refused = hw.heapwise("attach", str(target.pid), "--route=inject", "--dry-run")
        if refused.status == 0:
            raise hw.Skip("static programs can be attached by now")
        said = hw.ask("attach", str(target.pid), "--dry-run")
        hw.need("route          ebpf" in said and "not inject     " in said, said)
        command = start([hw.HEAPWISE, "attach", str(target.pid), "-o", file], stderr=subprocess.PIPE)
        try:
            why = command.stderr.readline()
            hw.need("route ebpf, since" in why and "statically linked" in why, why)
            hw.need("from now on" in command.stderr.readline(), why)
            tell(target)
            expected = expectations(answer(target, "done"))
            finish(command)
        finally:
            end(command)
    need_truth(file, expected)


@TESTS.test
def traced(folder):
    """Of a process that is traced by another one ptrace is refused: probes do without"""
    need_probes()
    hw.need_program("strace")
    with running(WATCHED) as target:
        tracer = subprocess.Popen(["strace", "-qq", "-e", "trace=none", "-o", "/dev/null", "-p", str(target.pid)], stderr=subprocess.DEVNULL)
        try:
            hw.wait_until(lambda: f"TracerPid:\t{tracer.pid}" in Path(f"/proc/{target.pid}/status").read_text(), "it is traced")
            ended = hw.heapwise("attach", str(target.pid), "-o", folder / "x.hpw", "--for", "100ms")
            hw.need(ended.status == 0 and "route ebpf, since" in ended.errors and "tracing it" in ended.errors, f"{ended}")
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()


CONFINED = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
/* As a filter that forbids what attaching takes, and nothing that the program does. */
static struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static __attribute__((noinline)) void site_confined(void) { void *volatile block = malloc(12345); (void)block; }
static void say(const char *words) { if (write(1, words, strlen(words)) < 0) _exit(1); }
int main(int argc, char **argv) {
    char line;
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    void *volatile room = malloc(40000);  /* brk is forbidden later */
    free(room);
    say("ready\\n");
    if (argc > 1 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
                 : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) abort();
    say("confined\\n");
    while (read(0, &line, 1) > 0) if (line == '\\n') { site_confined(); say("done\\n"); }
    syscall(SYS_exit, 0);
}
"""


@TESTS.test
def confined(folder):
    """A process under seccomp, by filters or strictly, is recorded by probes, and unharmed"""
    need_probes()
    source, program = folder / "confined.c", folder / "confined"
    source.write_text(CONFINED)
    subprocess.run(["cc", "-O1", "-g", "-w", "-o", program, source], check=True)
    for words in ((), ("strictly",)):
        with running(program, *words) as target:
            answer(target, "confined")
            file = folder / f"{len(words)}.hpw"
            command = start([hw.HEAPWISE, "attach", str(target.pid), "-o", file, "--pause", "10s"], stderr=subprocess.PIPE)
            try:
                why = command.stderr.readline()
                hw.need("route ebpf, since" in why and "seccomp" in why, why + (command.stderr.read() if "route" not in why else ""))
                hw.need("from now on" in command.stderr.readline(), why)
                tell(target)
                answer(target, "done")
                finish(command)
            finally:
                end(command)
            tell(target)
            answer(target, "done")
        need_truth(file, {"site_confined": (12345, 1)})


@TESTS.test
def inject(folder):
    """Where it is possible attaching is the route, which --dry-run says"""
    with running(WATCHED) as target:
        for more in ((), ("--route=auto",), ("--route=inject",)):
            said = hw.ask("attach", str(target.pid), "--dry-run", *more)
            hw.need("route          inject" in said, said)


@TESTS.test
def refused(folder):
    """One that is recorded already, and one that is not there, are refused by each route"""
    for route in ("auto", "inject", "ebpf"):
        ended = hw.heapwise("attach", "--route", route, "99999999")
        skip_if_refused(ended.errors)
        hw.need(ended.status == 3 and "no such process" in ended.errors, f"{route}: {ended}")
    recorded = start([hw.HEAPWISE, "run", "-q", "-o", folder / "run.hpw", WATCHED])
    try:
        pid = answer(recorded, "ready")[-1].split()[1]
        ended = hw.heapwise("attach", pid)
        hw.need(ended.status == 4 and "is recorded already" in ended.errors, f"{ended}")
    finally:
        end(recorded)


@TESTS.test
def changed(folder):
    """No probe is put on a function whose first bytes were changed, which would end the process; when it is let go it can be"""
    need_probes()
    probing = (("attach", "--route=ebpf"), ("attach", "--route=ebpf", "--dry-run"), ("watch", "--all"))
    with running(WATCHED_STATIC) as target:
        with attached(target, folder / "x.hpw", "--before", "none"):
            for command, *options in probing:
                dry = "--dry-run" in options
                ended = hw.heapwise(command, *options, str(target.pid), *(() if dry else ("-f", "-o", folder / "y.hpw", "--for", "1ms")))
                hw.need(ended.status == 3 and "is not that of" in ended.errors and f"heapwise detach {target.pid}" in ended.errors, f"{ended}")
            tell(target)
            answer(target, "done")
            detach(target)
        with recording(target.pid, folder / "y.hpw", "--route=ebpf", command="attach") as command:
            finish(command)
        hw.need(target.poll() is None, "it was harmed")


@TESTS.test
def procfs(_):
    """--route=procfs shows mappings, and records nothing"""
    with running(WATCHED) as target:
        ended = hw.heapwise("attach", str(target.pid), "--route=procfs", "--for", "1s")
        hw.need(ended.status == 0 and "route procfs" in ended.errors and "heap" in ended.text, f"{ended}")


@TESTS.test
def growth(_):
    """--route=growth shows which stacks touch new memory, and ends with --for"""
    with running(WATCHED) as target:
        ended = hw.heapwise("attach", str(target.pid), "--route=growth", "--for", "1s")
        skip_if_refused(ended.errors)
        hw.need(ended.status == 0 and "route growth: heapwise watch" in ended.errors and ended.text, f"{ended}")
        hw.need(target.poll() is None, "the process has ended")


@TESTS.test
def wrong_uses(folder):
    """Words that no route has, and options that one has not"""
    for words, reason in ((("1", "--route=x"), "expected auto, inject, ebpf, go, growth or procfs"), (("1", "--route=ebpf", "--before=snapshot"), "do not look into"),
                          (("1", "--route=ebpf", "--seed", "3"), "--seed"), (("1", "--route=procfs", "-o", folder / "x"), "no recording"),
                          (("1", "--route=growth", "--dry-run"), "no recording")):
        ended = hw.heapwise("attach", *words)
        hw.need(ended.status == 2 and reason in ended.errors, f"{words}: {ended}")


if __name__ == "__main__":
    TESTS.main()
