/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compared views of sizes, lifetimes and threads. */
#include "base/util.h"
#include "views/compare/change_columns.h"
#include "views/compare/change_view.h"
#include "views/report/figure_text.h"
#include "views/report/histogram_axis.h"
#include "views/report/member_columns.h"
#include "views/report/report_answers.h"
#include "views/report/site_columns.h"

/* Columns for people: what there was, by how much there is more, whether the row is new. */
#define BEFORE(width_)                                                                             \
	{                                                                                          \
		"before", COLUMN_INTEGER, UNIT_COUNT, .for_people = true, .title = "before",       \
						      .width = width_                              \
	}
#define MORE(width_, unit_)                                                                        \
	{                                                                                          \
		"more", COLUMN_SIGNED, unit_, .for_people = true, .title = "±", .width = width_,   \
					      .unknown = ""                                        \
	}
#define REMARK                                                                                     \
	{                                                                                          \
		"remark", COLUMN_TEXT, .for_people = true, .title = ""                             \
	}

#define SIZE_FIGURES(type)                                                                         \
	{"allocations", type, UNIT_COUNT, .says = "of these sizes",                                \
		COLUMN_OF(size_sums, allocations)},                                                \
	{                                                                                          \
		"bytes", type, UNIT_BYTES, .says = "allocated by these",                           \
					   COLUMN_OF(size_sums, bytes)                             \
	}
CHANGE_PAIR_TYPES(size, SIZE_FIGURES);

/* The row that is laid out, and what it is made of. */
struct size_rows {
	const struct size_changes *changes;
	struct size_change row;
	struct change_pair pair;
};

static void show_size(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context, (void)row;
	text_printf(out, "%s B", FMT_COUNT(cell->number));
}

static void show_most(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context, (void)row;
	text_add(out, "≤ ");
	text_add_padded_bytes(out, cell->number, 10);
}

enum {
	SIZE,
	SIZE_BEFORE,
	ALLOCATIONS,
	MORE_ALLOCATIONS,
	BYTES,
	MORE_BYTES,
	SIZE_REMARK,
	SIZE_STATUS,
	SIZE_BASE,
	SIZE_CHANGE
};
#define SIZE_COLUMNS(...)                                                                          \
	__VA_ARGS__, BEFORE(14),                                                                   \
		{"allocations", COLUMN_INTEGER, UNIT_COUNT, .says = "of these sizes",              \
			.title = "allocations", .width = 14},                                      \
		MORE(14, UNIT_COUNT),                                                              \
		{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "allocated by these",                \
			.title = "bytes", .width = 13},                                            \
		MORE(13, UNIT_BYTES), REMARK, CHANGE_STATUS_COLUMN, CHANGE_BASE_COLUMN(size),      \
		CHANGE_CHANGE_COLUMN(size), COLUMNS_END
static const struct column class_columns[] = {
	SIZE_COLUMNS({"up_to", COLUMN_INTEGER, UNIT_BYTES, .says = "the largest size of the class",
		.title = "up to", .width = 16, .show = show_most})};
static const struct column size_columns[] = {SIZE_COLUMNS({"size", COLUMN_INTEGER, UNIT_BYTES,
	.says = "that was asked for", .title = "size", .width = 16, .show = show_size})};

static void size_change_cell(struct size_rows *rows, unsigned column, struct cell *ret)
{
	const struct size_sums *base = &rows->row.base, *value = &rows->row.value;
	const uint64_t numbers[] = {
		rows->row.size, base->allocations, value->allocations, 0, value->bytes};
	rows->pair = (struct change_pair){size_base_columns, base, value, 0};
	ret->nested = (struct table){column == SIZE_BASE ? &size_base_type : &size_change_type,
		&rows->pair, 1, .limit = 1};
	ret->number = column <= BYTES ? numbers[column] : 0;
	ret->signed_number =
		(int64_t)(column == MORE_ALLOCATIONS ? value->allocations - base->allocations
						     : value->bytes - base->bytes);
	ret->text = column == SIZE_STATUS
			    ? change_status(base->allocations, value->allocations)
			    : change_remark(base->allocations != 0, value->allocations != 0);
}

