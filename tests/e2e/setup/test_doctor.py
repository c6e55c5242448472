#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise doctor`: every reason why something is not recorded, or has no lines, is found and named, with what to do."""

import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
ONE_BLOCK = hw.TARGETS / "one_block"
TALKER = hw.TARGETS / "talker"
SOURCE = "#include <stdlib.h>\nint main(void) { free(malloc(7)); return 0; }\n"
# doctor tries Valgrind, which takes most of its time: here it finds one that has run the program, but where Valgrind is
# what a case is about.
REAL_PATH = os.environ["PATH"]
NO_WORK = tempfile.TemporaryDirectory(prefix="heapwise-path-")
os.chmod(NO_WORK.name, 0o755)
Path(NO_WORK.name, "valgrind").write_text("#!/bin/sh\nexit 0\n")
Path(NO_WORK.name, "valgrind").chmod(0o755)
os.environ["PATH"] = f"{NO_WORK.name}:{REAL_PATH}"


def doctor(*arguments, **more):
    return hw.run([hw.HEAPWISE, "doctor", *arguments], **more)


class Examined:
    def __init__(self, *arguments, **more):
        ended = doctor("--json", *arguments, **more)
        hw.need(ended.status in (0, 1), f"{arguments}: {ended}")
        self.document = json.loads(ended.text)
        self.status, self.arguments = ended.status, arguments
        hw.need(self.document["schema"] == "heapwise.doctor/1", f"{self.document['schema']}")
        for level in ("problem", "note"):
            count = sum(f["level"] == level for f in self.document["findings"])
            hw.need(self.document[level + "s"] == count, f"{level}s is {self.document[level + 's']}, not {count}")
        hw.need(ended.status == (self.document["problems"] > 0), f"status {ended.status}: {ended.text}")

    def find(self, name):
        return [f for f in self.document["findings"] if f["id"] == name]

    def need(self, level, name, *words):
        """There is such a finding, with these words in it; a problem says what to do."""
        found = [f for f in self.find(name) if f["level"] == level
                 and all(word in f"{f['what']} {f['fix']}" for word in words)]
        hw.need(found, f"{self.arguments}: no {level} {name} {words}: {self.document['findings']}")
        if level == "problem":
            hw.need(found[0]["fix"], f"{self.arguments}: nothing to do about {found[0]}")

    def need_none(self, name):
        hw.need(not self.find(name), f"{self.arguments}: {self.find(name)}")


def compiled(folder, name, *options, compiler="gcc"):
    hw.need_program(compiler)
    source = folder / f"{name}.c"
    source.write_text(SOURCE)
    made = hw.run([compiler, *options, source, "-o", folder / name])
    if made.status:
        raise hw.Skip(f"{compiler} {' '.join(options)} does not work here")
    return folder / name


def copied(source, path):
    """By another process: a program that a process of ours still has open for writing can't be executed, and other
    tests fork all the time."""
    hw.need(hw.run(["cp", source, path]).status == 0, f"no copy of {source}")
    return path


def executable(path, content):
    path.write_bytes(content)
    path.chmod(0o755)
    return path


# ---- recordings


@TESTS.test
def recordings(folder):
    """A recording is whole, and nothing was lost; one that was cut off is not, and says what its figures cover"""
    recording = folder / "x.hpw"
    ended = hw.record([ONE_BLOCK], recording)
    hw.need(ended.status == 0, str(ended))
    found = Examined(recording)
    hw.need(found.document["kind"] == "recording" and found.document["subject"] == str(recording), f"{found.document}")
    hw.need([f["id"] for f in found.document["findings"]] == ["complete", "lost-events", "stacks", "repairs", "waits"],
            f"{found.document}")
    hw.need(found.document["problems"] == 0, f"{found.document}")
    (folder / "cut.hpw").write_bytes(recording.read_bytes()[:-100])
    Examined(folder / "cut.hpw").need("problem", "complete", "incomplete")
    (folder / "begun.hpw").write_bytes(b"HEAPWISE")
    ended = doctor(folder / "begun.hpw")
    hw.need(ended.status == 3 and "begun.hpw" in ended.errors, str(ended))


