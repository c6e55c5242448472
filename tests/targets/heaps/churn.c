/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that allocate and free without an end, 2000 blocks each; "ready" says that they do. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4u
#define BLOCKS 2000u

static unsigned seeds[THREADS];

static void *work(void *context)
{
	unsigned *seed = context;
	void **blocks = calloc(BLOCKS, sizeof(*blocks));
	for (; blocks;) {
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
	puts("ready");
	fflush(stdout);
	return pthread_join(threads[0], NULL);
}
