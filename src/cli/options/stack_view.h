/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands share that show stacks in one form or another: tree, flame, graph, list. */
#ifndef CLI_STACK_VIEW_H
#define CLI_STACK_VIEW_H

#include "cli/options/view_options.h"
#include "query/stacks.h"

/* What a command makes of it. */
struct stack_view_form {
	/* Looks for what was asked about. Returns 0, or the exit code after saying why; NULL: there
	 * is nothing to look for. */
	int (*choose)(const struct stacks *view, void *ctx);
	struct error *(*write)(const struct stacks *view, void *ctx, const struct sink *sink);
	const char *file; /* where to: as of view_request_write() */
	bool folds;       /* frames that are folded are taken out, unless all are asked for */
};

/*
 * Opens the recording (path NULL: the newest one here; FILE@MOMENT too) and what it is compared
 * with, builds the profile, chooses and writes. Returns 0, or the exit code after saying why.
 */
int stack_view_show(struct view_request *request, const char *path,
	const struct stack_view_form *form, void *ctx);

/* How the command line of such a command is read. */
struct stack_view_line {
	const char *what; /* that is of one recording: "a tree" */
	/* As of options_each(). */
	bool (*take)(const struct options *options, int id, void *ctx);
	/* Says what is wrong with options that are right one by one: false. NULL: nothing is. */
	bool (*check)(const struct command *command, void *ctx);
	bool no_metric; /* it takes none; the others show peak bytes unless one is given */
};

/*
 * Reads it: options into `ctx`, of which `request` is a part, and the recording (NULL: none is
 * named). False: leave with *ret_code, all is said.
 */
bool stack_view_parse(const struct stack_view_line *line, struct options *options,
	struct view_request *request, void *ctx, const char **ret_path, int *ret_code);

/* The exit code where what is asked about is not there. */
#define STACK_VIEW_NOTHING 1

/* Says that no spot has the name, and which are like it; returns the exit code. */
int stack_view_unknown(const struct spots *spots, const char *name);

/*
 * Sets ret[id] for all spots that `name` stands for (names.h); the caller frees it. `spots` get all
 * spots of the rows. Returns 0, or the exit code after saying why: 1 if there is none, with near
 * ones.
 */
int stack_view_find(const struct stacks *view, struct spots *spots, const char *name, bool **ret);

/* A number from 0 to `most`, "1e-10" too; false: it is none. */
bool stack_view_number(const char *text, double most, double *ret);
/* Takes an option's argument as percents from 0 to 100; false, after saying so: it is none. */
bool stack_view_percent(const struct options *options, const char *name, double *ret);

/* Takes the recording that is left behind the options, NULL: none; with --merge several. False,
 * after saying so: there are more; `what` is "a tree". */
bool stack_view_operand(const struct options *options, const char *what,
	struct view_request *request, const char **ret);

#endif
