/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread's cache of free blocks lies in a chunk that is larger than it needs: of what was freed
 * before, 16 bytes were too little for a chunk. How many blocks of 24 and 40 bytes are in use and
 * how many the thread keeps at hand is printed. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What glibc asks for a cache, from 2.26, 2.30 and 2.42 on, and 16 bytes more. */
static const size_t sizes[] = {0x240, 0x280, 0x2f0};
#define SIZES 3u
#define AT_HAND 7u
#define SPARE 64u
#define MORE 16u

void *in_use[2], *between[SIZES * SPARE];

static void *work(void *started)
{
	void *given[2 * AT_HAND];
	for (unsigned i = 0; i < 2 * AT_HAND; i++)
		given[i] = malloc(i % 2 ? 24 : 40);
	in_use[0] = malloc(24);
	in_use[1] = malloc(40);
	for (unsigned i = 0; i < 2 * AT_HAND; i++)
		free(given[i]);
	pthread_barrier_wait(started);
	pause();
	return NULL;
}

int main(void)
{
	static char line[BUFSIZ];
	void *large[SIZES * SPARE];
	pthread_barrier_t started;
	pthread_t thread;
	setvbuf(stdout, line, _IOFBF, sizeof(line));
	mallopt(M_ARENA_MAX, 1);
	for (unsigned i = 0; i < SIZES * SPARE; i++) {
		large[i] = malloc(sizes[i % SIZES] + MORE);
		between[i] = malloc(1500);
	}
	for (unsigned i = 0; i < SIZES * SPARE; i++)
		free(large[i]);
	pthread_barrier_init(&started, NULL, 2);
	pthread_create(&thread, NULL, work, &started);
	pthread_barrier_wait(&started);
	printf("2 %u\n", 2 * AT_HAND);
	fflush(stdout);
	pause();
}
