#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The preload that counts, held against targets all of whose calls are at sites of theirs, natively."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import truth

# What only the ending of a program could disturb, forks, and every C function.
TARGETS = (
    "aligned calloc clone_raw end__exit end_abort end_crash end_sigkill errno_kept failed live_static "
    "malloc_free peak_realloc realloc realloc_moved reallocarray sizes_large temporary usable_size "
    "zero_sizes"
).split()


def check_target(program, folder):
    counts = hw.Counts(folder, program)
    ended = hw.run([program], env=hw.clean_environment(**counts.environment()))
    expectations, problems = truth.parse(ended.text)
    hw.need(not problems, "; ".join(problems))
    wanted = {"allocations": 0, "allocated_bytes": 0, "live_blocks": 0, "failed": 0}
    for expectation in expectations:
        if expectation.kind in ("site", "totals"):
            for key, _, value in expectation.figures():
                if key in wanted:
                    wanted[key] += int(value)
    counted = counts.read()
    found = {key: counted[key] for key in wanted}
    hw.need(found == wanted, f"counted {found}, the target says {wanted}")
    hw.need(wanted["allocations"] > 0, "nothing to count")


def main():
    tests = hw.Tests()
    for name in TARGETS:
        program = hw.TARGETS / f"{name}-O2"
        tests.add(name, lambda folder, program=program: check_target(program, folder))
    tests.main(needs_command=False)


if __name__ == "__main__":
    main()
