/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the builds of one program share that test_diff.py compares. */
#ifndef TESTS_TARGETS_DIFF_STORY_H
#define TESTS_TARGETS_DIFF_STORY_H

#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

/* Never freed. */
static inline void xalloc(int count, size_t size)
{
	static void *volatile kept;
	for (int i = 0; i < count; i++) {
		char *block = malloc(size);
		memcpy(block, (void *)&kept, sizeof(kept));
		kept = block;
	}
}

APART void helper(void);

#endif