@TESTS.test
def other_files(folder):
    """Bundles are recordings; of files of other tools it says what is unknown; what is neither is no program either"""
    recording = folder / "x.hpw"
    hw.record([ONE_BLOCK], recording)
    ended = hw.run([hw.HEAPWISE, "bundle", recording, "-o", folder / "x.tar.zst"])
    hw.need(ended.status == 0, str(ended))
    found = Examined(folder / "x.tar.zst")
    hw.need(found.document["kind"] == "recording", f"{found.document}")
    found.need("ok", "complete", "complete")
    (folder / "x.folded").write_text("main;work 5\n")
    found = Examined(folder / "x.folded")
    found.need("note", "foreign", "format: folded")
    hw.need(found.status == 0 and len(found.document["findings"]) == 1, f"{found.document}")
    (folder / "x.txt").write_text("hello\n")
    ended = doctor(folder / "x.txt")
    hw.need(ended.status == 3 and "unrecognised" in ended.errors, str(ended))


# ---- machine


@TESTS.test
def machine(folder):
    """On a machine where programs are recorded it finds no problem, and leaves nothing behind"""
    (folder / "session").mkdir()
    environment = hw.clean_environment(XDG_RUNTIME_DIR=folder / "session")
    found = Examined(env=environment)
    hw.need(found.status == 0 and found.document["kind"] == "machine", f"{found.document}")
    for name in ("runtime", "kernel", "shared-memory", "session-folder"):
        found.need("ok", name)
    hw.need(str(folder / "session") in str(found.find("session-folder")), "another folder was tried")
    hw.need(not list((folder / "session").iterdir()), "something is left")


@TESTS.test
def machine_without_library(folder):
    """A command without its library, or with that of another version, says so, as a problem"""
    hw.need_no_sanitizer("a copy of the command")
    copied(hw.HEAPWISE, folder / "heapwise")
    (folder / "src/runtime").mkdir(parents=True)
    ended = hw.run([folder / "heapwise", "doctor"])
    hw.need(ended.status == 1 and "can't find libheapwise-rt.so" in ended.text, f"{ended} {ended.text}")
    library = (hw.BUILD / "src/runtime/libheapwise-rt.so").read_bytes()
    version = hw.run([hw.HEAPWISE, "version"]).text.split()[1].encode()
    (folder / "src/runtime/libheapwise-rt.so").write_bytes(library.replace(version + b"\0", b"0" * len(version) + b"\0"))
    ended = hw.run([folder / "heapwise", "doctor"])
    hw.need(ended.status == 1 and f"version {'0' * len(version)}" in ended.text, f"{ended} {ended.text}")
    (folder / "src/runtime/libheapwise-rt.so").write_bytes(library)
    hw.need(hw.run([folder / "heapwise", "doctor"]).status == 0, "the right library is not good enough")


@TESTS.test
def machine_limits(folder):
    """Limits that leave no room for the rings are problems, if `run` can't record for them"""
    hw.need_no_sanitizer("little address space")

    def little_space():
        resource.setrlimit(resource.RLIMIT_AS, (70 << 20, resource.RLIM_INFINITY))

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    Examined(preexec_fn=little_space).need("problem", "limit-address-space", "ulimit")
    found = Examined(preexec_fn=small_files)
    ended = hw.run([hw.HEAPWISE, "run", "-o", folder / "x.hpw", "--", ONE_BLOCK], preexec_fn=small_files)
    if ended.status == 125:
        found.need("problem", "limit-file-size", "1024 KiB")
    else:  # whoever may raise hard limits
        found.need_none("limit-file-size")
        found.need("ok", "shared-memory")


