/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands share that show stacks in one form or another: tree, flame, graph, peek, list.
 */
#ifndef CLI_STACK_VIEW_H
#define CLI_STACK_VIEW_H

#include "cli/options/view_options.h"
#include "query/stacks.h"

/* One of these commands; `ctx` is its request. What is NULL it does not need. */
struct stack_view {
	const char *what; /* that is of one recording: "a tree" */
	/* As of options_each(). */
	bool (*take)(const struct options *options, int id, void *ctx);
	/* Takes the operand before the recording. */
	bool (*operand)(struct options *options, void *ctx);
	/* Says what is wrong with options that are right one by one: false. */
	bool (*check)(const struct command *command, void *ctx);
	bool no_metric; /* it takes none; the others show peak bytes unless one is given */
	/* Looks for what was asked about. Returns 0, or the exit code after saying why. */
	int (*choose)(const struct stacks *view, void *ctx);
	struct error *(*write)(const struct stacks *view, void *ctx, const struct sink *sink);
	/* Where to, as of view_request_write(). */
	const char *(*file)(const void *ctx);
	/* Whether frames that are folded are taken out, unless all are asked for. */
	bool (*folds)(const void *ctx);
};

/*
 * Reads the command line into `ctx`, of which `request` is a part, opens the recording (the newest
 * one here if none is named; FILE@MOMENT too) and what it is compared with, builds the profile,
 * chooses and writes. Returns 0, or the exit code after saying why.
 */
int stack_view_run(const struct stack_view *view, struct options *options,
	struct view_request *request, void *ctx);

/* The first part of that, for those who show it themselves: *ret_path NULL: no recording is named.
 * False: leave with *ret_code, all is said. */
bool stack_view_parse(const struct stack_view *view, struct options *options,
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

#endif
