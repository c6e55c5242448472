#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that earlier commands kept by build-id: used again, never where they could be wrong."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()

SOURCE = """
#include <cstdio>
#include <cstdlib>
namespace shop {
template <typename T> struct Shelf {
	__attribute__((noinline)) T *fill(int n)
	{
		T *made = static_cast<T *>(std::malloc(sizeof(T) * static_cast<unsigned>(n)));
		made[1] = 2;
		return made;
	}
};
}
namespace {
inline __attribute__((always_inline)) char *box(int n)
{
	char *made = static_cast<char *>(std::malloc(static_cast<unsigned>(n)));
	made[0] = 3;
	return made;
}
}
static __attribute__((noinline)) char *order(int n)
{
	char *made = box(n);
	made[1] = 1;
	return made;
}
int main(int argc, char **)
{
	shop::Shelf<double> shelf;
	volatile double *d = shelf.fill(7001);
	char *c = argc > 1 ? order(7003) : box(7011);
	std::printf("%p%p\\n", (void *)d, (void *)c);
	return 0;
}
"""
VIEWS = (
    ("report", "--json", "--view", "sites"),
    ("report",),
    ("tree",),
    ("report", "--view", "sites", "--names", "full"),
    ("report", "--view", "sites", "--names", "raw"),
    ("export", "--format", "folded"),
)


def shell(folder, *commands):
    for command in commands:
        ended = hw.run(["sh", "-ec", command], cwd=folder)
        hw.need(ended.status == 0, f"{command}: {ended}")


def settle(folder):
    """Files that changed a moment ago are not kept names of: the clock of files is that coarse."""
    newest = max(path.stat().st_ctime_ns for path in (folder, *folder.rglob("*")) if path.exists())
    end = time.monotonic() + hw.TIMEOUT
    while time.time_ns() - newest < 60_000_000:
        hw.need(time.monotonic() < end, "the clock of files is ahead")
        time.sleep(0.01)


def build(folder, compiler="g++", flags="", source=SOURCE):
    hw.need_program(compiler)
    (folder / "places.cc").write_text(source)
    shell(folder, f"{compiler} -g -O2 {flags} -c places.cc", f"{compiler} {flags} places.o -o places")
    return folder / "places"


def recorded(folder, program, *arguments, name="a.hpw"):
    path = folder / name
    ended = hw.record([program, *arguments], path)
    hw.need(ended.status == 0 and path.exists(), f"nothing was recorded: {ended}")
    return path


def environment(folder):
    """With a cache of the test's own, in which nothing is yet."""
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    return hw.clean_environment(XDG_CACHE_HOME=cache)


def kept_files(folder):
    return sorted((folder / "cache/heapwise/names").glob("*"))


def answer(path, env, view=VIEWS[0], *options):
    ended = hw.run([hw.HEAPWISE, view[0], path, *view[1:], *options], env=env)
    hw.need(ended.status == 0, f"{view}: {ended}")
    return ended.stdout


def same_as_anew(path, env, told, *options, view=VIEWS[0]):
    """What is answered with what is kept is what is found out anew; returns it."""
    kept = answer(path, env, view, *options)
    anew = answer(path, env, view, *options, "--no-symbol-cache")
    hw.need(kept == anew, f"{told}: {view} {options}: {kept.decode()[:2000]}\nanew: {anew.decode()[:2000]}")
    return kept


def module(path, env, *options, name="places"):
    ended = hw.run([hw.HEAPWISE, "symbols", "--json", path, *options], env=env)
    hw.need(ended.status == 0, f"symbols: {ended}")
    return next(m for m in json.loads(ended.text)["modules"] if Path(m["path"]).name == name)


def all_kept(path, env, told, *options):
    found = module(path, env, *options)
    hw.need(found["addresses"] > 0 and found["cached"] == found["addresses"], f"{told}: {found}")


