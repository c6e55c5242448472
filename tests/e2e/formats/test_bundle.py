#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bundles: made here, read where no file of the program is; and hostile ones."""

import fcntl
import gzip
import io
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import documented
import hw

TESTS = hw.Tests()

MAIN = """
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "shelf.h"
namespace shop {
static __attribute__((noinline)) std::vector<int> *order(int n) { return new std::vector<int>(n); }
}
static inline __attribute__((always_inline)) char *take(int n) { return shelf_box(n); }
int main()
{
	std::vector<int> *v = shop::order(1001);
	char *made = take(777);
	std::printf("%p%p\\n", (void *)v, (void *)made);
	return 0;
}
"""
SHELF = """
#include <stdlib.h>
#include "shelf.h"
char *shelf_box(int n)
{
	char *made = malloc((size_t)n);
	made[0] = 1;
	return made;
}
"""
HEADER = """
#ifdef __cplusplus
extern "C"
#endif
char *shelf_box(int n);
"""
VIEWS = (["report"], ["report", "--json", "--view", "sites", "--all-frames"], ["tree", "--lines"],
         ["list", "shelf_box"], ["leaks", "--show-leak-kinds=all"])


def shell(folder, *commands):
    for command in commands:
        ended = hw.run(["sh", "-ec", command], cwd=folder)
        hw.need(ended.status == 0, f"{command}: {ended}")


def build(folder, flags="", link=""):
    """A C++ program and its C library, in folder/app."""
    hw.need_program("g++")
    app = folder / "app"
    app.mkdir()
    (app / "main.cc").write_text(MAIN)
    (app / "shelf.c").write_text(SHELF)
    (app / "shelf.h").write_text(HEADER)
    shell(app, f"gcc -g -O2 -fPIC -shared {flags} {link} {app}/shelf.c -o libshelf.so",
          f"g++ -g -O2 {flags} -c {app}/main.cc -o main.o",
          f"g++ {flags} {link} main.o -o main {app}/libshelf.so -Wl,-rpath,{app}")
    return app


def strip(app, name):
    """With its debug information in a file beside it, found by link."""
    shell(app, f"objcopy --only-keep-debug {name} {name}.debug", f"strip {name}",
          f"objcopy --add-gnu-debuglink={name}.debug {name}")


def heapwise(*words, status=0, **more):
    ended = hw.run([hw.HEAPWISE, *words], **more)
    hw.need(ended.status == status, f"{words}: {ended}")
    return ended


def recorded(folder, app, name="a.hpw"):
    path = folder / name
    ended = hw.record([app / "main"], path, options=("-q", "--leak-check=summary"))
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def views(path, recording, *options, of=VIEWS):
    """Views, without the name of the file and where sources were found."""
    found = []
    for words in of:
        text = heapwise(words[0], *words[1:], *options, path).text.replace(str(path), "FILE").replace(str(recording), "FILE")
        found.append("\n".join(line for line in text.splitlines() if not line.startswith("  source: ")))
    return found


def bundled(folder, path, *options):
    out = folder / "out.tar.zst"
    ended = heapwise("bundle", "-o", out, *options, path)
    return out, ended


def places(out):
    with subprocess.Popen(["zstd", "-dc", out], stdout=subprocess.PIPE) as packed:
        with tarfile.open(fileobj=packed.stdout, mode="r|") as archive:
            return [member.name for member in archive]


def manifest(folder, path, *options):
    document = json.loads(heapwise("bundle", "--json", "-o", folder / "listed.tar", *options, path).text)
    (folder / "listed.tar").unlink()
    return document


def state(folder):
    """An environment in which unpacked bundles lie below the folder."""
    return hw.clean_environment(XDG_STATE_HOME=str(folder / "state"))


