/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Failed calls, counted apart: errno is ENOMEM as without a recorder, nothing is allocated. */
#include "truth.h"
#include <malloc.h>

TRUTH_SITE(site_too_large)
TRUTH_SITE_AS(site_calloc_too_large, (size_t bytes), bytes, calloc(1, bytes))
TRUTH_SITE_AS(site_aligned_too_large, (size_t bytes), bytes, aligned_alloc(64, bytes))
TRUTH_SITE_AS(site_memalign_too_large, (size_t bytes), bytes, memalign(64, bytes))
TRUTH_SITE(site_good)

int main(void)
{
	volatile size_t huge = SIZE_MAX - 4096;
	for (size_t i = 0; i < 100; i++) {
		errno = 0;
		switch (i % 4) {
		case 0:
			truth_need(!site_too_large(huge - i), "malloc");
			break;
		case 1:
			truth_need(!site_calloc_too_large(huge - i), "calloc");
			break;
		case 2:
			truth_need(!site_aligned_too_large(huge - i), "aligned_alloc");
			break;
		default:
			truth_need(!site_memalign_too_large(huge - i), "memalign");
		}
		truth_need(errno == ENOMEM, "errno is not ENOMEM");
		truth_free(site_good(1001 + i));
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
