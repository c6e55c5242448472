/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * koute/bytehound#60, #119: longjmp over many frames that a recorder has marked or remembered, to
 * and fro, with allocations at every depth.
 */
#include "stress.h"
#include <setjmp.h>

TRUTH_SITE(site_at_depth)

static __thread jmp_buf back;
static volatile int jumps = 1;

TRUTH_FRAME static void descend(unsigned depth)
{
	truth_free(site_at_depth(33 + depth));
	if (depth)
		descend(depth - 1);
	else if (jumps)
		longjmp(back, 1);
	TRUTH_STAY();
}

static void *body(void *argument)
{
	for (volatile unsigned i = 0; i < 60; i++) {
		if (!setjmp(back))
			descend(i);
		truth_free(site_at_depth(31));
	}
	return argument;
}

int main(void)
{
	stress_threads(4, body, NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
