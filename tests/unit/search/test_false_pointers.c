/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which words are false, against the definition, in random heaps; and that few blocks know of
 * themselves what all do. */
#include "search/false_pointers.h"
#include "search/graph.h"
#include "search/reverse.h"

#include "lib/tap.h"

#define BASE 0x10000ull
#define BLOCK_BYTES 64u
#define WORDS (BLOCK_BYTES / 8)
#define BLOCKS_MAX 30u
#define ROOTS 6u
/* Each maps its search's tables anew, which costs with sanitizers. */
#define WORLDS (TAP_SANITIZED ? 500u : 4000u)

#define SAYS_TEXT 4 /* beside enum word_evidence */

struct world {
	uint64_t random;
	uint32_t blocks;
	bool has_tags, has_texts;
	uint64_t memory[BLOCKS_MAX][WORDS], values[ROOTS];
	uint8_t says[BLOCKS_MAX][WORDS], root_says[ROOTS];
	bool is_known[BLOCKS_MAX], is_text[BLOCKS_MAX], has_left[BLOCKS_MAX];
	bool held[BLOCKS_MAX]; /* by what is not in doubt */
};

static uint32_t draw(struct world *w, uint32_t below)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(w->random >> 33) % below;
}

static uint64_t draw_pointer(struct world *w)
{
	static const uint8_t into[] = {0, 0, 0, 1, 3, 8, 17, 17, 33, 40};
	return BASE + (uint64_t)draw(w, w->blocks) * BLOCK_BYTES + into[draw(w, sizeof(into))];
}

static void make(struct world *w)
{
	memset(w->memory, 0, sizeof(w->memory));
	w->blocks = 1 + draw(w, BLOCKS_MAX);
	w->has_tags = !draw(w, 4);
	w->has_texts = draw(w, 2);
	uint32_t pointers = draw(w, w->blocks * 2 + 1);
	for (uint32_t i = 0; i < pointers; i++)
		w->memory[draw(w, w->blocks)][draw(w, WORDS)] = draw_pointer(w);
	for (uint32_t i = 0; i < w->blocks; i++) {
		w->is_known[i] = draw(w, 2);
		w->is_text[i] = w->has_texts && !draw(w, 5);
		w->has_left[i] = w->has_texts && !w->is_text[i] && w->is_known[i] && draw(w, 2);
		for (uint32_t k = 0; k < WORDS; k++)
			w->says[i][k] = w->is_text[i]    ? SAYS_TEXT
					: w->is_known[i] ? (uint8_t)draw(w, w->has_left[i] ? 4 : 3)
							 : WORD_UNKNOWN;
	}
	for (uint32_t i = 0; i < ROOTS; i++) {
		w->values[i] = draw(w, 2) ? draw_pointer(w) : 0;
		w->root_says[i] = (uint8_t)draw(w, 3);
	}
}

static uint32_t target_of(uint64_t word)
{
	return (uint32_t)((word - BASE) / BLOCK_BYTES);
}

static bool in_doubt(const struct world *w, uint64_t word, uint8_t says)
{
	uint64_t into = (word - BASE) % BLOCK_BYTES;
	if (says == SAYS_TEXT || says == WORD_STALE)
		return true;
	if (!(into % 8) || (into < 8 && w->has_tags) || says == WORD_POINTER)
		return false;
	return into >= 8 || says == WORD_OTHER;
}

static bool is_false_pointer(const struct world *w, uint64_t word, uint8_t says)
{
	return in_doubt(w, word, says) && w->held[target_of(word)];
}

