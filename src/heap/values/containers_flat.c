/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Containers whose elements are side by side: strings, vectors, deques. */
#include "heap/values/containers_find.h"

/* Below that libstdc++ keeps characters in the string itself. */
#define STRING_LEAST 16u
/* libc++ allocates characters by this many. */
#define LIBCXX_STRING_STEP 16u
#define LIBCXX_IS_LONG (1ull << 63)
#define BYTES_MOST (1ull << 40)
/* libc++: a deque's blocks have this many bytes, or this many elements. */
#define LIBCXX_DEQUE_BYTES 4096u
#define DEQUE_BLOCK_LEAST 16u
/* Of a deque's table so much is read at a time. */
#define TABLE_WORDS 512u

/*
 * Three words alone may be anything: a pointer to the next of a list's nodes and two numbers, or
 * what functions that returned left on a stack. There the block must have text in it; and also
 * where it has pointers, of which a string has none.
 */
static bool is_doubtful(
	const struct container_search *f, const struct container_place *place, uint32_t block)
{
	if (place->is_stack || (place->holder != SPACE_NONE && find_alike(f, place->holder, block)))
		return true;
	return graph_edges(f->graph, block) < graph_edges_end(f->graph, block);
}

/* Where there is much room after its end. */
static bool is_string(
	const struct container_search *f, uint64_t address, uint64_t len, bool must_be_text)
{
	uint8_t bytes[TEXT_LOOKED_AT];
	uint8_t end = 1;
	size_t room = find_text_room(len), some = len < sizeof(bytes) ? (size_t)len : sizeof(bytes);
	if (must_be_text &&
		(!len || address_space_read(f->heap->space, address, bytes, room) != room ||
			!find_is_text(f, bytes, some)))
		return false;
	return address_space_read(f->heap->space, address + len, &end, 1) == 1 && !end;
}

/*
 * The characters and their end are looked at later: memory is walked in order. At once, if they are
 * not the only ones that there may be: the words beside a pointer may be those of a string of
 * either library.
 */
static bool take_string(struct container_search *f, const struct container_place *place,
	uint32_t block, uint64_t capacity, uint64_t len, bool is_one_of_two)
{
	if (block == SPACE_NONE || !find_is_free(f, block) || !find_fits(f, capacity, block))
		return false;
	uint64_t tail = size_of(f, block) - len;
	uint16_t known = f->tails[block];
	bool is_text = is_doubtful(f, place, block);
	if (known == tail)
		return false;
	bool is_other = known && (known & ~TAIL_TEXT) != tail;
	if (tail < TAIL_TEXT && !is_one_of_two && !is_other) {
		f->tails[block] = (uint16_t)(tail | (is_text ? TAIL_TEXT : 0));
		return true;
	}
	if (!is_string(f, search_block_address(f->search, block), len, is_text))
		return false;
	find_assign(f, block, PART_STRING);
	return true;
}

/* libstdc++, since 5: pointer, length, capacity without the NUL. */
static bool is_string_of_libstdcxx(const struct container_place *place)
{
	const uint64_t *w = place->words;
	return place->after >= 3 && w[1] <= w[2] && w[2] >= STRING_LEAST && w[2] <= BYTES_MOST;
}

static bool are_libcxx_bytes(uint64_t bytes, uint64_t len)
{
	return bytes && bytes % LIBCXX_STRING_STEP == 0 && bytes <= BYTES_MOST && len < bytes;
}

/* libc++: allocated bytes + 1, which tells it from a short one, length, pointer. */
static bool is_string_of_libcxx(const struct container_place *place)
{
	const uint64_t *w = place->words;
	return place->before >= 2 && w[-2] & 1 && are_libcxx_bytes(w[-2] & ~1ull, w[-1]);
}

/* The other layout that libc++ may be built with: pointer, length, allocated bytes with the highest
 * bit. */
static bool is_turned_string_of_libcxx(const struct container_place *place)
{
	const uint64_t *w = place->words;
	return place->after >= 3 && w[2] & LIBCXX_IS_LONG &&
	       are_libcxx_bytes(w[2] & ~LIBCXX_IS_LONG, w[1]);
}

bool find_string(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	return is_string_of_libstdcxx(place) &&
	       take_string(f, place, block_of(f, w[0]), w[2] + 1, w[1], is_string_of_libcxx(place));
}

bool find_string_of_libcxx(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (is_string_of_libcxx(place) && take_string(f, place, block_of(f, w[0]), w[-2] & ~1ull,
						  w[-1], is_string_of_libstdcxx(place)))
		return true;
	return is_turned_string_of_libcxx(place) &&
	       take_string(f, place, block_of(f, w[0]), w[2] & ~LIBCXX_IS_LONG, w[1], false);
}

/* Whether an address is in a block, or just after it. */
static bool is_within(uint64_t address, uint64_t start, uint64_t bytes)
{
	return address - start <= bytes;
}

static void assign_vector(
	struct container_search *f, const struct container_place *place, uint32_t block)
{
	const uint64_t *w = place->words;
	find_assign(f, block, PART_VECTOR);
	/* What is on a stack may be stale. */
	if (place->is_stack || f->error || w[1] == w[2])
		return;
	bool is_new;
	struct vector_end *end = vector_end_map_insert(&f->types->vector_ends, block, &is_new);
	if (end)
		*end = (struct vector_end){w[1] - w[0], w[2] - w[0]};
	else
		f->error = error_no_memory();
}

