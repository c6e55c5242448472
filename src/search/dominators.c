/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/dominators.h"

#include <stdlib.h>

#define UNSEEN UINT32_MAX
/* The number of what is above all holders. */
#define TOP 0u

/* Holders and what they hold, by holder: sparse rows as of the graph. */
struct holds {
	uint32_t *heads, *blocks;
	uint32_t *of_block_heads, *of_block; /* the same by block */
};

/* Nodes have numbers in the order in which a search depth first meets them, from 1 on. What is
 * "above" has a smaller one. All arrays but `number` are by these. */
struct dominators_search {
	const struct graph *graph;
	const struct reverse *reverse;
	const struct dominators_holders *holders;
	struct dominators *to;
	struct holds holds;
	uint32_t *number; /* of each node; UNSEEN: nothing holds it */
	uint32_t *order;  /* the nodes */
	uint32_t count;   /* of `order`, TOP included */
	uint32_t strong;  /* only weak holders lead to those from this number on … */
	uint32_t held;    /* … and only the last ones to those from this */
	/* In the search's tree what each hangs on; of linked ones something above it. */
	uint32_t *above;
	/* Of each the smallest number from which a way leads to it only through larger ones ("semi-
	 * dominator"); during the search the next of its edges. */
	uint32_t *least;
	uint32_t *best; /* of linked ones: on the way up to `above` that of the smallest `least` */
	/* Of each what dominates it directly. Before that is known: the next in its list; of those
	 * that are not linked yet the first of their list. */
	uint32_t *found;
};

static void holds_free(struct holds *h)
{
	free(h->heads);
	free(h->blocks);
	free(h->of_block_heads);
	free(h->of_block);
}

/* Makes sparse rows of (holder, block) pairs: counts them, then puts them in place, as reverse.c.
 */
static bool make_rows(const struct dominators_search *f, bool by_holder, uint32_t rows,
	uint32_t **ret_heads, uint32_t **ret_cells)
{
	const struct graph_roots *roots = &f->graph->roots;
	uint32_t *heads = calloc((size_t)rows + 2, sizeof(*heads));
	uint32_t *cells = malloc((roots->len + 1) * sizeof(*cells));
	*ret_heads = heads;
	*ret_cells = cells;
	if (!heads || !cells)
		return false;
	for (size_t i = 0; i < roots->len; i++) {
		uint32_t block = GRAPH_BLOCK(roots->data[i].edge);
		if (roots->data[i].is_false_pointer)
			continue;
		heads[(by_holder ? f->holders->of_root[i] : block) + 2]++;
	}
	for (uint32_t i = 2; i < rows + 2; i++)
		heads[i] += heads[i - 1];
	for (size_t i = 0; i < roots->len; i++) {
		uint32_t block = GRAPH_BLOCK(roots->data[i].edge), holder = f->holders->of_root[i];
		if (roots->data[i].is_false_pointer)
			continue;
		cells[heads[(by_holder ? holder : block) + 1]++] = by_holder ? block : holder;
	}
	return true;
}

static void list_successors(
	const struct dominators_search *f, uint32_t node, const uint32_t **ret, uint32_t *ret_count)
{
	uint32_t blocks = f->to->block_count;
	if (node >= blocks) {
		uint32_t holder = node - blocks;
		*ret = f->holds.blocks + f->holds.heads[holder];
		*ret_count = f->holds.heads[holder + 1] - f->holds.heads[holder];
		return;
	}
	*ret = f->graph->edges.data + graph_edges(f->graph, node);
	*ret_count = graph_edges_end(f->graph, node) - graph_edges(f->graph, node);
}

/* Returns whether an edge leads to a block that has no number yet. */
static inline bool is_new_type(
	const struct dominators_search *f, uint32_t node, const uint32_t *edge)
{
	if (f->number[GRAPH_BLOCK(*edge)] != UNSEEN)
		return false;
	bool may_be_false = *edge & GRAPH_INTERIOR ||
			    (node < f->to->block_count && graph_is_text(f->graph, node));
	return !may_be_false ||
	       !graph_is_false_pointer(f->graph, (uint32_t)(edge - f->graph->edges.data));
}

