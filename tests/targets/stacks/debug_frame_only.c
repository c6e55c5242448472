/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Built with -fno-asynchronous-unwind-tables -g: what unwinds this code stands in .debug_frame,
 * which is not loaded. With frame pointers stacks are a guess, and right; without, they are marked
 * as cut at the first such frame.
 */
#include "truth.h"

TRUTH_SITE(site_below)

static void *volatile kept;

TRUTH_FRAME static void inner(size_t bytes)
{
	kept = site_below(bytes);
	truth_free(kept);
	TRUTH_STAY();
}

TRUTH_FRAME static void outer(size_t bytes)
{
	inner(bytes + 8);
	TRUTH_STAY();
}

int main(void)
{
	for (unsigned i = 0; i < 20; i++)
		outer(861 + i);
#ifdef __OPTIMIZE__
	truth_say("# expect: cut site=site_below reason=no-unwind-info");
	truth_say("# expect: frames site=site_below depth=1");
#else
	truth_say("# expect: guessed site=site_below");
	truth_say("# expect: cycle site=site_below chain=inner<outer<main depth>=3");
#endif
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
