# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the kinds of blocks that a search found against what a target said of them: tests/targets/README.md.

Nothing here runs a program.
"""

from collections import namedtuple

import truth

KINDS = ("definite", "indirect", "possible", "reachable")
OPTIONS = "# leak-options: "

# function, and the file name of a module, or None; place: the last three digits of the address, which are the
# same wherever the module is loaded; line: of the source, or None.
Frame = namedtuple("Frame", "function module place line", defaults=(None,))

# Blocks of one stack and kind. frames: innermost first, the allocation function left out. indirect_blocks is None where the searcher does not tell.
Record = namedtuple("Record", "kind blocks bytes indirect_blocks indirect_bytes frames")

# Expected of one function and kind. Keys of figures that are not known are left out.
Wanted = namedtuple("Wanted", "site kind figures")

# What another searcher says otherwise, and why: so many blocks of a function (None: all) are of another kind; the
# indirect bytes that a function's definite blocks lead.
Moved = namedtuple("Moved", "site from_kind to_kind blocks")
Led = namedtuple("Led", "site indirect_bytes")


class Section:
    """What a target says of the run with these options."""

    def __init__(self, options, text):
        self.options = options.split()
        self.expectations, self.problems = truth.parse(text)

    def wanted(self):
        found = []
        for expectation in self.expectations:
            if expectation.kind == "leak":
                figures = {key: int(value) for key, _, value in expectation.parts if key not in ("site", "kind")}
                found.append(Wanted(expectation.get("site"), expectation.get("kind"), figures))
        return found

    def beside(self):
        """Modules whose own blocks are left out."""
        return [e.get("module") for e in self.expectations if e.kind == "leakbeside"]

    def totals(self):
        for expectation in self.expectations:
            if expectation.kind == "leaktotals":
                return {key: int(value) for key, _, value in expectation.parts}
        return None


def sections(output):
    """The sections of a target's output. Each gets the target's last line, if it has one."""
    parts = output.split(OPTIONS)
    end = "# end\n" if output.endswith("# end\n") else ""
    found = [Section("", parts[0] + (end if len(parts) > 1 else ""))]
    for i, part in enumerate(parts[1:], 2):
        options, _, text = part.partition("\n")
        found.append(Section(options, text + (end if i < len(parts) else "")))
    for section in found:
        if section.totals() is None and not section.problems:
            section.problems.append("the target tells no totals")
    return found


def is_of(record, names):
    """Whether a record is of a function: of the role that allocated, or of libc's function that did, whose name may
    carry a version, or more underscores."""
    return any(truth.is_named(plain_name(frame.function), names) for frame in record.frames)


def names(frames):
    return " < ".join(frame.function or f"{frame.module}+…{frame.place:03x}" for frame in frames)


def plain_name(function):
    name = (function or "").partition("@")[0]
    return "__" + name.lstrip("_") if name.startswith("___") else name


def total(records):
    indirect = [r.indirect_blocks for r in records]
    return {
        "blocks": sum(r.blocks for r in records),
        "bytes": sum(r.bytes for r in records),
        "indirect_blocks": None if None in indirect else sum(indirect),
        "indirect_bytes": sum(r.indirect_bytes for r in records),
    }


def compare(what, found, wanted):
    return [
        f"{what}: {key} is {found[key]}, expected {value}"
        for key, value in wanted.items()
        if found[key] is not None and found[key] != value
    ]


def moved(wanted, totals, move):
    """The expectation and the totals once blocks are of another kind. All blocks of one function and kind are
    as large as each other, or they move together."""
    old = [w for w in wanted if (w.site, w.kind) == (move.site, move.from_kind)]
    if len(old) != 1:
        raise ValueError(f"nothing to move: {move}")
    figures = old[0].figures
    blocks = figures["blocks"] if move.blocks is None else move.blocks
    size = figures["bytes"] * blocks // figures["blocks"] if figures["blocks"] else 0
    rest = [w for w in wanted if (w.site, w.kind) not in ((move.site, move.from_kind), (move.site, move.to_kind))]
    there = [w for w in wanted if (w.site, w.kind) == (move.site, move.to_kind)]
    before = there[0].figures if there else {"blocks": 0, "bytes": 0}
    left = {"blocks": figures["blocks"] - blocks, "bytes": figures["bytes"] - size}
    arrived = {"blocks": before["blocks"] + blocks, "bytes": before["bytes"] + size}
    rest.append(Wanted(move.site, move.from_kind, left))
    if move.to_kind != "none":
        rest.append(Wanted(move.site, move.to_kind, arrived))
    totals = dict(totals)
    for key, amount in (("blocks", blocks), ("bytes", size)):
        totals[f"{move.from_kind}_{key}"] -= amount
        if move.to_kind != "none":
            totals[f"{move.to_kind}_{key}"] += amount
    return rest, totals


def led(wanted, change):
    """The expectation with other indirect bytes; how many blocks these are is not told then."""
    found = []
    for one in wanted:
        if (one.site, one.kind) == (change.site, "definite"):
            figures = {"blocks": one.figures["blocks"], "bytes": one.figures["bytes"]}
            one = Wanted(one.site, one.kind, {**figures, "indirect_bytes": change.indirect_bytes})
        found.append(one)
    return found


def check(section, records, differences=()):
    """What of the records is not as the target says, differences granted, as sentences."""
    wanted, totals, beside = section.wanted(), section.totals(), section.beside()
    records = [r for r in records if not r.frames or r.frames[0].module not in beside]
    for difference in differences:
        if isinstance(difference, Moved):
            wanted, totals = moved(wanted, totals, difference)
        else:
            wanted = led(wanted, difference)
    problems = []
    for one in wanted:
        mine = [r for r in records if is_of(r, one.site)]
        problems += compare(f"{one.site} {one.kind}", total([r for r in mine if r.kind == one.kind]), one.figures)
        kinds = {w.kind for w in wanted if w.site == one.site and w.figures["blocks"]}
        problems += [
            f"{one.site}: {r.blocks} blocks of {r.bytes} bytes are {r.kind}"
            for r in mine
            if r.kind not in kinds
        ]
    found = {}
    for kind in KINDS:
        sums = total([r for r in records if r.kind == kind])
        found[f"{kind}_blocks"], found[f"{kind}_bytes"] = sums["blocks"], sums["bytes"]
    problems += compare("totals", found, totals)
    if problems:
        roles = "|".join(w.site for w in wanted)
        problems += [
            f"unexpected: {r.kind}, {r.blocks} blocks, {r.bytes} bytes: {names(r.frames[:9])}"
            for r in records
            if not roles or not is_of(r, roles)
        ]
    return sorted(set(problems))