@TESTS.test
def read_elsewhere(folder):
    """A stripped C++ program and a library: all views of the bundle are those of before, with no file left"""
    app = build(folder)
    strip(app, "main")
    strip(app, "libshelf.so")
    path = recorded(folder, app)
    before = views(path, path)
    hw.need("main.cc" in before[0] and "shop::order" in before[0], before[0])
    out, ended = bundled(folder, path, "--sources")
    hw.need(out.stat().st_mode & 0o777 == 0o600, f"{out.stat()}")
    names = places(out)
    for name in ("manifest.json", "recording/a.hpw", f"sysroot{app}/main", f"sysroot{app}/libshelf.so",
                 f"sources{app}/main.cc", f"sources{app}/shelf.c"):
        hw.need(name in names, f"{name} is not among {names}")
    shutil.move(app, folder / "hidden")
    path.unlink()
    hw.need(views(out, path) == before, "another answer")
    # Somebody else has other programs there.
    app.mkdir()
    shutil.copy("/bin/true", app / "main")
    (app / "main.cc").write_text("nothing\n" * 99)
    hw.need(views(out, path) == before, "another answer beside other files")
    # By hand.
    (folder / "there").mkdir()
    shell(folder / "there", f"zstd -dc {out} | tar x")
    by_hand = folder / "there/recording/a.hpw"
    found = views(by_hand, path, "--sysroot", folder / "there/sysroot", "--symbol-path", folder / "there")
    hw.need([text for words, text in zip(VIEWS, found) if words[0] != "list"] ==
            [text for words, text in zip(VIEWS, before) if words[0] != "list"], "another answer when unpacked by hand")


@TESTS.test
def nothing_is_left(folder):
    """What a bundle was unpacked to is removed: at the end, after ^C, and after a kill by the next one"""
    app = build(folder)
    out, _ = bundled(folder, recorded(folder, app))
    unpacked = folder / "state/heapwise/bundles"
    heapwise("report", out, env=state(folder))
    hw.need(not list(unpacked.iterdir()), f"{list(unpacked.iterdir())}")
    for number in (signal.SIGINT, signal.SIGKILL):
        # It waits for its output to be read, which never happens: the pipe has room for the beginning alone.
        fifo = folder / f"fifo{number}"
        os.mkfifo(fifo)
        reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 4096)
        process = subprocess.Popen([hw.HEAPWISE, "export", "--format", "json", "-o", fifo, out], env=state(folder))
        hw.need(select.select([reading], [], [], hw.TIMEOUT / 2)[0], "it writes nothing")
        hw.need(list(unpacked.glob("*/manifest.json")), "it has unpacked nothing")
        process.send_signal(number)
        hw.need(process.wait(hw.TIMEOUT / 2) == -number, "another end")
        os.close(reading)
        if number == signal.SIGKILL:
            hw.need(list(unpacked.iterdir()), "nobody could remove it")
            heapwise("report", out, env=state(folder))
        hw.wait_until(lambda: not list(unpacked.iterdir()), f"something is left after {number}")


@TESTS.test
def all_commands(folder):
    """Every command takes bundles: moments, differences of two, sums, packed by gzip, not at all, and anew by tar"""
    app = build(folder)
    path = recorded(folder, app)
    want = heapwise("report", "--json", path).text.replace(str(path), "FILE")
    for name in ("b.tar.gz", "b.tar", "b.tar.zst", "b"):
        heapwise("bundle", "-o", folder / name, path)
        got = heapwise("report", "--json", folder / name).text.replace(str(folder / name), "FILE")
        hw.need(got == want, f"{name}: {got}")
    shell(folder, "mkdir x", "tar xf b.tar -C x", "tar czf again.tgz -C x .")
    got = heapwise("report", "--json", folder / "again.tgz").text.replace(str(folder / "again.tgz"), "FILE")
    hw.need(got == want, f"again: {got}")
    os.rename(app, folder / "hidden")
    one, other = folder / "b.tar", folder / "b.tar.gz"
    for words in (["diff", f"{other}@start", one], ["diff", f"{one}@start", f"{other}@end"], ["tree", "--base", f"{one}@start", other],
                  ["tree", "--merge", one, other], ["graph", one], ["symbols", one],
                  ["budget", "--max-never-freed", "1", one], ["export", "--format", "heaptrack", "-o", folder / "h.zst", one],
                  ["export", "--format", "mtrace", "-o", folder / "m", f"{one}@end"], ["peek", "shelf", one]):
        ended = hw.run([hw.HEAPWISE, *words])
        known = "export" in words or "shelf_box" in ended.text or "libshelf.so" in ended.text
        hw.need(ended.status in (0, 1) and known, f"{words}: {ended} {ended.text}")
    hw.need("shelf_box" in (folder / "m").read_text(errors="replace") or "libshelf" in (folder / "m").read_text(), "mtrace")
    # A bundle of a bundle.
    heapwise("bundle", "-o", folder / "c.tar", one)
    hw.need(heapwise("report", "--json", folder / "c.tar").text.replace(str(folder / "c.tar"), "FILE") == want, "bundled twice")


