/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/util.h"

#define ARENA_ALIGN 16u
#define ARENA_BLOCK_MIN ((size_t)4 << 10)
#define ARENA_BLOCK_MAX ((size_t)16 << 20)

struct arena_block {
	struct arena_block *next;
	_Alignas(ARENA_ALIGN) char data[];
};

void arena_init(struct arena *arena)
{
	*arena = (struct arena){0};
}

void arena_deinit(struct arena *arena)
{
	for (struct arena_block *block = arena->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	*arena = (struct arena){0};
}

static char *add_block(struct arena *arena, size_t bytes)
{
	struct arena_block *block = malloc(sizeof(*block) + bytes);
	if (!block)
		return NULL;
	pages_ask_huge(block, sizeof(*block) + bytes);
	block->next = arena->blocks;
	arena->blocks = block;
	return block->data;
}

/* Blocks double from small to large; a large request gets one of its own beside them. */
static void *alloc_slow(struct arena *arena, size_t size)
{
	size_t usual = min(max(arena->block_bytes * 2, ARENA_BLOCK_MIN), ARENA_BLOCK_MAX);
	if (size > usual / 4)
		return add_block(arena, size);
	char *data = add_block(arena, usual);
	if (!data)
		return NULL;
	arena->block_bytes = usual;
	arena->pos = data + size;
	arena->end = data + usual;
	return data;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2)
		return NULL;
	size = align_up(max(size, (size_t)1), ARENA_ALIGN);
	if (size > (size_t)(arena->end - arena->pos))
		return alloc_slow(arena, size);
	void *result = arena->pos;
	arena->pos += size;
	return result;
}

char *arena_strndup(struct arena *arena, const char *string, size_t len)
{
	len = len ? strnlen(string, len) : 0; /* of no bytes there may be no address either */
	char *copy = arena_alloc(arena, len + 1);
	if (!copy)
		return NULL;
	if (len)
		memcpy(copy, string, len);
	copy[len] = '\0';
	return copy;
}

char *arena_strdup(struct arena *arena, const char *string)
{
	return arena_strndup(arena, string, strlen(string));
}
