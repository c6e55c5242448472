/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a block is, beside its type, in any document that tells of one. Inside views/ only. */
#ifndef VIEWS_HEAP_EXTENT_H
#define VIEWS_HEAP_EXTENT_H

#include "heap/heap_scan.h"
#include "heap/layouts.h"
#include "table/answer.h"

/* What a block is: the first columns of a table; and how an inferred type is known. */
#define HEAP_BLOCK_COLUMNS                                                                         \
	{"address", COLUMN_ADDRESS, .says = "of the block"},                                       \
		{"size", COLUMN_INTEGER, UNIT_BYTES, .says = "what it has room for"},              \
	{                                                                                          \
		"type", COLUMN_TEXT, .says = "of the block"                                        \
	}
#define HEAP_BLOCK_BASIS_COLUMN                                                                    \
	{                                                                                          \
		"by", COLUMN_TEXT,                                                                 \
			.optional = true,                                                          \
			.says = "of inferred types: `declared` or `look-alike`, as of `blocks`"    \
	}
/* One of these columns, by its number among them, from 0 on. */
void heap_block_cell(
	const struct heap_scan *scan, uint32_t block, unsigned column, struct cell *ret);

/* The first columns of a table, or further ones of another. */
#define HEAP_EXTENTS 3u
#define HEAP_EXTENT_COLUMNS                                                                        \
	{"count", COLUMN_INTEGER, UNIT_COUNT, .optional = true,                                    \
		.says = "of an array: its elements"},                                              \
		{"room", COLUMN_INTEGER, UNIT_COUNT, .optional = true,                             \
			.says = "of an array that its owner does not fill: for how many there is " \
				"room"},                                                           \
	{                                                                                          \
		"behind", COLUMN_INTEGER, UNIT_BYTES,                                              \
			.optional = true,                                                          \
			.says = "bytes after the object, which its type does not describe"         \
	}
/* One of these columns, by its number among them. */
void heap_extent_cell(const struct heap_layout *layout, unsigned column, struct cell *ret);
/* They alone, as members of the document. */
extern const struct table_type heap_extent_type;

struct heap_pool_rows {
	const struct heap_scan *scan;
	struct pool_kinds kinds;
};
/* The kinds of what lies in a pool. */
extern const struct table_type heap_pool_kind_type;
/* False: the block (SPACE_NONE: none) is no pool. The rows are to be given back anyway. */
bool heap_pool_rows_fill(const struct heap_scan *scan, uint32_t block, struct heap_pool_rows *ret);
void heap_pool_rows_deinit(struct heap_pool_rows *rows);
struct table heap_pool_table(const struct heap_pool_rows *rows);

/* Both, as far as they apply. `layout` NULL: debug information says nothing of the block. */
#define HEAP_EXTENT_TYPES &heap_extent_type, &heap_pool_kind_type
void heap_extent_answer(struct answer *answer, const struct heap_scan *scan, uint32_t block,
	const struct heap_layout *layout);

#endif
