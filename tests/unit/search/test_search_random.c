/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random heaps, searched, and compared with what the definitions of search.h say, followed to the
 * letter: every word of every block against every block, again and again until nothing changes.
 */
#include "search/search.h"

#include "lib/tap.h"
#include "search/reverse.h"

#define BLOCKS_MAX 40
#define HEAP_BYTES 16384u
#define OUTSIDE_BYTES 1024u
#define ROOT_WORDS 12
#define REGISTERS 4

/* Where things are: the heap lies across a border of the search's own regions. */
#define HEAP_START 0x7f1200ffe000ull
#define OUTSIDE_START 0x550000001000ull
#define TABLES_START (OUTSIDE_START + 512) /* in a file, readable */
#define CODE_START 0x7f4400000000ull

struct world {
	uint64_t random;
	unsigned alignment, heuristics, count;
	uint64_t beside_bytes;
	uint64_t address[BLOCKS_MAX], size[BLOCKS_MAX];
	uint64_t registers[REGISTERS];
	uint64_t hole; /* a page of the heap that can't be read; 0: none */
	uint8_t heap[HEAP_BYTES], outside[OUTSIDE_BYTES];
};

static const struct search_map maps[] = {
	{TABLES_START, OUTSIDE_START + OUTSIDE_BYTES, SEARCH_MAP_FILE},
	{CODE_START, CODE_START + 4096, SEARCH_MAP_FILE_CODE},
};

static uint64_t next(struct world *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random * 0x2545f4914f6cdd1dull >> 16;
}

static unsigned below(struct world *w, unsigned limit)
{
	return (unsigned)(next(w) % limit);
}

static size_t read_world(void *context, uint64_t address, void *ret, size_t bytes)
{
	struct world *w = context;
	size_t got = 0;
	for (; got < bytes; got++, address++) {
		uint8_t *byte;
		if (address >= HEAP_START && address < HEAP_START + HEAP_BYTES)
			byte = &w->heap[address - HEAP_START];
		else if (address >= OUTSIDE_START && address < OUTSIDE_START + OUTSIDE_BYTES)
			byte = &w->outside[address - OUTSIDE_START];
		else
			break;
		if (w->hole && address >= w->hole && address < w->hole + 4096)
			break;
		((uint8_t *)ret)[got] = *byte;
	}
	return got;
}

static bool word_at(struct world *w, uint64_t address, uint64_t *ret)
{
	return read_world(w, address, ret, 8) == 8;
}

static void put(struct world *w, uint64_t address, uint64_t value)
{
	if (address >= HEAP_START)
		memcpy(&w->heap[address - HEAP_START], &value, 8);
	else
		memcpy(&w->outside[address - OUTSIDE_START], &value, 8);
}

/* --- making one --------------------------------------------------------------------------------
 */

static uint64_t some_pointer(struct world *w)
{
	unsigned block = below(w, w->count);
	uint64_t size = w->size[block];
	switch (below(w, 6)) {
	case 0:
		return w->address[block] + (size ? next(w) % size : 0);
	case 1:
		return w->address[block] + size; /* one past the end */
	case 2:
		return w->address[block] + 8 * (next(w) % 4);
	default:
		return w->address[block];
	}
}

static uint64_t some_word(struct world *w, unsigned pointers)
{
	if (below(w, 10) < pointers)
		return some_pointer(w);
	switch (below(w, 4)) {
	case 0:
		return HEAP_START + below(w, HEAP_BYTES);
	case 1:
		return TABLES_START + 8ull * below(w, 40);
	default:
		return below(w, 50);
	}
}

/* A block as one of the known layouts begins. */
static void lay_out(struct world *w, unsigned block)
{
	uint64_t at = w->address[block], size = w->size[block];
	if (size < 9 || at + 32 > HEAP_START + HEAP_BYTES)
		return;
	switch (below(w, 5)) {
	case 0:
		put(w, at, size - 8);
		break;
	case 1:
		put(w, at, 1 + below(w, 4));
		break;
	case 2:
		if (size > 25) {
			put(w, at, below(w, (unsigned)size - 24));
			put(w, at + 8, size - 25);
		}
		break;
	case 3:
		if (size >= 24) {
			put(w, at, TABLES_START + 8ull * below(w, 40));
			put(w, at + 8ull * (1 + below(w, 2)), TABLES_START + 8ull * below(w, 40));
		}
		break;
	default:
		break;
	}
}

