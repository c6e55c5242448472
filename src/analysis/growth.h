/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What becomes of the memory that a place holds, over time: does it keep growing, has it levelled
 * off, did it come and go? So a leak is found that is freed at exit, or that is still held, in one
 * recording and without choosing two moments.
 *
 * Judged is all the time of model_series(), idle time too, but for the tail: what was allocated at
 *the very end is young, and what is freed there is tidying up. They are dealt to GROWTH_WINDOWS
 *equal stretches of time, and of each the least that was live counts: a cache that is emptied now
 *and then, or blocks that come and go, have a floor that does not rise, a leak has one that does,
 *whatever comes and goes above it. A line is laid through the floors (Theil, "A rank-invariant
 *method of linear and polynomial regression analysis", 1950; Sen 1968): the median of the slopes
 *between any two, which a few outliers do not turn.
 *
 *	leak suspect   the floor rises nearly all the time (Kendall's tau), by much more than it
 *	               strays from the line, and still does at the end
 *	cache          it rose and has levelled off
 *	burst          the end has little of what was live once, in a short time
 *	start-up       it was there from the beginning, or nearly, and stays
 *	steady         none of these: it goes up and down
 */
#ifndef ANALYSIS_GROWTH_H
#define ANALYSIS_GROWTH_H

#include "analysis/rows.h"
#include "base/text.h"

#define GROWTH_WINDOWS 12u
/* Moments that are good for it: some in each window. */
#define GROWTH_MOMENTS 144u

enum growth_verdict {
	GROWTH_LEAK,
	GROWTH_CACHE,
	GROWTH_BURST,
	GROWTH_STARTUP,
	GROWTH_STEADY,
	GROWTH_NONE, /* too little is known, or was there, to say */
	GROWTH_VERDICTS
};

/* The default part of the time, at the end, that is not evaluated. */
#define GROWTH_TAIL_PERCENT 10u

struct growth_row {
	const struct row *row;
	enum growth_verdict verdict;
	uint64_t floors[GROWTH_WINDOWS], tops[GROWTH_WINDOWS]; /* least and most in each window */
	uint64_t highest;                                      /* of all moments before the tail */
	uint64_t live_bytes;                                   /* at the last moment before it */
	uint64_t live_blocks;
	uint64_t end_bytes;  /* when the recording ends */
	int64_t grown_bytes; /* by the line, from the first window with something to the last */
	double bytes_per_s;  /* its slope */
};
DEFINE_VEC(growth_rows, struct growth_row)

struct growth {
	struct growth_rows
		rows; /* leak suspects first, by how much they grew; others by what is live */
	/*
	 * The places to blame that keep growing, each once, by how much they grew: with all that is
	 * allocated there, or if that does not keep growing, with the stack that does most. `row`
	 * is one of the place's. Sentences are of these.
	 */
	struct growth_rows suspects;
	struct text verdict;        /* sentences, each with a newline */
	struct growth_row stacks;   /* what the stacks of threads take together; without a row */
	uint64_t from_ns, until_ns; /* what was judged */
	size_t moments;
	/* Of which nothing was live before the tail, and what they have when the recording ends. */
	size_t later_places;
	uint64_t later_bytes;
};

void growth_init(struct growth *growth);
void growth_deinit(struct growth *growth);

/* Evaluates one series; times ascend. Sets all but row, live_blocks and end_bytes. */
void growth_evaluate(
	const uint64_t *times_ns, const uint64_t *bytes, size_t count, struct growth_row *ret);

/* The places that are judged: a model's rows, or what was made of them. */
struct growth_places {
	const struct rows *all;   /* of rows_build() */
	const struct rows *shown; /* what is judged */
	/* By number of the row in `all`: of the one it is in, or ROWS_NONE; NULL: they are the
	 * same. */
	const uint32_t *shown_of;
	bool chosen; /* they are not of all that was recorded: stacks of threads are not judged */
};

/*
 * Evaluates the growth of the allocation sites of a model, which has a series with sites.
 * tail_percent: the part of the time, at its end, that is ignored. `places->shown` must outlive it.
 */
struct error *growth_build(const struct model *model, struct resolver *resolver,
	const struct growth_places *places, unsigned tail_percent, struct growth *ret) must_check_;

/* Adds a sentence on a leak suspect, with a newline. */
void growth_describe_suspect(const struct growth_row *row, uint64_t until_ns, struct text *text);

/* Adds a sentence on places that are not judged since they began in the tail, with a newline;
 * nothing if they have nothing at the end. */
void growth_describe_later(const struct growth *growth, unsigned tail_percent, struct text *text);

/* Returns "leak-suspect", "cache", "burst", "start-up", "steady", "unknown". */
const char *growth_verdict_name(enum growth_verdict verdict);
/* Returns "leak suspect: keeps growing"… */
const char *growth_verdict_text(enum growth_verdict verdict);
/* Returns whether a row is a leak suspect; one that was freed in the end is none. */
const char *growth_row_text(const struct growth_row *row);
/* Returns whether what kept growing was freed in the end: no leak that anybody loses at exit. */
bool growth_was_freed(const struct growth_row *row);

#endif
