/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To be preloaded: an allocator with the four functions that each must have, and no others. Its
 * calloc calls malloc as anybody does, and the words before its blocks are not those of glibc's.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HEADER = 16, ALL = 1 << 28 };
static char memory[ALL] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t size)
{
	size_t whole = HEADER + (size + 15 & ~(size_t)15);
	size_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
	if (at + whole > ALL)
		return NULL;
	uint64_t *header = (uint64_t *)(memory + at);
	header[0] = size;
	header[1] = 0x4141414141414148;
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
