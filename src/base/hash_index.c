/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hash_index.h"

#include <stdlib.h>

#include "base/pages.h"

#define CAP_FIRST 64u
#define CAP_MAX ((size_t)1 << 32)

static bool hash_index_make(struct hash_index *ret, size_t cap)
{
	uint64_t *slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return false;
	pages_ask_huge(slots, cap * sizeof(*slots));
	*ret = (struct hash_index){.slots = slots, .cap = cap};
	return true;
}

bool hash_index_init(struct hash_index *index, size_t count)
{
	size_t cap = CAP_FIRST;
	*index = (struct hash_index){.slots = NULL};
	while (cap < CAP_MAX && cap / 2 < count + 1)
		cap *= 2;
	return hash_index_make(index, cap);
}

void hash_index_deinit(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){.slots = NULL};
}

bool hash_index_grow(struct hash_index *index)
{
	struct hash_index grown;
	if (index->cap >= CAP_MAX ||
		!hash_index_make(&grown, index->cap ? index->cap * 2 : CAP_FIRST))
		return false;
	for (size_t i = 0; i < index->cap; i++) {
		if (!index->slots[i])
			continue;
		size_t slot = (index->slots[i] >> 32) & (grown.cap - 1);
		while (grown.slots[slot])
			slot = (slot + 1) & (grown.cap - 1);
		grown.slots[slot] = index->slots[i];
	}
	grown.len = index->len;
	free(index->slots);
	*index = grown;
	return true;
}
