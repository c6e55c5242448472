/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the files that hold a module's names. */
#ifndef SYMBOLS_DEBUG_FILE_H
#define SYMBOLS_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/object.h"

/* What is looked for, and where. */
struct debug_query {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;        /* 0: unknown */
	const char *const *folders; /* as /usr/lib/debug */
	size_t folder_count;
};

struct debug_files {
	struct object *main;     /* the module itself; NULL if it is gone or another one */
	struct object *separate; /* its separate debug file; NULL if there is none */
	bool changed;            /* another file is at the path */
};

/*
 * In this order: the build-id in the folders, the path itself, the file that its .gnu_debuglink
 * names (beside it, in .debug beside it, in the folders). Every file is checked by build-id, or by
 * the link's CRC where it has none.
 */
void debug_files_open(struct debug_files *ret, const struct debug_query *query);
void debug_files_close(struct debug_files *files);

#endif
