/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several recordings, or a folder of them: the table of processes. Part of heapwise report. */
#ifndef CLI_REPORT_TREE_H
#define CLI_REPORT_TREE_H

#include <stdbool.h>
#include <stddef.h>

struct view_options;

struct report_tree_options {
	const struct view_options *view; /* the form */
	bool paged;                      /* through a pager, if one is wanted */
	bool anonymize;                  /* tokens instead of names of programs and files */
};

/*
 * Reads the recordings, and those of folders (*.hpw), says on stderr what can't be read, and writes
 * the table. Returns the exit code.
 */
int report_tree(char *const *paths, size_t count, const struct report_tree_options *options);

#endif
