/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that have ended, with blocks that only their stacks hold, and one that goes on, with a
 * block in its thread-local memory. */
#include <pthread.h>

#include "account.h"

ACCOUNT_DEFINE;

#define ENDED 4u

static __thread char large[5000];
static __thread void *kept;
static pthread_barrier_t done;

static void *work(void *stays)
{
	void *volatile held[8];
	large[0] = 1;
	held[3] = malloc(111);
	memset(held[3], 0, 111);
	account(held[3], 111, stays ? 'r' : 'd', stays ? "kept" : "held by the past");
	if (stays)
		kept = held[3];
	pthread_barrier_wait(&done);
	while (stays)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	pthread_t threads[ENDED], other;
	pthread_barrier_init(&done, NULL, ENDED + 2);
	for (unsigned i = 0; i < ENDED; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL))
			abort();
	}
	if (pthread_create(&other, NULL, work, (void *)1))
		abort();
	pthread_barrier_wait(&done);
	for (unsigned i = 0; i < ENDED; i++)
		pthread_join(threads[i], NULL);
	account_end();
	return !kept + large[0];
}
