/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks allocated by one thread and freed by another at once, of one size, so that the allocator
 * hands the same addresses out again and again: each free must be credited to the right life.
 */
#include "truth.h"
#include <pthread.h>
#include <sched.h>

TRUTH_SITE(site_producer_one)
TRUTH_SITE(site_producer_two)
TRUTH_SITE(site_producer_three)

enum { SLOTS = 64, ROUNDS = 60000 };

static void *queue[3][SLOTS];

static void *consume(void *argument)
{
	void **slots = argument;
	for (size_t i = 0; i < ROUNDS; i++) {
		void *block;
		while (!(block = __atomic_exchange_n(&slots[i % SLOTS], NULL, __ATOMIC_ACQUIRE)))
			sched_yield();
		if (i % 1000 != 999)
			truth_free(block);
	}
	return NULL;
}

static void produce(void *(*site)(size_t), void **slots)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		void *block = site(i % 100 ? 56 : 55);
		while (__atomic_load_n(&slots[i % SLOTS], __ATOMIC_ACQUIRE))
			sched_yield();
		__atomic_store_n(&slots[i % SLOTS], block, __ATOMIC_RELEASE);
	}
}

static void *produce_one(void *slots)
{
	produce(site_producer_one, slots);
	return NULL;
}

static void *produce_two(void *slots)
{
	produce(site_producer_two, slots);
	return NULL;
}

int main(void)
{
	pthread_t threads[5];
	for (size_t i = 0; i < 3; i++)
		truth_need(!pthread_create(&threads[i], NULL, consume, queue[i]), "thread");
	truth_need(!pthread_create(&threads[3], NULL, produce_one, queue[0]), "thread");
	truth_need(!pthread_create(&threads[4], NULL, produce_two, queue[1]), "thread");
	produce(site_producer_three, queue[2]);
	for (size_t i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
