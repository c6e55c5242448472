/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a figure develops over some looks: steadily, in one step, up and down… Only of a steady one
 *is a rate given. A straight line is fitted (least squares); it counts if
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
#ifndef ANALYSIS_MAPPING_FIT_H
#define ANALYSIS_MAPPING_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
