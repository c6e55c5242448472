/* SPDX-License-Identifier: GPL-2.0-or-later */
/* malloc and free: what is freed, what is kept, and free(NULL), which is nothing. */
#include "truth.h"

TRUTH_SITE(site_all_freed)
TRUTH_SITE(site_none_freed)
TRUTH_SITE(site_half_freed)

int main(void)
{
	for (size_t i = 0; i < 1000; i++) {
		void *first = site_all_freed(1013 + i);
		site_none_freed(17 + 2 * i);
		void *second = site_half_freed(101);
		truth_free(first);
		if (i % 2)
			truth_free(second);
		free(NULL);
	}
	truth_threads(1);
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
