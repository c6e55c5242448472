/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash tables of numbers, for arrays of a million rows that are found by what is in them: a slot is
 * 8 bytes, the row's hash and its number, and nothing else is touched unless the hashes agree. The
 * rows themselves stay with the caller, who compares them:
 *
 *	if (!hash_index_seek(&index, hash, &place))
 *		return error_no_memory();
 *	while ((number = hash_index_next(&index, &place)))
 *		if (is_same(&rows[number - 1], …))
 *			return number - 1;
 *	hash_index_put(&index, &place, rows_len);
 *
 * Open addressing with linear probing, at most half full. Nothing is removed.
 */
#ifndef BASE_HASH_INDEX_H
#define BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_index {
	uint64_t *slots; /* upper half: the hash, lower half: number + 1; 0: free */
	size_t cap;      /* a power of two; 0: not yet made */
	size_t len;
};

/* How far a search has come. */
struct hash_index_place {
	size_t slot;
	uint32_t hash;
};

/* Makes an empty one with room for `count` numbers; it grows if there are more. One that is all
 * zero is empty, too. Returns false if there is no memory. */
bool hash_index_init(struct hash_index *index, size_t count);
void hash_index_deinit(struct hash_index *index);
/* Doubles its room. Returns false if there is no memory, and leaves it as it is. */
bool hash_index_grow(struct hash_index *index);

static inline uint32_t hash_index_fold(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

/* Fetches what a search for the hash will read first. Always inlined: gcc drops a call that does
 * nothing but fetch. */
static inline __attribute__((always_inline)) void hash_index_fetch(
	const struct hash_index *index, uint64_t hash)
{
	if (index->cap)
		__builtin_prefetch(&index->slots[hash_index_fold(hash) & (index->cap - 1)]);
}

/* Begins a search, after which one number may be put. Returns false if there is no memory. */
static inline bool hash_index_seek(
	struct hash_index *index, uint64_t hash, struct hash_index_place *ret)
{
	if (2 * (index->len + 1) > index->cap && !hash_index_grow(index))
		return false;
	ret->hash = hash_index_fold(hash);
	ret->slot = ret->hash & (index->cap - 1);
	return true;
}

/* Returns the next number with that hash, + 1. 0: there is none. */
static inline uint32_t hash_index_next(
	const struct hash_index *index, struct hash_index_place *place)
{
	uint64_t slot;
	while ((slot = index->slots[place->slot])) {
		place->slot = (place->slot + 1) & (index->cap - 1);
		if ((uint32_t)(slot >> 32) == place->hash)
			return (uint32_t)slot;
	}
	return 0;
}

/* Puts a number, below UINT32_MAX, where a search found none. */
static inline void hash_index_put(
	struct hash_index *index, const struct hash_index_place *place, uint32_t number)
{
	index->slots[place->slot] = (uint64_t)place->hash << 32 | (number + 1);
	index->len++;
}

#endif
