/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes under Valgrind have done wrong so far: the XML files in a folder, read again when
 * they have grown, and shown.
 */
#ifndef CLI_ENGINE_ERRORS_H
#define CLI_ENGINE_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "views/error_forms.h"

struct engine_errors;

/* Strings are borrowed for as long as the errors live. */
struct engine_errors_options {
	const char *folder; /* of files PID.xml */
	const char *output; /* the first process's goes there, others' to OUTPUT.PID; NULL: none */
	bool overwrite;
	const char *const *suppressions;
	size_t suppression_count;
	bool gen_suppressions, leaks, quiet;
	bool json;            /* errors, and what they come to, are lines: heapwise.check/1 */
	bool first;           /* a process ends at its first error */
	enum error_form form; /* beyond ERROR_FORM_CSV: one document at the end, nothing before */
	int log;              /* where they are shown */
};

/* Checks the files with suppressions and whether there may be such output. */
struct error *engine_errors_create(
	const struct engine_errors_options *options, struct engine_errors **ret) must_check_;
void engine_errors_destroy(struct engine_errors *errors);

/* Shows what is new in files that have grown. `whole`: their processes have ended. */
struct error *engine_errors_look(struct engine_errors *errors, bool whole) must_check_;

/* Returns how many processes have written a file so far. */
size_t engine_errors_files(const struct engine_errors *errors);

/* Says which is the program's own process: errors of others are shown with their names. */
void engine_errors_first(struct engine_errors *errors, pid_t first);

/* Shows leaks if they were asked for and what all errors come to, and keeps the files. */
struct error *engine_errors_end(struct engine_errors *errors) must_check_;

/* Returns the number of errors, of leaks too, that no suppression fits. */
uint64_t engine_errors_count(const struct engine_errors *errors);

#endif
