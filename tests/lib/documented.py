# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a JSON document says what its schema's page in docs/schema has."""


def members(value):
    """Every key anywhere in a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner)


def undocumented(found, documented):
    return sorted(set(members(found)) - documented)
