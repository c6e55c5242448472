/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the files that hold a module's names. */
#ifndef SYMBOLS_DEBUG_FILE_H
#define SYMBOLS_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/settings.h"
#include "symbols/split/image.h"
#include "symbols/split/lookup_log.h"
#include "symbols/split/object.h"

/* What is looked for, and where. */
struct debug_query {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len; /* 0: unknown */
	bool is_here;        /* the path is one of this machine's, whatever the settings say */
	/* Without a build-id, a file at the path itself that was written after this
	 * (CLOCK_REALTIME) is another one. 0: nothing is known of when it was recorded. */
	uint64_t recorded_ns;
	const struct symbols_settings *settings;
};

struct debug_files {
	struct object *main;     /* the module itself; NULL if it is gone or another one */
	struct object *separate; /* its separate debug file; NULL if there is none */
	struct object *alt;  /* what the debug information shares with others (dwz); NULL: none */
	struct image no_alt; /* stands for one that is missing */
	bool changed;        /* another file is at the path */
	bool read;           /* debug_files_read() was called */
	struct lookup_attempt_vec tried; /* in the order of the search */
};

/*
 * In this order: the path itself; the build-id, then the file's name, in the folders that the user
 * names; the build-id in the debug folders; the file that its .gnu_debuglink names (beside it, in
 * .debug beside it, in the debug folders and the user's). Every file is checked by build-id, or by
 * the link's CRC where it has none. The shared file of the debug information is looked for as it
 * names it, then by build-id in the same folders.
 */
void debug_files_open(struct debug_files *ret, const struct debug_query *query);

/*
 * Opens the debug information in them, if that was not done yet. Opening the files does it where
 * they share a part with others, which is a file of theirs then.
 */
void debug_files_read(struct debug_files *files, const struct debug_query *query);
void debug_files_close(struct debug_files *files);

#endif
