/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: the program starts another program. May touch: that program's file, read-only.
 *
 * Whether a program can have this library loaded into it, and why it can't be recorded.
 */
#ifndef RUNTIME_LOADABLE_H
#define RUNTIME_LOADABLE_H

#include "format/kinds.h"
#include "format/shm.h"

#include <stdbool.h>

/*
 * Returns why a program will not be recorded; HW_UNRECORDED_NOT if it will be, or nothing is known.
 * A script counts as its interpreter. `folder` and `path` are as for openat(2); if `path` is NULL,
 * `folder` is the open file. If there is a reason, `ret_path` becomes the program's name, as in
 * struct hw_notice.
 */
enum hw_unrecorded rt_unrecorded(
	int folder, const char *path, char ret_path[static HW_NOTICE_PATH]);

/* Does so for a name that is searched in $PATH, as execvp(3) does. */
enum hw_unrecorded rt_unrecorded_by_name(const char *name, char ret_path[static HW_NOTICE_PATH]);

/*
 * Returns false if a program that is unrecorded for this reason would fail or complain because of
 * LD_PRELOAD. Others ignore it, but may start programs that do not.
 */
bool rt_loadable(enum hw_unrecorded why);

#endif
