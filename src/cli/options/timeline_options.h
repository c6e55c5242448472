/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of timelines, for the commands that show or write some. */
#ifndef CLI_TIMELINE_OPTIONS_H
#define CLI_TIMELINE_OPTIONS_H

#include "analysis/timeline.h"
#include "base/vec.h"
#include "cli/options/options.h"

enum timeline_option {
	TIMELINE_OPT_TIME_UNIT = 480, /* ids of a command's own end before */
	TIMELINE_OPT_STACKS,
	TIMELINE_OPT_DETAILED_FREQ,
	TIMELINE_OPT_DEPTH,
	TIMELINE_OPT_MAX_SNAPSHOTS,
	TIMELINE_OPT_THRESHOLD,
	TIMELINE_OPT_ALLOC_FN,
	TIMELINE_OPT_HEAP_ADMIN,
	TIMELINE_OPT_ALIGNMENT,
};

#define TIMELINE_SPECS                                                                             \
	{TIMELINE_OPT_TIME_UNIT, "time-unit", "UNIT",                                              \
		"time axis: ms (default), B (bytes allocated and freed so far) or i "              \
		"(instructions, if the processor could count them)"},                              \
		{TIMELINE_OPT_STACKS, "stacks", "yes|no",                                          \
			"include the sizes of stacks in the total (default: no)"},                 \
		{TIMELINE_OPT_DETAILED_FREQ, "detailed-freq", "N",                                 \
			"show a tree every N snapshots (default: 10)"},                            \
		{TIMELINE_OPT_DEPTH, "depth", "N",                                                 \
			"show at most N levels of trees, up to 200 (default: 30)"},                \
		{TIMELINE_OPT_MAX_SNAPSHOTS, "max-snapshots", "N",                                 \
			"show at most N snapshots, from 10 to 1000 (default: 100)"},               \
		{TIMELINE_OPT_THRESHOLD, "threshold", "PERCENT",                                   \
			"merge nodes with less of the total (default: 1.0)"},                      \
		{TIMELINE_OPT_ALLOC_FN, "alloc-fn", "FUNC",                                        \
			"treat this function as an allocator: show its callers; may be repeated"}, \
		{TIMELINE_OPT_HEAP_ADMIN, "heap-admin", "BYTES",                                   \
			"allocator overhead per block, counted in extra-heap (default: 8)"},       \
		{TIMELINE_OPT_ALIGNMENT, "alignment", "BYTES",                                     \
			"round sizes up, counted in extra-heap: to multiples of 16 (default), or " \
			"1: not at all"},

DEFINE_VEC(name_vec, const char *)

/* What was asked for. All 0: nothing. */
struct timeline_given {
	struct name_vec alloc_fns;
	const char *unit, *stacks; /* NULL: they were not */
	bool any;
};

static inline void timeline_given_deinit(struct timeline_given *given)
{
	name_vec_deinit(&given->alloc_fns);
}

static inline bool timeline_option_is(int id)
{
	return id >= TIMELINE_OPT_TIME_UNIT && id <= TIMELINE_OPT_ALIGNMENT;
}

/* Takes one of them; `given` must live as long as what is set. False, after saying so: its argument
 * is wrong; here and below. */
bool timeline_options_take(const struct options *options, int id, struct timeline_options *timeline,
	struct timeline_given *given);
/* Takes a number from `least` to `most`. */
bool timeline_option_between(const struct options *options, const char *name, uint64_t least,
	uint64_t most, uint64_t *ret);
/* Adds the argument, which stays where it is. */
bool timeline_option_name(const struct options *options, struct name_vec *names);

/* Whether time can be told in the unit that was asked for; else says why not. */
bool timeline_has_unit(const struct timeline_options *timeline, const struct timeline_given *given,
	const char *path, const struct model *model);

#endif
