/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two further libcs (dlmopen), each with a malloc of its own that two threads use. Says of each
 * block where it is, and whether it is in use; then waits.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBCS 3
#define BLOCKS 700

struct taker {
	void *(*take)(size_t);
	void (*give)(void *);
	unsigned which;
	void *blocks[2][BLOCKS];
};
static struct taker takers[LIBCS];
static pthread_barrier_t done;

static size_t size_of(const struct taker *taker, unsigned thread, unsigned i)
{
	if (i % 231 == 5)
		return 150000 + 4096 * i;
	return 24 + (i * 37 + thread * 11 + taker->which * 5) % 9000;
}

static void use(struct taker *taker, unsigned thread)
{
	void **blocks = taker->blocks[thread];
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t size = size_of(taker, thread, i);
		blocks[i] = taker->take(size);
		memset(blocks[i], 1, size);
	}
	for (unsigned i = 0; i < BLOCKS; i += 3)
		taker->give(blocks[i]);
}

static void *in_thread(void *context)
{
	use(context, 1);
	pthread_barrier_wait(&done);
	pause();
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&done, NULL, LIBCS + 1);
	for (unsigned i = 0; i < LIBCS; i++) {
		void *library = i ? dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW) : NULL;
		takers[i].which = i;
		takers[i].take = i ? (void *(*)(size_t))dlsym(library, "malloc") : malloc;
		takers[i].give = i ? (void (*)(void *))dlsym(library, "free") : free;
	}
	for (unsigned i = 0; i < LIBCS; i++)
		use(&takers[i], 0);
	for (unsigned i = 0; i < LIBCS; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, in_thread, &takers[i]);
	}
	pthread_barrier_wait(&done);
	static char text[LIBCS * 2 * BLOCKS * 24];
	size_t at = 0;
	for (unsigned i = 0; i < LIBCS * 2 * BLOCKS; i++) {
		unsigned k = i % BLOCKS;
		at += (size_t)sprintf(text + at, "%p %u ",
			takers[i / BLOCKS / 2].blocks[i / BLOCKS % 2][k], k % 3 != 0);
	}
	puts(text);
	fflush(stdout);
	pause();
	return 0;
}
