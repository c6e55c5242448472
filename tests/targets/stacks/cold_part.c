/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a compiler moved out of a function because it is rarely run still bears its name. */
#include "truth.h"

TRUTH_SITE(site_in_cold_part)
TRUTH_SITE(site_in_hot_part)

static void *volatile kept;

__attribute__((cold, noinline)) static void complain(size_t bytes)
{
	kept = site_in_cold_part(bytes);
	truth_free(kept);
	TRUTH_STAY();
}

TRUTH_FRAME static size_t split(size_t n)
{
	size_t sum = n;
	if (n % 7 == 3) {
		complain(871);
		sum += (size_t)(kept != NULL);
		complain(873 + n);
		sum *= 3;
	}
	kept = site_in_hot_part(875);
	truth_free(kept);
	return sum + n;
}

int main(void)
{
	size_t sum = 0;
	for (size_t i = 0; i < 70; i++)
		sum += split(i);
	truth_need(sum > 70, "sum");
	truth_say("# expect: cycle site=site_in_cold_part chain=complain<split<main depth>=3");
	truth_say("# expect: cycle site=site_in_hot_part chain=split<main depth>=2");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
