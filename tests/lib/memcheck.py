# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs under Valgrind's memcheck, and what it says of their leaks, in the terms of leaktruth.py."""

import os
import re
import xml.etree.ElementTree as ElementTree

import hw
from leaktruth import Frame, Record

KINDS = {
    "Leak_DefinitelyLost": "definite",
    "Leak_IndirectlyLost": "indirect",
    "Leak_PossiblyLost": "possible",
    "Leak_StillReachable": "reachable",
}
PARTS = re.compile(r"([\d,]+) \(([\d,]+) direct, ([\d,]+) indirect\) bytes")
VERSION = "valgrind-3.19.0"


def need_valgrind():
    program = hw.need_program("valgrind")
    version = hw.run([program, "--version"]).text.strip()
    if version != VERSION:
        raise hw.Skip(f"this is {version}; what is written down of it is about {VERSION}")
    return program


def frame(element):
    place = int(element.findtext("ip"), 16) & 0xFFF
    line = element.findtext("line")
    return Frame(element.findtext("fn"), os.path.basename(element.findtext("obj") or ""), place, line and int(line))


def record(error):
    what = error.find("xwhat")
    total, blocks = int(what.findtext("leakedbytes")), int(what.findtext("leakedblocks"))
    parts = PARTS.match(what.findtext("text"))
    indirect = int(parts[3].replace(",", "")) if parts else 0
    frames = [frame(f) for f in error.find("stack").iter("frame")]
    while frames and frames[0].module.startswith("vgpreload_"):
        frames = frames[1:]
    return Record(KINDS[error.findtext("kind")], blocks, total - indirect, None, indirect, frames)


def records(path):
    """What of an XML output is about leaks, and what else there was to complain about, as words."""
    found, others = [], []
    for error in ElementTree.parse(path).getroot().iter("error"):
        if error.findtext("kind") in KINDS:
            found.append(record(error))
        else:
            others.append(f"{error.findtext('kind')}: {error.findtext('what')}")
    return found, others


def command(path, *options):
    """What a program is started with, to be searched into an XML file; children that it starts are not."""
    return [need_valgrind(), "-q", "--xml=yes", f"--xml-file={path}", "--num-callers=40", "--leak-check=full",
            "--show-leak-kinds=all", "--run-libc-freeres=yes", "--leak-resolution=high",
            "--default-suppressions=no", "--child-silent-after-fork=yes", *options]


def run(arguments, folder, options=(), **more):
    """Runs a program under memcheck: how it ended, its leaks, other errors."""
    path = folder / "memcheck.xml"
    ended = hw.run([*command(path, *options), *arguments], **more)
    hw.need(path.exists(), f"memcheck says nothing: {ended}")
    return ended, *records(path)