static void class_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	struct size_rows *rows = *(struct size_rows *const *)context;
	rows->row = (struct size_change){size_class_most((unsigned)row),
		rows->changes->base.classes[row], rows->changes->value.classes[row]};
	size_change_cell(rows, column, ret);
}

const struct table_type change_classes_type = {.name = "size_classes",
	.says = "sizes by powers of two, from the smallest that was asked for to the largest",
	.columns = class_columns,
	.cell = class_cell};

static void size_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	struct size_rows *rows = *(struct size_rows *const *)context;
	rows->row = rows->changes->sizes.data[row];
	size_change_cell(rows, column, ret);
}

const struct table_type change_sizes_type = {.name = "sizes",
	.says = "a row a size, the largest change first",
	.columns = size_columns,
	.cell = size_cell};

static bool differs_in_size(const void *context, size_t row)
{
	const struct size_change *change =
		&(*(struct size_rows *const *)context)->changes->sizes.data[row];
	return change->base.allocations != change->value.allocations;
}

void change_sizes(const struct page *page, struct answer *answer)
{
	const struct size_changes *changes = &page->size_changes;
	struct size_rows rows = {.changes = changes}, *context = &rows;
	unsigned first = min(changes->base.first, changes->value.first);
	unsigned end = max(changes->base.end, changes->value.end);
	const struct table classes = {&change_classes_type, &context, end > first ? end - first : 0,
		.first = first, .limit = TABLE_NO_LIMIT, .hidden = UINT64_C(1) << SIZE_REMARK};
	const struct table sizes = {
		&change_sizes_type, &context, changes->sizes.len, .limit = page->limit};
	struct text *prose = answer_prose(answer);
	if (prose)
		text_printf(prose, "\n%s\n", page->view->title);
	answer_table(answer, &classes);
	if (prose)
		text_add_char(prose, '\n');
	change_rows(answer, &sizes, differs_in_size, "size", "sizes");
}

#define LIFE_FIGURES(type)                                                                         \
	{"freed_blocks", type, UNIT_COUNT, .says = "that lived so long",                           \
		COLUMN_OF(life_count, freed_blocks)},                                              \
		{"freed_bytes", type, UNIT_BYTES, .says = "of these",                              \
			COLUMN_OF(life_count, freed_bytes)},                                       \
		{"live_blocks", type, UNIT_COUNT, .says = "never freed, and so old",               \
			COLUMN_OF(life_count, live_blocks)},                                       \
	{                                                                                          \
		"live_bytes", type, UNIT_BYTES, .says = "of these",                                \
						COLUMN_OF(life_count, live_bytes)                  \
	}
CHANGE_PAIR_TYPES(life, LIFE_FIGURES);

/* Two histograms: rows are buckets. */
struct life_rows {
	const struct life_count *base, *value;
	const struct life_axis *axis;
	struct change_pair *pair; /* of the row that is laid out */
};

static void show_bound(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)cell;
	life_add_bound(((const struct life_rows *)context)->axis, (unsigned)row, out);
}

