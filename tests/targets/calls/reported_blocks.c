/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program with allocators of its own, which it reports: each argument is a part, see
 * test_pools.py. Parts print what they are asked for by word, else nothing.
 */
#include <heapwise/valgrind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* As a program has them that was made for heaptrack. */
void heaptrack_report_alloc(void *block, size_t size) __attribute__((weak));
void heaptrack_report_realloc(void *old, size_t size, void *block) __attribute__((weak));
void heaptrack_report_free(void *block) __attribute__((weak));

#define SUPER_BYTES 65536

static char memory[SUPER_BYTES]; /* of no allocator */
static int pool, other, moved;   /* known by their addresses */
static void *volatile held;
static char *super;

static __attribute__((noinline)) void site_heaptrack(void)
{
	if (!heaptrack_report_alloc || !heaptrack_report_realloc || !heaptrack_report_free)
		return;
	heaptrack_report_alloc(memory, 100);
	heaptrack_report_alloc(memory + 128, 200);
	heaptrack_report_realloc(memory, 300, memory + 512);
	heaptrack_report_realloc(NULL, 7, memory + 1024);
	heaptrack_report_free(memory + 128);
	heaptrack_report_free(NULL);
}

static __attribute__((noinline)) void site_malloclike(void)
{
	VALGRIND_MALLOCLIKE_BLOCK(memory, 100, 16, 0);
	VALGRIND_MALLOCLIKE_BLOCK(memory + 128, 50, 16, 1);
	VALGRIND_RESIZEINPLACE_BLOCK(memory, 100, 77, 16);
	VALGRIND_FREELIKE_BLOCK(memory + 128, 16);
}

/* Blocks in one of malloc, from its first byte on. */
static __attribute__((noinline)) void site_within(void)
{
	super = malloc(SUPER_BYTES);
	VALGRIND_MALLOCLIKE_BLOCK(super, 64, 0, 0);
	VALGRIND_MALLOCLIKE_BLOCK(super + 64, 65, 0, 0);
	VALGRIND_FREELIKE_BLOCK(super, 0);
	VALGRIND_MALLOCLIKE_BLOCK(super, 66, 0, 0);
	VALGRIND_FREELIKE_BLOCK(super + 64, 0);
	VALGRIND_FREELIKE_BLOCK(super, 0);
	free(super);
}

static __attribute__((noinline)) void site_mempool(void)
{
	VALGRIND_CREATE_MEMPOOL(&pool, 0, 0);
	for (size_t i = 0; i < 8; i++)
		VALGRIND_MEMPOOL_ALLOC(&pool, memory + 64 * i, 10 + i);
	printf("%d", VALGRIND_MEMPOOL_EXISTS(&pool));
	printf("%d", VALGRIND_MEMPOOL_EXISTS(&other));
	VALGRIND_MOVE_MEMPOOL(&pool, &moved);
	printf("%d", VALGRIND_MEMPOOL_EXISTS(&pool));
	printf("%d\n", VALGRIND_MEMPOOL_EXISTS(&moved));
	VALGRIND_MEMPOOL_FREE(&moved, memory);                             /* 10 */
	VALGRIND_MEMPOOL_CHANGE(&moved, memory + 64, memory + 1024, 1000); /* 11 */
	/* Those of 12 and 13 bytes remain, and the first 5 of 14. */
	VALGRIND_MEMPOOL_TRIM(&moved, memory + 2 * 64, 2 * 64 + 5);
}

static __attribute__((noinline)) void site_other_pool(void)
{
	VALGRIND_CREATE_MEMPOOL_EXT(&other, 0, 0, 0);
	VALGRIND_MEMPOOL_ALLOC(&other, memory + 8192, 500);
	VALGRIND_DESTROY_MEMPOOL(&other);
	VALGRIND_CREATE_MEMPOOL(&other, 0, 0);
	VALGRIND_MEMPOOL_ALLOC(&other, memory + 8192, 600);
}

static __attribute__((noinline)) void give_out(void *from, size_t offset, size_t size)
{
	heapwise_pool_alloc(from, super + offset, size);
}

/* Two pools in a block of malloc. */
static __attribute__((noinline)) void site_named(void)
{
	super = calloc(1, SUPER_BYTES);
	heapwise_pool_create(&pool, "connections");
	heapwise_pool_create(&other, "requests\n");
	for (size_t i = 0; i < 100; i++)
		give_out(&pool, 64 * i, 33);
	for (size_t i = 0; i < 93; i++)
		heapwise_pool_free(&pool, super + 64 * i);
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < 50; i++)
			give_out(&other, 16384 + 128 * i, 100 + round);
		if (round < 2)
			heapwise_pool_reset(&other);
	}
	held = super + 64 * 95;
	super = NULL;
}

/* The memory is given back before the pool is. */
static __attribute__((noinline)) void site_wrong_order(void)
{
	super = malloc(SUPER_BYTES);
	heapwise_pool_create(&pool, "wrong order");
	give_out(&pool, 0, 40);
	give_out(&pool, 64, 50);
	free(super);
	heapwise_pool_destroy(&pool);
}

/* Pools are as many as requests, and each has its memory from malloc. */
static __attribute__((noinline)) void site_many(void)
{
	for (size_t i = 0; i < 20000; i++) {
		super = malloc(512);
		heapwise_pool_create(super, i % 2 ? "odd" : "even");
		give_out(super, 0, 100);
		give_out(super, 128, 50);
		heapwise_pool_destroy(super);
		free(super);
	}
}

static __attribute__((noinline)) void site_fork(void)
{
	super = memory;
	heapwise_pool_create(&pool, "shared");
	if (!fork()) {
		give_out(&pool, 0, 1234);
		_exit(0);
	}
	wait(NULL);
}

/* More names than are kept. */
static __attribute__((noinline)) void site_names(void)
{
	super = memory;
	for (size_t i = 0; i < 4100; i++) {
		char name[24];
		snprintf(name, sizeof(name), "number %zu", i);
		heapwise_pool_create(&pool, name);
		give_out(&pool, 8 * i, 1);
	}
}

/* What no pool has given out. */
static __attribute__((noinline)) void site_wrong(void)
{
	heapwise_pool_create(&pool, "wrong");
	heapwise_pool_free(&pool, memory + 64);
}

static __attribute__((noinline)) void site_stopped(void)
{
	super = memory;
	heapwise_pool_create(&pool, "stopped");
	give_out(&pool, 0, 10);
	heapwise_stop();
	give_out(&pool, 64, 20);
	heapwise_pool_free(&pool, memory);
	heapwise_start();
	give_out(&pool, 128, 40);
	heapwise_pool_free(&pool, memory + 64);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} parts[] = {{"heaptrack", site_heaptrack}, {"malloclike", site_malloclike},
		{"within", site_within}, {"mempool", site_mempool}, {"other", site_other_pool},
		{"named", site_named}, {"order", site_wrong_order}, {"many", site_many},
		{"fork", site_fork}, {"names", site_names}, {"wrong", site_wrong},
		{"stopped", site_stopped}};
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 1; i < argc; i++) {
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
			if (!strcmp(argv[i], parts[k].name))
				parts[k].function();
		}
	}
	return 0;
}
