/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `heapwise check --engine=valgrind`: a program under Valgrind's memcheck, which sees what the
 * native engine can't: values that were never initialised, in all memory. Errors are shown as they
 * occur, in the words of `report --view errors`; the program's streams, signals and exit status are
 * its own.
 *
 *	return check_engine_valgrind(&request);
 */
#ifndef CLI_ENGINE_VALGRIND_H
#define CLI_ENGINE_VALGRIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "process/program.h"
#include "views/error_forms.h"

/* Strings are borrowed. */
struct check_engine_request {
	char *const *argv;   /* the program and its arguments, ends with NULL */
	const char *output;  /* keeps memcheck's XML there, of other processes at OUTPUT.PID; NULL:
				it is not kept */
	bool overwrite;      /* output may replace what is no result of Valgrind's */
	bool trace_children; /* what the program executes is checked, too */
	bool track_origins;
	bool first;                      /* the program ends at its first error */
	const char *leak_check;          /* "full", "yes", "summary" or "no"; NULL: no */
	const char *const *suppressions; /* files, in Valgrind's form for Valgrind itself */
	size_t suppression_count;
	bool gen_suppressions; /* an entry for each error */
	bool json;             /* errors are lines: heapwise.check/1 */
	enum error_form form;  /* beyond ERROR_FORM_CSV: one document at the end, nothing before */
	int error_exitcode;    /* LEAK_NO_EXITCODE: none */
	int log;               /* where errors are shown: a descriptor */
	bool quiet;            /* only errors are shown */
	bool returns; /* where a signal ended the program: 128 + its number, and nobody dies */
	unsigned num_callers; /* 0: memcheck's default is raised to 24 */
};

/*
 * Runs it. Returns the exit code of the command: the program's, or error_exitcode if there were
 * errors; 125 if our own part failed, 126 and 127 if the program can't be executed or is not there.
 * If a signal ended the program it does not return: the process dies by the same signal.
 */
int check_engine_valgrind(const struct check_engine_request *request);

/* How much of a program memcheck can look at. */
enum check_engine_reach {
	CHECK_ENGINE_SEES,      /* all */
	CHECK_ENGINE_SEES_LESS, /* what can't be recorded: not its heap, or it may not run */
	CHECK_ENGINE_REFUSES,
};
/* Judges a program that was found and is executable; `name` is as given. Adds a sentence without a
 * full stop to `ret` unless it sees all. */
enum check_engine_reach check_engine_reach(
	const struct program *program, const char *name, struct text *ret);

/* Whether Valgrind is missing from $PATH: ERROR_ENVIRONMENT, as when it is to be started. */
struct error *check_engine_missing(void) must_check_;

#endif
