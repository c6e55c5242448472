/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/retained.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "heap/faint.h"
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
	const struct survey *survey;
	struct retained *to;
	struct holder_map map;
	uint32_t *holder_of; /* by root of the graph */
};

/* What a word is a part of. */
static struct error *describe(
	const struct survey *s, const struct graph_root *word, struct retained_holder *ret)
{
	const struct heap_root *root = &s->roots.data[word->root];
	*ret = (struct retained_holder){.kind = root->kind};
	if (root->kind == HEAP_ROOT_MAPPING) {
		uint64_t address = heap_root_address(root, word->address);
		ret->map = address_space_map(s->heap.space, address);
		ret->start = ret->map ? ret->map->start : address;
		return NULL;
	}
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
	struct error *error = describe(f->survey, word, &holder);
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
	/* Holders first, then by address: what hangs on the other comes behind it. */
	return (x->node < y->node) - (x->node > y->node);
}

/* Whether it hangs on one of its own type: of the nodes of a list the first stands for all. */
static bool is_next(const struct survey *s, const struct dominators *d, uint32_t node)
{
	uint32_t above = d->above[node];
	return node < d->block_count && above < d->block_count &&
	       survey_type_of(s, node) == survey_type_of(s, above);
}

/* What retains at least a part of all there is. */
static struct error *list(const struct survey *survey, struct retained *to, uint64_t least)
{
	const struct dominators *d = &to->dominators;
	uint32_t nodes = d->block_count + d->holder_count;
	for (uint32_t i = 0; i < nodes; i++) {
		struct retained_row row = {i, UINT32_MAX, d->retained[i]};
		if (i < d->block_count && d->above[i] == DOMINATORS_NONE)
			to->shared_bytes += row.bytes;
		if (row.bytes < least || !row.bytes || is_next(survey, d, i))
			continue;
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
static void connect(const struct survey *survey, struct retained *to)
{
	const struct dominators *d = &to->dominators;
	for (size_t i = 0; i < to->rows.len; i++) {
		uint32_t above = d->above[to->rows.data[i].node];
		while (above < DOMINATORS_LOST && is_next(survey, d, above))
			above = d->above[above];
		if (above < DOMINATORS_LOST)
			to->rows.data[i].above = row_of(to, above);
	}
}

#define LEAST_PART 1000u

struct error *heap_retained(const struct survey *survey, size_t limit, struct retained *ret)
{
	const struct graph *graph = search_graph(survey->search);
	struct reverse reverse;
	*ret = (struct retained){.shared_bytes = 0};
	struct error *error = faint_find(survey, NULL);
	if (!error)
		error = reverse_make(graph, &reverse);
	if (error)
		return error;
	_cleanup_free_ uint32_t *holder_of = calloc(graph->roots.len + 1, sizeof(*holder_of));
	struct finding f = {.survey = survey, .to = ret, .holder_of = holder_of};
	error = holder_of ? find_holders(&f, graph) : error_no_memory();
	holder_map_deinit(&f.map);
	_cleanup_free_ bool *is_weak = calloc(ret->holders.len + 1, sizeof(*is_weak));
	struct dominators_holders holders = {holder_of, is_weak, (uint32_t)ret->holders.len};
	for (size_t i = 0; is_weak && i < ret->holders.len; i++)
		is_weak[i] = ret->holders.data[i].kind == HEAP_ROOT_STACK ||
			     ret->holders.data[i].kind == HEAP_ROOT_REGISTERS;
	if (!error)
		error = is_weak ? dominators_find(graph, &reverse, &holders, &ret->dominators)
				: error_no_memory();
	reverse_free(&reverse);
	if (!error)
		error = list(survey, ret, survey->totals.bytes[BLOCK_USED] / LEAST_PART);
	if (!error) {
		ret->rows.len = ret->rows.len < limit ? ret->rows.len : limit;
		connect(survey, ret);
	}
	return error;
}

void heap_retained_deinit(struct retained *retained)
{
	retained_holders_deinit(&retained->holders);
	retained_rows_deinit(&retained->rows);
	dominators_free(&retained->dominators);
}
