/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/limits.h"

#include "heap/heap_scan.h"

static const struct {
	const char *name, *words;
} limits[HEAP_LIMITS] = {
	[REACHED_TYPE_STEPS] = {"type-members",
		"a type has more than 100,000 members, and the later ones were not followed: its "
		"debug information may be damaged"},
	[REACHED_STACK_FRAMES] = {"stack-frames", "a thread has more than 65,536 frames: variables "
						  "of the outer ones were not used to find types"},
	[REACHED_TYPED_FRAMES] = {"typed-frames",
		"threads have more than 1,048,576 frames: variables of the others were not used to "
		"find types"},
	[REACHED_SHAPES] = {"classes", "blocks have pointers in more than 33,554,432 different "
				       "patterns: further ones are grouped only by size"},
	[REACHED_ARRAY_PLACES] = {"array-places",
		"256 pointers to elements of what seemed to be an array were followed before "
		"others that lead to something else in it: types that follow from it may be wrong"},
	[REACHED_POOL_TRIES] = {"pool-tries",
		"structures in a pool may be parts of larger ones in more than 16,384 ways: "
		"further ways were not tried, and what those may be is not named"},
	[REACHED_TYPE_ENTRIES] = {"type-entries",
		"a module has more than 16,777,216 entries of debug information: types and "
		"variables described after these are unknown"},
};

void heap_limit_reach(struct heap_scan *scan, enum heap_limit limit)
{
	scan->reached |= 1u << limit;
}

bool heap_limit_has_reached(const struct heap_scan *scan, enum heap_limit limit)
{
	return scan->reached >> limit & 1;
}

const char *heap_limit_name(enum heap_limit limit)
{
	return limits[limit].name;
}

const char *heap_limit_words(enum heap_limit limit)
{
	return limits[limit].words;
}
