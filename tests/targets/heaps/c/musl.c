/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What musl's allocators do in ways of their own: alignments up to megabytes, blocks that are grown
 * where they are or moved as mappings, none at all of a size; and what musl's threads hold: by
 * thread-local variables, keys, stacks right below of blocks that are lost, and a pool beside them.
 */
#include <pthread.h>

#include "account.h"

ACCOUNT_DEFINE;

#define THREADS 4u
#define LARGE 200000u

static __thread void *volatile local;
/* So large that the first thread's is a block or a mapping of its own. */
static __thread volatile char much[20000];
static void *aligned[40], *volatile grown[64], *empty, *volatile held[THREADS];
static pthread_key_t key;
static pthread_barrier_t done;

static void *filled(void *memory, size_t size, char leak, const char *type)
{
	if (!memory)
		abort();
	memset(memory, 0, size);
	account(memory, size, leak, type);
	return memory;
}

static void hold(void)
{
	local = filled(malloc(77), 77, 'r', "by a thread-local variable");
	pthread_setspecific(key, filled(malloc(78), 78, 'r', "by a key"));
	much[0] = 1;
}

static void *work(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	void *volatile mine = filled(malloc(79), 79, 'r', "by a stack");
	hold();
	held[number] = mine;
	held[number] = NULL;
	pthread_barrier_wait(&done);
	for (;;)
		pause();
	return mine;
}

/* The stack that follows is mapped below of it. */
static __attribute__((noinline)) void lose_large(void)
{
	for (unsigned i = 0; i < 3; i++) {
		void **large = filled(malloc(LARGE), LARGE, 'd', "lost");
		for (unsigned k = 0; k < 400; k += 40)
			large[k] = filled(malloc(90), 90, 'i', "held by lost");
	}
}

static __attribute__((noinline)) void align(void)
{
	for (unsigned i = 0; i < sizeof(aligned) / sizeof(*aligned); i++) {
		size_t alignment = (size_t)32 << i % 20, size = i < 20 ? 100 + i : 150000 + i;
		if (posix_memalign(&aligned[i], alignment, size))
			abort();
		filled(aligned[i], size, 'r', "aligned");
	}
}

static __attribute__((noinline)) void grow(void)
{
	for (unsigned i = 0; i < sizeof(grown) / sizeof(*grown); i++) {
		size_t size = i % 2 ? 140000 + 5000 * i : 20 + 11 * i;
		void *first = malloc(size);
		grown[i] = realloc(first, i % 4 < 2 ? size + size / 16 : size - size / 16);
		filled(grown[i], i % 4 < 2 ? size + size / 16 : size - size / 16, 'r', "grown");
	}
}

/* In one mapping with the allocator's own, as the kernel joins them; only it holds these blocks. */
static __attribute__((noinline)) void fill_pool(void)
{
	void **pool = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED)
		abort();
	for (unsigned i = 0; i < 8192; i += 512)
		pool[i] = filled(malloc(300), 300, 'r', "by a pool");
}

static __attribute__((noinline)) void forget(void)
{
	volatile char stack[32 << 10];
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	pthread_key_create(&key, NULL);
	pthread_barrier_init(&done, NULL, THREADS + 1);
	hold();
	align();
	grow();
	fill_pool();
	empty = malloc(0);
	account(empty, 0, 'r', "empty");
	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_t thread;
		lose_large();
		if (pthread_create(&thread, NULL, work, (void *)i))
			abort();
	}
	pthread_barrier_wait(&done);
	forget();
	account_end();
	return !empty || !local;
}
