/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/maps/maps_tables.h"

#include <inttypes.h>
#include <string.h>

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

static void fit_cell(
	const struct mapping_fit *fit, size_t looks, enum growth_column column, struct cell *ret)
{
	const double reals[GROWN_COLUMNS] = {[GROWN_RATE] = fit->slope,
		[GROWN_LOW] = fit->low,
		[GROWN_HIGH] = fit->high,
		[GROWN_DETERMINATION] = fit->determination};
	bool is_known = fit->shape != MAPPING_UNKNOWN && looks > 1;
	if (column == GROWN_SHAPE) {
		ret->text = looks > 1 ? mapping_shape_name(fit->shape) : NULL;
		return;
	}
	ret->signed_number = fit->change;
	ret->real = reals[column];
	if (!is_known || (column != GROWN_BYTES && fit->shape != MAPPING_STEADY))
		ret->state = CELL_UNKNOWN;
}

static void growth_cell(const struct maps_row *row, enum growth_column column, struct cell *ret)
{
	fit_cell(&row->fit, row->looks, column, ret);
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

/* "0=40960" */
static void node_gist(const void *context, size_t row, struct text *out)
{
	const struct look_node *node = &((const struct look_node *)context)[row];
	text_printf(out, "%u=%" PRIu64, node->node, node->bytes);
}

static const struct table_type node_type = {.gist = node_gist,
	.columns = (const struct column[]){{"node", COLUMN_INTEGER, COLUMN_OF(look_node, node),
						   .says = "its number"},
		{"bytes", COLUMN_INTEGER, UNIT_BYTES, COLUMN_OF(look_node, bytes),
			.says = "resident on it"},
		COLUMNS_END},
	.row_bytes = sizeof(struct look_node)};

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
	PROCESS_GONE,
	PROCESS_COMPARED,
	PROCESS_CHANGED,
	PROCESS_UNCOMPARED
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
	{"compared_bytes", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "with --changed: of writable pages that were in memory at the first and at "
			"the last look"},
	{"changed_bytes", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "with --changed: of these, of pages whose contents differ"},
	{"uncompared", COLUMN_TEXT, .optional = true,
		.says = "with --changed: why pages were not compared, or not all; null: all were"},
	COLUMNS_END};

/* A figure of what was compared; there is none without --changed, and none is known if nothing
 * could be compared. */
static void change_cell(const struct maps_row *row, uint64_t bytes, struct cell *ret)
{
	const struct maps_changes *changes = row->subject->changes;
	ret->number = bytes;
	if (!changes)
		ret->state = CELL_ABSENT;
	else if (!changes->count)
		ret->state = CELL_UNKNOWN;
}

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
	case PROCESS_COMPARED:
		change_cell(row, row->change.compared, ret);
		break;
	case PROCESS_CHANGED:
		change_cell(row, row->change.changed, ret);
		break;
	case PROCESS_UNCOMPARED:
		ret->text = subject->changes ? subject->changes->unknown : NULL;
		ret->state = subject->changes ? ret->state : CELL_ABSENT;
		break;
	default:
		growth_cell(row, column - PROCESS_GROWTH, ret);
	}
}

