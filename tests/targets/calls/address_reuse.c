/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Six threads exchange blocks of one size class through shared slots and free whatever they get: an
 * address lives thousands of short lives, ended by any thread, also at once after its free.
 */
#include "truth.h"
#include <pthread.h>

TRUTH_SITE(site_even)
TRUTH_SITE(site_odd)

enum { THREADS = 6, SLOTS = 16, ROUNDS = 60000 };

static void *slots[SLOTS];

static void *exchange(void *argument)
{
	uint32_t random = (uint32_t)(uintptr_t)argument * 2654435761u | 1;
	for (size_t i = 0; i < ROUNDS; i++) {
		random = random * 1664525u + 1013904223u;
		void *block = random >> 31 ? site_odd(39) : site_even(40);
		block = __atomic_exchange_n(
			&slots[random >> 16 & (SLOTS - 1)], block, __ATOMIC_ACQ_REL);
		truth_free(block);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		truth_need(!pthread_create(&threads[i], NULL, exchange, (void *)(i + 1)), "thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_threads(1 + THREADS);
	truth_end(TRUTH_PLAIN);
	return 0;
}
