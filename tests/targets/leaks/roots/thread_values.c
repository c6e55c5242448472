/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of threads (pthread_setspecific) that point right behind the thread's descriptor, beside
 * a small number of libc's own: together they read like a stack that begins near 0. What variables
 * hold is reachable all the same, with such threads that have ended and such that wait.
 */
#include "parked.h"

LEAK_ROLE(held)
LEAK_ROLE(lost)

enum { THREADS = 4, BEHIND = 0x800 };

static void *volatile table[THREADS];
static pthread_key_t key;

TRUTH_FRAME static void work(size_t number)
{
	truth_need(
		!pthread_setspecific(key, (char *)pthread_self() + BEHIND), "pthread_setspecific");
	table[number] = held(40);
	lost(24);
}

static void *thread(void *number)
{
	work((size_t)number);
	if ((size_t)number % 2)
		park();
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	truth_need(!pthread_key_create(&key, NULL), "pthread_key_create");
	for (size_t i = 0; i < THREADS; i++)
		threads[i] = parked_start(thread, (void *)i);
	parked_wait(THREADS / 2);
	for (size_t i = 0; i < THREADS; i += 2)
		pthread_join(threads[i], NULL);
	LEAKS_ARE(LEAK_DEFINITE, lost);
	LEAKS_ARE(LEAK_REACHABLE, held);
	leaks_end();
	return 0;
}
