/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `watch --growth` prints at each interval. */
#ifndef CLI_GROWTH_TEXT_H
#define CLI_GROWTH_TEXT_H

#include "base/text.h"
#include "capture/growth.h"
#include "cli/watch/watch_names.h"

DEFINE_VEC(growth_pages_before, uint64_t)

/* Pages of each stack at the look before. */
struct growth_before {
	struct growth_pages_before last;
	uint64_t looks;
};

/* A row that is shown. */
struct growth_rank {
	const struct growth_stack *stack;
	size_t number;
	uint64_t weight; /* what rows are sorted by */
};
DEFINE_VEC(growth_ranks, struct growth_rank)

/* Adds the stacks that touched pages, the most pages first. */
struct error *growth_rank_pages(const struct growth *growth, struct growth_ranks *ret) must_check_;
/* Adds those that changed mappings, the most bytes first. */
struct error *growth_rank_calls(const struct growth *growth, struct growth_ranks *ret) must_check_;

/* Pages of a stack at the look before; 0 if it was not there. */
uint64_t growth_before_pages(const struct growth_before *before, size_t number);
/* Notes a look as the one before the next. */
struct error *growth_before_note(
	struct growth_before *before, const struct growth *growth) must_check_;
void growth_before_deinit(struct growth_before *before);

/* Adds what the last growth_look() found: at most `top` stacks of each kind. `at` is the time of
 * day. Notes it in `before`. */
struct error *growth_text_add(struct text *text, const struct growth *growth,
	struct watch_names *names, uint64_t top, struct growth_before *before,
	const char *at) must_check_;

#endif
