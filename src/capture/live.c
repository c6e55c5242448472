/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linear probing with backward-shift removal: no tombstones, so a table that churns for hours stays
 * as fast as a new one. (Chains would cost a pointer a block; a cuckoo table two cache misses a
 * lookup.)
 */
#include "capture/live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CAPACITY_FIRST 64

void live_init(struct live *live)
{
	memset(live, 0, sizeof(*live));
}

/*
 * A large part lies in huge pages: each look-up goes to another place, and with small pages would
 * wait for the page tables more than for the block.
 */
#define HUGE_PAGE ((size_t)2 << 20)

static size_t part_bytes(uint32_t capacity)
{
	return (size_t)capacity * sizeof(struct live_block);
}

static bool part_is_huge(uint32_t capacity)
{
	return part_bytes(capacity) >= HUGE_PAGE / 2;
}

/* All zero; NULL: no memory. */
static struct live_block *places_create(uint32_t capacity)
{
	if (!part_is_huge(capacity))
		return calloc(capacity, sizeof(struct live_block));
	size_t bytes = (part_bytes(capacity) + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	char *at = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)at & (HUGE_PAGE - 1);
	if (before)
		munmap(at, before);
	munmap(at + before + bytes, HUGE_PAGE - before);
	madvise(at + before, bytes, MADV_HUGEPAGE);
	return (struct live_block *)(at + before);
}

static void places_destroy(struct live_block *places, uint32_t capacity)
{
	if (part_is_huge(capacity))
		munmap(places, (part_bytes(capacity) + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	else
		free(places);
}

void live_deinit(struct live *live)
{
	for (int i = 0; i < LIVE_PARTS; i++)
		places_destroy(live->parts[i].places, live->parts[i].capacity);
	live_big_deinit(&live->big);
	live_init(live);
}

static void place(struct live_part *part, const struct live_block *block)
{
	uint32_t i = live_place_of(part, live_hash(block->address));
	while (part->places[i].address)
		i = live_next(part, i);
	part->places[i] = *block;
}

static bool part_grow(struct live_part *part)
{
	uint32_t capacity = part->capacity < 65536 ? part->capacity * 2 : part->capacity / 4 * 5;
	if (!capacity)
		capacity = CAPACITY_FIRST;
	struct live_part bigger = {places_create(capacity), capacity, part->used, capacity / 4 * 3};
	if (!bigger.places)
		return false;
	for (uint32_t i = 0; i < part->capacity; i++) {
		if (part->places[i].address)
			place(&bigger, &part->places[i]);
	}
	places_destroy(part->places, part->capacity);
	*part = bigger;
	return true;
}

static bool big_add(struct live *live, uint64_t address, uint64_t size)
{
	uint64_t *known = live_big_insert(&live->big, address, NULL);
	if (known)
		*known = size;
	return known;
}

bool live_add(struct live *live, const struct live_block *block, uint64_t size,
	struct live_block **ret_old)
{
	uint64_t h = live_hash(block->address);
	struct live_part *part = live_part_of(live, h);
	if (part->used >= part->limit && !part_grow(part))
		return false;
	struct live_block *at = &part->places[live_place_of(part, h)],
			  *end = part->places + part->capacity;
	for (; at->address; at = at + 1 == end ? part->places : at + 1) {
		if (at->address == block->address) {
			*ret_old = at;
			return true;
		}
	}
	*ret_old = NULL;
	if (__builtin_expect(size >= LIVE_SIZE_BIG, 0) && !big_add(live, block->address, size))
		return false;
	*at = *block;
	at->size = size < LIVE_SIZE_BIG ? (uint32_t)size : LIVE_SIZE_BIG;
	part->used++;
	live->blocks++;
	return true;
}

struct live_block *live_find(struct live *live, uint64_t address)
{
	uint64_t h = live_hash(address);
	struct live_part *part = live_part_of(live, h);
	if (!part->capacity)
		return NULL;
	struct live_block *at = &part->places[live_place_of(part, h)],
			  *end = part->places + part->capacity;
	for (; at->address; at = at + 1 == end ? part->places : at + 1) {
		if (at->address == address)
			return at;
	}
	return NULL;
}

void live_prefetch(const struct live *live, uint64_t address)
{
	uint64_t h = live_hash(address);
	const struct live_part *part = live_part_of(live, h);
	__builtin_prefetch(part->places + live_place_of(part, h), 1);
}

void live_remove(struct live *live, struct live_block *block)
{
	struct live_part *part = live_part_of(live, live_hash(block->address));
	if (block->size == LIVE_SIZE_BIG)
		live_big_remove(&live->big, block->address);
	live_close(live, part, block);
}

uint64_t live_size(const struct live *live, const struct live_block *block)
{
	if (block->size != LIVE_SIZE_BIG)
		return block->size;
	const uint64_t *size = live_big_find(&live->big, block->address);
	return size ? *size : block->size;
}

static inline unsigned digit(const struct live_block *block, unsigned shift)
{
	return block->address >> shift & 0xff;
}

static void insertion_sort(struct live_block *blocks, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct live_block moved = blocks[i];
		size_t at = i;
		for (; at && blocks[at - 1].address > moved.address; at--)
			blocks[at] = blocks[at - 1];
		blocks[at] = moved;
	}
}

/*
 * Radix sort in place, from the highest digit down (McIlroy, Bostic, McIlroy, "Engineering Radix
 * Sort", 1993: the American flag): qsort would need as much memory again.
 */
static void sort(struct live_block *blocks, size_t count, unsigned shift)
{
	if (count < 32) {
		insertion_sort(blocks, count);
		return;
	}
	size_t start[257] = {0}, next[256];
	for (size_t i = 0; i < count; i++)
		start[digit(&blocks[i], shift) + 1]++;
	for (unsigned d = 0; d < 256; d++) {
		start[d + 1] += start[d];
		next[d] = start[d];
	}
	for (unsigned d = 0; d < 256; d++) {
		while (next[d] < start[d + 1]) {
			struct live_block *here = &blocks[next[d]];
			unsigned belongs = digit(here, shift);
			struct live_block *there = &blocks[next[belongs]++];
			if (here != there) {
				struct live_block swap = *here;
				*here = *there;
				*there = swap;
			}
		}
	}
	for (unsigned d = 0; shift && d < 256; d++)
		sort(blocks + start[d], start[d + 1] - start[d], shift - 8);
}

struct live_block *live_drain_sorted(struct live *live, size_t *ret_count)
{
	*ret_count = 0;
	struct live_block *all = live->blocks ? malloc(live->blocks * sizeof(*all)) : NULL;
	if (!all)
		return NULL;
	size_t n = 0;
	for (int p = 0; p < LIVE_PARTS; p++) {
		struct live_part *part = &live->parts[p];
		for (uint32_t i = 0; i < part->capacity; i++) {
			if (part->places[i].address)
				all[n++] = part->places[i];
		}
		places_destroy(part->places, part->capacity);
		*part = (struct live_part){NULL, 0, 0, 0};
	}
	live->blocks = 0;
	sort(all, n, 48); /* a record holds 56 bits of an address */
	*ret_count = n;
	return all;
}
