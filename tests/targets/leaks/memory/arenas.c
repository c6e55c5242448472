/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads with heaps of their own, full of freed blocks among live and lost ones. Half of the
 * threads have ended. Blocks are held across threads. */
#include "parked.h"

LEAK_ROLE(held)
LEAK_ROLE(lost)
LEAK_ROLE(lost_tail)
LEAK_ROLE(freed)

enum { THREADS = 8, BLOCKS = 200, TAIL_BYTES = 56 };

static void *volatile table[THREADS][BLOCKS];

TRUTH_FRAME static void work(size_t number)
{
	void *volatile gone[BLOCKS];
	for (size_t i = 0; i < BLOCKS; i++) {
		gone[i] = freed(40 + 8 * (i % 40));
		table[number][i] = held(24 + 16 * (i % 30));
		void *block = lost(32 + 8 * (i % 50));
		leak_put(block, i % 4, lost_tail(TAIL_BYTES));
		leak_put(gone[i], 3, block);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		LEAK_FREE(freed, gone[i], 40 + 8 * (i % 40));
		gone[i] = NULL;
	}
}

static void *thread(void *number)
{
	work((size_t)number);
	if ((size_t)number % 2)
		park();
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		threads[i] = parked_start(thread, (void *)i);
	parked_wait(THREADS / 2);
	for (size_t i = 0; i < THREADS; i += 2)
		pthread_join(threads[i], NULL);
	LEAKS_HEAD(lost, lost_tail);
	LEAKS_ARE(LEAK_REACHABLE, held);
	leaks_end();
	return 0;
}
