#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs: no command that writes a file destroys one. Each is made to write over what it reads, where it fails, through
another user's link, on a full disk, in a folder that takes no files, and is killed in the middle."""

import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
PROGRAM = hw.ANSWERS / "leaves_blocks"
OLD = b"what was here before\n" * 3
OTHER = 65534  # nobody's


def limited_to(most):
    """What a child does first, so that no file of its becomes longer: as on a disk that is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def recording_in(folder):
    recording = folder / "a.hpw"
    ended = hw.record([PROGRAM], recording, options=("-q", "--leak-check"))
    hw.need(ended.status == 0, f"run: {ended}")
    return recording


# name: what to call with the recording and the output, and what is typed at it, if anything.
def command(*words, typed=None):
    def make(recording, output):
        given = {"IN": str(recording), "OUT": str(output)}
        stdin = typed.replace("OUT", str(output)).encode() if typed else b""
        return [given.get(word, word) for word in words], stdin
    return make


WRITERS = {
    "export json": command("export", "--format", "json", "-o", "OUT", "IN"),
    "export pprof": command("export", "--format", "pprof", "-o", "OUT", "IN"),
    "flame --svg": command("flame", "--svg", "OUT", "IN"),
    "html": command("html", "-f", "-o", "OUT", "IN"),
    "bundle": command("bundle", "-o", "OUT", "IN"),
    "bundle --anonymize": command("bundle", "--anonymize", "-o", "OUT", "IN"),
    "leaks --log-file": command("leaks", "--log-file", "OUT", "IN"),
    "leaks --format sarif": command("leaks", "--format", "sarif", "--log-file", "OUT", "IN"),
    "leaks --format junit": command("leaks", "--format", "junit", "--log-file", "OUT", "IN"),
    "the prompt's >": command("prompt", "IN", typed="tree > OUT\n"),
}
DRAWN = {
    "graph .dot": (command("graph", "-o", "OUT", "IN"), "out.dot"),
    "graph .svg": (command("graph", "-o", "OUT", "IN"), "out.svg"),
}


def writers():
    for name, make in WRITERS.items():
        yield name, make, "out"
    for name, (make, output) in DRAWN.items():
        if output.endswith("dot") or shutil.which("dot"):
            yield name, make, output


def call(make, recording, output, **more):
    words, stdin = make(recording, output)
    return hw.heapwise(*words, stdin=stdin, **more)


def need_left(path, before, what):
    hw.need(path.read_bytes() == before, f"{what}: {path.name} was changed")


def need_nothing_beside(folder, known, what):
    more = sorted(set(os.listdir(folder)) - set(known))
    hw.need(not more, f"{what}: left {more}")


def was_refused(ended, make):
    """The prompt goes on after an answer that failed; that it said so is all."""
    return ended.status != 0 or "cannot write" in ended.errors or "is an input of this command" in ended.errors


def each(test):
    """One test of a table's row for all writers: it gets a folder of its own, the writer, and the output's name."""
    def run(folder):
        recording = recording_in(folder)
        for number, (name, make, output) in enumerate(writers()):
            place = folder / str(number)
            place.mkdir()
            test(name, make, recording, place / output)
    return run


@each
def test_written(name, make, recording, output):
    output.write_bytes(OLD)
    output.chmod(0o640)
    ended = call(make, recording, output)
    hw.need(ended.status == 0, f"{name}: {ended}")
    hw.need(output.stat().st_size > 0 and output.read_bytes() != OLD, f"{name}: nothing new was written")
    wanted = 0o600 if name.startswith("bundle") else 0o640
    mode = stat.S_IMODE(output.stat().st_mode)
    hw.need(mode & 0o666 == mode and mode | 0o044 == wanted | 0o044, f"{name}: mode {mode:o}, expected {wanted:o}")
    need_nothing_beside(output.parent, [output.name], name)


def test_own_input(folder):
    """By its name, a hard link and a symbolic link of ours."""
    recording = recording_in(folder)
    before = recording.read_bytes()
    for number, (name, make, output) in enumerate(writers()):
        place = folder / str(number)
        place.mkdir()
        same = place / output
        os.link(recording, same)
        link = place / ("link-" + output)
        link.symlink_to(recording)
        for path in ([recording] if output == "out" else []) + [same, link]:
            ended = call(make, recording, path)
            hw.need(was_refused(ended, make), f"{name} over its own input {path.name}: {ended}")
            hw.need("is an input" in ended.errors, f"{name}: does not say why: {ended}")
            need_left(recording, before, name)
        hw.need(same.stat().st_ino == recording.stat().st_ino, f"{name}: the hard link was replaced")


def test_suppressions_kept(folder):
    """A list that is read is not written over either."""
    recording = recording_in(folder)
    known = folder / "known.supp"
    known.write_text("leak:nothing_of_this_name\n")
    before = known.read_bytes()
    ended = hw.heapwise("leaks", "--suppressions", known, "--log-file", known, recording)
    hw.need("is an input" in ended.errors, f"leaks: {ended}")
    need_left(known, before, "leaks --suppressions")


@each
def test_refused(name, make, recording, output):
    """A command that fails on its way leaves what is there: here its input is none."""
    output.write_bytes(OLD)
    broken = output.parent / "broken.hpw"
    broken.write_bytes(recording.read_bytes()[:40])
    call(make, broken, output)
    need_left(output, OLD, name)
    need_nothing_beside(output.parent, [output.name, broken.name], name)


def test_refused_format(folder):
    """What the format can't hold is found when the file is already open."""
    recording = recording_in(folder)
    output = folder / "out.massif"
    output.write_bytes(OLD)
    for options in (["--format", "valgrind", "--focus", "main"], ["--format", "nothing"],
                    ["--format", "heaptrack", "--from", "1s"]):
        ended = hw.heapwise("export", *options, "-o", output, recording)
        hw.need(ended.status != 0, f"{options}: {ended}")
        need_left(output, OLD, str(options))


