/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reallocarray: the product counts; one that overflows fails and leaves the block alone. */
#include "truth.h"

TRUTH_COUNTERS(site_array)
TRUTH_LEAF static void *site_array(void *old, size_t count, size_t size)
{
	struct truth_tag tag = truth_tag_of(old);
	void *block = reallocarray(old, count, size);
	return truth_moved(&truth_of_site_array, tag, block, count * size);
}

int main(void)
{
	volatile size_t huge = SIZE_MAX / 4;
	void *block = NULL;
	for (size_t count = 3; count < 3000; count += 7)
		block = site_array(block, count, 13);
	for (int i = 0; i < 3; i++) {
		errno = 0;
		/* 13 * huge is not 0 modulo 2^64, so this is a failure and no free */
		truth_need(!site_array(block, huge, 13), "reallocarray took an overflow");
		truth_need(errno == ENOMEM, "errno after reallocarray that overflows");
	}
	site_array(NULL, 11, 19);
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
