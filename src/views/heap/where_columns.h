/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an address is, as columns of tables that have an address in each row. Inside views/ only. */
#ifndef VIEWS_WHERE_COLUMNS_H
#define VIEWS_WHERE_COLUMNS_H

#include "heap/where.h"
#include "table/table.h"

enum where_column {
	WHERE_IS,
	WHERE_BLOCK,
	WHERE_TYPE,
	WHERE_TEXT,
	WHERE_MEMBER,
	WHERE_THREAD,
	WHERE_MODULE,
	WHERE_SYMBOL,
	WHERE_FUNCTION,
	WHERE_VARIABLE,
	WHERE_VARIABLE_OFFSET,
	WHERE_INTO,
	WHERE_COLUMNS
};

/* The rows of a list of columns, in the order of the enum. */
#define WHERE_COLUMN_ROWS                                                                          \
	{"is", COLUMN_TEXT,                                                                        \
		.says = "`nowhere`, `block`, `allocator`, `module`, `stack`, `thread-local`, "     \
			"`mapping`; of what `find` finds also `free`, `cached`"},                  \
		{"block", COLUMN_ADDRESS, .optional = true, .says = "where that begins"},          \
		{"type", COLUMN_TEXT, .optional = true, .says = "of blocks"},                      \
		{"block_text", COLUMN_TEXT, .optional = true,                                      \
			.says = "of blocks that are texts: the first characters"},                 \
		{"into_member", COLUMN_TEXT, .optional = true,                                     \
			.says = "of blocks: the member that it points to, where that is known"},   \
		{"thread", COLUMN_INTEGER, .optional = true,                                       \
			.says = "of stacks, thread-local storage and blocks of it"},               \
		{"module", COLUMN_TEXT, .optional = true,                                          \
			.says = "of modules and thread-local storage"},                            \
		{"symbol", COLUMN_TEXT, .optional = true, .says = "likewise, or null"},            \
		{"function", COLUMN_TEXT, .optional = true, .says = "of stacks, or null"},         \
		{"variable", COLUMN_TEXT, .optional = true, .says = "of stacks, or null"},         \
		{"variable_offset", COLUMN_INTEGER, UNIT_BYTES, .optional = true,                  \
			.says = "from where the variable begins"},                                 \
	{                                                                                          \
		"into", COLUMN_INTEGER, UNIT_BYTES,                                                \
			.optional = true, .says = "how far it is after where that begins"          \
	}

void where_cell(const struct heap_scan *scan, const struct heap_where *where,
	enum where_column column, struct cell *ret);

#endif
