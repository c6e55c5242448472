/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jemalloc's tree says of extents (include/jemalloc/internal/rtree.h, edata.h). */
#include <elf.h>

#include "heap/allocators/je_malloc.h"
#include "heap/blocks/page_tree.h"

/* Of addresses of 48 bits the root and its leaves know those above the page, half of them each
 * (rtree.h: rtree_levels). */
#define ADDRESS_BITS 48u
/* Of aarch64 all may be: its kernels have pages of 4, 16 or 64 KiB. */
static const uint8_t page_sizes[] = {12, JE_PAGE_BITS_MAX, 14};

/* A leaf's word: whether it is a slab, the class, and with 5.3 the state. */
#define WORD_SLAB 1ull
#define WORD_STATE(word) ((word) >> 2 & 7)
#define WORD_CLASS(word) ((word) >> 48)
#define WORD_POINTER(word) ((uint64_t)((int64_t)((word) << 16) >> 16) & ~63ull)
/* Of an extent that was joined or given back, words with a class and no pointer are left past its
 * last page (emap.c: emap_merge_commit). */
#define WORD_POINTER_BITS 0xffffffffffc0ull
#define STATE_ACTIVE 0u
#define STATE_MAX 5u
/* A description's first word. */
#define BITS_ARENA(bits) ((bits)&0xfff)
#define BITS_SLAB(bits) ((bits) >> 12 & 1)
#define BITS_CLASS(bits, shape) ((bits) >> (shape)->classes & 255)

/* Versions are recognised by votes: in a description of a used extent is again what the word says.
 */
static const struct je_shape shapes[] = {
	{0, 20, 28, false}, /* 5.3 */
	{16, 18, 26, true}, /* 5.1, 5.2 */
	{15, 17, 25, true}, /* 5.0 */
};
#define SHAPES 3u
/* 5.3 has the state between the last bit and the pointer, others nothing. */
#define WORD_UNUSED(shape) ((shape)->state ? 0x3eull : 0x60ull)
#define WORD_NEVER_USED 0x20ull
#define CLASSES_MAX 235u
#define EXTENT_BYTES_MAX (1ull << 46)

/* edata_t begins with bits, address, bytes. */
#define ABOUT_WORDS 3u
#define ABOUT_BYTES 128u
/* Descriptions are in memory by pieces of 2 MiB. */
#define BASE_BYTES (2ull << 20)

static uint64_t page_bytes(const struct je_malloc *je)
{
	return 1ull << je->page_bits;
}

struct reading {
	struct je_malloc *je;
	uint64_t leaf_bytes;
	struct heap_ranges idle; /* extents that are not in use */
	uint64_t base, leaf;     /* that were added last */
};

/* What a word leads to, whose pages begin at *ret_start. False: no leaf has such a word. */
static bool read_about(
	const struct je_malloc *je, uint64_t word, uint64_t *ret_about, uint64_t *ret_start)
{
	uint64_t at = WORD_POINTER(word);
	if (word & WORD_NEVER_USED || WORD_CLASS(word) > CLASSES_MAX || !at ||
		address_space_read(je->space, at, ret_about, 8ul * ABOUT_WORDS) !=
			8ul * ABOUT_WORDS)
		return false;
	uint64_t bytes = ret_about[2] & ~(page_bytes(je) - 1);
	*ret_start = ret_about[1] & ~(page_bytes(je) - 1);
	return *ret_start && bytes && bytes <= EXTENT_BYTES_MAX;
}

static bool je_tree_decode(void *context, uint64_t word, uint64_t *ret)
{
	const struct je_malloc *je = context;
	uint64_t about[ABOUT_WORDS];
	if (!read_about(je, word, about, ret))
		return false;
	*ret /= page_bytes(je);
	return true;
}

static unsigned state_of(const struct je_shape *shape, uint64_t word, uint64_t bits)
{
	return (unsigned)(shape->state ? bits >> shape->state & 3 : WORD_STATE(word));
}

static bool je_tree_agrees(const struct je_shape *shape, uint64_t word, uint64_t bits)
{
	return !(word & WORD_UNUSED(shape)) && BITS_SLAB(bits) == (word & WORD_SLAB) &&
	       BITS_CLASS(bits, shape) == WORD_CLASS(word);
}

struct votes {
	const struct je_malloc *je;
	uint64_t of[SHAPES];
};

static struct error *je_tree_vote(void *context, uint64_t word, uint64_t leaf)
{
	struct votes *votes = context;
	uint64_t about[ABOUT_WORDS], start;
	(void)leaf;
	if (!read_about(votes->je, word, about, &start))
		return NULL;
	for (unsigned i = 0; i < SHAPES; i++)
		votes->of[i] += state_of(&shapes[i], word, about[0]) == STATE_ACTIVE &&
				je_tree_agrees(&shapes[i], word, about[0]);
	return NULL;
}

