/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sixty threads that wait at the end, each with a block on its stack and one that it has lost. */
#include "parked.h"

LEAK_ROLE(held_by_thread)
LEAK_ROLE(lost_by_thread)

enum { THREADS = 60 };

TRUTH_FRAME static void lose(size_t bytes)
{
	leak_opaque(lost_by_thread(bytes));
}

static void *thread(void *number)
{
	void *volatile mine[2] = {held_by_thread(400 + (size_t)number), NULL};
	lose(600 + (size_t)number);
	(void)mine[0];
	park();
}

int main(void)
{
	for (size_t i = 0; i < THREADS; i++)
		parked_start(thread, (void *)i);
	parked_wait(THREADS);
	LEAKS_ARE(LEAK_REACHABLE, held_by_thread);
	LEAKS_ARE(LEAK_DEFINITE, lost_by_thread);
	leaks_end();
	return 0;
}
