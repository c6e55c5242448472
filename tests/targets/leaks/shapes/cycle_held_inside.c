/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A lost block holds a ring by another link than the one that comes first in memory: the ring is
 * indirect all the same, whatever the order of addresses. */
#include "leaks.h"

LEAK_ROLE(ring_link)
LEAK_ROLE(ring_holder)

TRUTH_FRAME static void story(void)
{
	void *first = ring_link(56), *second = ring_link(56), *third = ring_link(56);
	leak_put(first, 2, second);
	leak_put(second, 2, third);
	leak_put(third, 2, first);
	leak_put(ring_holder(200), 1, second);
}

int main(void)
{
	story();
	LEAKS_HEAD(ring_holder, ring_link);
	leaks_end();
	return 0;
}
