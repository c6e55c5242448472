/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/retained.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "heap/false_pointers.h"
#include "heap/thread_locals.h"

struct holder_key {
	uint64_t start;
	uint32_t kind, thread;
};
static inline uint64_t holder_hash(struct holder_key key)
{
	return hash_u64(key.start ^ (uint64_t)key.kind << 60 ^ (uint64_t)key.thread << 32);
}
static inline bool holder_equal(struct holder_key a, struct holder_key b)
{
	return a.start == b.start && a.kind == b.kind && a.thread == b.thread;
}
DEFINE_MAP(holder_map, struct holder_key, uint32_t, holder_hash, holder_equal)

struct finding {
	const struct heap_scan *scan;
	struct retained *to;
	struct holder_map map;
	uint32_t *holder_of; /* by root of the graph */
};

/* What a word is a part of. */
static struct error *retained_describe(
	const struct heap_scan *s, const struct graph_root *word, struct retained_holder *ret)
{
	const struct heap_root *root = &s->roots.data[word->root];
	*ret = (struct retained_holder){.kind = root->kind};
	if (root->kind == HEAP_ROOT_MAPPING) {
		uint64_t address = heap_root_address(root, word->address);
		ret->map = address_space_map(s->heap.space, address);
		ret->start = ret->map ? ret->map->start : address;
		return NULL;
	}
	if (root->kind == HEAP_ROOT_COLLECTOR)
		return NULL;
	if (root->kind != HEAP_ROOT_DATA)
		ret->tid = s->heap.space->threads.data[root->thread].tid;
	struct error *error = NULL;
	if (root->kind == HEAP_ROOT_DATA) {
		error = heap_names_place(s->names, s->heap.space, word->address, &ret->place);
		ret->start = word->address;
	} else if (root->kind == HEAP_ROOT_TLS) {
		error = thread_locals_place(s, word->address, &ret->place);
		/* What has no name there is one holder for each thread. */
		ret->start = !error && ret->place.name ? word->address : 0;
	}
	if (!error && ret->place.name) {
		ret->start -= ret->place.offset;
		ret->place.offset = 0;
	}
	return error;
}

static struct error *find_holder(struct finding *f, const struct graph_root *word, uint32_t *ret)
{
	struct retained_holder holder;
	struct error *error = retained_describe(f->scan, word, &holder);
	if (error)
		return error;
	struct holder_key key = {holder.start, (uint32_t)holder.kind, (uint32_t)holder.tid};
	bool is_new;
	uint32_t *number = holder_map_insert(&f->map, key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = (uint32_t)f->to->holders.len;
		if (!retained_holders_push(&f->to->holders, holder))
			return error_no_memory();
	}
	*ret = *number;
	return NULL;
}

static struct error *find_holders(struct finding *f, const struct graph *graph)
{
	struct error *error = NULL;
	for (size_t i = 0; i < graph->roots.len && !error; i++)
		error = find_holder(f, &graph->roots.data[i], &f->holder_of[i]);
	return error;
}

static int by_bytes(const void *a, const void *b)
{
	const struct retained_row *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	/* Holders first, then by address: what the other dominates comes after it. */
	return (x->node < y->node) - (x->node > y->node);
}

/* Types of a chain come again after this many blocks. */
#define PERIOD_MOST 8u
/* Shorter chains are shown block by block. */
#define FOLDED_LEAST 4u
#define CHILD_NONE UINT32_MAX
#define CHILD_SEVERAL (UINT32_MAX - 1)

/* By the block that it belongs to. */
struct fold {
	uint64_t count;
	uint32_t cycle, period;
};
static inline uint64_t fold_hash(uint32_t node)
{
	return hash_u64(node);
}
static inline bool fold_equal(uint32_t a, uint32_t b)
{
	return a == b;
}
DEFINE_MAP(fold_map, uint32_t, struct fold, fold_hash, fold_equal)

struct listing {
	const struct heap_scan *scan;
	struct retained *to;
	struct fold_map folds;
	uint64_t least;      /* what retains less is not listed */
	uint32_t *child;     /* of each node the only node that it dominates; or CHILD_… */
	uint64_t *is_folded; /* bit set of nodes */
};

static bool retained_is_block(const struct dominators *d, uint32_t node)
{
	return node < d->block_count;
}

