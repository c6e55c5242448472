#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and lines wherever their files are: below another root, in folders, split off, packed, wrong."""

import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import documented
import hw
from processes import free_port

TESTS = hw.Tests()

PLACES = """
#include <cstdio>
#include <cstdlib>

char *second_unit(int n);
namespace shop {
template <typename T> struct Shelf {
	T *put(int n) { T *made = fill(n); made[0] = 1; return made; }
	__attribute__((noinline)) T *fill(int n)
	{
		T *made = static_cast<T *>(std::malloc(sizeof(T) * static_cast<unsigned>(n)));
		made[1] = 2;
		return made;
	}
};
}
static inline __attribute__((always_inline)) char *take(int n)
{
	return static_cast<char *>(std::calloc(1, static_cast<unsigned>(n)));
}
static __attribute__((noinline)) char *order(int n)
{
	char *made = take(n);
	made[0] = 1;
	return made;
}
int main()
{
	shop::Shelf<double> shelf;
	volatile double *d = shelf.put(7001);
	char *c = order(7003);
	char *e = second_unit(7011);
	std::printf("%p%p%p\\n", (void *)d, (void *)c, (void *)e);
	return 0;
}
"""
SECOND = """
#include <cstdlib>
char *second_unit(int n);
namespace {
inline __attribute__((always_inline)) char *box(int n)
{
	char *made = static_cast<char *>(std::malloc(static_cast<unsigned>(n)));
	made[0] = 3;
	return made;
}
}
__attribute__((noinline)) char *second_unit(int n)
{
	char *made = box(n);
	if (n < 0)
		std::abort();
	made[1] = 4;
	return made;
}
"""
# Sites by their sizes.
SIZES = (7001 * 8, 7003, 7011)
OURS = ["shop::Shelf<double>::fill", "shop::Shelf<double>::put", "main", "take", "order", "main",
        "(anonymous namespace)::box", "second_unit", "main"]
INLINED = [False, True, False, True, False, False, True, False, False]


def shell(folder, *commands):
    for command in commands:
        ended = hw.run(["sh", "-ec", command], cwd=folder)
        hw.need(ended.status == 0, f"{command}: {ended}")


def write_source(folder):
    (folder / "places.cc").write_text(PLACES)
    (folder / "second.cc").write_text(SECOND)


def build(folder, compiler="g++", flags=""):
    """The program with debug information, at folder/places."""
    hw.need_program(compiler)
    write_source(folder)
    shell(folder, f"{compiler} -g -O2 {flags} -c places.cc", f"{compiler} -g -O2 {flags} -c second.cc",
          f"{compiler} {flags} second.o places.o -o places")
    return folder / "places"


def recorded(folder, program, name="a.hpw"):
    path = folder / name
    ended = hw.record([program], path)
    hw.need(ended.status == 0 and path.exists(), f"nothing was recorded: {ended}")
    return path


def frames(path, *options, **more):
    """What is known of the frames in the program itself, of both sites."""
    ended = hw.run([hw.HEAPWISE, "report", path, "--json", "--view", "sites", *options], **more)
    hw.need(ended.status == 0, f"report: {ended}")
    found = {}
    for site in json.loads(ended.text)["sites"]:
        if site["max_size"] in SIZES:
            found[site["max_size"]] = [
                (frame["function"], frame["file"], frame["line"], frame["inlined"])
                for frame in site["stack"] if Path(frame["module"] or "?").name == "places"]
    return [frame for size in SIZES for frame in found[size] if frame[0] != "_start"]


def functions(found):
    return [frame[0] for frame in found]


def whole(folder, path):
    """The frames with all that is known, which is what the source says."""
    found = frames(path)
    hw.need(functions(found) == OURS, f"{functions(found)}")
    hw.need(all(frame[1].endswith((".cc")) and frame[2] for frame in found), f"{found}")
    hw.need([frame[3] for frame in found] == INLINED, f"{found}")
    return found


def build_id(program):
    text = hw.run(["readelf", "-n", program]).text
    return text.split("Build ID:")[1].split()[0]


def hidden(folder, found, *options, **more):
    """No names are left without help; with the options all are there."""
    path = folder / "a.hpw"
    bare = frames(path)
    hw.need(not any(frame[2] for frame in bare), f"lines without the files: {bare}")
    helped = frames(path, *options, **more)
    hw.need(helped == found, f"{options} {more}: {helped}, not {found}")


def refused(*arguments):
    ended = hw.run([hw.HEAPWISE, *arguments])
    hw.need(ended.status == 2 and not ended.text, f"{arguments}: {ended}")
    return ended.errors