def none_kept(path, env, told, *options):
    found = module(path, env, *options)
    hw.need(found["addresses"] > 0 and found["cached"] == 0, f"{told}: {found}")


@TESTS.test
def kept(folder):
    """What one command named the next ones take over, and answer the same to the byte"""
    forms = [(compiler, version, flags) for compiler in ("g++", "clang++") for version in (4, 5)
             for flags in ("", "-gz")]
    if hw.SANITIZERS != "none":  # the command alone, which sees no difference between compilers
        forms = [form for form in forms if form[0] == "g++"]
    for number, (compiler, version, flags) in enumerate(forms):
        place = folder / str(number)
        place.mkdir()
        program = build(place, compiler, f"-gdwarf-{version} {flags}")
        path, env = recorded(place, program), environment(place)
        told = f"{compiler}, DWARF {version} {flags}"
        settle(place)
        none_kept(path, env, f"{told}, first", "--no-symbol-cache")
        hw.need(not kept_files(place), f"{told}: --no-symbol-cache keeps some")
        none_kept(path, env, told)
        all_kept(path, env, told)
        for view in VIEWS:
            for _ in range(2):
                found = same_as_anew(path, env, told, view=view)
                hw.need(b"fill" in found and b"main" in found, f"{told}: no names: {found.decode()}")
        none_kept(path, env, told, "--no-symbol-cache")


@TESTS.test
def added(folder):
    """Addresses that other recordings of the build go through are added to those that are kept"""
    program = build(folder)
    first, second = recorded(folder, program), recorded(folder, program, "x", name="b.hpw")
    env = environment(folder)
    settle(folder)
    answer(first, env)
    found = module(second, env)
    hw.need(0 < found["cached"] < found["addresses"], f"{found}")
    all_kept(first, env, "the first")
    all_kept(second, env, "the second")
    for path in (first, second):
        hw.need(b"order" in same_as_anew(second, env, path.name), "no names")


@TESTS.test
def at_once(folder):
    """Commands that keep names of one program at the same time do each other no harm"""
    program = build(folder)
    paths = [recorded(folder, program), recorded(folder, program, "x", name="b.hpw")]
    env = environment(folder)
    settle(folder)
    wanted = [answer(path, env, VIEWS[0], "--no-symbol-cache") for path in paths]
    running = [(i % 2, subprocess.Popen([hw.HEAPWISE, "report", paths[i % 2], *VIEWS[0][1:]], env=env,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)) for i in range(12)]
    for which, process in running:
        out, errors = process.communicate(timeout=hw.TIMEOUT)
        hw.need(process.returncode == 0 and out == wanted[which], f"another answer: {errors.decode()}")
    hw.need(all(file.suffix == ".names" for file in kept_files(folder)), f"left: {kept_files(folder)}")
    # Whoever came last may have put away the others' addresses; one more of each has them all.
    for path in paths * 2:
        answer(path, env)
    for path in paths:
        all_kept(path, env, path.name)


@TESTS.test
def changed(folder):
    """A program that is stripped, damaged, built anew or gone is answered for as it is now"""
    program = build(folder)
    path, env = recorded(folder, program), environment(folder)
    settle(folder)
    answer(path, env)
    all_kept(path, env, "as built")
    shell(folder, "cp -p places whole")
    for told, command in (
        ("stripped of debug information", "strip -g places"),
        ("stripped of all", "strip places"),
        ("whole again, with its times", "cp -p whole places"),
        ("damaged where it lies, with its times", "printf XXXXXXXX | dd of=places bs=1 conv=notrunc status=none "
         "seek=$(readelf -SW places | sed -n 's/.* \\.debug_info *PROGBITS *[0-9a-f]* \\([0-9a-f]*\\) .*/0x\\1/p' "
         "| xargs printf %d); touch -r whole places"),
        ("another build", "sed -i s/7001/9001/ places.cc; g++ -g -O2 places.cc -o places"),
        ("cut short", "head -c 3000 whole > places"),
        ("gone", "rm places"),
        ("there again", "cp -p whole places"),
    ):
        shell(folder, command)
        same_as_anew(path, env, told)
        settle(folder)
        same_as_anew(path, env, told)
        same_as_anew(path, env, told)
    all_kept(path, env, "as at first")


