/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 500 threads alive at once, each on the smallest stack there is (16 KiB), all of them allocating.
 */
#include "truth.h"
#include <limits.h>
#include <pthread.h>

TRUTH_SITE(site_of_thread)

enum { THREADS = 500 };

static pthread_barrier_t all_here;

TRUTH_FRAME static void step(size_t bytes)
{
	truth_free(site_of_thread(bytes));
	TRUTH_STAY();
}

static void *work(void *argument)
{
	size_t self = (size_t)(uintptr_t)argument;
	pthread_barrier_wait(&all_here);
	for (size_t i = 0; i < 40; i++)
		step(881 + self);
	pthread_barrier_wait(&all_here);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	truth_need(!pthread_attr_setstacksize(&attributes, 16384), "16 KiB");
	pthread_barrier_init(&all_here, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		truth_need(!pthread_create(&threads[i], &attributes, work, (void *)i), "thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_threads(1 + THREADS);
	truth_say("# expect: path site=site_of_thread chain=site_of_thread<step<work");
	truth_say("# expect: whole site=site_of_thread");
	truth_end(TRUTH_PLAIN);
	return 0;
}
