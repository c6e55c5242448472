/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 200 threads alive at once, each with blocks of its own size; main frees half of what they leave.
 */
#include "truth.h"
#include <pthread.h>

TRUTH_SITE(site_of_thread)
TRUTH_SITE(site_of_main)

enum { THREADS = 200 };

static pthread_barrier_t all_here;
static void *left[THREADS];

static void *work(void *argument)
{
	size_t self = (size_t)(uintptr_t)argument;
	pthread_barrier_wait(&all_here);
	for (size_t i = 0; i < 100; i++)
		truth_free(site_of_thread(21 + 2 * self));
	left[self] = site_of_thread(1001 + self);
	pthread_barrier_wait(&all_here);
	return NULL;
}

int main(void)
{
	site_of_main(11);
	pthread_t threads[THREADS];
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 << 10);
	pthread_barrier_init(&all_here, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		truth_need(!pthread_create(&threads[i], &attributes, work, (void *)i), "thread");
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < THREADS; i += 2)
		truth_free(left[i]);
	truth_threads(1 + THREADS);
	truth_end(TRUTH_PLAIN);
	return 0;
}
