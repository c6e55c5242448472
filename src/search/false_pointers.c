/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/false_pointers.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "search/impl/search_impl.h"

#define PIECE_WORDS 512u
#define PAGE_BYTES 4096u
/* graph_interior.offset says no more of pointers that lead further. */
#define FAR UINT32_MAX

/* An edge that may be a false pointer. */
struct suspect {
	uint32_t edge, into, block; /* number of the edge, offset in its target, its source */
};
DEFINE_VEC(suspects, struct suspect)

/* The state of search_find_false_pointers(). */
struct false_search {
	struct graph *graph;
	const struct false_pointer_rule *rule;
	struct suspects suspects;   /* ascending by edge */
	uint64_t *few;              /* bit set of the blocks to examine; NULL: all */
	uint64_t *held;             /* bit set of blocks that are held by edges not in doubt */
	struct space_u32 queue;     /* held blocks whose edges were not followed yet */
	struct space_u32 suspected; /* numbers of roots in doubt */
};

static inline bool has_bit(const uint64_t *set, uint32_t number)
{
	return set[number / 64] >> number % 64 & 1;
}

static inline void set_bit(uint64_t *set, uint32_t number)
{
	set[number / 64] |= 1ull << number % 64;
}

static inline bool is_wanted(const struct false_search *d, uint32_t block)
{
	return !d->few || has_bit(d->few, block);
}

static bool may_be_false(const struct false_search *d, uint32_t edge, uint32_t into)
{
	return edge & GRAPH_INTERIOR && into != FAR && into % 8 &&
	       !(into < 8 && d->rule->has_tags) && is_wanted(d, GRAPH_BLOCK(edge));
}

static bool is_false_as(enum word_evidence word, uint32_t into)
{
	return word == WORD_STALE || word == WORD_OTHER || (word == WORD_UNKNOWN && into >= 8);
}

/* Collects all edges of a block that lead to others, except those of kinds that only text has. */
static bool collect_block(struct false_search *d, uint32_t block, bool is_text)
{
	const struct graph *graph = d->graph;
	uint32_t end = graph_edges_end(graph, block);
	bool ok = true;
	for (uint32_t i = graph_edges(graph, block); i < end && ok; i++) {
		uint32_t target = GRAPH_BLOCK(graph->edges.data[i]);
		uint32_t into = graph_offset(graph, i);
		if (target != block && is_wanted(d, target) && (is_text || into != FAR))
			ok = suspects_push(&d->suspects, (struct suspect){i, into, block});
	}
	return ok;
}

static bool has_edges(const struct graph *graph, uint32_t block)
{
	return graph_edges(graph, block) < graph_edges_end(graph, block);
}

static bool collect_texts(struct false_search *d)
{
	struct graph *graph = d->graph;
	uint32_t count = space_count(graph->space);
	bool ok = true;
	for (uint32_t block = 0; block < count && ok && d->rule->starts; block++) {
		enum start_pointers starts = has_edges(graph, block)
						     ? d->rule->starts(d->rule->context, block)
						     : START_POINTERS_COUNT;
		if (starts == START_POINTERS_COUNT)
			continue;
		if (!graph->texts)
			graph->texts = calloc(count / 64 + 1, sizeof(*graph->texts));
		ok = graph->texts && collect_block(d, block, starts == START_POINTERS_STALE);
		if (ok)
			set_bit(graph->texts, block);
	}
	return ok;
}

static int by_edge(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	return (x->edge > y->edge) - (x->edge < y->edge);
}

static bool collect_suspects(struct false_search *d)
{
	if (!collect_texts(d))
		return false;
	size_t texts = d->suspects.len;
	const struct graph *graph = d->graph;
	uint32_t block = 0;
	for (size_t i = 0; i < graph->interiors.len; i++) {
		struct graph_interior at = graph->interiors.data[i];
		if (!may_be_false(d, graph->edges.data[at.edge], at.offset))
			continue;
		while (graph_edges_end(graph, block) <= at.edge)
			block++;
		if (!graph_is_text(graph, block) &&
			!suspects_push(&d->suspects, (struct suspect){at.edge, at.offset, block}))
			return false;
	}
	if (texts)
		qsort(d->suspects.data, d->suspects.len, sizeof(*d->suspects.data), by_edge);
	return true;
}

