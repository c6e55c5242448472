/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A block ends with its last requested byte: what stands behind it, within what the allocator could
 * give, holds nothing; the last whole word of it does. */
#include "leaks.h"
#include <malloc.h>

LEAK_ROLE(holder)
LEAK_ROLE(held_beyond)
LEAK_ROLE(held_by_last)

static void *volatile holders[2];

TRUTH_FRAME static void story(void)
{
	holders[0] = holder(80);
	void *block = held_beyond(216);
	if (malloc_usable_size(holders[0]) >= 88)
		leak_put(holders[0], 10, block);
	holders[1] = holder(88);
	leak_put(holders[1], 10, held_by_last(232));
}

int main(void)
{
	story();
	LEAKS_ARE(LEAK_REACHABLE, holder);
	LEAKS_ARE(LEAK_DEFINITE, held_beyond);
	LEAKS_ARE(LEAK_REACHABLE, held_by_last);
	leaks_end();
	return 0;
}
