/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that static variables hold at the end is live at the end; what was replaced is not. */
#include "truth.h"

TRUTH_SITE(site_kept)
TRUTH_SITE(site_replaced)

static void *table[97];
static void *volatile only;

int main(void)
{
	for (size_t i = 0; i < 1000; i++) {
		void **slot = &table[i * 31 % 97];
		if (*slot)
			truth_free(*slot);
		*slot = i < 903 ? site_replaced(700 + i) : site_kept(351 + i);
	}
	only = site_kept(123457);
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