static void make_blocks(struct world *w)
{
	static const uint64_t sizes[] = {
		0, 1, 7, 8, 9, 12, 16, 24, 26, 32, 40, 41, 57, 64, 200, 1000};
	uint64_t at = HEAP_START + 16ull * below(w, 500);
	unsigned wanted = 1 + below(w, BLOCKS_MAX);
	w->count = 0;
	while (w->count < wanted) {
		uint64_t size = sizes[below(w, below(w, 8) ? 14 : 16)];
		if (at + size + 64 > HEAP_START + HEAP_BYTES)
			break;
		w->address[w->count] = at;
		w->size[w->count++] = size;
		at += size ? size : 1;
		at = (at + 7) & ~7ull;
		at += below(w, 4) ? 0 : 8ull * below(w, 200);
	}
	if (!w->count) {
		w->address[0] = HEAP_START;
		w->size[w->count++] = 32;
	}
}

static void make_world(struct world *w)
{
	unsigned pointers = 1 + below(w, 9), roots = below(w, 4);
	memset(w->heap, 0, sizeof(w->heap));
	memset(w->outside, 0, sizeof(w->outside));
	w->alignment = 1u << below(w, 4);
	w->heuristics = below(w, SEARCH_HEURISTICS_ALL + 1);
	make_blocks(w);
	w->hole = below(w, 10) ? 0 : (HEAP_START + 4096ull * below(w, 4));
	for (unsigned i = 0; i < w->count; i++) {
		uint64_t end = w->address[i] + w->size[i], step = below(w, 5) ? 8 : 4;
		for (uint64_t at = w->address[i]; at + 8 <= end && at < w->address[i] + 80;
			at += step)
			put(w, at, some_word(w, pointers));
		if (below(w, 3) == 0)
			lay_out(w, i);
	}
	for (unsigned i = 0; i < ROOT_WORDS; i++)
		put(w, OUTSIDE_START + 8ull * i, some_word(w, roots));
	for (unsigned i = 0; i < 60; i++)
		put(w, TABLES_START + 8ull * i,
			below(w, 3)   ? CODE_START + below(w, 4000)
			: below(w, 8) ? 0
				      : 7);
	for (unsigned i = 0; i < REGISTERS; i++)
		w->registers[i] = some_word(w, roots);
}

/* --- the definitions ---------------------------------------------------------------------------
 */

/* The block that a word points into; -1: none. */
static int target(const struct world *w, uint64_t word)
{
	for (unsigned i = 0; i < w->count; i++) {
		uint64_t bytes = w->size[i] ? w->size[i] : 1;
		if (word >= w->address[i] && word - w->address[i] < bytes)
			return (int)i;
	}
	return -1;
}

static bool is_file(uint64_t address)
{
	return (address >= maps[0].start && address < maps[0].end) ||
	       (address >= maps[1].start && address < maps[1].end);
}

/* Of the first 20 entries, as far as they are empty or code, two are code. */
static bool is_table(struct world *w, uint64_t address)
{
	unsigned code = 0;
	if (address % 8 || !is_file(address))
		return false;
	for (unsigned i = 0; i < 20; i++) {
		uint64_t entry;
		if (!word_at(w, address + 8ull * i, &entry))
			return false;
		if (entry && (entry < maps[1].start || entry >= maps[1].end))
			return false;
		code += entry != 0;
		if (code == 2)
			return true;
	}
	return false;
}

static bool is_explained(struct world *w, int block, uint64_t word)
{
	uint64_t at = w->address[block], size = w->size[block], first, second, inner;
	bool one = word_at(w, at, &first), two = word_at(w, at + 8, &second);
	if (w->heuristics & SEARCH_STDSTRING && word == at + 24 && one && two && first <= second &&
		second < size &&
		(size == 25 + second || size == 26 + 2 * second || size == 28 + 4 * second))
		return true;
	if (w->heuristics & SEARCH_LENGTH64 && word == at + 8 && one && first && first == size - 8)
		return true;
	if (w->heuristics & SEARCH_NEWARRAY && word == at + 8 && one && first &&
		(size - 8) % first == 0)
		return true;
	return w->heuristics & SEARCH_MULTIPLEINHERITANCE && (word - at) % 8 == 0 &&
	       word + 8 <= at + size && word_at(w, word, &inner) && is_table(w, inner) && one &&
	       is_table(w, first);
}

static void mark(struct world *w, uint64_t word, bool by_starts, bool *set, bool *ret_changed)
{
	int block = target(w, word);
	if (block < 0 || set[block])
		return;
	if (by_starts && word != w->address[block] && !is_explained(w, block, word))
		return;
	set[block] = *ret_changed = true;
}

/* All words of a block. */
static void mark_from(struct world *w, unsigned block, bool by_starts, bool *set, bool *ret_changed)
{
	uint64_t step = w->alignment, end = w->address[block] + w->size[block], word;
	for (uint64_t at = (w->address[block] + step - 1) / step * step; at + 8 <= end;
		at += step) {
		if (word_at(w, at, &word))
			mark(w, word, by_starts, set, ret_changed);
	}
}

