/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where most of a total comes from, as a clause of a sentence: one place, many places that are
 * alike, or places that are not known. One place is named only if it has a share that is worth
 * mending; what has no place is never called one.
 */
#ifndef ANALYSIS_TOP_PLACE_H
#define ANALYSIS_TOP_PLACE_H

#include "analysis/rows.h"
#include "base/text.h"

/* A place that has less than one part in this many of a total is not named as where it comes from.
 */
#define TOP_PLACE_PARTS 10u

/* Adds whole percents; what is not all is never called 100%, what is not nothing never 0%. */
void top_place_add_share(struct text *text, uint64_t part, uint64_t whole);

/* Returns the row of a list with the most of a metric, the first one of equals; NULL: none has a
 * place. */
const struct row *top_place_find(const struct row_list *list, enum metric metric);

/*
 * Adds ", 40% of it from one allocation site: foo (foo.c:12)", ", from 300 allocation sites, none
 * with more than 1% of it; 80% of it in libfoo.so" or ", 75% of it from unknown allocation sites";
 * nothing if the list has nothing of the metric. `total` is the sum that the shares are of, `it`
 * stands for it in the sentence
 * ("it", "them"), `exe` is the path of the program, or "".
 */
void top_place_add(const struct row_list *list, enum metric metric, uint64_t total, const char *it,
	const char *exe, struct text *text);

#endif
