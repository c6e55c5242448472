/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jemalloc's tree. Where its root is, tells any word of a module's data that points to a leaf: what
 * a leaf has for a page leads to a description that has this page's address, by which the leaf's
 * place in the root is known, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/je_malloc.h"

#define PAGE_BYTES 4096ull
#define PAGE_BITS 12u
#define LEAF_BITS 18u
#define LEAF_WORDS (1u << LEAF_BITS)
#define LEAF_BYTES (8ull * LEAF_WORDS)
#define ROOT_BYTES LEAF_BYTES
#define PORTION_BYTES (64u << 10)
#define PORTION_WORDS (PORTION_BYTES / 8)
#define DATA_BYTES_MAX (1ull << 30)
#define TRIES_MAX (1u << 16)
/* So many words of a leaf are looked at to know that it is one. */
#define PROOF 16u

/* A leaf's word. */
#define WORD_SLAB 1ull
#define WORD_STATE(word) ((word) >> 2 & 7)
#define WORD_UNUSED 0x60ull
#define WORD_CLASS(word) ((word) >> 48)
#define WORD_ABOUT(word) ((uint64_t)((int64_t)((word) << 16) >> 16) & ~127ull)
#define STATE_ACTIVE 0u
#define STATE_MAX 5u
#define CLASSES_MAX 232u
#define LARGE_SIZE_MAX (1ull << 46)

/* edata_t: bits, address, bytes. */
#define ABOUT_WORDS 3u

/* Descriptions are in memory by pieces of 2 MiB. */
#define BASE_BYTES (2ull << 20)

struct entry {
	struct je_extent extent;
	bool is_active;
};

/* What the word for a page says. False: no leaf has such a word. *ret_first: it is for the extent's
 * first page. */
static bool decode(const struct je_malloc *je, uint64_t word, uint64_t page, struct entry *ret,
	bool *ret_first)
{
	uint64_t about[ABOUT_WORDS], at = WORD_ABOUT(word), index = WORD_CLASS(word);
	if (word & WORD_UNUSED || WORD_STATE(word) > STATE_MAX || index > CLASSES_MAX || !at ||
		address_space_read(je->space, at, about, sizeof(about)) != sizeof(about))
		return false;
	uint64_t start = about[1] & ~(PAGE_BYTES - 1), bytes = about[2] & ~(PAGE_BYTES - 1);
	*ret_first = (start / PAGE_BYTES) % LEAF_WORDS == page;
	if (!about[1] || !bytes || bytes > LARGE_SIZE_MAX)
		return false;
	ret->extent = (struct je_extent){.address = about[1],
		.size = bytes - (about[1] - start),
		.about = at,
		.block_bytes = je_class_bytes((unsigned)index),
		.is_slab = word & WORD_SLAB};
	ret->is_active = WORD_STATE(word) == STATE_ACTIVE;
	return true;
}

/* The GiB that the leaf at an address is for. False: no leaf is there. */
static bool prove(const struct je_malloc *je, uint64_t leaf, uint64_t *ret)
{
	uint64_t words[PAGE_BYTES / 8];
	unsigned right = 0, seen = 0;
	for (uint64_t at = 0; at < LEAF_BYTES && seen < PROOF; at += sizeof(words)) {
		if (address_space_untouched(je->space, leaf + at, sizeof(words)) >= sizeof(words))
			continue;
		if (address_space_read(je->space, leaf + at, words, sizeof(words)) != sizeof(words))
			return false;
		for (size_t i = 0; i < PAGE_BYTES / 8 && seen < PROOF; i++) {
			struct entry entry;
			bool is_first;
			if (!words[i])
				continue;
			if (!decode(je, words[i], at / 8 + i, &entry, &is_first))
				return false;
			seen++;
			right += is_first;
			if (is_first)
				*ret = entry.extent.address >> (LEAF_BITS + PAGE_BITS);
		}
	}
	return right;
}

/* The root, if the map has it. */
static void find_root(
	struct je_malloc *je, const struct process_map *map, uint64_t *words, unsigned *tries)
{
	for (uint64_t at = map->start; at < map->end; at += PORTION_BYTES) {
		size_t bytes = map->end - at < PORTION_BYTES ? map->end - at : PORTION_BYTES;
		if (address_space_untouched(je->space, at, bytes) >= bytes)
			continue;
		size_t count = address_space_read(je->space, at, words, bytes) / 8;
		for (size_t i = 0; i < count; i++) {
			uint64_t gib, slot = at + 8 * i;
			const struct process_map *to =
				words[i] % 64 || words[i] < PAGE_BYTES
					? NULL
					: address_space_map(je->space, words[i]);
			if (!to || !address_map_is_anonymous(to) || to->end - words[i] < LEAF_BYTES)
				continue;
			if (++*tries > TRIES_MAX)
				return;
			if (prove(je, words[i], &gib) && slot >= map->start + 8 * gib &&
				map->end - (slot - 8 * gib) >= ROOT_BYTES) {
				je->root = slot - 8 * gib;
				return;
			}
		}
	}
}