/* Returns the value of the word that an edge stands for. */
static uint64_t word_of(const struct false_search *d, const struct suspect *suspect)
{
	uint32_t edge = d->graph->edges.data[suspect->edge];
	return space_address(d->graph->space, GRAPH_BLOCK(edge)) + suspect->into;
}

/* Returns whether a word repeats the last one, which was stale. Equal pointers to a start that
 * follow each other have one edge, and it counts if one of them does. */
static bool says_more(struct false_search *d, size_t last, uint64_t word, const uint8_t *says)
{
	const struct suspect *suspect = &d->suspects.data[last];
	return says[last] == WORD_STALE && !suspect->into && word_of(d, suspect) == word;
}

/* Asks the rule about the words of a block's doubted edges [first, end), which are in the order of
 * the words; says[i] becomes what is known of the word of the i-th. Memory may have changed since
 * it was read: words that are not found any more count as pointers. */
static void ask_block(struct false_search *d, size_t first, size_t end, uint8_t *says)
{
	const struct search_memory *memory = d->graph->memory;
	uint32_t block = d->suspects.data[first].block;
	uint64_t start = space_address(d->graph->space, block), size, words[PIECE_WORDS];
	size = space_size(d->graph->space, block);
	if (start % 8 || !d->rule->knows(d->rule->context, block))
		return;
	const size_t begin = first;
	uint64_t wanted = word_of(d, &d->suspects.data[first]);
	for (uint64_t at = 0; at + 8 <= size && (first < end || says[end - 1] == WORD_STALE);) {
		size_t bytes =
			size - at < sizeof(words) ? (size_t)(size - at) & ~7ul : sizeof(words);
		size_t got = memory->read(memory->context, start + at, words, bytes) / 8;
		for (size_t i = 0; i < got; i++) {
			bool is_next = first < end && words[i] == wanted;
			if (!is_next && !(first > begin && says_more(d, first - 1, words[i], says)))
				continue;
			first += is_next;
			says[first - 1] =
				(uint8_t)d->rule->in_block(d->rule->context, block, at + 8 * i);
			if (is_next && first < end)
				wanted = word_of(d, &d->suspects.data[first]);
		}
		/* What can't be read has no words, and others may follow after its page. */
		if (got)
			at += 8 * got;
		else
			at += PAGE_BYTES - (start + at) % PAGE_BYTES;
	}
	memset(says + first, WORD_POINTER, end - first);
}

static bool is_all_text(const struct false_search *d, uint32_t block)
{
	return graph_is_text(d->graph, block) &&
	       d->rule->starts(d->rule->context, block) == START_POINTERS_STALE;
}

/* Keeps the doubts whose words stand where no pointer is declared. */
static bool ask_blocks(struct false_search *d)
{
	struct suspects *suspects = &d->suspects;
	_cleanup_free_ uint8_t *says = calloc(suspects->len + 1, sizeof(*says));
	size_t kept = 0;
	if (!says)
		return false;
	for (size_t i = 0, end; i < suspects->len; i = end) {
		for (end = i; end < suspects->len &&
			      suspects->data[end].block == suspects->data[i].block;)
			end++;
		if (is_all_text(d, suspects->data[i].block))
			memset(says + i, WORD_STALE, end - i);
		else
			ask_block(d, i, end, says);
	}
	for (size_t i = 0; i < suspects->len; i++) {
		const struct suspect *suspect = &suspects->data[i];
		if (says[i] == WORD_STALE ||
			(may_be_false(d, d->graph->edges.data[suspect->edge], suspect->into) &&
				is_false_as((enum word_evidence)says[i], suspect->into)))
			suspects->data[kept++] = *suspect;
	}
	suspects->len = kept;
	return true;
}

static bool ask_roots(struct false_search *d)
{
	struct graph_roots *roots = &d->graph->roots;
	bool ok = true;
	for (size_t i = 0; i < roots->len && ok; i++) {
		const struct graph_root *root = &roots->data[i];
		bool is_stale = d->rule->is_stale && is_wanted(d, GRAPH_BLOCK(root->edge)) &&
				d->rule->is_stale(d->rule->context, root);
		if (is_stale || (may_be_false(d, root->edge, root->offset) &&
					is_false_as(d->rule->in_root(d->rule->context, root),
						root->offset)))
			ok = space_u32_push(&d->suspected, (uint32_t)i);
	}
	return ok;
}

