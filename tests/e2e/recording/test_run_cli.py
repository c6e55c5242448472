#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise run` as a command: what it refuses, how it names files, and that the program it runs gets, does
and ends exactly what it would without it."""

import fcntl
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import truth

TESTS = hw.Tests()
PERL = "/usr/bin/perl"
TRUE = "/bin/true"


def heapwise_run(*arguments, **more):
    return hw.run([hw.HEAPWISE, "run", *arguments], **more)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def executable(path, content=b"\x7fELF"):
    path.write_bytes(content)
    path.chmod(0o755)
    return path


# ---- refusals


def refused(folder, program, status, reason, **more):
    """The program is not started, no file is left, and one line says why."""
    before = files(folder)
    ended = heapwise_run("-o", folder / "refused.hpw", "--", program, **more)
    hw.need("it ran" not in ended.text, "the program was started")
    hw.need(ended.status == status, f"expected status {status}: {ended}")
    hw.need(files(folder) == before, f"files left: {files(folder)}")
    lines = ended.errors.splitlines()
    hw.need(len(lines) == 1 and lines[0].startswith("heapwise: "), f"not one line: {ended}")
    hw.need(re.search(reason, ended.errors, re.I), f"no word of {reason!r}: {ended}")


@TESTS.test
def static_program(folder):
    """Refused: a static program"""
    refused(folder, hw.TARGETS / "refused_static", 125, "linked statically")


@TESTS.test
def setuid_program(folder):
    """Refused: a setuid program"""
    program = folder / "setuid"
    if os.getuid() == 0:
        shutil.copy(TRUE, program)
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        if os.statvfs(program).f_flag & os.ST_NOSUID:
            raise hw.Skip("the temporary folder is mounted nosuid")
    else:
        found = shutil.which("passwd")
        if not found or not os.stat(found).st_mode & 0o4000:
            raise hw.Skip("no setuid program at hand, and only root can make one")
        program = found
    refused(folder, program, 125, "it is set-user-ID")


def elf_header(wide, machine):
    """An ELF header, 32 or 64 bits wide, of an executable with nothing in it."""
    identity = b"\x7fELF" + bytes((2 if wide else 1, 1, 1)) + bytes(9)
    layout = "<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH"
    size, entry = (64, 56) if wide else (52, 32)
    return identity + struct.pack(layout, 2, machine, 1, 0, size, 0, 0, size, entry, 0, 0, 0, 0)


@TESTS.test
def narrow_program(folder):
    """Refused: a 32-bit program"""
    refused(folder, executable(folder / "narrow", elf_header(False, 3)), 125, "32-bit")


def built(folder, compiler, *arguments):
    program = folder / "built"
    ended = hw.run([hw.need_program(compiler), "-o", program, *arguments])
    if ended.status != 0:
        raise hw.Skip(f"{compiler} can't build it: {hw.shorten(ended.errors, 200)}")
    return program


@TESTS.test
def narrow_program_of_compiler(folder):
    """Refused: what gcc -m32 makes"""
    source = folder / "narrow.S"
    # exit_group(3), as a 32-bit program asks for it.
    source.write_text(".globl _start\n_start:\nmov $3, %ebx\nmov $252, %eax\nint $0x80\n"
                      '.section .note.GNU-stack,"",@progbits\n')
    program = built(folder, "gcc", "-m32", "-nostdlib", "-static", source)
    refused(folder, program, 125, "32-bit")


def musl(kind, *arguments):
    def test(folder):
        program = built(folder, "musl-gcc", *arguments, hw.SOURCE / "tests/targets/calls/refused.c")
        # As a child it runs, unrecorded, as it would have.
        shell = hw.record(["/bin/sh", "-c", '"$0"; echo $?', program], folder / "shell.hpw")
        alone = hw.run(["/bin/sh", "-c", '"$0"; echo $?', program])
        hw.need((shell.text, shell.status, shell.stderr) == (alone.text, alone.status, alone.stderr),
                f"under a shell {shell.text!r} {shell}, alone {alone.text!r} {alone}")
        found = sorted(path.name for path in folder.glob("*.hpw"))
        hw.need(found == ["shell.hpw"], f"recordings: {found}")
        refused(folder, program, 125, kind)

    return test


TESTS.add("Refused: what musl-gcc makes", musl("musl"))
TESTS.add("Refused: what musl-gcc -static makes", musl("linked statically", "-static"))


@TESTS.test
def foreign_program(folder):
    """Refused: a program for another processor"""
    path = executable(folder / "foreign", elf_header(True, 243))
    before = files(folder)
    ended = heapwise_run("-o", folder / "refused.hpw", "--", path)
    hw.need(ended.status in (125, 126), str(ended))
    hw.need(len(ended.errors.splitlines()) == 1, str(ended))
    hw.need(files(folder) == before, f"files left: {files(folder)}")


def sanitized(kind):
    def test(folder):
        program = hw.TARGETS / f"refused_{kind}"
        if not program.exists():
            raise hw.Skip(f"this compiler has no {kind} sanitizer")
        refused(folder, program, 125, "sanitizer")

    return test


for kind in ("address", "thread"):
    TESTS.add(f"Refused: a program built with -fsanitize={kind}", sanitized(kind))


@TESTS.test
def missing_program(folder):
    """Refused: a program that is not there, by path and by name, with 127"""
    refused(folder, folder / "missing", 127, "missing")
    refused(folder, "no-such-program-anywhere", 127, "no-such-program-anywhere")
    # The current folder is not searched.
    shutil.copy(TRUE, folder / "only-here")
    refused(folder, "only-here", 127, "only-here", cwd=folder)


@TESTS.test
def unexecutable_program(folder):
    """Refused: a file that is not executable, and a folder, with 126"""
    path = folder / "plain"
    path.write_text("text")
    refused(folder, path, 126, "plain")
    inner = folder / "folder"
    inner.mkdir()
    refused(folder, inner, 126, "folder")


@TESTS.test
def usage_errors(folder):
    """Refused with 125: no program, an unknown option, an option without its value"""
    for arguments in ((), ("--",), ("--no-such-option", TRUE), ("-o",)):
        ended = heapwise_run(*arguments, cwd=folder)
        hw.need(ended.status == 125, f"{arguments}: {ended}")
        hw.need("heapwise" in ended.errors, f"{arguments}: nothing said")
    group = heapwise_run("--children=no", "-Zq", TRUE, cwd=folder)
    hw.need("unknown option '-Z'" in group.errors, f"the letter of a group: {group}")
    hw.need(not files(folder), f"files left: {files(folder)}")


# ---- the file


@TESTS.test
def default_name(folder):
    """The default file is heapwise.PROGRAM.PID.hpw in the current folder"""
    ended = heapwise_run("sh", "-c", "echo $$", cwd=folder)
    hw.need(ended.status == 0, str(ended))
    hw.need(files(folder) == [f"heapwise.sh.{int(ended.text)}.hpw"], str(files(folder)))
    mode = (folder / files(folder)[0]).stat().st_mode & 0o777
    hw.need(mode == 0o600, f"mode {mode:o}")


@TESTS.test
def expanded_name(folder):
    """%n, %p and %h in FILE: program, process id, host"""
    ended = heapwise_run("-q", "-o", "a-%n-%p-%h-%n.hpw", "--", "/bin/sh", "-c", "echo $$", cwd=folder)
    hw.need(ended.status == 0, str(ended))
    wanted = f"a-sh-{int(ended.text)}-{socket.gethostname()}-sh.hpw"
    hw.need(files(folder) == [wanted], f"{files(folder)}, expected {wanted}")
    found = hw.report(folder / wanted)["target"]
    hw.need(found["pid"] == int(ended.text), f"pid {found['pid']}")


@TESTS.test
def no_overwrite(folder):
    """An existing FILE is overwritten with -f only"""
    path = folder / "kept.hpw"
    path.write_text("precious")
    ended = heapwise_run("-o", path, "--", "/bin/echo", "it ran")
    hw.need(ended.status == 125 and not ended.text, f"without -f: {ended}, {ended.text}")
    hw.need(len(ended.errors.splitlines()) == 1 and "-f" in ended.errors, str(ended))
    hw.need(path.read_text() == "precious", "the file was touched")
    ended = heapwise_run("-q", "-f", "-o", path, "--", "/bin/echo", "it ran")
    hw.need(ended.status == 0 and ended.text == "it ran\n", f"with -f: {ended}")
    hw.need(hw.report(path)["target"]["exit"].get("code") == 0, "the report's exit")


@TESTS.test
def no_symlink(folder):
    """A FILE that is a symbolic link is not followed"""
    (folder / "link.hpw").symlink_to(folder / "elsewhere")
    ended = heapwise_run("-o", folder / "link.hpw", "--", "/bin/echo", "it ran")
    hw.need(ended.status == 125 and not ended.text, str(ended))
    hw.need(not (folder / "elsewhere").exists(), "written through the link")


@TESTS.test
def no_folder(folder):
    """A FILE that cannot be created: 125, and the program is not started"""
    ended = heapwise_run("-o", folder / "none/x.hpw", "--", "/bin/echo", "it ran")
    hw.need(ended.status == 125 and not ended.text, str(ended))
    hw.need(len(ended.errors.splitlines()) == 1, str(ended))


# ---- what it says


@TESTS.test
def summary_at_the_end(folder):
    """At the end a few lines on stderr and the next command; with -q nothing"""
    path = folder / "x.hpw"
    ended = heapwise_run("-o", path, "--", hw.TARGETS / "malloc_free-O2")
    hw.need(ended.status == 0 and ended.text.endswith("# end\n"), str(ended))
    lines = ended.errors.splitlines()
    hw.need(2 <= len(lines) <= 10, f"{len(lines)} lines: {ended}")
    hw.need("heapwise report" in ended.errors and path.name in ended.errors, str(ended))
    quiet = heapwise_run("-q", "-f", "-o", path, "--", hw.TARGETS / "malloc_free-O2")
    hw.need(quiet.stderr == b"", str(quiet))
    hw.need(quiet.stdout == ended.stdout, "the program's own output")


@TESTS.test
def habits_of_other_tools(folder):
    """A variable that asks another tool for a profile, without --as: one sentence names the option; not with it, nor with -q"""
    for name, value, tool in (("HEAPPROFILE", "x", "gperftools"), ("HEAPCHECK", "normal", "gperftools"),
                              ("MALLOC_CONF", "prof:true", "jemalloc"), ("MALLOC_TRACE", "x.log", "mtrace"),
                              ("MALLOC_CONF", "narenas:1", None), ("MALLOC_TRACE", "", None)):
        ended = heapwise_run("-f", "-o", folder / "x.hpw", TRUE, env=hw.clean_environment(**{name: value}))
        wanted = f"heapwise: {name} is set: 'heapwise run --as={tool}' does what it asks for"
        said = [line for line in ended.errors.splitlines() if " is set: " in line]
        hw.need(ended.status == 0 and said == ([wanted] if tool else []), f"{name}: {ended}")
    env = hw.clean_environment(MALLOC_TRACE=str(folder / "x.log"))
    for options in (("-q",), ("--as=mtrace",)):
        ended = heapwise_run("-f", "-o", folder / "x.hpw", *options, TRUE, env=env)
        hw.need(ended.status == 0 and " is set: " not in ended.errors, f"{ended}")


@TESTS.test
def sizes_of_options(folder):
    """Sizes have units of either case, and those that reports show; units of 1000 are refused"""
    for size in ("10K", "10k", "10KiB", "1g"):
        ended = heapwise_run("-q", "-f", "-o", folder / "x.hpw", "--dump-growth", size, TRUE)
        hw.need(ended.status == 0 and not ended.errors, f"{size}: {ended}")
    for size in ("10KB", "10kib ", "10x", "k", "0k", "99999999999G"):
        ended = heapwise_run("-q", "-f", "-o", folder / "x.hpw", "--dump-growth", size, TRUE)
        hw.need(ended.status == 125 and "expected a size (K, M, G)" in ended.errors, f"{size}: {ended}")


@TESTS.test
def options_end_at_the_program(folder):
    """Options after PROGRAM, or after --, are the program's"""
    for arguments in (
        ("-q", "-o", folder / "1.hpw", "--", "/bin/echo", "-f", "-o", "x", "--", "-q"),
        ("-q", "-o", folder / "2.hpw", "/bin/echo", "-f", "-o", "x", "--", "-q"),
    ):
        ended = heapwise_run(*arguments, cwd=folder)
        hw.need(ended.text == "-f -o x -- -q\n" and ended.status == 0, f"{ended.text!r} {ended}")
    hw.need(files(folder) == ["1.hpw", "2.hpw"], str(files(folder)))
    command = hw.report(folder / "1.hpw")["target"]["command"]
    hw.need(command == ["/bin/echo", "-f", "-o", "x", "--", "-q"], f"target.command is {command}")


