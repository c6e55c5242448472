# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds a report (heapwise.report/1) against what a target said it did: tests/targets/README.md.

Nothing here runs a program, so tests/e2e/formats/test_checker.py can show that each check fails when it should.
"""

import os
import re

FIGURES = (
    "allocations",
    "allocated_bytes",
    "live_blocks",
    "live_bytes",
    "temporary",
    "peak_blocks",
    "peak_bytes",
)
SIGNAL_FRAME = "<signal handler called>"
PART = re.compile(r"([a-z_]+)(<=|>=|=)(\S+)")


class Expectation:
    """One `# expect:` line: its kind, and its (key, operator, value) parts."""

    def __init__(self, text):
        self.text = text
        text, _, self.name = text.partition(" name=")
        head, _, rest = text.partition(" ")
        if PART.fullmatch(head):
            self.kind, rest = head.partition("=")[0], text
        else:
            self.kind = head
        self.parts = []
        for word in rest.split():
            match = PART.fullmatch(word)
            if not match:
                raise ValueError(f"no expectation: {text!r}")
            self.parts.append(match.groups())

    def get(self, key):
        return next((value for name, _, value in self.parts if name == key), None)

    def figures(self):
        return [part for part in self.parts if part[0] not in ("site", "through")]


def parse(output):
    """The expectations of a target's output, and what is wrong with the output itself."""
    expectations, problems = [], []
    lines = output.splitlines()
    for line in lines:
        if line.startswith("# expect: "):
            expectations.append(Expectation(line[len("# expect: ") :]))
        elif line.startswith("# broken: "):
            problems.append(f"the target itself: {line[2:]}")
    if not lines or lines[-1] != "# end":
        problems.append("the target did not get to its end")
    return expectations, problems


def holds(found, operator, wanted):
    if found is None:
        return False
    if operator == "=":
        return found == wanted
    return found <= wanted if operator == "<=" else found >= wanted


def compare(what, found, figures):
    return [
        f"{what}: {key} is {found.get(key)}, expected {operator.replace('=', '') or ''}{value}"
        for key, operator, value in figures
        if not holds(found.get(key), operator, int(value))
    ]


def functions(site):
    return [frame.get("function") for frame in site["stack"]]


def is_named(function, names):
    """names: alternatives joined by `|`. A C++ name may carry its parameters. (signal): SIGNAL_FRAME."""
    if names == "(signal)":
        return function == SIGNAL_FRAME
    return function is not None and any(
        function == name or function.startswith(name + "(") for name in names.split("|")
    )


def innermost(sites, names):
    return [s for s in sites if s["stack"] and is_named(s["stack"][0].get("function"), names)]


def selected(sites, expectation):
    """The sites that `site=` or `through=` means."""
    through = expectation.get("through")
    if through:
        return [s for s in sites if any(is_named(f, through) for f in functions(s))]
    return innermost(sites, expectation.get("site"))


def total(sites):
    return {figure: sum(site[figure] for site in sites) for figure in FIGURES}


def check_figures(expectation, report):
    what = f"{expectation.kind} {expectation.get(expectation.kind)}"
    return compare(what, total(selected(report["sites"], expectation)), expectation.figures())


def check_function(expectation, report):
    sites = [
        s
        for s in report["sites"]
        if s["stack"] and s["stack"][0].get("function") == expectation.name
    ]
    return compare(expectation.name, total(sites), expectation.parts)


def check_totals(expectation, report):
    return compare("totals", report["totals"], expectation.parts)


def has_chain(names, chain):
    at = 0
    for wanted in chain:
        while at < len(names) and not is_named(names[at], wanted):
            at += 1
        if at == len(names):
            return False
        at += 1
    return True


def each_site(expectation, report, holds_for):
    """A check of every site that is meant, of which there must be one."""
    sites = selected(report["sites"], expectation)
    if not sites:
        return [f"no site for: {expectation.text}"]
    for site in sites:
        if not holds_for(site):
            stack = " < ".join(str(f) for f in functions(site)[:40])
            return [f"not so: {expectation.text}; a stack of {len(site['stack'])}: {stack}"]
    return []


def check_path(expectation, report):
    chain = expectation.get("chain").split("<")
    return each_site(expectation, report, lambda site: has_chain(functions(site), chain))


def holds_depth(expectation, found):
    depth = [part for part in expectation.parts if part[0] == "depth"]
    return all(holds(found, operator, int(value)) for _, operator, value in depth)


