/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames whose size is known at run time only: alloca and arrays of variable length. */
#include "truth.h"
#include <alloca.h>

TRUTH_SITE(site_below_alloca)
TRUTH_SITE(site_below_array)

static void *volatile escaped;

TRUTH_FRAME static void with_alloca(size_t bytes)
{
	volatile char *space = alloca(bytes);
	space[0] = 1;
	space[bytes - 1] = 1;
	escaped = site_below_alloca(487);
	space[bytes / 2] = 1;
	truth_free(escaped);
	TRUTH_STAY();
}

TRUTH_FRAME static void with_array(size_t count)
{
	volatile int numbers[count];
	numbers[0] = 1;
	numbers[count - 1] = 1;
	escaped = site_below_array(489);
	numbers[count / 2] = numbers[0];
	with_alloca(count);
	TRUTH_STAY();
}

int main(void)
{
	for (size_t i = 1; i < 300; i++) {
		with_array(i * 7);
		with_alloca(i * 97);
	}
	truth_say("# expect: path site=site_below_alloca chain=site_below_alloca<with_alloca<main");
	truth_say("# expect: path site=site_below_array chain=site_below_array<with_array<main");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