CONFINE = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
int main(int argc, char **argv)
{
	struct sock_filter code[] = {LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3), LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 102, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 99;
	execv(argv[1], argv + 1);
	return 98;
}
"""


@TESTS.test
def check_on_machine(folder):
    """What check can do here is tried: each way to guard blocks, limits, and whether Valgrind is there"""
    hw.need_no_sanitizer("little address space")
    found = Examined(env=hw.clean_environment(PATH=REAL_PATH))
    if shutil.which("valgrind", path=REAL_PATH):
        found.need("ok", "check-valgrind")
    backends = found.find("check-backend")
    hw.need(len(backends) == 1 and "mprotect" in backends[0]["what"], f"{found.document}")
    found.need_none("check-library")
    (folder / "confine.c").write_text(CONFINE)
    tool("gcc", folder / "confine.c", "-o", folder / "confine")
    ended = hw.run([folder / "confine", hw.HEAPWISE, "doctor"])
    hw.need("madvise does not work, uffd does not work, mprotect is taken" in ended.text and ended.status == 0,
            f"{ended} {ended.text}")

    def little_space():
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, resource.RLIM_INFINITY))

    Examined(preexec_fn=little_space).need("note", "check-limits", "address space", "ulimit -S -v unlimited")
    (folder / "empty").mkdir()
    without = Examined(env=hw.clean_environment(PATH=folder / "empty"))
    without.need("note", "check-valgrind", "not installed", "apt install valgrind")
    hw.need(without.status == 0, f"{without.document}")


LOCKS = """import ctypes, mmap
memory = mmap.mmap(-1, 256 << 10)
at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
print(ctypes.CDLL(None).mlock(ctypes.c_void_p(at), ctypes.c_size_t(256 << 10)))
"""


@TESTS.test
def check_locked(folder):
    """Whether a program under check may lock more than its limit is said as it is: for this user, and for an ordinary one"""

    def limit():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))

    def limit_nobody():
        limit()
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    for become in (limit, limit_nobody) if os.geteuid() == 0 else (limit,):
        may = hw.run(["/usr/bin/python3", "-c", LOCKS], preexec_fn=become)
        hw.need(may.status == 0, str(may))
        if hw.run([hw.HEAPWISE, "version"], preexec_fn=become).status:
            raise hw.Skip("an ordinary user can't execute this build")
        found = Examined(preexec_fn=become)
        if may.text.strip() == "0":
            found.need("ok", "check-locked")
        else:
            found.need("note", "check-locked", "is refused", "64 KiB", "ulimit -l unlimited")


@TESTS.test
def check_valgrind_fails(folder):
    """A Valgrind that is there and can't run programs is named so: without symbols of the dynamic linker, or by its status"""
    for name, says, words in (
            ("symbols", "echo 'valgrind:  Fatal error at startup: a function redirection' >&2; exit 1", ("debug information", "apt install libc6-dbg")),
            ("status", "exit 3", ("status 3", "valgrind /bin/true")), ("signal", "kill -9 $$", ("signal 9", "valgrind /bin/true"))):
        (folder / name).mkdir()
        executable(folder / name / "valgrind", f"#!/bin/sh\n{says}\n".encode())
        found = Examined(env=hw.clean_environment(PATH=folder / name))
        found.need("note", "check-valgrind", *words)
        hw.need(found.status == 0, f"{found.document}")
    if not shutil.which("valgrind", path=REAL_PATH):
        raise hw.Skip("no Valgrind here (./dev deps --peers installs it)")
    hidden = "mount -t tmpfs none /usr/lib/debug && exec \"$0\" doctor --json"
    unshare = ["unshare", "-m", "sh", "-c", hidden, hw.HEAPWISE]
    ended = hw.run(unshare, env=hw.clean_environment(PATH=REAL_PATH)) if shutil.which("unshare") else None
    if not ended or ended.status not in (0, 1) or not ended.text:
        raise hw.Skip("no mount namespace of its own here")
    found = [f for f in json.loads(ended.text)["findings"] if f["id"] == "check-valgrind"]
    hw.need(found and found[0]["fix"] == "apt install libc6-dbg", f"{found}")


