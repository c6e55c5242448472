/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that use so much of their stacks, at a time at which they allocate nothing, and then
 * wait until the program ends:
 *
 *     # expect: NAME BYTES
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB 1024ul

enum { THREADS = 3 };

static pthread_barrier_t all_deep;

static __attribute__((noinline)) void use_stack(size_t bytes)
{
	volatile char *deep = alloca(bytes);
	for (size_t i = 0; i < bytes; i += KIB)
		deep[i] = 1;
}

static void *go_deep(void *argument)
{
	size_t self = (size_t)(uintptr_t)argument;
	char name[16];
	snprintf(name, sizeof(name), "deep-%zu", self);
	pthread_setname_np(pthread_self(), name);
	free(malloc(100 + self));
	use_stack((1 + self) * 200 * KIB);
	pthread_barrier_wait(&all_deep);
	for (;;)
		pthread_barrier_wait(&all_deep);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes;
	pthread_barrier_init(&all_deep, NULL, THREADS + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 4096 * KIB);
	for (uintptr_t i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], &attributes, go_deep, (void *)i))
			return 1;
		printf("# expect: deep-%zu %lu\n", (size_t)i, (1 + i) * 200 * KIB);
	}
	pthread_barrier_wait(&all_deep);
	use_stack(1000 * KIB);
	printf("# expect: deep_threads %lu\n", 1000 * KIB);
	return 0;
}
