/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands share that show stacks in one form or another: tree, flame, graph, list. */
#ifndef CLI_STACK_VIEW_H
#define CLI_STACK_VIEW_H

#include "analysis/comparison.h"
#include "cli/operands.h"
#include "cli/view_options.h"

/* A recording as such a command looks at it. */
struct stack_view {
	struct model *model;
	struct profile profile; /* with a base that of `compared`, not owned */
	struct operand base;
	struct comparison *compared; /* NULL: there is no base */
};

/* What a command makes of it. */
struct stack_view_form {
	/* Looks for what was asked about. Returns 0, or the exit code after saying why; NULL: there
	 * is nothing to look for. */
	int (*choose)(const struct stack_view *view, void *ctx);
	struct error *(*write)(const struct stack_view *view, void *ctx, const struct sink *sink);
	const char *file; /* where to: as of view_request_write() */
	bool folds;       /* frames that are folded are taken out, unless all are asked for */
};

/*
 * Opens the recording (path NULL: the newest one here; FILE@MOMENT too) and what it is compared
 * with, builds the profile, chooses and writes. Returns 0, or the exit code after saying why.
 */
int stack_view_show(struct view_request *request, const char *path,
	const struct stack_view_form *form, void *ctx);

/* The exit code where what is asked about is not there. */
#define STACK_VIEW_NOTHING 1

/* Makes all frames of the rows known to the spots. */
struct error *stack_view_meet(const struct stack_view *view, struct spots *spots) must_check_;

/* Says that no spot has the name, and which are like it; returns the exit code. */
int stack_view_unknown(const struct spots *spots, const char *name);

/*
 * Sets ret[id] for all spots that `name` stands for (names.h); the caller frees it. `spots` get all
 * spots of the rows. Returns 0, or the exit code after saying why: 1 if there is none, with near
 * ones.
 */
int stack_view_find(
	const struct stack_view *view, struct spots *spots, const char *name, bool **ret);

/* A number from 0 to `most`, "1e-10" too; false: it is none. */
bool stack_view_number(const char *text, double most, double *ret);
/* Takes an option's argument as percents from 0 to 100; false, after saying so: it is none. */
bool stack_view_percent(const struct options *options, const char *name, double *ret);

/* Takes the recording that is left behind the options, NULL: none; with --merge several. False,
 * after saying so: there are more; `what` is "a tree". */
bool stack_view_operand(const struct options *options, const char *what,
	struct view_request *request, const char **ret);

#endif
