/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calloc: the product counts, whichever factor is the larger; a product of 2^64 and more fails. */
#include "truth.h"

TRUTH_SITE_AS(site_many_small, (size_t count, size_t size), count *size, calloc(count, size))
TRUTH_SITE_AS(site_few_large, (size_t count, size_t size), count *size, calloc(count, size))
TRUTH_SITE_AS(site_overflow, (size_t count, size_t size), 0, calloc(count, size))

int main(void)
{
	void *kept[7] = {NULL};
	for (size_t i = 0; i < 700; i++) {
		if (kept[i % 7])
			truth_free(kept[i % 7]);
		kept[i % 7] = i % 3 ? site_many_small(31 + i, 3) : site_few_large(3, 70001);
	}
	volatile size_t half = SIZE_MAX / 2;
	for (size_t i = 0; i < 5; i++) {
		errno = 0;
		truth_need(!site_overflow(half, 3 + i), "calloc took a product beyond 2^64");
		truth_need(errno == ENOMEM, "errno after calloc that overflows");
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
