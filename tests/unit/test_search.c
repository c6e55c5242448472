/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of leaks in small heaps at random, against their definitions, block by block. */
#include "lib/tap.h"
#include "search/search.h"

enum { BLOCKS = 8, WORDS = 3, ROOT_WORDS = 2 };

#define HEAP 0x10000000u
#define ROOTS 0x20000000u

/* Blocks of WORDS words beside each other, and a root. */
struct heap {
	uint64_t words[BLOCKS][WORDS];
	uint64_t roots[ROOT_WORDS];
};

static uint64_t address_of(unsigned block)
{
	return HEAP + (uint64_t)block * WORDS * 8;
}

static size_t copy(uint64_t start, const void *from, size_t from_bytes, uint64_t address, void *to,
	size_t bytes)
{
	if (address < start || address >= start + from_bytes)
		return 0;
	size_t left = (size_t)(start + from_bytes - address), n = bytes < left ? bytes : left;
	memcpy(to, (const char *)from + (address - start), n);
	return n;
}

static size_t read_heap(void *context, uint64_t address, void *ret, size_t bytes)
{
	const struct heap *heap = context;
	return address < ROOTS ? copy(HEAP, heap->words, sizeof(heap->words), address, ret, bytes)
			       : copy(ROOTS, heap->roots, sizeof(heap->roots), address, ret, bytes);
}

static unsigned next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33);
}

/* Nothing, a block's start, or its middle. */
static uint64_t word(uint64_t *state, unsigned some, bool interior)
{
	uint64_t block = address_of(next(state) % BLOCKS);
	bool into = next(state) % 4 == 0;
	return next(state) % 10 >= some ? 0 : block + (interior && into ? 8 : 0);
}

static void fill(struct heap *heap, uint64_t *state)
{
	unsigned some = 2 + next(state) % 4;
	bool interior = next(state) % 2;
	for (unsigned i = 0; i < BLOCKS; i++)
		for (unsigned j = 0; j < WORDS; j++)
			heap->words[i][j] = word(state, some, interior);
	for (unsigned j = 0; j < ROOT_WORDS; j++)
		heap->roots[j] = word(state, some, interior);
}

/* What a word holds: a bit; 0: nothing, or no start where only these count. */
static unsigned held_by(uint64_t word, bool starts_alone)
{
	if (!word || (starts_alone && (word - HEAP) % ((uint64_t)WORDS * 8)))
		return 0;
	return 1u << (word - HEAP) / ((uint64_t)WORDS * 8);
}

/* All blocks that can be come by from these, themselves included. */
static unsigned closure(const struct heap *heap, unsigned blocks, bool starts_alone)
{
	for (unsigned before = 0; before != blocks;) {
		before = blocks;
		for (unsigned i = 0; i < BLOCKS; i++)
			for (unsigned j = 0; blocks >> i & 1 && j < WORDS; j++)
				blocks |= held_by(heap->words[i][j], starts_alone);
	}
	return blocks;
}

static unsigned from_roots(const struct heap *heap, bool starts_alone)
{
	unsigned held = 0;
	for (unsigned j = 0; j < ROOT_WORDS; j++)
		held |= held_by(heap->roots[j], starts_alone);
	return closure(heap, held, starts_alone);
}

/* A block leads if whatever leads to it is led by it, and of a ring it is the first. */
static bool leads(const struct heap *heap, unsigned lost, unsigned block)
{
	unsigned led = closure(heap, 1u << block, false);
	for (unsigned i = 0; i < BLOCKS; i++) {
		bool holds = lost >> i & 1 && closure(heap, 1u << i, false) >> block & 1;
		if (holds && (!(led >> i & 1) || i < block))
			return false;
	}
	return true;
}

static enum search_kind kind_of(const struct heap *heap, unsigned block)
{
	unsigned held = from_roots(heap, false);
	if (from_roots(heap, true) >> block & 1)
		return SEARCH_REACHABLE;
	if (held >> block & 1)
		return SEARCH_POSSIBLE;
	return leads(heap, ~held, block) ? SEARCH_DEFINITE : SEARCH_INDIRECT;
}

static struct search *run(struct heap *heap)
{
	struct search *search;
	const struct search_options options = {.alignment = 8};
	const struct search_root root = {.start = ROOTS, .end = ROOTS + sizeof(heap->roots)};
	const struct search_memory memory = {heap, read_heap, NULL};
	CHECK_OK(search_create(&options, &search));
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK_OK(search_add_block(search, address_of(i), (uint64_t)WORDS * 8, i));
	CHECK_OK(search_run(search, &memory, &root, 1));
	return search;
}

CASE(definitions, "5,000 heaps at random have the kinds that the definitions say")
{
	uint64_t state = 1;
	for (unsigned round = 0; round < 5000; round++) {
		struct heap heap;
		fill(&heap, &state);
		struct search *search = run(&heap);
		for (unsigned i = 0; i < BLOCKS; i++) {
			if (search_kind(search, i) != kind_of(&heap, i))
				tap_fail("heap %u, block %u: kind %d, expected %d", round, i,
					(int)search_kind(search, i), (int)kind_of(&heap, i));
		}
		search_destroy(search);
	}
}

CASE(indirect_sums, "each indirect block counts with one definite block that leads to it")
{
	uint64_t state = 2;
	for (unsigned round = 0; round < 5000; round++) {
		struct heap heap;
		size_t count;
		uint64_t led = 0;
		fill(&heap, &state);
		struct search *search = run(&heap);
		const struct search_record *records = search_records(search, &count);
		for (size_t i = 0; i < count; i++) {
			unsigned all = closure(&heap, 1u << records[i].site, false);
			led += records[i].indirect_blocks;
			if (records[i].indirect_blocks >= (unsigned)__builtin_popcount(all))
				tap_fail(
					"heap %u: block %u leads too many", round, records[i].site);
		}
		CHECK_U64(led, search_totals(search)->blocks[SEARCH_INDIRECT]);
		search_destroy(search);
	}
}

TAP_MAIN
