/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See calltree.h. One hash of (parent, spot) finds a node; children are put in order at the end. */
#include "analysis/calltree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

#define NO_SPOT UINT32_MAX

static uint64_t hash_number(uint64_t number)
{
	return hash_u64(number);
}

static bool same_number(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(node_map, uint64_t, uint32_t, hash_number, same_number)

struct building {
	struct calltree *tree;
	struct node_map map;
	struct spot_vec stack;
	enum metric metric;
	const bool *is_chosen;
};

static const char *const way_names[] = {
	[CALLTREE_DOWN] = "top-down",
	[CALLTREE_UP] = "bottom-up",
	[CALLTREE_CALLEES] = "callees",
	[CALLTREE_CALLERS] = "callers",
};

const char *calltree_way_name(enum calltree_way way)
{
	assert((size_t)way < ARRAY_SIZE(way_names));
	return way_names[way];
}

void figure_add(struct figure *figure, enum metric metric, const struct row *row)
{
	figure->now += metric_of_site(metric, row->sums);
	figure->base += metric_of_site(metric, row->base);
}

static inline void figure_sum(struct figure *figure, struct figure more)
{
	figure->now += more.now;
	figure->base += more.base;
}

void calltree_init(struct calltree *tree)
{
	*tree = (struct calltree){.order = NULL};
	calltree_nodes_init(&tree->nodes);
}

void calltree_deinit(struct calltree *tree)
{
	calltree_nodes_deinit(&tree->nodes);
	free(tree->order);
	spots_destroy(tree->spots);
}

static bool goes_down(enum calltree_way way)
{
	return way == CALLTREE_DOWN || way == CALLTREE_CALLEES;
}

/* The child of a node, added if there is none. */
static struct error *find_child(
	struct building *at, uint32_t parent, const struct spot *spot, uint32_t *ret)
{
	struct calltree_nodes *nodes = &at->tree->nodes;
	uint64_t key = (uint64_t)parent << 32 | (spot ? spot->id : NO_SPOT);
	bool is_new;
	uint32_t *known = node_map_insert(&at->map, key, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		struct calltree_node node = {
			.spot = spot,
			.parent = parent,
			.depth = nodes->data[parent].depth + 1,
		};
		*known = (uint32_t)nodes->len;
		if (nodes->len >= UINT32_MAX || !calltree_nodes_push(nodes, node))
			return error_no_memory();
		nodes->data[parent].children++;
	}
	*ret = *known;
	return NULL;
}

/* The part of a stack that goes into the tree, as [first, last] counted from the innermost. */
static bool calltree_find_part(const struct building *at, size_t *ret_first, size_t *ret_last)
{
	const struct spot_vec *stack = &at->stack;
	size_t innermost = SIZE_MAX, outermost = 0;
	*ret_first = 0;
	*ret_last = stack->len - 1;
	if (!at->is_chosen)
		return true;
	for (size_t i = 0; i < stack->len; i++) {
		if (!at->is_chosen[stack->data[i]->id])
			continue;
		outermost = i;
		if (innermost == SIZE_MAX)
			innermost = i;
	}
	if (goes_down(at->tree->way))
		*ret_last = outermost;
	else
		*ret_first = innermost;
	return innermost != SIZE_MAX;
}

/* Upward, self is what the function of the branch allocated itself: it is the innermost frame. */
static struct error *calltree_add_part(
	struct building *at, struct figure figure, size_t first, size_t last)
{
	struct calltree_nodes *nodes = &at->tree->nodes;
	bool down = goes_down(at->tree->way);
	uint32_t node = 0;
	figure_sum(&nodes->data[0].total, figure);
	for (size_t i = 0; i <= last - first; i++) {
		const struct spot *spot = at->stack.data[down ? last - i : first + i];
		struct error *error = find_child(at, node, spot, &node);
		if (error)
			return error;
		figure_sum(&nodes->data[node].total, figure);
		if (!down && first == 0)
			figure_sum(&nodes->data[node].self, figure);
	}
	if (down)
		figure_sum(&nodes->data[node].self, figure);
	return NULL;
}

static struct error *calltree_add_row(struct building *at, const struct row *row)
{
	struct calltree_nodes *nodes = &at->tree->nodes;
	struct error *error = spots_stack(at->tree->spots, row->frames, row->depth, &at->stack);
	if (error)
		return error;
	struct figure figure = {0};
	figure_add(&figure, at->metric, row);
	if (at->stack.len) {
		size_t first, last;
		return calltree_find_part(at, &first, &last)
			       ? calltree_add_part(at, figure, first, last)
			       : NULL;
	}
	if (at->is_chosen)
		return NULL;
	uint32_t node;
	error = find_child(at, 0, NULL, &node);
	if (error)
		return error;
	figure_sum(&nodes->data[0].total, figure);
	figure_sum(&nodes->data[node].total, figure);
	figure_sum(&nodes->data[node].self, figure);
	return NULL;
}

static uint64_t calltree_weight(const struct calltree_node *node)
{
	int64_t value = figure_value(node->total);
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static int compare_children(const void *left, const void *right, void *ctx)
{
	const struct calltree_node *nodes = ctx;
	const struct calltree_node *a = &nodes[*(const uint32_t *)left];
	const struct calltree_node *b = &nodes[*(const uint32_t *)right];
	if (calltree_weight(a) != calltree_weight(b))
		return calltree_weight(a) > calltree_weight(b) ? -1 : 1;
	if (!a->total.now != !b->total.now)
		return a->total.now ? -1 : 1;
	int names = strcmp(a->spot ? a->spot->name : "", b->spot ? b->spot->name : "");
	return names ? names : a < b ? -1 : a > b;
}

static struct error *put_in_order(struct calltree *tree)
{
	struct calltree_nodes *nodes = &tree->nodes;
	tree->order = malloc((nodes->len + 1) * sizeof(*tree->order));
	uint32_t *filled = calloc(nodes->len + 1, sizeof(*filled));
	if (!tree->order || !filled) {
		free(filled);
		return error_no_memory();
	}
	uint32_t next = 0;
	for (size_t i = 0; i < nodes->len; i++) {
		nodes->data[i].first_child = next;
		next += nodes->data[i].children;
	}
	for (uint32_t i = 1; i < nodes->len; i++) {
		uint32_t parent = nodes->data[i].parent;
		tree->order[nodes->data[parent].first_child + filled[parent]++] = i;
	}
	free(filled);
	for (size_t i = 0; i < nodes->len; i++)
		if (nodes->data[i].children > 1)
			qsort_r(tree->order + nodes->data[i].first_child, nodes->data[i].children,
				sizeof(*tree->order), compare_children, nodes->data);
	return NULL;
}

struct error *calltree_build(const struct rows *rows, enum metric metric, enum calltree_way way,
	const bool *is_chosen, struct spots *spots, struct calltree *ret)
{
	struct building at = {.tree = ret, .metric = metric, .is_chosen = is_chosen};
	node_map_init(&at.map);
	spot_vec_init(&at.stack);
	ret->way = way;
	ret->spots = spots;
	struct error *error = calltree_nodes_push(&ret->nodes, (struct calltree_node){.parent = 0})
				      ? NULL
				      : error_no_memory();
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		error = calltree_add_row(&at, &rows->rows.data[i]);
	node_map_deinit(&at.map);
	spot_vec_deinit(&at.stack);
	return error ? error : put_in_order(ret);
}
