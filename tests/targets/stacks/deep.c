/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recursion 512 and 600 frames deep: every frame is in the stack, down to main. */
#include "truth.h"

TRUTH_SITE(site_at_512)
TRUTH_SITE(site_at_600)

static void *volatile result;

/* Not a loop in disguise: what it does after the call depends on its frame. */
TRUTH_FRAME static unsigned descend(unsigned level, void *(*site)(size_t))
{
	volatile unsigned own = level;
	if (level == 0) {
		result = site(471);
		return own;
	}
	unsigned deeper = descend(level - 1, site);
	return deeper + own;
}

int main(void)
{
	for (unsigned i = 0; i < 20; i++) {
		truth_need(descend(512, site_at_512) == 512 * 513 / 2, "sum");
		truth_free(result);
		truth_need(descend(600, site_at_600) == 600 * 601 / 2, "sum");
	}
	truth_say("# expect: frames site=site_at_512 depth>=515");
	truth_say("# expect: frames site=site_at_600 depth>=603");
	truth_say("# expect: path site=site_at_600 chain=site_at_600<descend<main");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