static void close_set(struct world *w, bool by_starts, bool *set)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (unsigned i = 0; i < w->count; i++) {
			if (set[i])
				mark_from(w, i, by_starts, set, &changed);
		}
	}
}

static void held(struct world *w, bool by_starts, bool *set)
{
	bool changed;
	uint64_t word;
	for (uint64_t at = 0; at + 8 <= 8 * ROOT_WORDS; at += w->alignment) {
		if (word_at(w, OUTSIDE_START + at, &word))
			mark(w, word, by_starts, set, &changed);
	}
	for (unsigned i = 0; i < REGISTERS; i++)
		mark(w, w->registers[i], by_starts, set, &changed);
	close_set(w, by_starts, set);
}

/* --- the comparison ----------------------------------------------------------------------------
 */

/* Any order of age there can be. */
static uint64_t age_by_chance(void *context, uint64_t address)
{
	(void)context;
	return address * 0x9e3779b97f4a7c15ull >> 40;
}

static struct search *search_world(struct world *w)
{
	const struct search_options options = {.alignment = w->alignment,
		.heuristics = w->heuristics,
		.maps = maps,
		.map_count = 2,
		.age = w->beside_bytes ? age_by_chance : NULL,
		.beside_bytes = w->beside_bytes};
	const struct search_memory memory = {w, read_world, NULL};
	const struct search_root roots[] = {
		{.start = OUTSIDE_START, .end = OUTSIDE_START + 8 * ROOT_WORDS},
		{.values = w->registers, .value_count = REGISTERS}};
	struct search *search;
	CHECK_OK(search_create(&options, &search));
	for (unsigned i = 0; i < w->count; i++)
		CHECK_OK(search_add_block(search, w->address[i], w->size[i], i));
	CHECK_OK(search_run(search, &memory, roots, 2));
	return search;
}

static void check_lost(struct world *w, const struct search *search, const bool *any)
{
	bool led[BLOCKS_MAX] = {false};
	for (unsigned i = 0; i < w->count; i++) {
		bool set[BLOCKS_MAX] = {false};
		if (any[i] || search_kind(search, i) != SEARCH_DEFINITE)
			continue;
		set[i] = true;
		close_set(w, false, set);
		for (unsigned j = 0; j < w->count; j++) {
			if (set[j] && j != i && search_kind(search, j) == SEARCH_DEFINITE)
				tap_fail("definite block %u holds definite block %u", i, j);
			led[j] |= set[j];
		}
	}
	for (unsigned i = 0; i < w->count; i++) {
		if (!any[i] && !led[i])
			tap_fail("lost block %u belongs to no definite one", i);
	}
}

/* The way that a group tells is there. */
static void check_way(struct world *w, const struct search_group *group, enum search_kind kind,
	const bool *reachable)
{
	int block = target(w, group->block);
	uint64_t word;
	CHECK(block >= 0 && w->address[block] == group->block && (unsigned)block == group->site);
	if (!group->holder && group->root == 1)
		word = w->registers[group->root_address];
	else
		CHECK(word_at(w,
			group->holder ? group->holder + group->offset : group->root_address,
			&word));
	CHECK_U64(word, group->block + group->into);
	if (!group->holder)
		return;
	int holder = target(w, group->holder);
	CHECK(holder >= 0 && w->address[holder] == group->holder);
	CHECK(kind == SEARCH_POSSIBLE || reachable[holder]);
}

static void check_records(struct world *w, const struct search *search, const bool *reachable)
{
	size_t count, groups;
	const struct search_record *records = search_records(search, &count);
	const struct search_group *list = search_groups(search, &groups);
	uint64_t indirect = 0, led = 0;
	CHECK_U64(count, w->count);
	for (size_t i = 0; i < count; i++) {
		const struct search_record *r = &records[i];
		CHECK(r->site < w->count && r->blocks == 1 && r->bytes == w->size[r->site]);
		CHECK_U64(r->example, w->address[r->site]);
		CHECK_U64(r->kind, search_kind(search, r->site));
		indirect += r->kind == SEARCH_INDIRECT;
		led += r->indirect_blocks;
		CHECK(r->kind == SEARCH_DEFINITE || !r->indirect_blocks);
		if (r->kind < SEARCH_POSSIBLE)
			continue;
		CHECK(r->group < groups);
		check_way(w, &list[r->group], r->kind, reachable);
	}
	CHECK_U64(led, indirect);
}

