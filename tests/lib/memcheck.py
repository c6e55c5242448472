# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs under Valgrind's memcheck, and what it says of their leaks, in the terms of leaktruth.py."""

import os
import re
import xml.etree.ElementTree as ElementTree

import hw
from leaktruth import Record

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
    """(function, module) of a frame; a name that is not known is None."""
    return element.findtext("fn"), os.path.basename(element.findtext("obj") or "")


def record(error):
    what = error.find("xwhat")
    total, blocks = int(what.findtext("leakedbytes")), int(what.findtext("leakedblocks"))
    parts = PARTS.match(what.findtext("text"))
    indirect = int(parts[3].replace(",", "")) if parts else 0
    frames = [frame(f) for f in error.find("stack").iter("frame")]
    while frames and frames[0][1].startswith("vgpreload_"):
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


def run(arguments, folder, options=(), **more):
    """Runs a program under memcheck: how it ended, its leaks, other errors."""
    path = folder / "memcheck.xml"
    ended = hw.run([need_valgrind(), "-q", "--xml=yes", f"--xml-file={path}", "--num-callers=40",
                    "--leak-check=full", "--show-leak-kinds=all", "--run-libc-freeres=yes",
                    "--leak-resolution=high", "--child-silent-after-fork=yes", *options, *arguments], **more)
    hw.need(path.exists(), f"memcheck says nothing: {ended}")
    return ended, *records(path)