@TESTS.test
def split_and_shared_files(folder):
    """.dwo files, files shared by dwz, files without a build-id: as before elsewhere"""
    hw.need_program("dwz")
    for number, (flags, link, commands) in enumerate((
            ("-gdwarf-5 -gsplit-dwarf -dumpdir {0}/", "", ()),
            ("", "", ("cp main other", "dwz -m shared.debug main other")),
            ("", "-Wl,--build-id=none", ()),
            ("", "-Wl,--build-id=none", ("strip",)))):
        inner = folder / str(number)
        inner.mkdir()
        app = build(inner, flags.format(inner / "app"), link)
        for command in commands:
            if command == "strip":
                strip(app, "main")
            else:
                shell(app, command)
        path = recorded(inner, app)
        before = views(path, path, of=VIEWS[1:2])
        hw.need("main.cc" in before[0], f"{flags} {commands}: {before[0]}")
        out, _ = bundled(inner, path, "--sources")
        os.rename(app, inner / "hidden")
        # What was recorded without a build-id is not looked for here.
        app.mkdir()
        shutil.copy("/bin/cat", app / "main")
        after = views(out, path, of=VIEWS[1:2])
        hw.need(after == before, f"{flags} {link} {commands} {places(out)}:\n{after[0]}\n{before[0]}")


@TESTS.test
def packages_of_split_files(folder):
    """A .dwp file goes with its program"""
    hw.need_program("llvm-dwp-14")
    app = build(folder, "-gdwarf-5 -gsplit-dwarf")
    hw.need(hw.run(["sh", "-c", "llvm-dwp-14 main.dwo -o main.dwp 2>&1 && rm *.dwo"], cwd=app).status == 0, "no .dwp")
    path = recorded(folder, app)
    before = views(path, path, of=VIEWS[1:2])
    out, _ = bundled(folder, path, "--sources")
    hw.need(f"sysroot{app}/main.dwp" in places(out), f"{places(out)}")
    os.rename(app, folder / "hidden")
    hw.need(views(out, path, of=VIEWS[1:2]) == before, "another answer")


@TESTS.test
def what_is_not_in_it(folder):
    """A program that was built anew, or is gone, is left out, and it is said"""
    app = build(folder)
    path = recorded(folder, app)
    shell(app, "sed -i s/1001/1003/ main.cc", f"g++ -g -O2 main.cc -o main {app}/libshelf.so -Wl,-rpath,{app}")
    (app / "libshelf.so").unlink()
    out, ended = bundled(folder, path)
    hw.need(not [name for name in places(out) if "/app/" in name], f"{places(out)}")
    for words in (f"{app}/main: another build is there", f"{app}/libshelf.so: not found", "1 recording"):
        hw.need(words in ended.text, f"{words}: {ended.text}")
    document = manifest(folder, path)
    hw.need({missing["path"]: missing["why"] for missing in document["missing"]} == {
        f"{app}/main": "another build is there", f"{app}/libshelf.so": "not found"}, f"{document}")
    # The members are the documented ones.
    wrong = documented.undocumented(document, set(re.findall(
        r"`(\w+)`", (hw.SOURCE / "docs/schema/bundle-1.md").read_text())))
    hw.need(not wrong, f"undocumented: {wrong}")


@TESTS.test
def files_of_other_tools(folder):
    """Profiles of others that have addresses alone are bundled too"""
    app = build(folder)
    path = recorded(folder, app)
    for kind, name in (("jemalloc", "j.heap"), ("gperftools", "g.heap"), ("pprof", "p.pb.gz"), ("folded", "f.txt")):
        heapwise("export", "--format", kind, "-o", folder / name, path)
        want = heapwise("tree", folder / name).text.replace(str(folder / name), "FILE")
        out = folder / f"{kind}.tar.zst"
        heapwise("bundle", "-o", out, folder / name)
        os.rename(app, folder / "hidden")
        got = heapwise("tree", out).text.replace(str(out), "FILE")
        os.rename(folder / "hidden", app)
        hw.need(got == want and "shelf_box" in got, f"{kind}: {got}\n{want}")


