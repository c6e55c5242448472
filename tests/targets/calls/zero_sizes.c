/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of no bytes are blocks: malloc(0), calloc with a factor of 0, realloc(NULL, 0). */
#include "truth.h"

TRUTH_COUNTERS(site_malloc_zero)
TRUTH_COUNTERS(site_calloc_zero)
TRUTH_COUNTERS(site_realloc_zero)

TRUTH_LEAF static struct truth_tag site_malloc_zero(volatile size_t none)
{
	void *block = malloc(none);
	return truth_count(&truth_of_site_malloc_zero, block, 0);
}

TRUTH_LEAF static struct truth_tag site_calloc_zero(volatile size_t none)
{
	void *block = calloc(none, 17);
	return truth_count(&truth_of_site_calloc_zero, block, 0);
}

TRUTH_LEAF static struct truth_tag site_realloc_zero(volatile size_t none)
{
	void *block = realloc(NULL, none);
	return truth_count(&truth_of_site_realloc_zero, block, 0);
}

static void end(struct truth_tag tag)
{
	truth_died(tag, 0);
	free(tag.block);
}

int main(void)
{
	for (int i = 0; i < 30; i++) {
		struct truth_tag first = site_malloc_zero(0);
		struct truth_tag second = site_calloc_zero(0);
		if (i % 3)
			end(second);
		if (i % 2)
			end(first);
		struct truth_tag third = site_realloc_zero(0);
		if (i % 5)
			end(third);
	}
	truth_end(TRUTH_TEMPORARY);
	return 0;
}
