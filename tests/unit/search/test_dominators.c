/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What blocks and holders retain, against the definition: what can't be reached without them. */
#include "search/dominators.h"
#include "search/search.h"

#include "lib/tap.h"

#define BASE 0x10000ull
#define BLOCK_BYTES 64u
#define WORDS (BLOCK_BYTES / 8)
#define BLOCKS_MAX 600u
#define HOLDERS_MAX 6u
#define SMALL_BLOCKS 40u
#define WORLDS TAP_SOME(3000u)
#define LARGE_WORLDS 12u

struct world {
	uint64_t random;
	uint32_t blocks, holders;
	uint64_t memory[BLOCKS_MAX][WORDS];
	uint64_t values[HOLDERS_MAX][3];
	bool is_weak[HOLDERS_MAX];
};

static uint32_t draw(struct world *w, uint32_t below)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(w->random >> 33) % below;
}

static uint64_t address_of(uint32_t block)
{
	return BASE + (uint64_t)block * BLOCK_BYTES;
}

static void make(struct world *w, uint32_t most)
{
	memset(w->memory, 0, sizeof(w->memory));
	memset(w->values, 0, sizeof(w->values));
	w->blocks = 1 + draw(w, most);
	w->holders = 1 + draw(w, HOLDERS_MAX);
	uint32_t pointers = draw(w, w->blocks * 2 + 1);
	for (uint32_t i = 0; i < pointers; i++)
		w->memory[draw(w, w->blocks)][draw(w, WORDS)] = address_of(draw(w, w->blocks));
	for (uint32_t i = 0; i < w->holders; i++) {
		w->is_weak[i] = draw(w, 3) == 0;
		for (uint32_t k = 0; k < 3; k++)
			w->values[i][k] = draw(w, 2) ? address_of(draw(w, w->blocks)) : 0;
	}
}

static size_t read_memory(void *context, uint64_t address, void *ret, size_t bytes)
{
	const struct world *w = context;
	uint64_t offset = address - BASE, there = (uint64_t)w->blocks * BLOCK_BYTES;
	if (address < BASE || offset >= there)
		return 0;
	size_t n = there - offset < bytes ? (size_t)(there - offset) : bytes;
	memcpy(ret, (const char *)w->memory + offset, n);
	return n;
}

static void reach(const struct world *w, uint32_t without, uint32_t block, bool *reached)
{
	if (block == without || reached[block])
		return;
	reached[block] = true;
	for (uint32_t i = 0; i < WORDS; i++) {
		if (w->memory[block][i])
			reach(w, without, (uint32_t)((w->memory[block][i] - BASE) / BLOCK_BYTES),
				reached);
	}
}

/* Adds what holders of one sort lead to without a node: a block, or behind them a holder. */
static void reach_from(const struct world *w, bool weak, uint32_t without, bool *reached)
{
	for (uint32_t i = 0; i < w->holders; i++) {
		for (uint32_t k = 0; k < 3; k++) {
			if (w->is_weak[i] == weak && w->blocks + i != without && w->values[i][k])
				reach(w, without,
					(uint32_t)((w->values[i][k] - BASE) / BLOCK_BYTES),
					reached);
		}
	}
}

/* By definition: of what strong holders lead to, what they don't without the node; of the rest the
 * same by weak ones. */
static uint64_t retained_by(const struct world *w, uint32_t node)
{
	bool strong[BLOCKS_MAX] = {false}, all[BLOCKS_MAX] = {false};
	bool strong_without[BLOCKS_MAX] = {false}, all_without[BLOCKS_MAX] = {false};
	uint64_t bytes = 0;
	reach_from(w, false, UINT32_MAX, strong);
	memcpy(all, strong, sizeof(all));
	reach_from(w, true, UINT32_MAX, all);
	reach_from(w, false, node, strong_without);
	/* What strong ones lead to stays held by them: weak ones lead only beyond it. */
	memcpy(all_without, strong, sizeof(all_without));
	reach_from(w, true, node, all_without);
	for (uint32_t i = 0; i < w->blocks; i++) {
		if (strong[i] ? !strong_without[i] : all[i] && !all_without[i])
			bytes += BLOCK_BYTES;
	}
	return bytes;
}