@TESTS.test
def system_root(folder):
    """--sysroot: paths are looked up below the folder, links in them too"""
    program = build(folder)
    path = recorded(folder, program)
    found = whole(folder, path)
    root = folder / "root"
    inside = root / str(folder).lstrip("/")
    inside.mkdir(parents=True)
    (root / "store").mkdir()
    # An absolute link is one below the root.
    os.rename(program, root / "store/places-1.2")
    (inside / "places").symlink_to("/store/places-1.2")
    hidden(folder, found, "--sysroot", root)
    # libc is not below it: no name for it comes from outside.
    ended = hw.run([hw.HEAPWISE, "report", path, "--json", "--view", "sites", "--all-frames", "--sysroot", root])
    outside = [frame for site in json.loads(ended.text)["sites"] for frame in site["stack"]
               if "libc.so" in (frame["module"] or "")]
    hw.need(outside and not any(frame["function"] or frame["file"] for frame in outside), f"{outside}")


@TESTS.test
def system_root_links_stay_inside(folder):
    """--sysroot: no link leads out of the folder, and none that runs in a circle holds us up"""
    program = build(folder)
    path = recorded(folder, program)
    root = folder / "root"
    inside = root / str(folder).lstrip("/")
    inside.mkdir(parents=True)
    os.rename(program, folder / "elsewhere")
    up = "../" * 40
    for target in (folder / "elsewhere", f"{up}{str(folder).lstrip('/')}/elsewhere", inside / "places", "places"):
        (inside / "places").unlink(missing_ok=True)
        (inside / "places").symlink_to(target)
        found = frames(path, "--sysroot", root)
        hw.need(not any(frame[0] for frame in found), f"{target}: {found}")


@TESTS.test
def system_root_debug_files(folder):
    """--sysroot: debug files are found below it, by build-id and by link"""
    program = build(folder)
    path = recorded(folder, program)
    found = whole(folder, path)
    identity = build_id(program)
    root = folder / "root"
    inside = root / str(folder).lstrip("/")
    by_id = root / f"usr/lib/debug/.build-id/{identity[:2]}"
    by_link = root / f"usr/lib/debug{folder}"
    shell(folder, f"mkdir -p {inside} {by_id} {by_link}",
          "objcopy --only-keep-debug places places.debug",
          "strip places",
          "objcopy --add-gnu-debuglink=places.debug places",
          f"mv places {inside}/places",
          f"cp places.debug {by_id}/{identity[2:]}.debug")
    hidden(folder, found, "--sysroot", root)
    for place in (by_link, inside, inside / ".debug"):
        shell(folder, f"rm -rf {root}/usr/lib/debug/.build-id", f"mkdir -p {place}",
              f"cp places.debug {place}/")
        hidden(folder, found, "--sysroot", root)
        (place / "places.debug").unlink()


@TESTS.test
def symbol_path(folder):
    """--symbol-path and PPROF_BINARY_PATH: by build-id in three layouts, by name; the program or its debug file"""
    program = build(folder)
    path = recorded(folder, program)
    found = whole(folder, path)
    identity = build_id(program)
    shell(folder, "objcopy --only-keep-debug places split", "mv places whole", "mkdir empty")
    places = [f".build-id/{identity[:2]}/{identity[2:]}.debug", f".build-id/{identity[:2]}/{identity[2:]}",
              f"{identity[:2]}/{identity[2:]}.debug", f"{identity}/places", f"{identity}/anything", "places",
              "places.debug", str(folder / "places").lstrip("/")]
    for place in places:
        for kind in ("whole", "split"):
            store = folder / "store"
            shutil.rmtree(store, ignore_errors=True)
            (store / place).parent.mkdir(parents=True)
            shutil.copy(folder / kind, store / place)
            hidden(folder, found, "--symbol-path", f"{folder}/empty:{store}")
            environment = hw.clean_environment(PPROF_BINARY_PATH=f"/nowhere:{store}")
            helped = frames(path, env=environment)
            hw.need(helped == found, f"PPROF_BINARY_PATH, {place}, {kind}: {helped}")


@TESTS.test
def debug_file_directory(folder):
    """--debug-file-directory: as GDB's, by build-id and by link"""
    program = build(folder)
    path = recorded(folder, program)
    found = whole(folder, path)
    identity = build_id(program)
    by_id = folder / f"store/.build-id/{identity[:2]}"
    by_link = folder / f"store{folder}"
    shell(folder, f"mkdir -p {by_id} {by_link}",
          f"objcopy --only-keep-debug places {by_id}/{identity[2:]}.debug",
          "strip places")
    hidden(folder, found, "--debug-file-directory", folder / "store")
    shell(folder, f"mv {by_id}/*.debug {by_link}/places.debug", f"cp {by_link}/places.debug other.debug",
          f"cp {by_link}/places.debug places.debug", "objcopy --add-gnu-debuglink=places.debug places",
          "rm places.debug other.debug")
    hidden(folder, found, "--debug-file-directory", folder / "store")


