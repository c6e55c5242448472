/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of their own mappings, up to 200 MB, mostly never touched: what a few words in them hold
 * is found, and the search does not bring their pages to life. */
#include "leaks.h"

LEAK_ROLE_AS(kept_huge, (size_t bytes), bytes, malloc(bytes))
LEAK_ROLE_AS(lost_huge, (size_t bytes), bytes, malloc(bytes))
LEAK_ROLE(in_kept)
LEAK_ROLE(in_lost)

/* Under memcheck blocks lie below 4 GB: any number points into a lost one of 200 MB. */
enum { HUGE_BYTES = 200 << 20, LOST_BYTES = 5 << 20 };

static void *volatile kept;

TRUTH_FRAME static void story(void)
{
	kept = kept_huge(HUGE_BYTES + 8);
	leak_put(kept, 0, in_kept(216));
	leak_put(kept, 12345678, in_kept(216));
	leak_put(kept, HUGE_BYTES / 8, in_kept(216));
	void *block = lost_huge(LOST_BYTES + 24);
	leak_put(block, 543210, in_lost(232));
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, kept_huge);
	LEAKS_ARE(LEAK_REACHABLE, in_kept);
	LEAKS_HEAD(lost_huge, in_lost);
	leaks_end();
	return 0;
}