static bool are_alike(const struct listing *l, uint32_t a, uint32_t b)
{
	return heap_scan_type_of(l->scan, a) == heap_scan_type_of(l->scan, b);
}

/* Whether it is dominated by one of its own type: of the nodes of a list the first stands for all.
 */
static bool is_next(const struct listing *l, uint32_t node)
{
	const struct dominators *d = &l->to->dominators;
	uint32_t above = d->above[node];
	return retained_is_block(d, node) && above < d->block_count && are_alike(l, node, above);
}

static bool is_hidden_frame(const struct listing *l, uint32_t node)
{
	return l->is_folded[node / 64] >> node % 64 & 1 || is_next(l, node);
}

static void find_children(const struct listing *l)
{
	const struct dominators *d = &l->to->dominators;
	for (uint32_t i = 0; i < d->block_count; i++) {
		uint32_t above = d->above[i];
		if (above < d->block_count)
			l->child[above] = l->child[above] == CHILD_NONE ? i : CHILD_SEVERAL;
	}
}

/* The block that is the only one dominated by this one; CHILD_NONE: there is not one. */
static uint32_t retained_below(const struct listing *l, uint32_t node)
{
	return l->child[node] < CHILD_SEVERAL ? l->child[node] : CHILD_NONE;
}

/* How many blocks after the first `period` of a chain are of the types of those before; *ret: the
 * last of the first ones. */
static uint64_t count_again(const struct listing *l, uint32_t first, uint32_t period, uint32_t *ret)
{
	uint32_t after = first, node = first;
	uint64_t count = 0;
	for (uint32_t i = 0; i < period && node != CHILD_NONE; i++) {
		*ret = node;
		node = retained_below(l, node);
	}
	for (; node != CHILD_NONE && are_alike(l, node, after); count++) {
		after = retained_below(l, after);
		node = retained_below(l, node);
	}
	return count;
}

/* Leaves out the blocks after `cycle` that repeat the ones before; returns the last of them. */
static uint32_t retained_fold(struct listing *l, const struct fold *fold)
{
	uint32_t shown = fold->cycle, node = fold->cycle;
	while (is_next(l, shown))
		shown = l->to->dominators.above[shown];
	struct fold *place = fold_map_insert(&l->folds, shown, NULL);
	if (!place)
		return CHILD_NONE;
	*place = *fold;
	for (uint64_t i = 0; i < fold->count; i++) {
		node = retained_below(l, node);
		l->is_folded[node / 64] |= 1ull << node % 64;
	}
	return node;
}

/* A chain from its first block on. False: no memory. */
static bool fold_chain(struct listing *l, uint32_t first)
{
	const uint64_t *retained = l->to->dominators.retained;
	uint32_t node = first;
	while (node != CHILD_NONE && retained[node] >= l->least) {
		uint32_t next = retained_below(l, node);
		struct fold found = {.period = 1};
		/* Those of one type are left out as lists are. */
		bool is_list = next != CHILD_NONE && is_next(l, next);
		while (!is_list && found.count < FOLDED_LEAST && found.period < PERIOD_MOST) {
			found.period++;
			found.count = count_again(l, node, found.period, &found.cycle);
		}
		if (found.count >= FOLDED_LEAST) {
			node = retained_fold(l, &found);
			if (node == CHILD_NONE)
				return false;
			next = retained_below(l, node);
		}
		node = next;
	}
	return true;
}

static struct error *fold_chains(struct listing *l)
{
	const struct dominators *d = &l->to->dominators;
	for (uint32_t i = 0; i < d->block_count; i++) {
		uint32_t above = d->above[i];
		bool is_first = above >= d->block_count || l->child[above] == CHILD_SEVERAL;
		if (is_first && above != DOMINATORS_LOST && !fold_chain(l, i))
			return error_no_memory();
	}
	return NULL;
}

/* What retains at least a part of all there is. */
static struct error *retained_list(struct listing *l)
{
	struct retained *to = l->to;
	const struct dominators *d = &to->dominators;
	uint32_t nodes = d->block_count + d->holder_count;
	for (uint32_t i = 0; i < nodes; i++) {
		struct retained_row row = {.node = i, .above = UINT32_MAX, .bytes = d->retained[i]};
		if (i < d->block_count && d->above[i] == DOMINATORS_NONE)
			to->shared_bytes += row.bytes;
		if (row.bytes < l->least || !row.bytes || is_hidden_frame(l, i))
			continue;
		const struct fold *fold = fold_map_find(&l->folds, i);
		if (fold) {
			row.folded = fold->count;
			row.cycle = fold->cycle;
			row.period = fold->period;
		}
		if (!retained_rows_push(&to->rows, row))
			return error_no_memory();
	}
	if (to->rows.len)
		qsort(to->rows.data, to->rows.len, sizeof(*to->rows.data), by_bytes);
	return NULL;
}