@TESTS.test
def other_builds(folder):
    """Files of another build, cut short or no ELF files are not used, wherever they lie"""
    program = build(folder)
    path = recorded(folder, program)
    found = whole(folder, path)
    identity = build_id(program)
    shell(folder, "mv places whole", "sed s/order/other/ places.cc > other.cc", "g++ -g -O2 other.cc second.cc -o second",
          "objcopy --only-keep-debug whole good.debug", "objcopy --only-keep-debug second second.debug",
          "head -c 4000 good.debug > cut.debug", "head -c 100000 /dev/zero > zero.debug",
          "objcopy --remove-section .note.gnu.build-id good.debug unknown.debug")
    places = [f".build-id/{identity[:2]}/{identity[2:]}.debug", f"{identity}/places", "places", "places.debug"]
    for place in places:
        for kind in ("second", "second.debug", "cut.debug", "zero.debug", "unknown.debug", "places.cc"):
            store = folder / "store"
            shutil.rmtree(store, ignore_errors=True)
            (store / place).parent.mkdir(parents=True)
            shutil.copy(folder / kind, store / place)
            bare = frames(path, "--symbol-path", store, "--debug-file-directory", store)
            hw.need(not any(frame[0] or frame[2] for frame in bare), f"{kind} at {place}: {bare}")
    # What is good is found behind what is not.
    store = folder / "store"
    shutil.copy(folder / "second", store / "places")
    (store / identity).mkdir()
    shutil.copy(folder / "cut.debug", store / identity / "a")
    shutil.copy(folder / "good.debug", store / identity / "b")
    hidden(folder, found, "--symbol-path", store)
    # The program's own path has another build now.
    shutil.copy(folder / "second", folder / "places")
    ended = hw.run([hw.HEAPWISE, "report", path])
    hw.need("has changed since it was recorded" in ended.text, ended.text)


@TESTS.test
def all_commands(folder):
    """Every command that shows stacks finds names so"""
    program = build(folder)
    path = folder / "a.hpw"
    ended = hw.record([program], path, options=("-q", "--leak-check=full"))
    hw.need(path.exists(), f"{ended}")
    store = folder / "store"
    store.mkdir()
    os.rename(program, store / "places")
    for words in (["report", path], ["report", "--view", "sites", path], ["tree", path], ["flame", path],
                  ["graph", path], ["timeline", path], ["export", path, "--format", "folded", "-o", "-"],
                  ["diff", f"{path}@start", path], ["diff", "--trend", f"{path}@start", path],
                  ["tree", "--base", f"{path}@start", path], ["budget", "--max-never-freed", "1", path],
                  ["budget", "--max-never-freed", "1", "--baseline", f"{path}@start", path],
                  ["leaks", "--show-leak-kinds=all", path], ["list", "order", path]):
        ended = hw.run([hw.HEAPWISE, *words, "--symbol-path", store])
        hw.need(ended.status in (0, 1) and "order" in ended.text, f"{words}: {ended} {ended.text}")


@TESTS.test
def leak_check_of_a_run(folder):
    """run --leak-check names what it shows at the end from such files too"""
    program = build(folder)
    identity = build_id(program)
    by_id = folder / f"store/.build-id/{identity[:2]}"
    shell(folder, f"mkdir -p {by_id}", f"objcopy --only-keep-debug places {by_id}/{identity[2:]}.debug", "strip places")
    ended = hw.record([program], folder / "b.hpw", options=(
        "--leak-check=full", "--show-leak-kinds=all", "--symbol-path", folder / "store"))
    hw.need("places.cc:" in ended.errors and "order" in ended.errors, f"{ended}")


@TESTS.test
def folders_that_are_none(folder):
    """A folder that is none is said, and nothing is shown"""
    recorded(folder, "/bin/true")
    for option in ("--sysroot", "--symbol-path", "--debug-file-directory"):
        for command in ("report", "tree", "leaks", "diff", "budget"):
            hw.need("is not a directory" in refused(command, option, "/nowhere", folder / "a.hpw"), f"{command} {option}")
        (folder / "file").write_text("")
        hw.need("is not a directory" in refused("report", option, folder / "file", folder / "a.hpw"), option)


COMPILERS = ("g++", "clang++")


def notes(path, *options):
    return "\n".join(hw.report(path, "--view", "sites", *options)["notes"])


