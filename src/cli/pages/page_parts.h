/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The documents of a page of one recording, or of the difference of two: what report, timeline,
 * leaks and diff write as JSON. */
#ifndef CLI_PAGE_PARTS_H
#define CLI_PAGE_PARTS_H

#include "cli/commands/leak_report.h"
#include "cli/options/view_options.h"
#include "cli/pages/page_marks.h"
#include "page/page.h"
#include "views/diff_view.h"

#define PAGE_PARTS_MAX 18u

/* Lifetimes take a pass over all events, some 3 s for so many: beyond it they are for who asks. */
#define PAGE_LIVES_EVENTS 10000000u

/* Marks that are exact moments of a recording of more events than that. */
#define PAGE_MARKS_OF_MANY 4u

enum page_lifetimes { PAGE_LIFETIMES_AUTO, PAGE_LIFETIMES_NO, PAGE_LIFETIMES_YES };

/* How two are compared, as `diff` does. Texts are borrowed. */
struct page_change {
	enum metric metric;  /* what the verdict is about */
	bool metric_unasked; /* it is only what is usual */
	bool count_libraries;
	bool normalize; /* the older figures are scaled so that totals agree */
	bool by_given;
	enum heap_by by;   /* of cores and processes, if it is given */
	const char *label; /* of what is compared, as it was given; NULL: its path */
};

/* One view of a model; or the leaks; or the comparison. */
struct page_part {
	const struct view *view;      /* NULL: of leaks, or the comparison */
	const struct page_diff *diff; /* NULL: of a view, or of leaks */
	const struct model *model;    /* NULL: it can't be shown */
	const struct view_options *options;
	const struct leak_report *leaks; /* NULL: of a view */
	const char *problem;             /* why it can't be shown; NULL: it can */
};

/* What the comparison is made of. */
struct page_diff {
	const struct model *older, *newer;
	struct diff_options options;
	const char *labels[2];
	const struct filter *filter;
	bool all_frames;
};

/* Must not move once it is open. All 0 before, but the first three; page_parts_deinit() in either
 * case.
 */
struct page_parts {
	enum page_lifetimes lifetimes; /* whether they are wanted */
	bool no_timeline;              /* nothing over time is wanted: no second look at the file */
	struct page_change change;
	struct model *model;        /* what the report is of, and the stacks */
	struct model *over_time;    /* the same with a series of moments and lives; NULL: without */
	struct operand older;       /* what it is compared with; model NULL: nothing */
	struct page_marks marks;    /* as it was at marks */
	struct operand older_times; /* the same over time */
	struct error *no_times;     /* why there are no times; NULL: there are */
	const char *no_leaks, *no_older_leaks, *no_lives;
	struct view_base base, base_times;  /* in the options */
	struct view_options options, timed; /* of documents; of those over time */
	struct page_diff diff;
	struct leak_options leak_options;
	struct leak_report *leaks;
	struct page_part parts[PAGE_PARTS_MAX];
	struct page_document documents[PAGE_PARTS_MAX]; /* for struct page_wanted */
	size_t count;
};

/*
 * Opens the recording that is asked for (`path` NULL: the newest one here), and what it is
 * compared with if request->query.base says so, and prepares the documents; `request` must outlive
 * them. Times come from a second look at the files, as report and timeline want other moments.
 * Returns 0, or the exit code after saying why.
 */
int page_parts_open(struct view_request *request, const char *path, struct page_parts *ret);

/* Adds another document to those that are opened. `ctx` must outlive them. */
void page_parts_add(struct page_parts *parts, const char *name,
	struct error *(*write)(
		void *ctx, size_t limit, const struct sink *sink, size_t *ret_left_out),
	void *ctx);

void page_parts_deinit(struct page_parts *parts);

#endif
