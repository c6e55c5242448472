/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/blocks/page_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"

#define PAGE_BYTES 4096ull
#define PORTION_BYTES (64u << 10)
#define PORTION_WORDS (PORTION_BYTES / 8)
/* This many words of a leaf are looked at to know that it is one. */
#define PROOF 16u
/* So much is read in what turns out to be no leaf. Of a real table it is a page or two for each
 * word that may lead to one; in a damaged core each word may lead into all of the rest. */
#define READ_BYTES_MAX (16ull << 30)
/* This many pages without anything are kept in mind; others are asked for again. */
#define ZEROS_KEPT (1u << 22)

static inline bool page_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(zero_pages, uint64_t, bool, hash_u64, page_equal)

struct seeking {
	struct page_tree *tree;
	struct zero_pages
		zeros; /* that were read, and had nothing: many words lead into the same */
	bool failed;   /* no memory */
};

/* What goes through a leaf. */
struct proving {
	struct seeking *seeking;
	uint64_t leaf, at; /* so far into it all is 0, or was seen */
	unsigned right, seen;
	uint64_t number;
};

/* Looks at what can be read from `at` on. False: that is no leaf's. */
static bool prove_words(struct proving *p, const uint64_t *words, size_t count)
{
	const struct page_tree *tree = p->seeking->tree;
	uint64_t page;
	for (size_t i = 0; i < count && p->seen < PROOF; i++, p->at += 8) {
		if (!(words[i] & tree->leading_bits))
			continue;
		if (!tree->decode(tree->context, words[i], &page))
			return false;
		p->seen++;
		if (page % (1ull << tree->leaf_bits) != p->at / 8)
			continue;
		p->right++;
		p->number = page >> tree->leaf_bits;
	}
	return true;
}

static bool is_zero(const uint64_t *words, size_t bytes)
{
	return !words[0] && !memcmp(words, (const uint8_t *)words + 8, bytes - 8);
}

/* This many bytes have nothing. */
static void pass_over(struct proving *p, uint64_t bytes)
{
	struct seeking *s = p->seeking;
	uint64_t address = p->leaf + p->at, end = (address + bytes) / PAGE_BYTES;
	for (uint64_t page = (address + PAGE_BYTES - 1) / PAGE_BYTES;
		page < end && s->zeros.len < ZEROS_KEPT; page++)
		s->failed |= !zero_pages_insert(&s->zeros, page, NULL);
	p->at += bytes;
}

/* Goes through words of one page. False: they are no leaf's. */
static bool prove_piece(struct proving *p, size_t bytes)
{
	struct seeking *s = p->seeking;
	uint64_t words[PAGE_BYTES / 8], address = p->leaf + p->at;
	s->tree->read_bytes += bytes;
	if (address_space_read(s->tree->space, address, words, bytes) != bytes)
		return false;
	if (bytes == PAGE_BYTES && is_zero(words, bytes)) {
		pass_over(p, bytes);
		return true;
	}
	return prove_words(p, words, bytes / 8);
}

/* The number of the leaf at an address. False: no leaf is there. */
static bool page_tree_prove(struct seeking *seeking, uint64_t leaf, uint64_t *ret)
{
	const struct page_tree *tree = seeking->tree;
	uint64_t end = page_tree_leaf_bytes(tree);
	struct proving p = {.seeking = seeking, .leaf = leaf};
	bool may_be = true;
	while (may_be && p.at < end && p.seen < PROOF) {
		uint64_t left = PAGE_BYTES - (leaf + p.at) % PAGE_BYTES;
		size_t bytes = (size_t)(end - p.at < left ? end - p.at : left);
		if (zero_pages_find(&seeking->zeros, (leaf + p.at) / PAGE_BYTES)) {
			p.at += bytes;
			continue;
		}
		uint64_t untouched = address_space_untouched(tree->space, leaf + p.at, end - p.at);
		if (untouched >= bytes)
			pass_over(&p, untouched & ~7ull);
		else
			may_be = prove_piece(&p, bytes);
	}
	*ret = p.number;
	return may_be && p.right;
}

static bool may_be_leaf(const struct page_tree *tree, uint64_t address)
{
	if (address % 8 || address < PAGE_BYTES)
		return false;
	const struct process_map *map = address_space_map(tree->space, address);
	return map && address_map_is_anonymous(map) &&
	       map->end - address >= page_tree_leaf_bytes(tree);
}

