/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of no bytes are blocks: reachable by their address, and by that alone; lost without. */
#include "leaks.h"

LEAK_ROLE(kept_empty)
LEAK_ROLE(lost_empty)
LEAK_ROLE(passed_empty)
LEAK_ROLE(inner_empty)

static void *volatile holders[8];

TRUTH_FRAME static void story(void)
{
	for (size_t i = 0; i < 3; i++)
		holders[i] = kept_empty(0);
	for (size_t i = 0; i < 5; i++)
		lost_empty(0);
	holders[3] = leak_inside(passed_empty(0), 1);
	void *holder = kept_empty(8);
	leak_put(holder, 0, inner_empty(0));
	holders[4] = holder;
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, kept_empty);
	LEAKS_ARE(LEAK_REACHABLE, inner_empty);
	LEAKS_ARE(LEAK_DEFINITE, lost_empty);
	LEAKS_ARE(LEAK_DEFINITE, passed_empty);
	leaks_end();
	return 0;
}