const struct table_type maps_process_type = {.name = "processes",
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

const struct table_type maps_moment_type = {.name = "looks",
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

static const struct column owner_columns[] = {
	{"pid", COLUMN_INTEGER, .says = "null: files", .title = "PID", .width = 8, .plain = true},
	{"mappings", COLUMN_INTEGER, UNIT_COUNT, .says = "at the last look", .title = "MAPPINGS",
		.gap = 1, .width = 8, .plain = true},
	{"rss_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "resident at the last look",
		.title = "RSS KB", .gap = 1, .width = 10, .show = kilobytes_show},
	GROWTH_COLUMNS,
	{"owner", COLUMN_TEXT, .says = "as of mappings", .title = "OWNER", .gap = 2,
		.show = owner_show},
	{"whose", COLUMN_TEXT,
		.says = "which heap: its arena or allocator; null: not known, or no heap"},
	COLUMNS_END};

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

const struct table_type maps_owner_type = {.name = "owners",
	.says = "mappings by what they are for",
	.columns = owner_columns,
	.cell = owner_cell,
	.one = "owner",
	.many = "owners"};

static void kind_show(const void *context, size_t number, const struct cell *cell, struct text *out)
{
	(void)cell;
	maps_add_kind(((const struct maps_total *)context)[number].total, out);
}

static const struct column kind_columns[] = {{"pid", COLUMN_INTEGER, .says = "null: files"},
	{"first_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "at the first look at which they are known", .title = "FIRST KB",
		.width = 10, .show = kilobytes_show},
	{"last_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "at the last look at which they are known", .title = "LAST KB", .gap = 1,
		.width = 10, .show = kilobytes_show},
	GROWTH_COLUMNS,
	{"kind", COLUMN_TEXT,
		.says = "`swapped` (of private mappings), `huge pages`, or `node`: with --numa, "
			"resident on it",
		.title = "KIND", .gap = 2, .show = kind_show},
	{"node", COLUMN_INTEGER, .says = "number of the NUMA node; null: of other kinds"},
	COLUMNS_END};

static void kind_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	static const char *const names[] = {[MAPPING_SWAPPED] = "swapped",
		[MAPPING_HUGE] = "huge pages",
		[MAPPING_NODE] = "node"};
	const struct maps_total *row = &((const struct maps_total *)context)[number];
	switch (column) {
	case KIND_PID:
		ret->number = row->subject->pid;
		ret->state = row->subject->pid ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	case KIND_FIRST:
		figure_cell(row->fit.first, ret);
		break;
	case KIND_LAST:
		figure_cell(row->fit.last, ret);
		break;
	case KIND_KIND:
		ret->text = names[row->total->kind];
		break;
	case KIND_NODE:
		ret->number = row->total->node;
		ret->state = row->total->kind == MAPPING_NODE ? CELL_KNOWN : CELL_UNKNOWN;
		break;
	default:
		fit_cell(&row->fit, row->total->value_count, column - KIND_GROWTH, ret);
	}
}

const struct table_type maps_kind_type = {.name = "kinds",
	.says = "kinds of memory that mappings of all owners have; those of which nothing is known "
		"have no row",
	.columns = kind_columns,
	.cell = kind_cell,
	.one = "kind",
	.many = "kinds"};

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
	{"huge_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "in huge pages", KILOBYTES("HUGE")},
	{"changed_bytes", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "with --changed: of `compared_bytes`, of pages whose contents differ",
		KILOBYTES("CHANGED")},
	GROWTH_COLUMNS,
	{"owner", COLUMN_TEXT,
		.says = "`heap`, `malloc block`, `thread stack`, `stack`, `anonymous`, `shared`, "
			"`file`, `device`, `reserved` or `kernel`",
		.title = "OWNER", .gap = 2, .width = -13},
	{"name", COLUMN_TEXT, .says = "of the file, or \"[heap]\" and the like; empty: it has none",
		.title = "NAME", .gap = 1, .show = name_show},
	{"end", COLUMN_ADDRESS, .says = "where it ends"},
	{"whose", COLUMN_TEXT,
		.says = "\"arena at 0x…\", \"thread 12\", \"jemalloc, arena 3\", \"partly "
			"jemalloc\"; null: nothing more is known"},
	{"offset", COLUMN_INTEGER, UNIT_BYTES, .says = "in the file"},
	{"inode", COLUMN_INTEGER, .says = "of the file; 0: none, or not known"},
	{"device", COLUMN_INTEGER,
		.says = "of the file: major << 20 | minor; 0: none, or not known"},
	{"mappings", COLUMN_INTEGER, UNIT_COUNT,
		.says = "how many it consists of: parts of one that was split stay one row"},
	{"pss_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "its proportional part"},
	{"private_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "of no other process"},
	{"dirty_bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "written to"},
	{"first_rss_bytes", COLUMN_INTEGER, UNIT_BYTES,
		.says = "resident at the first look; 0: it was not there"},
	{"appeared", COLUMN_BOOLEAN, .says = "it was not there at the first look"},
	{"gone", COLUMN_BOOLEAN, .says = "it is not there at the last look"},
	{"moved", COLUMN_BOOLEAN, .says = "it is at another address than at the first look"},
	{"command", COLUMN_TEXT, .says = "looks inside; null: there is none"},
	{"looks", COLUMN_LIST, .optional = true,
		.says = "resident bytes at each look, if they changed", .nested = &value_type},
	{"compared_bytes", COLUMN_INTEGER, UNIT_BYTES, .optional = true,
		.says = "with --changed: of writable pages that were in memory at the first and at "
			"the last look"},
	{"nodes", COLUMN_TABLE, .optional = true,
		.says = "with --numa: resident on NUMA nodes at the last look",
		.nested = &node_type},
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

static void region_nodes_cell(const struct maps_row *row, struct cell *ret)
{
	ret->state = row->subject->nodes ? CELL_KNOWN : CELL_ABSENT;
	ret->nested = (struct table){
		&node_type, row->nodes.data, row->nodes.len, .limit = TABLE_NO_LIMIT};
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
	case REGION_CHANGED:
		change_cell(row, row->change.changed, ret);
		break;
	case REGION_COMPARED:
		change_cell(row, row->change.compared, ret);
		break;
	case REGION_NODES:
		region_nodes_cell(row, ret);
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
	};
	const struct maps_row *row = &((const struct maps_row *)context)[number];
	if (column >= REGION_GROWTH && column < REGION_OWNER)
		growth_cell(row, column - REGION_GROWTH, ret);
	else if (column >= REGION_PSS && column <= REGION_DIRTY)
		looked_cell(row, figures[column], ret);
	else if (column == REGION_SWAPPED || column == REGION_HUGE)
		looked_cell(row, column == REGION_HUGE ? LOOK_HUGE : LOOK_SWAPPED, ret);
	else if (column == REGION_RSS || column == REGION_CHANGED || column >= REGION_FIRST)
		region_looks_cell(row, column, ret);
	else
		region_facts_cell(row, column, ret);
}

const struct table_type maps_region_type = {.name = "mappings",
	.says = "a row a mapping, or what became of one: the most growth first, of one look by "
		"address",
	.columns = region_columns,
	.cell = region_cell,
	.one = "mapping",
	.many = "mappings"};

const struct answer_type maps_answer_type = {.schema = "heapwise.maps/1",
	.from = "heapwise maps --json",
	.says = "the memory of processes by mappings, and what grows",
	.tables = (const struct table_type *const[]){&maps_process_type, &maps_moment_type,
		&maps_owner_type, &maps_kind_type, &maps_region_type, NULL},
	.main = &maps_region_type};
