/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash maps with types of their own: DEFINE_MAP(names, uint64_t, char *, hash_u64, equal_u64) gives
 * struct names {…, len} and names_init, _deinit, _find, _insert, _remove, _next. hash(key) returns
 * uint64_t, equal(a, b) bool, both by value.
 *
 * Open addressing with linear probing: an array of 32-bit hashes (0: free) that probes run along,
 * and an array of entries that is touched where a hash agrees. At most 3/4 full; removal moves what
 * follows back, so that there are no tombstones. Dropped: chaining (a cache miss each), Robin Hood
 * and SIMD groups (twice the code for what these tables hold).
 *
 * Pointers to keys and values live until the next insertion or removal.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"

#define MAP_FIRST_SLOTS 16u
#define MAP_SLOTS_MAX (1u << 31)

static inline uint32_t map_fold(uint64_t hash)
{
	uint32_t folded = (uint32_t)(hash ^ hash >> 32);
	return folded ? folded : 1;
}

#define DEFINE_MAP(name, key_type, value_type, hash_function, equal_function)                      \
	struct name##_entry {                                                                      \
		key_type key;                                                                      \
		value_type value;                                                                  \
	};                                                                                         \
                                                                                                   \
	struct name {                                                                              \
		uint32_t *hashes;                                                                  \
		struct name##_entry *entries;                                                      \
		uint32_t slots; /* 0 or a power of two */                                          \
		uint32_t len;                                                                      \
	};                                                                                         \
                                                                                                   \
	__attribute__((unused)) static inline void name##_init(struct name *map)                   \
	{                                                                                          \
		*map = (struct name){0};                                                           \
	}                                                                                          \
                                                                                                   \
	__attribute__((unused)) static inline void name##_deinit(struct name *map)                 \
	{                                                                                          \
		free(map->hashes);                                                                 \
		free(map->entries);                                                                \
		*map = (struct name){0};                                                           \
	}                                                                                          \
                                                                                                   \
	/* The key's slot, or the free one where it belongs. Needs a free slot somewhere. */       \
	static inline uint32_t name##_slot(const struct name *map, key_type key, uint32_t hash)    \
	{                                                                                          \
		uint32_t mask = map->slots - 1, slot = hash & mask;                                \
		while (map->hashes[slot] && (map->hashes[slot] != hash ||                          \
						    !equal_function(map->entries[slot].key, key))) \
			slot = (slot + 1) & mask;                                                  \
		return slot;                                                                       \
	}                                                                                          \
                                                                                                   \
	/* NULL: not there. */                                                                     \
	__attribute__((unused)) static inline value_type *name##_find(                             \
		const struct name *map, key_type key)                                              \
	{                                                                                          \
		if (!map->len)                                                                     \
			return NULL;                                                               \
		uint32_t slot = name##_slot(map, key, map_fold(hash_function(key)));               \
		return map->hashes[slot] ? &map->entries[slot].value : NULL;                       \
	}                                                                                          \
                                                                                                   \
	__attribute__((unused)) static bool name##_grow(struct name *map)                          \
	{                                                                                          \
		if (map->slots >= MAP_SLOTS_MAX)                                                   \
			return false;                                                              \
		struct name grown = {.slots = map->slots ? map->slots * 2 : MAP_FIRST_SLOTS};      \
		grown.len = map->len;                                                              \
		grown.hashes = calloc(grown.slots, sizeof(*grown.hashes));                         \
		grown.entries = calloc(grown.slots, sizeof(*grown.entries));                       \
		if (!grown.hashes || !grown.entries) {                                             \
			name##_deinit(&grown);                                                     \
			return false;                                                              \
		}                                                                                  \
		for (uint32_t i = 0; i < map->slots; i++) {                                        \
			if (!map->hashes[i])                                                       \
				continue;                                                          \
			uint32_t slot = map->hashes[i] & (grown.slots - 1);                        \
			while (grown.hashes[slot])                                                 \
				slot = (slot + 1) & (grown.slots - 1);                             \
			grown.hashes[slot] = map->hashes[i];                                       \
			grown.entries[slot] = map->entries[i];                                     \
		}                                                                                  \
		free(map->hashes);                                                                 \
		free(map->entries);                                                                \
		*map = grown;                                                                      \
		return true;                                                                       \
	}                                                                                          \
                                                                                                   \
	/* The key's value; a new one is zero and sets *ret_new (may be NULL). NULL: no memory. */ \
	__attribute__((unused, warn_unused_result)) static inline value_type *name##_insert(       \
		struct name *map, key_type key, bool *ret_new)                                     \
	{                                                                                          \
		if (map->len >= map->slots - map->slots / 4 && !name##_grow(map))                  \
			return NULL;                                                               \
		uint32_t hash = map_fold(hash_function(key));                                      \
		uint32_t slot = name##_slot(map, key, hash);                                       \
		bool is_new = !map->hashes[slot];                                                  \
		if (is_new) {                                                                      \
			map->hashes[slot] = hash;                                                  \
			map->entries[slot] = (struct name##_entry){.key = key};                    \
			map->len++;                                                                \
		}                                                                                  \
		if (ret_new)                                                                       \
			*ret_new = is_new;                                                         \
		return &map->entries[slot].value;                                                  \
	}                                                                                          \
                                                                                                   \
	/* false: it was not there. */                                                             \
	__attribute__((unused)) static inline bool name##_remove(struct name *map, key_type key)   \
	{                                                                                          \
		if (!map->len)                                                                     \
			return false;                                                              \
		uint32_t mask = map->slots - 1;                                                    \
		uint32_t hole = name##_slot(map, key, map_fold(hash_function(key)));               \
		if (!map->hashes[hole])                                                            \
			return false;                                                              \
		/* An entry may fill the hole unless its home lies between hole and entry. */      \
		for (uint32_t i = (hole + 1) & mask; map->hashes[i]; i = (i + 1) & mask) {         \
			if (((i - map->hashes[i]) & mask) < ((i - hole) & mask))                   \
				continue;                                                          \
			map->hashes[hole] = map->hashes[i];                                        \
			map->entries[hole] = map->entries[i];                                      \
			hole = i;                                                                  \
		}                                                                                  \
		map->hashes[hole] = 0;                                                             \
		map->len--;                                                                        \
		return true;                                                                       \
	}                                                                                          \
                                                                                                   \
	/*                                                                                         \
	 * The next value in no particular order, NULL at the end. *index starts at 0. The map     \
	 * must not change meanwhile. ret_key may be NULL.                                         \
	 */                                                                                        \
	__attribute__((unused)) static inline value_type *name##_next(                             \
		const struct name *map, uint32_t *index, key_type const **ret_key)                 \
	{                                                                                          \
		while (*index < map->slots) {                                                      \
			uint32_t slot = (*index)++;                                                \
			if (!map->hashes[slot])                                                    \
				continue;                                                          \
			if (ret_key)                                                               \
				*ret_key = &map->entries[slot].key;                                \
			return &map->entries[slot].value;                                          \
		}                                                                                  \
		return NULL;                                                                       \
	}

#endif
