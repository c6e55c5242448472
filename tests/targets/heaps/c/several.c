/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several allocators in one process: libc's, that of a library which is loaded (named in
 * HEAP_SECOND), and a pool of the program's own; blocks of each hold those of the others. */
#include <dlfcn.h>
#include <stdbool.h>

#include "account.h"

ACCOUNT_DEFINE;

static void *(*second_malloc)(size_t size);
static void (*second_free)(void *block);

#define NODES 2000u
#define LOST 500u

struct node {
	struct node *next;
	void *other;
	char rest[48];
};

static struct node *list;
static void **pool;

static void *block(void *memory, size_t size, char leak, const char *type)
{
	if (!memory)
		abort();
	memset(memory, 0, size);
	account(memory, size, leak, type);
	return memory;
}

/* Every other one is the library's, and holds one of libc's. */
static __attribute__((noinline)) void add_nodes(void)
{
	for (unsigned i = 0; i < NODES; i++) {
		size_t size = sizeof(struct node) + i % 7 * 40, more = 30 + i % 90;
		bool own = i % 2;
		struct node *node =
			block(own ? second_malloc(size) : malloc(size), size, 'r', "node");
		node->other = block(own ? malloc(more) : second_malloc(more), more, 'r', "other");
		node->next = list;
		list = node;
	}
}

static __attribute__((noinline)) void lose(void)
{
	for (unsigned i = 0; i < LOST; i++) {
		void **first = block(i % 2 ? second_malloc(72) : malloc(72), 72, 'd', "lost");
		*first = block(i % 2 ? malloc(88) : second_malloc(88), 88, 'i', "held by lost");
	}
}

static __attribute__((noinline)) void release(void)
{
	for (unsigned i = 0; i < LOST; i++) {
		void *own = second_malloc(100), *other = malloc(100);
		unsigned own_row = account(own, 100, '-', "freed");
		unsigned other_row = account(other, 100, '-', "freed");
		second_free(own);
		account_freed(own_row);
		free(other);
		account_freed(other_row);
	}
}

/* What only a pool holds is not lost. */
static __attribute__((noinline)) void fill_pool(void)
{
	pool = mmap(NULL, 1u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED)
		abort();
	for (unsigned i = 0; i < 100; i++) {
		size_t size = 60 + i;
		pool[i * 1000] = block(
			i % 2 ? malloc(size) : second_malloc(size), size, 'r', "held by the pool");
	}
}

static __attribute__((noinline)) void forget(void)
{
	volatile char stack[32 << 10];
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

static void load(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	*(void **)&second_malloc = dlsym(library, "malloc");
	*(void **)&second_free = dlsym(library, "free");
}

int main(int argc, char **argv)
{
	account_open(argc, argv);
	load(getenv("HEAP_SECOND"));
	add_nodes();
	lose();
	release();
	fill_pool();
	forget();
	account_end();
	return !list || !pool;
}
