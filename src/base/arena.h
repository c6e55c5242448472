/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An arena: allocations are taken from larger blocks and freed all at once. They are not
 * initialised, aligned to 16 bytes, and never move. Functions return NULL if there is no memory.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	char *pos, *end;    /* what is left of the last block of the usual size */
	size_t block_bytes; /* of that one */
};

void arena_init(struct arena *arena);
void arena_deinit(struct arena *arena);

/* Allocates `size` bytes; 0 bytes give a valid pointer, too. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((malloc, alloc_size(2)));
char *arena_strdup(struct arena *arena, const char *string);
/* Copies `len` bytes, or fewer if there is a NUL among them; the copy ends with a NUL. */
char *arena_strndup(struct arena *arena, const char *string, size_t len);

#endif
