/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits_itself: allows itself 200 MiB of address space, once by setrlimit and once more by
 * prlimit, then takes 120 MiB, and allocates at 300 places of the stack in four threads. Truth:
 * natively and recorded all of that works; 1,201 blocks, 120 MiB + 1,200 * 100 bytes, are never
 * freed.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void deep(int depth)
{
	if (depth)
		deep(depth - 1);
	else
		malloc(100);
	__asm__ volatile("");
}

static void *work(void *unused)
{
	for (int i = 0; i < 300; i++)
		deep(i % 60);
	return NULL;
}

int main(void)
{
	struct rlimit limit = {200 << 20, 200 << 20};
	pthread_attr_t small;
	pthread_t threads[4];
	free(malloc(1));
	if (setrlimit(RLIMIT_AS, &limit))
		return 1;
	limit.rlim_cur--;
	if (prlimit(0, RLIMIT_AS, &limit, NULL))
		return 2;
	mallopt(M_ARENA_MAX, 1); /* each reserves 64 MiB */
	char *block = malloc(120 << 20);
	if (!block)
		return 3;
	memset(block, 1, 120 << 20);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	for (int i = 0; i < 4; i++) {
		if (pthread_create(&threads[i], &small, work, NULL))
			return 4;
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
