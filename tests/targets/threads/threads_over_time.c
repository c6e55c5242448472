/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads_over_time THREADS: so many short threads, a few at a time. Each frees what the one before
 * it left, which no two threads' sharing of a row may make a temporary, and has one temporary of
 * its own; it leaves a block for the next.
 */
#include "truth.h"
#include <pthread.h>

TRUTH_SITE(site_left)
TRUTH_SITE(site_temporary)

enum { WIDTH = 7 };

static void *left[WIDTH];

static void *work(void *argument)
{
	void **mine = argument;
	truth_free(*mine);
	*mine = NULL;
	truth_free(site_temporary(37));
	*mine = site_left(53);
	return NULL;
}

int main(int count, char **arguments)
{
	truth_need(count == 2, "arguments");
	unsigned threads = (unsigned)strtoul(arguments[1], NULL, 10) / WIDTH * WIDTH;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (unsigned i = 0; i < threads; i += WIDTH) {
		pthread_t wave[WIDTH];
		for (int j = 0; j < WIDTH; j++)
			truth_need(
				!pthread_create(&wave[j], &attributes, work, &left[j]), "thread");
		for (int j = 0; j < WIDTH; j++)
			pthread_join(wave[j], NULL);
	}
	truth_threads(1 + threads);
	truth_say("# expect: site=site_temporary temporary=%u", threads);
	truth_say("# expect: site=site_left temporary=0");
	truth_end(TRUTH_PLAIN);
	return 0;
}
