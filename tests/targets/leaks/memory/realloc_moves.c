/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What realloc moves takes its pointers along: what they hold is reachable from the new place. A
 * holder that only knows the old address holds nothing. */
#include "leaks.h"

LEAK_ROLE(before)
LEAK_ROLE(barrier)
LEAK_ROLE(held)
LEAK_ROLE_AS(grown, (void *old, size_t bytes), bytes, realloc(old, bytes))
LEAK_ROLE_AS(grown_unseen, (void *old, size_t bytes), bytes, realloc(old, bytes))

static void *volatile kept, *volatile stale;
static void *volatile barriers[2];

TRUTH_FRAME static void story(void)
{
	void *old = before(104);
	leak_put(old, 12, held(56));
	barriers[0] = barrier(40);
	leak_died(&leak_of_before, 104);
	kept = grown(old, 4072);
	memset(leak_inside(kept, 104), 0, 4072 - 104);

	stale = before(120);
	barriers[1] = barrier(40);
	leak_died(&leak_of_before, 120);
	void *moved = grown_unseen(stale, 5096);
	truth_need(moved != stale, "realloc has not moved");
	memset(moved, 0, 5096);
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, grown);
	LEAKS_ARE(LEAK_REACHABLE, held);
	LEAKS_ARE(LEAK_REACHABLE, barrier);
	LEAKS_ARE(LEAK_DEFINITE, grown_unseen);
	leaks_end();
	return 0;
}
