/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that never allocates: its recording is complete, and empty. */
#include "truth.h"

int main(void)
{
	truth_say("# expect: totals allocations=0 frees=0 peak_bytes=0 threads<=1");
	truth_end(TRUTH_PLAIN);
	return 6;
}
