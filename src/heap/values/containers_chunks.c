/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that libstdc++'s resources of std::pmr give out piece by piece, by their own lists (GCC
 * 9 to 14). Whatever lies in it, texts or numbers alone:
 *
 *	monotonic_buffer_resource: table of functions, current, available, next size, upstream,
 *		original buffer, its size, newest chunk
 *	its chunk: …, [size | log2(alignment), next chunk], which ends the memory
 *
 *	chunk of a pool: bitmap, number of blocks (and more), bytes, memory; the bitmap ends the
 *		memory, before it are the blocks
 *
 * They are noted as blocks that hold such memory: what lies in them may tell more of them.
 */
#include "heap/values/containers_find.h"

#define FOOTER_BYTES 16u
#define CHUNK_STEP 64u
/* Of a monotonic_buffer_resource: from `current` to the newest chunk. */
#define RESOURCE_WORDS 6u
/* Of a pool's bitmap: its size in bits is in this many of a number's. */
#define BITMAP_SIZE_BITS 19u

static void containers_chunks_note(
	struct container_search *f, uint32_t block, enum held_chunk_kind kind)
{
	if (find_is_free(f, block) &&
		!held_chunks_push(&f->types->held.chunks, (struct held_chunk){block, kind}))
		f->error = error_no_memory();
}

/* The block that such a chunk is, whose last words are at an address; SPACE_NONE: it is none. */
static uint32_t chunk_at(const struct container_search *f, uint64_t footer, uint64_t *ret_next)
{
	uint64_t words[2];
	if (footer % 8 ||
		address_space_read(f->heap->space, footer, words, sizeof(words)) != sizeof(words))
		return SPACE_NONE;
	uint64_t size = words[0] & ~(uint64_t)(CHUNK_STEP - 1);
	if (size < CHUNK_STEP || size > COUNT_MOST || size > footer)
		return SPACE_NONE;
	uint32_t block = block_of(f, footer + FOOTER_BYTES - size);
	*ret_next = words[1];
	return block != SPACE_NONE && find_fits(f, size, block) ? block : SPACE_NONE;
}

/* The place leads to the newest chunk's last words; what is left of that chunk ends there. */
static bool find_buffers(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (place->before < RESOURCE_WORDS || w[-5] > COUNT_MOST || w[-6] + w[-5] != w[0])
		return false;
	uint64_t next = w[0];
	bool any = false;
	/* Links that come back take no longer than the steps that are left. */
	while (next && f->steps && !f->error) {
		uint32_t block = chunk_at(f, next, &next);
		if (block == SPACE_NONE)
			break;
		f->steps--;
		containers_chunks_note(f, block, HELD_BUFFER);
		any = true;
	}
	return any;
}

/* The place leads to the memory; two words before it is the end of its blocks. */
static bool find_pool_chunk(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (place->before < 2 || w[-2] <= w[0])
		return false;
	uint64_t bytes = w[-1] >> 32, blocks = w[-1] & ((1u << BITMAP_SIZE_BITS) - 1);
	uint64_t used = w[-2] - w[0], bitmap = (blocks + 63) / 64 * 8;
	if (!blocks || used + bitmap != bytes || used % blocks || used / blocks % 8)
		return false;
	uint32_t block = block_of(f, w[0]);
	if (block == SPACE_NONE || !find_fits(f, bytes, block))
		return false;
	containers_chunks_note(f, block, HELD_POOL);
	return true;
}

bool find_chunks(struct container_search *f, const struct container_place *place)
{
	return find_buffers(f, place) || find_pool_chunk(f, place);
}