# ---- the ending


def ends(how, status):
    def test(folder):
        recording = folder / "x.hpw"
        ended = hw.record([PERL, "-e", how], recording)
        hw.need(ended.status == status, f"expected {hw.describe(status)}: {ended}")
        hw.need(ended.stderr == b"", str(ended))
        found = hw.report(recording)["target"]["exit"]
        wanted = ("signal", -status) if status < 0 else ("code", status)
        hw.need(found.get(wanted[0]) == wanted[1], f"target.exit is {found}")

    return test


for status in (0, 1, 3, 125, 127, 255):
    TESTS.add(f"Ends as the program did: status {status}", ends(f"exit {status}", status))
for name in ("HUP", "INT", "QUIT", "ABRT", "KILL", "SEGV", "PIPE", "TERM", "USR1", "RTMIN"):
    number = getattr(signal, f"SIG{name}")
    script = f"$SIG{{{name}}} = 'DEFAULT'; kill {number} => $$; sleep 100"
    TESTS.add(f"Ends as the program did: SIG{name}", ends(script, -number))


@TESTS.test
def background_child(folder):
    """Returns when the program ends, though a child of it lives on; its pipes are closed"""
    script = "/bin/sleep 1000 </dev/null >/dev/null 2>&1 & echo $!"
    ended = hw.record(["/bin/sh", "-c", script], folder / "x.hpw", timeout=30)
    child = int(ended.text)
    alive = Path(f"/proc/{child}/comm").read_text().strip() == "sleep"
    os.kill(child, signal.SIGKILL)
    hw.need(ended.status == 0 and alive, f"{ended}; the child is alive: {alive}")
    found = hw.report(folder / "x.hpw")
    hw.need(found["target"]["exit"].get("code") == 0, "the recording is not closed")


