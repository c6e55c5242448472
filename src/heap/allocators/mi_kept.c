/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of mimalloc's that others than their owner freed while their page was full: they are in
 * a list of the owner's heap (mi_heap_t, thread_delayed_free), right before the owner's number.
 */
#include "heap/allocators/mi_malloc.h"

#define HEAP_WORDS 512u
/* The keys are after the number, an arena's number (from 2.0.9 on) and a cookie. */
static const unsigned keys_after[] = {3, 2};
#define KEYS_AFTER_MAX 3u

struct keeping {
	struct mi_malloc *mi;
	struct heap_addresses heaps, threads; /* ascending */
	uint64_t words[HEAP_WORDS];
};

static bool mi_kept_is_block(const struct mi_malloc *mi, uint64_t address)
{
	uint32_t number;
	const struct mi_page *page = mi_page_at(mi, address);
	return page && mi_block_number(page, address, &number);
}

/* keys: NULL if links are plain. */
static uint64_t mi_kept_follow(
	const struct mi_malloc *mi, uint64_t at, const uint64_t *keys, uint64_t heap)
{
	uint64_t next;
	if (!address_space_word(mi->space, at, &next))
		return 0;
	return keys ? mi_decode(next, keys, heap) : next;
}

/* Which keys the links of a list have, by its first one. */
static const uint64_t *keys_of(
	const struct keeping *k, uint64_t first, size_t number, uint64_t heap)
{
	const struct mi_page *page = mi_page_at(k->mi, first);
	for (unsigned i = 0; page && page->has_keys && i < 2; i++) {
		const uint64_t *keys = k->words + number + keys_after[i];
		uint64_t next = mi_kept_follow(k->mi, first, keys, heap);
		if (!next || mi_kept_is_block(k->mi, next))
			return keys;
	}
	return NULL;
}

static bool mi_kept_take_list(struct keeping *k, uint64_t at, size_t number, uint64_t heap)
{
	struct mi_malloc *mi = k->mi;
	const uint64_t *keys = keys_of(k, at, number, heap);
	/* No list is longer than there are blocks, whatever it leads to. */
	while (at && mi_kept_is_block(mi, at) && mi->kept.len < mi->blocks) {
		if (!heap_addresses_push(&mi->kept, at))
			return false;
		at = mi_kept_follow(mi, at, keys, heap);
	}
	return true;
}

static bool take_heap(struct keeping *k, uint64_t heap)
{
	size_t count = address_space_read(k->mi->space, heap, k->words, sizeof(k->words)) / 8;
	bool ok = true;
	for (size_t i = 1; ok && i + KEYS_AFTER_MAX + 1 < count; i++) {
		size_t from = heap_addresses_from(&k->threads, k->words[i]);
		if (from < k->threads.len && k->threads.data[from] == k->words[i])
			ok = mi_kept_take_list(k, k->words[i - 1], i, heap);
	}
	return ok;
}

bool mi_heap_is_of(const struct mi_malloc *mi, uint64_t heap, uint64_t thread)
{
	uint64_t words[HEAP_WORDS];
	size_t count = heap ? address_space_read(mi->space, heap, words, sizeof(words)) / 8 : 0;
	for (size_t i = 0; i < count; i++) {
		if (words[i] == thread)
			return true;
	}
	return false;
}

struct error *mi_kept_find(struct mi_malloc *mi)
{
	struct keeping k = {.mi = mi};
	bool ok = true;
	for (size_t i = 0; ok && i < mi->pages.len; i++)
		ok = !mi->pages.data[i].heap ||
		     heap_addresses_push(&k.heaps, mi->pages.data[i].heap);
	for (size_t i = 0; ok && i < mi->segments.len; i++)
		ok = !mi->segments.data[i].thread ||
		     heap_addresses_push(&k.threads, mi->segments.data[i].thread);
	heap_addresses_sort(&k.heaps);
	heap_addresses_sort(&k.threads);
	for (size_t i = 0; ok && i < k.heaps.len; i++)
		ok = take_heap(&k, k.heaps.data[i]);
	heap_addresses_sort(&mi->kept);
	heap_addresses_deinit(&k.heaps);
	heap_addresses_deinit(&k.threads);
	return ok ? NULL : error_no_memory();
}
