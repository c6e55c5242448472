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
 * Why a program is not going to be recorded; HW_UNRECORDED_NOT also if nothing is known. A script
 * is as its interpreter. `folder` and `path` as for openat(2); NULL for a path means the open file
 * `folder`. If there is a reason *ret_path is how the program is called, as in struct hw_notice.
 */
enum hw_unrecorded rt_unrecorded(
	int folder, const char *path, char ret_path[static HW_NOTICE_PATH]);

/* The same for a name that is looked for in $PATH, as execvp(3) does. */
enum hw_unrecorded rt_unrecorded_by_name(const char *name, char ret_path[static HW_NOTICE_PATH]);

/*
 * False: such a program would fail, or complain, because of LD_PRELOAD. Others take no notice of
 * it, but may start programs that do.
 */
bool rt_loadable(enum hw_unrecorded why);

#endif
