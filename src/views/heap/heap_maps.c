/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `maps`: what memory there is and what it is for. Of a process: how much of it takes room, is
 * nobody else's, is swapped out. Of a core: how much of it the core has, and how much of that is
 * not zero.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/map_kinds.h"
#include "views/heap/heap_parts.h"
#include "views/heap_answers.h"

#define PIECE_BYTES (256u << 10)
#define PAGE_BYTES 4096u

struct map_row {
	enum map_kind kind;
	size_t mappings; /* of a kind */
	uint64_t bytes;
	uint64_t there, not_zero; /* of what can be read */
	struct process_map_usage usage;
};

struct map_rows {
	const struct heap_scan *scan;
	const struct process_maps *maps;
	struct map_row *rows; /* of the maps */
	struct map_row kinds[MAP_KINDS];
	size_t shown_kinds[MAP_KINDS]; /* those that there are */
	size_t kind_count;
	bool measured;
};

/* How much of a mapping can be read, and how much of that is not zero, by pages. */
static void heap_maps_measure(const struct address_space *space, const struct process_map *map,
	struct map_row *row, uint8_t *piece)
{
	for (uint64_t at = map->start; at < map->end && map->readable;) {
		size_t room = map->end - at < PIECE_BYTES ? (size_t)(map->end - at) : PIECE_BYTES;
		size_t untouched = address_space_untouched(space, at, map->end - at);
		size_t empty = address_space_empty(space, at, map->end - at);
		if (empty >= PAGE_BYTES) {
			row->there += untouched;
			at += empty;
			continue;
		}
		size_t got = address_space_read(space, at, piece, room);
		for (size_t i = 0; i < got; i += PAGE_BYTES) {
			size_t n = got - i < PAGE_BYTES ? got - i : PAGE_BYTES;
			if (piece[i] || memcmp(piece + i, piece + i + 1, n - 1) != 0)
				row->not_zero += n;
		}
		row->there += got;
		at += got == room ? room : (got / PAGE_BYTES + 1) * PAGE_BYTES;
	}
}

static void heap_maps_sum(struct map_rows *t, const struct map_row *row)
{
	struct map_row *kind = &t->kinds[row->kind];
	kind->kind = row->kind;
	kind->mappings++;
	kind->bytes += row->bytes;
	kind->there += row->there;
	kind->not_zero += row->not_zero;
	kind->usage.known = kind->usage.known || row->usage.known;
	kind->usage.resident += row->usage.resident;
	kind->usage.own += row->usage.own;
	kind->usage.swapped += row->usage.swapped;
}

/* Of the mapping that was the same when usage was asked for. */
static struct process_map_usage usage_of(
	const struct heap_page *page, const struct process_map *map)
{
	const struct process_map *same =
		page->usage ? process_maps_find(page->maps_before, map->start) : NULL;
	if (!same || same->start != map->start || same->end != map->end)
		return (struct process_map_usage){.known = false};
	return page->usage[same - page->maps_before->maps.data];
}

static struct error *heap_maps_fill(struct map_rows *t, const struct heap_page *page)
{
	const struct address_space *space = t->scan->heap.space;
	size_t count = t->maps->maps.len;
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	t->rows = calloc(count + 1, sizeof(*t->rows));
	if (!piece || !t->rows)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct process_map *map = &t->maps->maps.data[i];
		t->rows[i] = (struct map_row){.kind = map_kind_of(t->scan, map),
			.bytes = map->end - map->start,
			.usage = usage_of(page, map)};
		if (t->measured)
			heap_maps_measure(space, map, &t->rows[i], piece);
		heap_maps_sum(t, &t->rows[i]);
	}
	for (size_t i = 0; i < MAP_KINDS; i++) {
		if (t->kinds[i].mappings)
			t->shown_kinds[t->kind_count++] = i;
	}
	return NULL;
}

