/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main program of a run: programs are started through others (env, timeout, sudo, shells,
 * make), each of which has a recording, and people mean the one that does the work. That is, of all
 * recordings of the run, the one with the largest peak; of equal ones the one that began last,
 * since wrappers begin before what they start.
 */
#ifndef QUERY_MAIN_PROGRAM_H
#define QUERY_MAIN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/context.h"

struct main_program {
	char *path;    /* of its recording; the caller frees it */
	char *command; /* its program and arguments, for people; the caller frees it */
	size_t count;  /* recordings of the run that could be read; 0 or 1: it is the only one */
	uint64_t peak_bytes;
};

void main_program_deinit(struct main_program *program);

/*
 * The main program of the run that a recording is of: that of FILE.hpw, FILE.PID.hpw,
 * FILE.PID.N.hpw. Files that can't be read are passed over; errors are of memory or the folder.
 */
struct error *main_program_find(const char *path, struct main_program *ret) must_check_;

#define MAIN_PROGRAM_ALL "'heapwise report .' shows all"

/*
 * That of the newest run whose recordings are in the current folder: notes which it is, and by
 * `others` how to see the others; NULL: without its command, which nobody is to see. The caller
 * frees the path.
 */
struct error *main_program_newest(
	struct query_context *context, const char *others, char **ret) must_check_;

/*
 * Whether a recording is, by its name and those beside it, the first of a run: FILE.hpw. Who names
 * another one of the run knows of them, and need not be told.
 */
bool main_program_is_first(const char *path);

#endif