enum {
	BOUND,
	SHOWN_BOUND,
	FREED_BEFORE,
	FREED_BLOCKS,
	MORE_FREED,
	FREED_BYTES,
	LIVE_BEFORE,
	LIVE_BLOCKS,
	MORE_LIVE,
	LIVE_BYTES,
	LIFE_STATUS,
	LIFE_BASE,
	LIFE_CHANGE
};
#define LIFE_COLUMNS(bound, unit_, says_, title_)                                                  \
	{bound, COLUMN_INTEGER, unit_, .says = says_},                                             \
		{"bound", COLUMN_TEXT, .for_people = true, .title = title_, .width = 16,           \
			.show = show_bound},                                                       \
		BEFORE(14),                                                                        \
		{"freed_blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "that lived so long",         \
			.title = "freed", .width = 14},                                            \
		MORE(14, UNIT_COUNT),                                                              \
		{"freed_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of these"}, BEFORE(14),       \
		{"live_blocks", COLUMN_INTEGER, UNIT_COUNT, .says = "never freed, and so old",     \
			.title = "never freed", .width = 14},                                      \
		MORE(14, UNIT_COUNT),                                                              \
		{"live_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of these"},                    \
		CHANGE_STATUS_COLUMN, CHANGE_BASE_COLUMN(life), CHANGE_CHANGE_COLUMN(life),        \
		COLUMNS_END
static const struct column time_columns[] = {LIFE_COLUMNS("up_to_ns", UNIT_NS,
	"the longest lifetime in the bucket; 0: shorter than the recording can measure; null: any",
	"lived")};
static const struct column other_columns[] = {LIFE_COLUMNS("up_to", UNIT_COUNT,
	"the most allocations of the process in between; null: any", "allocations")};

static uint64_t blocks_of(const struct life_count *count)
{
	return count->freed_blocks + count->live_blocks;
}

static void life_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct life_rows *rows = context;
	const struct life_count *base = &rows->base[row], *value = &rows->value[row];
	const uint64_t numbers[] = {[BOUND] = life_bucket_most((unsigned)row),
		[FREED_BEFORE] = base->freed_blocks,
		[FREED_BLOCKS] = value->freed_blocks,
		[FREED_BYTES] = value->freed_bytes,
		[LIVE_BEFORE] = base->live_blocks,
		[LIVE_BLOCKS] = value->live_blocks,
		[LIVE_BYTES] = value->live_bytes};
	*rows->pair = (struct change_pair){life_base_columns, base, value, 0};
	ret->nested = (struct table){column == LIFE_BASE ? &life_base_type : &life_change_type,
		rows->pair, 1, .limit = 1};
	ret->number = column <= LIVE_BYTES ? numbers[column] : 0;
	ret->signed_number =
		(int64_t)(column == MORE_FREED ? value->freed_blocks - base->freed_blocks
					       : value->live_blocks - base->live_blocks);
	ret->text = column == LIFE_STATUS ? change_status(blocks_of(base), blocks_of(value)) : "";
	if (column == BOUND && row + 1 == LIFE_BUCKETS)
		ret->state = CELL_UNKNOWN;
}

const struct table_type change_lives_type = {.name = "by_time",
	.within = "lifetimes",
	.says = "a row a bucket, ascending",
	.columns = time_columns,
	.cell = life_cell};
const struct table_type change_other_lives_type = {.name = "by_allocations",
	.within = "lifetimes",
	.says = "likewise",
	.columns = other_columns,
	.cell = life_cell};

/* Buckets that either has; people see none between what is too short to tell and the shortest that
 * is not. */
static size_t order_buckets(const struct life_rows *rows, bool brief, size_t *ret)
{
	unsigned first[2], end[2];
	size_t count = 0;
	bool any = false;
	life_bounds(rows->base, &first[0], &end[0]);
	life_bounds(rows->value, &first[1], &end[1]);
	unsigned i = !end[0] ? first[1] : !end[1] ? first[0] : min(first[0], first[1]);
	for (; i < max(end[0], end[1]); i++) {
		any |= i && (blocks_of(&rows->base[i]) || blocks_of(&rows->value[i]));
		if (!i || any || !brief)
			ret[count++] = i;
	}
	return count;
}

static void put_histogram(const struct page *page, bool by_time, struct answer *answer)
{
	const struct lifetimes *base = &page->base_lifetimes, *value = model_lifetimes(page->model);
	struct change_pair pair;
	const struct life_rows rows = {by_time ? base->by_time : base->by_others,
		by_time ? value->by_time : value->by_others,
		by_time ? &life_by_time : &life_by_others, &pair};
	size_t order[LIFE_BUCKETS];
	const struct table table = {by_time ? &change_lives_type : &change_other_lives_type, &rows,
		order_buckets(&rows, answer_is_brief(answer), order), order,
		.limit = TABLE_NO_LIMIT};
	report_put_histogram(page, by_time, &table, answer);
}

