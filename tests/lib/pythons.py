# SPDX-License-Identifier: GPL-2.0-or-later
"""The interpreters of Python that are installed: in /usr/bin, and by pyenv."""

import re
from pathlib import Path

import hw

KNOWN = range(8, 14)  # minor versions whose frames are read


def _find():
    found = {}
    places = [*Path("/usr/bin").glob("python3.*"), *(Path.home() / ".pyenv/versions").glob("3.*/bin/python3.*")]
    for place in sorted(places, reverse=True):
        if re.fullmatch(r"python3\.\d+", place.name):
            found[int(place.name[8:])] = place
    return found


ALL = _find()
"""{minor version: an interpreter of it}: pyenv's where there are two."""


def python(minor):
    """An interpreter of that version."""
    if minor not in ALL:
        raise hw.Skip(f"there is no Python 3.{minor}")
    return ALL[minor]


def debians():
    """The interpreter of the distribution."""
    return Path("/usr/bin/python3").resolve()
