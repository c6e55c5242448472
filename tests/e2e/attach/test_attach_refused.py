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


def kept_words(target, program, first=None):
    """The two words of the table of the keeper; `first`: what the first is to be."""
    start = min(int(line.split("-")[0], 16) for line in maps(target).splitlines() if line.endswith(str(program)))
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    at = start + int(re.search(r"^([0-9a-f]+) . table$", symbols, re.M)[1], 16)
    with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
        if first:
            memory.seek(at)
            memory.write(first)
        memory.seek(at)
        return [memory.read(8), memory.read(8)]


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
    # Changed, too, if that is asked for; put back, but for what the program has changed itself.
    with running(folder, program=folder / "keeper") as target:
        kept = kept_words(target, folder / "keeper")
        said = hw.ask("attach", str(target.pid), "--dry-run", "--patch-pointers")
        hw.need("of these 2 kept addresses" in said and "not recorded" not in said, said)
        for change in (False, True):
            with attached(target, folder / "p.hpw", "--before", "none", "--patch-pointers"):
                hw.need(all(now != then for now, then in zip(kept_words(target, folder / "keeper"), kept)), "nothing was changed")
                target.tell("ok")
                if change:
                    kept_words(target, folder / "keeper", b"\0" * 8)
                detach(target)
            report = hw.report(folder / "p.hpw", "--view", "sites")
            need_sound(report["recording"])
            hw.need(of_site(report, "allocations", "main") == 2 and of_site(report, "live_blocks", "main") == 0, f"{report['sites']}")
            if change:
                hw.need(kept_words(target, folder / "keeper")[0] == b"\0" * 8, "what the program has changed was overwritten")
            else:
                hw.need(kept_words(target, folder / "keeper") == kept, "they were not put back")
                target.tell("ok")
    hw.need_program("prlimit")
    with running(folder, before=("prlimit", "--as=300000000:")) as target:
        result = hw.heapwise("attach", "--route=inject", str(target.pid), "-o", folder / "y.hpw")
        hw.need(result.status == 4 and "ulimit -v" in result.errors and f"prlimit --pid {target.pid} --as=" in result.errors, f"{result}")
        raised = re.search(r"prlimit --pid \d+ --as=\d+:", result.errors)[0]
        subprocess.run(raised.split(), check=True)
        with attached(target, folder / "y.hpw"):
            target.tell("new", 71)
            detach(target)


APART = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *(*of_own)(size_t), *(*apart)(size_t);
static void load(char **paths) {
    void *own = dlopen(paths[0], RTLD_NOW | RTLD_DEEPBIND), *space = dlmopen(LM_ID_NEWLM, paths[1], RTLD_NOW);
    if (!own || !space) abort();
    of_own = (void *(*)(size_t))dlsym(own, "of_own");
    apart = (void *(*)(size_t))dlsym(space, "allocate");
}
int main(int argc, char **argv) {
    char line[64];
    (void)argc;
    if (*argv[1] == 'b') load(argv + 2);
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (!of_own) load(argv + 2);
        free(malloc(30));
        of_own(40); apart(1234);
        puts("ok 1"); fflush(stdout);
    }
}
"""
OWN = """
#include <stdlib.h>
static char memory[1 << 16]; static size_t used;
void *malloc(size_t n) { void *p = memory + used; used += (n + 31) & ~15ul; return p; }
void free(void *p) { (void)p; }
void *of_own(size_t n) { void *volatile p = malloc(n); free(p); return p; }
"""


@TESTS.test
def apart(folder):
    """Libraries that are bound to an allocator of their own (RTLD_DEEPBIND) or are in a namespace of their own (dlmopen) stay
    as they are: what they call is not recorded, which --dry-run, the command and the report say"""
    (folder / "apart.c").write_text(APART)
    (folder / "own.c").write_text(OWN)
    subprocess.run(["cc", "-O1", "-g", "-fno-builtin", "-o", folder / "apart", folder / "apart.c"], check=True)
    subprocess.run(["cc", "-O1", "-g", "-fno-builtin", "-shared", "-fPIC", "-o", folder / "own.so", folder / "own.c"], check=True)
    for when in ("before", "later"):
        with running(folder, when, folder / "own.so", hw.TARGETS / "attached_library.so", program=folder / "apart") as target:
            said = hw.ask("attach", str(target.pid), "--dry-run")
            hw.need(bool(re.search(r"not recorded +2 references lead .*RTLD_DEEPBIND.*2 libraries are in namespaces", said)) ==
                    (when == "before"), said)
            with attached(target, folder / "x.hpw", "--before", "none") as command:
                if when == "before":
                    said = command.stderr.readline()
                    hw.need("2 references lead to other functions" in said and "(dlmopen): what they call is not recorded" in said, said)
                for _ in range(5):
                    target.ask("go")
                    hw.need(target.told("ok") == 1, "it was harmed")
                detach(target)
            target.ask("go")
            hw.need(target.told("ok") == 1, "it was harmed")
        report = hw.report(folder / "x.hpw", "--view", "sites")
        need_sound(report["recording"])
        hw.need(of_site(report, "allocations", "main") == 5, f"{report['sites']}")
        hw.need(of_site(report, "allocations", "of_own") == 0 and of_site(report, "allocations", "allocate") == 0, f"{report['sites']}")
        notes = " ".join(hw.report(folder / "x.hpw")["notes"])
        hw.need("bypass the recorder (RTLD_DEEPBIND, dlmopen): what they allocate and free is not recorded" in notes, f"{when}: {notes}")


@TESTS.test
def many_keepers(folder):
    """Of more objects with kept addresses than are named four are, and that there are more"""
    (folder / "keeper.c").write_text("#include <stdlib.h>\nvoid *(*volatile kept)(size_t);\nvoid KEEP(void) { kept = malloc; }\n")
    calls, libraries = "", []
    for number in range(6):
        name = f"libkeeper{number}.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"-DKEEP=keep{number}", "-Wl,-Bsymbolic", "-o", folder / name, folder / "keeper.c"],
                       check=True)
        calls += f"void keep{number}(void); "
        libraries.append(folder / name)
    (folder / "keepers.c").write_text(f"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
{calls}
int main(void) {{
    char line[64];
    {" ".join(f"keep{number}();" for number in range(6))}
    printf("ready %d\\n", (int)getpid()); fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {{ free(malloc(30)); puts("ok 1"); fflush(stdout); }}
}}
""")
    subprocess.run(["cc", "-O1", "-fno-builtin", "-o", folder / "keepers", folder / "keepers.c", *libraries, f"-Wl,-rpath,{folder}"], check=True)
    with running(folder, program=folder / "keepers") as target:
        said = hw.ask("attach", str(target.pid), "--dry-run")
        hw.need(re.search(r"not recorded +6 words hold .*\(1 of libkeeper\d.so(, 1 of libkeeper\d.so){3}, and more\)", said), said)


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
