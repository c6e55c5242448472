/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The peak lies in the middle: a site's peak is its share at that moment, not its own maximum,
 * which other sites reach before and after it.
 */
#include "truth.h"

TRUTH_SITE(site_early)
TRUTH_SITE(site_at_peak)
TRUTH_SITE(site_late)
TRUTH_SITE(site_always)

enum { BLOCKS = 120 };

static void fill(void *(*site)(size_t), void **blocks, size_t bytes)
{
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = site(bytes + i);
}

static void clear(void **blocks, size_t from)
{
	for (size_t i = from; i < BLOCKS; i++)
		truth_free(blocks[i]);
}

int main(void)
{
	void *early[BLOCKS], *middle[BLOCKS], *late[BLOCKS];
	site_always(100003);
	fill(site_early, early, 20011);
	clear(early, 30); /* thirty stay until the peak */
	fill(site_at_peak, middle, 40009);
	clear(middle, 0);
	for (size_t i = 0; i < 30; i++)
		truth_free(early[i]);
	fill(site_late, late, 30011);
	clear(late, 7);
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
