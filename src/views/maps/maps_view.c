/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/maps_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "views/maps/maps_fill.h"

#define TEXT_ROWS 30u

/* Figures that are known or not. */
static void figure_cell(uint64_t value, struct cell *ret)
{
	ret->number = value;
	if (value == MAPPING_NO_FIGURE)
		ret->state = CELL_UNKNOWN;
}

static void looked_cell(const struct maps_row *row, enum look_figure figure, struct cell *ret)
{
	bool is_gone = row->region && !row->region->is_seen;
	ret->number = is_gone ? 0 : row->figures[figure];
	if (!is_gone && !(row->known & 1u << figure))
		ret->state = CELL_UNKNOWN;
}

static void kilobytes_show(
	const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context;
	(void)row;
	text_printf(out, "%" PRIu64, cell->number >> 10);
}

static void change_show(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context;
	(void)row;
	text_printf(out, "%+" PRId64, cell->signed_number / 1024);
}

/* KiB a minute. */
static void rate_show(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context;
	(void)row;
	text_printf(out, "%+.0f", cell->real * 60 / 1024);
}

/* Columns of growth, the same of regions, owners and processes. */
enum growth_column {
	GROWN_BYTES,
	GROWN_RATE,
	GROWN_LOW,
	GROWN_HIGH,
	GROWN_DETERMINATION,
	GROWN_SHAPE,
	GROWN_COLUMNS
};
#define GROWTH_COLUMNS                                                                             \
	{"growth_bytes", COLUMN_SIGNED, UNIT_BYTES,                                                \
		.says = "resident at the last look, less those of the first one; null: of one "    \
			"look, "                                                                   \
			"or one of them is not known",                                             \
		.title = "GROWN KB", .width = 10, .gap = 1, .show = change_show},                  \
		{"growth_bytes_per_second", COLUMN_REAL,                                           \
			.says = "slope of the line through all looks, if `shape` is `steady`; "    \
				"null "                                                            \
				"otherwise: then there is no rate",                                \
			.title = "KB/MINUTE", .width = 10, .gap = 1, .unknown = "-",               \
			.show = rate_show},                                                        \
		{"growth_low", COLUMN_REAL,                                                        \
			.says = "with `growth_high`: the slope's interval, 95 % confidence"},      \
		{"growth_high", COLUMN_REAL, .says = "see `growth_low`"},                          \
		{"determination", COLUMN_REAL, .says = "R² of the line: 1 if it explains all"},    \
	{                                                                                          \
		"shape", COLUMN_TEXT,                                                              \
			.says = "`same`, `steady`, `once` (grew in one step), `uneven` (grew, "    \
				"but "                                                             \
				"not along a line, or there are two looks), `waves`, `shrank`, "   \
				"`unknown`"                                                        \
	}

static void growth_cell(const struct maps_row *row, enum growth_column column, struct cell *ret)
{
	const struct mapping_fit *fit = &row->fit;
	const double reals[GROWN_COLUMNS] = {[GROWN_RATE] = fit->slope,
		[GROWN_LOW] = fit->low,
		[GROWN_HIGH] = fit->high,
		[GROWN_DETERMINATION] = fit->determination};
	bool is_known = fit->shape != MAPPING_UNKNOWN && row->looks > 1;
	if (column == GROWN_SHAPE) {
		ret->text = row->looks > 1 ? mapping_shape_name(fit->shape) : NULL;
		return;
	}
	ret->signed_number = fit->change;
	ret->real = reals[column];
	if (!is_known || (column != GROWN_BYTES && fit->shape != MAPPING_STEADY))
		ret->state = CELL_UNKNOWN;
}

/* Resident bytes at each look. */
static void value_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	(void)column;
	figure_cell(((const uint64_t *)context)[row], ret);
}

static const struct table_type value_type = {
	.columns = (const struct column[]){{"", COLUMN_INTEGER, UNIT_BYTES,
						   .says = "at a look; null: not known"},
		COLUMNS_END},
	.cell = value_cell};

