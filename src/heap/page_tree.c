/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/page_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096ull
#define PORTION_BYTES (64u << 10)
#define PORTION_WORDS (PORTION_BYTES / 8)
/* So many words of a leaf are looked at to know that it is one. */
#define PROOF 16u
/* So much is read in what turns out to be no leaf. Of a real table it is a page or two for each
 * word that may lead to one; in a damaged core each word may lead into all of the rest. */
#define READ_BYTES_MAX (16ull << 30)

/* What goes through a leaf. */
struct proving {
	struct page_tree *tree;
	uint64_t leaf, at; /* so far into it all is 0, or was seen */
	unsigned right, seen;
	uint64_t number;
};

/* Looks at what can be read from `at` on. False: that is no leaf's. */
static bool prove_words(struct proving *p, const uint64_t *words, size_t count)
{
	const struct page_tree *tree = p->tree;
	uint64_t page;
	for (size_t i = 0; i < count && p->seen < PROOF; i++, p->at += 8) {
		if (!words[i])
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

/* The number of the leaf at an address. False: no leaf is there. Many words may lead into the same
 * zeros: these are gone through once. */
static bool prove(struct page_tree *tree, uint64_t leaf, uint64_t *ret)
{
	uint64_t words[PAGE_BYTES / 8], end = page_tree_leaf_bytes(tree);
	struct proving p = {.tree = tree, .leaf = leaf};
	bool is_known = leaf >= tree->zeros && leaf < tree->zeros_end, may_be = true;
	if (is_known)
		p.at = tree->zeros_end - leaf;
	while (may_be && p.at < end && p.seen < PROOF) {
		size_t bytes = end - p.at < sizeof(words) ? (size_t)(end - p.at) : sizeof(words);
		uint64_t untouched = address_space_untouched(tree->space, leaf + p.at, end - p.at);
		if (untouched >= bytes)
			p.at += untouched & ~7ull;
		else {
			may_be = address_space_read(tree->space, leaf + p.at, words, bytes) ==
					 bytes &&
				 prove_words(&p, words, bytes / 8);
			tree->read_bytes += bytes;
		}
		if (!p.seen) {
			tree->zeros = is_known ? tree->zeros : leaf;
			tree->zeros_end = leaf + p.at;
			is_known = true;
		}
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
static void find_in_map(struct page_tree *tree, const struct process_map *map, uint64_t *words)
{
	for (uint64_t at = map->start; at < map->end; at += PORTION_BYTES) {
		at = address_space_next(tree->space, at, map->end) & ~7ull;
		size_t bytes = map->end - at < PORTION_BYTES ? map->end - at : PORTION_BYTES;
		if (address_space_untouched(tree->space, at, bytes) >= bytes)
			continue;
		size_t count = address_space_read(tree->space, at, words, bytes) / 8;
		for (size_t i = 0; i < count; i++) {
			uint64_t number, slot = at + 8 * i;
			if (!may_be_leaf(tree, words[i]) || tree->read_bytes > READ_BYTES_MAX)
				continue;
			if (prove(tree, words[i], &number) && number < tree->root_words &&
				slot - map->start >= 8 * number &&
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
	for (size_t i = 0; i < tree->space->maps.maps.len && !tree->root; i++) {
		const struct process_map *map = &tree->space->maps.maps.data[i];
		uint64_t bytes = map->end - map->start;
		if (map->writable && bytes >= 8ull * tree->root_words &&
			address_space_module(tree->space, map->start))
			find_in_map(tree, map, words);
	}
	return NULL;
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