@TESTS.test
def debug_file_later(folder):
    """A debug file that appears, changes or goes later is noticed, wherever it is"""
    program = build(folder)
    path, env = recorded(folder, program), environment(folder)
    shell(folder, "objcopy --only-keep-debug places kept.debug", "strip -g places",
          "objcopy --strip-debug kept.debug less.debug || true", "mkdir store")
    store = folder / "store"
    options = ("--symbol-path", store)
    settle(folder)
    bare = same_as_anew(path, env, "without")
    hw.need(same_as_anew(path, env, "without", *options) == bare, "an empty folder")
    all_kept(path, env, "without")
    shell(folder, "cp kept.debug store/places.debug")
    settle(folder)
    for _ in range(2):
        found = same_as_anew(path, env, "there", *options)
        hw.need(found != bare and b"places.cc" in found, "it was not noticed")
    all_kept(path, env, "there", *options)
    # The other way of looking is not touched by that.
    hw.need(same_as_anew(path, env, "not asked for") == bare, "names of a folder that was not asked for")
    shell(folder, "rm store/places.debug")
    hw.need(same_as_anew(path, env, "gone", *options) == bare, "it is gone")


@TESTS.test
def shared_and_split(folder):
    """What dwz shares and split units: parts that come and go are noticed"""
    hw.need_program("dwz")
    program = build(folder, flags="-gdwarf-4")
    path, env = recorded(folder, program), environment(folder)
    shell(folder, "objcopy --only-keep-debug places one.debug",
          "g++ -g -gdwarf-4 -O2 -DTWICE places.cc -o twin", "objcopy --only-keep-debug twin two.debug",
          "dwz -m common -M ./common one.debug two.debug", "strip places", "mkdir store",
          "mv one.debug store/places.debug", "cp common store/common")
    options = ("--symbol-path", folder / "store")
    settle(folder)
    found = same_as_anew(path, env, "dwz", *options)
    hw.need(b"places.cc" in found, f"no lines: {found.decode()}")
    all_kept(path, env, "dwz", *options)
    shell(folder, "rm store/common")
    for _ in range(2):
        less = same_as_anew(path, env, "dwz, common part gone", *options)
        hw.need(less != found, "the common part is gone")
    shell(folder, "mv common store/common")
    settle(folder)
    for _ in range(2):
        hw.need(same_as_anew(path, env, "dwz, there again", *options) == found, "it is there again")
    split = folder / "split"
    split.mkdir()
    program = build(split, flags="-gsplit-dwarf")
    path = recorded(split, program)
    settle(folder)
    for _ in range(2):
        whole = same_as_anew(path, env, "split")
        hw.need(b"box" in whole, "no inlined function")
    shell(split, "mv places.dwo away")
    for _ in range(2):
        hw.need(same_as_anew(path, env, "split, unit gone") != whole, "the unit is gone")
    shell(split, "mv away places.dwo")
    hw.need(same_as_anew(path, env, "split, unit there again") == whole, "it is there again")


@TESTS.test
def other_root(folder):
    """--sysroot: what is kept of this machine's files says nothing of those below another root"""
    program = build(folder)
    path, env = recorded(folder, program), environment(folder)
    below = folder / "root" / str(program.parent).lstrip("/")
    below.mkdir(parents=True)
    options = ("--sysroot", folder / "root")
    settle(folder)
    found = same_as_anew(path, env, "here")
    hw.need(b"places.cc" in found, "no lines")
    hw.need(b"places.cc" not in same_as_anew(path, env, "nothing below", *options), "nothing is there")
    shell(folder, f"strip -g -o {below}/places places")
    settle(folder)
    for _ in range(2):
        less = same_as_anew(path, env, "stripped below", *options)
        hw.need(b"places.cc" not in less and b"main" in less, f"{less.decode()}")
    hw.need(same_as_anew(path, env, "here again") == found, "another answer")


