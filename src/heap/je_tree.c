/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jemalloc's tree says of extents (include/jemalloc/internal/rtree.h, edata.h). */
#include "heap/je_malloc.h"
#include "heap/page_tree.h"

#define PAGE_BYTES 4096ull
#define ROOT_WORDS (1u << 18)

/* A leaf's word. */
#define WORD_SLAB 1ull
#define WORD_STATE(word) ((word) >> 2 & 7)
#define WORD_UNUSED 0x60ull
#define WORD_CLASS(word) ((word) >> 48)
#define WORD_ABOUT(word) ((uint64_t)((int64_t)((word) << 16) >> 16) & ~127ull)
#define STATE_ACTIVE 0u
#define STATE_MAX 5u
#define CLASSES_MAX 235u
#define EXTENT_BYTES_MAX (1ull << 46)
#define SLAB_BLOCKS_MAX 512u

/* edata_t begins with bits, address, bytes. */
#define ABOUT_WORDS 3u
#define ABOUT_BYTES 128u
/* Descriptions are in memory by pieces of 2 MiB. */
#define BASE_BYTES (2ull << 20)

struct reading {
	struct je_malloc *je;
	struct heap_ranges idle; /* extents that are not in use */
	uint64_t base, leaf;     /* that were added last */
};

/* What a word says, and where the extent's first page is. False: no leaf has such a word. */
static bool read_word(
	const struct je_malloc *je, uint64_t word, struct je_extent *ret, uint64_t *ret_start)
{
	uint64_t about[ABOUT_WORDS], at = WORD_ABOUT(word), index = WORD_CLASS(word);
	if (word & WORD_UNUSED || WORD_STATE(word) > STATE_MAX || index > CLASSES_MAX || !at ||
		address_space_read(je->space, at, about, sizeof(about)) != sizeof(about))
		return false;
	uint64_t start = about[1] & ~(PAGE_BYTES - 1), bytes = about[2] & ~(PAGE_BYTES - 1);
	if (!start || !bytes || bytes > EXTENT_BYTES_MAX)
		return false;
	/* Large blocks may begin behind their first page's beginning. */
	*ret = (struct je_extent){.address = about[1],
		.size = bytes - (about[1] - start),
		.about = at,
		.block_bytes = je_class_bytes((unsigned)index),
		.is_slab = word & WORD_SLAB};
	*ret_start = start;
	return true;
}

static bool decode(void *context, uint64_t word, uint64_t *ret)
{
	struct je_extent extent;
	if (!read_word(context, word, &extent, ret))
		return false;
	*ret /= PAGE_BYTES;
	return true;
}

/* What describes extents stands apart, and is full of their addresses. */
static bool add_base(struct je_malloc *je, uint64_t start, uint64_t end, uint64_t *last)
{
	start &= ~(BASE_BYTES - 1);
	end = (end + BASE_BYTES - 1) & ~(BASE_BYTES - 1);
	if (start == *last)
		return true;
	*last = start;
	for (size_t i = 0; i < je->books.len; i++) {
		if (start >= je->books.data[i].start && end <= je->books.data[i].end)
			return true;
	}
	return heap_ranges_push(&je->books, (struct heap_range){start, end});
}

static bool is_sound(const struct je_malloc *je, const struct je_extent *one)
{
	const struct je_extent *last =
		je->extents.len ? &je->extents.data[je->extents.len - 1] : NULL;
	return one->block_bytes && one->block_bytes <= one->size &&
	       (!one->is_slab || one->size / one->block_bytes <= SLAB_BLOCKS_MAX) &&
	       (!last || one->address >= last->address + last->size);
}

static struct error *take(void *context, uint64_t word, uint64_t leaf)
{
	struct reading *r = context;
	struct je_extent one;
	uint64_t start;
	bool ok = add_base(r->je, leaf, leaf + PAGE_TREE_LEAF_BYTES, &r->leaf);
	if (!read_word(r->je, word, &one, &start))
		return NULL;
	ok = ok && add_base(r->je, one.about, one.about + ABOUT_BYTES, &r->base);
	if (WORD_STATE(word) != STATE_ACTIVE)
		ok = ok &&
		     heap_ranges_push(&r->idle, (struct heap_range){start, one.address + one.size});
	else if (is_sound(r->je, &one))
		ok = ok && je_extents_push(&r->je->extents, one);
	return ok ? NULL : error_no_memory();
}

struct error *je_tree_find(struct je_malloc *je)
{
	struct page_tree tree = {
		.space = je->space, .root_words = ROOT_WORDS, .context = je, .decode = decode};
	struct error *error = page_tree_find(&tree);
	je->root = tree.root;
	if (error || !tree.root)
		return error;
	struct reading reading = {.je = je};
	error = page_tree_read(&tree, &reading, take);
	for (size_t i = 0; i < reading.idle.len && !error; i++) {
		if (!heap_ranges_push(&je->books, reading.idle.data[i]))
			error = error_no_memory();
	}
	heap_ranges_deinit(&reading.idle);
	return error;
}
