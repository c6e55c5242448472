/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies in a heap: all blocks in use, by classes of what looks alike, what points where, and
 * which of them nothing holds any more. What other questions are asked of begins here.
 */
#ifndef HEAP_SURVEY_H
#define HEAP_SURVEY_H

#include "heap/classes.h"
#include "heap/heap.h"
#include "heap/layouts.h"
#include "heap/names.h"
#include "heap/roots.h"
#include "heap/types.h"
#include "search/search.h"

struct survey_totals {
	uint64_t blocks[BLOCK_STATES], bytes[BLOCK_STATES];
};

struct survey {
	struct heap heap;
	struct heap_names *names; /* borrowed */
	struct survey_totals totals;
	struct heap_classes classes; /* of blocks in use */
	struct heap_types types;
	struct heap_layouts layouts;
	bool no_inference; /* set before survey_type(): debug information is not read for it */
	struct heap_root_vec roots;
	/* Their sites are numbers of classes until survey_type(), then of types. */
	struct search *search;
	struct search_memory memory; /* for it */
};

/* Reads everything once; nothing is named or judged yet. Both must outlive the survey, which stays
 * where it is. */
struct error *survey_open(const struct address_space *space, struct heap_names *names,
	struct survey *ret) must_check_;
void survey_close(struct survey *survey);

/* Says of all blocks what they are. Once, before survey_judge(). */
struct error *survey_type(struct survey *survey) must_check_;

/* Sorts the blocks into kinds of leaks: search_records() and the like tell. Once. */
struct error *survey_judge(struct survey *survey) must_check_;

#endif
