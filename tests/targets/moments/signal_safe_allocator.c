/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An allocator that signal handlers may interrupt and call: it hands out the cells of one array,
 * round and round, and keeps nothing else. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CELL_BYTES 256
#define CELLS 65536u
#define LARGE_BYTES (16u << 20)

static _Alignas(64) char cells[CELLS][CELL_BYTES];
static _Alignas(64) char large[LARGE_BYTES];
static atomic_uint next_cell;
static atomic_size_t large_used;

void *malloc(size_t size)
{
	if (size <= CELL_BYTES)
		return cells[atomic_fetch_add(&next_cell, 1) % CELLS];
	size_t rounded = (size + 63) & ~(size_t)63;
	size_t at = rounded < size ? LARGE_BYTES : atomic_fetch_add(&large_used, rounded);
	if (at < LARGE_BYTES && rounded <= LARGE_BYTES - at)
		return large + at;
	errno = ENOMEM;
	return NULL;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	size_t bytes = size && count > SIZE_MAX / size ? SIZE_MAX : count * size;
	void *block = malloc(bytes);
	return block ? memset(block, 0, bytes) : NULL;
}

void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);
	return block && moved ? memcpy(moved, block, size < CELL_BYTES ? size : CELL_BYTES) : moved;
}
