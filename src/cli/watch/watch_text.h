/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `watch` prints at each interval, in the form of BCC's memleak. */
#ifndef CLI_WATCH_TEXT_H
#define CLI_WATCH_TEXT_H

#include "base/text.h"
#include "cli/watch/watch_names.h"
#include "cli/watch/watch_verify.h"

struct watch_shown {
	uint64_t top;      /* stacks */
	uint64_t older_ms; /* blocks that are younger are left out */
	bool shows_blocks; /* each block too (memleak -a) */
	bool combined;     /* sums only: nothing by age (memleak -C) */
	bool is_sampled;
	uint64_t mean_bytes;               /* of samples */
	const struct watch_verify *verify; /* NULL: nothing was judged */
};

DEFINE_VEC(stack_bytes, double)

/* Live bytes of each stack at the first look and at the one before. */
struct watch_before {
	struct stack_bytes first, last;
	uint64_t looks;
};

/* A row that is shown. */
struct watch_rank {
	const struct watch_stack *stack;
	size_t number;
	double blocks, bytes; /* that are outstanding */
};
DEFINE_VEC(watch_ranks, struct watch_rank)

/* The stacks with outstanding blocks, the most bytes first. */
struct error *watch_rank_stacks(const struct watch *watch, const struct watch_shown *shown,
	struct watch_ranks *ret) must_check_;

/* Adds what the last watch_look() found; `at` is the time of day. Notes it in `before`. */
struct error *watch_text_add(struct text *text, const struct watch *watch,
	struct watch_names *names, const struct watch_shown *shown, struct watch_before *before,
	const char *at) must_check_;

/* Notes the live bytes of a look as those before the next one. */
struct error *watch_before_note(struct watch_before *before, const struct watch *watch,
	const struct watch_shown *shown) must_check_;
/* Bytes of a stack at the first or last look; 0 if it was not there. */
double watch_before_bytes(const struct stack_bytes *bytes, size_t number);

#endif
