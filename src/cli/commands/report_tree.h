/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several recordings, or a folder of them: the table of processes, of heapwise report and html. */
#ifndef CLI_REPORT_TREE_H
#define CLI_REPORT_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "views/tree.h"

struct anonymizer;
struct view_options;

/* Recordings as rows, and the processes that have no file of their own; all 0 before. */
struct process_rows {
	struct tree_row *data; /* strings are owned */
	size_t len, cap;
	size_t unread; /* recordings that could not be read */
	int code;      /* of the last of these; 0: all could */
};
void process_rows_deinit(struct process_rows *rows);

/* Reads the recordings, and those of folders (*.hpw); says on stderr what can't be read. Returns 0
 * if there is any, or the exit code after saying why. */
int process_rows_read(struct process_rows *rows, char *const *paths, size_t count);
/* Returns the row with the largest peak, of equal ones the one that began last
 * (main_program.h); only of those with a file of their own. */
const struct tree_row *process_rows_main(const struct process_rows *rows);
/* Replaces names of programs and files by tokens. */
struct error *process_rows_hide(
	struct process_rows *rows, struct anonymizer *anonymizer) must_check_;

struct report_tree_options {
	const struct view_options *view; /* the form */
	bool paged;                      /* through a pager, if one is wanted */
	bool anonymize;                  /* tokens instead of names of programs and files */
	/* As anonymous files are called, in the order of their paths; NULL: by their numbers. */
	const char *const *names;
	bool may_be_empty; /* a table without rows is an answer, too; what can't be read is just
			      left out */
};

/*
 * Reads the recordings, and those of folders (*.hpw), says on stderr what can't be read, and writes
 * the table. Returns the exit code.
 */
int report_tree(char *const *paths, size_t count, const struct report_tree_options *options);

#endif
