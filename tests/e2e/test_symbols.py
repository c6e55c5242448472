#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and lines wherever their files are: below another root, in folders, split off, packed, wrong."""

import json
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()

PLACES = """
#include <cstdio>
#include <cstdlib>

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
	std::printf("%p%p\\n", (void *)d, (void *)c);
	return 0;
}
"""
# Sites by their sizes.
SIZES = (7001 * 8, 7003)
OURS = ["shop::Shelf<double>::fill", "shop::Shelf<double>::put", "main", "take", "order", "main"]


def shell(folder, *commands):
    for command in commands:
        ended = hw.run(["sh", "-ec", command], cwd=folder)
        hw.need(ended.status == 0, f"{command}: {ended}")


def write_source(folder):
    (folder / "places.cc").write_text(PLACES)


def build(folder, compiler="g++", flags=""):
    """The program with debug information, at folder/places."""
    hw.need_program(compiler)
    write_source(folder)
    shell(folder, f"{compiler} -g -O2 {flags} places.cc -o places")
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
    hw.need(all(frame[1].endswith("places.cc") and frame[2] for frame in found), f"{found}")
    hw.need([frame[3] for frame in found] == [False, True, False, True, False, False], f"{found}")
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
    shell(folder, "mv places whole", "sed s/order/other/ places.cc > second.cc", "g++ -g -O2 second.cc -o second",
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
    hw.need("no longer the file that was recorded" in ended.text, ended.text)


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
            hw.need("no folder" in refused(command, option, "/nowhere", folder / "a.hpw"), f"{command} {option}")
        (folder / "file").write_text("")
        hw.need("no folder" in refused("report", option, folder / "file", folder / "a.hpw"), option)


TESTS.main()
