/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches by other rules than a search's own: what counts of what is lost, and which pointers hold
 * nothing. */
#ifndef SEARCH_COUNTING_H
#define SEARCH_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

struct search;

/*
 * Has only those blocks counted as lost for whose address `counts` returns true: the others are in
 * no figure if they are lost, and what they hold is lost no less. Called before
 * search_classify(), which calls `counts`; the context is borrowed until then.
 */
void search_set_counting(
	struct search *search, bool (*counts)(void *context, uint64_t address), void *context);

/* As search_drop_interiors(), of those pointers that lead more than `bytes` bytes into a block. */
void search_drop_far_interiors(struct search *search, uint64_t bytes);

#endif
