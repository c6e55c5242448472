/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of a command from its table, over getopt_long, with our own words for what is wrong.
 *
 *	struct options options = {.command = command, .argc = argc, .argv = argv};
 *	int id;
 *	while ((id = options_next(&options)) > 0)
 *		…switch (id), options.argument…
 *	if (id < 0)
 *		return options.exit_code;
 *	…operands: argv[options.operand] …
 *
 * --help and -h are every command's and handled here.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "cli/command.h"

struct options {
	const struct command *command;
	int argc;
	char **argv;
	const char *argument; /* of the option just given; NULL if it takes none */
	int operand;          /* index of the first operand, once all options are read */
	int exit_code;        /* set when options_next gives -1 */
	int *refused; /* options_each(): its exit code, for options_refuse() also of operands */
	const char *origin; /* where the words are from if not from the command line, else NULL */
	bool started;
};

/* The next option's id; 0 after the last one; -1: all is said, leave with exit_code. */
int options_next(struct options *options);

/*
 * Gives each option to `take`, which returns false after saying what is wrong. False: all is said,
 * leave with *ret_code. That is ERROR_USAGE afterwards, for what else may be wrong.
 */
bool options_each(struct options *options,
	bool (*take)(const struct options *options, int id, void *ctx), void *ctx, int *ret_code);

/* "524288", "512K", "3M", "1G"; false: it is none of these. */
bool options_size(const char *text, uint64_t *ret);

/* A whole number from 1 on. False, after saying so, if `text` is none. */
bool options_number(
	const struct options *options, const char *text, const char *name, uint64_t *ret);

/* The one operand of a command that is for one process. False, after saying so, if it is no PID or
 * there is another number of operands. */
bool options_one_pid(const struct options *options, pid_t *ret);

/* Says what is wrong and where help is; returns the exit code for wrong usage. */
int options_wrong(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Above this, an option's id is no letter. */
#define OPTION_LETTER_MAX 255

/* --help, which every command has after its own options. */
extern const struct option_spec option_help;

/* Returns the heading in front of an option, or NULL. */
const char *option_heading_find(const struct command *command, const struct option_spec *spec);

/* Says why the argument of an option can't be used. options_each() leaves with the error's code. */
void options_refuse(const struct options *options, const struct error *error);

DEFINE_VEC(option_words, char *)

/* Adds an option of a table as one word, "--focus=^parse_"; one of another table is left out.
 * Returns false, after saying so, if there is no memory. */
bool option_words_note(
	struct option_words *words, const struct option_spec *specs, int id, const char *argument);
/* Frees the words, too. */
void option_words_free(struct option_words *words);

/* For an option that stands in the command's table and that nobody takes, a mistake in the command:
 * says so. Returns false. */
bool options_untaken(const struct options *options, int id);

/* Writes a command's help to stdout; returns the exit code. */
int command_print_help(const struct command *command);

#endif
