/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of owners of a page: what doesn't fit is below its owner in one node, and sums stay. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "lib/tap.h"
#include "page/page.h"
#include "page/parts/tree.h"

/* all ─ cache ─ node ─ text (1 byte each 3), small, smaller; and a lost one */
static const struct page_owner few[] = {
	{0, "heap", "all", NULL, 0, 0},
	{0, "global", "cache", "/bin/app", 0, 0},
	{1, "inferred", "node", NULL, 100, 10},
	{2, "string", "text", NULL, 30, 3},
	{1, "inferred", "small", NULL, 7, 1},
	{4, "inferred", "smaller", NULL, 2, 1},
	{0, "lost", "lost", NULL, 0, 0},
	{6, "unknown", "24 bytes", NULL, 24, 1},
};
#define FEW (sizeof(few) / sizeof(*few))

static uint32_t number_at(const struct page_stacks *stacks, size_t column, size_t row)
{
	uint32_t number;
	memcpy(&number, stacks->columns.data[column].data.data + 4 * row, sizeof(number));
	return number;
}

static double figure_at(const struct page_stacks *stacks, size_t column, size_t row)
{
	double figure;
	memcpy(&figure, stacks->columns.data[column].data.data + 8 * row, sizeof(figure));
	return figure;
}

static double sum_of(const struct page_stacks *stacks, size_t column)
{
	double sum = 0;
	for (size_t i = 0; i < stacks->columns.data[column].count; i++)
		sum += figure_at(stacks, column, i);
	return sum;
}

/* Columns in their order. */
enum { PARENT, KIND, LABEL, MODULE, BYTES, BLOCKS };

static void build(
	const struct page_owner *owners, size_t count, size_t kept, struct page_stacks *ret)
{
	struct page_tree_ranks ranks = {.nodes = NULL};
	page_stacks_init(ret);
	CHECK(!page_tree_ranks_build(owners, count, &ranks));
	CHECK(!page_tree_build(owners, &ranks, kept, ret));
	page_tree_ranks_deinit(&ranks);
}

CASE(page_tree_whole, "a tree that fits is as it was")
{
	struct page_stacks stacks;
	build(few, FEW, FEW, &stacks);
	CHECK_STR(stacks.columns.data[PARENT].name, "owner.parent");
	CHECK_U64(stacks.columns.data[PARENT].count, FEW);
	CHECK_U64(stacks.owners_summed_up, 0);
	for (size_t i = 0; i < FEW; i++) {
		CHECK_U64(number_at(&stacks, PARENT, i), few[i].parent);
		CHECK_STR(stacks.strings.list.data[number_at(&stacks, LABEL, i)], few[i].label);
	}
	CHECK_STR(stacks.strings.list.data[number_at(&stacks, MODULE, 1)], "/bin/app");
	CHECK(sum_of(&stacks, BYTES) == 163 && sum_of(&stacks, BLOCKS) == 16);
	page_stacks_deinit(&stacks);
}

CASE(page_tree_cut, "the smallest nodes are one below the nearest that is kept")
{
	struct page_stacks stacks;
	/* all, cache, node, text: small and smaller are below the cache, lost below all. */
	build(few, FEW, 4, &stacks);
	CHECK_U64(stacks.columns.data[PARENT].count, 6);
	CHECK_U64(stacks.owners_summed_up, 4);
	CHECK_STR(stacks.strings.list.data[number_at(&stacks, LABEL, 4)], "(2 smaller)");
	CHECK_U64(number_at(&stacks, PARENT, 4), 0);
	CHECK(figure_at(&stacks, BYTES, 4) == 24);
	CHECK_STR(stacks.strings.list.data[number_at(&stacks, LABEL, 5)], "(2 smaller)");
	CHECK_U64(number_at(&stacks, PARENT, 5), 1);
	CHECK(figure_at(&stacks, BYTES, 5) == 9 && figure_at(&stacks, BLOCKS, 5) == 2);
	CHECK_STR(stacks.strings.list.data[number_at(&stacks, KIND, 5)], "cut");
	CHECK(sum_of(&stacks, BYTES) == 163 && sum_of(&stacks, BLOCKS) == 16);
	page_stacks_deinit(&stacks);
}

CASE(page_tree_none, "of a tree that has no room the root stays, and all below it is one node")
{
	struct page_stacks stacks;
	build(few, FEW, 0, &stacks);
	CHECK_U64(stacks.columns.data[PARENT].count, 2);
	CHECK_U64(stacks.owners_summed_up, FEW - 1);
	CHECK(sum_of(&stacks, BYTES) == 163 && sum_of(&stacks, BLOCKS) == 16);
	page_stacks_deinit(&stacks);
}

static bool count_bytes(void *ctx, const char *data, size_t len)
{
	return text_add_n(ctx, data, len), true;
}

CASE(page_tree_limits,
	"more owners than a page has, or than its bytes allow, leave a page that fits")
{
	enum { MANY = PAGE_OWNERS_MAX + 1000 };
	struct page_owner *owners = calloc(MANY, sizeof(*owners));
	char(*names)[16] = calloc(MANY, sizeof(*names));
	CHECK(owners && names);
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "t%" PRIu32, i % 5000 * 2654435761u);
		owners[i] = (struct page_owner){
			i ? (i - 1) / 7 : 0, "inferred", names[i], NULL, i % 1000 + 1, 1};
	}
	struct page_wanted wanted = {.writer = "test",
		.kind = "heap",
		.title = "test",
		.owners = owners,
		.owner_count = MANY};
	for (wanted.most_bytes = PAGE_BYTES_MAX; wanted.most_bytes >= 1 << 20;
		wanted.most_bytes /= 16) {
		struct text out;
		text_init(&out);
		const struct sink sink = {count_bytes, &out};
		CHECK(!page_write(&wanted, &sink));
		CHECK(out.len > 0 && out.len <= wanted.most_bytes);
		text_deinit(&out);
	}
	free(owners);
	free(names);
}

TAP_MAIN
