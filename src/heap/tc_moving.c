/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that threads are just moving between their caches, the central cache and spans
 * (thread_cache.cc, central_freelist.cc): a batch is taken out of one list before it is put into
 * the other, and in between nothing leads to it but that thread's registers and stack.
 *
 * Whoever is inside has the list of the blocks' size at hand, too. But a program that keeps such
 * blocks in a list of its own may have that at hand just as well: callers' registers are saved in
 * between. So these blocks count as used, and it is said how many may be free.
 */
#include "heap/at_hand.h"
#include "heap/tc_malloc.h"

/* Functions of tcmalloc have small frames; those that wait for a lock are below them. */
#define STACK_WORDS 96u
/* A batch has no more bytes, but two blocks at least (SizeMap::NumMoveSize). */
#define BATCH_BYTES (64u << 10)

/* Whether a thread is in tcmalloc, or in what that has called. */
static bool is_inside(const struct tc_malloc *tc, const struct address_thread *thread,
	const struct at_hand *at_hand)
{
	const struct address_module *module = address_space_module(tc->space, tc->root);
	if (!module)
		return false;
	if (address_space_module(tc->space, thread->pc) == module)
		return true;
	for (size_t i = 0; i < at_hand->count; i++) {
		const struct process_map *map = address_space_map(tc->space, at_hand->words[i]);
		if (map && map->executable &&
			address_space_module(tc->space, at_hand->words[i]) == module)
			return true;
	}
	return false;
}

/* The size that a word has to do with, if it leads into a list of the central cache or of a
 * thread's; 0: none. */
static uint32_t size_of_list(const struct tc_malloc *tc, uint64_t word)
{
	uint64_t class = tc->central ? (word - tc->central) / TC_CENTRAL_BYTES : 0;
	if (tc->central && word > tc->central && class < tc->classes)
		return tc->sizes[class];
	for (size_t i = 0; i < tc->caches.len; i++) {
		class = (word - tc->caches.data[i]) / TC_LIST_BYTES;
		if (word > tc->caches.data[i] && class < tc->classes)
			return tc->sizes[class];
	}
	return 0;
}

/* Whether a block is free as far as lists tell. */
static bool is_listed(const struct tc_malloc *tc, const struct tc_span *span, uint64_t block)
{
	size_t next = heap_addresses_from(&tc->kept, block);
	uint64_t at = span->free_list, left = span->size / span->block_bytes;
	if (heap_addresses_next(&tc->kept, &next, block))
		return true;
	while (at && at != block && left-- && tc_block_span(tc, at) == span) {
		if (!address_space_word(tc->space, at, &at))
			return false;
	}
	return at == block;
}

/* Adds the batch that begins with a block, if it ends as such do. False: no memory. */
static bool take_batch(
	struct tc_malloc *tc, uint64_t at, uint32_t block_bytes, struct heap_addresses *ret)
{
	size_t before = ret->len, most = BATCH_BYTES / block_bytes;
	const struct tc_span *span = NULL;
	most = most > 2 ? most : 2;
	while (at && ret->len - before < most && (span = tc_block_span(tc, at)) &&
		span->block_bytes == block_bytes && !is_listed(tc, span, at)) {
		if (!heap_addresses_push(ret, at))
			return false;
		if (!address_space_word(tc->space, at, &at)) {
			span = NULL;
			break;
		}
	}
	/* It ends, or goes on with the list that it is just taken from. */
	bool ends = !at || (span && span->block_bytes == block_bytes && is_listed(tc, span, at));
	/* One block alone is not told from one that is given out. */
	if (!ends || ret->len - before < 2)
		ret->len = before;
	return true;
}

static bool take_of_thread(
	struct tc_malloc *tc, const struct at_hand *at_hand, struct heap_addresses *ret)
{
	bool ok = true;
	for (size_t i = 0; ok && i < at_hand->count; i++) {
		uint32_t bytes = size_of_list(tc, at_hand->words[i]);
		for (size_t k = 0; ok && bytes && k < at_hand->count; k++)
			ok = take_batch(tc, at_hand->words[k], bytes, ret);
	}
	return ok;
}

struct error *tc_moving_find(struct tc_malloc *tc)
{
	struct heap_addresses moving = {.data = NULL};
	bool ok = true;
	for (size_t i = 0; ok && i < tc->space->threads.len; i++) {
		const struct address_thread *thread = &tc->space->threads.data[i];
		struct at_hand at_hand;
		if (!thread->stopped)
			continue;
		at_hand_read(tc->space, thread, STACK_WORDS, &at_hand);
		if (is_inside(tc, thread, &at_hand))
			ok = take_of_thread(tc, &at_hand, &moving);
		heap_addresses_sort(&moving);
	}
	struct heap_damage damage = {.blocks = moving.len,
		.what = "a thread was just moving free blocks from one of tcmalloc's lists to "
			"another"};
	if (ok && moving.len) {
		damage.address = moving.data[0];
		ok = heap_damage_vec_push(tc->damage, damage);
	}
	heap_addresses_deinit(&moving);
	return ok ? NULL : error_no_memory();
}
