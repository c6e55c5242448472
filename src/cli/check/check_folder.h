/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder for recordings that are not kept, in $TMPDIR. The process that created it removes it; if
 * it was killed, a later one does: a lock says that somebody still has the folder, and it ends with
 * the process.
 */
#ifndef CLI_CHECK_FOLDER_H
#define CLI_CHECK_FOLDER_H

#include "base/error.h"

/* A folder that nobody has locked is removed if it is older. What writes there may have outlived
 * who created it. */
#define CHECK_FOLDER_OLD_S 86400

struct check_folder {
	char *path; /* NULL: there is none */
	int lock;   /* the folder, opened and locked; -1: not. Processes that are forked share it */
};
#define CHECK_FOLDER_NONE                                                                          \
	{                                                                                          \
		.lock = -1                                                                         \
	}

/* Creates it, and removes what others have left. ERROR_ENVIRONMENT: it can't be created. */
struct error *check_folder_create(struct check_folder *ret) must_check_;

/* Removes the folder with its files; what still writes to those goes on. Once is enough. */
void check_folder_remove(struct check_folder *folder);

#endif
