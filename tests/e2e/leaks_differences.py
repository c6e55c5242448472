# SPDX-License-Identifier: GPL-2.0-or-later
"""Where Valgrind 3.19's memcheck says otherwise than the targets of tests/targets/leaks do, and why. docs/leaks.md
("Beside Valgrind") tells users; tests/e2e/test_leaks.py holds that nothing more and nothing less differs.

A key is a target, or a variant of it (`name-O2`), which then replaces the target's.
"""

from leaktruth import Led, Moved

MEMCHECK = {
    "cycle_held_inside": (
        "the block that it finds lost first leads, and keeps that when a later one holds another link of its ring",
        [Moved("ring_link", "indirect", "definite", 1), Led("ring_link", 112), Led("ring_holder", 0)],
    ),
}

# Our own: limits that docs/leaks.md names.
HEAPWISE = {}


def of(table, name):
    """(reason, differences) of a variant of a target."""
    stem = name.rpartition("-")[0]
    return table.get(name) or table.get(stem) or ("", [])
