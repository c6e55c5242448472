/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that threads are just moving between their caches, the central cache and spans
 * (thread_cache.cc, central_freelist.cc): a batch is taken out of one list before it is put into
 * the other, and in between nothing leads to it but that thread's registers and stack.
 *
 * A thread inside it has the list of the blocks' size in registers, too. But a program that keeps
 * such blocks in a list of its own may have that in registers just as well: callers' registers are
 * saved in between. So these blocks count as used, and a note says how many may be free.
 */
#include "base/map.h"
#include "heap/allocators/tc_malloc.h"
#include "heap/blocks/thread_words.h"

/* Functions of tcmalloc have small frames; those that wait for a lock are below them. */
#define STACK_WORDS 96u
/* A batch has no more bytes, but two blocks at least (SizeMap::NumMoveSize). */
#define BATCH_BYTES (64u << 10)

static inline uint64_t block_hash(uint64_t block)
{
	return hash_u64(block);
}
static inline bool block_equal(uint64_t a, uint64_t b)
{
	return a == b;
}
enum batch {
	BATCH_NONE,   /* not of one */
	BATCH_SINGLE, /* it ends as batches do, but is one block: which can't be distinguished from
		       * a used one
		       */
	BATCH_MOVING
};
/* Blocks that were looked at: none is followed twice. */
DEFINE_MAP(moving_blocks, uint64_t, enum batch, block_hash, block_equal)

struct moving {
	struct tc_malloc *tc;
	struct moving_blocks known;
	struct heap_addresses batch; /* that is just followed */
	uint64_t count, first;       /* of those that may be moving; the lowest */
};

/* Whether a thread is in tcmalloc, or in what that has called. */
static bool is_inside(const struct tc_malloc *tc, const struct address_thread *thread,
	const struct thread_words *at_hand)
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

static bool conclude_batch(struct moving *moving, enum batch what)
{
	for (size_t i = 0; i < moving->batch.len; i++) {
		uint64_t block = moving->batch.data[i];
		enum batch *known = moving_blocks_insert(&moving->known, block, NULL);
		if (!known)
			return false;
		*known = what;
		moving->count += what == BATCH_MOVING;
		if (what == BATCH_MOVING && (!moving->first || block < moving->first))
			moving->first = block;
	}
	return true;
}

/* Notes the batch that begins with a block, if it ends as such do. False: no memory. */
static bool take_batch(struct moving *moving, uint64_t at, uint32_t block_bytes)
{
	const struct tc_malloc *tc = moving->tc;
	size_t most = BATCH_BYTES / block_bytes;
	bool ends = false, joins = false;
	heap_addresses_clear(&moving->batch);
	most = most > 2 ? most : 2;
	for (;;) {
		const enum batch *known = moving_blocks_find(&moving->known, at);
		const struct tc_span *span = at && !known ? tc_block_span(tc, at) : NULL;
		bool fits = span && span->block_bytes == block_bytes;
		joins = known && *known == BATCH_MOVING;
		/* Or it goes on with the list that it is just taken from. */
		ends = !at || joins || (fits && is_listed(tc, span, at)) ||
		       (known && *known == BATCH_SINGLE && moving->batch.len);
		if (ends || !fits || moving->batch.len == most)
			break;
		if (!heap_addresses_push(&moving->batch, at))
			return false;
		if (!address_space_word(tc->space, at, &at))
			break;
	}
	if (ends && at && !joins && moving->batch.len && moving_blocks_find(&moving->known, at) &&
		!heap_addresses_push(&moving->batch, at))
		return false;
	return conclude_batch(moving, !ends                             ? BATCH_NONE
				      : joins || moving->batch.len >= 2 ? BATCH_MOVING
									: BATCH_SINGLE);
}

/* Whether one of the first words is equal to that at `i`. */
static bool came_before(const struct thread_words *at_hand, size_t i)
{
	size_t first = 0;
	while (at_hand->words[first] != at_hand->words[i])
		first++;
	return first < i;
}

static bool take_of_thread(struct moving *moving, const struct thread_words *at_hand)
{
	uint32_t seen = 0; /* a size often comes several times in a row */
	bool ok = true;
	for (size_t i = 0; ok && i < at_hand->count; i++) {
		uint32_t bytes = size_of_list(moving->tc, at_hand->words[i]);
		if (bytes == seen)
			continue;
		seen = bytes;
		for (size_t k = 0; ok && bytes && k < at_hand->count; k++)
			ok = came_before(at_hand, k) ||
			     take_batch(moving, at_hand->words[k], bytes);
	}
	return ok;
}

struct error *tc_moving_find(struct tc_malloc *tc)
{
	struct moving moving = {.tc = tc};
	bool ok = true;
	for (size_t i = 0; ok && i < tc->space->threads.len; i++) {
		const struct address_thread *thread = &tc->space->threads.data[i];
		struct thread_words at_hand;
		if (!thread->stopped)
			continue;
		thread_words_read(tc->space, thread, STACK_WORDS, &at_hand);
		if (is_inside(tc, thread, &at_hand))
			ok = take_of_thread(&moving, &at_hand);
	}
	struct heap_damage damage = {.address = moving.first,
		.blocks = moving.count,
		.what = "a thread was just moving free blocks from one of tcmalloc's lists to "
			"another"};
	if (ok && moving.count)
		ok = heap_damage_vec_push(tc->damage, damage);
	moving_blocks_deinit(&moving.known);
	heap_addresses_deinit(&moving.batch);
	return ok ? NULL : error_no_memory();
}
