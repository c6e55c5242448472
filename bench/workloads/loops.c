/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loops THREADS PAIRS: THREADS threads together make about PAIRS pairs of malloc(24) and free, and
 * do nothing else: what a recorder adds to an event, with more threads than processors.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { THREADS_MAX = 1024 };

static void *loop(void *context)
{
	for (uintptr_t left = (uintptr_t)context; left; left--) {
		void *block = malloc(24);
		__asm__ volatile("" : : "r"(block) : "memory");
		free(block);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	unsigned count = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	if (!count || count > THREADS_MAX)
		return 2;
	uintptr_t pairs = strtoul(argv[2], NULL, 10) / count;
	for (unsigned i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, loop, (void *)pairs))
			return 1;
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