static bool add_book(struct je_malloc *je, uint64_t start, uint64_t end)
{
	struct heap_range *last = je->books.len ? &je->books.data[je->books.len - 1] : NULL;
	if (last && start >= last->start && end <= last->end)
		return true;
	if (last && start == last->end) {
		last->end = end;
		return true;
	}
	return heap_ranges_push(&je->books, (struct heap_range){start, end});
}

/* What describes extents stands apart, and is full of their addresses. */
static bool add_base(struct je_malloc *je, uint64_t start, uint64_t end, uint64_t *known)
{
	start &= ~(BASE_BYTES - 1);
	end = (end + BASE_BYTES - 1) & ~(BASE_BYTES - 1);
	if (start == *known && end == start + BASE_BYTES)
		return true;
	for (size_t i = 0; i < je->books.len; i++) {
		if (start >= je->books.data[i].start && end <= je->books.data[i].end)
			return true;
	}
	*known = start;
	return heap_ranges_push(&je->books, (struct heap_range){start, end});
}

static bool is_sound(const struct je_malloc *je, const struct je_extent *one)
{
	const struct je_extent *last =
		je->extents.len ? &je->extents.data[je->extents.len - 1] : NULL;
	return one->block_bytes && one->block_bytes <= one->size &&
	       (!one->is_slab || one->size / one->block_bytes <= 512) &&
	       (!last || one->address >= last->address + last->size);
}

/* Takes the extents that begin in a leaf's range. */
static bool read_leaf(
	struct je_malloc *je, uint64_t leaf, uint64_t *words, struct heap_ranges *idle)
{
	uint64_t next = 0, known = 0;
	if (!add_base(je, leaf, leaf + LEAF_BYTES, &known))
		return false;
	for (uint64_t at = 0; at < LEAF_WORDS; at += PORTION_WORDS) {
		if (address_space_untouched(je->space, leaf + 8 * at, PORTION_BYTES) >=
			PORTION_BYTES)
			continue;
		size_t count =
			address_space_read(je->space, leaf + 8 * at, words, PORTION_BYTES) / 8;
		for (size_t i = 0; i < count; i++) {
			struct entry entry;
			bool is_first;
			if (!words[i] || at + i < next ||
				!decode(je, words[i], at + i, &entry, &is_first) || !is_first)
				continue;
			const struct je_extent *one = &entry.extent;
			if (!add_base(je, one->about, one->about + 128, &known))
				return false;
			struct heap_range range = {
				one->address & ~(PAGE_BYTES - 1), one->address + one->size};
			next = at + i + (range.end - range.start) / PAGE_BYTES;
			if (!entry.is_active
					? !heap_ranges_push(idle, range)
					: is_sound(je, one) && !je_extents_push(&je->extents, *one))
				return false;
		}
	}
	return true;
}

static struct error *read_tree(struct je_malloc *je, uint64_t *words)
{
	_cleanup_free_ uint64_t *leaves = malloc(ROOT_BYTES);
	struct heap_ranges idle;
	heap_ranges_init(&idle);
	if (!leaves)
		return error_no_memory();
	size_t count = address_space_read(je->space, je->root, leaves, ROOT_BYTES) / 8;
	bool ok = true;
	for (size_t i = 0; i < count && ok; i++) {
		if (leaves[i])
			ok = read_leaf(je, leaves[i], words, &idle);
	}
	for (size_t i = 0; i < idle.len && ok; i++)
		ok = add_book(je, idle.data[i].start, idle.data[i].end);
	heap_ranges_deinit(&idle);
	return ok ? NULL : error_no_memory();
}

/* A module's data of its size at least. */
static bool may_have_root(const struct address_space *space, const struct process_map *map)
{
	uint64_t bytes = map->end - map->start;
	return map->writable && bytes >= ROOT_BYTES && bytes <= DATA_BYTES_MAX &&
	       address_space_module(space, map->start);
}

struct error *je_tree_find(struct je_malloc *je)
{
	_cleanup_free_ uint64_t *words = malloc(PORTION_BYTES);
	unsigned tries = 0;
	if (!words)
		return error_no_memory();
	for (size_t i = 0; i < je->space->maps.maps.len && !je->root; i++) {
		if (may_have_root(je->space, &je->space->maps.maps.data[i]))
			find_root(je, &je->space->maps.maps.data[i], words, &tries);
	}
	return je->root ? read_tree(je, words) : NULL;
}
