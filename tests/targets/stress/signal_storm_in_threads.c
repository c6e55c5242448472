/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * async-profiler/async-profiler#1162, gperftools/gperftools#1583: as signal_storm_allocates, in
 * many threads at the same time, with signals sent from thread to thread.
 */
#include "stress.h"
#include <signal.h>

TRUTH_SITE(site_plain)
TRUTH_SITE(site_in_handler)

enum { THREADS = 4, SIGNALS = 150 };

static pthread_t threads[THREADS];
static volatile unsigned seen[THREADS];
static __thread unsigned self;
static pthread_barrier_t barrier;

static void handler(int number)
{
	(void)number;
	truth_free(site_in_handler(111 + seen[self] % 9));
	seen[self] = seen[self] + 1;
}

static void *body(void *argument)
{
	self = (unsigned)(uintptr_t)argument;
	pthread_barrier_wait(&barrier);
	while (seen[self] < SIGNALS)
		truth_free(site_plain(21 + seen[self] % 30));
	return NULL;
}

static int is_done(unsigned thread)
{
	return seen[thread] >= SIGNALS;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigaction(SIGPROF, &action, NULL);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		truth_need(!pthread_create(&threads[i], NULL, body, (void *)i), "pthread_create");
	pthread_barrier_wait(&barrier);
	for (unsigned left = THREADS; left;) {
		left = 0;
		for (unsigned i = 0; i < THREADS; i++) {
			if (is_done(i))
				continue;
			left++;
			pthread_kill(threads[i], SIGPROF);
		}
		usleep(100);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_end(TRUTH_PLAIN);
	return 0;
}