void change_lifetimes(const struct page *page, struct answer *answer)
{
	put_histogram(page, true, answer);
	put_histogram(page, false, answer);
}

#define THREAD_FIGURES_OF(type)                                                                    \
	{"allocations", type, UNIT_COUNT, .says = "by it", COLUMN_OF(thread, allocations)},        \
		{"allocated_bytes", type, UNIT_BYTES, .says = "by these",                          \
			COLUMN_OF(thread, allocated_bytes)},                                       \
		{"frees", type, UNIT_COUNT, .says = "by it, of any thread's blocks",               \
			COLUMN_OF(thread, frees)},                                                 \
	{                                                                                          \
		"temporary", type, UNIT_COUNT, .says = "allocations that it freed at once",        \
					       COLUMN_OF(thread, temporary)                        \
	}
CHANGE_PAIR_TYPES(thread, THREAD_FIGURES_OF);

struct thread_change_rows {
	const struct page *page;
	struct change_pair *pair; /* of the row that is laid out */
};

static const struct thread_change *thread_at(const void *context, size_t row)
{
	return &((const struct thread_change_rows *)context)->page->thread_changes.data[row];
}

static const struct thread *example_of(const struct thread_change *row)
{
	return row->newer ? row->newer : row->older;
}

static void change_tables_show_name(
	const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)cell;
	text_thread_name(example_of(thread_at(context, row)), out);
}

static bool knows_temporary(const void *context)
{
	const struct page *page = ((const struct thread_change_rows *)context)->page;
	return diff_knows(&page->compared.diff, METRIC_TEMPORARY);
}

/* People read both, or none. */
static void show_temporary(
	const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)row;
	if (knows_temporary(context))
		text_add_count(out, cell->number);
	else
		text_add(out, "not known");
}

enum {
	TID,
	NAME,
	THREADS,
	CALLS,
	MORE_CALLS,
	ALLOCATED,
	MORE_ALLOCATED,
	FREES,
	TEMPORARY,
	MORE_TEMPORARY,
	FIRST,
	LAST,
	ENDED,
	THREAD_REMARK,
	THREAD_STATUS,
	THREAD_BASE,
	THREAD_CHANGE
};
static const struct column thread_columns[] = {
	[TID] = {"tid", COLUMN_INTEGER,
		.says = "its number; of a thread that is gone that of the older one",
		.title = "tid", .width = 10, .plain = true, COLUMN_OF(thread, tid)},
	[NAME] = {"name", COLUMN_TEXT, .says = "as the program has it", .title = "name", .gap = 2,
		.width = -16, .show = change_tables_show_name, COLUMN_OF(thread, name)},
	[THREADS] = {"threads", COLUMN_INTEGER, UNIT_COUNT, .says = "that the row stands for"},
	[CALLS] = {"allocations", COLUMN_INTEGER, UNIT_COUNT, .says = "by it",
		.title = "allocations", .gap = 1, .width = 15, .unknown = "not known",
		COLUMN_OF(thread, allocations)},
	[MORE_CALLS] = MORE(13, UNIT_COUNT),
	[ALLOCATED] = {"allocated_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "by these",
		.title = "allocated", .width = 13, .unknown = "not known",
		COLUMN_OF(thread, allocated_bytes)},
	[MORE_ALLOCATED] = MORE(13, UNIT_BYTES),
	[FREES] = COUNT_OF(thread, frees, "by it, of any thread's blocks"),
	[TEMPORARY] = {"temporary", COLUMN_INTEGER, UNIT_COUNT,
		.says = "allocations that it freed at once; null: not known, as of samples",
		.title = "temporary", .width = 15, .unknown = "not known", .show = show_temporary,
		COLUMN_OF(thread, temporary)},
	[MORE_TEMPORARY] = MORE(13, UNIT_COUNT),
	[FIRST] = TIME_OF(thread, first_ns, "its first event"),
	[LAST] = TIME_OF(thread, last_ns, "its last event"),
	[ENDED] = FLAG_OF(thread, ended, "it ended before the program"),
	[THREAD_REMARK] = REMARK,
	[THREAD_STATUS] = CHANGE_STATUS_COLUMN,
	[THREAD_BASE] = CHANGE_BASE_COLUMN(thread),
	[THREAD_CHANGE] = CHANGE_CHANGE_COLUMN(thread),
	COLUMNS_END};