static struct error *find_shape(struct je_malloc *je, const struct page_tree *tree)
{
	struct votes votes = {.je = je};
	struct error *error = page_tree_read(tree, &votes, je_tree_vote);
	je->shape = &shapes[0];
	for (unsigned i = 1; i < SHAPES; i++) {
		if (votes.of[i] > votes.of[je->shape - shapes])
			je->shape = &shapes[i];
	}
	return error;
}

/* The extent that a word leads to, and where its first page is. False: to none. */
static bool je_tree_read_word(const struct je_malloc *je, uint64_t word, struct je_extent *ret,
	uint64_t *ret_start, unsigned *ret_state)
{
	uint64_t about[ABOUT_WORDS];
	if (!read_about(je, word, about, ret_start))
		return false;
	*ret_state = state_of(je->shape, word, about[0]);
	if (*ret_state > STATE_MAX ||
		(*ret_state == STATE_ACTIVE && !je_tree_agrees(je->shape, word, about[0])))
		return false;
	/* Large blocks may begin after their first page's beginning. */
	*ret = (struct je_extent){.address = about[1],
		.size = (about[2] & ~(page_bytes(je) - 1)) - (about[1] - *ret_start),
		.about = WORD_POINTER(word),
		.arena = BITS_ARENA(about[0]),
		.block_bytes = je_class_bytes((unsigned)WORD_CLASS(word)),
		.is_slab = word & WORD_SLAB};
	/* From 5.3.1 on large blocks need not fill their class; a page is left for where they
	 * begin. */
	if (!ret->is_slab && ret->block_bytes > ret->size)
		ret->block_bytes = (about[2] & ~(page_bytes(je) - 1)) - page_bytes(je);
	return true;
}

/* What describes extents is apart, and is full of their addresses. */
static bool add_base(struct je_malloc *je, uint64_t start, uint64_t end, uint64_t *last)
{
	start &= ~(BASE_BYTES - 1);
	end = (end + BASE_BYTES - 1) & ~(BASE_BYTES - 1);
	if (start == *last)
		return true;
	*last = start;
	for (size_t i = 0; i < je->metadata.len; i++) {
		if (start >= je->metadata.data[i].start && end <= je->metadata.data[i].end)
			return true;
	}
	return heap_ranges_push(&je->metadata, (struct heap_range){start, end});
}

static bool is_sound(const struct je_malloc *je, const struct je_extent *one)
{
	const struct je_extent *last =
		je->extents.len ? &je->extents.data[je->extents.len - 1] : NULL;
	return one->block_bytes && one->block_bytes <= one->size &&
	       (!one->is_slab || one->size / one->block_bytes <= je_slab_blocks_max(je)) &&
	       (!last || one->address >= last->address + last->size);
}

static struct error *je_tree_take(void *context, uint64_t word, uint64_t leaf)
{
	struct reading *r = context;
	struct je_extent one;
	uint64_t start;
	unsigned state;
	bool ok = add_base(r->je, leaf, leaf + r->leaf_bytes, &r->leaf);
	if (!je_tree_read_word(r->je, word, &one, &start, &state))
		return NULL;
	ok = ok && add_base(r->je, one.about, one.about + ABOUT_BYTES, &r->base);
	if (state != STATE_ACTIVE)
		ok = ok &&
		     heap_ranges_push(&r->idle, (struct heap_range){start, one.address + one.size});
	else if (is_sound(r->je, &one))
		ok = ok && je_extents_push(&r->je->extents, one);
	return ok ? NULL : error_no_memory();
}

static struct error *find_root(struct je_malloc *je, struct page_tree *ret)
{
	struct error *error = NULL;
	size_t sizes = je->space->machine == EM_AARCH64 ? sizeof(page_sizes) : 1;
	for (size_t i = 0; i < sizes && !je->root && !error; i++) {
		je->page_bits = page_sizes[i];
		unsigned bits = ADDRESS_BITS - je->page_bits;
		*ret = (struct page_tree){.space = je->space,
			.root_words = 1u << bits / 2,
			.leaf_bits = (uint8_t)(bits - bits / 2),
			.context = je,
			.decode = je_tree_decode,
			.leading_bits = WORD_POINTER_BITS};
		error = page_tree_find(ret);
		je->root = ret->root;
	}
	return error;
}

struct error *je_tree_find(struct je_malloc *je)
{
	struct page_tree tree;
	struct error *error = find_root(je, &tree);
	if (error || !je->root)
		return error;
	struct reading reading = {.je = je, .leaf_bytes = page_tree_leaf_bytes(&tree)};
	error = find_shape(je, &tree);
	if (!error)
		error = page_tree_read(&tree, &reading, je_tree_take);
	for (size_t i = 0; i < reading.idle.len && !error; i++) {
		if (!heap_ranges_push(&je->metadata, reading.idle.data[i]))
			error = error_no_memory();
	}
	heap_ranges_deinit(&reading.idle);
	return error;
}
