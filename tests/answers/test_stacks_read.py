# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks that a person can read: what is folded, short names, flame graphs of a size of their own."""

import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.fspath(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402

FRAME = re.compile(r"^      (\S.*)$", re.M)


tests = hw.Tests()


def recording(folder):
    path = Path(folder) / "parser.hpw"
    ended = hw.record([hw.ANSWERS / "nested_parser"], path)
    hw.need(ended.status == 0, f"nested_parser: {ended}")
    return path


@tests.test
def folded(folder):
    """The program's own functions are named at once, and no frame of std is in the way."""
    path = recording(folder)
    text = hw.ask("report", path)
    first = next(line for line in text.splitlines() if "one allocation site:" in line)
    hw.need("lang::Parser::remember" in first, f"the first sentence is {first!r}")
    text += hw.ask("report", path, "--view", "never-freed")
    frames = FRAME.findall(text)
    hw.need(not [frame for frame in frames if frame.startswith("std::")], "frames of std are shown")
    hw.need(re.search(r"… (\d+ )?std frames?$", text, re.M), "no frame is folded")
    longest = max(len(frame) for frame in frames)
    hw.need(longest <= 130, f"a frame has {longest} letters")
    hw.need("lang::load::{lambda#1}" in text, "the lambda has no short name")
    whole = hw.ask("report", path, "--view", "never-freed", "--all-frames")
    hw.need("std::map<std::string,std::vector<std::string>>::operator[]" in whole, "--all-frames lacks the map")
    hw.need("std frame" not in whole, "--all-frames folds")
    tree = hw.ask("tree", path)
    hw.need("std::" not in tree and "lang::Parser::remember" in tree, "the tree has frames of std")


@tests.test
def own_code_in_std(folder):
    """What the program has written for its types in templates of std is the program's: it is shown, and blamed."""
    path = Path(folder) / "users.hpw"
    hw.record([hw.ANSWERS / "hashes_users"], path, options=("-q",))
    text = hw.ask("report", path, "--view", "never-freed")
    for function in ("std::hash<User>::operator()", "std::less<User>::operator()", "main::{lambda"):
        hw.need(re.search("^      " + re.escape(function), text, re.M), f"{function} is folded: {text}")
    shown = {frame.split("  ")[0] for frame in FRAME.findall(text)}
    others = [name for name in shown if name.startswith("std::") and not re.match(r"std::(hash|less)<User>::", name)]
    hw.need(not others, f"frames of std are shown: {others}")
    places = {site["max_size"]: site["stack"][0]["function"] for site in hw.report(path, "--view", "never-freed")["sites"] if site["max_size"] in (77, 88)}
    hw.need(places[77].startswith("std::hash<User>::operator()") and places[88].startswith("std::less<User>::operator()"), str(places))


@tests.test
def whole_in_json(folder):
    """JSON has whole stacks and whole names, and says what text makes of them."""
    path = recording(folder)
    sites = hw.report(path, "--view", "sites")["sites"]
    frames = [frame for site in sites for frame in site["stack"]]
    std = [frame for frame in frames if (frame["function"] or "").startswith("std::")]
    hw.need(std and all(frame["folded"] for frame in std), "frames of std are not all folded")
    own = [frame for frame in frames if (frame["function"] or "").startswith("lang::")]
    hw.need(own and not any(frame["folded"] for frame in own), "the program's frames are folded")
    hw.need(any("std::allocator<" in frame["function"] and frame["short"] for frame in std), "names are not whole")
    rows = len(re.findall(r"  from operator new at$", hw.ask("report", path, "--view", "sites", "--limit", "1000"), re.M))
    hw.need(rows < sum(site["kind"] == "operator new" for site in sites), f"{rows} rows: none were merged")
    text = hw.ask("peek", "std::string::reserve", path)
    hw.need("std::string::reserve" in text, "the short name is not found")
    whole = next(frame["function"] for frame in std if frame["short"] == "std::string::reserve")
    hw.need("std::string::reserve" in hw.ask("peek", whole, path), "the whole name is not found")


@tests.test
def flame_size(folder):
    """A flame graph has a height: browsers scroll it, they don't shrink it."""
    path = recording(folder)
    svg = hw.heapwise("flame", "--svg", "-", path).text
    size = re.search(r'<svg [^>]* width="(\d+)" height="(\d+)"', svg)
    hw.need(size, "the picture has no size")
    rows = {int(y) for y in re.findall(r'<rect x="[^"]*" y="(\d+)"', svg)}
    hw.need(int(size[2]) >= 17 * len(rows), f"{size[2]} pixels for {len(rows)} rows")
    fills = set(re.findall(r'fill="(#[0-9a-f]{6})"', svg))
    hw.need(len(fills) > 10, f"{len(fills)} colours")


tests.main()