/* One that is there now is new, though it only freed. */
static const char *status_of(const struct thread_change *row)
{
	if (row->older && row->newer)
		return change_status(row->base.allocations, row->value.allocations);
	return diff_status_name(row->newer ? DIFF_NEW : DIFF_GONE);
}

/* By how much there is more of a figure. */
static int64_t thread_more(const struct thread_change *row, unsigned column)
{
	return (int64_t)(column == MORE_CALLS ? row->value.allocations - row->base.allocations
			 : column == MORE_ALLOCATED
				 ? row->value.allocated_bytes - row->base.allocated_bytes
				 : row->value.temporary - row->base.temporary);
}

static void thread_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct thread_change_rows *rows = context;
	const struct thread_change *row = thread_at(context, number);
	bool is_figure = column >= CALLS && column <= TEMPORARY && column != MORE_CALLS &&
			 column != MORE_ALLOCATED;
	*rows->pair = (struct change_pair){thread_base_columns, &row->base, &row->value,
		knows_temporary(context) ? 0 : UINT64_C(1) << 3};
	switch (column) {
	case TID:
	case NAME:
		table_member(&thread_columns[column], example_of(row), ret);
		break;
	case THREADS:
		ret->number = example_of(row)->others + 1;
		break;
	case MORE_CALLS:
	case MORE_ALLOCATED:
	case MORE_TEMPORARY:
		ret->signed_number = thread_more(row, column);
		if (column == MORE_TEMPORARY && !knows_temporary(context))
			ret->state = CELL_UNKNOWN;
		break;
	case THREAD_REMARK:
		ret->text = change_remark(row->older != NULL, row->newer != NULL);
		break;
	case THREAD_STATUS:
		ret->text = status_of(row);
		break;
	case THREAD_BASE:
	case THREAD_CHANGE:
		ret->nested = (struct table){
			column == THREAD_BASE ? &thread_base_type : &thread_change_type, rows->pair,
			1, .limit = 1};
		break;
	default:
		table_member(&thread_columns[column], &row->value, ret);
	}
	if (is_figure &&
		!figure_is_known(model_recording(rows->page->model), thread_columns[column].name))
		ret->state = CELL_UNKNOWN;
}

const struct table_type change_threads_type = {.name = "threads",
	.says = "a row a thread, or several that are alike, the largest change first",
	.columns = thread_columns,
	.cell = thread_cell};

static bool differs_in_thread(const void *context, size_t number)
{
	const struct thread_change *row = thread_at(context, number);
	return row->base.allocations != row->value.allocations ||
	       row->base.allocated_bytes != row->value.allocated_bytes ||
	       row->base.frees != row->value.frees || row->base.temporary != row->value.temporary;
}

void change_threads(const struct page *page, struct answer *answer)
{
	struct change_pair pair;
	const struct thread_change_rows context = {page, &pair};
	const struct table threads = {
		&change_threads_type, &context, page->thread_changes.len, .limit = page->limit};
	struct text *prose = answer_prose(answer);
	if (prose)
		text_printf(prose, "\n%s\n", page->view->title);
	change_rows(answer, &threads, differs_in_thread, "thread", "threads");
}