@TESTS.test
def check_of_programs(folder):
    """What check does with static and sanitized programs and those with their own malloc, and what to do instead"""
    Examined(hw.TARGETS / "refused_static").need("note", "check", "linked statically", "--engine=valgrind", "no heap blocks")
    Examined(hw.TARGETS / "own_malloc").need("note", "check", "none of the blocks", "--engine=valgrind")
    if hw.SANITIZERS == "none":
        Examined(hw.TARGETS / "refused_address").need("note", "check", "AddressSanitizer", "run it as it is")
    Examined(ONE_BLOCK).need_none("check")
    if os.geteuid() == 0:
        folder.chmod(0o755)
        path = copied(ONE_BLOCK, folder / "other")
        os.chown(path, 65534, 65534)
        path.chmod(0o4755)
        Examined(path).need("note", "check", "set-user-ID", "a copy without that bit")


@TESTS.test
def machine_folders(folder):
    """A runtime folder that can't be used is passed over; without debuginfod nothing is said of it"""
    environment = hw.clean_environment(XDG_RUNTIME_DIR="/proc/1/nowhere")
    Examined(env=environment).need("ok", "session-folder", "/tmp/")
    without = {k: v for k, v in environment.items() if k != "DEBUGINFOD_URLS"}
    Examined(env=without).need_none("debuginfod")
    Examined(env={**without, "DEBUGINFOD_URLS": "https://example.org"}).need("note", "debuginfod")


# ---- programs: recorded, or why not


@TESTS.test
def program_fine(folder):
    """A program with debug information has no problem, and is recorded"""
    found = Examined(ONE_BLOCK)
    hw.need(found.status == 0, f"{found.document}")
    found.need("ok", "program", "can be recorded")
    found.need("ok", "debug-info", "its own debug information")
    text = doctor(ONE_BLOCK)
    hw.need(text.status == 0 and text.text.startswith(f"{ONE_BLOCK}: no problem\n"), text.text)


@TESTS.test
def programs_refused(folder):
    """Static, 32-bit, foreign, musl and sanitized programs: the reason that `run` gives, and a way out"""
    header = struct.pack("<4sBBBBB7sHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 0, 0, b"", 2, 3, 1,
                         0, 0, 0, 0, 52, 32, 0, 0, 0, 0)
    cases = [
        (hw.TARGETS / "refused_static", "linked statically"),
        (executable(folder / "narrow", header), "32-bit"),
        (executable(folder / "arm", header[:4] + b"\x02" + header[5:18] + struct.pack("<H", 183) + bytes(60)),
         "not an x86-64 program"),
    ]
    if hw.SANITIZERS == "none":
        cases.append((hw.TARGETS / "refused_address", "AddressSanitizer"))
    if shutil.which("musl-gcc"):
        cases.append((compiled(folder, "small", compiler="musl-gcc"), "musl"))
    for path, words in cases:
        found = Examined(path)
        found.need("problem", "program", words)
        ended = hw.run([hw.HEAPWISE, "run", "-o", folder / "x.hpw", "--", path])
        hw.need(ended.status == 125 and words in ended.errors, f"run, {path.name}: {ended}")


@TESTS.test
def program_with_rights(folder):
    """A set-user-ID program is a problem for who is another user, and none for that user"""
    if os.geteuid():
        raise hw.Skip("only root can make one")
    folder.chmod(0o755)
    path = copied(ONE_BLOCK, folder / "other")
    os.chown(path, 65534, 65534)
    path.chmod(0o4755)
    Examined(path).need("problem", "program", "set-user-ID")
    os.chown(path, 0, 0)
    path.chmod(0o4755)
    Examined(path).need("ok", "program")


AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@TESTS.test
def program_with_capabilities(folder):
    """A program with file capabilities is a problem for who is not root"""
    setcap = shutil.which("setcap", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if os.geteuid() or not setcap:
        raise hw.Skip("only root can give them, with setcap")
    folder.chmod(0o755)
    path = copied(ONE_BLOCK, folder / "able")
    path.chmod(0o755)
    if hw.run([setcap, "cap_net_raw+ep", path]).status or hw.run([*AS_NOBODY, hw.HEAPWISE, "version"]).status:
        raise hw.Skip("no capabilities here, or no way for another user")
    ended = hw.run([*AS_NOBODY, hw.HEAPWISE, "doctor", path], cwd="/")
    hw.need(ended.status == 1 and "file capabilities" in ended.text, f"{ended} {ended.text}")
    Examined(path).need("ok", "program")


@TESTS.test
def program_on_noexec(folder):
    """A program on a file system mounted noexec"""
    script = 'mount -t tmpfs -o noexec none "$1" && cp "$2" "$1/program" || exit 99; exec "$3" doctor "$1/program"'
    ended = hw.run(["unshare", "-m", "/bin/sh", "-c", script, "sh", folder, ONE_BLOCK, hw.HEAPWISE])
    if ended.status == 99 or "unshare" in ended.errors:
        raise hw.Skip("no mounting here")
    hw.need(ended.status == 1 and "mounted noexec" in ended.text, f"{ended} {ended.text}")


@TESTS.test
def program_own_malloc(folder):
    """A program that defines malloc itself: found before it is run"""
    Examined(hw.TARGETS / "own_malloc").need("problem", "own-malloc", "libraries")
    Examined(ONE_BLOCK).need_none("own-malloc")
    (folder / "hidden.c").write_text("#include <stddef.h>\nstatic char pool[99];\n"
        '__attribute__((visibility("hidden"))) void *malloc(size_t n) { return pool + n; }\n'
        "int main(void) { return !malloc(7); }\n")
    tool("gcc", folder / "hidden.c", "-o", folder / "hidden")
    Examined(folder / "hidden").need("problem", "own-malloc")
    (folder / "go.c").write_text('__attribute__((section(".gopclntab"))) const char go[] = "x";\nint main(void) { return 0; }\n')
    tool("gcc", folder / "go.c", "-o", folder / "go")
    Examined(folder / "go").need("note", "go")


@TESTS.test
def malloc_in_front(folder):
    """An allocator that LD_PRELOAD names before the recorder's library is a problem, behind it none"""
    hw.need_no_sanitizer("libraries in front")
    runtime = hw.BUILD / "src/runtime/libheapwise-rt.so"
    (folder / "front.c").write_text("#include <stddef.h>\nextern void *__libc_malloc(size_t);\n"
                                    "void *malloc(size_t n) { return __libc_malloc(n); }\n")
    tool("gcc", "-shared", "-fPIC", folder / "front.c", "-o", folder / "front.so")
    for order, wrong in (((folder / "front.so", runtime), True), ((runtime, folder / "front.so"), False)):
        found = Examined(env=hw.clean_environment(LD_PRELOAD=":".join(map(str, order))))
        if wrong:
            found.need("problem", "malloc-in-front", "front.so", "first")
        else:
            found.need_none("malloc-in-front")


@TESTS.test
def scripts(folder):
    """A script is as its interpreter: named, refused for it, and missed if it is not there"""
    good = executable(folder / "good", f"#!{ONE_BLOCK}\n".encode())
    Examined(good).need("ok", "program", "is a script", str(ONE_BLOCK))
    static = executable(folder / "static", f"#! {hw.TARGETS / 'refused_static'} -x\n".encode())
    Examined(static).need("problem", "program", "refused_static", "linked statically")
    lost = executable(folder / "lost", b"#!/no/such/interpreter\n")
    Examined(lost).need("problem", "program", "/no/such/interpreter", "first line")
    bare = executable(folder / "bare", b"echo\n")
    Examined(bare).need("note", "program", "/bin/sh")


@TESTS.test
def not_executable(folder):
    """A file that may not be executed: what to type"""
    (folder / "file").write_bytes(ONE_BLOCK.read_bytes())
    (folder / "file").chmod(0o644)
    Examined(folder / "file").need("problem", "program", f"chmod +x {folder / 'file'}")


@TESTS.test
def nothing_there(folder):
    """What is not there is 3, wrong usage 2, each with a sentence"""
    for subject in ("no-such-program", folder / "nowhere", "4194304"):
        ended = doctor(subject)
        hw.need(ended.status == 3 and str(subject) in ended.errors and not ended.text, f"{subject}: {ended}")
    hw.need(doctor("a", "b").status == 2 and doctor("--wrong").status == 2, "usage")


@TESTS.test
def allocator(folder):
    """A program linked to another allocator: named, and said to be recorded exactly"""
    libraries = list(Path("/usr/lib/x86_64-linux-gnu").glob("libjemalloc.so.2"))
    if not libraries:
        raise hw.Skip("no jemalloc")
    path = compiled(folder, "linked", "-Wl,--no-as-needed", str(libraries[0]))
    Examined(path).need("ok", "allocator", "jemalloc", "exactly")
    Examined(ONE_BLOCK).need_none("allocator")
    hw.need_no_sanitizer("a preload for the command too")
    environment = hw.clean_environment(LD_PRELOAD=libraries[0])
    Examined(ONE_BLOCK, env=environment).need("ok", "allocator", "jemalloc")


# ---- names and lines


def tool(*arguments):
    made = hw.run(arguments)
    hw.need(made.status == 0, f"{arguments}: {made}")


@TESTS.test
def debug_information(folder):
    """Debug information: in the program, stripped, split off beside it, lost; names without lines"""
    path = compiled(folder, "program", "-g")
    Examined(path).need("ok", "debug-info", "its own debug information")
    tool("objcopy", "--only-keep-debug", path, folder / "program.debug")
    tool("strip", "--strip-debug", path)
    Examined(path).need("problem", "debug-info", "no files and lines", "-g")
    tool("strip", path)
    Examined(path).need("problem", "debug-info", "only exported functions")
    tool("objcopy", f"--add-gnu-debuglink={folder / 'program.debug'}", path)
    Examined(path).need("ok", "debug-info", str(folder / "program.debug"))
    (folder / "program.debug").unlink()
    Examined(path).need("problem", "debug-info", "split off into program.debug", "/usr/lib/debug/.build-id/")


@TESTS.test
def no_unwind_information(folder):
    """A program without unwind information is noted: stacks are guessed"""
    path = compiled(folder, "program", "-g", "-Wa,--noexecstack")
    tool("objcopy", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", path)
    Examined(path).need("note", "unwind-info", "guessed")
    Examined(ONE_BLOCK).need_none("unwind-info")


@TESTS.test
def debug_package(folder):
    """A program of a Debian package without debug information: the package that has it is named"""
    if not shutil.which("dpkg-query"):
        raise hw.Skip("no Debian system")
    path = Path(hw.need_program("jq"))
    found = Examined("jq").find("debug-info")[0]
    hw.need(found["level"] == "ok" or "jq-dbgsym" in found["fix"], f"{found}")
    hw.need(str(path) in found["what"], f"{found}")


# ---- processes


@contextmanager
def process(arguments, **more):
    """A program that has said its first line and waits for another."""
    started = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               start_new_session=True, text=True, **more)
    try:
        yield started, started.stdout.readline()
    finally:
        started.kill()
        started.communicate()


WAITS = '$| = 1; print "$$\\n"; <STDIN>'


@TESTS.test
def process_not_recorded(folder):
    """A process that runs unrecorded: with what to type instead"""
    with process(["/usr/bin/perl", "-e", WAITS, "first", "second"], env=hw.clean_environment()) as (_, pid):
        found = Examined(pid.strip())
    hw.need(found.document["kind"] == "process", f"{found.document['kind']}")
    found.need("problem", "recorded", f"heapwise run -- /usr/bin/perl -e {WAITS} first second")
    found.need("ok", "program", "perl")


@TESTS.test
def process_of_other_for_weak_root(folder):
    """A process that root without CAP_SYS_PTRACE may not look at: root is not told to be root"""
    weak = ("setpriv", "--bounding-set=-sys_ptrace")
    if os.geteuid() or hw.run([*weak, "true"]).status:
        raise hw.Skip("only root can become a weaker one")
    with process([*AS_NOBODY, "/usr/bin/perl", "-e", WAITS], env=hw.clean_environment(), cwd="/") as (_, pid):
        ended = hw.run([*weak, hw.HEAPWISE, "doctor", pid.strip()])
        hw.need("CAP_SYS_PTRACE" in ended.errors and "or as root" not in ended.errors, str(ended))


@TESTS.test
def program_of_one_library(folder):
    """A program with one library is told so in words for one"""
    program, source = folder / "one", folder / "one.c"
    source.write_text("void _start(void) { for (;;) ; }\n")
    loader = "-l:ld-linux-x86-64.so.2"
    if hw.run([hw.need_program("gcc"), "-nostdlib", "-fPIE", "-pie", "-o", program, source, "-Wl,--no-as-needed",
               loader]).status:
        raise hw.Skip("this compiler can't build it")
    found = [finding["what"] for finding in Examined(program).document["findings"] if finding["id"] == "library-debug-info"]
    hw.need(len(found) == 1 and found[0].startswith("its only library has "), f"{found}")


@TESTS.test
def program_by_a_link(folder):
    """A program behind a link finds its libraries beside itself ($ORIGIN), as /usr/bin/java does; a missing one is asked for"""
    place = folder / "place"
    place.mkdir()
    (folder / "one.c").write_text("int one(void) { return 1; }\n")
    (folder / "main.c").write_text("int one(void);\nint main(void) { return one() - 1; }\n")
    library, program = place / "libhw_one.so", place / "main"
    for command in (["-shared", "-fPIC", "-o", library, folder / "one.c"],
                    ["-o", program, folder / "main.c", f"-L{place}", "-lhw_one", "-Wl,-rpath,$ORIGIN"]):
        hw.need(hw.run([hw.need_program("gcc"), *command]).status == 0, f"{command}")
    (folder / "link").symlink_to(program)
    Examined(folder / "link").need_none("libraries")
    library.unlink()
    Examined(folder / "link").need("note", "libraries", "can't list", "ldd ")


@TESTS.test
def process_recorded(folder):
    """A process under recording is said to be recorded; one whose collector did not answer is not"""
    with process([hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", "--", "/usr/bin/perl", "-e", WAITS],
                 env=hw.clean_environment()) as (_, pid):
        Examined(pid.strip()).need("ok", "recorded")
    library = hw.BUILD / "src/runtime/libheapwise-rt.so"
    environment = hw.clean_environment(LD_PRELOAD=library, HEAPWISE_SESSION=folder / "nowhere")
    with process(["/usr/bin/perl", "-e", WAITS], env=environment) as (_, pid):
        Examined(pid.strip()).need("problem", "recorded", "no collector answered")


@TESTS.test
def process_malloc_in_front(folder):
    """A process with an allocator before the recorder's library is told which, though LD_PRELOAD has no folder for it"""
    library = hw.BUILD / "src/runtime/libheapwise-rt.so"
    allocator = "libtcmalloc_minimal.so.4"
    if not Path("/usr/lib/x86_64-linux-gnu", allocator).exists():
        raise hw.Skip(f"{allocator} is not installed")
    for preload, wrong in ((f"{allocator}:{library}", True), (f"{library}:{allocator}", False)):
        environment = hw.clean_environment(LD_PRELOAD=preload, HEAPWISE_SESSION=folder / "nowhere")
        with process(["/usr/bin/perl", "-e", WAITS], env=environment) as (_, pid):
            found = Examined(pid.strip())
        if wrong:
            found.need("problem", "malloc-in-front", allocator, "first")
        else:
            found.need_none("malloc-in-front")


@TESTS.test
def process_service(folder):
    """A systemd service that has the recorder preloaded alone: its unit's LD_PRELOAD may have been replaced"""
    library = hw.BUILD / "src/runtime/libheapwise-rt.so"
    environment = hw.clean_environment(HEAPWISE_SESSION=folder / "nowhere")
    script = 'LD_PRELOAD=$1 SYSTEMD_EXEC_PID=$2 exec /usr/bin/perl -e "$3"'
    for preload, which, noted in ((library, "$$", True), (library, "1", False), (f"{library}:libm.so.6", "$$", False)):
        with process(["/bin/sh", "-c", script.replace("$2", which), "sh", preload, "", WAITS], env=environment) as (_, pid):
            found = Examined(pid.strip())
        if noted:
            found.need("note", "preload-replaced", "append")
        else:
            found.need_none("preload-replaced")


@TESTS.test
def process_static(folder):
    """A process that could not load the library although it was asked to"""
    path = compiled(folder, "quiet", "-static")
    path.with_suffix(".c").write_text(
        '#include <stdio.h>\nint main(void) { puts("here"); fflush(stdout); return getchar(); }\n')
    tool("gcc", "-static", path.with_suffix(".c"), "-o", path)
    library = hw.BUILD / "src/runtime/libheapwise-rt.so"
    with process([path], env=hw.clean_environment(LD_PRELOAD=library)) as (started, _):
        found = Examined(str(started.pid))
    found.need("problem", "recorded", "does not have it")
    found.need("problem", "program", "linked statically")


@TESTS.test
def process_replaced(folder):
    """A process whose program file has been replaced since it was started"""
    path = copied("/usr/bin/perl", folder / "perl")
    with process([path, "-e", WAITS], env=hw.clean_environment()) as (_, pid):
        path.unlink()
        Examined(pid.strip()).need("note", "program", "replaced or removed")


# Allows every system call: a filter all the same.
FILTERED = r"""
my $filter = pack 'SCCL', 6, 0, 0, 0x7fff0000; my $program = pack 'Sx6P', 1, $filter;
syscall(157, 38, 1, 0, 0, 0); syscall(157, 22, 2, $program) and die $!;
"""


@TESTS.test
def process_sandboxed(folder):
    """A process under a seccomp filter is noted"""
    with process(["/usr/bin/perl", "-e", FILTERED + WAITS], env=hw.clean_environment()) as (_, pid):
        Examined(pid.strip()).need("note", "seccomp", "filter")


@TESTS.test
def process_in_container(folder):
    """A process with PIDs and mounts of its own: what of it can't be reached from there"""
    if hw.run(["unshare", "-m", "-p", "-f", "--mount-proc", "true"]).status:
        raise hw.Skip("no namespaces here")
    script = 'mount -t tmpfs none "$1" && exec perl -e "$2"'
    with process(["unshare", "-m", "-p", "-f", "--mount-proc", "/bin/sh", "-c", script, "sh", hw.BUILD / "src", WAITS],
                 env=hw.clean_environment()) as (started, line):
        hw.need(line == "1\n", f"it says {line!r}")
        child = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().strip()
        found = Examined(child)
        os.kill(int(child), 9)
    found.need("note", "pid-namespace")
    found.need("problem", "mount-namespace", "libheapwise-rt.so")
    found.need("ok", "program", "perl")


@TESTS.test
def documented(_):
    """Every id is in docs/schema/doctor-1.md"""
    text = (hw.SOURCE / "docs/schema/doctor-1.md").read_text()
    used = set()
    for path in (hw.SOURCE / "src/cli").rglob("doctor_*.c"):
        used |= set(re.findall(r'(?:FINDING_\w+|lack),\s*"([a-z-]+)"', path.read_text()))
        used |= set(re.findall(r'FINDING_NOTE,\s*"([a-z-]+)"', path.read_text()))
    hw.need(len(used) > 15, f"found only {used}")
    missing = [name for name in used if f"`{name}`" not in text]
    hw.need(not missing, f"not documented: {missing}")


if __name__ == "__main__":
    TESTS.main()