# ---- what the program gets


def masked_lines(ended):
    """The output of the target `passthrough` without the lines that may differ."""
    masked = re.compile(rb"environment: (LD_PRELOAD|HEAPWISE_[A-Z_]*)=")
    return [line for line in ended.stdout.split(b"\n") if not masked.match(line)]


def passes_through(prepare=None, stdin=b"some input\n" * 1000, status=7, **more):
    """A test: the target prints the same natively and under run, started the same way."""

    def test(folder):
        program = hw.TARGETS / "passthrough"
        command = [program, str(status), "", "an argument", "-q"]
        # Not in a new session: a program that leads one natively could not do so under run.
        start = {"stdin": stdin, "preexec_fn": prepare, "cwd": folder, "session": False, **more}
        native = hw.run(command, close_fds=False, **start)
        recorded = hw.record(command, folder / "x.hpw", close_fds=False, **start)
        hw.need(native.status == status, f"natively: {native}")
        hw.need(recorded.status == status, str(recorded))
        hw.need(recorded.stderr == native.stderr, str(recorded))
        wanted, found = masked_lines(native), masked_lines(recorded)
        if wanted != found:
            wanted_lines, found_lines = set(wanted), set(found)
            missing = [line[:200] for line in wanted if line not in found_lines]
            new = [line[:200] for line in found if line not in wanted_lines]
            raise hw.Failure(f"missing: {missing[:9]}\nnew: {new[:9]}")

    return test


