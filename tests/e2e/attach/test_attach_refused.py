#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `heapwise attach` refuses, in a sentence and without harm, what it says of what it does not record, and --dry-run."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from attaching import IMAGE, RINGS, TARGET, attached, detach, maps, need_let_go, need_sound, running
from processes import status_line
from told import of_site

TESTS = hw.Tests()


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
    for name, flags, reason in (("static", ("-static", "-s"), "statically linked"), ("own", ("-DOWN", "-fno-builtin"), "can't be changed"),
                                ("strict", ("-DSTRICT",), "seccomp")):
        subprocess.run(["cc", "-O1", "-w", *flags, "-o", folder / name, folder / "own.c"], check=True)
        with running(folder, program=folder / name) as target:
            if name == "strict":
                hw.wait_until(lambda: "Seccomp:\t1" in Path(f"/proc/{target.pid}/status").read_text(), "it has restricted itself")
            for more in ((), ("--dry-run",)):
                result = hw.heapwise("attach", "--route=inject", str(target.pid), *more, "-o", folder / "x.hpw")
                hw.need(result.status in (3, 4) and reason in result.errors, f"{name}: {result}")
            target.ask("go")
            hw.need(target.told("ok") == 1, f"{name}: it was harmed")
    with running(folder) as target:
        tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(target.pid)], stderr=subprocess.DEVNULL)
        hw.wait_until(lambda: f"TracerPid:\t{tracer.pid}" in Path(f"/proc/{target.pid}/status").read_text(), "it is traced")
        result = hw.heapwise("attach", "--route=inject", str(target.pid), "-o", folder / "x.hpw")
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        hw.need(result.status == 4 and "tracing it" in result.errors, f"{result}")
        target.ask("end", 0)
    with tempfile.TemporaryDirectory() as other:
        recorded = subprocess.Popen([hw.HEAPWISE, "run", "-q", "-o", f"{other}/r.hpw", TARGET], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, env=hw.clean_environment())
        pid = recorded.stdout.readline().split()[1].decode()
        result = hw.heapwise("attach", "--route=inject", pid)
        hw.need(result.status == 4 and "is recorded already" in result.errors, f"{result}")
        result = hw.heapwise("detach", pid)
        hw.need(result.status != 0, f"{result}")
        recorded.communicate(b"end 0\n", timeout=60)
    hw.need(not (folder / "x.hpw").exists(), "there is a recording")
    for arguments, status in ((("99999999",), 3), (("x",), 2), ((), 2), (("1", "2"), 2), (("1", "--for", "soon"), 2),
                              (("1", "--mode", "sample:0"), 2), (("1", "--seed", "x"), 2)):
        result = hw.heapwise("attach", "--route=inject", *arguments)
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
                result = hw.heapwise("attach", "--route=inject", str(target.pid), "-o", folder / "x.hpw")
                hw.need(result.status == 4 and "CAP_SYS_ADMIN" in result.errors, f"{kind}: {result}")
            elif reason:
                result = hw.heapwise("attach", "--route=inject", str(target.pid), "--pause", "10s", "-f", "-o", folder / "x.hpw")
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
        result = hw.heapwise("attach", "--route=inject", str(target.pid), "-o", folder / "y.hpw")
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
            result = hw.heapwise("attach", "--route=inject", str(target.pid), "--dry-run")
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
    TESTS.main()
