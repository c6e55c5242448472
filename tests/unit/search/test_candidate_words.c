/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that are told while blocks are added make the same graph as reading them afterwards. */
#include <stdlib.h>

#include "lib/tap.h"
#include "search/graph.h"
#include "search/search.h"

#define FAR (5ull << 30)
#define MOST 4000u

/* A heap whose words are made of their addresses. */
struct made {
	uint64_t seed;
	bool is_full; /* all words are starts */
	struct {
		uint64_t address, size;
	} blocks[MOST];
	uint32_t count;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ull;
	return (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull >> 7;
}

/* NULL, text, numbers, starts, places inside of blocks, behind them, and nowhere. */
static uint64_t word_of(const struct made *m, uint64_t address)
{
	uint64_t random = mix(address + m->seed), more = mix(random);
	const uint64_t start = m->blocks[more % m->count].address;
	const uint64_t size = m->blocks[more % m->count].size;
	switch (m->is_full ? 8 : random % 12) {
	case 0:
	case 1:
		return 0;
	case 2:
		return 0x6161616161616161ull;
	case 3:
		return more % 4096;
	case 4:
		return start + more % (size + 1);
	case 5:
		return start + size + more % 64;
	case 6:
		return (start & ~0xffffull) + more % 0x10000;
	case 7:
		return 1ull << 47 | more % (1ull << 40);
	default:
		return start;
	}
}

static _Atomic uint64_t reads;

/* A page in 50 can't be read. */
static bool is_hole(const struct made *m, uint64_t address)
{
	return mix((address >> 12) * 77 + m->seed) % 50 == 0;
}

static size_t read_made(void *context, uint64_t address, void *ret, size_t bytes)
{
	const struct made *m = context;
	size_t n = 0;
	reads++;
	for (; n < bytes && !is_hole(m, address + n); n++) {
		uint64_t word = word_of(m, (address + n) & ~7ull);
		((uint8_t *)ret)[n] = (uint8_t)(word >> (address + n) % 8 * 8);
	}
	return n;
}

static void add(struct made *m, uint64_t *at, uint64_t end)
{
	static const uint64_t sizes[] = {24, 40, 0, 7, 104, 8, 13, 520, 30, 3000, 72, 16, 9000};
	while (*at < end && m->count < MOST) {
		uint64_t random = mix(*at + m->seed), size = sizes[random % ARRAY_SIZE(sizes)];
		m->blocks[m->count].address = *at;
		m->blocks[m->count++].size = random % 301 ? size : 90000;
		*at += (m->blocks[m->count - 1].size + 16 + random % 3 * 16) & ~7ull;
	}
}

/* Three ranges; `far`: more than 4 GiB of them, with blocks at both ends. */
static size_t make(struct made *m, uint64_t seed, bool far, struct search_range ranges[3])
{
	uint64_t at = 0x555500003010;
	*m = (struct made){.seed = seed};
	for (unsigned i = 0; i < 3; i++) {
		ranges[i].start = at & ~15ull;
		add(m, &at, at + 100000 + seed * 7000 % 90000);
		if (far && i == 1) {
			at += FAR;
			add(m, &at, at + 50000);
		}
		ranges[i].end = at;
		at += i ? 1ull << 40 : 8;
	}
	return 3;
}

static struct search *new_search(void)
{
	struct search *search;
	CHECK_OK(search_create(
		&(struct search_options){.alignment = 8, .beside_bytes = 1}, &search));
	return search;
}

/* Adds a block and tells its words, of which some are at hand. */
static void tell(struct search *search, const struct made *m, uint32_t block)
{
	uint64_t address = m->blocks[block].address, size = m->blocks[block].size;
	uint8_t *bytes = malloc(size + 1);
	CHECK(bytes);
	if (!bytes)
		return;
	size_t wanted = mix(address) % 3 ? size : mix(address) % (size + 1);
	size_t len = read_made((void *)m, address, bytes, wanted);
	unsigned words = len / 8 < WORD_BITS ? (unsigned)(len / 8) : WORD_BITS;
	struct word_bits bits = word_bits_of(bytes, words);
	CHECK_OK(search_add_block(search, address, size, block % 5));
	search_note_block(search, address, size, bytes, len, &bits);
	free(bytes);
}

static void check_same(const struct search *told, const struct search *read)
{
	const struct graph *a = search_graph(told), *b = search_graph(read);
	uint32_t count = search_block_count(read), wrong = 0;
	CHECK_U64(search_block_count(told), count);
	CHECK_U64(a->edge_count, b->edge_count);
	CHECK(b->edge_count > 0);
	CHECK_U64(a->roots.len, b->roots.len);
	for (uint32_t block = 0; block < count; block++) {
		uint32_t i = graph_edges(a, block), k = graph_edges(b, block);
		uint32_t a_end = graph_edges_end(a, block), b_end = graph_edges_end(b, block);
		wrong += a_end - i != b_end - k;
		wrong += search_block_site(told, block) != search_block_site(read, block);
		for (; i < a_end && k < b_end; i++, k++)
			wrong += a->edges.data[i] != b->edges.data[k] ||
				 graph_offset(a, i) != graph_offset(b, k);
	}
	CHECK_U64(wrong, 0);
}

/* Of a heap: blocks from `half` on are told to another search, which is appended. */
static void compare(const struct made *m, const struct search_range *ranges, size_t range_count,
	uint32_t half, bool is_used)
{
	static const uint32_t sites[] = {0, 1, 2, 3, 4};
	const struct search_memory memory = {(void *)m, read_made, NULL};
	struct search *told = new_search(), *after = new_search(), *read = new_search();
	search_note_words(told, &memory, ranges, range_count, half);
	search_note_words_after(after, told, 10);
	for (uint32_t i = 0; i < m->count; i++) {
		CHECK_OK(search_add_block(read, m->blocks[i].address, m->blocks[i].size, i % 5));
		tell(i < half ? told : after, m, i);
	}
	if (half < m->count)
		CHECK_OK(search_append(told, after, sites));
	search_destroy(after);
	uint64_t values[64];
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++)
		values[i] = word_of(m, i);
	const struct search_root root = {.values = values, .value_count = ARRAY_SIZE(values)};
	CHECK_OK(search_read(read, &memory, &root, 1));
	reads = 0;
	CHECK_OK(search_read(told, &memory, &root, 1));
	CHECK((reads == 0) == is_used);
	check_same(told, read);
	search_destroy(told);
	search_destroy(read);
}

