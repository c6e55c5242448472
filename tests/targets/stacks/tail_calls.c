/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function pointers, and tail calls at -O2: a frame that replaced itself is gone from the stack,
 * the others are all there and none is invented.
 */
#include "truth.h"

TRUTH_SITE(site_by_pointer)
TRUTH_SITE(site_by_tail)

static void *(*volatile pointer)(size_t) = site_by_pointer;

TRUTH_FRAME static void *through_pointer(size_t bytes)
{
	void *block = pointer(bytes);
	TRUTH_STAY();
	return block;
}

/* May become a jump: then its caller stands in the stack instead. */
TRUTH_FRAME static void *jumps(size_t bytes)
{
	return site_by_tail(bytes | 1);
}

TRUTH_FRAME static void *calls_jumper(size_t bytes)
{
	void *block = jumps(bytes + 2);
	TRUTH_STAY();
	return block;
}

int main(void)
{
	for (size_t i = 0; i < 100; i++) {
		truth_free(through_pointer(1001 + i));
		truth_free(calls_jumper(2001 + i));
	}
	truth_say("# expect: path site=site_by_pointer chain=site_by_pointer<through_pointer<main");
	truth_say("# expect: path site=site_by_tail chain=site_by_tail<calls_jumper<main");
	truth_end(TRUTH_TEMPORARY | TRUTH_PEAK);
	return 0;
}
