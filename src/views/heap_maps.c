/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What memory there is and what it is for. Of a process: how much of it takes room, is nobody
 * else's, is swapped out. Of a core: how much of it the core has, and how much of that is not zero.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "heap/map_kinds.h"
#include "views/heap_notes.h"
#include "views/heap_view.h"
#include "views/json_parts.h"

#define PIECE_BYTES (256u << 10)
#define PAGE_BYTES 4096u

struct map_row {
	enum map_kind kind;
	uint64_t bytes;
	uint64_t there, not_zero; /* of what can be read */
	struct process_map_usage usage;
};

struct tables {
	const struct survey *survey;
	const struct process_maps *maps;
	struct map_row *rows; /* of the maps */
	struct map_row kinds[MAP_KINDS];
	size_t counts[MAP_KINDS];
	bool is_live, measured;
	size_t *order; /* of the maps that are shown */
	size_t shown;
	bool is_choosy, count_only;
};

/* How much of a mapping can be read, and how much of that is not zero, by pages. */
static void measure(const struct address_space *space, const struct process_map *map,
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

static void sum(struct tables *t, const struct map_row *row)
{
	struct map_row *kind = &t->kinds[row->kind];
	t->counts[row->kind]++;
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

static struct error *fill(struct tables *t, const struct heap_page *page)
{
	/* What takes time, for whoever sees it. */
	bool measured = page->json || !t->is_live || page->rows->sort || page->rows->where.len;
	t->measured = measured;
	const struct address_space *space = t->survey->heap.space;
	size_t count = t->maps->maps.len;
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	t->rows = calloc(count + 1, sizeof(*t->rows));
	if (!piece || !t->rows)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct process_map *map = &t->maps->maps.data[i];
		t->rows[i] = (struct map_row){.kind = map_kind_of(t->survey, map),
			.bytes = map->end - map->start,
			.usage = usage_of(page, map)};
		if (measured)
			measure(space, map, &t->rows[i], piece);
		sum(t, &t->rows[i]);
	}
	return NULL;
}

enum {
	COLUMN_START,
	COLUMN_BYTES,
	COLUMN_THERE,
	COLUMN_NOT_ZERO,
	COLUMN_RESIDENT,
	COLUMN_PRIVATE,
	COLUMN_SWAPPED,
	COLUMN_KIND,
	COLUMN_PATH
};
static const struct rows_column columns[] = {{"start", ROWS_PLACE}, {"bytes", ROWS_AMOUNT},
	{"there", ROWS_AMOUNT}, {"not_zero", ROWS_AMOUNT}, {"resident", ROWS_AMOUNT},
	{"private", ROWS_AMOUNT}, {"swapped", ROWS_AMOUNT}, {"kind", ROWS_TEXT},
	{"path", ROWS_TEXT}, {NULL, ROWS_TEXT}};

static void cell_of(const void *context, size_t number, unsigned column, struct rows_cell *ret)
{
	const struct tables *t = context;
	const struct process_map *map = &t->maps->maps.data[number];
	const struct map_row *row = &t->rows[number];
	const uint64_t numbers[] = {[COLUMN_START] = map->start,
		[COLUMN_BYTES] = row->bytes,
		[COLUMN_THERE] = row->there,
		[COLUMN_NOT_ZERO] = row->not_zero,
		[COLUMN_RESIDENT] = row->usage.resident,
		[COLUMN_PRIVATE] = row->usage.own,
		[COLUMN_SWAPPED] = row->usage.swapped};
	if (column == COLUMN_KIND) {
		ret->text = map_kind_name(row->kind);
	} else if (column == COLUMN_PATH) {
		ret->text = map->path;
	} else {
		ret->number = numbers[column];
		ret->is_unknown =
			(column >= COLUMN_RESIDENT && !row->usage.known) ||
			(!t->measured && (column == COLUMN_THERE || column == COLUMN_NOT_ZERO));
	}
}

static void text_figures(const struct tables *t, const struct map_row *row, struct text *out)
{
	text_printf(out, " %14" PRIu64, row->bytes);
	if (!t->is_live)
		text_printf(out, " %14" PRIu64 " %14" PRIu64, row->there, row->not_zero);
	else if (row->usage.known)
		text_printf(out, " %14" PRIu64 " %14" PRIu64 " %14" PRIu64, row->usage.resident,
			row->usage.own, row->usage.swapped);
	else
		text_printf(out, " %14s %14s %14s", "?", "?", "?");
}

static void text_head(const struct tables *t, struct text *out)
{
	text_printf(out, " %14s", "BYTES");
	if (t->is_live)
		text_printf(out, " %14s %14s %14s", "RESIDENT", "PRIVATE", "SWAPPED");
	else
		text_printf(out, " %14s %14s", "THERE", "NOT ZERO");
}

static void flags_of(const struct process_map *map, char ret[5])
{
	ret[0] = map->readable ? 'r' : '-';
	ret[1] = map->writable ? 'w' : '-';
	ret[2] = map->executable ? 'x' : '-';
	ret[3] = map->shared ? 's' : 'p';
	ret[4] = 0;
}

static void text_map(const struct tables *t, size_t number, struct text *out)
{
	const struct process_map *map = &t->maps->maps.data[number];
	const struct map_row *row = &t->rows[number];
	char flags[5];
	flags_of(map, flags);
	text_printf(out, "%012" PRIx64 "-%012" PRIx64 " %s", map->start, map->end, flags);
	text_figures(t, row, out);
	text_printf(out, "  %-8s  ", map_kind_name(row->kind));
	text_add_shown(out, map->path, 500);
	if (*map->path)
		text_add_char(out, ' ');
	map_kind_describe(t->survey, map, row->kind, out);
	text_add_char(out, '\n');
}

static void write_maps(const struct tables *t, size_t limit, struct text *out)
{
	if (t->count_only)
		return;
	text_printf(out, "%-25s %s", "START        END", "FLAG");
	text_head(t, out);
	text_add(out, "  KIND      PATH\n");
	for (size_t i = 0; i < t->shown && i < limit; i++)
		text_map(t, t->order[i], out);
}

static void write_text(const struct tables *t, size_t limit, struct text *out)
{
	if (t->is_choosy) {
		write_maps(t, limit, out);
		heap_matched_rows_text(out, t->shown);
		return;
	}
	text_printf(out, "%-8s %8s", "KIND", "MAPPINGS");
	text_head(t, out);
	text_add_char(out, '\n');
	for (unsigned i = 0; i < MAP_KINDS; i++) {
		if (!t->counts[i])
			continue;
		text_printf(out, "%-8s %8zu", map_kind_name(i), t->counts[i]);
		text_figures(t, &t->kinds[i], out);
		text_add_char(out, '\n');
	}
	text_add_char(out, '\n');
	write_maps(t, limit, out);
}

static void put_u64_if(struct json *json, const char *key, uint64_t value, bool known)
{
	json_key(json, key);
	if (known)
		json_u64(json, value);
	else
		json_null(json);
}

static void put_figures(struct json *json, const struct map_row *row)
{
	json_put_string(json, "kind", map_kind_name(row->kind));
	json_put_u64(json, "bytes", row->bytes);
	json_put_u64(json, "there", row->there);
	json_put_u64(json, "not_zero", row->not_zero);
	put_u64_if(json, "resident", row->usage.resident, row->usage.known);
	put_u64_if(json, "private", row->usage.own, row->usage.known);
	put_u64_if(json, "swapped", row->usage.swapped, row->usage.known);
}

static void put_map(struct json *json, const struct tables *t, size_t number)
{
	const struct process_map *map = &t->maps->maps.data[number];
	_cleanup_(text_deinit) struct text owner;
	char flags[5];
	flags_of(map, flags);
	text_init(&owner);
	map_kind_describe(t->survey, map, t->rows[number].kind, &owner);
	json_object_begin(json);
	json_put_hexadecimal(json, "start", map->start, true);
	json_put_hexadecimal(json, "end", map->end, true);
	put_figures(json, &t->rows[number]);
	json_put_string(json, "of", owner.len ? owner.data : NULL);
	json_put_string(json, "flags", flags);
	json_put_u64(json, "offset", map->offset);
	json_put_string(json, "path", map->path);
	json_object_end(json);
}

static void write_json(const struct tables *t, size_t limit, const struct sink *sink)
{
	struct json json;
	json_init(&json, sink->write, sink->ctx);
	json_object_begin(&json);
	heap_document_put(&json, t->survey);
	json_key(&json, "kinds");
	json_array_begin(&json);
	for (unsigned i = 0; i < MAP_KINDS; i++) {
		if (!t->counts[i])
			continue;
		struct map_row row = t->kinds[i];
		row.kind = i;
		json_object_begin(&json);
		json_put_u64(&json, "mappings", t->counts[i]);
		put_figures(&json, &row);
		json_object_end(&json);
	}
	json_array_end(&json);
	if (t->is_choosy)
		heap_matched_rows_put(&json, t->shown);
	json_key(&json, "maps");
	json_array_begin(&json);
	for (size_t i = 0; i < t->shown && i < limit && !t->count_only; i++)
		put_map(&json, t, t->order[i]);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

struct error *heap_maps_write(const struct heap_page *page, const struct sink *sink)
{
	const struct address_space *space = page->survey->heap.space;
	struct tables t = {.survey = page->survey, .maps = &space->maps, .is_live = space->is_live};
	size_t limit = page->limit == VIEW_DEFAULT_LIMIT ? VIEW_NO_LIMIT : page->limit;
	_cleanup_(text_deinit) struct text out;
	text_init(&out);
	t.is_choosy = heap_page_is_choosy(page);
	t.count_only = page->rows->count_only;
	struct heap_rows rows;
	struct error *error = heap_rows_open(columns, cell_of, page->rows, &rows);
	if (error)
		return error;
	error = fill(&t, page);
	if (!error)
		error = heap_rows_choose(&rows, &t, t.maps->maps.len, &t.order, &t.shown);
	heap_rows_close(&rows);
	if (!error && page->json) {
		write_json(&t, limit, sink);
	} else if (!error) {
		write_text(&t, limit, &out);
		error = out.failed ? error_no_memory() : NULL;
		if (!error)
			sink->write(sink->ctx, out.data, out.len);
	}
	free(t.rows);
	free(t.order);
	return error;
}