/* The same in both tables. */
#define FIGURE_COLUMNS                                                                             \
	{"bytes", COLUMN_INTEGER, UNIT_BYTES, .says = "all of it", FIGURE("BYTES")},               \
		{"there", COLUMN_INTEGER, UNIT_BYTES, .says = "can be read", FIGURE("THERE")},     \
		{"not_zero", COLUMN_INTEGER, UNIT_BYTES, .says = "of that not zero, by pages",     \
			FIGURE("NOT ZERO")},                                                       \
		{"resident", COLUMN_INTEGER, UNIT_BYTES,                                           \
			.says = "in memory; null of a core, and where the process has changed "    \
				"the mapping meanwhile",                                           \
			FIGURE("RESIDENT")},                                                       \
		{"private", COLUMN_INTEGER, UNIT_BYTES, .says = "of that nobody else's",           \
			FIGURE("PRIVATE")},                                                        \
	{                                                                                          \
		"swapped", COLUMN_INTEGER, UNIT_BYTES, .says = "swapped out", FIGURE("SWAPPED")    \
	}
#define FIGURE(heading) .title = heading, .gap = 1, .width = 14, .plain = true
#define KIND_COLUMN(...)                                                                           \
	{                                                                                          \
		"kind", COLUMN_TEXT,                                                               \
			.says = "`heap`, `stack`, `data`, `code`, `constant`, `file`, `shared`, "  \
				"`guard`, `kernel` or `other`",                                    \
			.title = "KIND", .width = -8, __VA_ARGS__                                  \
	}

enum { FIGURE_BYTES, FIGURE_THERE, FIGURE_NOT_ZERO, FIGURE_RESIDENT, FIGURE_OWN, FIGURE_SWAPPED };

static void figure_cell(
	const struct map_rows *t, const struct map_row *row, unsigned figure, struct cell *ret)
{
	const uint64_t numbers[] = {row->bytes, row->there, row->not_zero, row->usage.resident,
		row->usage.own, row->usage.swapped};
	ret->number = numbers[figure];
	bool is_known = figure >= FIGURE_RESIDENT ? row->usage.known
						  : t->measured || figure == FIGURE_BYTES;
	if (!is_known)
		ret->state = CELL_UNKNOWN;
}

/* Bits of figures from the column `first` on that the text leaves out: of processes what cores
 * have, and the other way round. */
static uint64_t hidden_figures(bool is_live, unsigned first)
{
	uint64_t of_cores = 1u << FIGURE_THERE | 1u << FIGURE_NOT_ZERO;
	uint64_t of_processes = 1u << FIGURE_RESIDENT | 1u << FIGURE_OWN | 1u << FIGURE_SWAPPED;
	return (is_live ? of_cores : of_processes) << first;
}

enum { KIND_KIND, KIND_MAPPINGS, KIND_FIGURES };
static const struct column kind_columns[] = {KIND_COLUMN(),
	{"mappings", COLUMN_INTEGER, UNIT_COUNT, .says = "how many", .title = "MAPPINGS", .gap = 1,
		.width = 8, .plain = true},
	FIGURE_COLUMNS, COLUMNS_END};

static void kind_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct map_rows *t = context;
	const struct map_row *row = &t->kinds[number];
	if (column == KIND_KIND)
		ret->text = map_kind_name(row->kind);
	else if (column == KIND_MAPPINGS)
		ret->number = row->mappings;
	else
		figure_cell(t, row, column - KIND_FIGURES, ret);
}

static const struct table_type kind_type = {.name = "kinds",
	.says = "mappings by what they are for",
	.columns = kind_columns,
	.cell = kind_cell};

static void flags_of(const struct process_map *map, char ret[5])
{
	ret[0] = map->readable ? 'r' : '-';
	ret[1] = map->writable ? 'w' : '-';
	ret[2] = map->executable ? 'x' : '-';
	ret[3] = map->shared ? 's' : 'p';
	ret[4] = 0;
}

static const struct process_map *map_at(const void *context, size_t row)
{
	return &((const struct map_rows *)context)->maps->maps.data[row];
}

static void show_range(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	const struct process_map *map = map_at(context, row);
	(void)cell;
	text_printf(out, "%012" PRIx64 "-%012" PRIx64, map->start, map->end);
}

/* The path, and whose it is. */
static void show_path(const void *context, size_t row, const struct cell *cell, struct text *out)
{
	const struct map_rows *t = context;
	text_add_shown(out, cell->text, 500);
	if (*cell->text)
		text_add_char(out, ' ');
	map_kind_describe(t->scan, map_at(context, row), t->rows[row].kind, out);
}