@each
def test_disk_full(name, make, recording, output):
    output.write_bytes(OLD)
    ended = call(make, recording, output, preexec_fn=limited_to(1))
    need_left(output, OLD, name)
    need_nothing_beside(output.parent, [output.name], name)
    hw.need(was_refused(ended, make) or "annot" in ended.errors, f"{name}: {ended}")


@each
def test_folder_takes_none(name, make, recording, output):
    """Not even for a file that may be written to: it would have to be written over in its place."""
    as_other = {}
    if os.geteuid() == 0:
        as_other = {"user": OTHER, "group": OTHER, "extra_groups": []}
        recording.parent.chmod(0o755)
        recording.chmod(0o644)
    output.write_bytes(OLD)
    output.chmod(0o666)
    output.parent.chmod(0o555)
    try:
        ended = call(make, recording, output, **as_other)
    except PermissionError:
        raise hw.Skip("another user may not run what is under test") from None
    finally:
        output.parent.chmod(0o755)
    need_left(output, OLD, name)
    hw.need("annot" in ended.errors, f"{name}: {ended}")


@each
def test_links_of_others(name, make, recording, output):
    """Another user's link in a shared folder does not turn root's output elsewhere."""
    if os.geteuid() != 0:
        raise hw.Skip("only root can make another user's link")
    precious = output.parent / "precious"
    precious.write_bytes(OLD)
    output.symlink_to(precious)
    os.lchown(output, OTHER, OTHER)
    ended = call(make, recording, output)
    need_left(precious, OLD, name)
    hw.need("symbolic link of another user" in ended.errors, f"{name}: {ended}")


@each
def test_own_links(name, make, recording, output):
    """One's own link is followed: where it leads there is a new file, and it stays a link."""
    there = output.parent / "there" / output.name
    there.parent.mkdir()
    output.symlink_to(Path("there") / output.name)
    ended = call(make, recording, output)
    hw.need(ended.status == 0, f"{name}: {ended}")
    hw.need(output.is_symlink() and there.stat().st_size > 0, f"{name}: the link was not followed")


