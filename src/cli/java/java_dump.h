/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heap dumps: files, and those that a running JVM writes for one answer. */
#ifndef CLI_JAVA_DUMP_H
#define CLI_JAVA_DUMP_H

#include <stdbool.h>
#include <stddef.h>

#include "process/java_attach.h"

struct java_dump {
	const char *file; /* NULL: of a JVM */
	const char *why;  /* a class; NULL: not asked */
	const char *base; /* an older dump; NULL: none */
	size_t limit;     /* rows; 0: the usual number */
	bool json, csv;
};

/* Whether a word of the command line is meant as a file, not as a JVM. */
bool java_dump_is_file(const char *word);
/* Shows it. Returns the exit code, after saying what is wrong. */
int java_dump_show(const struct java_dump *dump);
/* Has the JVM write its reachable objects, for which it pauses, into its /tmp, and shows them. The
 * file is deleted before it is read. */
int java_dump_show_live(const struct java_vm *vm, const struct java_dump *dump);

#endif
