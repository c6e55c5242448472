# SPDX-License-Identifier: GPL-2.0-or-later
"""Where Valgrind 3.19's memcheck says otherwise than the targets of tests/targets/leaks do, and why. docs/leaks.md
("Beside Valgrind") tells users; tests/e2e/leaks/test_leaks.py holds that nothing more and nothing less differs.

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
    "heuristic_stdstring": (
        "it knows strings of characters of one byte alone",
        [Moved("held_by_wide_characters", "reachable", "possible", None)],
    ),
    "heuristic_stdstring --leak-check-heuristics=stdstring": (
        "it knows strings of characters of one byte alone",
        [Moved("held_by_wide_characters", "reachable", "possible", None)],
    ),
    "heuristic_stdstring --leak-check-heuristics=none": ("", []),
    "heuristic_stdstring --leak-check-heuristics=length64,newarray,multipleinheritance": ("", []),
    "read_only": (
        "it searches only what the program may read and write at the moment",
        [Moved("in_read_only", "reachable", "definite", None), Moved("in_untouchable", "reachable", "definite", None)],
    ),
    "stdio_buffer": (
        "before it searches it has libc free its own, and with that go buffers of streams; not so with "
        "--run-libc-freeres=no",
        [Moved("in_libc_buffer", "reachable", "definite", None)],
    ),
    "thread_result": (
        "it knows no thread-local memory: that of a thread which has ended stays mapped until somebody joins it",
        [Moved("in_local", "definite", "reachable", None)],
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


# Real programs: (program or "", words that stand in the names of the stack, whether we call more lost there, why).
REAL = [
    (
        "",
        "allocate_dtv",
        False,
        "the loader's table of a thread's local memory: the thread holds it in the middle, which memcheck does not know",
    ),
    (
        "perl",
        "Perl_more_sv",
        True,
        "scalars come by the hundred: the one who finds none left asks for more, and how many there are depends on the "
        "environment, in which each tool has put its own variables",
    ),
    (
        "perl",
        "Perl_more_bodies",
        True,
        "so do entries of hashes: of a table of them the first is free, and the one who asked for it is chance",
    ),
    ("nginx", "ngx_set_environment", False, "memcheck has libc forget the environment before it searches"),
    (
        "nginx",
        "ngx_crc32_table_init",
        False,
        "a table that nginx aligns itself: natively its start is aligned already, and the pointer to it no interior one",
    ),
    *(
        (
            "nginx",
            cycle,
            True,
            "free connections are a list: whether it begins at the start of their table, or in the middle of it, depends on "
            "which connection was closed last",
        )
        for cycle in ("ngx_single_process_cycle", "ngx_worker_process_cycle")
    ),
    ("gcc", "gcc+", False, "strings that were given to putenv: memcheck has libc forget the environment"),
    (
        "redis-server",
        "_sdsnewlen",
        False,
        "strings are held behind their header alone, thus possible; a pointer that the program keeps to what it has "
        "freed may point to the start of one, since memory is used again at once",
    ),
]


def real(program, names, more):
    """The explanation of a place: the names of its stack; whether we call more of its blocks lost. "": there is
    none."""
    for rule_program, words, rule_more, why in REAL:
        if program.startswith(rule_program) and words in names and rule_more >= more:
            return why
    return ""
