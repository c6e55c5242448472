/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/page_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096ull
#define PORTION_BYTES (64u << 10)
#define PORTION_WORDS (PORTION_BYTES / 8)
#define DATA_BYTES_MAX (1ull << 30)
#define TRIES_MAX (1u << 16)
/* So many words of a leaf are looked at to know that it is one. */
#define PROOF 16u

/* The number of the leaf at an address. False: no leaf is there. */
static bool prove(const struct page_tree *tree, uint64_t leaf, uint64_t *ret)
{
	uint64_t words[PAGE_BYTES / 8], page;
	unsigned right = 0, seen = 0;
	for (uint64_t at = 0; at < page_tree_leaf_bytes(tree) && seen < PROOF;
		at += sizeof(words)) {
		if (address_space_untouched(tree->space, leaf + at, sizeof(words)) >= sizeof(words))
			continue;
		if (address_space_read(tree->space, leaf + at, words, sizeof(words)) !=
			sizeof(words))
			return false;
		for (size_t i = 0; i < PAGE_BYTES / 8 && seen < PROOF; i++) {
			if (!words[i])
				continue;
			if (!tree->decode(tree->context, words[i], &page))
				return false;
			seen++;
			if (page % (1ull << tree->leaf_bits) != at / 8 + i)
				continue;
			right++;
			*ret = page >> tree->leaf_bits;
		}
	}
	return right;
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
static void find_in_map(
	struct page_tree *tree, const struct process_map *map, uint64_t *words, unsigned *tries)
{
	for (uint64_t at = map->start; at < map->end; at += PORTION_BYTES) {
		size_t bytes = map->end - at < PORTION_BYTES ? map->end - at : PORTION_BYTES;
		if (address_space_untouched(tree->space, at, bytes) >= bytes)
			continue;
		size_t count = address_space_read(tree->space, at, words, bytes) / 8;
		for (size_t i = 0; i < count && *tries < TRIES_MAX; i++) {
			uint64_t number, slot = at + 8 * i;
			if (!may_be_leaf(tree, words[i]))
				continue;
			++*tries;
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
	unsigned tries = 0;
	if (!words)
		return error_no_memory();
	for (size_t i = 0; i < tree->space->maps.maps.len && !tree->root; i++) {
		const struct process_map *map = &tree->space->maps.maps.data[i];
		uint64_t bytes = map->end - map->start;
		if (map->writable && bytes >= 8ull * tree->root_words && bytes <= DATA_BYTES_MAX &&
			address_space_module(tree->space, map->start))
			find_in_map(tree, map, words, &tries);
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
