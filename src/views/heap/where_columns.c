/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap/where_columns.h"

#include "heap/texts.h"

static const char *const names[] = {[HEAP_WHERE_NOWHERE] = "nowhere",
	[HEAP_WHERE_BLOCK] = "block",
	[HEAP_WHERE_ALLOCATOR] = "allocator",
	[HEAP_WHERE_MODULE] = "module",
	[HEAP_WHERE_STACK] = "stack",
	[HEAP_WHERE_THREAD_LOCAL] = "thread-local",
	[HEAP_WHERE_MAPPING] = "mapping"};

/* Whether a column says anything of such an address. */
static bool where_columns_applies(const struct heap_where *where, enum where_column column)
{
	bool is_stack = where->kind == HEAP_WHERE_STACK;
	switch (column) {
	case WHERE_IS:
		return true;
	case WHERE_BLOCK:
	case WHERE_TYPE:
	case WHERE_TEXT:
		return where->kind == HEAP_WHERE_BLOCK;
	case WHERE_MEMBER:
		return where->kind == HEAP_WHERE_BLOCK && *where->member;
	case WHERE_THREAD:
		return is_stack || where->tid;
	case WHERE_MODULE:
	case WHERE_SYMBOL:
		return where->place.module;
	case WHERE_FUNCTION:
	case WHERE_VARIABLE:
		return is_stack;
	case WHERE_VARIABLE_OFFSET:
		return is_stack && where->frame.variable;
	default:
		return where->kind != HEAP_WHERE_NOWHERE;
	}
}

/* What a block that is a text begins with. */
static void text_cell(
	const struct heap_scan *scan, const struct heap_where *where, struct cell *ret)
{
	texts_add_beginning(scan, where->block, NULL, 0, TEXTS_BEGINNING_BYTES, &ret->built);
	if (ret->built.len)
		cell_take_any(ret);
	else
		ret->state = CELL_ABSENT;
}

void where_cell(const struct heap_scan *scan, const struct heap_where *where,
	enum where_column column, struct cell *ret)
{
	const uint64_t numbers[WHERE_COLUMNS] = {[WHERE_BLOCK] = where->start,
		[WHERE_THREAD] = (uint64_t)where->tid,
		[WHERE_VARIABLE_OFFSET] = where->frame.offset,
		[WHERE_INTO] = where->offset};
	const char *texts[WHERE_COLUMNS] = {[WHERE_IS] = names[where->kind],
		[WHERE_TYPE] = where->type,
		[WHERE_MEMBER] = where->member,
		[WHERE_MODULE] = where->place.module ? where->place.module->path : NULL,
		[WHERE_SYMBOL] = where->place.name,
		[WHERE_FUNCTION] = where->frame.function,
		[WHERE_VARIABLE] = where->frame.variable};
	ret->number = numbers[column];
	ret->text = texts[column];
	if (!where_columns_applies(where, column))
		ret->state = CELL_ABSENT;
	else if (column == WHERE_TEXT)
		text_cell(scan, where, ret);
}
