#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The judge of test_truth.py, judged: each of its checks accepts what is so and refuses what is not. And what is run of
tests with sanitizers."""

import copy
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import truth


def frame(function, inlined=False, line=None):
    return {
        "function": function,
        "file": "/src/app.c",
        "line": line,
        "module": "/bin/app",
        "inlined": inlined,
    }


def site(functions, allocations, size, live, **more):
    return {
        "stack": [frame(*f) if isinstance(f, tuple) else frame(f) for f in functions],
        "kind": "malloc",
        "allocations": allocations,
        "allocated_bytes": allocations * size,
        "live_blocks": live,
        "live_bytes": live * size,
        "temporary": 1,
        "peak_blocks": live,
        "peak_bytes": live * size,
        "truncated": False,
        "truncated_reason": None,
        "guessed": False,
        **more,
    }


REPORT = {
    "recording": {
        "mode": "exact",
        "complete": True,
        "lost_events": 0,
        "repairs": 0,
        "unknown_frees": 0,
    },
    "totals": {
        "allocations": 60,
        "allocated_bytes": 10 * 7 + 20 * 11 + 30 * 13,
        "frees": 54,
        "failed": 2,
        "live_blocks_at_end": 6,
        "live_bytes_at_end": 7 + 2 * 11 + 3 * 13,
        "temporary": 3,
        "peak_blocks": 6,
        "peak_bytes": 7 + 2 * 11 + 3 * 13,
        "threads": 4,
    },
    "sites": [
        site(["leaf", ("middle", True, 12), "main"], 10, 7, 1),
        site(["leaf", "other", "main"], 20, 11, 2),
        site(
            ["ns::leaf(int)", "middle", truth.SIGNAL_FRAME, "main"],
            30,
            13,
            3,
            truncated=True,
            truncated_reason="depth-limit",
            guessed=True,
        ),
    ],
}

RIGHT = """
site=leaf allocations=30 allocated_bytes=290 live_blocks=3 live_bytes=29 temporary=2
site=leaf peak_blocks=3 peak_bytes=29
site=absent allocations=0 live_blocks=0
site=ns::leaf allocations=30
through=middle allocations=40 live_blocks=4
through=other|nothing allocations=20
function allocations=30 allocated_bytes=390 name=ns::leaf(int)
totals threads=4 failed=2 frees>=54 allocations<=60
path site=leaf chain=leaf<main
path through=middle chain=leaf|ns::leaf<middle<main
frames site=leaf depth>=3 depth<=3
path site=ns::leaf chain=ns::leaf<middle<(signal)<main
cycle site=ns::leaf chain=middle<(signal)<main depth>=3
cycle site=leaf chain=middle|other<main depth=2
cut site=ns::leaf reason=depth-limit
guessed site=ns::leaf
whole site=leaf
frame site=leaf function=middle inlined=1 file=app.c line=12
frame site=leaf function=main inlined=0
module site=leaf module=app
kind site=leaf kind=malloc
""".strip().splitlines()

WRONG = """
site=leaf allocations=31
site=leaf live_bytes=28
site=leaf temporary=3
site=leaf peak_bytes=30
site=absent allocations=1
site=lea allocations=30
through=middle allocations=30
through=main live_blocks=5
function allocations=30 name=ns::leaf(long)
function allocations=29 name=ns::leaf(int)
totals threads=3
totals frees>=55
totals unheard_of=1
path site=leaf chain=leaf<middle<main
path site=leaf chain=main<leaf
path site=absent chain=main
frames site=leaf depth>=4
frames site=absent depth>=0
path site=leaf chain=leaf<(signal)<main
cycle site=ns::leaf chain=middle<(signal)<main depth>=4
cycle site=leaf chain=middle<main depth>=1
cut site=ns::leaf reason=no-unwind-info
cut site=leaf reason=depth-limit
guessed site=leaf
whole site=ns::leaf
whole site=absent
frame site=leaf function=middle inlined=0
frame site=leaf function=middle inlined=1 line=13
frame site=leaf function=middle file=other.c
frame site=leaf function=absent
module site=leaf module=libother.so
kind site=leaf kind=operator_new
""".strip().splitlines()

COUNTS = {
    "allocations": 60,
    "allocated_bytes": 680,
    "frees": 54,
    "failed": 2,
    "live_blocks": 6,
}


def verdicts():
    """Yields what was tried, whether it is to be accepted, and what the judge found."""
    for text in RIGHT:
        yield text, True, truth.check([truth.Expectation(text)], REPORT)
    for text in WRONG:
        yield text, False, truth.check([truth.Expectation(text)], REPORT)

    yield "a whole report", True, truth.check_itself(REPORT)
    for part, key in [
        *(("recording", key) for key in REPORT["recording"]),
        *(("totals", key) for key in REPORT["totals"] if key not in ("frees", "failed", "threads")),
    ]:
        for name, change in (("other", lambda v: 7), ("missing", lambda v: None)):
            report = copy.deepcopy(REPORT)
            report[part][key] = change(report[part][key])
            yield f"{part}.{key} {name}", False, truth.check_itself(report)

    yield "the same beside", True, truth.check_beside([], REPORT, COUNTS)
    for key, value in COUNTS.items():
        for off in (1, -1):
            counts = {**COUNTS, key: value + off}
            yield f"beside {key} {off:+}", False, truth.check_beside([], REPORT, counts)
    allowed = [truth.Expectation("beside failed<=1")]
    more = {**COUNTS, "failed": 3}
    yield "an allowed difference", True, truth.check_beside(allowed, REPORT, more)
    yield "a larger one", False, truth.check_beside(allowed, REPORT, {**more, "failed": 4})

    yield "an output", True, truth.parse("text\n# expect: totals threads=1\n# end\n")[1]
    yield "an output cut short", False, truth.parse("# expect: totals threads=1\n")[1]
    yield "a broken promise", False, truth.parse("# broken: errno\n# end\n")[1]
    yield from shares()


def shares():
    """Six turns run each case once, those that always run each time; without turns a table has a case at least."""
    cases = [(f"case {n}", None) for n in range(300)] + [("hostile input", None)]
    kept = {name: os.environ.pop(name, None) for name in ("HW_SANITIZED_PART", "HW_SANITIZED_TURN")}
    whole, few = hw.sanitized_share(cases, 1, None), [len(hw.sanitized_share(cases[n:n + 1], 3, None)) for n in range(9)]
    third = len(hw.sanitized_share(cases, 3, None))
    os.environ["HW_SANITIZED_PART"] = "6"
    turns = []
    for turn in range(6):
        os.environ["HW_SANITIZED_TURN"] = str(turn)
        turns.append(hw.sanitized_share(cases, 3, "hostile"))
    once = sorted(case for turn in turns for case in turn if "hostile" not in case[0])
    for name, value in kept.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    yield "all cases where no share is asked for", True, [] if whole == cases else whole
    yield "a third of a table, a case at least", True, [] if 70 < third < 130 and few == [1] * 9 else (third, few)
    yield "six turns with each case once", True, [] if once == sorted(cases[:-1]) else once
    yield "shares of about a sixth", True, [] if all(25 < len(turn) < 80 for turn in turns) else [*map(len, turns)]
    yield "hostile input each time", True, [] if all(turn.count(cases[-1]) == 1 for turn in turns) else turns


def main():
    found = list(verdicts())
    print(f"1..{len(found)}")
    failed = 0
    for number, (name, accepted, problems) in enumerate(found, 1):
        good = accepted == (not problems)
        failed += not good
        verb = "accepts" if accepted else "refuses"
        print(f"{'ok' if good else 'not ok'} {number} - {verb}: {name}")
        if not good:
            print(f"#   {problems}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
