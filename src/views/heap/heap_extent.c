/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a block is, beside its type: how much of it that takes, and what lies in a pool. */
#include "views/heap/heap_extent.h"

#include "heap/inferred.h"

void heap_block_cell(
	const struct heap_scan *scan, uint32_t block, unsigned column, struct cell *ret)
{
	ret->number = column ? search_block_size(scan->search, block)
			     : search_block_address(scan->search, block);
	ret->text = column < 3 ? scan->types.types.data[heap_scan_type_of(scan, block)].name
			       : inferred_basis_name(scan, block);
	if (column == 3 && !ret->text)
		ret->state = CELL_ABSENT;
}

static const struct column extent_columns[] = {HEAP_EXTENT_COLUMNS, COLUMNS_END};

void heap_extent_cell(const struct heap_layout *layout, unsigned column, struct cell *ret)
{
	bool is_counted = layout->is_array && layout->type != TYPE_VOID;
	const uint64_t numbers[HEAP_EXTENTS] = {layout->count, layout->room, layout->after};
	ret->number = numbers[column];
	if (column == 0 ? !is_counted : !numbers[column])
		ret->state = CELL_ABSENT;
}

static void extent_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)row;
	heap_extent_cell(context, column, ret);
}

const struct table_type heap_extent_type = {.columns = extent_columns, .cell = extent_cell};

static const struct column pool_columns[] = {
	{"type", COLUMN_TEXT, .says = "of objects that lie in it"},
	{"places", COLUMN_INTEGER, UNIT_COUNT, .says = "of such"},
	{"step", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "from one of them to the next, where it is the same"},
	COLUMNS_END};

static void pool_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct heap_pool_rows *rows = context;
	const struct pool_kind *kind = &rows->kinds.data[row];
	if (column == 0) {
		pools_add_name(rows->scan, kind->type, &ret->built);
		cell_take_any(ret);
		return;
	}
	ret->number = column == 1 ? kind->places : kind->step;
	if (!ret->number && column == 2)
		ret->state = CELL_ABSENT;
}

const struct table_type heap_pool_kind_type = {.name = "pool",
	.says = "of pools only: the types of the objects in it",
	.columns = pool_columns,
	.cell = pool_cell};

bool heap_pool_rows_fill(const struct heap_scan *scan, uint32_t block, struct heap_pool_rows *ret)
{
	const struct pool *pool = block == SPACE_NONE ? NULL : pools_find(&scan->pools, block);
	*ret = (struct heap_pool_rows){.scan = scan};
	return pool && pools_kinds(scan, pool, &ret->kinds);
}

void heap_pool_rows_deinit(struct heap_pool_rows *rows)
{
	pool_kinds_deinit(&rows->kinds);
}

struct table heap_pool_table(const struct heap_pool_rows *rows)
{
	return (struct table){&heap_pool_kind_type, rows, rows->kinds.len, .limit = TABLE_NO_LIMIT};
}

void heap_extent_answer(struct answer *answer, const struct heap_scan *scan, uint32_t block,
	const struct heap_layout *layout)
{
	struct heap_pool_rows rows;
	if (layout)
		answer_record_of(answer, &heap_extent_type, layout);
	if (heap_pool_rows_fill(scan, block, &rows)) {
		const struct table pool = heap_pool_table(&rows);
		answer_table(answer, &pool);
	}
	heap_pool_rows_deinit(&rows);
}
