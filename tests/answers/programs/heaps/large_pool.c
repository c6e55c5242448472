/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To be preloaded: an allocator with more than 256 MiB of data, whose last word leads to a mapping
 * with the addresses of all its blocks.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { HEADER = 16, ALL = 300 << 20, NOTES = 1 << 20 };
static struct {
	char memory[ALL] __attribute__((aligned(16)));
	void **notes;
} pool;
static size_t used, noted;

static void note(void *block)
{
	if (!pool.notes)
		pool.notes = mmap(NULL, NOTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t at = __atomic_fetch_add(&noted, 1, __ATOMIC_RELAXED);
	if (at < NOTES / sizeof(void *))
		pool.notes[at] = block;
}

void *malloc(size_t size)
{
	size_t whole = HEADER + (size + 15 & ~(size_t)15);
	size_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
	if (at + whole > ALL)
		return NULL;
	uint64_t *header = (uint64_t *)(pool.memory + at);
	header[0] = size;
	note(header + 2);
	return header + 2;
}

void free(void *block)
{
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);
	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);
	uint64_t before = block ? ((uint64_t *)block)[-2] : 0;
	return moved ? memcpy(moved, block, before < size ? before : size) : NULL;
}
