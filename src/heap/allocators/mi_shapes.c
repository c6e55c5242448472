/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How entries of mimalloc's tables of slices look like (mi_page_t, include/mimalloc/types.h). */
#include <string.h>

#include "heap/allocators/mi_malloc.h"

#define FLAGS_OF_LIST 3ull
/* What stands for the size of huge blocks where there are 32 bits for it. */
#define HUGE_BYTES 0x80000000u
#define BLOCK_BYTES_MIN 8u

/* Later ones are the best evidence, since nothing else fits them. */
const struct mi_shape mi_shapes[MI_SHAPES] = {
	/* 2.1.4 and later, without keys and with */
	{12, 2, 3, 7, 8, 4, 5, 6, 0},
	{14, 2, 3, 9, 10, 4, 5, 6, 7},
	/* 2.0.0 to 2.1.2 */
	{10, 2, 4, 5, 6, 3, 0, 0, 0},
	/* with keys: 2.0.9 to 2.1.2, and before */
	{12, 2, 4, 7, 8, 3, 0, 0, 5},
	{12, 2, 6, 7, 8, 5, 0, 0, 3},
};

size_t mi_shape_bytes(const struct mi_shape *shape)
{
	return 8ul * shape->words;
}

static bool is_in(const struct mi_page *page, uint64_t list)
{
	return !list || (list >= page->start && list < page->end);
}

bool mi_shape_read(const struct mi_shape *shape, const uint64_t *entry, struct mi_page *page)
{
	uint64_t used = entry[shape->used], bytes = page->end - page->start;
	page->given = (uint32_t)(entry[1] >> 16 & 0xffff);
	page->room = (uint32_t)(entry[1] >> 32 & 0xffff);
	page->used = shape->bytes ? (uint32_t)(used & 0xffff) : (uint32_t)used;
	page->block_bytes = shape->bytes ? entry[shape->bytes] : used >> 32;
	if (!shape->bytes && page->block_bytes == HUGE_BYTES)
		page->block_bytes = bytes;
	page->first = shape->first ? entry[shape->first] : 0;
	page->free_list = entry[shape->free_list];
	page->own_list = entry[shape->own_list];
	page->others_list = entry[shape->others_list] & ~FLAGS_OF_LIST;
	page->heap = entry[shape->heap] & ~FLAGS_OF_LIST;
	page->has_keys = shape->keys;
	if (shape->keys)
		memcpy(page->keys, entry + shape->keys, sizeof(page->keys));
	return page->block_bytes >= BLOCK_BYTES_MIN && page->block_bytes <= bytes && page->room &&
	       page->given <= page->room && page->used <= page->given &&
	       page->block_bytes * page->room <= bytes && is_in(page, page->free_list) &&
	       is_in(page, page->own_list) && is_in(page, page->others_list) &&
	       (!shape->first || (page->first >= page->start && page->block_bytes * page->room <=
									page->end - page->first));
}

/* Where a page's first block begins in it, before entries said so: nothing is moved; from 2.0.9,
 * 2.1.0 and 2.0.6 on. */
enum { RULE_THREE, RULE_MULTIPLE, RULE_ONE, RULE_NONE, RULES };

static uint64_t mi_shapes_lead(unsigned rule, uint64_t block_bytes)
{
	const uint64_t guaranteed = 128;
	switch (rule) {
	case RULE_THREE:
		return block_bytes <= 1024 ? 3 * guaranteed : 0;
	case RULE_ONE:
		return block_bytes <= 1024 ? guaranteed : 0;
	case RULE_MULTIPLE:
		return block_bytes <= 64 ? 3 * block_bytes : block_bytes <= 512 ? block_bytes : 0;
	default:
		return 0;
	}
}

static bool mi_shapes_agrees(const struct mi_page *page, unsigned rule)
{
	uint64_t first = page->start + mi_shapes_lead(rule, page->block_bytes),
		 bytes = page->block_bytes;
	const uint64_t lists[] = {page->free_list, page->own_list, page->others_list};
	for (unsigned i = 0; i < 3; i++) {
		if (lists[i] && (lists[i] < first || (lists[i] - first) % bytes))
			return false;
	}
	return first < page->end && (page->end - first) / bytes == page->room;
}

void mi_place_blocks(struct mi_pages *pages, size_t from)
{
	size_t votes[RULES] = {0};
	unsigned best = 0;
	for (size_t i = from; i < pages->len; i++) {
		for (unsigned rule = 0; rule < RULES && !pages->data[i].first; rule++)
			votes[rule] += mi_shapes_agrees(&pages->data[i], rule);
	}
	for (unsigned rule = 1; rule < RULES; rule++)
		best = votes[rule] > votes[best] ? rule : best;
	for (size_t i = from; i < pages->len; i++) {
		struct mi_page *page = &pages->data[i];
		uint64_t leads = mi_shapes_lead(best, page->block_bytes);
		if (page->first)
			continue;
		page->first = page->start;
		if (page->block_bytes * page->room + leads <= page->end - page->start)
			page->first += leads;
	}
}

uint64_t mi_decode(uint64_t link, const uint64_t *keys, uint64_t null)
{
	uint64_t x = link - keys[0], by = keys[0] & 63;
	uint64_t at = (by ? x >> by | x << (64 - by) : x) ^ keys[1];
	return at == null ? 0 : at;
}