def odd_signals():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM, signal.SIGTSTP, signal.SIGRTMIN + 3}
    )


def odd_descriptors():
    for number in (5, 19, 200):
        os.dup2(os.open("/dev/null", os.O_RDWR), number)
        os.set_inheritable(number, True)  # dup2 onto itself leaves close-on-exec as it was


def odd_limits():
    os.umask(0o027)
    os.nice(3)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 256))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 22))


def closed_streams():
    os.close(0)


TESTS.add("The program gets the same, started plainly", passes_through())
TESTS.add("The program gets the same signals: ignored and blocked ones", passes_through(odd_signals))
TESTS.add("The program gets the same descriptors", passes_through(odd_descriptors))
TESTS.add("The program gets the same limits, mask and priority", passes_through(odd_limits))
TESTS.add("The program gets the same closed standard input", passes_through(closed_streams, b""))
TESTS.add("The program gets the same large input", passes_through(None, os.urandom(3 << 20)))
TESTS.add(
    "The program gets the same odd environment",
    passes_through(
        env={"A": "", "B": "a=b\nc", "LD_LIBRARY_PATH": "", "PATH": "/bin", "IFS": "x", "": "y"}
    ),
)


@TESTS.test
def preload_kept(folder):
    """A preload that was there is still there, after heapwise's own"""
    env = hw.clean_environment(LD_PRELOAD=hw.COUNT_LIBRARY)
    ended = hw.record([PERL, "-e", "print $ENV{LD_PRELOAD}"], folder / "x.hpw", env=env)
    parts = re.split("[ :]", ended.text)
    hw.need(len(parts) == 2 and parts[0].endswith("/libheapwise-rt.so"), f"LD_PRELOAD={ended.text}")
    hw.need(parts[1] == str(hw.COUNT_LIBRARY), f"LD_PRELOAD={ended.text}")


