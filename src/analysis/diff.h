/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two models compared: what grew, by how much, in words and as rows with `base` (the older one) and
 * `sums` (the newer one). Places are matched as match.h says.
 */
#ifndef ANALYSIS_DIFF_H
#define ANALYSIS_DIFF_H

#include "analysis/compare/match.h"
#include "analysis/interval.h"
#include "analysis/time/stack_sizes.h"
#include "base/text.h"

enum diff_status { DIFF_NEW, DIFF_GROWN, DIFF_SHRUNK, DIFF_GONE, DIFF_SAME, DIFF_STATUSES };

/*
 * A change of a total is no news below DIFF_NEWS_PERCENT of the older one; nor if it is below
 * DIFF_NEWS_BYTES (of counts DIFF_NEWS_COUNT) and below DIFF_NEWS_SMALL_PERCENT: docs/diff.md.
 */
#define DIFF_NEWS_PERCENT 1u
#define DIFF_NEWS_SMALL_PERCENT 10u
#define DIFF_NEWS_BYTES 1024u
#define DIFF_NEWS_COUNT 10u
/* Stacks of threads are no news unless they grew by more than this, and by more than the heap. */
#define DIFF_STACKS_LEAST (1u << 20)

/* A figure in both, and how far they differ. */
struct diff_figure {
	uint64_t base, value;
	int64_t change;
	bool estimated;     /* of a sampled recording: then the next two are set */
	int64_t low, high;  /* in 19 of 20 comparisons the true change lies between them */
	bool within_error;  /* it may be no change at all: of a row the ranges of both overlap, of a
			       total `sure_low` and `sure_high` have 0 between them */
	bool by_mean_sizes; /* `low` and `high` are, as of struct interval */
	int64_t sure_low, sure_high; /* the same whatever the sizes of blocks are */
};

/* What of the models is compared. */
enum diff_scope {
	DIFF_STACKS,
	DIFF_INHERITED, /* what the processes were forked with */
	DIFF_TOTALS,    /* no places: rows are left out */
};

struct diff_options {
	enum diff_scope scope;
	enum metric metric;  /* what rows and verdict are about; usually METRIC_LIVE_BYTES */
	bool metric_unasked; /* another takes its place, with a note, if one side doesn't know it */
	bool same_recording; /* two moments of one */
	bool normalize;      /* the older figures are scaled so that totals agree */
	bool count_libraries; /* what they keep for themselves is the program's, too */
	/* All rows of the older and the newer model, where the sides have but those that a filter
	 * left: the totals are of all. NULL: the sides have all. */
	const struct rows *all[2];
};

struct diff {
	struct diff_options options;
	struct match_side sides[2]; /* older, newer */
	struct match *match;
	struct rows rows;
	struct stack_sizes stacks; /* of threads, at the end of each side */
	struct totals base;        /* the older totals, scaled if that is wanted */
	struct totals value;       /* the newer ones */
	/* By metric, largest change first. Of what is live without what libraries keep. */
	struct row_list lists[DIFF_STATUSES];
	int64_t sums[DIFF_STATUSES];        /* of the changes in each */
	struct row_list libraries;          /* what they keep, which is in no such list */
	struct site kept_older, kept_newer; /* the same in all */
	bool libraries_unknown;             /* one side can't tell: it counts in both */
	struct text verdict; /* sentences, each with a newline; the first one weighs most */
	struct text top;     /* of these the one that says what grew most; may be empty */
	struct text total;   /* of these the one on the metric's total */
	struct text renamed; /* of these those on renamed and moved functions; may be empty */
	struct text notes;   /* what limits the comparison */
};

void diff_init(struct diff *diff);
void diff_deinit(struct diff *diff);

/* Fills a fresh one; models, rows and resolvers must outlive it. */
struct error *diff_build(const struct match_side *older, const struct match_side *newer,
	const struct diff_options *options, struct diff *ret) must_check_;

/* Returns whether both sources say it: of a sample it is unknown which allocations were temporary.
 */
bool diff_knows(const struct diff *diff, enum metric metric);
/* Returns which side does not know it, if only one does: "a sample". */
const char *diff_ignorant(const struct diff *diff);
/* Computes the figure of a row, and of the totals. */
void diff_of_row(const struct diff *diff, const struct row *row, enum metric metric,
	struct diff_figure *ret);
void diff_of_totals(const struct diff *diff, enum metric metric, struct diff_figure *ret);
/*
 * Computes a figure of the totals for sentences and limits: live figures exclude memory that
 * libraries keep for themselves, unless it is to be counted.
 */
void diff_of_program(const struct diff *diff, enum metric metric, struct diff_figure *ret);
enum diff_status diff_status(const struct diff *diff, const struct row *row);
/* Returns "new", "grown"… */
const char *diff_status_name(enum diff_status status);

/*
 * Fills the empty list with those of the rows that either model has any `filter` of (METRICS: all),
 * the largest change of the comparison's metric first, those within the error after these, and
 * those that did not change last. The rows are those of the comparison, or made of these.
 */
struct error *diff_select(const struct diff *diff, const struct rows *rows, enum metric filter,
	struct row_list *ret) must_check_;

/* Scales an older figure for --normalize, by totals that were `from` and are `to`. */
uint64_t diff_scaled(uint64_t value, uint64_t to, uint64_t from);

/* Returns whether a change of a total is worth a sentence. */
bool diff_is_news(enum metric metric, const struct diff_figure *figure);

/* Adds "3 MiB" or "1,234". */
void diff_add_value(struct text *text, enum metric metric, uint64_t value);
/* Adds "+3 MiB", "-12", "±0". */
/* Returns what rows are, "allocation sites" or, of two heaps, "types"; of one if count is 1. */
const char *diff_row_word(const struct diff *diff, size_t count);
void diff_add_change(struct text *text, enum metric metric, int64_t change);

/* Adds the sentences; used by diff_build(). */
struct error *diff_describe(struct diff *diff) must_check_;

#endif
