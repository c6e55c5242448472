#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ground truth: every target, recorded, against its own figures and against a preload beside it.

Arguments: names of target variants (as `realloc-O2`); without one, all that the build knows.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import truth


def check_exit(native, recorded, report):
    problems = []
    if recorded.status != native.status:
        problems.append(
            f"ended with {hw.describe(recorded.status)}, natively with {hw.describe(native.status)}"
        )
    wanted = {"signal": -native.status} if native.status < 0 else {"code": native.status}
    found = {k: v for k, v in (report["target"].get("exit") or {}).items() if v is not None}
    if found != wanted:
        problems.append(f"target.exit is {found}, expected {wanted}")
    return problems


def check_target(program, folder):
    native = hw.run([program])
    _, problems = truth.parse(native.text)
    hw.need(not problems, f"natively, {native}: " + "; ".join(problems))

    recording = folder / "target.hpw"
    counts = hw.Counts(folder, program)
    recorded = hw.record(
        [program], recording, env=hw.clean_environment(**counts.environment())
    )
    expectations, problems = truth.parse(recorded.text)
    if recorded.stderr != native.stderr:
        problems.append(f"on stderr: {hw.shorten(recorded.errors)}")
    hw.need(recording.exists(), "\n".join([f"no recording; {recorded}"] + problems))
    report = hw.report(recording, "--view", "sites")
    problems += check_exit(native, recorded, report)
    problems += truth.check_itself(report)
    problems += truth.check(expectations, report)
    problems += truth.check_beside(expectations, report, counts.read())
    hw.need(not problems, "\n".join(problems))


def main():
    tests = hw.Tests()
    names, sys.argv[1:] = sys.argv[1:] or os.environ.get("HW_TARGETS", "").split(), []
    for name in names:
        program = hw.TARGETS / name
        tests.add(name, lambda folder, program=program: check_target(program, folder))
    tests.main(width=2, sanitized_part=3)


if __name__ == "__main__":
    main()
