/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small blocks of one size go from hand to hand: each thread keeps some to itself and exchanges
 * others through few slots, so that an address is soon one thread's and soon another's, allocated
 * or freed. The order of its events across threads must hold.
 */
#include "truth.h"
#include <malloc.h>
#include <pthread.h>

TRUTH_SITE(site_kept)
TRUTH_SITE(site_handed)
TRUTH_SITE_REALLOC(site_changed)

enum { THREADS = 6, SLOTS = 2, ROUNDS = 20000 };

static void *slots[SLOTS];

static uint32_t next(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

static void *hand_around(void *argument)
{
	uint32_t random = (uint32_t)(uintptr_t)argument * 2654435761u | 1;
	void *kept = NULL;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t r = next(&random);
		void **slot = &slots[r % SLOTS], *block = NULL;
		if (r >> 4 & 1) {
			truth_free(kept);
			kept = site_kept(24);
			continue;
		}
		if (r >> 5 & 3)
			block = site_handed(23);
		else if ((block = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL)))
			block = site_changed(block, 22);
		truth_free(__atomic_exchange_n(slot, block, __ATOMIC_ACQ_REL));
	}
	truth_free(kept);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	mallopt(M_ARENA_MAX, 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		truth_need(!pthread_create(&threads[i], NULL, hand_around, (void *)i), "thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_threads(1 + THREADS);
	truth_end(TRUTH_PLAIN);
	return 0;
}
