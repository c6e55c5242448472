#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every target by itself: what it promises of itself holds without a recorder, in every variant."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import truth


def check_target(program):
    ended = hw.run([program])
    _, problems = truth.parse(ended.text)
    if ended.stderr:
        problems.append("it writes on stderr")
    hw.need(not problems, f"{ended}: " + "; ".join(problems))


def main():
    tests = hw.Tests()
    names, sys.argv[1:] = sys.argv[1:], []
    for name in names:
        tests.add(name, lambda folder, name=name: check_target(hw.TARGETS / name))
    tests.main(needs_command=False)


if __name__ == "__main__":
    main()