@TESTS.test
def found_by_path(folder):
    """PROGRAM is found by PATH, and argument 0 is as it was typed"""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    shutil.copy(hw.TARGETS / "passthrough", bin_folder / "my-program")
    env = hw.clean_environment(PATH=f"/nonexistent:{bin_folder}:/bin")
    ended = hw.record(["my-program", "0"], folder / "x.hpw", env=env)
    hw.need(ended.text.startswith("argument 0: my-program\n"), f"{ended} {ended.text[:80]}")


@TESTS.test
def script(folder):
    """A script with #! runs, and its interpreter is what is recorded"""
    path = executable(folder / "script", b"#!/usr/bin/perl -w\nprint \"hello @ARGV\\n\"; exit 6;\n")
    ended = hw.record([path, "a", "b"], folder / "x.hpw")
    hw.need(ended.text == "hello a b\n" and ended.status == 6, str(ended))
    hw.need(hw.report(folder / "x.hpw")["totals"]["allocations"] > 100, "nothing was recorded")


@TESTS.test
def names_of_made_code(folder):
    """Code made at run time has the names that the program lists for it"""
    ended = hw.record([hw.TARGETS / "jit-O2", "with a list"], folder / "x.hpw")
    found = hw.report(folder / "x.hpw", "--view", "sites")
    Path(f"/tmp/perf-{found['target']['pid']}.map").unlink()
    expectations, problems = truth.parse(ended.text)
    problems += truth.check(expectations, found)
    hw.need(not problems and "made_outer" in ended.text, "\n".join([str(ended), *problems]))
    frames = [f for site in found["sites"] for f in site["stack"] if f["function"] == "made_outer"]
    hw.need(frames and all(f["module"] is None and f["address"] for f in frames), str(frames))
    text = hw.run([hw.HEAPWISE, "report", folder / "x.hpw", "--view", "sites"]).text
    hw.need("made_outer  [made at run time]" in text, text)


