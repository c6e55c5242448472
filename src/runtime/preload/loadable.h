/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program starts another program. May touch: that program's file, read-only.
 *
 * Whether a program can have this library loaded into it.
 */
#ifndef RUNTIME_LOADABLE_H
#define RUNTIME_LOADABLE_H

#include <stdbool.h>

/*
 * False if the program would fail, or complain, because of LD_PRELOAD: of another class or machine,
 * using musl, or built with a sanitizer, which must be the first library. A script is as its
 * interpreter. True if nothing is known; also for static programs, which load nothing and may start
 * others. `folder` and `path` as for openat(2); NULL for a path means the open file `folder`.
 */
bool rt_loadable(int folder, const char *path);

/* The same for a name that is looked for in $PATH, as execvp(3) does. */
bool rt_loadable_by_name(const char *name);

#endif
