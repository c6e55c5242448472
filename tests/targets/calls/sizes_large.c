/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes beyond 4 GiB, untouched: counted with all their bits, or as failed where they are refused.
 */
#include "truth.h"

TRUTH_SITE(site_large)
TRUTH_SITE(site_small)

int main(void)
{
	for (uint64_t i = 0; i < 4; i++) {
		void *block = site_large((UINT64_C(5) << 30) + 7 * i);
		site_small(1003);
		if (block && i != 2)
			truth_free(block);
	}
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