CASE(same, "the graph of told words is that of read ones, told by one or by two")
{
	static struct made made;
	struct search_range ranges[3];
	for (unsigned seed = 1; seed <= 12; seed++) {
		size_t count = make(&made, seed, false, ranges);
		compare(&made, ranges, count, made.count, true);
		compare(&made, ranges, count, made.count / 2 + seed, true);
		compare(&made, ranges, count, 1, true);
	}
}

CASE(far_away, "so it is with places that need more than 4 bytes")
{
	static struct made made;
	struct search_range ranges[3];
	size_t count = make(&made, 3, true, ranges);
	compare(&made, ranges, count, made.count, true);
	compare(&made, ranges, count, made.count / 3, true);
}

CASE(elsewhere, "blocks outside of the ranges, or in another order, and ranges that are none: all "
		"is read")
{
	static struct made made;
	struct search_range ranges[3];
	size_t count = make(&made, 5, false, ranges);
	compare(&made, ranges, 1, made.count, false);
	compare(&made, ranges, 2, made.count / 2, false);
	compare(&made, ranges, 0, made.count, false);
	compare(&made, ranges, count, 0, false);
	const struct search_range turned[] = {ranges[1], ranges[0], ranges[2]};
	compare(&made, turned, 3, made.count, false);
	const struct search_range endless[] = {{ranges[0].start, 1ull << 47}};
	compare(&made, endless, 1, made.count, false);
}

CASE(many_words, "two threads share what one was told; blocks have more words than a byte counts")
{
	enum { BLOCKS = 800, WORDS = CANDIDATES_MANY };
	static struct made made;
	made = (struct made){.seed = 9, .is_full = true, .count = BLOCKS};
	for (uint32_t i = 0; i < BLOCKS; i++) {
		made.blocks[i].address = 0x10000 + i * (8ull * WORDS + 16);
		made.blocks[i].size = 8 * WORDS;
	}
	const struct search_range range = {
		0x10000, made.blocks[BLOCKS - 1].address + 8ull * WORDS + 16};
	compare(&made, &range, 1, BLOCKS, true);
}

TAP_MAIN
