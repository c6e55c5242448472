/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "search/dominators.h"

#include <stdlib.h>

#include "base/cleanup.h"

/* Most heaps settle in two or three. */
#define PASSES_MAX 50u
#define UNSEEN UINT32_MAX

/* Holders and what they hold, by holder: sparse rows as of the graph. */
struct holds {
	uint32_t *heads, *blocks;
	uint32_t *of_block_heads, *of_block; /* the same by block */
};

struct finding {
	const struct graph *graph;
	const struct reverse *reverse;
	const struct dominators_holders *holders;
	struct dominators *to;
	struct holds holds;
	uint32_t *order;  /* nodes in reverse postorder: holders first */
	uint32_t *number; /* of each node its place in `order`; UNSEEN: nothing holds it */
	uint32_t count;   /* of `order` */
	uint32_t weak;    /* of these, the first: only weak holders lead there */
};

static void holds_free(struct holds *h)
{
	free(h->heads);
	free(h->blocks);
	free(h->of_block_heads);
	free(h->of_block);
}

/* Rows of pairs: counts, then places (reverse.c does the same). */
static bool make_rows(const struct finding *f, bool by_holder, uint32_t rows, uint32_t **ret_heads,
	uint32_t **ret_cells)
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
		if (roots->data[i].is_faint)
			continue;
		heads[(by_holder ? f->holders->of_root[i] : block) + 2]++;
	}
	for (uint32_t i = 2; i < rows + 2; i++)
		heads[i] += heads[i - 1];
	for (size_t i = 0; i < roots->len; i++) {
		uint32_t block = GRAPH_BLOCK(roots->data[i].edge), holder = f->holders->of_root[i];
		if (roots->data[i].is_faint)
			continue;
		cells[heads[(by_holder ? holder : block) + 1]++] = by_holder ? block : holder;
	}
	return true;
}

static void successors(
	const struct finding *f, uint32_t node, const uint32_t **ret, uint32_t *ret_count)
{
	uint32_t blocks = f->to->block_count;
	if (node >= blocks) {
		uint32_t holder = node - blocks;
		*ret = f->holds.blocks + f->holds.heads[holder];
		*ret_count = f->holds.heads[holder + 1] - f->holds.heads[holder];
		return;
	}
	*ret = f->graph->edges.data + f->graph->heads.data[node];
	*ret_count = graph_edges_end(f->graph, node) - f->graph->heads.data[node];
}

struct step {
	uint32_t node, next; /* of its successors, the one that is next */
};
DEFINE_VEC(steps, struct step)

/* Whether an edge of a block's leads to what nobody has met so far. */
static inline bool is_news(const struct finding *f, uint32_t node, const uint32_t *edge)
{
	if (f->number[GRAPH_BLOCK(*edge)] != UNSEEN)
		return false;
	bool may_be_faint = *edge & GRAPH_INTERIOR ||
			    (node < f->to->block_count && graph_is_text(f->graph, node));
	return !may_be_faint || !graph_is_faint(f->graph, (uint32_t)(edge - f->graph->edges.data));
}

/* Depth first from one holder; nodes are numbered when all behind them are done. */
static bool descend(struct finding *f, struct steps *stack, uint32_t root, uint32_t *done)
{
	f->number[root] = 0;
	if (!steps_push(stack, (struct step){root, 0}))
		return false;
	while (stack->len) {
		struct step *top = &stack->data[stack->len - 1];
		const uint32_t *next;
		uint32_t count, found = UNSEEN;
		successors(f, top->node, &next, &count);
		while (top->next < count && found == UNSEEN) {
			const uint32_t *edge = &next[top->next++];
			found = is_news(f, top->node, edge) ? GRAPH_BLOCK(*edge) : UNSEEN;
		}
		if (found == UNSEEN) {
			f->order[(*done)++] = top->node;
			stack->len--;
			continue;
		}
		f->number[found] = 0;
		if (!steps_push(stack, (struct step){found, 0}))
			return false;
	}
	return true;
}

static bool make_order(struct finding *f)
{
	uint32_t nodes = f->to->block_count + f->to->holder_count, done = 0;
	struct steps stack;
	bool ok = true;
	steps_init(&stack);
	for (uint32_t i = 0; i < nodes; i++)
		f->number[i] = UNSEEN;
	for (int weak = 0; weak < 2; weak++) {
		f->weak = done;
		for (uint32_t i = 0; ok && i < f->to->holder_count; i++) {
			if (f->holders->is_weak[i] == weak)
				ok = descend(f, &stack, f->to->block_count + i, &done);
		}
	}
	f->weak = done - f->weak; /* they are numbered last, and then come first */
	steps_deinit(&stack);
	for (uint32_t i = 0; i < done / 2; i++) {
		uint32_t swap = f->order[i];
		f->order[i] = f->order[done - 1 - i];
		f->order[done - 1 - i] = swap;
	}
	for (uint32_t i = 0; i < done; i++)
		f->number[f->order[i]] = i;
	f->count = done;
	return ok;
}