@TESTS.test
def own_malloc(folder):
    """A program that defines malloc itself is said not to be seen"""
    ended = hw.record([hw.TARGETS / "own_malloc"], folder / "x.hpw", options=())
    hw.need(ended.status == 0, str(ended))
    hw.need("defines its own malloc; its calls are NOT recorded" in ended.errors, ended.errors)
    found = hw.report(folder / "x.hpw")
    hw.need(found["recording"]["own_malloc"] is True, "the recording does not know")
    text = hw.run([hw.HEAPWISE, "report", folder / "x.hpw"]).text
    hw.need("No allocation was seen" in text and "defines malloc itself" in text, text[:600])


@TESTS.test
def own_malloc_among_many(folder):
    """Among many processes the one that could not be seen is named, though it has no allocations; the table marks it"""
    script = f"{hw.TARGETS / 'own_malloc'}; for n in $(seq 20); do ls; done"
    ended = hw.record(["/bin/sh", "-c", script], folder / "x.hpw", options=())
    hw.need(ended.status == 0, str(ended))
    lines = [line for line in ended.errors.splitlines() if "own_malloc" in line]
    hw.need(len(lines) == 1 and "its calls are NOT recorded" in lines[0], ended.errors)
    rows = json.loads(hw.run([hw.HEAPWISE, "report", folder, "--json"]).text)["recordings"]
    unseen = [row["program"] for row in rows if row["unseen"]]
    hw.need(len(rows) > 20 and unseen == [str(hw.TARGETS / "own_malloc")], f"{unseen}")
    table = hw.run([hw.HEAPWISE, "report", folder]).text
    hw.need(table.count("NOT seen") == 1, table)


@TESTS.test
def loaded_apart(folder):
    """A library with RTLD_DEEPBIND, or in a namespace of its own, finds libc's malloc: the report says that it is not seen"""
    for number, (target, apart) in enumerate((("stress/deepbind", True), ("stress/second_libc", True), ("dlopen_loop-O2", False))):
        path = folder / f"{number}.hpw"
        ended = hw.record([hw.TARGETS / target], path, cwd=hw.TARGETS / Path(target).parent)
        hw.need(ended.status == 0, f"{target}: {ended}")
        found = hw.report(path)
        hw.need(found["recording"]["loaded_apart"] is apart, f"{target}: {found['recording']}")
        hw.need(any("RTLD_DEEPBIND" in note for note in found["notes"]) is apart, f"{target}: {found['notes']}")


