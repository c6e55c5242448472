/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that allocate and free without an end, 2000 blocks each; "ready" says that they do, and
 * have done so for a while. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4u
#define BLOCKS 2000u

static unsigned seeds[THREADS];
static unsigned begun; /* threads that have filled their table once */

static void *work(void *context)
{
	unsigned *seed = context;
	void **blocks = calloc(BLOCKS, sizeof(*blocks));
	for (unsigned count = 0; blocks; count++) {
		if (count == BLOCKS)
			__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
		unsigned i = (unsigned)rand_r(seed) % BLOCKS;
		free(blocks[i]);
		blocks[i] = malloc(16 + (unsigned)rand_r(seed) % 500);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = i + 1;
		if (pthread_create(&threads[i], NULL, work, &seeds[i]))
			return 1;
	}
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < THREADS)
		sched_yield();
	puts("ready");
	fflush(stdout);
	return pthread_join(threads[0], NULL);
}
