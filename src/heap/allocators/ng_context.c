/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds mallocng's descriptions of groups: a list of areas that begin with a secret, which libc's
 * data (struct malloc_context) begins with, too. Where that data is missing all pages are looked
 * at: whether there are 101 descriptions, and whether groups lead back to them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/ng_malloc.h"
#include "heap/blocks/unclaimed.h"

/* struct malloc_context, by words; where the size of pages differs by machine it is before
 * CONTEXT_BEGUN, and all else a word later. */
enum { CONTEXT_SECRET, CONTEXT_BEGUN, CONTEXT_HEAD = 7, CONTEXT_WORDS = 10 };
#define CONTEXT_PAGE 1u
#define PORTION_BYTES (256u << 10)

/* Whether an area of descriptions is there, by its first words. */
static bool is_area(const uint64_t *words, uint64_t address)
{
	return address && !(address % NG_AREA_BYTES) && words[NG_COUNT] == NG_AREA_SLOTS &&
	       !(words[NG_AREA_NEXT] % NG_AREA_BYTES);
}

/* The areas of a list, which ends at 0. False: no memory. */
static bool ng_context_take_list(struct ng_malloc *ng, uint64_t secret, uint64_t at)
{
	uint64_t words[NG_AREA_HEAD];
	size_t most = 1;
	for (size_t i = 0; i < ng->space->maps.maps.len; i++) {
		const struct process_map *map = &ng->space->maps.maps.data[i];
		most += (size_t)((map->end - map->start) / NG_AREA_BYTES);
	}
	/* A list that comes back to itself has no more areas than there are pages. */
	while (at && ng->areas.len < most &&
		address_space_read(ng->space, at, words, sizeof(words)) == sizeof(words) &&
		is_area(words, at) && words[NG_CHECK] == secret) {
		if (!heap_addresses_push(&ng->areas, at))
			return false;
		at = words[NG_AREA_NEXT];
	}
	struct heap_damage broken = {
		.address = at, .what = "mallocng's list of group descriptions is broken"};
	return !at || heap_damage_vec_push(ng->damage, broken);
}

/* The first area that a context leads to; 0: there is no context. */
static uint64_t head_of(const struct address_space *space, const uint64_t *context)
{
	unsigned later = (uint32_t)context[CONTEXT_BEGUN] == 1 ? 0 : 1;
	uint64_t page = context[CONTEXT_PAGE], head, words[NG_AREA_HEAD];
	bool is_page =
		page >= NG_AREA_BYTES && page <= 16ull * NG_AREA_BYTES && !(page & (page - 1));
	if ((uint32_t)context[CONTEXT_BEGUN + later] != 1 || (later && !is_page))
		return 0;
	head = context[CONTEXT_HEAD + later];
	if (!head || head % NG_AREA_BYTES || head >> 47 ||
		address_space_read(space, head, words, sizeof(words)) != sizeof(words))
		return 0;
	return is_area(words, head) && words[NG_CHECK] == context[CONTEXT_SECRET] ? head : 0;
}

static bool ng_context_find_in_map(
	struct ng_malloc *ng, const struct process_map *map, uint64_t *words)
{
	uint64_t at = map->start;
	while (at < map->end && !ng->areas.len) {
		at = address_space_next(ng->space, at, map->end) & ~7ull;
		size_t bytes =
			map->end - at < PORTION_BYTES ? (size_t)(map->end - at) : PORTION_BYTES;
		size_t count = address_space_read(ng->space, at, words, bytes) / 8;
		for (size_t i = 0; i + CONTEXT_WORDS <= count; i++) {
			uint64_t head = head_of(ng->space, words + i);
			if (!head)
				continue;
			if (!ng_context_take_list(ng, words[i], head))
				return false;
		}
		/* The next portion begins where a context may not have been whole. */
		at = bytes < PORTION_BYTES ? map->end : at + bytes - 8ul * (CONTEXT_WORDS - 1);
	}
	return true;
}

/* Whether a page has descriptions of groups, and none that is wrong. */
static bool ng_context_proves(const struct address_space *space, uint64_t at, const uint64_t *words)
{
	unsigned right = 0;
	struct ng_group group;
	for (unsigned i = 0; i < NG_AREA_SLOTS; i++) {
		const uint64_t *one = words + NG_AREA_HEAD + (size_t)i * NG_WORDS;
		uint64_t about = at + 8 * (uint64_t)(one - words);
		if (!one[NG_GROUP])
			continue;
		if (!ng_group_read(space, about, one, &group))
			return false;
		right++;
	}
	return right;
}

static bool ng_context_look(struct unclaimed_walk *walk, uint64_t at, uint64_t end, uint64_t *next)
{
	struct ng_malloc *ng = walk->context;
	uint64_t words[NG_AREA_BYTES / 8];
	const uint8_t *bytes = window_at(&walk->window, at, NG_AREA_BYTES, end);
	(void)next;
	if (!bytes)
		return true;
	memcpy(words, bytes, sizeof(words));
	return !words[NG_CHECK] || !is_area(words, at) ||
	       !ng_context_proves(ng->space, at, words) || heap_addresses_push(&ng->areas, at);
}

struct error *ng_context_find(struct ng_malloc *ng, const struct heap_area_vec *claimed)
{
	_cleanup_free_ uint64_t *words = malloc(PORTION_BYTES);
	bool ok = words;
	for (size_t i = 0; ok && i < ng->space->maps.maps.len && !ng->areas.len; i++) {
		const struct process_map *map = &ng->space->maps.maps.data[i];
		if (map->writable && address_space_module(ng->space, map->start))
			ok = ng_context_find_in_map(ng, map, words);
	}
	if (!ok)
		return error_no_memory();
	struct error *error = NULL;
	if (!ng->areas.len && !claimed->len) {
		struct unclaimed_walk walk = {.space = ng->space,
			.areas = claimed,
			.look = ng_context_look,
			.context = ng};
		error = unclaimed_walk(&walk);
	}
	heap_addresses_sort(&ng->areas);
	return error;
}
