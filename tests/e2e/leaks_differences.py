# SPDX-License-Identifier: GPL-2.0-or-later
"""Where Valgrind 3.19's memcheck says otherwise than the targets of tests/targets/leaks do, and why. docs/leaks.md
("Beside Valgrind") tells users; tests/e2e/test_leaks.py holds that nothing more and nothing less differs.

A key is a target, or a variant of it (`name-O2`), with options as the target tells them.
"""

from leaktruth import Led, Moved

MEMCHECK = {
    "cycle_held_inside": (
        "the block that it finds lost first leads, and keeps that when a later one holds another link of its ring",
        [Moved("ring_link", "indirect", "definite", 1), Led("ring_link", 112), Led("ring_holder", 0)],
    ),
    "end_pthread_exit": (
        "it knows no thread-local memory: the first thread's stays a root when that thread has left",
        [Moved("in_local_of_main", "definite", "reachable", None)],
    ),
    "environment": (
        "before it searches it has libc free its own, and with that goes the list of the environment; not so with "
        "--run-libc-freeres=no",
        [Moved("put_string", "reachable", "definite", None)],
    ),
    "stdio_buffer": (
        "before it searches it has libc free its own, and with that go buffers of streams; not so with "
        "--run-libc-freeres=no",
        [Moved("in_libc_buffer", "reachable", "definite", None)],
    ),
    "tls_dynamic": (
        "it knows no thread-local memory: that of libraries is a block of the loader's, which a thread's table holds, "
        "which is another block that the thread holds in the middle",
        [Moved("of_thread", "reachable", "possible", None), Moved("behind_thread", "reachable", "possible", None)],
    ),
}

# Our own: limits that docs/leaks.md names.
HEAPWISE = {
    "end_pthread_exit": (
        "a thread that has gone leaves no stack pointer, and the first one's thread-local memory stands among the "
        "loader's own: it stays a root",
        [Moved("in_local_of_main", "definite", "reachable", None)],
    ),
}


def of(table, name, options):
    """(reason, differences) of a variant of a target, run with these options. What is written down is about a run
    without any, unless the key names them: `name --option`."""
    stem = name.rpartition("-")[0]
    words = " ".join(["", *options])
    return table.get(name + words) or table.get(stem + words) or ("", [])


# Real programs: (program or "", words that stand in the names of the stack, why). A rule explains places where the two
# searchers call blocks otherwise.
REAL = []


def real(program, names, ours, theirs):
    """The explanation of a place: the names of its stack, blocks by kind. "": there is none."""
    for rule_program, words, why in REAL:
        if rule_program in ("", program) and words in names:
            return why
    return ""
