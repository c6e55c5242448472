/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `heapwise serve` was given: a list of files and processes that its pages choose from by
 * number. A number stays what it is; recordings that appear in a folder are added at the end. */
#ifndef CLI_SERVE_FILES_H
#define CLI_SERVE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/hash_index.h"
#include "base/text.h"

/* Files of the list; of more it says how many. */
#define SERVE_FILES_MAX 4096u

struct serve_file {
	char *path; /* of a process: its number */
	char *name; /* where nothing may be named: "recording-1" */
	bool is_process;
	bool is_there; /* when it was looked at last; the next three count */
	uint64_t bytes;
	int64_t modified_ns; /* since 1970 */
	ino_t inode;
};

/* All 0 before serve_files_add(). */
struct serve_files {
	struct serve_file *data;
	size_t len, cap;
	struct hash_index by_path; /* of files, not of processes */
	bool anonymize;            /* names instead of paths */
	char **folders;            /* borrowed texts */
	size_t folder_count;
	size_t left_out; /* recordings beyond SERVE_FILES_MAX */
};

void serve_files_deinit(struct serve_files *files);

/* Adds a file, a folder of recordings (*.hpw) or a process by its number; the text must outlive the
 * list. ERROR_INPUT: it is none of these; ERROR_USAGE: a moment of a file. */
struct error *serve_files_add(struct serve_files *files, char *word) must_check_;

/* As pages may call a file. */
const char *serve_file_name(const struct serve_file *file);

/* Adds a message, with the names of files instead of their paths. */
void serve_files_hide(const struct serve_files *files, const char *message, struct text *ret);

/* Looks at all of them anew. */
struct error *serve_files_look(struct serve_files *files) must_check_;

/* Adds them as JSON, schema heapwise.serve/1. `compares`: whether one can be asked for as a change
 * from another. */
void serve_files_write(const struct serve_files *files, bool compares, struct text *ret);

#endif
