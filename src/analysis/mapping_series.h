/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mappings of a process over several looks. What belongs together over time is a region:
 *
 *	a mapping of the look before that overlaps, of the same file at the same place in it, or
 *	without a file like it, is the same one, however it grew at its ends; of those that overlap,
 *	only the ones with the same rights count, if there are any
 *
 *	the parts of one that was split stay one region; regions that were merged become one, also
 *	for the time before: neither looks like growth
 *
 *	a region of a file that is found elsewhere, or the only one without a file that went while
 *	exactly one like it, and no smaller, came, has moved (mremap, or a copy of it)
 *
 * Where a region is not, its resident size is 0: that is known. Of looks, MAPPING_LOOKS_MAX are
 * kept at most: then every other one is dropped, and from then on every other one is kept; the last
 * one always is.
 */
#ifndef ANALYSIS_MAPPING_SERIES_H
#define ANALYSIS_MAPPING_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "model/memory_look.h"

/*
 * How a figure develops over some looks: steadily, in one step, up and down… Only of a steady one
 * is a rate given. A straight line is fitted (least squares); it counts if
 *
 *	the slope's interval, with 95 % confidence by Student's t, has no 0 in it,
 *
 *	it explains 90 % of the variance, and there are 3 steps up (2 of three looks),
 *
 *	no step is more than 60 % of all that was added, and
 *
 *	what went down is no more than 10 % of what went up.
 *
 * With three looks that takes two steps that are nearly alike, with two there is no rate at all.
 */
enum mapping_shape {
	MAPPING_SAME,
	MAPPING_STEADY, /* grows along the line */
	MAPPING_ONCE,   /* grew in one step */
	MAPPING_UNEVEN, /* grew in several steps, along no line; or there are only two looks */
	MAPPING_WAVES,  /* goes up and down */
	MAPPING_SHRANK,
	MAPPING_UNKNOWN, /* not known at the first or last look */
	MAPPING_SHAPES
};

/* A figure that is not known. */
#define MAPPING_NO_FIGURE UINT64_MAX

struct mapping_fit {
	enum mapping_shape shape;
	uint64_t first, last, least, most; /* bytes; MAPPING_NO_FIGURE: not known */
	int64_t change;                    /* last - first */
	size_t looks;                      /* at which it is known */
	size_t ups, downs;                 /* steps */
	size_t step;                       /* MAPPING_ONCE: the look after it */
	bool has_line;        /* the rest is known: 3 looks or more, at different times */
	double slope;         /* bytes a second */
	double low, high;     /* the slope's interval */
	double determination; /* R²: which part of the variance the line explains */
};

/* `seconds` of the looks, ascending; NULL: their times are not known. */
void mapping_fit(
	const double *seconds, const uint64_t *values, size_t count, struct mapping_fit *ret);

/* Returns a static string: "steady", "once"…; also used in JSON. */
const char *mapping_shape_name(enum mapping_shape shape);

/* Looks that are kept, and regions that are no more and still have a row of their own; tests choose
 * less. */
#define MAPPING_LOOKS_MAX 512u
#define MAPPING_GONE_MAX 4096u

struct mapping_region {
	uint64_t start, end;        /* of all its mappings, when it was last seen */
	size_t mappings;            /* how many it has, likewise */
	struct look_mapping sample; /* its first mapping, likewise; words belong to the series */
	size_t first;               /* the kept look at which it was first seen */
	uint64_t *values;           /* resident bytes at kept looks from then on */
	size_t value_count, value_room;
	uint64_t current; /* at the last look */
	size_t merged;    /* into this region + 1; 0: it is one of its own */
	bool is_seen;     /* at the last look */
	bool is_noted;    /* one of its mappings was, of the look that is being added */
	bool appeared;    /* after the first look */
	bool has_moved;
};
DEFINE_VEC(mapping_region_vec, struct mapping_region)

struct mapping_part {
	struct look_mapping mapping;
	size_t region;
};
DEFINE_VEC(mapping_part_vec, struct mapping_part)
DEFINE_VEC(mapping_seconds_vec, double)

/* Resident or swapped memory of one kind, of all mappings together. */
enum mapping_kind {
	MAPPING_SWAPPED, /* of private mappings: what shared ones have swapped out is not known to
			    each look */
	MAPPING_HUGE,    /* in huge pages */
	MAPPING_NODE,    /* on a NUMA node */
};

struct mapping_total {
	enum mapping_kind kind;
	unsigned node;    /* of MAPPING_NODE */
	uint64_t *values; /* at each kept look; MAPPING_NO_FIGURE: not known */
	size_t value_count, value_room;
	uint64_t current; /* at the last look */
};
DEFINE_VEC(mapping_total_vec, struct mapping_total)

struct mapping_series {
	struct mapping_region_vec regions; /* those with `merged` are not to be shown */
	struct mapping_part_vec parts;     /* of the last look, ascending */
	struct mapping_part_vec next;
	struct mapping_seconds_vec seconds; /* of kept looks */
	struct mapping_total_vec totals;    /* the first two kinds, then nodes, ascending */
	struct arena words;
	size_t looks;  /* that were added */
	size_t stride; /* every how many are kept */
	size_t looks_max, gone_max;
	size_t brief;       /* regions that came and went between kept looks: they have no row */
	size_t gone;        /* regions that are gone and have no row of their own any more */
	uint64_t gone_most; /* bytes that one of these had at most */
	bool last_is_kept;
	double last_seconds;
	const char *names[64]; /* those found last, so that equal ones are kept once */
};

void mapping_series_init(struct mapping_series *series);
void mapping_series_deinit(struct mapping_series *series);

/* Adds a look, whose time is not before that of the last one. The only error is lack of memory. */
struct error *mapping_series_add(
	struct mapping_series *series, const struct memory_look *look, double seconds) must_check_;
/* Keeps the last look, if it is not. */
struct error *mapping_series_finish(struct mapping_series *series) must_check_;

/* Fills in the bytes at each kept look, series->seconds.len of them. */
void mapping_region_values(
	const struct mapping_series *series, const struct mapping_region *region, uint64_t *ret);

#endif