static uint32_t number_node(struct dominators_search *f, uint32_t node, uint32_t above)
{
	uint32_t fresh = f->count++;
	f->number[node] = fresh;
	f->order[fresh] = node;
	f->above[fresh] = above;
	f->least[fresh] = 0;
	return fresh;
}

enum { LEVEL_STRONG, LEVEL_WEAK, LEVEL_LAST, LEVELS };

static unsigned level_of(const struct dominators_holders *holders, uint32_t holder)
{
	if (holders->is_last && holders->is_last[holder])
		return LEVEL_LAST;
	return holders->is_weak[holder] ? LEVEL_WEAK : LEVEL_STRONG;
}

/* Searches depth first from one holder. The way back is in `above`. */
static void search_from_holder(struct dominators_search *f, uint32_t root)
{
	uint32_t at = number_node(f, root, TOP);
	while (at != TOP) {
		const uint32_t *next;
		uint32_t count, node = f->order[at], found = UNSEEN;
		list_successors(f, node, &next, &count);
		while (f->least[at] < count && found == UNSEEN) {
			const uint32_t *edge = &next[f->least[at]++];
			found = is_new_type(f, node, edge) ? GRAPH_BLOCK(*edge) : UNSEEN;
		}
		at = found == UNSEEN ? f->above[at] : number_node(f, found, at);
	}
}

static void make_order(struct dominators_search *f)
{
	uint32_t nodes = f->to->block_count + f->to->holder_count;
	for (uint32_t i = 0; i < nodes; i++)
		f->number[i] = UNSEEN;
	f->count = TOP + 1;
	f->above[TOP] = TOP;
	for (unsigned level = 0; level < LEVELS; level++) {
		for (uint32_t i = 0; i < f->to->holder_count; i++) {
			if (level_of(f->holders, i) == level)
				search_from_holder(f, f->to->block_count + i);
		}
		if (level == LEVEL_STRONG)
			f->strong = f->count;
		if (level == LEVEL_WEAK)
			f->held = f->count;
	}
	for (uint32_t i = 0; i < f->count; i++) {
		f->least[i] = f->best[i] = i;
		f->found[i] = TOP;
	}
}

/*
 * Of the nodes from `at` up to the last that is linked (those from `linked` on are) the one of the
 * smallest `least`. All on this way are then right below the first that is not: the way is gone up
 * once, with `above` turned round, and down again.
 */
static uint32_t best_of(const struct dominators_search *f, uint32_t at, uint32_t linked)
{
	uint32_t *above = f->above, *best = f->best;
	uint32_t below = UNSEEN, upper = at;
	while (above[upper] >= linked) {
		uint32_t next = above[upper];
		above[upper] = below;
		below = upper;
		upper = next;
	}
	uint32_t end = above[upper];
	while (below != UNSEEN) {
		uint32_t next = above[below];
		if (f->least[best[upper]] < f->least[best[below]])
			best[below] = best[upper];
		above[below] = end;
		upper = below;
		below = next;
	}
	return best[at];
}

/* Updates `least` of a node by one more source that points to it. */
static inline void join_source(const struct dominators_search *f, uint32_t at, uint32_t source)
{
	uint32_t from = f->number[source];
	if (from == UNSEEN || (from >= f->strong && at < f->strong) ||
		(from >= f->held && at < f->held))
		return;
	uint32_t least = from <= at ? from : f->least[best_of(f, from, at + 1)];
	if (least < f->least[at])
		f->least[at] = least;
}