/* Copies of a vector that were made before it changed say other ends: all in between counts. */
static void describe_end(
	struct container_search *f, const struct container_place *place, uint32_t block)
{
	uint64_t used = place->words[1] - place->words[0];
	struct vector_end *end = heap_types_vector_end(f->types, block);
	if (end && end->end < used)
		end->end = used;
}

/*
 * Beginning, end of the elements, end of the memory. A fourth pointer beside them into the same
 * memory makes it the buffer of a stream, or of FILE.
 */
bool find_vector(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (place->after < 3 || w[1] <= w[0] || w[2] < w[1] || w[2] - w[0] > BYTES_MOST)
		return false;
	uint64_t bytes = w[2] - w[0];
	if ((place->before && is_within(w[-1], w[0], bytes)) ||
		(place->after > 3 && is_within(w[3], w[0], bytes)))
		return false;
	uint32_t block = block_of(f, w[0]);
	if (block == SPACE_NONE || f->tails[block] || !find_fits(f, bytes, block))
		return false;
	if (!find_is_room(f, block)) {
		describe_end(f, place, block);
		return false;
	}
	assign_vector(f, place, block);
	return true;
}

/*
 * The blocks that a deque's table has, which must be of one size, or of `bytes` if that is not 0.
 * They are looked at twice: no type is assigned before all are known to be right.
 */
static bool take_table(
	struct container_search *f, uint64_t from, uint64_t to, uint64_t bytes, bool assign)
{
	uint64_t words[TABLE_WORDS];
	uint32_t first = SPACE_NONE;
	while (from < to) {
		uint64_t left = (to - from) / 8, count = left < TABLE_WORDS ? left : TABLE_WORDS;
		if (address_space_read(f->heap->space, from, words, 8 * count) != 8 * count)
			return false;
		for (uint64_t i = 0; i < count; i++) {
			uint32_t block = block_of(f, words[i]);
			if (assign) {
				find_assign(f, block, PART_DEQUE_BLOCK);
				continue;
			}
			if (block == SPACE_NONE || !find_is_room(f, block))
				return false;
			first = first == SPACE_NONE ? block : first;
			if (bytes ? !find_fits(f, bytes, block) : !find_alike(f, first, block))
				return false;
		}
		from += 8 * count;
	}
	return true;
}

static void assign_table(struct container_search *f, const struct container_place *place,
	uint32_t map, uint64_t from, uint64_t to)
{
	find_assign(f, map, PART_DEQUE_MAP);
	/* What is on a stack may be stale. */
	if (place->is_stack || f->error)
		return;
	bool is_new;
	struct table_part *part = table_part_map_insert(&f->types->table_parts, map, &is_new);
	if (part)
		*part = (struct table_part){from - place->words[0], to - place->words[0]};
	else
		f->error = error_no_memory();
}

/* The table begins where the place's first word says. */
static bool take_deque(struct container_search *f, const struct container_place *place,
	uint32_t map, uint64_t from, uint64_t to, uint64_t bytes)
{
	if (!find_is_room(f, map) || !f->steps)
		return false;
	if (!take_table(f, from, to, bytes, false)) {
		f->steps -= (to - from) / 8 < f->steps ? (to - from) / 8 : f->steps;
		return false;
	}
	assign_table(f, place, map, from, to);
	return take_table(f, from, to, bytes, true);
}

/* libstdc++: table, its size, where the elements begin and end: place, block, its end, word. */
bool find_deque(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words, *begin = w + 2, *end = w + 6;
	if (place->after < 10 || w[1] < 3 || w[1] > f->blocks + 64ull)
		return false;
	uint64_t bytes = begin[2] - begin[1];
	bool agrees = bytes >= DEQUE_BLOCK_LEAST && bytes <= BYTES_MOST &&
		      end[2] - end[1] == bytes && begin[0] - begin[1] < bytes &&
		      end[0] - end[1] < bytes && begin[3] <= end[3] && begin[3] >= w[0] &&
		      end[3] < w[0] + 8 * w[1] && (begin[3] | end[3]) % 8 == 0;
	uint32_t map = agrees ? block_of(f, w[0]) : SPACE_NONE;
	return map != SPACE_NONE && find_fits(f, 8 * w[1], map) &&
	       take_deque(f, place, map, begin[3], end[3] + 8, bytes);
}

/* libc++: the table's memory, its first and last word, its end; the first element's number, and how
 * many there are. */
bool find_deque_of_libcxx(struct container_search *f, const struct container_place *place)
{
	const uint64_t *w = place->words;
	if (place->after < 6 || w[1] < w[0] || w[2] <= w[1] || w[3] < w[2] ||
		w[3] - w[0] > BYTES_MOST || (w[1] | w[2] | w[3]) % 8)
		return false;
	uint64_t count = (w[2] - w[1]) / 8;
	uint32_t map = block_of(f, w[0]);
	uint64_t first;
	if (map == SPACE_NONE || !find_fits(f, w[3] - w[0], map) ||
		!address_space_word(f->heap->space, w[1], &first))
		return false;
	uint32_t block = block_of(f, first);
	if (block == SPACE_NONE)
		return false;
	/* The more elements a block has, the smaller they are. */
	uint64_t bytes = size_of(f, block), most = bytes * count;
	return bytes + 8 >= LIBCXX_DEQUE_BYTES && w[4] <= most && w[5] <= most &&
	       w[4] + w[5] <= most && take_deque(f, place, map, w[1], w[2], 0);
}