static const struct column string_columns[] = {
	{"text", COLUMN_TEXT, .says = "with # for digits; at most 64 characters"},
	{"count", COLUMN_INTEGER, UNIT_COUNT, .says = "how many there are"},
	{"count_error", COLUMN_INTEGER, UNIT_COUNT,
		.says = "so many of these may be others: more kinds of strings were met than are "
			"kept"},
	{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of all of them"}, COLUMNS_END};

static void string_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct memory_string *string = &((const struct memory_string *)context)[row];
	const uint64_t numbers[] = {0, string->count, string->error, string->bytes};
	ret->text = column ? NULL : string->text;
	ret->number = numbers[column];
}

static const struct table_type string_type = {.columns = string_columns, .cell = string_cell};

enum page_column { PAGES_NEW, PAGES_READ, PAGES_ZERO, PAGES_STRING, PAGES_UNREAD, PAGES_STRINGS };
static const struct column page_columns[] = {
	[PAGES_NEW] = {"bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "of pages that were not in memory at the first look"},
	[PAGES_READ] = {"read_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "of these that were read"},
	[PAGES_ZERO] = {"zero_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of these 0"},
	[PAGES_STRING] = {"string_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "of these in strings of 6 printable characters or more"},
	[PAGES_UNREAD] = {"unread", COLUMN_TEXT, .says = "why not all was read; null: all was"},
	[PAGES_STRINGS] = {"strings", COLUMN_TABLE,
		.says = "what strings look like, the most bytes first", .nested = &string_type},
	COLUMNS_END};

static void page_cell(const void *context, size_t row, unsigned column, struct cell *ret)
{
	const struct maps_pages *pages = context;
	const struct memory_strings *strings = &pages->strings;
	const uint64_t numbers[] = {
		pages->new_bytes, strings->bytes, strings->zero_bytes, strings->string_bytes};
	(void)row;
	if (column < PAGES_UNREAD)
		ret->number = numbers[column];
	else if (column == PAGES_UNREAD)
		ret->text = pages->unread;
	else
		ret->nested = (struct table){&string_type, strings->rows,
			strings->kinds < 20 ? strings->kinds : 20, .limit = TABLE_NO_LIMIT};
}

static const struct table_type page_type = {.columns = page_columns, .cell = page_cell};

enum process_column {
	PROCESS_PID,
	PROCESS_NAME,
	PROCESS_BASE,
	PROCESS_SOURCE,
	PROCESS_LOOKS,
	PROCESS_SECONDS,
	PROCESS_MAPPINGS,
	PROCESS_RSS,
	PROCESS_PSS,
	PROCESS_SWAPPED,
	PROCESS_GROWTH,
	PROCESS_END = PROCESS_GROWTH + GROWN_COLUMNS,
	PROCESS_GONE
};
static const struct column process_columns[] = {{"pid", COLUMN_INTEGER, .says = "null: files"},
	{"name", COLUMN_TEXT, .says = "the command, or the file"},
	{"base", COLUMN_TEXT, .says = "the older file; null: there is none"},
	{"source", COLUMN_TEXT,
		.says = "where resident bytes are from: `PAGEMAP_SCAN`, `smaps`, or the form of "
			"the "
			"file"},
	{"looks", COLUMN_INTEGER, UNIT_COUNT, .says = "how many were taken"},
	{"seconds", COLUMN_REAL, .says = "from the first to the last look; null: not known"},
	{"mappings", COLUMN_INTEGER, UNIT_COUNT, .says = "at the last look"},
	{"rss_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "resident at the last look"},
	{"pss_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "its proportional part of these"},
	{"swapped_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "swapped out at the last look"},
	GROWTH_COLUMNS,
	{"end", COLUMN_TEXT, .says = "why looking ended before it was to; null: it did not"},
	{"gone_mappings", COLUMN_INTEGER, UNIT_COUNT,
		.says = "mappings without a row: they came and went between looks, or are beyond "
			"the "
			"number of such rows"},
	COLUMNS_END};

static void process_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct maps_row *row = &((const struct maps_row *)context)[number];
	const struct maps_subject *subject = row->subject;
	const struct mapping_series *series = subject->series;
	switch (column) {
	case PROCESS_PID:
		ret->number = subject->pid;
		ret->state = subject->pid ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case PROCESS_NAME:
		ret->text = subject->name;
		break;
	case PROCESS_BASE:
		ret->text = subject->base;
		break;
	case PROCESS_SOURCE:
		ret->text = subject->source;
		break;
	case PROCESS_LOOKS:
		ret->number = series->looks;
		break;
	case PROCESS_SECONDS:
		ret->real = series->seconds.data[series->seconds.len - 1] - series->seconds.data[0];
		ret->state = subject->times_known ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case PROCESS_MAPPINGS:
		ret->number = row->mappings;
		break;
	case PROCESS_RSS:
		figure_cell(row->fit.last, ret);
		break;
	case PROCESS_PSS:
		looked_cell(row, LOOK_PSS, ret);
		break;
	case PROCESS_SWAPPED:
		looked_cell(row, LOOK_SWAPPED, ret);
		break;
	case PROCESS_END:
		ret->text = subject->end;
		break;
	case PROCESS_GONE:
		ret->number = series->gone + series->brief;
		break;
	default:
		growth_cell(row, column - PROCESS_GROWTH, ret);
	}
}

static const struct table_type process_type = {.name = "processes",
	.says = "a row a process",
	.columns = process_columns,
	.cell = process_cell};

static void seconds_show(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	(void)context;
	(void)row;
	text_printf(out, "%.1f", cell->real);
}

static const struct column moment_columns[] = {
	{"pid", COLUMN_INTEGER, .says = "null: files", .title = "PID", .width = 8, .plain = true},
	{"seconds", COLUMN_REAL, .says = "since the first look; null: not known",
		.title = "SECONDS", .gap = 1, .width = 10, .show = seconds_show},
	{"rss_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "resident; null: not known of all mappings", .title = "RSS KB", .gap = 1,
		.width = 10, .show = kilobytes_show},
	COLUMNS_END};

static void moment_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct maps_moment *moment = &((const struct maps_moment *)context)[number];
	if (column == 0) {
		ret->number = moment->subject->pid;
		ret->state = moment->subject->pid ? CELL_KNOWN : CELL_UNKNOWN;
	} else if (column == 1) {
		ret->real = moment->seconds;
		ret->state = moment->subject->times_known ? CELL_KNOWN : CELL_UNKNOWN;
	} else {
		figure_cell(moment->bytes, ret);
	}
}

static const struct table_type moment_type = {.name = "looks",
	.says = "a row for each look that was kept",
	.columns = moment_columns,
	.cell = moment_cell,
	.one = "look",
	.many = "looks"};

static void owner_show(
	const void *context, size_t number, const struct cell *cell, struct text *out)
{
	const struct maps_row *row = &((const struct maps_row *)context)[number];
	text_add(out, cell->text);
	if (row->whose) {
		text_add(out, " (");
		text_add_shown(out, row->whose, 100);
		text_add(out, ")");
	}
}

enum owner_column {
	OWNER_PID,
	OWNER_MAPPINGS,
	OWNER_RSS,
	OWNER_GROWTH,
	OWNER_OWNER = OWNER_GROWTH + GROWN_COLUMNS,
	OWNER_WHOSE
};
static const struct column owner_columns[] = {
	{"pid", COLUMN_INTEGER, .says = "null: files", .title = "PID", .width = 8, .plain = true},
	{"mappings", COLUMN_INTEGER, UNIT_COUNT, .says = "at the last look", .title = "MAPPINGS",
		.gap = 1, .width = 8, .plain = true},
	{"rss_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "resident at the last look",
		.title = "RSS KB", .gap = 1, .width = 10, .show = kilobytes_show},
	GROWTH_COLUMNS,
	{"owner", COLUMN_TEXT, .says = "as of mappings", .title = "OWNER", .gap = 2,
		.show = owner_show},
	{"whose", COLUMN_TEXT, .says = "which arena; null: not known, or no heap"}, COLUMNS_END};

static void owner_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct maps_row *row = &((const struct maps_row *)context)[number];
	switch (column) {
	case OWNER_PID:
		ret->number = row->subject->pid;
		ret->state = row->subject->pid ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case OWNER_MAPPINGS:
		ret->number = row->mappings;
		break;
	case OWNER_RSS:
		figure_cell(row->fit.last, ret);
		break;
	case OWNER_OWNER:
		ret->text = look_owner_name(row->owner);
		break;
	case OWNER_WHOSE:
		ret->text = row->whose;
		break;
	default:
		growth_cell(row, column - OWNER_GROWTH, ret);
	}
}

static const struct table_type owner_type = {.name = "owners",
	.says = "mappings by what they are for",
	.columns = owner_columns,
	.cell = owner_cell,
	.one = "owner",
	.many = "owners"};

static void range_show(
	const void *context, size_t number, const struct cell *cell, struct text *out)
{
	const struct mapping_region *region = ((const struct maps_row *)context)[number].region;
	(void)cell;
	text_printf(out, "%012" PRIx64 "-%012" PRIx64, region->start, region->end);
}

static void name_show(const void *context, size_t number, const struct cell *cell, struct text *out)
{
	const struct maps_row *row = &((const struct maps_row *)context)[number];
	text_add_shown(out, cell->text, 500);
	if (row->whose) {
		text_add(out, *cell->text ? " (" : "(");
		text_add_shown(out, row->whose, 100);
		text_add(out, ")");
	}
	if (!row->region->is_seen)
		text_add(out, *cell->text || row->whose ? " [gone]" : "[gone]");
}

enum region_column {
	REGION_PID,
	REGION_START,
	REGION_FLAGS,
	REGION_SIZE,
	REGION_RSS,
	REGION_SWAPPED,
	REGION_GROWTH,
	REGION_OWNER = REGION_GROWTH + GROWN_COLUMNS,
	REGION_NAME,
	REGION_END,
	REGION_WHOSE,
	REGION_OFFSET,
	REGION_INODE,
	REGION_DEVICE,
	REGION_MAPPINGS,
	REGION_PSS,
	REGION_PRIVATE,
	REGION_DIRTY,
	REGION_HUGE,
	REGION_FIRST,
	REGION_APPEARED,
	REGION_GONE,
	REGION_MOVED,
	REGION_COMMAND,
	REGION_VALUES,
	REGION_PAGES
};
#define KILOBYTES(heading) .title = heading, .gap = 1, .width = 10, .show = kilobytes_show
static const struct column region_columns[] = {{"pid", COLUMN_INTEGER, .says = "null: files"},
	{"start", COLUMN_ADDRESS, .says = "where it begins", .title = "START        END",
		.width = -25, .show = range_show},
	{"flags", COLUMN_TEXT, .says = "as of /proc/PID/maps", .title = "FLAG", .gap = 1,
		.width = -4},
	{"size_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "from `start` to `end`; of several mappings with what lies between them",
		KILOBYTES("KBYTES")},
	{"rss_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "resident at the last look; null: not known", KILOBYTES("RSS")},
	{"swapped_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "swapped out at the last look; null: not known", KILOBYTES("SWAPPED")},
	GROWTH_COLUMNS,
	{"owner", COLUMN_TEXT,
		.says = "`heap`, `malloc block`, `thread stack`, `stack`, `anonymous`, `shared`, "
			"`file`, `device`, `reserved` or `kernel`",
		.title = "OWNER", .gap = 2, .width = -13},
	{"name", COLUMN_TEXT, .says = "of the file, or \"[heap]\" and the like; empty: it has none",
		.title = "NAME", .gap = 1, .show = name_show},
	{"end", COLUMN_ADDRESS, .says = "where it ends"},
	{"whose", COLUMN_TEXT,
		.says = "\"arena at 0x…\", \"thread 12\"; null: nothing more is known"},
	{"offset", COLUMN_INTEGER, UNIT_BYTES, .says = "in the file"},
	{"inode", COLUMN_INTEGER, .says = "of the file; 0: none, or not known"},
	{"device", COLUMN_INTEGER,
		.says = "of the file: major << 20 | minor; 0: none, or not known"},
	{"mappings", COLUMN_INTEGER, UNIT_COUNT,
		.says = "how many it consists of: parts of one that was split stay one row"},
	{"pss_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "its proportional part"},
	{"private_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of no other process"},
	{"dirty_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "written to"},
	{"huge_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in huge pages"},
	{"first_rss_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "resident at the first look; 0: it was not there"},
	{"appeared", COLUMN_BOOLEAN, .says = "it was not there at the first look"},
	{"gone", COLUMN_BOOLEAN, .says = "it is not there at the last look"},
	{"moved", COLUMN_BOOLEAN, .says = "it is at another address than at the first look"},
	{"command", COLUMN_TEXT, .says = "looks inside; null: there is none"},
	{"looks", COLUMN_LIST, .optional = true,
		.says = "resident bytes at each look, if they changed", .nested = &value_type},
	{"new_pages", COLUMN_RECORD, .optional = true,
		.says = "with --explain, of those that grew most", .nested = &page_type},
	COLUMNS_END};

static void region_facts_cell(const struct maps_row *row, unsigned column, struct cell *ret)
{
	const struct mapping_region *region = row->region;
	const uint64_t numbers[] = {region->start, 0, region->end - region->start};
	switch (column) {
	case REGION_PID:
		ret->number = row->subject->pid;
		ret->state = row->subject->pid ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case REGION_FLAGS:
		ret->text = region->sample.flags;
		break;
	case REGION_OWNER:
		ret->text = look_owner_name(row->owner);
		break;
	case REGION_NAME:
		ret->text = region->sample.name;
		break;
	case REGION_END:
		ret->number = region->end;
		break;
	case REGION_WHOSE:
		ret->text = row->whose;
		break;
	case REGION_OFFSET:
		ret->number = region->sample.offset;
		break;
	case REGION_INODE:
		ret->number = region->sample.inode;
		break;
	case REGION_DEVICE:
		ret->number = region->sample.device;
		break;
	case REGION_MAPPINGS:
		ret->number = region->mappings;
		break;
	default:
		ret->number = numbers[column - REGION_START];
	}
}

static void region_pages_cell(const struct maps_row *row, struct cell *ret)
{
	const struct maps_subject *subject = row->subject;
	ret->state = CELL_ABSENT;
	for (size_t i = 0; i < subject->page_count; i++) {
		if (subject->pages[i]->region != row->region_index)
			continue;
		ret->state = CELL_KNOWN;
		ret->nested = (struct table){&page_type, subject->pages[i], 1, .limit = 1};
	}
}

static void region_looks_cell(const struct maps_row *row, unsigned column, struct cell *ret)
{
	switch (column) {
	case REGION_RSS:
		figure_cell(row->fit.last, ret);
		break;
	case REGION_FIRST:
		figure_cell(row->fit.first, ret);
		break;
	case REGION_APPEARED:
		ret->truth = row->region->appeared;
		break;
	case REGION_GONE:
		ret->truth = !row->region->is_seen;
		break;
	case REGION_MOVED:
		ret->truth = row->region->has_moved;
		break;
	case REGION_COMMAND:
		maps_add_command(row, &ret->built);
		cell_take_any(ret);
		break;
	case REGION_VALUES:
		ret->state = row->looks > 1 && maps_row_changed(row) ? CELL_KNOWN : CELL_ABSENT;
		ret->nested = (struct table){
			&value_type, row->values, row->looks, .limit = TABLE_NO_LIMIT};
		break;
	default:
		region_pages_cell(row, ret);
	}
}

static void region_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	static const enum look_figure figures[] = {
		[REGION_PSS] = LOOK_PSS,
		[REGION_PRIVATE] = LOOK_PRIVATE,
		[REGION_DIRTY] = LOOK_DIRTY,
		[REGION_HUGE] = LOOK_HUGE,
	};
	const struct maps_row *row = &((const struct maps_row *)context)[number];
	if (column >= REGION_GROWTH && column < REGION_OWNER)
		growth_cell(row, column - REGION_GROWTH, ret);
	else if (column >= REGION_PSS && column <= REGION_HUGE)
		looked_cell(row, figures[column], ret);
	else if (column == REGION_SWAPPED)
		looked_cell(row, LOOK_SWAPPED, ret);
	else if (column == REGION_RSS || column >= REGION_FIRST)
		region_looks_cell(row, column, ret);
	else
		region_facts_cell(row, column, ret);
}

static const struct table_type region_type = {.name = "mappings",
	.says = "a row a mapping, or what became of one: the most growth first, of one look by "
		"address",
	.columns = region_columns,
	.cell = region_cell,
	.one = "mapping",
	.many = "mappings"};

const struct answer_type maps_answer_type = {.schema = "heapwise.maps/1",
	.from = "heapwise maps --json",
	.says = "the memory of processes by mappings, and what grows",
	.tables = (const struct table_type *const[]){&process_type, &moment_type, &owner_type,
		&region_type, NULL},
	.main = &region_type};

#define GROWTH_BITS(first) (1ull << ((first) + GROWN_BYTES) | 1ull << ((first) + GROWN_RATE))

struct maps_page {
	const struct maps_rows *rows;
	const struct maps_options *options;
	struct answer *answer;
	struct text *prose;
};

/* "PID 4711: redis-server *:6379" */
static void subject_head(const struct maps_subject *subject, struct text *out)
{
	if (subject->pid)
		text_printf(out, "PID %" PRIu64 ": ", subject->pid);
	if (subject->base) {
		text_add_shown(out, subject->base, 200);
		text_add(out, " to ");
	}
	text_add_shown(out, subject->name, 200);
	text_add(out, "\n");
	if (subject->end) {
		text_add(out, subject->end);
		text_add(out, "\n");
	}
	for (size_t i = 0; i < sizeof(subject->notes) / sizeof(subject->notes[0]); i++) {
		if (!subject->notes[i])
			break;
		text_add(out, subject->notes[i]);
		text_add(out, ".\n");
	}
}

static void sums_add(const struct maps_row *process, struct text *out)
{
	text_add(out, "total, with ");
	text_add_counted(out, process->mappings, "mapping", "mappings");
	text_add(out, ": RSS ");
	if (process->fit.last == MAPPING_NO_FIGURE)
		text_add(out, "not known of all of them");
	else
		text_printf(out, "%" PRIu64 " KB", process->fit.last >> 10);
	text_add(out, ", swapped ");
	if (process->known & 1u << LOOK_SWAPPED)
		text_printf(out, "%" PRIu64 " KB\n", process->figures[LOOK_SWAPPED] >> 10);
	else
		text_add(out, "not known\n");
}

/* Rows of a subject in a table that is sorted by subjects. */
static struct table rows_of(const struct maps_page *page, const struct table_type *type,
	const struct maps_row_vec *rows, const struct maps_subject *subject)
{
	size_t first = 0, count = 0;
	while (first < rows->len && rows->data[first].subject != subject)
		first++;
	while (first + count < rows->len && rows->data[first + count].subject == subject)
		count++;
	return (struct table){type, rows->data, count, .first = first,
		.limit = page->options->limit ? page->options->limit : TABLE_NO_LIMIT};
}

/* Of a series: those that changed, unless all are wanted. */
static void changed_show(const struct maps_page *page, struct table *table, size_t **ret_order)
{
	const struct maps_row *rows = table->context;
	size_t *order = calloc(table->count + 1, sizeof(*order)), kept = 0;
	if (!order)
		return;
	for (size_t i = 0; i < table->count; i++) {
		size_t at = table->first + i;
		bool is_listed = page->options->all || maps_row_changed(&rows[at]);
		if (is_listed)
			order[kept++] = at;
	}
	size_t same = table->count - kept;
	table->order = *ret_order = order;
	table->count = kept;
	if (!page->options->limit && !page->options->all)
		table->limit = TEXT_ROWS;
	if (kept)
		answer_table(page->answer, table);
	if (same) {
		text_add_counted(page->prose, same, "mapping", "mappings");
		text_add(page->prose, " did not change (--all shows them).\n");
	}
}

static void trend_show(const struct maps_page *page, const struct maps_subject *subject)
{
	const struct maps_moment_vec *moments = &page->rows->moments;
	size_t first = 0, count = 0;
	while (first < moments->len && moments->data[first].subject != subject)
		first++;
	while (first + count < moments->len && moments->data[first + count].subject == subject)
		count++;
	const struct table table = {&moment_type, moments->data, count, .first = first,
		.limit = TABLE_NO_LIMIT, .hidden = 1};
	text_add(page->prose, "\n");
	answer_table(page->answer, &table);
}

static void series_show(const struct maps_page *page, const struct maps_row *process)
{
	_cleanup_free_ size_t *order = NULL;
	const struct maps_subject *subject = process->subject;
	struct table owners = rows_of(page, &owner_type, &page->rows->owners, subject);
	struct table regions = rows_of(page, &region_type, &page->rows->regions, subject);
	uint64_t no_rate = subject->times_known ? 0 : 1;
	owners.hidden = 1 | no_rate << (OWNER_GROWTH + GROWN_RATE);
	owners.limit = TABLE_NO_LIMIT;
	regions.hidden = no_rate << (REGION_GROWTH + GROWN_RATE);
	maps_add_findings(page->rows, process, page->prose);
	if (page->options->trend)
		trend_show(page, subject);
	text_add(page->prose, "\n");
	answer_table(page->answer, &owners);
	text_add(page->prose, "\n");
	changed_show(page, &regions, &order);
	sums_add(process, page->prose);
}

static void look_show(const struct maps_page *page, const struct maps_row *process)
{
	struct table regions = rows_of(page, &region_type, &page->rows->regions, process->subject);
	regions.hidden = GROWTH_BITS(REGION_GROWTH);
	answer_table(page->answer, &regions);
	sums_add(process, page->prose);
}

static void maps_text_write(const struct maps_page *page)
{
	for (size_t i = 0; i < page->rows->processes.len; i++) {
		const struct maps_row *process = &page->rows->processes.data[i];
		if (i)
			text_add(page->prose, "\n");
		subject_head(process->subject, page->prose);
		if (process->looks > 1)
			series_show(page, process);
		else
			look_show(page, process);
	}
}

static void all_write(const struct maps_page *page)
{
	const struct maps_rows *rows = page->rows;
	size_t limit = page->options->limit ? page->options->limit : TABLE_NO_LIMIT;
	const struct table tables[] = {
		{&process_type, rows->processes.data, rows->processes.len, .limit = TABLE_NO_LIMIT},
		{&moment_type, rows->moments.data, rows->moments.len, .limit = TABLE_NO_LIMIT},
		{&owner_type, rows->owners.data, rows->owners.len, .limit = TABLE_NO_LIMIT},
		{&region_type, rows->regions.data, rows->regions.len, .limit = limit},
	};
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		answer_table(page->answer, &tables[i]);
}

struct error *maps_view_write(const struct maps_subject *subjects, size_t count,
	const struct maps_options *options, const struct sink *sink)
{
	struct maps_rows rows = {.moments = {.data = NULL}};
	if (!maps_rows_fill(&rows, subjects, count)) {
		maps_rows_deinit(&rows);
		return error_no_memory();
	}
	struct answer *answer = options->csv    ? answer_csv_create(sink)
				: options->json ? answer_json_create(sink, false)
						: answer_text_create(sink);
	struct error *error = answer ? NULL : error_no_memory();
	if (answer) {
		answer_begin(answer, &maps_answer_type);
		const struct maps_page page = {&rows, options, answer, answer_prose(answer)};
		if (page.prose)
			maps_text_write(&page);
		else
			all_write(&page);
		error = answer_end(answer);
		answer_destroy(answer);
	}
	maps_rows_deinit(&rows);
	return error;
}
