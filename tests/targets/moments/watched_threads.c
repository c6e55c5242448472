/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watched_threads ROUNDS: says "ready PID"; with a line on stdin four threads allocate, resize (in
 * vain, too) and free blocks that they take from each other, so that addresses go from thread to
 * thread at once. Says "# truth: ALLOCATIONS FREES FAILED LIVE" of these calls and "done"; ends
 * with the next line. A realloc is an allocation and a free.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4
#define SLOTS 64
#define SIZE_MOST 3000

static _Atomic(void *) slots[SLOTS];
static atomic_ulong allocated, freed, failed;
static unsigned long rounds;

static void block_free(void *block)
{
	free(block);
	freed++;
}

static void *block_resize(void *block, size_t size)
{
	block = realloc(block, size);
	if (!block)
		abort();
	allocated++;
	freed++;
	return block;
}

static void *resize_in_vain(void *block)
{
	void *volatile other = realloc(block, SIZE_MAX / 4);
	if (other)
		abort();
	failed++;
	return block;
}

static void *block_new(size_t size)
{
	allocated++;
	return malloc(size);
}

static void round_run(unsigned random)
{
	_Atomic(void *) *slot = &slots[(random >> 16) % SLOTS];
	size_t size = 16 + (random >> 12) % SIZE_MOST;
	void *block = atomic_exchange(slot, NULL);
	unsigned what = (random >> 8) % 4;
	if (!block)
		block = block_new(size);
	else if (what == 0)
		block = block_resize(block, size);
	else if (what == 1)
		block = resize_in_vain(block);
	else
		block_free(block), block = NULL;
	block = atomic_exchange(slot, block);
	if (block)
		block_free(block);
}

static void *work(void *number)
{
	unsigned random = (unsigned)(uintptr_t)number * 7919u + 1;
	for (unsigned long i = 0; i < rounds; i++) {
		random = random * 1103515245u + 12345u;
		round_run(random);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char line[64];
	pthread_t threads[THREADS];
	unsigned live = 0;
	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	setvbuf(stdin, NULL, _IONBF, 0);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (uintptr_t i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < SLOTS; i++)
		live += slots[i] != NULL;
	printf("# truth: %lu %lu %lu %u\n", allocated, freed, failed, live);
	printf("done\n");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 1;
}
