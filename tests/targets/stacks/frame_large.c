/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame of more than 1 MiB between an allocation and main, and such a frame of main itself. */
#include "truth.h"

TRUTH_SITE(site_below)

TRUTH_FRAME static void wide(size_t seed)
{
	volatile char space[1200000];
	space[seed] = 1;
	truth_free(site_below(491));
	space[sizeof space - 1 - seed] = 1;
}

int main(void)
{
	volatile char space[1 << 20 | 4096];
	space[0] = 1;
	for (size_t i = 0; i < 40; i++) {
		wide(i);
		site_below(493);
	}
	space[sizeof space - 1] = 1;
	truth_say("# expect: path site=site_below chain=site_below<main");
	truth_say("# expect: path through=wide chain=site_below<wide<main");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