def test_descriptors(folder):
    """/dev/stdout, /dev/fd/N, pipes and devices are written to as they are."""
    recording = recording_in(folder)
    wanted = hw.ask("export", "--format", "csv", recording)
    read, write = os.pipe()
    for name, more in (("/dev/stdout", {}), ("/proc/self/fd/1", {}), (f"/dev/fd/{write}", {"pass_fds": [write]})):
        ended = hw.heapwise("export", "--format", "csv", "-o", name, recording, **more)
        hw.need(ended.status == 0, f"{name}: {ended}")
        found = os.read(read, 1 << 20).decode() if more else ended.text
        hw.need(found == wanted, f"{name}: {len(found)} characters, expected {len(wanted)}")
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
    ended = hw.heapwise("export", "--format", "csv", "-o", fifo, recording)
    found = reader.communicate(timeout=hw.TIMEOUT)[0].decode()
    hw.need(ended.status == 0 and found == wanted and stat.S_ISFIFO(fifo.stat().st_mode), f"pipe: {ended}")
    hw.need(hw.heapwise("export", "--format", "csv", "-o", "/dev/null", recording).status == 0, "/dev/null")
    hw.need(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null was replaced")
    ended = hw.heapwise("export", "--format", "csv", "-o", "/dev/full", recording)
    hw.need(ended.status == 4 and "No space left" in ended.errors, f"/dev/full: {ended}")
    with open(folder / "appended", "wb") as file:
        file.write(OLD)
        file.flush()
        hw.run([hw.HEAPWISE, "export", "--format", "csv", "-o", f"/dev/fd/{file.fileno()}", recording],
               pass_fds=[file.fileno()])
    hw.need((folder / "appended").read_bytes() == OLD + wanted.encode(), "a descriptor's file was written anew")


def test_killed(folder):
    """SIGKILL while it writes: the program that draws waits for a pipe that nobody writes to, and with it the command."""
    recording = recording_in(folder)
    tools = folder / "tools"
    tools.mkdir()
    dot = tools / "dot"
    started = folder / "started"
    held = folder / "held"
    os.mkfifo(held)
    dot.write_text(f"#!/bin/sh\necho half a picture\n: > {started}\nexec cat {held}\n")
    dot.chmod(0o755)
    place = folder / "place"
    place.mkdir()
    output = place / "out.svg"
    output.write_bytes(OLD)
    hold = subprocess.Popen([hw.HEAPWISE, "graph", "-o", output, recording], stderr=subprocess.DEVNULL,
                            env=hw.clean_environment(PATH=f"{tools}:{os.environ['PATH']}"))
    hw.wait_until(started.exists, "dot was not started")
    hold.kill()
    ended = hold.wait()
    os.close(os.open(held, os.O_WRONLY))  # lets the one that waits end
    hw.need(ended == -signal.SIGKILL, f"it had ended before: {ended}")
    need_left(output, OLD, "killed")
    if os.path.exists("/proc/self/fd"):
        need_nothing_beside(place, [output.name], "killed")


def test_log_of_several(folder):
    """One --log-file of several recordings has what is said of each."""
    recording = recording_in(folder)
    log = folder / "log"
    ended = hw.heapwise("run", "-q", "-f", "-o", folder / "b.hpw", "--leak-check", "--log-file", log, "--",
                        "/bin/sh", "-c", f"{PROGRAM} lose; {PROGRAM} lose")
    said = log.read_text()
    hw.need(ended.status == 0, f"run: {ended}")
    hw.need(said.count("definitely lost") >= 2 and said.count("make_kept") == 2, f"two processes: {said}")


def test_dump_and_save(folder):
    """What `heap` and `core` write of memory."""
    process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        core = folder / "core"
        core.write_bytes(OLD)
        ended = hw.heapwise("heap", str(process.pid), "save", core, preexec_fn=limited_to(4096))
        hw.need(ended.status != 0, f"save: {ended}")
        need_left(core, OLD, "save")
        ended = hw.heapwise("heap", str(process.pid), "save", core)
        hw.need(ended.status == 0 and core.read_bytes()[:4] == b"\x7fELF", f"save: {ended}")
        before = core.read_bytes()
        start = int.from_bytes(before[24:32], "little")  # of the entry: none in a core
        ended = hw.heapwise("core", core, "dump", hex(start or 0x400000), core)
        need_left(core, before, "dump over the core")
        need_nothing_beside(folder, ["core"], "heap")
    finally:
        process.kill()
        process.communicate()


SECRET = "root:$6$secret"
NAMED = """#line 1 "%s"
#include <stdlib.h>
__attribute__((noinline)) void *make_it(void) { return malloc(1000); }
int main(void) { return make_it() == NULL; }
"""


def test_sources_alone(folder):
    """Debug information names what its maker likes: of files that it names, source code alone is shown and packed."""
    compiler = hw.need_program("cc")
    secret = folder / "shadow"
    link = folder / "link.c"
    secret.write_text(f"{SECRET}\n" * 5)
    link.symlink_to(secret)
    source = folder / "source.c"
    for named, is_shown in ((secret, False), (link, False), (source, True)):
        program = folder / ("of-" + named.name)
        source.write_text(NAMED % named)
        hw.need(hw.run([compiler, "-g", "-O0", "-o", program, source]).status == 0, "no program")
        recording = folder / f"{named.name}.hpw"
        hw.need(hw.record([program], recording).status == 0, "no recording")
        for options in ((), ("--source-path", folder)):
            ended = hw.heapwise("list", "make_it", recording, *options)
            hw.need(ended.status == 0 and "make_it" in ended.text, f"list {named.name}: {ended}")
            hw.need(SECRET not in ended.text, f"{named.name} is shown: {ended}")
            hw.need(("its name is not that of a source file" in ended.text) != is_shown, f"{named.name} is not explained: {ended}")
            hw.need(("malloc(1000)" in ended.text) == is_shown, f"{named.name}: {ended}")
        bundle = folder / f"{named.name}.tar"
        ended = hw.heapwise("bundle", "--sources", "-o", bundle, recording)
        hw.need(ended.status == 0 and SECRET.encode() not in bundle.read_bytes(), f"bundle of {named.name}: {ended}")


for test_name, function in (
    ("a file is replaced as a whole, and keeps its mode", test_written),
    ("no input is written over", test_own_input),
    ("no list of suppressions is written over", test_suppressions_kept),
    ("a command that fails leaves what was there", test_refused),
    ("a refused export leaves what was there", test_refused_format),
    ("a full disk leaves what was there", test_disk_full),
    ("a folder that takes no files leaves what was there", test_folder_takes_none),
    ("links of other users are not followed", test_links_of_others),
    ("own links are followed", test_own_links),
    ("descriptors, pipes and devices are written to", test_descriptors),
    ("a killed command leaves what was there, and nothing beside it", test_killed),
    ("one log has all processes", test_log_of_several),
    ("dump and save", test_dump_and_save),
    ("of files that debug information names, source code alone is shown", test_sources_alone),
):
    TESTS.add(test_name, function)

if __name__ == "__main__":
    TESTS.main()