@TESTS.test
def damaged_cache(folder):
    """Kept files that are damaged, another one's or a pipe are not used, and are made anew"""
    program = build(folder)
    path, env = recorded(folder, program), environment(folder)
    settle(folder)
    wanted = answer(path, env)
    own = next(file for file in kept_files(folder) if module(path, env)["build_id"] in file.name)
    good = own.read_bytes()
    shop = good.index(b"shop::")
    damages = {
        "empty": b"", "cut": good[: len(good) // 2], "zeros": bytes(len(good)), "longer": good + b"x",
        "another name": good[:shop] + b"SHOP" + good[shop + 4:],
        "another layout": good[:7] + b"\2" + good[8:],
        "of another module": next((f.read_bytes() for f in kept_files(folder) if f != own), b"none"),
    }
    for told, data in damages.items():
        own.write_bytes(data)
        hw.need(answer(path, env) == wanted, f"{told}: another answer")
        hw.need(own.read_bytes() == good, f"{told}: it was not made anew")
    own.unlink()
    os.mkfifo(own)
    hw.need(answer(path, env) == wanted, "a pipe")
    all_kept(path, env, "instead of a pipe")
    # A file that others may write is nobody's word.
    own.chmod(0o666)
    none_kept(path, env, "others may write it")
    hw.need(own.stat().st_mode & 0o777 == 0o600, "for others too")


@TESTS.test
def nowhere(folder):
    """Without a home, with one that can't be written to or is somebody else's, names are found as ever"""
    program = build(folder)
    path = recorded(folder, program)
    settle(folder)
    wanted = answer(path, environment(folder), VIEWS[0], "--no-symbol-cache")
    (folder / "home").mkdir()
    (folder / "file").write_text("")
    without = hw.clean_environment()
    without.pop("XDG_CACHE_HOME")
    without.pop("HOME", None)
    for told, more in (("no home", {}), ("a home that is a file", {"HOME": folder / "file"}),
                       ("none that is there", {"HOME": folder / "none"}),
                       ("a cache below a file", {"XDG_CACHE_HOME": folder / "file/cache"}),
                       ("one that can't be made", {"XDG_CACHE_HOME": "/proc/self/cache"}),
                       ("switched off", {"HOME": folder / "home", "HEAPWISE_SYMBOL_CACHE": "0"})):
        env = {**without, **{name: str(value) for name, value in more.items()}}
        for _ in range(2):
            ended = hw.run([hw.HEAPWISE, *VIEWS[0], path], env=env)
            hw.need(ended.status == 0 and ended.stdout == wanted and not ended.errors, f"{told}: {ended}")
        none_kept(path, env, told)
    hw.need(not (folder / "none").exists() and not list((folder / "home").iterdir()), "something was made")
    env = {**without, "HOME": str(folder / "home")}
    answer(path, env)
    all_kept(path, env, "~/.cache")
    place = folder / "home/.cache/heapwise/names"
    hw.need(place.stat().st_mode & 0o777 == 0o700, "others may look into it")
    env = {**without, "HEAPWISE_SYMBOL_CACHE": str(folder / "given")}
    answer(path, env)
    hw.need(list((folder / "given").glob("*.names")), "HEAPWISE_SYMBOL_CACHE")
    if os.geteuid() == 0:
        os.chown(folder / "home", 12345, 12345)
        env = {**without, "HOME": str(folder / "home")}
        before = sorted(place.iterdir())
        none_kept(path, env, "somebody else's home")
        hw.need(sorted(place.iterdir()) == before, "something was written to it")


TESTS.main()