@TESTS.test
def forked_processes(folder):
    """With a forked process's recording goes its parent's, which says what it began with"""
    hw.need_program("gcc")
    (folder / "fork.c").write_text("""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char *volatile made = malloc(5003);
	pid_t child = fork();
	if (child == 0) {
		char *volatile own = malloc(31);
		_exit(!own || !made);
	}
	wait(NULL);
	return 0;
}
""")
    shell(folder, "gcc -g fork.c -o fork")
    hw.record([folder / "fork"], folder / "a.hpw")
    child = next(path for path in folder.glob("a.*.hpw"))
    want = heapwise("report", "--view", "inherited", child).text.replace(str(child), "FILE")
    hw.need("4.89 KiB" in want, want)
    heapwise("bundle", "-o", folder / "b.tar", child)
    os.rename(folder / "a.hpw", folder / "hidden")
    got = heapwise("report", "--view", "inherited", folder / "b.tar").text.replace(str(folder / "b.tar"), "FILE")
    hw.need(got == want, f"{got}\n{want}")


@TESTS.test
def written_whole_or_not(folder):
    """A bundle that can't be written leaves what was there; wrong words are told"""
    app = build(folder)
    path = recorded(folder, app)
    (folder / "out.tar").write_text("before")
    # A file of the program that can't be read any more when it is packed: a limit of the file's size.
    ended = hw.run(["sh", "-c", f"ulimit -f 8; exec {hw.HEAPWISE} bundle -o {folder}/out.tar {path}"])
    hw.need(ended.status != 0 and (folder / "out.tar").read_text() == "before", f"{ended}")
    heapwise("bundle", "-o", folder / "none/out.tar", path, status=4)
    heapwise("bundle", "-o", "-", path, status=2)
    heapwise("bundle", path, path, status=2)
    heapwise("bundle", folder / "nothing.hpw", status=3)
    heapwise("bundle", app / "main", status=3)
    for name in ("a.hpw", "x"):
        shutil.copy(path, folder / name) if name == "x" else None
        heapwise("bundle", folder / name, cwd=folder)
    hw.need((folder / "a.bundle.tar.zst").exists() and (folder / "x.bundle.tar.zst").exists(), "names of their own")


MANIFEST = json.dumps({"schema": "heapwise.bundle/1", "recording": "recording/a.hpw", "files": [], "missing": []}).encode()


def member(name, data=b"", kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data)
    return info, data


