/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How errors beside leaks are shown and judged: options of `report --view errors` and of `check`.
 * Names and values are Valgrind's and those of `leaks` where they mean the same.
 *
 *	struct error_options errors;
 *	error_options_init(&errors);
 *	…error_options_take(&errors, id, argument, &taken)…
 *	error = error_options_settle(&errors, model, merge);
 *	code = error_options_judge(&errors, model, code);
 *	error_options_deinit(&errors);
 */
#ifndef CLI_ERROR_OPTIONS_H
#define CLI_ERROR_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/options/leak_options.h"
#include "model/model.h"
#include "views/error_forms.h"

enum error_option {
	ERROR_OPT_FIRST = 900, /* beyond those of all that take them */
	ERROR_OPT_SUPPRESSIONS,
	ERROR_OPT_GEN_SUPPRESSIONS,
	ERROR_OPT_FORMAT,
	ERROR_OPT_EXITCODE,
	ERROR_OPT_LAST,
};

/* Rows for the options table of a command that takes them. */
#define ERROR_SPEC_SUPPRESSIONS                                                                    \
	{ERROR_OPT_SUPPRESSIONS, "suppressions", "FILE",                                           \
		"file of known errors, in Valgrind's or ASan's format; may be repeated"},
#define ERROR_SPEC_GEN_SUPPRESSIONS                                                                \
	{ERROR_OPT_GEN_SUPPRESSIONS, "gen-suppressions", "yes|no|all",                             \
		"print a suppression after each error (all is the same as yes)"},
#define ERROR_SPEC_FORMAT                                                                          \
	{ERROR_OPT_FORMAT, "format", "FORM",                                                       \
		"text (default), memcheck, valgrind (XML), json, csv, sarif, junit or github"},
#define ERROR_SPEC_EXITCODE                                                                        \
	{ERROR_OPT_EXITCODE, "error-exitcode", "N",                                                \
		"exit status if there are errors that no suppression fits"},
#define ERROR_SPECS                                                                                \
	ERROR_SPEC_SUPPRESSIONS ERROR_SPEC_GEN_SUPPRESSIONS ERROR_SPEC_FORMAT ERROR_SPEC_EXITCODE

/* As given, checked when they are taken. Strings are borrowed from the command line. */
struct error_options {
	struct suppression_files suppressions;
	bool gen_suppressions;
	enum error_form form;
	int exitcode;      /* LEAK_NO_EXITCODE */
	const char *given; /* the option that was given first, "--suppressions"; NULL: none */
};

void error_options_init(struct error_options *options);
void error_options_deinit(struct error_options *options);

/* Takes the option that options_next() has just given. *ret_taken: it is one of these. The error
 * is one sentence. */
struct error *error_options_take(
	struct error_options *options, int id, const char *argument, bool *ret_taken) must_check_;

/* Reads the files, so that mistakes in them are known before anything runs. */
struct error *error_options_check(const struct error_options *options) must_check_;

/* Takes what suppressions fit out of a model's errors, and makes equal ones one if `merge`; see
 * errors_settle(). */
struct error *error_options_settle(
	const struct error_options *options, struct model *model, bool merge) must_check_;

/*
 * Returns the exit code where the command's own would be `code`: that of --error-exitcode if there
 * are errors, ERROR_INPUT, after saying why, if that can't be decided.
 */
int error_options_judge(const struct error_options *options, const struct model *model, int code);

#endif
