/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "lib/hpw_story.h"

static void put_search(struct builder *builder, const struct story_leaks *leaks)
{
	struct buf search;
	buf_init(&search);
	for (size_t i = 0; i < leaks->search_len; i++) {
		buf_varint(&search, leaks->search[i][0]);
		buf_varint(&search, leaks->search[i][1]);
	}
	if (leaks->problem) {
		buf_varint(&search, HPW_LEAK_PROBLEM);
		buf_varint(&search, strlen(leaks->problem));
		buf_bytes(&search, leaks->problem, strlen(leaks->problem));
	}
	builder_chunk(builder, HPW_LEAK_SEARCH, &search);
	buf_deinit(&search);
}

static void put_roots(struct builder *builder, const struct story_leaks *leaks)
{
	struct columns columns;
	columns_init(&columns, 7);
	for (size_t i = 0; i < leaks->roots_len; i++) {
		const struct story_root *root = &leaks->roots[i];
		for (size_t k = 0; k < 5; k++)
			buf_varint(&columns.column[k], root->numbers[k]);
		buf_varint(&columns.column[5], strlen(root->name));
		buf_bytes(&columns.column[6], root->name, strlen(root->name));
	}
	builder_columns(builder, HPW_LEAK_ROOTS, &columns);
}

static void put_rows(struct builder *builder, enum hpw_chunk_type type, const uint64_t *numbers,
	size_t rows, size_t row_len)
{
	struct columns columns;
	columns_init(&columns, row_len);
	for (size_t i = 0; i < rows * row_len; i++)
		buf_varint(&columns.column[i % row_len], numbers[i]);
	builder_columns(builder, type, &columns);
}

void builder_leaks(struct builder *builder, const struct story_leaks *leaks)
{
	put_search(builder, leaks);
	put_roots(builder, leaks);
	if (leaks->groups_len)
		put_rows(builder, HPW_LEAK_GROUPS, leaks->groups[0], leaks->groups_len, 9);
	if (leaks->records_len)
		put_rows(builder, HPW_LEAK_RECORDS, leaks->records[0], leaks->records_len, 11);
}