def tar(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def sparse(size):
    """An old GNU sparse file: a hole of that size, and 512 bytes behind it."""
    info = tarfile.TarInfo("sysroot/hole")
    info.type, info.size = tarfile.GNUTYPE_SPARSE, 512
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[386:398], block[398:410] = b"%011o " % size, b"%011o " % 512
    block[483:495] = b"%011o " % (size + 512)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + bytes(512) + bytes(1024)


def hostile(folder):
    good = member("manifest.json", MANIFEST)
    recording = member("recording/a.hpw", (folder / "a.hpw").read_bytes())
    zeros = gzip.compress(bytes(64 << 20), 1)
    yield "up", tar(good, recording, member("sysroot/../../../evil", b"x")), "is not what a bundle"
    yield "up at once", tar(member("../evil", b"x"), good), "is not what a bundle"
    yield "absolute", tar(good, recording, member(f"{folder}/evil", b"x")), "is not what a bundle"
    yield "absolute in two", tar(good, recording, member("/sysroot/evil", b"x")), "is not what a bundle"
    yield "symlink", tar(good, member("sysroot/a", kind=tarfile.SYMTYPE, link=str(folder)),
                         member("sysroot/a/evil", b"x")), "is a link"
    yield "symlink to a folder", tar(good, member("recording", kind=tarfile.SYMTYPE, link=str(folder)), recording), "is a link"
    yield "hard link", tar(good, member("sysroot/a", kind=tarfile.LNKTYPE, link=str(folder / "a.hpw")), recording), "is a link"
    yield "device", tar(good, member("sysroot/a", kind=tarfile.CHRTYPE), recording), "not a regular file"
    yield "pipe", tar(good, member("sysroot/a", kind=tarfile.FIFOTYPE), recording), "not a regular file"
    yield "twice", tar(good, recording, recording), "twice"
    yield "two manifests", tar(good, good, recording), "twice"
    yield "below a file", tar(good, recording, member("recording/a.hpw/b", b"x")), "lies in what is a file"
    yield "file for a folder", tar(good, member("sysroot/a/b", b"x"), member("sysroot/a", b"x")), "twice"
    yield "other files", tar(member("src/main.c", b"x")), "is not what a bundle"
    yield "a control character", tar(good, member("\x1b[31m/evil", b"x")), "is not what a bundle"
    yield "deep", tar(good, member("sysroot/" + "d/" * 900 + "f", b"x")), "is not what a bundle"
    yield "a long name", tar(good, member("sysroot/" + "d" * 5000, b"x")), "is not what a bundle"
    yield "many files", gzip.compress(tar(good, *[member(f"sysroot/{n}") for n in range(20000)]), 1), "16384 files"
    yield "many folders", gzip.compress(tar(good, *[member(f"sysroot/{n}/" + "a/" * 30 + "f") for n in range(300)]), 1), "too many"
    yield "no manifest", tar(recording), "no manifest.json"
    yield "no recording", tar(good), "should be its recording"
    yield "recording elsewhere", tar(member("manifest.json", MANIFEST.replace(b"recording/a.hpw", b"../a.hpw")), recording), "the path of its recording"
    yield "recording a folder", tar(good, member("recording/a.hpw/b", b"x")), "should be its recording"
    yield "newer", tar(member("manifest.json", MANIFEST.replace(b"bundle/1", b"bundle/2")), recording), "newer heapwise"
    yield "another manifest", tar(member("manifest.json", b'{"schema": 3}'), recording), "not of a bundle"
    yield "no JSON", tar(member("manifest.json", b"[" * 100000), recording), "is not JSON"
    yield "no recording in it", tar(good, member("recording/a.hpw", b"\x7fELF....")), "ELF"
    yield "a bundle in it", tar(good, member("recording/a.hpw", tar(good, recording))), "unrecognised file format"
    yield "cut off", tar(good, recording)[:2048], "damaged"
    yield "cut off, packed", gzip.compress(tar(good, recording))[:-400], "damaged"
    yield "a hole", tar(good)[:2048 - 1024] + sparse(7 << 30), "no bundle is so"
    bomb = tarfile.TarInfo("sysroot/bomb")
    bomb.size = 10 << 30
    yield "a bomb", gzip.compress(tar(good)[:1024] + bomb.tobuf(tarfile.GNU_FORMAT), 9) + zeros * 3, "no bundle is so"
    yield "a bomb in a header", gzip.compress(tar(good)[:1024] + pax_header(10 << 30), 9) + zeros * 3, ""
    yield "a bomb of nothing", gzip.compress(tar(good)[:1024], 9) + zeros * 3, ""


def pax_header(size):
    info = tarfile.TarInfo("h")
    info.type, info.size = tarfile.XHDTYPE, size
    return info.tobuf(tarfile.GNU_FORMAT)


def cpu_seconds():
    """Of all children that have ended: what a busy machine does not change."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@TESTS.test
def hostile_bundles(folder):
    """Paths that leave, links, devices, names twice, bombs, damage: exit 3 with a reason, nothing written elsewhere"""
    hw.record(["/bin/true"], folder / "a.hpw")
    home = folder / "home"
    home.mkdir()
    for name, data, reason in hostile(folder):
        (folder / "h.tar").write_bytes(data)
        before = sorted(path.name for path in folder.iterdir())
        used = cpu_seconds()
        ended = hw.run(["sh", "-c", f"ulimit -v 2000000; exec {hw.HEAPWISE} report {folder}/h.tar"]
                       if os.environ.get("HW_SANITIZERS", "none") == "none" else [hw.HEAPWISE, "report", folder / "h.tar"],
                       env=hw.clean_environment(HOME=home, XDG_STATE_HOME=home / "state"))
        hw.need(ended.status == 3 and reason in ended.errors and "h.tar" in ended.errors, f"{name}: {ended}")
        hw.need("\x1b" not in ended.errors, f"{name}: {ended}")
        hw.need(cpu_seconds() - used < 30, f"{name} took {cpu_seconds() - used:.1f} s of CPU time")
        hw.need(sorted(path.name for path in folder.iterdir()) == before, f"{name}: {sorted(folder.iterdir())}")
        left = [path for path in home.rglob("*") if path.is_file()]
        hw.need(not left, f"{name}: {left}")


TESTS.main(always=hostile_bundles.__doc__[:20])