/* Whether what is reached, or a root, points to the start of a block. */
static bool is_plainly_held(struct world *w, unsigned block, const bool *any)
{
	uint64_t step = w->alignment, word;
	for (uint64_t at = 0; at + 8 <= 8 * ROOT_WORDS; at += step)
		if (word_at(w, OUTSIDE_START + at, &word) && word == w->address[block])
			return true;
	for (unsigned i = 0; i < REGISTERS; i++)
		if (w->registers[i] == w->address[block])
			return true;
	for (unsigned i = 0; i < w->count; i++) {
		uint64_t end = w->address[i] + w->size[i];
		for (uint64_t at = (w->address[i] + step - 1) / step * step;
			any[i] && i != block && at + 8 <= end; at += step)
			if (word_at(w, at, &word) && word == w->address[block])
				return true;
	}
	return false;
}

static void check_explained(
	struct world *w, const struct search *search, const bool *reachable, const bool *any)
{
	const struct search_totals *totals = search_totals(search);
	uint64_t blocks = 0, bytes = 0, found_blocks = 0, found_bytes = 0;
	for (unsigned i = 0; i < w->count; i++) {
		bool counts = reachable[i] && !is_plainly_held(w, i, any);
		blocks += counts;
		bytes += counts ? w->size[i] : 0;
	}
	for (unsigned i = 0; i < SEARCH_HEURISTIC_COUNT; i++) {
		found_blocks += totals->heuristic_blocks[i];
		found_bytes += totals->heuristic_bytes[i];
		CHECK(w->heuristics >> i & 1 || !totals->heuristic_blocks[i]);
	}
	CHECK_U64(found_blocks, blocks);
	CHECK_U64(found_bytes, bytes);
}

/* All that leads to a block, and by which pointers. */
static void check_few(struct world *w, const struct search *search)
{
	const struct graph *graph = search_graph(search);
	struct reverse all, few;
	uint32_t queue[BLOCKS_MAX] = {below(w, w->count)}, count = 1, found;
	bool seen[BLOCKS_MAX] = {false}, is_few;
	seen[queue[0]] = true;
	CHECK_OK(reverse_make(graph, &all));
	CHECK_OK(reverse_make_subset(graph, queue[0], BLOCKS_MAX, &few, &is_few));
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t *sources = reverse_sources(&all, queue[i], &found);
		for (uint32_t k = 0; k < found; k++) {
			if (!seen[sources[k]])
				queue[count++] = sources[k];
			seen[sources[k]] = true;
		}
	}
	CHECK(is_few ? few.blocks.len == count : !few.heads);
	for (uint32_t i = 0; is_few && i < count; i++) {
		uint32_t wanted;
		const uint32_t *sources = reverse_sources(&few, queue[i], &found);
		const uint32_t *others = reverse_sources(&all, queue[i], &wanted);
		CHECK_U64(found, wanted);
		for (uint32_t k = 0; k < found && k < wanted; k++)
			CHECK_U64(sources[k], others[k]);
	}
	reverse_free(&few);
	CHECK_OK(reverse_make_subset(graph, queue[0], count - 1, &few, &is_few));
	CHECK(!is_few && !few.heads);
	reverse_free(&few);
	reverse_free(&all);
}

static void check_world(struct world *w)
{
	bool reachable[BLOCKS_MAX] = {false}, any[BLOCKS_MAX] = {false};
	held(w, true, reachable);
	held(w, false, any);
	struct search *search = search_world(w);
	for (unsigned i = 0; i < w->count; i++) {
		enum search_kind kind = search_kind(search, i);
		enum search_kind expected = reachable[i] ? SEARCH_REACHABLE : SEARCH_POSSIBLE;
		if (any[i] ? kind != expected : kind != SEARCH_DEFINITE && kind != SEARCH_INDIRECT)
			tap_fail("block %u is of kind %d (held: %d, by starts: %d)", i, (int)kind,
				any[i], reachable[i]);
	}
	check_lost(w, search, any);
	check_explained(w, search, reachable, any);
	check_records(w, search, reachable);
	check_few(w, search);
	search_destroy(search);
}

#define WORLDS TAP_SOME(16000u)

static void check_worlds(uint64_t seed, unsigned worlds, uint64_t beside_bytes)
{
	static struct world w;
	w.beside_bytes = beside_bytes;
	for (unsigned i = 0; i < worlds; i++) {
		w.random = (seed + i) * 0x9e3779b97f4a7c15ull | 1;
		if (i % 1000 == 0) /* where to look when one fails */
			printf("# from world %" PRIu64 " on\n", seed + i);
		make_world(&w);
		check_world(&w);
	}
}

CASE(worlds, "kinds, leaders and ways of random heaps are those of the definitions")
{
	check_worlds(1, WORLDS, 0);
}

CASE(more_worlds, "… and of others, which two threads read")
{
	check_worlds(1000000, WORLDS / 4, 1); /* a thread each */
}

TAP_MAIN