/* The nearest node above both; DOMINATORS_NONE: only what is above all holders. */
static uint32_t meet(const struct finding *f, uint32_t a, uint32_t b)
{
	const uint32_t *above = f->to->above, *number = f->number;
	while (a != b) {
		if (a == DOMINATORS_NONE || b == DOMINATORS_NONE)
			return DOMINATORS_NONE;
		if (number[a] > number[b])
			a = above[a];
		else
			b = above[b];
	}
	return a;
}

/* Takes one more of those that point at a block. DOMINATORS_LOST: not known so far. */
static void join(const struct finding *f, uint32_t block, uint32_t source, uint32_t *found)
{
	if (f->number[source] == UNSEEN || f->to->above[source] == DOMINATORS_LOST ||
		(f->number[source] < f->weak && f->number[block] >= f->weak))
		return;
	*found = *found == DOMINATORS_LOST ? source : meet(f, *found, source);
}

static uint32_t above_of(const struct finding *f, uint32_t block)
{
	uint32_t found = DOMINATORS_LOST;
	const struct holds *h = &f->holds;
	for (uint32_t i = h->of_block_heads[block]; i < h->of_block_heads[block + 1]; i++)
		join(f, block, f->to->block_count + h->of_block[i], &found);
	for (uint32_t i = f->reverse->heads[block]; i < f->reverse->heads[block + 1]; i++)
		join(f, block, f->reverse->sources[i], &found);
	return found;
}

static void settle(struct finding *f)
{
	struct dominators *to = f->to;
	bool changed = true;
	for (uint32_t i = 0; i < to->block_count + to->holder_count; i++)
		to->above[i] = i < to->block_count ? DOMINATORS_LOST : DOMINATORS_NONE;
	for (unsigned pass = 0; changed && pass < PASSES_MAX; pass++) {
		changed = false;
		for (uint32_t i = 0; i < f->count; i++) {
			uint32_t block = f->order[i];
			if (block >= to->block_count)
				continue;
			uint32_t above = above_of(f, block);
			changed |= above != to->above[block];
			to->above[block] = above;
		}
	}
	to->settled = !changed;
}

/* Those behind come first: what they retain goes up. */
static void sum_up(struct finding *f)
{
	struct dominators *to = f->to;
	for (uint32_t i = f->count; i-- > 0;) {
		uint32_t node = f->order[i];
		if (node < to->block_count)
			to->retained[node] += space_size(f->graph->space, node);
		if (to->above[node] != DOMINATORS_NONE && to->above[node] != DOMINATORS_LOST)
			to->retained[to->above[node]] += to->retained[node];
	}
}

struct error *dominators_find(const struct graph *graph, const struct reverse *reverse,
	const struct dominators_holders *holders, struct dominators *ret)
{
	uint32_t holder_count = holders->count;
	uint32_t blocks = space_count(graph->space);
	size_t nodes = (size_t)blocks + holder_count + 1;
	*ret = (struct dominators){.block_count = blocks,
		.holder_count = holder_count,
		.above = malloc(nodes * sizeof(*ret->above)),
		.retained = calloc(nodes, sizeof(*ret->retained))};
	_cleanup_free_ uint32_t *order = malloc(nodes * sizeof(*order));
	_cleanup_free_ uint32_t *number = malloc(nodes * sizeof(*number));
	struct finding f = {.graph = graph,
		.reverse = reverse,
		.holders = holders,
		.to = ret,
		.order = order,
		.number = number};
	bool ok = ret->above && ret->retained && order && number &&
		  make_rows(&f, true, holder_count, &f.holds.heads, &f.holds.blocks) &&
		  make_rows(&f, false, blocks, &f.holds.of_block_heads, &f.holds.of_block) &&
		  make_order(&f);
	if (ok) {
		settle(&f);
		sum_up(&f);
	}
	holds_free(&f.holds);
	if (!ok)
		dominators_free(ret);
	return ok ? NULL : error_no_memory();
}

void dominators_free(struct dominators *dominators)
{
	free(dominators->above);
	free(dominators->retained);
	*dominators = (struct dominators){.above = NULL};
}
