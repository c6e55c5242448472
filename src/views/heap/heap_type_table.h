/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of heap views: the types of the blocks that are wanted, in the order that is wanted. */
#ifndef VIEWS_HEAP_TYPE_TABLE_H
#define VIEWS_HEAP_TYPE_TABLE_H

#include "table/answer.h"
#include "views/heap_view.h"

/* The types, with figures of the wanted blocks alone. */
struct type_table {
	struct heap_type *own;          /* all of them; NULL: all blocks are wanted */
	const struct heap_type **types; /* those that are shown, in their order */
	size_t count;
	uint64_t blocks, bytes;
};

/* The types that have such blocks; by bytes, if nothing else is asked. The table is to be given
 * back after an error, too. */
struct error *type_table_make(const struct heap_page *page, struct type_table *ret) must_check_;
void type_table_deinit(struct type_table *table);

/* Its rows: `context` is type_table's `types`. */
extern const struct table_type heap_types_table;

#endif