def fewer(path, found, *options):
    """Names may be missing, but none is wrong; no inlined function is known."""
    less = frames(path, *options)
    right = {(frame[0], frame[1]) for frame in found}
    wrong = [frame for frame in less if frame[0] and (frame[0], frame[1]) not in right
             and (frame[1] or frame[0] not in functions(found))]
    hw.need(not wrong, f"wrong names: {wrong}")
    hw.need(not any(frame[3] for frame in less), f"inlined functions from nowhere: {less}")
    return less


@TESTS.test
def stripped(folder):
    """Debug information that was split off, found by link and by build-id, is as good as the program's own"""
    for compiler in COMPILERS:
        program = build(folder, compiler, "-Wl,--build-id")
        path = recorded(folder, program, f"{compiler}.hpw")
        found = whole(folder, path)
        identity = build_id(program)
        shell(folder, "objcopy --only-keep-debug places places.debug", "strip places",
              "objcopy --add-gnu-debuglink=places.debug places")
        hw.need(frames(path) == found, f"{compiler}: by link beside: {frames(path)}")
        shell(folder, "mkdir -p .debug", "mv places.debug .debug/")
        hw.need(frames(path) == found, f"{compiler}: by link in .debug: {frames(path)}")
        shell(folder, f"mkdir -p store/.build-id/{identity[:2]}",
              f"mv .debug/places.debug store/.build-id/{identity[:2]}/{identity[2:]}.debug")
        hw.need(frames(path, "--debug-file-directory", folder / "store") == found, f"{compiler}: by build-id")
        fewer(path, found)


@TESTS.test
def mini_debug_information(folder):
    """.gnu_debugdata names functions that are not exported, of a stripped program"""
    hw.need_program("xz")
    program = build(folder)
    path = recorded(folder, program)
    found = whole(folder, path)
    shell(folder, "objcopy --only-keep-debug --strip-debug places mini", "xz -k mini", "strip places",
          "objcopy --add-section .gnu_debugdata=mini.xz places")
    less = fewer(path, found)
    hw.need(functions(less) == [name for name, inlined in zip(OURS, INLINED) if not inlined], f"{functions(less)}")


@TESTS.test
def packed_sections(folder):
    """Sections packed by zlib in both forms read as others do; by zstd too, or it is said that they can't be"""
    program = build(folder)
    path = recorded(folder, program)
    found = whole(folder, path)
    shell(folder, "cp places plain")
    for form in ("zlib-gabi", "zlib-gnu"):
        shell(folder, f"objcopy --compress-debug-sections={form} plain places")
        sections = hw.run(["readelf", "-SW", program]).text
        hw.need(".zdebug_info" in sections if form == "zlib-gnu" else " C " in sections, f"{form}: not packed")
        hw.need(frames(path) == found, f"{form}: {frames(path)}")
    if hw.run(["objcopy", "--compress-debug-sections=zstd", "plain", "places"], cwd=folder).status == 0:
        if frames(path) != found:
            hw.need("zstd" in notes(path), notes(path))
            less = fewer(path, found)
            hw.need(functions(less) == [name for name, inlined in zip(OURS, INLINED) if not inlined], f"{less}")


@TESTS.test
def shared_debug_information(folder):
    """dwz: what debug files share is found as they name it and by build-id; never another file"""
    hw.need_program("dwz")
    program = build(folder, flags="-gdwarf-4")
    path = recorded(folder, program)
    found = whole(folder, path)
    identity = build_id(program)
    shell(folder, "objcopy --only-keep-debug places one.debug", "cp places plain",
          "g++ -g -gdwarf-4 -O2 -DTWICE places.cc second.cc -o twin", "objcopy --only-keep-debug twin two.debug",
          "mkdir -p debug/.build-id debug/.dwz",
          "dwz -m debug/.dwz/common -M ../../../debug/.dwz/common one.debug two.debug",
          "strip places", f"mkdir -p debug/.build-id/{identity[:2]}",
          f"mv one.debug debug/.build-id/{identity[:2]}/{identity[2:]}.debug")
    common = folder / "debug/.dwz/common"
    options = ("--debug-file-directory", folder / "debug")
    hw.need(".gnu_debugaltlink" in hw.run(["readelf", "-SW", folder / f"debug/.build-id/{identity[:2]}/{identity[2:]}.debug"]).text,
            "dwz shared nothing")
    hw.need(frames(path, *options) == found, f"{frames(path, *options)}")
    shared = build_id(common)
    by_id = folder / f"debug/.build-id/{shared[:2]}"
    shell(folder, f"mkdir -p {by_id}", f"mv {common} {by_id}/{shared[2:]}.debug")
    hw.need(frames(path, *options) == found, f"by build-id: {frames(path, *options)}")
    # Below another root.
    shell(folder, "mkdir -p root/usr/lib", "mv debug root/usr/lib/debug")
    hw.need(frames(path, "--sysroot", folder / "root") == found, "below --sysroot")
    shell(folder, f"mv root/usr/lib/debug/.build-id/{shared[:2]}/{shared[2:]}.debug common", "mv root/usr/lib/debug debug")
    for kind in ("missing", "twin", "cut"):
        if kind == "twin":
            shell(folder, f"cp two.debug {common}")
        if kind == "cut":
            shell(folder, f"head -c 3000 common > {common}")
        less = fewer_or_equal(path, found, *options)
        hw.need(less != found and "dwz" in notes(path, *options), f"{kind}: {less}, {notes(path, *options)}")
    shell(folder, "mkdir store", "cp common store/common")
    hw.need(frames(path, *options, "--symbol-path", folder / "store") == found, "--symbol-path")


