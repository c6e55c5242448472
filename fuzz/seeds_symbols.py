#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the seeds of fuzz_symbols.c: small programs with their debug information in all the files it may be in.

    fuzz/seeds_symbols.py       into seeds/symbols; needs g++, clang++, dwp, llvm-dwp, dwz, objcopy
"""
import os
import subprocess
import tempfile

NAMES = ["app", "app.dwp", "app.dwo", "app.debug", "common"]
LINK = "-nostdlib -static -Wl,-N -Wl,-Ttext=0x1000 -Wl,--build-id=sha1"
FLAGS = "-O2 -fno-asynchronous-unwind-tables -fno-exceptions -fno-stack-protector -ffreestanding"

# Cold parts and blocks give ranges, inlined functions, a static in one; a type worth sharing.
SOURCE = """
extern "C" void _start();
namespace shop {
struct Item { int price, count; const char *name; Item *next; };
static int sold;
template <class T> struct Shelf {
	T kept;
	__attribute__((noinline)) T put(T more) { kept += more; return kept; }
};
__attribute__((cold, noinline)) int refuse(int n) { static int refused; return refused += n; }
static inline int price(const Item *item, int n)
{
	int sum = 0;
	for (; item; item = item->next) {
		if (item->count < n)
			sum += refuse(n);
		sum += item->price * n;
	}
	return sum;
}
__attribute__((noinline)) int order(Item *item, int n)
{
	if (n < 0)
		return refuse(n);
	sold += price(item, n);
	return sold;
}
}
extern "C" void _start()
{
	static shop::Shelf<int> shelf;
	shop::Item item = {1, 2, "a", nullptr};
	shelf.put(shop::order(&item, NUMBER));
	for (;;) {}
}
"""


def run(folder, *commands):
    for command in commands:
        subprocess.run(["sh", "-ec", command], cwd=folder, check=True)


def packed(folder, names):
    out = b""
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        out += bytes([NAMES.index(name)]) + len(content).to_bytes(4, "little") + content
    return out


def build(folder, compiler, flags, name="app", number=3):
    run(folder, f"{compiler} -g {flags} {FLAGS} -DNUMBER={number} -c source.cc -o {name}.o",
        f"{compiler} -g {flags} {FLAGS} {LINK} {name}.o -o {name}")


def split(folder, compiler, version, package):
    build(folder, compiler, f"-gdwarf-{version} -gsplit-dwarf")
    if package:
        run(folder, f"{package} app.dwo -o app.dwp")
    return ["app", "app.dwp" if package else "app.dwo"]


def separate(folder, compiler):
    build(folder, compiler, "-gdwarf-5")
    run(folder, "objcopy --only-keep-debug app app.debug", "strip app", "objcopy --add-gnu-debuglink=app.debug app")
    return ["app", "app.debug"]


def shared(folder, _compiler):
    for name, number in (("app", 3), ("other", 4)):
        build(folder, "g++", "-gdwarf-4", name, number)
    run(folder, "dwz -m common app other")
    return ["app", "common"]


def plain(folder, compiler, version):
    build(folder, compiler, f"-gdwarf-{version}")
    return ["app"]


def unoptimised(folder, compiler, version):
    """Variables lie on the stack: else most are in registers."""
    run(folder, f"{compiler} -g -gdwarf-{version} {FLAGS} -O0 -DNUMBER=3 {LINK} source.cc -o app")
    return ["app"]


SEEDS = {
    "plain-gcc-5": (plain, "g++", 5),
    "plain-clang-3": (plain, "clang++", 3),
    "locals-gcc-5": (unoptimised, "g++", 5),
    "locals-clang-4": (unoptimised, "clang++", 4),
    "dwo-gcc-4": (split, "g++", 4, ""),
    "dwo-gcc-5": (split, "g++", 5, ""),
    "dwo-clang-5": (split, "clang++", 5, ""),
    "dwp-gcc-4": (split, "g++", 4, "dwp"),
    "dwp-clang-4": (split, "clang++", 4, "llvm-dwp"),
    "dwp-clang-5": (split, "clang++", 5, "llvm-dwp"),
    "debuglink": (separate, "g++"),
    "dwz": (shared, "g++"),
}


def main():
    target = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds", "symbols")
    os.makedirs(target, exist_ok=True)
    for name, (make, *arguments) in SEEDS.items():
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "source.cc"), "w", encoding="utf-8") as file:
                file.write(SOURCE)
            content = packed(folder, make(folder, *arguments))
        with open(os.path.join(target, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
