/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end: a write through NULL, by signal 11, no handler. */
#include "truth.h"

TRUTH_SITE(site_main)

static int *volatile nowhere;

int main(void)
{
	for (size_t i = 0; i < 1000; i++) {
		void *block = site_main(51 + i);
		if (i % 10)
			truth_free(block);
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	*nowhere = 1;
	return 0;
}
