/* SPDX-License-Identifier: GPL-2.0-or-later */
/* errno: a call that succeeds, and free, leave it as it was. */
#include "truth.h"

TRUTH_SITE(site_small)
TRUTH_SITE(site_mapped)
TRUTH_SITE_REALLOC(site_realloc)

int main(void)
{
	for (int i = 0; i < 200; i++) {
		errno = 1000 + i;
		void *small = site_small(97);
		truth_need(errno == 1000 + i, "malloc");
		void *mapped = site_mapped(1000003); /* its own mapping: free unmaps it */
		truth_need(errno == 1000 + i, "malloc of a mapping");
		small = site_realloc(small, 1999);
		truth_need(errno == 1000 + i, "realloc");
		truth_free(small);
		truth_free(mapped);
		truth_need(errno == 1000 + i, "free");
		free(NULL);
		truth_need(errno == 1000 + i, "free(NULL)");
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
