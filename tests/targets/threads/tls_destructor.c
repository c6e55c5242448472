/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Destructors of thread-specific data allocate and free, several rounds of them: after the thread's
 * own code, and after whatever a recorder may have taken for the end of the thread.
 */
#include "truth.h"
#include <pthread.h>

TRUTH_SITE(site_in_thread)
TRUTH_SITE(site_in_destructor)
TRUTH_SITE(site_left_by_destructor)

enum { THREADS = 20, KEYS = 3, ROUNDS = 3 };

static pthread_key_t keys[KEYS];
static __thread int round_number;
static int ended;

static void destroy(void *block)
{
	truth_free(block);
	truth_free(site_in_destructor(311));
	site_left_by_destructor(17);
	if (++round_number < ROUNDS * KEYS)
		pthread_setspecific(keys[round_number % KEYS], site_in_destructor(313));
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}

static void *work(void *argument)
{
	for (size_t i = 0; i < KEYS; i++)
		pthread_setspecific(keys[i], site_in_thread(1009));
	return argument;
}

int main(void)
{
	for (size_t i = 0; i < KEYS; i++)
		truth_need(!pthread_key_create(&keys[i], destroy), "key");
	for (size_t wave = 0; wave < 2; wave++) {
		pthread_t threads[THREADS];
		for (size_t i = 0; i < THREADS; i++)
			truth_need(!pthread_create(&threads[i], NULL, work, NULL), "thread");
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	truth_need(ended > 2 * THREADS * KEYS, "destructors ran again");
	truth_threads(1 + 2 * THREADS);
	truth_end(TRUTH_PLAIN);
	return 0;
}