static void hold(struct world *w, uint64_t word, uint8_t says)
{
	if (!word || in_doubt(w, word, says) || w->held[target_of(word)])
		return;
	uint32_t block = target_of(word);
	w->held[block] = true;
	for (uint32_t i = 0; i < WORDS; i++)
		hold(w, w->memory[block][i], w->says[block][i]);
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

static bool knows(void *context, uint32_t block)
{
	return ((struct world *)context)->is_known[block];
}

static enum word_evidence in_block(void *context, uint32_t block, uint64_t offset)
{
	return ((struct world *)context)->says[block][offset / 8];
}

static enum start_pointers starts(void *context, uint32_t block)
{
	const struct world *w = context;
	return w->is_text[block]    ? START_POINTERS_STALE
	       : w->has_left[block] ? START_POINTERS_ASK
				    : START_POINTERS_COUNT;
}

static enum word_evidence in_root(void *context, const struct graph_root *word)
{
	return ((struct world *)context)->root_says[word->address];
}

static struct search *open_search(struct world *w, struct search_memory *memory)
{
	struct search *search;
	const struct search_options options = {.alignment = 8};
	CHECK_OK(search_create(&options, &search));
	for (uint32_t i = 0; i < w->blocks; i++)
		CHECK_OK(
			search_add_block(search, BASE + (uint64_t)i * BLOCK_BYTES, BLOCK_BYTES, 0));
	const struct search_root root = {.values = w->values, .value_count = ROOTS};
	*memory = (struct search_memory){w, read_memory, NULL};
	CHECK_OK(search_read(search, memory, &root, 1));
	return search;
}

/* Those that stand in `reverse` are those that hold the block by a word that is not false. */
static void check_sources(const struct world *w, const struct reverse *reverse, uint32_t block)
{
	bool wanted[BLOCKS_MAX] = {false}, found[BLOCKS_MAX] = {false};
	for (uint32_t i = 0; i < w->blocks; i++) {
		for (uint32_t k = 0; k < WORDS; k++) {
			uint64_t word = w->memory[i][k];
			wanted[i] |= word && i != block && target_of(word) == block &&
				     !is_false_pointer(w, word, w->says[i][k]);
		}
	}
	uint32_t count;
	const uint32_t *sources = reverse_sources(reverse, block, &count);
	for (uint32_t i = 0; i < count; i++)
		found[sources[i]] = true;
	CHECK(!memcmp(wanted, found, sizeof(wanted)));
}

static void check_roots(const struct world *w, const struct graph *graph, const bool *asked)
{
	for (size_t i = 0; i < graph->roots.len; i++) {
		const struct graph_root *root = &graph->roots.data[i];
		uint64_t word = w->values[root->address];
		bool false_pointer = is_false_pointer(w, word, w->root_says[root->address]);
		if (!asked || asked[target_of(word)])
			CHECK(root->is_false_pointer == false_pointer);
	}
}

static void check(struct world *w, bool of_few)
{
	const struct false_pointer_rule rule = {
		w, knows, in_block, in_root, NULL, w->has_texts ? starts : NULL, w->has_tags};
	struct search_memory memory;
	struct search *search = open_search(w, &memory);
	const struct graph *graph = search_graph(search);
	struct reverse reverse;
	bool asked[BLOCKS_MAX] = {false}, is_few = false;
	if (of_few) {
		CHECK_OK(reverse_make_subset(
			graph, draw(w, w->blocks), BLOCKS_MAX, &reverse, &is_few));
		if (!is_few)
			goto out;
		CHECK_OK(search_find_false_pointers(search, &rule, &reverse.blocks));
		reverse_drop_false(graph, &reverse);
		for (size_t i = 0; i < reverse.blocks.len; i++) {
			asked[reverse.blocks.data[i]] = true;
			check_sources(w, &reverse, reverse.blocks.data[i]);
		}
	} else {
		CHECK_OK(search_find_false_pointers(search, &rule, NULL));
		CHECK_OK(reverse_make(graph, &reverse));
		for (uint32_t i = 0; i < w->blocks; i++)
			check_sources(w, &reverse, i);
	}
	check_roots(w, graph, of_few ? asked : NULL);
	reverse_free(&reverse);
out:
	search_destroy(search);
}

CASE(random_graphs, "what leads into blocks that something else holds is faint, in random heaps")
{
	static struct world w;
	uint32_t false_pointer = 0;
	for (uint32_t i = 0; i < WORLDS; i++) {
		w.random = (i + 1) * 0x9e3779b97f4a7c15ull;
		make(&w);
		memset(w.held, 0, sizeof(w.held));
		for (uint32_t k = 0; k < ROOTS; k++)
			hold(&w, w.values[k], w.root_says[k]);
		for (uint32_t k = 0; k < w.blocks * WORDS; k++) {
			uint64_t word = w.memory[k / WORDS][k % WORDS];
			false_pointer +=
				word && is_false_pointer(&w, word, w.says[k / WORDS][k % WORDS]);
		}
		check(&w, false);
		check(&w, true);
	}
	CHECK(false_pointer > WORLDS);
}

#define PAGE 4096u
#define PAGES 3u

/* A block of some pages, of which one can't be read, and one behind it. */
static size_t read_holed(void *context, uint64_t address, void *ret, size_t bytes)
{
	const uint64_t *last = context;
	uint64_t offset = address - BASE, word = BASE + PAGES * PAGE + 17;
	if (address < BASE || offset >= (PAGES + 1) * PAGE || offset / PAGE == 1)
		return 0;
	uint64_t end = offset < PAGE ? PAGE : (PAGES + 1) * PAGE;
	size_t n = end - offset < bytes ? (size_t)(end - offset) : bytes;
	memset(ret, 0, n);
	if (*last >= offset && *last - offset + 8 <= n)
		memcpy((char *)ret + (*last - offset), &word, 8);
	return n;
}

static bool knows_all(void *context, uint32_t block)
{
	return context && block != UINT32_MAX;
}

static enum word_evidence declared(void *context, uint32_t block, uint64_t offset)
{
	return !block && offset == *(uint64_t *)context ? WORD_POINTER : WORD_OTHER;
}

static enum word_evidence unknown(void *context, const struct graph_root *word)
{
	return context && word ? WORD_UNKNOWN : WORD_OTHER;
}

CASE(hole, "words behind a page that cannot be read are asked about, too")
{
	uint64_t last = 2 * PAGE + 24;
	uint64_t values[] = {BASE, BASE + PAGES * PAGE};
	struct search *search;
	const struct search_options options = {.alignment = 8};
	CHECK_OK(search_create(&options, &search));
	CHECK_OK(search_add_block(search, BASE, PAGES * PAGE, 0));
	CHECK_OK(search_add_block(search, BASE + PAGES * PAGE, PAGE, 0));
	const struct search_root root = {.values = values, .value_count = 2};
	const struct search_memory memory = {&last, read_holed, NULL};
	CHECK_OK(search_read(search, &memory, &root, 1));
	const struct false_pointer_rule rule = {
		&last, knows_all, declared, unknown, NULL, NULL, false};
	CHECK_OK(search_find_false_pointers(search, &rule, NULL));
	const struct graph *graph = search_graph(search);
	CHECK_U64(graph_edges_end(graph, 0) - graph->heads.data[0], 1);
	CHECK(!graph_is_false_pointer(graph, graph->heads.data[0]));
	search_destroy(search);
}

TAP_MAIN
