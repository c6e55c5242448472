/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Eight threads with arenas of their own and full tcaches: much is free that no chunk says is. */
#include <pthread.h>

#include "account.h"

ACCOUNT_DEFINE;

#define THREADS 8u
#define KEPT 1500u
#define FREED 1500u

static void **kept[THREADS];
static pthread_barrier_t done;

static void *work(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	unsigned rows[FREED];
	void *freed[FREED];
	kept[number] = malloc(KEPT * sizeof(void *));
	account(kept[number], KEPT * sizeof(void *), 'r', "table");
	for (unsigned i = 0; i < KEPT; i++) {
		size_t size = 24 + i * 16 % 1008;
		kept[number][i] = malloc(size);
		memset(kept[number][i], 0, size);
		account(kept[number][i], size, 'r', "kept");
		freed[i] = malloc(size);
		memset(freed[i], 0, size);
		rows[i] = account(freed[i], size, '-', "freed");
	}
	for (unsigned i = 0; i < FREED; i++) {
		free(freed[i]);
		account_freed(rows[i]);
		freed[i] = NULL;
	}
	pthread_barrier_wait(&done);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	pthread_barrier_init(&done, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, work, (void *)i))
			abort();
	}
	pthread_barrier_wait(&done);
	account_end();
	return 0;
}
