/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/python/python_left.h"

#include <string.h>

#include "base/util.h"
#include "heap/python_frames.h"

/* Places of a list of free objects (PyList_MAXFREELIST, PyDict_MAXFREELIST); after them it says
 * how many are in use. */
#define PLACES 80u
/* The next list of the same kind begins after that, or after two words more. */
#define BETWEEN 2u
/* This many pointers that NULL follows up to a count of 0 are no accident beside another list. */
#define FILLED_LEAST 4u
/* What is read around a word: the list that it is in, and those on both sides. */
#define WORDS_BEFORE (2u * PLACES + 1u + BETWEEN)
#define WORDS (2u * WORDS_BEFORE + PLACES)

/* _PyStackChunk: words. */
#define CHUNK_SIZE 1u
#define CHUNK_WORDS 3u
#define CHUNK_BYTES_MIN 4096u
#define CHUNK_BYTES_MAX (1ull << 40)
/* PyThreadState: this many words are looked at for the chunk, its top and its limit. */
#define STATE_WORDS 64u

struct places {
	const struct address_space *space;
	uint64_t words[WORDS];
	size_t count; /* of words */
};

/* How many places from one on are no NULL, if they may be a list's: none follows a NULL, and a
 * count follows all. 0: they are no list. */
static size_t filled_from(const struct places *p, size_t first, size_t *ret_free)
{
	size_t filled = 0;
	if (first + PLACES >= p->count || p->words[first + PLACES] > PLACES)
		return 0;
	while (filled < PLACES && p->words[first + filled])
		filled++;
	for (size_t i = filled; i < PLACES; i++) {
		if (p->words[first + i])
			return 0;
	}
	for (size_t i = 0; i < filled; i++) {
		uint64_t to = p->words[first + i];
		if (to % 8 || !address_space_map(p->space, to))
			return 0;
	}
	*ret_free = (size_t)p->words[first + PLACES];
	return *ret_free <= filled ? filled : 0;
}

/* Whether what a list says to be free is: nobody counts on it. Nothing shows that of none. */
static bool has_free(const struct places *p, size_t first)
{
	size_t in_use;
	uint64_t references;
	if (!filled_from(p, first, &in_use))
		return false;
	for (size_t i = 0; i < in_use; i++) {
		if (!address_space_word(p->space, p->words[first + i], &references) || references)
			return false;
	}
	return in_use;
}

/* Whether a list is there by itself. */
static bool is_list(const struct places *p, size_t first)
{
	size_t in_use;
	return has_free(p, first) || (filled_from(p, first, &in_use) >= FILLED_LEAST && !in_use);
}

/* A list without free objects, as after gc.collect(), is recognised by another one beside it.
 */
static bool has_neighbour(const struct places *p, size_t first)
{
	for (size_t gap = 0; gap <= BETWEEN; gap += BETWEEN) {
		size_t step = PLACES + 1 + gap;
		if (is_list(p, first + step) || (first >= step && is_list(p, first - step)))
			return true;
	}
	return false;
}

bool python_left_is_place(const struct address_space *space, uint64_t address)
{
	const struct process_map *map = address_space_map(space, address);
	if (!map || address % 8)
		return false;
	/* Of words before the mapping none are looked at. */
	struct places p = {.space = space};
	size_t in_use, at = (size_t)min((address - map->start) / 8, (uint64_t)WORDS_BEFORE);
	uint64_t start = address - 8ul * at;
	p.count = address_space_read(space, start, p.words, sizeof(p.words)) / 8;
	/* The word is one of a list's, after others that are no NULL. */
	for (size_t place = 0; place < PLACES && place <= at && at < p.count; place++) {
		size_t first = at - place;
		if (!p.words[first])
			break;
		size_t filled = filled_from(&p, first, &in_use);
		if (filled > place && place >= in_use &&
			(in_use ? has_free(&p, first) : has_neighbour(&p, first)))
			return true;
	}
	return false;
}

/* Whether a chunk of a stack of frames begins there, which ends at that limit. */
static bool is_chunk(const struct address_space *space, uint64_t chunk, uint64_t limit)
{
	uint64_t size;
	return chunk && chunk % CHUNK_BYTES_MIN == 0 && limit > chunk &&
	       address_space_word(space, chunk + 8ul * CHUNK_SIZE, &size) &&
	       size >= CHUNK_BYTES_MIN && size < CHUNK_BYTES_MAX && limit - chunk == size;
}

static bool add_left(const struct address_space *space, uint64_t state, struct heap_ranges *ret)
{
	uint64_t words[STATE_WORDS];
	size_t count = address_space_read(space, state, words, sizeof(words)) / 8;
	for (size_t i = 0; i + 2 < count; i++) {
		uint64_t chunk = words[i], top = words[i + 1], limit = words[i + 2];
		if (top % 8 == 0 && top >= chunk + 8ul * CHUNK_WORDS && top <= limit &&
			is_chunk(space, chunk, limit))
			return heap_ranges_push(ret, (struct heap_range){top, limit});
	}
	return true;
}

static bool add_unsure(void *context, uint64_t start, uint64_t end)
{
	return heap_ranges_push(context, (struct heap_range){start, end});
}

struct error *python_left_stacks(const struct address_space *space, struct heap_ranges *ret)
{
	struct python_stacks stacks;
	struct error *error = python_stacks_open(space, &stacks);
	bool ok = true;
	for (size_t i = 0; !error && ok && i < stacks.states.len; i++) {
		if (stacks.states.data[i])
			ok = add_left(space, stacks.states.data[i], ret) &&
			     python_stack_each_unsure(&stacks, i, add_unsure, ret);
	}
	python_stacks_close(&stacks);
	return error || ok ? error : error_no_memory();
}