def fewer_or_equal(path, found, *options):
    less = frames(path, *options)
    known = set(functions(found)) | {None}
    hw.need(all(frame[0] in known for frame in less), f"wrong names: {less}")
    return less


@TESTS.test
def split_units(folder):
    """-gsplit-dwarf: .dwo files beside the program, where they were compiled, in other folders and below another root"""
    for compiler in COMPILERS:
        for version in (5, 4):
            place = folder / f"{compiler}{version}"
            place.mkdir()
            program = build(place, compiler, f"-gdwarf-{version} -gsplit-dwarf")
            hw.need(list(place.glob("*.dwo")), "no .dwo files")
            path = recorded(place, program)
            found = whole(place, path)
            told = f"{compiler}, DWARF {version}"
            # The unsplit build says the same.
            (place / "unsplit").mkdir()
            unsplit = build(place / "unsplit", compiler, f"-gdwarf-{version}")
            same = whole(place, recorded(place / "unsplit", unsplit))
            hw.need([(f[0], Path(f[1]).name, *f[2:]) for f in same] == [(f[0], Path(f[1]).name, *f[2:]) for f in found],
                    f"{told}: {same}, split: {found}")
            # The program went elsewhere; the .dwo files are where they were compiled.
            shell(place, "mkdir away", "mv places away/places")
            hw.need(frames(path, "--symbol-path", place / "away") == found, f"{told}: compiled there")
            # … and are beside it.
            shell(place, "mv *.dwo away/")
            hw.need(frames(path, "--symbol-path", place / "away") == found, f"{told}: beside it")
            shell(place, "mkdir store", "mv away/*.dwo store/")
            options = ("--symbol-path", f"{place}/away:{place}/store")
            hw.need(frames(path, *options) == found, f"{told}: in a folder: {frames(path, *options)}")
            root = place / "root"
            inside = root / str(place).lstrip("/")
            shell(place, f"mkdir -p {inside}", f"mv store/*.dwo {inside}", f"cp away/places {inside}")
            hw.need(frames(path, "--sysroot", root) == found, f"{told}: below --sysroot")
            shell(place, f"mv {inside}/*.dwo store/")
            # Gone, then those of another build.
            shell(place, "mv away/places places")
            less = fewer(path, found)
            hw.need(functions(less) == [name for name, inlined in zip(OURS, INLINED) if not inlined], f"{told}: {less}")
            hw.need("split debug information" in notes(path), notes(path))
            shell(place, "mkdir stale", "sed 's/take/taken/g' places.cc > stale/places.cc",
                  "sed 's/box/boxed/g' second.cc > stale/second.cc",
                  f"cd stale && {compiler} -g -O2 -gdwarf-{version} -gsplit-dwarf -c places.cc second.cc",
                  "cp stale/*.dwo .")
            fewer(path, found)
            hw.need("split debug information" in notes(path), notes(path))
            for file in store_files(place / "store"):
                (place / file.name).write_bytes(file.read_bytes()[:500])
            fewer(path, found)


def store_files(folder):
    return sorted(folder.glob("*.dwo"))


