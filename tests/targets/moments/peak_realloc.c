/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A realloc frees before it allocates: the old size and the new one never add up to a peak. */
#include "truth.h"

TRUTH_SITE(site_base)
TRUTH_SITE_REALLOC(site_buffer)

int main(void)
{
	site_base(1000);
	void *buffer = NULL;
	for (size_t bytes = 1001; bytes < 3000000; bytes += bytes / 2)
		buffer = site_buffer(buffer, bytes);
	for (int i = 0; i < 20; i++)
		buffer = site_buffer(buffer, 2000003 + (i % 2 ? 0 : 700001));
	truth_free(buffer);
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
