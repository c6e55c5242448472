#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs named after what made other recorders hang, crash or lie (tests/targets/stress), many times
over: each run ends as natively, says the same, and leaves recordings that are whole and exact.

Arguments: the programs (without any: all); --runs N: how often each of them runs.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import truth

FOLDER = hw.TARGETS / "stress"
# Longer than a ring that a thread is stuck in delays the others (BUSY_SECONDS of the merge).
WAIT_MAX_NS = 6_000_000_000

PRELOADS = {
    "preload_dlsym_callocs": "libstress_preload.so",
    "preload_wraps_system_calls": "libstress_preload_calls.so",
}
# Their counts are the moment's: threads that are interrupted by the end, or by an exec.
NO_TRUTH = {"exec_from_thread", "exit_while_allocating", "quick_exit_in_thread"}


def said(text):
    """What is the same in each run: no figures."""
    return [line for line in text.splitlines() if not line.startswith("# expect: ")]


def environment(name):
    more = {"LD_PRELOAD": FOLDER / PRELOADS[name]} if name in PRELOADS else {}
    return hw.clean_environment(**more)


def check_recording(path, report):
    problems = truth.check_itself(report)
    found = report["recording"]
    if not found["complete"]:
        problems.append("not complete")
    for figure in ("lost_events", "repairs", "unknown_frees", "stacks_full", "children_unrecorded"):
        if found[figure]:
            problems.append(f"{figure} is {found[figure]}")
    if found["longest_wait_ns"] >= WAIT_MAX_NS:
        problems.append(f"a wait of {found['longest_wait_ns']} ns")
    return [f"{path.name}: {problem}" for problem in problems]


def check_run(name, folder, native):
    ended = hw.record([FOLDER / name], folder / "x.hpw", env=environment(name))
    expectations, problems = truth.parse(ended.text) if name not in NO_TRUTH else ([], [])
    if (ended.status, said(ended.text), ended.stderr) != (
            native.status, said(native.text), native.stderr):
        problems.append(f"{ended}, natively {native}; says {said(ended.text)}")
    recordings = sorted(folder.glob("x*.hpw"))
    if folder / "x.hpw" not in recordings:
        problems.append("no recording")
    longest = 0
    for path in recordings:
        report = hw.report(path, "--view", "sites")
        problems += check_recording(path, report)
        longest = max(longest, report["recording"]["longest_wait_ns"])
        if path.name == "x.hpw":
            problems += truth.check(expectations, report)
    return problems, longest


def stress(name, runs):
    def test(folder):
        native = hw.run([FOLDER / name], env=environment(name))
        hw.need("# broken: " not in native.text, f"natively: {native.text}")
        longest = 0
        for number in range(runs):
            place = folder / str(number)
            place.mkdir()
            problems, waited = check_run(name, place, native)
            hw.need(not problems, f"run {number}: " + "\n".join(problems[:20]))
            longest = max(longest, waited)
            for path in place.iterdir():
                path.unlink()
        return f"{name}: {runs} runs, longest wait {longest / 1e6:.1f} ms"

    return test


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    sys.argv[1:] = []
    sources = (hw.SOURCE / "tests/targets/stress").glob("*.c*")
    built = [path.stem for path in sorted(sources) if (FOLDER / path.stem).is_file()]
    tests = hw.Tests()
    for name in given.names or built:
        tests.add(f"{name} is recorded without harm", stress(name, given.runs))
    tests.main(width=2)


if __name__ == "__main__":
    main()
