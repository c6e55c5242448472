/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view sizes: how often each size was asked for, in classes and one by one. */
#include "analysis/size_classes.h"
#include "views/report/figure_text.h"
#include "views/report/page.h"
#include "views/report/report_answers.h"
#include "views/report/text_parts.h"

static double sizes_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void show_most(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context, (void)row;
	text_add(out, "≤ ");
	text_add_padded_bytes(out, cell->number, 10);
}

static void show_bar(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	const struct size_classes *classes = context;
	(void)cell;
	text_add_bar(out, classes->classes[row].allocations, classes->highest);
}

enum { CLASS_MOST, CLASS_ALLOCATIONS, CLASS_BAR, CLASS_BYTES };
static const struct column class_columns[] = {
	[CLASS_MOST] = {"up_to", COLUMN_INTEGER, UNIT_BYTES,
		.says = "the largest size of the class", .title = "up to", .width = 16,
		.show = show_most},
	[CLASS_ALLOCATIONS] = {"allocations", COLUMN_INTEGER, UNIT_COUNT, .says = "of these sizes",
		.title = "allocations", .width = 17},
	[CLASS_BAR] = {"bar", COLUMN_TEXT, .for_people = true, .title = "", .gap = 2,
		.width = (int)TEXT_BAR_WIDTH, .show = show_bar},
	[CLASS_BYTES] = {"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "allocated by these",
		.title = "bytes", .width = 13},
	COLUMNS_END};

static void class_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct size_classes *classes = context;
	const uint64_t numbers[] = {size_class_most((unsigned)row),
		classes->classes[row].allocations, 0, classes->classes[row].bytes};
	ret->number = numbers[column];
	ret->text = "";
}

const struct table_type report_size_classes_type = {.name = "size_classes",
	.says = "view `sizes`: sizes by powers of two, from the smallest that was asked for to the "
		"largest",
	.columns = class_columns,
	.cell = class_cell};

static void show_size(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context, (void)row;
	text_printf(out, "%s B", FMT_COUNT(cell->number));
}

enum { SIZE, ALLOCATIONS, SHARE, BYTES };
static const struct column columns[] = {
	[SIZE] = {"size", COLUMN_INTEGER, UNIT_BYTES, .says = "that was asked for",
		.ascending = true, .title = "size", .width = 16, .show = show_size},
	[ALLOCATIONS] = {"allocations", COLUMN_INTEGER, UNIT_COUNT, .says = "of that size",
		.title = "allocations", .gap = 1, .width = 16},
	[SHARE] = {"share", COLUMN_REAL, UNIT_PERCENT, .for_people = true, .title = "", .gap = 1,
		.width = 9},
	[BYTES] = {"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "allocated by these",
		.title = "bytes", .gap = 1, .width = 12},
	COLUMNS_END};

static void sizes_cell_of(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct page *page = context;
	struct size_count row = page->sizes.data[number];
	const uint64_t numbers[] = {row.size, row.allocations, 0, row.size * row.allocations};
	ret->number = numbers[column];
	ret->real = sizes_percent(row.allocations, model_totals(page->model)->allocations);
}

const struct table_type report_sizes_type = {.name = "sizes",
	.says = "view `sizes`: a row a size",
	.columns = columns,
	.cell = sizes_cell_of};

void report_sizes(const struct page *page, struct answer *answer)
{
	struct size_classes classes;
	struct text *prose = answer_prose(answer);
	size_classes_fill(page->model, &classes);
	/* Of a program that allocated nothing none is the first. */
	size_t count = classes.end > classes.first ? classes.end - classes.first : 0;
	const struct table by_class = {&report_size_classes_type, &classes, count,
		.first = classes.first, .limit = TABLE_NO_LIMIT};
	const struct table sizes = {
		&report_sizes_type, page, page->sizes.len, .limit = page->limit};
	if (prose)
		text_printf(prose, "\n%s\n", page->view->title);
	answer_table(answer, &by_class);
	if (prose)
		text_add_char(prose, '\n');
	answer_table(answer, &sizes);
	if (prose && sizes.count > sizes.limit)
		text_more(sizes.count - sizes.limit, "size", "sizes", prose);
}
