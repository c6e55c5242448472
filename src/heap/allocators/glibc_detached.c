/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fast bins' lists while malloc_consolidate() merges their chunks (malloc/malloc.c): it empties a
 * bin, keeps the address of the bin and of the list's next chunk in registers or on its stack, and
 * puts one chunk after the other into the unsorted bin. A core from that time has the rest in
 * no list, and in use as far as chunks tell.
 */
#include <stdlib.h>

#include "heap/allocators/glibc_caches.h"
#include "heap/blocks/thread_words.h"

/* malloc_consolidate() and unlink_chunk(), that it calls, have small frames. */
#define STACK_WORDS 32u
static int glibc_detached_by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static bool glibc_detached_is_known(const struct glibc *glibc, size_t known, uint64_t address)
{
	return known && bsearch(&address, glibc->cached.data, known, sizeof(address),
				glibc_detached_by_address);
}

/*
 * Takes the list that begins with a chunk if it can be one of that bin's, and nothing else is known
 * to lead to it: that of a block which malloc() has just taken leads to the rest in the bin. One
 * block alone can't be distinguished from one that malloc() is giving out.
 */
static bool glibc_detached_take_list(struct glibc *glibc, const struct heap_area_vec *runs,
	uint64_t chunk, size_t bin, size_t known)
{
	uint64_t head;
	size_t before = glibc->cached.len;
	bool ends;
	if (chunk % CHUNK_ALIGN || !glibc_block_is(glibc, runs, chunk + CHUNK_HEADER) ||
		!glibc_word(glibc, chunk + 8, &head) ||
		chunk_size(head) != CHUNK_MIN + bin * CHUNK_ALIGN)
		return true;
	if (glibc_list_follow(glibc, runs, chunk + CHUNK_HEADER, CHUNK_HEADER, glibc->links, 2,
		    NULL, &ends) < 2)
		return true;
	if (!glibc_list_follow(glibc, runs, chunk + CHUNK_HEADER, CHUNK_HEADER, glibc->links,
		    GLIBC_LIST_MAX, &glibc->cached, &ends))
		return false;
	bool is_apart = ends;
	for (size_t i = before; is_apart && i < glibc->cached.len; i++)
		is_apart = !glibc_detached_is_known(glibc, known, glibc->cached.data[i]);
	if (!is_apart)
		glibc->cached.len = before;
	return true;
}

static bool take_of_bin(struct glibc *glibc, const struct heap_area_vec *runs,
	const struct thread_words *at_hand, size_t bin, size_t known)
{
	bool ok = true;
	for (size_t i = 0; ok && i < at_hand->count; i++)
		ok = glibc_detached_take_list(glibc, runs, at_hand->words[i], bin, known);
	return ok;
}

static bool take_of_thread(struct glibc *glibc, const struct heap_area_vec *runs,
	const struct thread_words *at_hand, size_t known)
{
	bool ok = true;
	for (size_t k = 0; ok && k < glibc->arenas.len; k++) {
		const struct glibc_arena *arena = &glibc->arenas.data[k];
		uint64_t first = arena->bins - GLIBC_FASTBINS_BEFORE;
		for (size_t i = 0; ok && arena->has_fastbins && i < at_hand->count; i++) {
			uint64_t bin = (at_hand->words[i] - first) / 8;
			if (at_hand->words[i] % 8 == 0 && bin < GLIBC_FASTBINS)
				ok = take_of_bin(glibc, runs, at_hand, bin, known);
		}
	}
	return ok;
}

bool glibc_detached_take(struct glibc *glibc, const struct heap_area_vec *runs)
{
	if (!glibc->arenas.len)
		return true;
	const struct address_space *space = glibc->space;
	size_t known = glibc->cached.len;
	bool ok = true;
	for (size_t i = 0; ok && i < space->threads.len; i++) {
		const struct address_thread *thread = &space->threads.data[i];
		struct thread_words at_hand;
		if (!thread->stopped || !glibc_has_code(glibc, thread->pc))
			continue;
		thread_words_read(space, thread, STACK_WORDS, &at_hand);
		ok = take_of_thread(glibc, runs, &at_hand, known);
	}
	return ok;
}