static uint32_t row_of(const struct retained *to, uint32_t node)
{
	for (size_t i = 0; i < to->rows.len; i++) {
		if (to->rows.data[i].node == node)
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

/* On which of the rows each hangs; through others that are not listed. */
static void retained_connect(const struct listing *l)
{
	struct retained *to = l->to;
	const struct dominators *d = &to->dominators;
	for (size_t i = 0; i < to->rows.len; i++) {
		uint32_t above = d->above[to->rows.data[i].node];
		while (above < DOMINATORS_LOST && is_hidden_frame(l, above))
			above = d->above[above];
		if (above < DOMINATORS_LOST)
			to->rows.data[i].above = row_of(to, above);
	}
}

/* What retains less than one of this many parts of the heap is no row. */
#define PARTS_MOST 1000u

/* The rows; where none are wanted only what has no single owner is reported. */
static struct error *make_rows(const struct heap_scan *scan, size_t limit, struct retained *to)
{
	size_t nodes = (size_t)to->dominators.block_count + to->dominators.holder_count;
	_cleanup_free_ uint32_t *child = malloc((nodes + 1) * sizeof(*child));
	_cleanup_free_ uint64_t *is_folded = calloc(nodes / 64 + 1, sizeof(*is_folded));
	struct listing l = {.scan = scan,
		.to = to,
		.least = scan->totals.bytes[BLOCK_USED] / PARTS_MOST,
		.child = child,
		.is_folded = is_folded};
	if (!child || !is_folded)
		return error_no_memory();
	to->least = l.least;
	memset(child, 0xff, (nodes + 1) * sizeof(*child));
	find_children(&l);
	struct error *error = limit ? fold_chains(&l) : NULL;
	if (!error)
		error = retained_list(&l);
	to->left_out = to->rows.len < limit ? 0 : to->rows.len - limit;
	to->rows.len -= to->left_out;
	if (!error)
		retained_connect(&l);
	fold_map_deinit(&l.folds);
	return error;
}

struct error *heap_retained(const struct heap_scan *scan, size_t limit, struct retained *ret)
{
	const struct graph *graph = search_graph(scan->search);
	struct reverse reverse;
	*ret = (struct retained){.shared_bytes = 0};
	struct error *error = false_pointers_find(scan, NULL);
	if (!error)
		error = reverse_make(graph, &reverse);
	if (error)
		return error;
	_cleanup_free_ uint32_t *holder_of = calloc(graph->roots.len + 1, sizeof(*holder_of));
	struct finding f = {.scan = scan, .to = ret, .holder_of = holder_of};
	error = holder_of ? find_holders(&f, graph) : error_no_memory();
	holder_map_deinit(&f.map);
	_cleanup_free_ bool *is_weak = calloc(ret->holders.len + 1, sizeof(*is_weak));
	_cleanup_free_ bool *is_last = calloc(ret->holders.len + 1, sizeof(*is_last));
	struct dominators_holders holders = {
		holder_of, is_weak, (uint32_t)ret->holders.len, is_last};
	for (size_t i = 0; is_weak && is_last && i < ret->holders.len; i++) {
		is_weak[i] = ret->holders.data[i].kind == HEAP_ROOT_STACK ||
			     ret->holders.data[i].kind == HEAP_ROOT_REGISTERS;
		is_last[i] = ret->holders.data[i].kind == HEAP_ROOT_COLLECTOR;
	}
	if (!error)
		error = is_weak && is_last
				? dominators_find(graph, &reverse, &holders, &ret->dominators)
				: error_no_memory();
	reverse_free(&reverse);
	if (!error)
		error = make_rows(scan, limit, ret);
	return error;
}

void heap_retained_deinit(struct retained *retained)
{
	retained_holders_deinit(&retained->holders);
	retained_rows_deinit(&retained->rows);
	dominators_free(&retained->dominators);
}
