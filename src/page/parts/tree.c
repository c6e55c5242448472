/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/parts/tree.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"

/* What a node that stands for others is. */
#define KIND_CUT "cut"
#define NODE_CUT UINT32_MAX

struct ranked_node {
	uint64_t bytes; /* with those below */
	uint32_t node;
};

static int compare_nodes(const void *a, const void *b)
{
	const struct ranked_node *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	/* Parents come first, as they have smaller numbers. */
	return (x->node > y->node) - (x->node < y->node);
}

struct error *page_tree_ranks_build(
	const struct page_owner *owners, size_t count, struct page_tree_ranks *ret)
{
	_cleanup_free_ struct ranked_node *ranked = calloc(count + 1, sizeof(*ranked));
	ret->nodes = calloc(count + 1, sizeof(*ret->nodes));
	if (!ranked || !ret->nodes)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked_node){owners[i].bytes, (uint32_t)i};
	for (size_t i = count; i-- > 1;)
		ranked[owners[i].parent].bytes += ranked[i].bytes;
	qsort(ranked, count, sizeof(*ranked), compare_nodes);
	for (size_t i = 0; i < count; i++)
		ret->nodes[i] = ranked[i].node;
	ret->count = count;
	return NULL;
}

void page_tree_ranks_deinit(struct page_tree_ranks *ranks)
{
	free(ranks->nodes);
	*ranks = (struct page_tree_ranks){.nodes = NULL};
}

/* What is left out below a node. */
struct owners_left_out {
	uint64_t bytes, blocks;
	size_t count;
};

struct tree_columns {
	struct page_strings *strings;
	struct page_column *parent, *kind, *label, *module, *bytes, *blocks;
};

static void begin_tree_columns(struct page_stacks *stacks, struct tree_columns *ret)
{
	struct page_columns *columns = &stacks->columns;
	ret->strings = &stacks->strings;
	ret->parent = page_columns_add(columns, "owner.parent", PAGE_U32);
	ret->kind = page_columns_add(columns, "owner.kind", PAGE_U32);
	ret->label = page_columns_add(columns, "owner.label", PAGE_U32);
	ret->module = page_columns_add(columns, "owner.module", PAGE_U32);
	ret->bytes = page_columns_add(columns, "owner.self_bytes", PAGE_F64);
	ret->blocks = page_columns_add(columns, "owner.self_blocks", PAGE_F64);
}

static bool put_tree_string(struct tree_columns *at, struct page_column *column, const char *string)
{
	uint32_t number;
	if (!page_strings_add(at->strings, string, &number))
		return false;
	page_column_u32(column, number);
	return true;
}

static bool put_node(struct tree_columns *at, const struct page_owner *owner, uint32_t parent)
{
	page_column_u32(at->parent, parent);
	page_column_f64(at->bytes, (double)owner->bytes);
	page_column_f64(at->blocks, (double)owner->blocks);
	return put_tree_string(at, at->kind, owner->kind) &&
	       put_tree_string(at, at->label, owner->label) &&
	       put_tree_string(at, at->module, owner->module);
}

static bool put_nodes_left_out(
	struct tree_columns *at, uint32_t parent, const struct owners_left_out *left_out)
{
	_cleanup_(text_deinit) struct text label;
	text_init(&label);
	text_printf(&label, "(%zu smaller)", left_out->count);
	const struct page_owner owner = {.kind = KIND_CUT,
		.label = label.data,
		.bytes = left_out->bytes,
		.blocks = left_out->blocks};
	return !label.failed && put_node(at, &owner, parent);
}

/* Numbers of what is kept, in order; of the others NODE_CUT, and their sums below who is kept. */
static size_t number_kept(const struct page_owner *owners, size_t count, uint32_t *numbers,
	struct owners_left_out *left_out)
{
	uint32_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (numbers[i] != NODE_CUT) {
			numbers[i] = kept++;
			continue;
		}
		size_t above = owners[i].parent;
		while (numbers[above] == NODE_CUT)
			above = owners[above].parent;
		left_out[above].bytes += owners[i].bytes;
		left_out[above].blocks += owners[i].blocks;
		left_out[above].count++;
	}
	return count - kept;
}

struct error *page_tree_build(const struct page_owner *owners, const struct page_tree_ranks *ranks,
	size_t count, struct page_stacks *ret)
{
	_cleanup_free_ uint32_t *numbers = malloc((ranks->count + 1) * sizeof(*numbers));
	_cleanup_free_ struct owners_left_out *left_out =
		calloc(ranks->count + 1, sizeof(*left_out));
	struct tree_columns at;
	if (!numbers || !left_out)
		return error_no_memory();
	for (size_t i = 0; i < ranks->count; i++)
		numbers[ranks->nodes[i]] = i < count || !ranks->nodes[i] ? 0 : NODE_CUT;
	ret->owners_summed_up = number_kept(owners, ranks->count, numbers, left_out);
	begin_tree_columns(ret, &at);
	bool ok = true;
	for (size_t i = 0; ok && i < ranks->count; i++)
		if (numbers[i] != NODE_CUT)
			ok = put_node(&at, &owners[i], numbers[owners[i].parent]);
	for (size_t i = 0; ok && i < ranks->count; i++)
		if (left_out[i].count)
			ok = put_nodes_left_out(&at, numbers[i], &left_out[i]);
	return ok ? NULL : error_no_memory();
}
