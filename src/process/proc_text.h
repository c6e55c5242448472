/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of /proc/PID that is read again and again. It stays open: so it is about the program that
 * ran when it was opened, not about another process that got the same number, and a file of
 * memory (maps, smaps) is empty once the program has ended or was replaced by exec.
 */
#ifndef PROCESS_PROC_TEXT_H
#define PROCESS_PROC_TEXT_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct proc_text {
	pid_t pid;
	const char *name; /* "maps" */
	int file;
	char *data; /* what was read last, and a NUL */
	size_t len, room;
};

/* Opens /proc/PID/`name`. ERROR_INPUT: there is no such process; ERROR_ENVIRONMENT: it may not be
 * read, with a sentence about what helps. Call proc_text_close() in any case. */
struct error *proc_text_open(pid_t pid, const char *name, struct proc_text *ret) must_check_;
void proc_text_close(struct proc_text *text);

/* Reads it anew, from its beginning. */
struct error *proc_text_read(struct proc_text *text) must_check_;

#endif