/* The root, if the map has it. */
static void page_tree_find_in_map(
	struct seeking *seeking, const struct process_map *map, uint64_t *words)
{
	struct page_tree *tree = seeking->tree;
	for (uint64_t at = map->start; at < map->end; at += PORTION_BYTES) {
		at = address_space_next(tree->space, at, map->end) & ~7ull;
		size_t bytes = map->end - at < PORTION_BYTES ? map->end - at : PORTION_BYTES;
		if (address_space_untouched(tree->space, at, bytes) >= bytes)
			continue;
		size_t count = address_space_read(tree->space, at, words, bytes) / 8;
		for (size_t i = 0; i < count && !seeking->failed; i++) {
			uint64_t number, slot = at + 8 * i;
			if (!may_be_leaf(tree, words[i]) || tree->read_bytes > READ_BYTES_MAX)
				continue;
			if (page_tree_prove(seeking, words[i], &number) &&
				number < tree->root_words && slot - map->start >= 8 * number &&
				map->end - (slot - 8 * number) >= 8ull * tree->root_words) {
				tree->root = slot - 8 * number;
				return;
			}
		}
	}
}

struct error *page_tree_find(struct page_tree *tree)
{
	_cleanup_free_ uint64_t *words = malloc(PORTION_BYTES);
	if (!words)
		return error_no_memory();
	struct seeking seeking = {.tree = tree};
	zero_pages_init(&seeking.zeros);
	for (size_t i = 0; i < tree->space->maps.maps.len && !tree->root; i++) {
		const struct process_map *map = &tree->space->maps.maps.data[i];
		uint64_t bytes = map->end - map->start;
		if (map->writable && bytes >= 8ull * tree->root_words &&
			address_space_module(tree->space, map->start))
			page_tree_find_in_map(&seeking, map, words);
	}
	zero_pages_deinit(&seeking.zeros);
	return seeking.failed ? error_no_memory() : NULL;
}

/* What goes through the tree: no more words than there are pages, whatever a core says. */
struct reading {
	const struct page_tree *tree;
	uint64_t *words;
	uint64_t left; /* a word costs one, a portion of a leaf PORTION_COST */
	void *context;
	struct error *(*take)(void *context, uint64_t word, uint64_t leaf);
};
#define PORTION_COST 64u
#define LEFT_LEAST (1u << 20)

static uint64_t count_pages(const struct address_space *space)
{
	uint64_t pages = 0;
	for (size_t i = 0; i < space->maps.maps.len; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		pages += (map->end - map->start) / PAGE_BYTES;
	}
	return pages;
}

static struct error *read_leaf(struct reading *r, uint64_t number, uint64_t leaf)
{
	const struct page_tree *tree = r->tree;
	for (uint64_t at = 0; at < 1ull << tree->leaf_bits; at += PORTION_WORDS) {
		uint64_t from = leaf + 8 * at, page, last = 0;
		if (r->left < PORTION_COST)
			return NULL;
		r->left -= PORTION_COST;
		if (address_space_untouched(tree->space, from, PORTION_BYTES) >= PORTION_BYTES)
			continue;
		const uint64_t *words = r->words;
		size_t count = address_space_read(tree->space, from, r->words, PORTION_BYTES) / 8;
		for (size_t i = 0; i < count && r->left; i++) {
			/* All pages of a slab have the same word. */
			if (!words[i] || words[i] == last)
				continue;
			last = words[i];
			r->left--;
			if (!tree->decode(tree->context, words[i], &page) ||
				page != (number << tree->leaf_bits) + at + i)
				continue;
			struct error *error = r->take(r->context, words[i], leaf);
			if (error)
				return error;
		}
	}
	return NULL;
}

struct error *page_tree_read(const struct page_tree *tree, void *context,
	struct error *(*take)(void *context, uint64_t word, uint64_t leaf))
{
	const size_t bytes = 8ul * tree->root_words;
	_cleanup_free_ uint64_t *leaves = malloc(bytes), *words = malloc(PORTION_BYTES);
	if (!leaves || !words)
		return error_no_memory();
	size_t count = address_space_read(tree->space, tree->root, leaves, bytes) / 8;
	struct reading r = {tree, words, count_pages(tree->space) + LEFT_LEAST, context, take};
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		if (leaves[i])
			error = read_leaf(&r, i, leaves[i]);
	}
	return error;
}
