/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds main_arena by its unique shape: 127 pairs of pointers in a row, each the head of a ring of
 * free chunks. The head of an empty ring points at itself, 16 bytes before the pair
 * (malloc/malloc.c: bin_at); of another one, its first chunk points back at it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/glibc.h"

#define BINS ((size_t)GLIBC_BINS)
/* This many must be right: nothing else has rings whose ends lead back to places 16 bytes apart,
 * one after another. How many of them are empty says nothing: that of a heap in pieces may be
 * subset, or none. One whose heap is damaged has some wrong. */
#define BINS_RIGHT GLIBC_BINS_RIGHT
/* This many empty ones are no accident, whatever became of the chunks that others lead to. */
#define BINS_EMPTY_SURE 96u
/* So much of a mapping is in memory at once, and as much of what follows as takes to see all bins
 * of a ring that is the last one in it, with the places that are too early. */
#define PORTION_BYTES (1u << 20)
#define MORE_BYTES (16ul * (3 * BINS))
#define FD 16u
#define BK 24u

/* Whether the ring's first and last chunk point back. */
static bool is_linked(const struct address_space *space, uint64_t head, uint64_t fd, uint64_t bk)
{
	uint64_t back, next;
	return fd % CHUNK_ALIGN == 0 && bk % CHUNK_ALIGN == 0 && fd != head &&
	       address_space_word(space, fd + BK, &back) && back == head &&
	       address_space_word(space, bk + FD, &next) && next == head;
}

/* Whether a chunk can be there, whose own words may have been written over. */
static bool may_be_chunk(const struct address_space *space, uint64_t address)
{
	const struct process_map *map =
		address % CHUNK_ALIGN ? NULL : address_space_map(space, address);
	uint64_t word;
	return map && map->writable && address_space_word(space, address, &word);
}

static bool is_empty(const uint64_t *pair, uint64_t address)
{
	return pair[0] == address - FD && pair[1] == address - FD;
}

/* If the bins begin with words[0], at `address`: how many of them are right; else 0. */
static unsigned count_right(
	const struct address_space *space, const uint64_t *words, uint64_t address)
{
	unsigned empty = 0, right = 0, broken = 0;
	for (size_t i = 0; i < BINS; i++)
		empty += is_empty(words + 2 * i, address + 16 * i);
	/* What is not so is mostly seen at once. */
	size_t wrong = empty >= BINS_EMPTY_SURE ? BINS : BINS - BINS_RIGHT;
	for (size_t i = 0; i < BINS && i - right <= wrong; i++) {
		const uint64_t *pair = words + 2 * i;
		bool is_right = is_empty(pair, address + 16 * i) ||
				is_linked(space, address + 16 * i - FD, pair[0], pair[1]);
		right += is_right;
		broken += !is_right && may_be_chunk(space, pair[0]) && may_be_chunk(space, pair[1]);
	}
	if (right >= BINS_RIGHT)
		return right;
	return empty >= BINS_EMPTY_SURE && right + broken == BINS ? right : 0;
}

/* A few pairs too early most of them are right, too: the best place of those that follow. */
static uint64_t best_from(const struct address_space *space, const uint64_t *words, size_t count,
	uint64_t address, size_t first)
{
	unsigned most = 0;
	size_t best = first;
	for (size_t i = 0; i <= BINS - BINS_RIGHT && first + 2 * BINS <= count; i++, first += 2) {
		unsigned right = count_right(space, words + first, address + 8 * first);
		best = right > most ? first : best;
		most = right > most ? right : most;
	}
	return address + 8 * best;
}

/*
 * Looks for an empty ring, or, where there is none, for one with chunks, and takes the place that
 * makes most bins around it right: it may be any of the 127.
 */
static uint64_t find_in(const struct address_space *space, const uint64_t *words, size_t count,
	uint64_t start, bool has_empty)
{
	size_t untried[2] = {0, 1}; /* of even and odd places */
	for (size_t i = 0; i + 1 < count; i++) {
		uint64_t at = start + 8 * i;
		if (has_empty ? !is_empty(words + i, at)
			      : !is_linked(space, at - FD, words[i], words[i + 1]))
			continue;
		size_t *first = &untried[i % 2];
		if (i > 2 * (BINS - 1) && *first < i - 2 * (BINS - 1))
			*first = i - 2 * (BINS - 1);
		for (; *first <= i && *first + 2 * BINS <= count; *first += 2) {
			if (count_right(space, words + *first, start + 8 * *first))
				return best_from(space, words, count, start, *first);
		}
	}
	return 0;
}

/* What begins too near to a portion's end is left to the next one, which has it whole. */
static uint64_t find_in_portions(const struct address_space *space, const struct process_map *map,
	uint64_t *words, bool has_empty)
{
	for (uint64_t at = map->start; at < map->end; at += PORTION_BYTES) {
		at = address_space_next(space, at, map->end) & ~7ull;
		uint64_t left = map->end - at;
		bool is_last = left <= PORTION_BYTES + MORE_BYTES;
		size_t bytes = is_last ? (size_t)left : PORTION_BYTES + MORE_BYTES;
		if (address_space_untouched(space, at, bytes) >= bytes)
			continue;
		size_t got = address_space_read(space, at, words, bytes);
		uint64_t found = find_in(space, words, got / 8, at, has_empty);
		if (found && (is_last || found < at + PORTION_BYTES))
			return found;
		if (is_last)
			break;
	}
	return 0;
}

