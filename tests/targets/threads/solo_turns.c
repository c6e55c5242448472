/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads take turns: one allocates alone for thousands of events, wakes another in the middle of
 * its work, both go on for a while, the first one falls asleep. All exchange, free and realloc each
 * other's blocks, out of one arena and without a cache of their own. Each turn ends somebody's solo
 * at some moment of an event, and begins another.
 */
#include "truth.h"
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

TRUTH_SITE(site_long)
TRUTH_SITE(site_short)
TRUTH_SITE_REALLOC(site_stolen)

enum { THREADS = 4, SLOTS = 8, TURNS = 160, LONGEST = 8192 };

static void *slots[SLOTS];
static sem_t wake[THREADS];
static unsigned turns;

static uint32_t next(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

static void work(uint32_t *random, uint32_t rounds)
{
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t r = next(random);
		void **slot = &slots[r % SLOTS];
		void *block = NULL;
		if (r >> 8 & 3)
			block = r >> 10 & 1 ? site_long(1100 + (r >> 12 & 511)) : site_short(41);
		else if ((block = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL)))
			block = site_stolen(block, 1200 + (r >> 12 & 255));
		truth_free(__atomic_exchange_n(slot, block, __ATOMIC_ACQ_REL));
	}
}

static void *take_turns(void *argument)
{
	uint32_t self = (uint32_t)(uintptr_t)argument, random = self * 2654435761u | 1;
	for (;;) {
		while (sem_wait(&wake[self]))
			;
		if (__atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED) > TURNS)
			break;
		work(&random, next(&random) % LONGEST);
		sem_post(&wake[(self + 1 + next(&random) % (THREADS - 1)) % THREADS]);
		work(&random, next(&random) % (LONGEST / 8));
	}
	for (uint32_t i = 0; i < THREADS; i++)
		sem_post(&wake[i]);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	mallopt(M_ARENA_MAX, 1);
	for (uintptr_t i = 0; i < THREADS; i++) {
		truth_need(!sem_init(&wake[i], 0, 0), "semaphore");
		truth_need(!pthread_create(&threads[i], NULL, take_turns, (void *)i), "thread");
	}
	sem_post(&wake[0]);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_threads(1 + THREADS);
	truth_end(TRUTH_PLAIN);
	return 0;
}
