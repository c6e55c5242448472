#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""One recording, two roads: what the writer put into the footer, and what a replay of its events gives."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

# Every sort of step, free and thread; chunks by the hundred.
TARGETS = (
    "address_reuse containers end_abort failed malloc_free new_forms peak_twice producer_consumer realloc "
    "realloc_race reallocarray signal_handler temporary thread_waves threads_200 tls_destructor zero_sizes"
).split()


def check_target(program, folder):
    recording = Path(folder) / "roads.hpw"
    hw.record([program], recording)
    compared = hw.run([hw.BUILD / "tests/unit/compare_roads", recording])
    hw.need(compared.status == 0, f"the roads differ: {hw.shorten(compared.text)}")


def main():
    tests = hw.Tests()
    for name in TARGETS:
        program = hw.TARGETS / f"{name}-O2"
        tests.add(name, lambda folder, program=program: check_target(program, folder))
    tests.main()


if __name__ == "__main__":
    main()
