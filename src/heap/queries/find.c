/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/find.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

#define PIECE_BYTES (1u << 20)
#define PAGE_BYTES 4096u

struct finding {
	struct heap_find *find;
	const struct address_space *space;
	uint8_t *piece;
	uint64_t start, end; /* what is in it */
	size_t map;          /* the next that may have something */
	uint64_t at;         /* all before was searched */
};

/* The offset of the next place in `bytes`, which begin at an address; `len`: there is none. */
static size_t next_place(const struct heap_find *find, uint64_t address, const uint8_t *bytes,
	size_t from, size_t len)
{
	if (find->step == 1) {
		const uint8_t *place = memmem(bytes + from, len - from, find->bytes, find->len);
		return place ? (size_t)(place - bytes) : len;
	}
	uint64_t wanted = 0, word = 0;
	memcpy(&wanted, find->bytes, find->len);
	size_t at = from + (size_t)(-(address + from) & (find->step - 1));
	if (find->len == sizeof(word)) {
		for (; at + sizeof(word) <= len; at += sizeof(word)) {
			memcpy(&word, bytes + at, sizeof(word));
			if (word == wanted)
				return at;
		}
		return len;
	}
	for (; at + find->len <= len; at += find->step) {
		if (!memcmp(bytes + at, find->bytes, find->len))
			return at;
	}
	return len;
}

/* What can be had from `at` on, at most up to `to`, where a mapping ends or before. */
static size_t find_have(struct finding *f, uint64_t at, uint64_t to, const uint8_t **ret)
{
	bool is_there =
		at >= f->start && at < f->end && (f->end - at >= f->find->len || to <= f->end);
	if (!is_there) {
		const struct process_map *map = address_space_map(f->space, at);
		uint64_t end = map ? map->end : to;
		f->start = f->end = at;
		if (address_space_empty(f->space, at, end - at) >= PAGE_BYTES)
			return 0;
		f->end += address_space_read(
			f->space, at, f->piece, (size_t)min(end - at, (uint64_t)PIECE_BYTES));
	}
	*ret = f->piece + (at - f->start);
	return (size_t)(min(f->end, to) - at);
}

/* How far there is nothing to be had from `at` on. */
static uint64_t find_lacking(struct finding *f, uint64_t at, uint64_t to)
{
	uint64_t empty = address_space_empty(f->space, at, to - at);
	if (empty) {
		f->find->unread_bytes += empty - address_space_untouched(f->space, at, empty);
		return empty;
	}
	uint64_t page = min(PAGE_BYTES - at % PAGE_BYTES, to - at);
	f->find->unread_bytes += page;
	return page;
}

static struct error *search_range(
	struct finding *f, uint64_t from, uint64_t to, const struct heap_block *block)
{
	size_t len = f->find->len;
	struct error *error = NULL;
	for (uint64_t at = from; at < to && to - at >= len && !error;) {
		const uint8_t *bytes = NULL;
		size_t got = find_have(f, at, to, &bytes);
		if (got < len) {
			at += got;
			at += find_lacking(f, at, to);
			continue;
		}
		for (size_t i = next_place(f->find, at, bytes, 0, got); i < got && !error;
			i = next_place(f->find, at, bytes, i + 1, got)) {
			struct heap_found found = {.address = at + i, .is_in_block = block != NULL};
			if (block)
				found.block = *block;
			error = f->find->take(f->find->context, &found);
		}
		at += got - (len - 1);
	}
	return error;
}

/* Whether the program may have written there, now or before. */
static bool is_searched(const struct process_map *map)
{
	return map->readable && (map->writable || address_map_is_own(map));
}

/* What lies in no block. */
static struct error *search_rest(struct finding *f, uint64_t from, uint64_t to)
{
	const struct process_maps *maps = &f->space->maps;
	struct error *error = NULL;
	if (!f->find->in_rest)
		return NULL;
	while (f->map < maps->maps.len && maps->maps.data[f->map].end <= from)
		f->map++;
	for (size_t i = f->map; i < maps->maps.len && maps->maps.data[i].start < to && !error;
		i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (is_searched(map))
			error = search_range(f, max(map->start, from), min(map->end, to), NULL);
	}
	return error;
}

static struct error *find_take_block(
	void *context, const struct heap_block *block, const uint8_t *bytes, size_t len)
{
	struct finding *f = context;
	(void)bytes, (void)len;
	bool is_free = block->state == BLOCK_FREE || block->state == BLOCK_CACHED;
	/* An allocator's own memory is in no block. */
	if (block->state == BLOCK_OWN || block->address < f->at)
		return NULL;
	struct error *error = search_rest(f, f->at, block->address);
	f->at = block->address + block->size;
	if (!error && (is_free ? f->find->in_free : f->find->in_used))
		error = search_range(f, block->address, f->at, block);
	return error;
}

struct error *heap_find(struct heap *heap, struct heap_find *find)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	struct finding f = {.find = find, .space = heap->space, .piece = piece};
	const struct heap_sink sink = {&f, find_take_block};
	struct error *error = piece ? heap_walk(heap, &sink) : error_no_memory();
	return error ? error : search_rest(&f, f.at, UINT64_MAX);
}