@TESTS.test
def loaded_by_callers_path(folder):
    """A library that loads another by name finds it where its own search path leads (DT_RUNPATH), deep-bound or not"""
    compiler = hw.need_program("gcc")
    (folder / "inner").mkdir()
    sources = {
        "inner/libhw_inner.so": ("int inner(void) { return 7; }", []),
        "libhw_outer.so": ("""#include <dlfcn.h>
            int outer(int mode) { void *h = dlopen("libhw_inner.so", RTLD_NOW | mode);
            int (*f)(void) = h ? (int (*)(void))dlsym(h, "inner") : 0; int r = f ? f() : 0; if (h) dlclose(h); return r; }""",
            ["-D_GNU_SOURCE", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/inner"]),
        "main": ("#include <dlfcn.h>\nint outer(int); int main(void) { return outer(0) * 10 + outer(RTLD_DEEPBIND); }",
                 ["-D_GNU_SOURCE", f"-L{folder}", "-lhw_outer", "-Wl,--enable-new-dtags,-rpath,$ORIGIN"]),
    }
    for name, (text, options) in sources.items():
        (folder / "source.c").write_text(text)
        kind = ["-shared", "-fPIC"] if name.endswith(".so") else []
        ended = hw.run([compiler, "-o", folder / name, *kind, folder / "source.c", *options])
        hw.need(ended.status == 0, str(ended))
    for command in ([], [hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", "--"]):
        ended = hw.run([*command, folder / "main"])
        hw.need(ended.status == 77, f"{command}: {ended}")


@TESTS.test
def little_address_space(folder):
    """A program with too little address space for the recorder runs; what was not seen is said"""
    hw.need_no_sanitizer("these take terabytes of address space")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (64 << 20, resource.RLIM_INFINITY))

    ended = hw.record(
        ["/bin/echo", "hello"], folder / "x.hpw", options=(), preexec_fn=limit
    )
    hw.need(ended.status == 0 and ended.text == "hello\n", str(ended))
    hw.need("NOTHING was recorded" in ended.errors, ended.errors)
    hw.need(hw.report(folder / "x.hpw")["recording"]["not_attached"] is True, "not in the file")


# ---- signals and terminals

def own_terminal():
    """In a new session: standard input becomes its terminal."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Session:
    """A program under `heapwise run` (or without) that is spoken to, on pipes or on a terminal."""

    def __init__(self, folder, *, terminal=False, recorded=True, **more):
        command = [hw.TARGETS / "talker"]
        if recorded:
            command = [hw.HEAPWISE, "run", "-q", "-o", folder / "x.hpw", "--", *command]
        self.got = b""
        if terminal:
            self.reading, inner = pty.openpty()
            self.writing = self.reading
            mode = termios.tcgetattr(inner)
            mode[3] &= ~termios.ECHO
            mode[1] &= ~termios.OPOST
            termios.tcsetattr(inner, termios.TCSANOW, mode)
            streams = (inner, inner, inner)
        else:
            input_end, self.writing = os.pipe()
            self.reading, output_end = os.pipe()
            streams = (input_end, output_end, output_end)

        if terminal:
            more = {"start_new_session": True, "preexec_fn": own_terminal, **more}
        self.process = subprocess.Popen(
            command,
            env=hw.clean_environment(),
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            **more,
        )
        for stream in set(streams):
            os.close(stream)

    def __enter__(self):
        self.wait_for("ready\n")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            for child in self.children():
                os.kill(child, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
        for end in {self.reading, self.writing}:
            os.close(end)

    def children(self):
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def program(self):
        """The process id of the program itself."""
        for pid in self.children():
            if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(hw.TARGETS / "talker"):
                return pid
        raise hw.Failure("the program is not a child of heapwise run")

    def wait_for(self, text):
        """Reads until text comes, and returns what came before it."""
        deadline = time.monotonic() + hw.TIMEOUT / 4
        while text.encode() not in self.got:
            ready, _, _ = select.select([self.reading], [], [], max(0, deadline - time.monotonic()))
            data = b""
            if ready:
                try:
                    data = os.read(self.reading, 4096)
                except OSError:  # the other end of a terminal is closed
                    pass
            hw.need(data, f"waited for {text!r}, got {self.got!r}")
            self.got += data
        before, _, self.got = self.got.partition(text.encode())
        return before.decode()

    def write(self, text):
        os.write(self.writing, text.encode())

    def wait_stopped(self):
        """Waits until the process that was started is stopped; returns by which signal."""
        found = self.wait_change(os.WUNTRACED)
        hw.need(os.WIFSTOPPED(found), f"not stopped: wait status {found:#x}")
        return os.WSTOPSIG(found)

    def wait_change(self, options):
        deadline = time.monotonic() + hw.TIMEOUT / 4
        watch = os.pidfd_open(self.process.pid)
        try:
            while True:
                pid, status = os.waitpid(self.process.pid, options | os.WNOHANG)
                if pid:
                    return status
                hw.need(time.monotonic() < deadline, "no change of state")
                select.select([watch], [], [], 0.01)  # ends early if it exits
        finally:
            os.close(watch)

    def end(self):
        self.write("end\n")
        return self.process.wait(hw.TIMEOUT / 4)


@TESTS.test
def signals_forwarded(folder):
    """SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1 and SIGUSR2 to run reach the program, once each"""
    with Session(folder, start_new_session=True) as session:
        for name in ("TERM", "HUP", "INT", "QUIT", "USR1", "USR2"):
            session.process.send_signal(getattr(signal, f"SIG{name}"))
            session.wait_for(f"{name} 1\n")
        session.write("on\n")
        before = session.wait_for("read on\n")
        hw.need(not before, f"more signals came: {before!r}")
        status = session.end()
        hw.need(status == 17, hw.describe(status))


@TESTS.test
def killed_by_forwarded(folder):
    """SIGTERM to run ends a program that does not handle it, and run ends the same way"""
    recording = folder / "x.hpw"
    process = subprocess.Popen(
        [hw.HEAPWISE, "run", "-q", "-o", recording, "--", PERL, "-e",
         "$| = 1; print qq(ready\\n); sleep 1000"],
        env=hw.clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        try:
            hw.need(process.stdout.readline() == b"ready\n", "it did not start")
            process.terminate()
            status = process.wait(hw.TIMEOUT / 4)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    hw.need(status == -signal.SIGTERM, hw.describe(status))
    found = hw.report(recording)["target"]["exit"]
    hw.need(found.get("signal") == signal.SIGTERM, f"target.exit is {found}")


@TESTS.test
def terminal_signals_once(folder):
    """On a terminal: Ctrl-C, Ctrl-\\ and a change of size reach the program once"""
    with Session(folder, terminal=True) as session:
        for key, name in (("\x03", "INT"), ("\x1c", "QUIT"), ("\x03", "INT")):
            session.write(key)
            session.wait_for(f"{name} ")
        session.wait_for("2\n")
        termios.tcsetwinsize(session.reading, (31, 47))
        session.wait_for("WINCH 1\n")
        session.write("on\n")
        before = session.wait_for("read on\n")
        hw.need(not before, f"more signals came: {before!r}")
        status = session.end()
        hw.need(status == 17, hw.describe(status))


@TESTS.test
def same_on_terminal(folder):
    """On a terminal the program sees a terminal, in the foreground, of the same group"""
    script = (
        "use POSIX; print join(' ', (-t STDIN) ? 1 : 0, (-t STDOUT) ? 1 : 0, (-t STDERR) ? 1 : 0,"
        " POSIX::tcgetpgrp(0) == getpgrp() ? 'foreground' : 'background'), qq(\\n); exit 5"
    )

    def on_terminal(command):
        # Not pty.fork: its end of the terminal would go to the programs of other tests as well.
        terminal, inner = pty.openpty()
        process = subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, cwd=folder, env=hw.clean_environment(),
            start_new_session=True, preexec_fn=own_terminal)
        os.close(inner)
        got = b""
        try:
            while data := os.read(terminal, 4096):
                got += data
        except OSError:
            pass
        os.close(terminal)
        return got, process.wait(hw.TIMEOUT)

    native = on_terminal([PERL, "-e", script])
    recorded = on_terminal(
        [str(hw.HEAPWISE), "run", "-q", "-o", "x.hpw", "--", PERL, "-e", script]
    )
    hw.need(native == (b"1 1 1 foreground\r\n", 5), f"natively: {native}")
    hw.need(recorded == native, f"recorded: {recorded}, natively: {native}")


def mirrors(word, number):
    def test(folder):
        # A group of its own with its parent in another group of the session: not orphaned, so that
        # SIGTSTP stops.
        with Session(folder, process_group=0) as session:
            session.write(f"{word}\n")
            stopped_by = session.wait_stopped()
            hw.need(stopped_by in (signal.SIGSTOP, number), f"stopped by {stopped_by}")
            session.process.send_signal(signal.SIGCONT)
            session.wait_for(f"read {word}\n")
            session.write("on\n")
            session.wait_for("read on\n")
            status = session.end()
            hw.need(status == 17, hw.describe(status))

    return test


TESTS.add("A program that stops (SIGSTOP) stops run; SIGCONT goes on", mirrors("stop", signal.SIGSTOP))
TESTS.add("A program that stops (SIGTSTP) stops run; SIGCONT goes on", mirrors("tstp", signal.SIGTSTP))


@TESTS.test
def stop_run(folder):
    """SIGTSTP to run stops the program too; SIGCONT goes on"""
    with Session(folder, process_group=0) as session:
        program = session.program()
        session.process.send_signal(signal.SIGTSTP)
        session.wait_stopped()
        state = Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[0]
        hw.need(state == "T", f"the program's state is {state}")
        session.process.send_signal(signal.SIGCONT)
        session.write("on\n")
        session.wait_for("read on\n")
        status = session.end()
        hw.need(status == 17, hw.describe(status))


if __name__ == "__main__":
    TESTS.main()
