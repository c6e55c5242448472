/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Temporary: freed by the thread that allocated it before that thread allocates again. Not so when
 * another allocation stands between, nor when a realloc ends the block; a block that a realloc made
 * and free ends at once is one.
 */
#include "truth.h"

TRUTH_SITE(site_temporary)
TRUTH_SITE(site_interleaved)
TRUTH_SITE(site_between)
TRUTH_SITE(site_ended_by_realloc)
TRUTH_SITE_REALLOC(site_realloc)

int main(void)
{
	for (size_t i = 0; i < 300; i++) {
		truth_free(site_temporary(55 + i));

		void *longer = site_interleaved(131);
		void *between = site_between(67);
		truth_free(longer);  /* not the latest: no temporary */
		truth_free(between); /* the latest still: temporary */

		void *block = site_realloc(site_ended_by_realloc(41), 4099);
		if (i % 2)
			truth_free(block); /* made by realloc, ended by free: temporary */
		else
			site_realloc(block, 0);
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
