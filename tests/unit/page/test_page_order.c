/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes of a page are in the order of the tree of functions. */
#include <stdlib.h>

#include "base/map.h"
#include "base/util.h"
#include "lib/tap.h"
#include "page/parts/order.h"

enum { A, B, C, FUNCTIONS };

CASE(page_order_few, "nodes that are one in the tree of functions get numbers side by side")
{
	/* a ─ b ─ a, then c, then a at another line ─ b and c */
	static const uint32_t parents[] = {0, 0, 1, 0, 0, 4, 4, 2};
	static const uint32_t functions[] = {A, A, B, C, A, B, C, A};
	static const uint32_t expected[] = {0, 1, 4, 3, 2, 5, 6, 7};
	uint32_t numbers[ARRAY_SIZE(parents)];
	CHECK(page_order_nodes(parents, functions, ARRAY_SIZE(parents), FUNCTIONS, numbers));
	CHECK_MEM(numbers, expected, sizeof(expected));
}

CASE(page_order_root, "a root alone is number 0")
{
	static const uint32_t none[] = {0};
	uint32_t number = 1;
	CHECK(page_order_nodes(none, none, 1, 0, &number));
	CHECK_U64(number, 0);
}

static inline bool key_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(merged_nodes, uint64_t, uint32_t, hash_u64, key_equal)

enum { NODES = 3000, MANY_FUNCTIONS = 12 };

struct many_nodes {
	uint32_t parents[NODES], functions[NODES], numbers[NODES];
	uint32_t merged[NODES]; /* of each node a number of the node of the tree of functions */
	uint32_t merged_count;
};

/* Any tree, and of each node which node of the tree of functions it is, by a table. */
static void make_many(struct many_nodes *ret)
{
	uint64_t state = 1;
	struct merged_nodes known;
	merged_nodes_init(&known);
	for (uint32_t i = 1; i < NODES; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		ret->parents[i] = (uint32_t)(state >> 33) % i;
		ret->functions[i] = (uint32_t)(state >> 20) % MANY_FUNCTIONS;
		bool is_new;
		uint64_t key = (uint64_t)ret->merged[ret->parents[i]] << 32 | ret->functions[i];
		uint32_t *merged = merged_nodes_insert(&known, key, &is_new);
		CHECK(merged != NULL);
		if (is_new)
			*merged = known.len;
		ret->merged[i] = *merged;
	}
	ret->merged_count = known.len;
	merged_nodes_deinit(&known);
}

CASE(page_order_many, "any tree: levels, children and equal nodes follow one another")
{
	static struct many_nodes many;
	static uint32_t nodes[NODES]; /* by number */
	make_many(&many);
	CHECK(many.merged_count > 100 && many.merged_count < NODES - 100);
	CHECK(page_order_nodes(many.parents, many.functions, NODES, MANY_FUNCTIONS, many.numbers));
	for (uint32_t i = 0; i < NODES; i++) {
		CHECK(many.numbers[i] < NODES);
		nodes[many.numbers[i]] = i;
	}
	CHECK_U64(many.numbers[0], 0);
	/* In one pass, as a browser does it: where each node is in the tree of functions. */
	static uint32_t at[NODES];
	uint32_t last = 0, last_above = 0;
	for (uint32_t number = 1; number < NODES; number++) {
		uint32_t node = nodes[number];
		CHECK_U64(many.numbers[node], number);
		CHECK(many.numbers[many.parents[node]] < number);
		uint32_t above = at[many.numbers[many.parents[node]]];
		CHECK(above >= last_above);
		last += many.merged[node] != many.merged[nodes[number - 1]];
		last_above = above;
		at[number] = last;
	}
	CHECK_U64(last, many.merged_count);
}

TAP_MAIN
