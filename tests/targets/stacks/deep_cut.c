/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recursion deeper than any stack that is kept whole: the innermost frames are right, the outer end
 * is marked as cut, and what is less deep is whole before, between and after.
 */
#include "truth.h"

TRUTH_SITE(site_at_2000)
TRUTH_SITE(site_at_8500)
TRUTH_SITE(site_at_12000)
TRUTH_SITE(site_on_the_way)
TRUTH_SITE(site_in_main)

static unsigned odd(unsigned level, void *(*site)(size_t));

/* Not loops in disguise: what they do after the call depends on their frames. */
TRUTH_FRAME static unsigned even(unsigned level, void *(*site)(size_t))
{
	volatile unsigned own = level;
	if (level == 0) {
		truth_free(site(473));
		return own;
	}
	if (level % 1000 == 0)
		truth_free(site_on_the_way(479));
	unsigned deeper = odd(level - 1, site);
	return deeper + own;
}

TRUTH_FRAME static unsigned odd(unsigned level, void *(*site)(size_t))
{
	volatile unsigned own = level;
	unsigned deeper = even(level - 1, site);
	return deeper + own;
}

static void descend(unsigned depth, void *(*site)(size_t))
{
	truth_need(even(depth, site) == depth * (depth + 1) / 2, "sum");
	truth_free(site_in_main(481));
}

int main(void)
{
	for (unsigned i = 0; i < 3; i++) {
		descend(2000, site_at_2000);
		descend(8500, site_at_8500);
		descend(12000, site_at_12000);
		descend(12000, site_at_12000);
		descend(8500, site_at_8500);
	}
	truth_say("# expect: whole site=site_at_2000");
	truth_say("# expect: cycle site=site_at_2000 chain=even<odd depth>=2001");
	truth_say("# expect: path site=site_at_2000 chain=site_at_2000<even<odd<main");
	truth_say("# expect: cut site=site_at_8500 reason=depth-limit");
	truth_say("# expect: cycle site=site_at_8500 chain=even<odd depth>=511");
	truth_say("# expect: cut site=site_at_12000 reason=depth-limit");
	truth_say("# expect: cycle site=site_at_12000 chain=even<odd depth>=511");
	truth_say("# expect: cycle site=site_on_the_way chain=even<odd depth>=1");
	truth_say("# expect: whole site=site_in_main");
	truth_say("# expect: path site=site_in_main chain=site_in_main<main");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
