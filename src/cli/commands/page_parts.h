/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The documents of a page of one recording: what report, timeline and leaks write as JSON. */
#ifndef CLI_PAGE_PARTS_H
#define CLI_PAGE_PARTS_H

#include "cli/commands/leak_report.h"
#include "cli/options/view_options.h"
#include "page/page.h"

#define PAGE_PARTS_MAX 16u

/* Lifetimes take a pass over all events, some 3 s for so many: beyond it they are for who asks. */
#define PAGE_LIVES_EVENTS 10000000u

enum page_lifetimes { PAGE_LIFETIMES_AUTO, PAGE_LIFETIMES_NO, PAGE_LIFETIMES_YES };

/* One view of a model; or the leaks. */
struct page_part {
	const struct view *view;   /* NULL: of leaks */
	const struct model *model; /* NULL: it can't be shown */
	const struct view_options *options;
	const struct leak_report *leaks; /* NULL: of a view */
	const char *problem;             /* why it can't be shown; NULL: it can */
};

/* Must not move once it is open. All 0 before, but the first two; page_parts_deinit() in either
 * case.
 */
struct page_parts {
	enum page_lifetimes lifetimes; /* whether they are wanted */
	bool no_timeline;              /* nothing over time is wanted: no second look at the file */
	struct model *model;           /* what the report is of, and the stacks */
	struct model *over_time; /* the same with a series of moments and lives; NULL: without */
	struct error *no_times;  /* why there is none; NULL: there is */
	const char *no_leaks, *no_lives;
	struct view_base subtracted; /* of a file that is a difference */
	struct view_options options; /* of all of them */
	struct leak_options leak_options;
	struct leak_report *leaks;
	struct page_part parts[PAGE_PARTS_MAX];
	struct page_document documents[PAGE_PARTS_MAX]; /* for struct page_wanted */
	size_t count;
};

/*
 * Opens the recording that is asked for (`path` NULL: the newest one here) and prepares its
 * documents; `request` must outlive them. Times come from a second look at the file, as report and
 * timeline want other moments. Returns 0, or the exit code after saying why.
 */
int page_parts_open(struct view_request *request, const char *path, struct page_parts *ret);

/* Adds another document to those that are opened. `ctx` must outlive them. */
void page_parts_add(struct page_parts *parts, const char *name,
	struct error *(*write)(
		void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out),
	void *ctx);

void page_parts_deinit(struct page_parts *parts);

#endif