static void find_least(const struct dominators_search *f, uint32_t at)
{
	uint32_t block = f->order[at];
	const struct holds *h = &f->holds;
	f->least[at] = f->above[at];
	if (block >= f->to->block_count)
		return;
	for (uint32_t i = h->of_block_heads[block]; i < h->of_block_heads[block + 1]; i++)
		join_source(f, at, f->to->block_count + h->of_block[i]);
	for (uint32_t i = f->reverse->heads[block]; i < f->reverse->heads[block + 1]; i++)
		join_source(f, at, f->reverse->sources[i]);
}

/* Linked are, at each step, those from `at` on. */
static void find_dominators(struct dominators_search *f)
{
	for (uint32_t at = f->count - 1; at > TOP; at--) {
		uint32_t above = f->above[at];
		find_least(f, at);
		/* Into the list of its `least`, which can't be linked. */
		f->found[at] = f->found[f->least[at]];
		f->found[f->least[at]] = at;
		for (uint32_t each = f->found[above], next; each != TOP; each = next) {
			next = f->found[each];
			uint32_t best = best_of(f, each, at);
			f->found[each] = f->least[best] < f->least[each] ? best : above;
		}
		f->found[above] = TOP;
	}
	for (uint32_t at = TOP + 1; at < f->count; at++) {
		if (f->found[at] != f->least[at])
			f->found[at] = f->found[f->found[at]];
	}
}

/* Adds retained sizes up the tree, and turns nodes' numbers into their immediate dominators. */
static void sum_up(struct dominators_search *f)
{
	struct dominators *to = f->to;
	for (uint32_t i = f->count - 1; i > TOP; i--) {
		uint32_t node = f->order[i];
		if (node < to->block_count)
			to->retained[node] += space_size(f->graph->space, node);
		if (f->found[i] != TOP)
			to->retained[f->order[f->found[i]]] += to->retained[node];
	}
	to->above = f->number;
	f->number = NULL;
	for (uint32_t node = 0; node < to->block_count + to->holder_count; node++) {
		uint32_t number = to->above[node];
		uint32_t above = number == UNSEEN ? DOMINATORS_LOST : f->found[number];
		to->above[node] = number == UNSEEN ? above
				  : above == TOP   ? DOMINATORS_NONE
						   : f->order[above];
	}
}

static struct error *compute_dominators(struct dominators_search *f)
{
	struct dominators *to = f->to;
	size_t nodes = (size_t)to->block_count + to->holder_count + 1;
	f->number = malloc(nodes * sizeof(*f->number));
	f->order = malloc(nodes * sizeof(*f->order));
	f->above = malloc(nodes * sizeof(*f->above));
	f->least = malloc(nodes * sizeof(*f->least));
	f->best = malloc(nodes * sizeof(*f->best));
	f->found = malloc(nodes * sizeof(*f->found));
	bool ok =
		f->number && f->order && f->above && f->least && f->best && f->found &&
		make_rows(f, true, to->holder_count, &f->holds.heads, &f->holds.blocks) &&
		make_rows(f, false, to->block_count, &f->holds.of_block_heads, &f->holds.of_block);
	if (ok) {
		make_order(f);
		find_dominators(f);
	}
	holds_free(&f->holds);
	free(f->above);
	free(f->least);
	free(f->best);
	to->retained = ok ? calloc(nodes, sizeof(*to->retained)) : NULL;
	if (to->retained)
		sum_up(f);
	free(f->number);
	free(f->order);
	free(f->found);
	return to->retained ? NULL : error_no_memory();
}

struct error *dominators_find(const struct graph *graph, const struct reverse *reverse,
	const struct dominators_holders *holders, struct dominators *ret)
{
	*ret = (struct dominators){
		.block_count = space_count(graph->space), .holder_count = holders->count};
	struct dominators_search f = {
		.graph = graph, .reverse = reverse, .holders = holders, .to = ret};
	return compute_dominators(&f);
}

void dominators_free(struct dominators *dominators)
{
	free(dominators->above);
	free(dominators->retained);
	*dominators = (struct dominators){.above = NULL};
}