def check_frames(expectation, report):
    return each_site(expectation, report, lambda site: holds_depth(expectation, len(site["stack"])))


def check_cycle(expectation, report):
    chain = expectation.get("chain").split("<")

    def length(site):
        names = functions(site)[1:]
        wrong = (i for i, f in enumerate(names) if not is_named(f, chain[i % len(chain)]))
        return next(wrong, len(names))

    return each_site(expectation, report, lambda site: holds_depth(expectation, length(site)))


def check_cut(expectation, report):
    reason = expectation.get("reason")
    return each_site(expectation, report, lambda site: site.get("truncated_reason") == reason)


def check_guessed(expectation, report):
    return each_site(expectation, report, lambda site: site.get("guessed"))


def check_whole(expectation, report):
    return each_site(
        expectation, report, lambda site: not site.get("truncated") and not site.get("guessed")
    )


def check_module(expectation, report):
    module = expectation.get("module")
    return each_site(
        expectation,
        report,
        lambda site: os.path.basename(site["stack"][0].get("module") or "") == module,
    )


def check_kind(expectation, report):
    kind = expectation.get("kind").replace("_", " ")
    return each_site(expectation, report, lambda site: site.get("kind") == kind)


def is_frame(frame, expectation):
    inlined, line = expectation.get("inlined"), expectation.get("line")
    file = expectation.get("file")
    return (
        is_named(frame.get("function"), expectation.get("function"))
        and (inlined is None or bool(frame.get("inlined")) == (inlined == "1"))
        and (line is None or frame.get("line") == int(line))
        and (file is None or os.path.basename(frame.get("file") or "") == file)
    )


def check_frame(expectation, report):
    for site in selected(report["sites"], expectation):
        if any(is_frame(frame, expectation) for frame in site["stack"]):
            return []
    seen = [
        frame
        for site in selected(report["sites"], expectation)
        for frame in site["stack"]
        if is_named(frame.get("function"), expectation.get("function"))
    ]
    return [f"no such frame: {expectation.text}; by that name: {seen[:3]}"]


CHECKS = {
    "site": check_figures,
    "through": check_figures,
    "function": check_function,
    "totals": check_totals,
    "path": check_path,
    "frames": check_frames,
    "cycle": check_cycle,
    "cut": check_cut,
    "guessed": check_guessed,
    "whole": check_whole,
    "frame": check_frame,
    "module": check_module,
    "kind": check_kind,
    "beside": lambda expectation, report: [],
}


def check(expectations, report):
    """What of a report is not as expected, as sentences."""
    problems = []
    for expectation in expectations:
        problems += CHECKS[expectation.kind](expectation, report)
    return problems


def check_itself(report):
    """What every exact and complete report must fulfil, whatever the program."""
    recording, totals = report["recording"], report["totals"]
    problems = [
        f"recording.{key} is {recording.get(key)!r}, expected {value!r}"
        for key, value in (
            ("mode", "exact"),
            ("complete", True),
            ("lost_events", 0),
            ("repairs", 0),
            ("unknown_frees", 0),
        )
        if recording.get(key) != value
    ]
    sums = total(report["sites"])
    for figure, name in (
        ("allocations", "allocations"),
        ("allocated_bytes", "allocated_bytes"),
        ("live_blocks", "live_blocks_at_end"),
        ("live_bytes", "live_bytes_at_end"),
        ("temporary", "temporary"),
        ("peak_blocks", "peak_blocks"),
        ("peak_bytes", "peak_bytes"),
    ):
        if sums[figure] != totals.get(name):
            problems.append(f"totals.{name} is {totals.get(name)}, the sites' sum {sums[figure]}")
    return problems


def check_beside(expectations, report, counts):
    """Holds the totals against the preload that counted beside."""
    totals, more, less = report["totals"], {}, {}
    for expectation in expectations:
        if expectation.kind == "beside":
            for key, relation, value in expectation.parts:
                (less if relation == ">=" else more)[key] = int(value)
    problems = []
    for figure, name in (
        ("allocations", "allocations"),
        ("allocated_bytes", "allocated_bytes"),
        ("frees", "frees"),
        ("failed", "failed"),
        ("live_blocks", "live_blocks_at_end"),
    ):
        found, counted = totals.get(name), counts[figure]
        if found is None or not (
            counted - more.get(figure, 0) <= found <= counted + less.get(figure, 0)
        ):
            problems.append(f"totals.{name} is {found}, the preload beside counted {counted}")
    return problems
