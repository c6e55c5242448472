/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/events/hpw_blocks.h"

#include <stdlib.h>

#include "base/pages.h"
#include "sources/events/hpw_hash.h"

#define CAP_FIRST 1024u
/* What a file says wrongly costs no more than that. */
#define EXPECTED_CAP ((size_t)1 << 22)

void hpw_blocks_init(struct hpw_blocks *blocks)
{
	*blocks = (struct hpw_blocks){.seed = hpw_hash_seed()};
}

void hpw_blocks_deinit(struct hpw_blocks *blocks)
{
	free(blocks->places);
	blocks->places = NULL;
	blocks->cap = blocks->len = 0;
}

static inline size_t hpw_blocks_home(const struct hpw_blocks *blocks, uint64_t key)
{
	return (hpw_hash(blocks->seed, key >> 2) + (key & 3)) & (blocks->cap - 1);
}

/* Where the key is, or the empty place where it would be put. */
static inline size_t hpw_blocks_find(const struct hpw_blocks *blocks, uint64_t key)
{
	size_t at = hpw_blocks_home(blocks, key);
	while (blocks->places[at].key && blocks->places[at].key != key)
		at = (at + 1) & (blocks->cap - 1);
	return at;
}

static bool hpw_blocks_grow(struct hpw_blocks *blocks, size_t cap)
{
	struct hpw_blocks bigger = *blocks;
	bigger.cap = cap;
	bigger.places = calloc(bigger.cap, sizeof(*bigger.places));
	if (!bigger.places)
		return false;
	pages_ask_huge(bigger.places, bigger.cap * sizeof(*bigger.places));
	for (size_t i = 0; i < blocks->cap; i++)
		if (blocks->places[i].key)
			bigger.places[hpw_blocks_find(&bigger, blocks->places[i].key)] =
				blocks->places[i];
	free(blocks->places);
	*blocks = bigger;
	return true;
}

void hpw_blocks_expect(struct hpw_blocks *blocks, uint64_t count)
{
	size_t cap = CAP_FIRST;
	while (cap < EXPECTED_CAP && cap / 8 * 5 <= count)
		cap *= 2;
	/* Without memory for a guess, there may be some for what comes. */
	if (cap > blocks->cap && !hpw_blocks_grow(blocks, cap))
		return;
}

bool hpw_blocks_add(struct hpw_blocks *blocks, uint64_t key, uint64_t size, uint32_t site)
{
	if (blocks->len + 1 > blocks->cap / 8 * 5 &&
		!hpw_blocks_grow(blocks, blocks->cap ? blocks->cap * 2 : CAP_FIRST))
		return false;
	struct hpw_block *place = &blocks->places[hpw_blocks_find(blocks, key)];
	blocks->len += !place->key;
	place->key = key;
	place->size = size;
	place->site = site;
	return true;
}

bool hpw_blocks_take(struct hpw_blocks *blocks, uint64_t key, struct hpw_block *ret)
{
	if (!blocks->cap)
		return false;
	size_t mask = blocks->cap - 1, hole = hpw_blocks_find(blocks, key);
	if (!blocks->places[hole].key)
		return false;
	*ret = blocks->places[hole];
	/* Move up what the hole would cut off from its home. */
	for (size_t at = (hole + 1) & mask; blocks->places[at].key; at = (at + 1) & mask) {
		size_t from_home = (at - hpw_blocks_home(blocks, blocks->places[at].key)) & mask;
		if (from_home < ((at - hole) & mask))
			continue;
		blocks->places[hole] = blocks->places[at];
		hole = at;
	}
	blocks->places[hole].key = 0;
	blocks->len--;
	return true;
}
