/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads take blocks from one another and realloc them: an address freed here is born there. */
#include "truth.h"
#include <pthread.h>

TRUTH_SITE(site_seed)
TRUTH_SITE_REALLOC(site_stolen)

enum { THREADS = 4, SLOTS = 8, ROUNDS = 40000 };

static void *slots[SLOTS];

static void *steal(void *argument)
{
	uint32_t random = (uint32_t)(uintptr_t)argument * 2246822519u | 1;
	for (size_t i = 0; i < ROUNDS; i++) {
		random = random * 1664525u + 1013904223u;
		void **slot = &slots[random >> 16 & (SLOTS - 1)];
		void *block = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);
		if (!block)
			block = site_seed(23 + (random >> 28));
		else if (random >> 30)
			block = site_stolen(block, 17 + (random >> 22));
		else
			block = site_stolen(block, 0);
		block = __atomic_exchange_n(slot, block, __ATOMIC_ACQ_REL);
		truth_free(block);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		truth_need(!pthread_create(&threads[i], NULL, steal, (void *)(i + 1)), "thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