enum {
	MAP_START,
	MAP_FLAGS,
	MAP_FIGURES,
	MAP_KIND = MAP_FIGURES + 6,
	MAP_PATH,
	MAP_END,
	MAP_OF,
	MAP_OFFSET
};
static const struct column map_columns[] = {
	{"start", COLUMN_ADDRESS, .says = "where it begins", .title = "START        END",
		.width = -25, .show = show_range},
	{"flags", COLUMN_TEXT, .says = "as of /proc/PID/maps", .fixed = true, .title = "FLAG",
		.gap = 1, .width = -4},
	FIGURE_COLUMNS, KIND_COLUMN(.gap = 2),
	{"path", COLUMN_TEXT, .says = "of the file; empty: there is none", .title = "PATH",
		.gap = 2, .show = show_path},
	{"end", COLUMN_ADDRESS, .says = "where it ends", .fixed = true},
	{"of", COLUMN_TEXT, .says = "whose it is, or null", .fixed = true},
	{"offset", COLUMN_INTEGER, UNIT_BYTES, .says = "in the file", .fixed = true}, COLUMNS_END};

static void map_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct map_rows *t = context;
	const struct process_map *map = map_at(context, number);
	char flags[5];
	switch (column) {
	case MAP_START:
		ret->number = map->start;
		break;
	case MAP_END:
		ret->number = map->end;
		break;
	case MAP_FLAGS:
		flags_of(map, flags);
		text_add(&ret->built, flags);
		cell_take_built(ret);
		break;
	case MAP_KIND:
		ret->text = map_kind_name(t->rows[number].kind);
		break;
	case MAP_PATH:
		ret->text = map->path;
		break;
	case MAP_OF:
		map_kind_describe(t->scan, map, t->rows[number].kind, &ret->built);
		cell_take_any(ret);
		break;
	case MAP_OFFSET:
		ret->number = map->offset;
		break;
	default:
		figure_cell(t, &t->rows[number], column - MAP_FIGURES, ret);
	}
}

static const struct table_type map_type = {
	.name = "maps", .says = "a row a mapping", .columns = map_columns, .cell = map_cell};

const struct answer_type heap_maps_type = {
	HEAP_ANSWER("maps", " maps", "what memory there is and what it is for"),
	.tables = (const struct table_type *const[]){HEAP_HEAD_TYPES, &kind_type,
		&heap_matched_rows_type, &map_type, NULL},
	.main = &map_type};

static void write_maps(const struct heap_page *page, const struct map_rows *t,
	const struct table *maps, struct answer *answer)
{
	bool choosy = heap_page_is_choosy(page);
	const struct table kinds = {&kind_type, t, t->kind_count, .order = t->shown_kinds,
		.limit = TABLE_NO_LIMIT,
		.hidden = hidden_figures(t->scan->heap.space->is_live, KIND_FIGURES)};
	struct text *prose = answer_prose(answer);
	answer_begin(answer, &heap_maps_type);
	heap_head_answer(answer, page->scan);
	if (!prose || !choosy)
		answer_table(answer, &kinds);
	if (prose && !choosy)
		text_add_char(prose, '\n');
	answer_table(answer, maps);
	if (choosy)
		heap_matched_rows_answer(answer, maps->count);
}

struct error *heap_maps_answer(const struct heap_page *page, struct answer *answer)
{
	const struct address_space *space = page->scan->heap.space;
	/* What takes time is measured for those who see it. */
	struct map_rows t = {.scan = page->scan,
		.maps = &space->maps,
		.measured = !answer_is_brief(answer) || !space->is_live || page->rows->sort ||
			    page->rows->where.len};
	_cleanup_free_ size_t *order = NULL;
	struct table_select select;
	struct error *error = table_select_open(&map_type, page->rows, &select);
	if (error)
		return error;
	error = heap_maps_fill(&t, page);
	struct table maps = {&map_type, &t, t.maps->maps.len,
		.limit = heap_page_limit(page, answer, TABLE_NO_LIMIT),
		.hidden = hidden_figures(space->is_live, MAP_FIGURES)};
	if (!error)
		error = table_select_order(&select, &maps, &order);
	table_select_close(&select);
	if (!error) {
		write_maps(page, &t, &maps, answer);
		error = answer_end(answer);
	}
	free(t.rows);
	return error;
}
