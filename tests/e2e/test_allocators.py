#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Other allocators under the program: recorded completely, by C and C++ programs, and left in place.

Each target keeps its own figures (test_truth.py); here they run with an allocator library preloaded.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw
import truth

LIBRARIES = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc (minimal)": "libtcmalloc_minimal.so.4",
    "tcmalloc": "libtcmalloc.so.4",
    "mimalloc": "libmimalloc.so.2.0",
}
FOLDER = Path("/usr/lib/x86_64-linux-gnu")
# Those that promise nothing which only libc's malloc keeps (errno, usable sizes).
PROGRAMS = sys.argv[1:]

TESTS = hw.Tests()


def recorded_completely(library, program):
    def test(folder):
        path = FOLDER / LIBRARIES[library]
        if not path.exists():
            raise hw.Skip(f"{path.name} is not installed")
        env = hw.clean_environment(LD_PRELOAD=path)
        if hw.run([hw.TARGETS / program], env=env).status:
            raise hw.Skip("natively it fails with this allocator")
        ended = hw.record([hw.TARGETS / program], folder / "x.hpw", env=env)
        expectations, problems = truth.parse(ended.text)
        report = hw.report(folder / "x.hpw", "--view", "sites")
        problems += truth.check_itself(report) + truth.check(expectations, report)
        hw.need(not problems and ended.status == 0, "\n".join([str(ended), *problems]))

    return test


def kept(library):
    def test(folder):
        path = FOLDER / LIBRARIES[library]
        if not path.exists():
            raise hw.Skip(f"{path.name} is not installed")
        env = hw.clean_environment(LD_PRELOAD=path)
        ended = hw.record(["/bin/cat", "/proc/self/maps"], folder / "x.hpw", env=env)
        hw.need(path.name.split(".so")[0] in ended.text, "the allocator is not loaded")
        hw.need(hw.report(folder / "x.hpw")["totals"]["allocations"] > 0, "nothing was seen")

    return test


for library in LIBRARIES:
    TESTS.add(f"{library} stays the program's allocator", kept(library))
    for program in PROGRAMS:
        TESTS.add(f"{library}: {program}", recorded_completely(library, program))

if __name__ == "__main__":
    sys.argv[1:] = []
    TESTS.main(width=2)