static struct error *glibc_bins_find_in_map(const struct address_space *space,
	const struct process_map *map, bool is_libcs, uint64_t *ret)
{
	_cleanup_free_ uint64_t *words = malloc(PORTION_BYTES + MORE_BYTES);
	if (!words)
		return error_no_memory();
	*ret = find_in_portions(space, map, words, true);
	if (!*ret && is_libcs)
		*ret = find_in_portions(space, map, words, false);
	return NULL;
}

static bool is_libc(const char *path)
{
	const char *base = strrchr(path, '/');
	return base && (!strncmp(base, "/libc.so", 8) || !strncmp(base, "/libc-", 6));
}

/* Where a mapping is looked for, in this order; the data of others may be large. */
enum place {
	PLACE_LIBC,
	PLACE_MODULE,
	/* Some cores don't say where a module's first mapping is (gcore of gdb 7.10 to 8.2), and so
	 * that it is one. */
	PLACE_FILE,
	PLACES,
	PLACE_NONE,
};

static enum place glibc_bins_place_of(
	const struct address_space *space, const struct process_map *map)
{
	if (!map->writable)
		return PLACE_NONE;
	const struct address_module *module = address_space_module(space, map->start);
	if (module)
		return is_libc(module->path) ? PLACE_LIBC : PLACE_MODULE;
	return *map->path == '/' && !map->shared ? PLACE_FILE : PLACE_NONE;
}

struct error *glibc_bins_find(const struct address_space *space, uint64_t *ret)
{
	struct error *error = NULL;
	*ret = 0;
	for (enum place place = 0; place < PLACES; place++) {
		for (size_t i = 0; i < space->maps.maps.len && !error && !*ret; i++) {
			const struct process_map *map = &space->maps.maps.data[i];
			bool is_libcs =
				place == PLACE_LIBC || (place == PLACE_FILE && is_libc(map->path));
			if (glibc_bins_place_of(space, map) == place)
				error = glibc_bins_find_in_map(space, map, is_libcs, ret);
		}
	}
	return error;
}

struct error *glibc_bins_find_others(
	const struct address_space *space, uint64_t known, struct glibc_addresses *ret)
{
	const struct address_module *first = address_space_module(space, known), *last = NULL;
	struct error *error = NULL;
	for (size_t i = 0; i < space->maps.maps.len && !error; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		const struct address_module *module = address_space_module(space, map->start);
		uint64_t bins = 0;
		if (glibc_bins_place_of(space, map) != PLACE_LIBC || module == first ||
			module == last)
			continue;
		error = glibc_bins_find_in_map(space, map, true, &bins);
		if (!error && bins && !glibc_addresses_push(ret, bins))
			error = error_no_memory();
		last = bins ? module : last;
	}
	return error;
}

/* How many rings that begin with words[0] close. */
static unsigned count_closing(
	const struct address_space *space, const uint64_t *words, size_t count, uint64_t address)
{
	unsigned right = 0;
	for (size_t i = 0; i < BINS && 2 * i + 1 < count; i++) {
		const uint64_t *pair = words + 2 * i;
		right += is_empty(pair, address + 16 * i) ||
			 is_linked(space, address + 16 * i - FD, pair[0], pair[1]);
	}
	return right;
}

static void see_map(const struct address_space *space, const struct process_map *map,
	uint64_t *words, unsigned *ret_right, uint64_t *ret)
{
	for (uint64_t at = map->start; at < map->end; at += PORTION_BYTES) {
		at = address_space_next(space, at, map->end) & ~7ull;
		uint64_t left = map->end - at, most = PORTION_BYTES + MORE_BYTES;
		size_t count = address_space_read(space, at, words, left < most ? left : most) / 8;
		for (size_t i = 0; i + 1 < count && 8 * i < PORTION_BYTES; i++) {
			if (!is_empty(words + i, at + 8 * i))
				continue;
			unsigned right = count_closing(space, words + i, count - i, at + 8 * i);
			if (right > 1 && right > *ret_right) {
				*ret_right = right;
				*ret = at + 8 * i;
			}
			i += right > 1 ? 2 * BINS : 0;
		}
	}
}

struct error *glibc_bins_seen(const struct address_space *space, unsigned *ret_right, uint64_t *ret)
{
	_cleanup_free_ uint64_t *words = malloc(PORTION_BYTES + MORE_BYTES);
	*ret_right = 0;
	*ret = 0;
	for (size_t i = 0; words && i < space->maps.maps.len; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		if (glibc_bins_place_of(space, map) != PLACE_NONE)
			see_map(space, map, words, ret_right, ret);
	}
	return words ? NULL : error_no_memory();
}
