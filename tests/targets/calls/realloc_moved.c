/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of their own mapping grow to 64 MiB by mremap: the address changes or stays, both count.
 */
#include "truth.h"

TRUTH_SITE_REALLOC(site_mapped)
TRUTH_SITE(site_wall)

int main(void)
{
	void *block = NULL;
	for (size_t bytes = 300007; bytes < 64u << 20; bytes = bytes * 7 / 4) {
		block = site_mapped(block, bytes);
		site_wall(200003); /* a mapping of its own, in the way of the next growth */
	}
	block = site_mapped(block, 64u << 20);
	block = site_mapped(block, (64u << 20) - 1234567);
	truth_need(block != NULL, "64 MiB");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