static bool is_suspected(const struct false_search *d, uint32_t edge_number)
{
	const struct suspect *suspects = d->suspects.data;
	size_t low = 0, high = d->suspects.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (suspects[middle].edge < edge_number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < d->suspects.len && suspects[low].edge == edge_number;
}

static bool hold_block(struct false_search *d, uint32_t block)
{
	if (has_bit(d->held, block) || !is_wanted(d, block))
		return true;
	set_bit(d->held, block);
	return space_u32_push(&d->queue, block);
}

static bool hold_by_roots(struct false_search *d)
{
	const struct graph_roots *roots = &d->graph->roots;
	size_t next = 0;
	bool ok = true;
	for (size_t i = 0; i < roots->len && ok; i++) {
		bool is_doubtful = next < d->suspected.len && d->suspected.data[next] == i;
		next += is_doubtful;
		ok = is_doubtful || hold_block(d, GRAPH_BLOCK(roots->data[i].edge));
	}
	return ok;
}

/* Finds what roots hold without the words that are in doubt. */
static bool mark_firmly_held(struct false_search *d)
{
	const struct graph *graph = d->graph;
	d->held = calloc(space_count(graph->space) / 64 + 1, sizeof(*d->held));
	bool ok = d->held && hold_by_roots(d);
	while (ok && d->queue.len) {
		uint32_t block = d->queue.data[--d->queue.len];
		uint32_t end = graph_edges_end(graph, block);
		bool is_text = graph_is_text(graph, block);
		for (uint32_t i = graph_edges(graph, block); i < end && ok; i++) {
			uint32_t edge = graph->edges.data[i];
			if (!((is_text || edge & GRAPH_INTERIOR) && is_suspected(d, i)))
				ok = hold_block(d, GRAPH_BLOCK(edge));
		}
	}
	return ok;
}

static bool store_false_pointers(struct false_search *d)
{
	struct graph *graph = d->graph;
	bool ok = true;
	for (size_t i = 0; i < d->suspects.len && ok; i++) {
		uint32_t edge = d->suspects.data[i].edge;
		if (has_bit(d->held, GRAPH_BLOCK(graph->edges.data[edge])))
			ok = space_u32_push(&graph->false_edges, edge);
	}
	for (size_t i = 0; i < d->suspected.len; i++) {
		struct graph_root *root = &graph->roots.data[d->suspected.data[i]];
		root->is_false_pointer = has_bit(d->held, GRAPH_BLOCK(root->edge));
	}
	return ok;
}

static bool set_few(struct false_search *d, const struct space_u32 *few)
{
	if (!few)
		return true;
	d->few = calloc(space_count(d->graph->space) / 64 + 1, sizeof(*d->few));
	for (size_t i = 0; d->few && i < few->len; i++)
		set_bit(d->few, few->data[i]);
	return d->few;
}

struct error *search_find_false_pointers(
	struct search *search, const struct false_pointer_rule *rule, const struct space_u32 *few)
{
	struct false_search d = {.graph = &search->graph, .rule = rule};
	bool ok = true;
	if (space_count(&search->space))
		ok = set_few(&d, few) && collect_suspects(&d) && ask_blocks(&d) && ask_roots(&d);
	/* Most heaps have no doubtful words. */
	if (ok && (d.suspects.len || d.suspected.len))
		ok = mark_firmly_held(&d) && store_false_pointers(&d);
	search->graph.has_false_pointers = ok;
	suspects_deinit(&d.suspects);
	space_u32_deinit(&d.queue);
	space_u32_deinit(&d.suspected);
	free(d.few);
	free(d.held);
	return ok ? NULL : error_no_memory();
}

size_t graph_false_from(const struct graph *graph, uint32_t edge_number)
{
	const uint32_t *false_numbers = graph->false_edges.data;
	size_t low = 0, high = graph->false_edges.len;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (false_numbers[middle] < edge_number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool graph_is_false_pointer(const struct graph *graph, uint32_t edge_number)
{
	size_t at = graph_false_from(graph, edge_number);
	return at < graph->false_edges.len && graph->false_edges.data[at] == edge_number;
}