def packages(place, compiler, version, packer, damages):
    """A .dwp that `packer` makes of all .dwo files in its folder; damaged at so many places."""
    place.mkdir()
    told = f"{compiler}, DWARF {version}, {packer}"
    program = build(place, compiler, f"-gdwarf-{version} -gsplit-dwarf")
    path = recorded(place, program)
    found = whole(place, path)
    shell(place, f"{packer} *.dwo -o places.dwp", "mkdir dwo", "mv *.dwo dwo/")
    hw.need(frames(path) == found, f"{told}: beside it: {frames(path)}")
    shell(place, "mkdir store", "mv places.dwp store/")
    fewer(path, found)
    hw.need(frames(path, "--symbol-path", place / "store") == found, f"{told}: in a folder")
    root = place / "root"
    inside = root / str(place).lstrip("/")
    shell(place, f"mkdir -p {inside}", f"cp places store/places.dwp {inside}/")
    hw.need(frames(path, "--sysroot", root) == found, f"{told}: below --sysroot")
    shell(place, "mkdir stale", "sed 's/take/taken/g' places.cc > stale/places.cc",
          "sed 's/box/boxed/g' second.cc > stale/second.cc",
          f"cd stale && {compiler} -g -O2 -gdwarf-{version} -gsplit-dwarf -c places.cc second.cc && {packer} *.dwo -o ../places.dwp")
    fewer(path, found)
    whole_package = (place / "store/places.dwp").read_bytes()
    for cut in range(64, len(whole_package), max(1, len(whole_package) // damages)):
        (place / "places.dwp").write_bytes(whole_package[:cut])
        fewer(path, found)
    # Damaged inside: whatever is said, it is said, and no crash.
    for at in range(64, len(whole_package), max(1, len(whole_package) // damages)):
        damaged = bytearray(whole_package)
        damaged[at:at + 4] = b"\xff" * 4
        (place / "places.dwp").write_bytes(damaged)
        frames(path)


@TESTS.test
def split_packages(folder):
    """.dwp: all .dwo files in one, beside the program, in a folder or below another root; only the right one"""
    hw.need_program("llvm-dwp")
    # llvm-dwp 14 never ends with GCC's files, and GNU dwp knows no DWARF 5.
    packages(folder / "new", "clang++", 5, "llvm-dwp", 40)


@TESTS.test
def split_packages_old(folder):
    """.dwp of DWARF 4, whose index is of version 2, made by the packers of binutils and of LLVM"""
    hw.need_program("dwp")
    packages(folder / "gnu", "g++", 4, "dwp", 10)
    packages(folder / "clang", "clang++", 4, "dwp", 2)
    if shutil.which("llvm-dwp"):
        packages(folder / "llvm", "clang++", 4, "llvm-dwp", 2)


class Server:
    """A debuginfod over a folder, on loopback."""

    def __init__(self, folder, store):
        hw.need_program("debuginfod")
        self.port = free_port()
        self.log = folder / "server.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["debuginfod", "-v", "-F", "-d", ":memory:", "-p", str(self.port), store], stdout=log, stderr=log,
                start_new_session=True)
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        hw.wait_until(self.is_ready, "the server does not become ready", hw.TIMEOUT)
        return self

    def is_ready(self):
        """Its first look at the folder is over."""
        hw.need(self.process.poll() is None, f"no server: {self.log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"{self.url}/metrics", timeout=5) as answer:
                return b'thread_work_total{role="traverse"} 1' in answer.read()
        except OSError:
            return False

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def asked(self):
        return self.log.read_text(errors="replace").count("GET /buildid/")


def debuginfod_environment(folder, url, **more):
    return hw.clean_environment(DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=folder / "cache", HOME=folder, **more)


@TESTS.test
def debuginfod(folder):
    """Servers are asked if that is allowed, and never otherwise; a file that was fetched is used again"""
    program = build(folder)
    path = recorded(folder, program)
    found = whole(folder, path)
    shell(folder, "mkdir store", "objcopy --only-keep-debug places store/places.debug", "strip places")
    with Server(folder, folder / "store") as server:
        before = server.asked()
        environment = debuginfod_environment(folder, server.url)
        hw.need(frames(path, env=environment) != found, "asked without being allowed to")
        other = debuginfod_environment(folder, server.url, HEAPWISE_DEBUGINFOD="0")
        frames(path, env=other)
        hw.need(server.asked() == before, "a server was asked")
        hw.need(frames(path, "--debuginfod", env=environment) == found, "--debuginfod")
        hw.need(server.asked() > before, "no server was asked")
    # From its own cache, without a server.
    hw.need(frames(path, env=debuginfod_environment(folder, server.url, HEAPWISE_DEBUGINFOD="1")) == found, "kept")
    # Nobody answers: said once, and the rest is shown.
    shutil.rmtree(folder / "cache")
    ended = hw.run([hw.HEAPWISE, "report", path, "--view", "sites", "--debuginfod"],
                   env=debuginfod_environment(folder, server.url))
    hw.need(ended.status == 0 and ended.errors.count("no more debug files are requested") == 1, f"{ended}")
    ended = hw.run([hw.HEAPWISE, "report", path, "--debuginfod"], env=debuginfod_environment(folder, ""))
    hw.need(ended.status == 0 and "DEBUGINFOD_URLS" in ended.errors, f"{ended}")
    for wrong in ("0", "x", "-1", "99999999"):
        refused("report", f"--debuginfod={wrong}", path)


@TESTS.test
def debuginfod_that_hangs(folder):
    """A server that never answers costs the time that is allowed, once; one that lies gives no names"""
    program = build(folder)
    path = recorded(folder, program)
    shell(folder, "strip places")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        begun = time.monotonic()
        ended = hw.run([hw.HEAPWISE, "report", path, "--view", "sites", "--debuginfod=2"],
                       env=debuginfod_environment(folder, url))
        took = time.monotonic() - begun
        hw.need(ended.status == 0 and took < 20, f"{took:.1f} s: {ended}")
        hw.need(ended.errors.count("took too long") == 1, f"{ended}")
    (folder / "lies").mkdir()
    shell(folder, "sed s/order/other/ places.cc > other.cc", "g++ -g -O2 other.cc second.cc -o other")
    lie = (folder / "other").read_bytes()

    class Liar(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(lie)))
            self.end_headers()
            self.wfile.write(lie)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            bare = frames(path, "--debuginfod",
                          env=debuginfod_environment(folder, f"http://127.0.0.1:{server.server_port}"))
        finally:
            server.shutdown()
            thread.join()
    hw.need(not any(frame[0] or frame[2] for frame in bare), f"{bare}")


@TESTS.test
def forms_of_names(folder):
    """--names: short, full with parameters, raw as the linker has them; figures and places stay"""
    for compiler in COMPILERS:
        program = build(folder, compiler)
        path = recorded(folder, program, f"{compiler}.hpw")
        found = whole(folder, path)
        hw.need(frames(path, "--names", "short") == found, "short is not the default")
        wanted = {
            "full": {0: "shop::Shelf<double>::fill(int)", 1: "shop::Shelf<double>::put(int)", 2: "main",
                     4: "order(int)", 7: "second_unit(int)"},
            "raw": {0: "_ZN4shop5ShelfIdE4fillEi", 1: "_ZN4shop5ShelfIdE3putEi", 2: "main",
                    4: "_ZL5orderi", 7: "_Z11second_uniti"},
        }
        for form, names in wanted.items():
            shown = frames(path, "--names", form)
            hw.need([frame[1:] for frame in shown] == [frame[1:] for frame in found], f"{form}: {shown}")
            wrong = {i: shown[i][0] for i in names if not shown[i][0].startswith(names[i])}
            hw.need(not wrong, f"{compiler}, {form}: {wrong}")
            # From a symbol table alone.
            shell(folder, "cp places with", "strip -g places")
            table = functions(frames(path, "--names", form))
            # GCC calls a copy of its own order(int) [clone .constprop.0].
            hw.need(all(table[n].startswith(names.get(i, "main")) for n, i in enumerate((0, 2, 4, 5, 7, 8))), f"{form}: {table}")
            shell(folder, "mv with places")
    for words in (["tree"], ["graph"], ["timeline"], ["export", "--format", "folded", "-o", "-"],
                  ["leaks", "--show-leak-kinds=all"], ["budget", "--max-never-freed", "1"]):
        ended = hw.run([hw.HEAPWISE, *words, "--names", "raw", path])
        hw.need(ended.status in (0, 1) and "_ZL5orderi" in ended.text, f"{words}: {ended} {ended.text}")
    hw.need("short, full or raw" in refused("report", "--names", "long", path), "no word of what there is")


@TESTS.test
def forms_of_names_hide_the_same(folder):
    """--names changes words alone: allocators are hidden, suppressions fit, as with short ones"""
    write_source(folder)
    (folder / "new.cc").write_text("""
#include <cstdlib>
#include <new>
void *operator new(std::size_t n) { return std::malloc(n); }
void *operator new[](std::size_t n) { return std::malloc(n); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void *volatile kept;
__attribute__((noinline)) void lose(int n) { kept = new char[static_cast<unsigned>(n)]; }
int main() { lose(7001); lose(7003); kept = nullptr; return 0; }
""")
    shell(folder, "g++ -g -O1 new.cc -o places")
    path = folder / "n.hpw"
    hw.record([folder / "places"], path, options=("-q", "--leak-check=full"))
    (folder / "known").write_text("{\n  known\n  Memcheck:Leak\n  ...\n  fun:_Z4losei\n}\n"
                                  "{\n  known too\n  Memcheck:Leak\n  ...\n  fun:lose(int)\n}\n")
    depth = set()
    for form in ("short", "full", "raw"):
        sites = hw.report(path, "--view", "sites", "--names", form)["sites"]
        depth.add(tuple(len(site["stack"]) for site in sites))
        hw.need(not any("operator new" in f["function"] or f["function"].startswith("_Zn")
                        for site in sites for f in site["stack"] if f["function"]), f"{form}: {sites}")
        ended = hw.run([hw.HEAPWISE, "leaks", "--json", "--names", form, "--suppressions", folder / "known", path])
        depth.add(json.dumps(json.loads(ended.text)["summary"], sort_keys=True)
                  if "summary" in json.loads(ended.text) else ended.text.count('"kind"'))
    hw.need(len(depth) == 2, f"{depth}")


def modules(path, *options, **more):
    ended = hw.run([hw.HEAPWISE, "symbols", path, "--json", *options], **more)
    hw.need(ended.status == 0, f"{ended}")
    found = json.loads(ended.text)
    hw.need(found["schema"] == "heapwise.symbols/1", f"{found['schema']}")
    wrong = documented.undocumented(found, set(re.findall(
        r"`(?:\w+(?:\[\])?\.)*(\w+)`", (hw.SOURCE / "docs/schema/symbols-1.md").read_text())))
    hw.need(not wrong, f"undocumented: {wrong}")
    return {Path(module["path"]).name: module for module in found["modules"]}


def result_of(module, end):
    results = [tried["result"] for tried in module["tried"] if tried["path"].endswith(end)]
    hw.need(len(results) == 1, f"{end}: {module['tried']}")
    return results[0]


@TESTS.test
def table_of_files(folder):
    """symbols: each module, which file names it and how well, what was looked at and why it was not used"""
    program = build(folder)
    path = recorded(folder, program)
    identity = build_id(program)
    ours = modules(path)["places"]
    hw.need((ours["quality"], ours["file"], ours["build_id"]) == ("dwarf", str(program), identity), f"{ours}")
    hw.need(ours["addresses"] >= 4 and ours["named"] == ours["addresses"] and ours["with_lines"] >= 3, f"{ours}")
    hw.need(result_of(ours, "/places") == "used", f"{ours}")
    shell(folder, "mkdir store", "cp places whole", "objcopy --only-keep-debug places split.debug",
          "sed s/order/other/ places.cc > other.cc", "g++ -g -O2 other.cc second.cc -o store/places",
          f"mkdir store/{identity}", f"head -c 5000 split.debug > store/{identity}/cut", f"echo > store/{identity}/text",
          f"strip -o store/{identity}/void whole", "strip -g places")
    ours = modules(path, "--symbol-path", folder / "store")["places"]
    hw.need(ours["quality"] == "symtab" and ours["with_lines"] == 0 and ours["named"], f"{ours}")
    for end, result in (("store/places", "other-build"), ("/cut", "cut-short"), ("/text", "unreadable"),
                        ("/void", "nothing-new"), ("store/places.debug", "absent")):
        hw.need(result_of(ours, end) == result, f"{end} is not {result}: {ours['tried']}")
    text = hw.run([hw.HEAPWISE, "symbols", path, "--symbol-path", folder / "store"]).text
    for words in (identity, "is from another build", "is cut off", "symbol table"):
        hw.need(words in text, f"no word of {words}: {text}")
    shell(folder, "strip places")
    hw.need(modules(path)["places"]["quality"] == "dynsym", "stripped")
    shell(folder, "cp store/places places")
    ours = modules(path)["places"]
    hw.need(ours["quality"] == "changed" and ours["file"] is None and not ours["named"], f"{ours}")
    (folder / "places").unlink()
    ours = modules(path)["places"]
    hw.need(ours["quality"] == "none" and result_of(ours, "/places") == "absent", f"{ours}")
    ours = modules(path, "--symbol-path", f"{folder}/store")["places"]
    shutil.copy(folder / "split.debug", folder / f"store/{identity}/void")
    hw.need(modules(path, "--symbol-path", folder / "store")["places"]["quality"] == "dwarf", "found again")


@TESTS.test
def table_of_files_without_build_id(folder):
    """symbols: of a module without a build-id it is said that nothing tells another file"""
    program = build(folder, flags="-Wl,--build-id=none")
    path = recorded(folder, program)
    ours = modules(path)["places"]
    hw.need(ours["build_id"] is None and ours["quality"] == "dwarf", f"{ours}")
    text = hw.run([hw.HEAPWISE, "symbols", path]).text
    hw.need("whether its file has changed is unknown" in text, text)
    hw.need(hw.run([hw.HEAPWISE, "symbols", folder / "nothing.hpw"]).status == 3, "a file that is not there")
    refused("symbols", "--nonsense", path)
    refused("symbols", path, path)


TESTS.main()