static void check(struct world *w)
{
	struct search *search;
	const struct search_options options = {.alignment = 8};
	CHECK_OK(search_create(&options, &search));
	for (uint32_t i = 0; i < w->blocks; i++)
		CHECK_OK(search_add_block(search, address_of(i), BLOCK_BYTES, 0));
	struct search_root roots[HOLDERS_MAX];
	for (uint32_t i = 0; i < w->holders; i++)
		roots[i] = (struct search_root){.values = w->values[i], .value_count = 3, .tag = i};
	const struct search_memory memory = {w, read_memory, NULL};
	CHECK_OK(search_read(search, &memory, roots, w->holders));
	const struct graph *graph = search_graph(search);
	uint32_t of_root[HOLDERS_MAX * 3];
	for (size_t i = 0; i < graph->roots.len; i++)
		of_root[i] = graph->roots.data[i].root;
	struct reverse reverse;
	struct dominators dominators;
	const struct dominators_holders holders = {of_root, w->is_weak, w->holders, NULL};
	CHECK_OK(reverse_make(graph, &reverse));
	CHECK_OK(dominators_find(graph, &reverse, &holders, &dominators));
	for (uint32_t i = 0; i < w->blocks + w->holders; i++)
		CHECK_U64(dominators.retained[i], retained_by(w, i));
	dominators_free(&dominators);
	reverse_free(&reverse);
	search_destroy(search);
}

/* Chains that are linked both ways, as lists are, with some other pointers between them. */
static void make_lists(struct world *w)
{
	make(w, BLOCKS_MAX);
	for (uint32_t i = 0; i + 1 < w->blocks; i++) {
		if (draw(w, 50)) {
			w->memory[i][0] = address_of(i + 1);
			w->memory[i + 1][1] = address_of(i);
		}
	}
	for (uint32_t i = 0; i < w->blocks; i++) {
		for (uint32_t k = 2; k < WORDS; k++)
			w->memory[i][k] = draw(w, 30) ? 0 : w->memory[i][k];
	}
}

CASE(random_graphs, "what is retained is what can't be reached otherwise, in random heaps")
{
	static struct world w;
	for (uint32_t i = 0; i < WORLDS; i++) {
		w.random = (i + 1) * 0x9e3779b97f4a7c15ull;
		make(&w, SMALL_BLOCKS);
		check(&w);
	}
}

CASE(random_lists, "so it is where the way to a block's dominator is long")
{
	static struct world w;
	for (uint32_t i = 0; i < LARGE_WORLDS; i++) {
		w.random = (i + 1) * 0x9e3779b97f4a7c15ull;
		make_lists(&w);
		check(&w);
	}
}

/* A list, linked both ways, whose first node one variable holds and whose last another. */
struct list {
	uint32_t nodes;
};
#define NODE_BYTES 32u

static size_t read_list(void *context, uint64_t address, void *ret, size_t bytes)
{
	const struct list *list = context;
	uint64_t *words = ret;
	size_t n = 0;
	for (; n + 8 <= bytes; n += 8, address += 8) {
		uint64_t node = (address - BASE) / NODE_BYTES, member = address % NODE_BYTES / 8;
		if (address < BASE || node >= list->nodes)
			return n;
		bool is_end = member ? !node : node + 1 == list->nodes;
		uint64_t to = member ? node - 1 : node + 1;
		words[n / 8] = member > 1 || is_end ? 0 : BASE + to * NODE_BYTES;
	}
	return n;
}

static void check_list(uint32_t nodes, bool same)
{
	struct list list = {nodes};
	struct search *search;
	const struct search_options options = {.alignment = 8};
	CHECK_OK(search_create(&options, &search));
	for (uint32_t i = 0; i < nodes; i++)
		CHECK_OK(search_add_block(search, BASE + (uint64_t)i * NODE_BYTES, NODE_BYTES, 0));
	uint64_t values[2] = {BASE, BASE + (uint64_t)(nodes - 1) * NODE_BYTES};
	const struct search_root root = {.values = values, .value_count = 2};
	const struct search_memory memory = {&list, read_list, NULL};
	CHECK_OK(search_read(search, &memory, &root, 1));
	const struct graph *graph = search_graph(search);
	CHECK_U64(graph->roots.len, 2);
	const uint32_t of_root[2] = {0, same ? 0 : 1};
	const bool is_weak[2] = {false, false};
	const struct dominators_holders holders = {of_root, is_weak, same ? 1 : 2, NULL};
	struct reverse reverse;
	struct dominators dominators;
	CHECK_OK(reverse_make(graph, &reverse));
	CHECK_OK(dominators_find(graph, &reverse, &holders, &dominators));
	for (uint32_t i = 0; i < nodes; i++) {
		CHECK_U64(dominators.retained[i], NODE_BYTES);
		CHECK_U64(dominators.above[i], same ? nodes : DOMINATORS_NONE);
	}
	CHECK_U64(dominators.retained[nodes], same ? (uint64_t)nodes * NODE_BYTES : 0);
	dominators_free(&dominators);
	reverse_free(&reverse);
	search_destroy(search);
}

CASE(lists, "a list belongs to neither of the two variables that hold its ends, however long")
{
	static const uint32_t lengths[] = {40, 200, 20000, 1000000};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		check_list(lengths[i], false);
		check_list(lengths[i], true);
	}
}

TAP_MAIN
