/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"

struct part_key {
	uint32_t spot;
	const char *file;
};

static uint64_t hash_part(struct part_key key)
{
	return hash_bytes(key.file, strlen(key.file)) ^ hash_u64(key.spot);
}

static bool same_part(struct part_key a, struct part_key b)
{
	return a.spot == b.spot && strcmp(a.file, b.file) == 0;
}

static uint64_t hash_number(uint64_t number)
{
	return hash_u64(number);
}

static bool same_number(uint64_t a, uint64_t b)
{
	return a == b;
}

/* Where a line is in its part, and the row that was last added to its cum, from 1. */
struct line_place {
	uint32_t index, last_row;
};

DEFINE_MAP(part_map, struct part_key, uint32_t, hash_part, same_part)
DEFINE_MAP(line_map, uint64_t, struct line_place, hash_number, same_number)
DEFINE_VEC(row_numbers, uint32_t)

struct listing_building {
	struct spots *spots;
	const bool *is_chosen;
	struct part_map parts;
	struct line_map lines;        /* (part, line) */
	struct row_numbers last_rows; /* of each part, as of a line */
	struct listing *ret;
};

void listing_init(struct listing *listing)
{
	listing_parts_init(&listing->parts);
	listing->without_lines = 0;
	listing->traces_left_out = 0;
}

static void listing_part_deinit(struct listing_part *part)
{
	listing_lines_deinit(&part->lines);
	listing_traces_deinit(&part->traces);
}

void listing_deinit(struct listing *listing)
{
	for (size_t i = 0; i < listing->parts.len; i++)
		listing_part_deinit(&listing->parts.data[i]);
	listing_parts_deinit(&listing->parts);
}

static struct error *listing_find_part(
	struct listing_building *at, const struct spot *spot, const char *file, uint32_t *ret)
{
	bool is_new;
	uint32_t *known = part_map_insert(&at->parts, (struct part_key){spot->id, file}, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		bool of_file = spots_grain(at->spots) == GRAIN_FILES;
		struct listing_part part = {
			.function = of_file ? NULL : spot->name,
			.file = file,
			.module_path = spot->frame->module_path,
			.flat = row_empty(),
			.cum = row_empty(),
		};
		*known = (uint32_t)at->ret->parts.len;
		if (!listing_parts_push(&at->ret->parts, part) ||
			!row_numbers_push(&at->last_rows, 0))
			return error_no_memory();
	}
	*ret = *known;
	return NULL;
}

static struct error *find_line(
	struct listing_building *at, uint32_t part, uint32_t line, struct line_place **ret)
{
	bool is_new;
	struct line_place *known =
		line_map_insert(&at->lines, (uint64_t)part << 32 | line, &is_new);
	if (!known)
		return error_no_memory();
	if (is_new) {
		struct listing_lines *lines = &at->ret->parts.data[part].lines;
		*known = (struct line_place){.index = (uint32_t)lines->len};
		const struct listing_line new = {
			.line = line, .flat = row_empty(), .cum = row_empty()};
		if (!listing_lines_push(lines, new))
			return error_no_memory();
	}
	*ret = known;
	return NULL;
}

/* Whether a row's blocks are of the frame itself: nothing is inward of it, or only the native code
 * that code of an interpreter calls. */
static bool listing_is_flat(const struct row *row, size_t depth)
{
	if (depth && !shown_frame_is_managed(row->frames[depth]))
		return false;
	for (size_t i = 0; i < depth; i++)
		if (shown_frame_is_managed(row->frames[i]))
			return false;
	return true;
}

/* Lets the part reach over all lines that the code of a frame has. */
static void listing_add_extent(struct listing_part *part, const struct shown_frame *frame)
{
	if (!shown_frame_is_managed(frame) || !frame->code)
		return;
	const struct code *code = frame->code;
	uint32_t first = code->first_line, last = code->first_line;
	for (size_t i = 0; i < code->line_count; i++) {
		uint32_t line = code->lines[i].line;
		first = line && (!first || line < first) ? line : first;
		last = line > last ? line : last;
	}
	if (first && (!part->first_line || first < part->first_line))
		part->first_line = first;
	if (last > part->last_line)
		part->last_line = last;
}

static struct error *listing_add_frame(struct listing_building *at, const struct row *row,
	uint32_t number, size_t depth, const struct spot *spot)
{
	const struct shown_frame *frame = row->frames[depth];
	uint32_t index = 0;
	struct error *error = listing_find_part(at, spot, frame->file, &index);
	struct line_place *place = NULL;
	if (!error)
		error = find_line(at, index, frame->line, &place);
	if (error)
		return error;
	struct listing_part *part = &at->ret->parts.data[index];
	struct listing_line *line = &part->lines.data[place->index];
	struct arena *arena = spots_arena(at->spots);
	bool added = true;
	listing_add_extent(part, frame);
	if (listing_is_flat(row, depth))
		added = row_add(&line->flat, row, arena) && row_add(&part->flat, row, arena);
	if (added && place->last_row != number)
		added = row_add(&line->cum, row, arena);
	if (added && at->last_rows.data[index] != number)
		added = row_add(&part->cum, row, arena);
	if (!added)
		return error_no_memory();
	place->last_row = at->last_rows.data[index] = number;
	return NULL;
}

static struct error *listing_add_row(
	struct listing_building *at, const struct row *row, uint32_t number)
{
	for (size_t i = 0; i < row->depth; i++) {
		const struct spot *spot;
		struct error *error = spots_find(at->spots, row->frames[i], &spot);
		if (!error && spot && at->is_chosen[spot->id]) {
			if (row->frames[i]->file)
				error = listing_add_frame(at, row, number, i, spot);
			else
				at->ret->without_lines++;
		}
		if (error)
			return error;
	}
	return NULL;
}

static int compare_lines(const void *left, const void *right)
{
	const struct listing_line *a = left, *b = right;
	return a->line < b->line ? -1 : a->line > b->line;
}

static int compare_parts(const void *left, const void *right)
{
	const struct listing_part *a = left, *b = right;
	uint64_t x = a->cum.sums->allocated_bytes, y = b->cum.sums->allocated_bytes;
	if (x != y)
		return x > y ? -1 : 1;
	int order = strcmp(a->file, b->file);
	return order ? order
		     : strcmp(a->function ? a->function : "", b->function ? b->function : "");
}

struct error *listing_build(
	const struct rows *rows, struct spots *spots, const bool *is_chosen, struct listing *ret)
{
	struct listing_building at = {.spots = spots, .is_chosen = is_chosen, .ret = ret};
	part_map_init(&at.parts);
	line_map_init(&at.lines);
	row_numbers_init(&at.last_rows);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < rows->rows.len; i++)
		error = listing_add_row(&at, &rows->rows.data[i], (uint32_t)i + 1);
	part_map_deinit(&at.parts);
	line_map_deinit(&at.lines);
	row_numbers_deinit(&at.last_rows);
	for (size_t i = 0; i < ret->parts.len; i++)
		qsort(ret->parts.data[i].lines.data, ret->parts.data[i].lines.len,
			sizeof(struct listing_line), compare_lines);
	if (ret->parts.len)
		qsort(ret->parts.data, ret->parts.len, sizeof(*ret->parts.data), compare_parts);
	return error;
}

static int traced_compare(const void *left, const void *right)
{
	const struct traced_line *a = left, *b = right;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* Whether of two rows of one line the left one is of a function within the other's: what is defined
 * in a line runs there, too. */
static bool traced_is_inner(
	const struct model *model, const struct traced_line *a, const struct traced_line *b)
{
	return model_code(model, a->code)->first_line > model_code(model, b->code)->first_line;
}

/* Rows of one line become one. Of a file's line that functions have within one another the
 * outermost one's counts. */
static void traces_merge(const struct model *model, struct listing_traces *traces)
{
	size_t kept = 0;
	if (traces->len)
		qsort(traces->data, traces->len, sizeof(*traces->data), traced_compare);
	for (size_t i = 0; i < traces->len; i++) {
		const struct traced_line row = traces->data[i];
		struct traced_line *last = kept ? &traces->data[kept - 1] : NULL;
		if (!last || last->line != row.line) {
			traces->data[kept++] = row;
			continue;
		}
		if (traced_is_inner(model, &row, last))
			continue;
		if (traced_is_inner(model, last, &row)) {
			*last = row;
			continue;
		}
		last->count += row.count;
		last->unsized += row.unsized;
		last->growth_bytes += row.growth_bytes;
		if (row.largest_bytes > last->largest_bytes)
			last->largest_bytes = row.largest_bytes;
	}
	traces->len = kept;
}

/* What frames of code are called. */
static const char *code_function(const struct code *code)
{
	return code->outer ? code->outer : code->name;
}

static bool part_has_code(const struct listing_part *part, const struct code *code)
{
	const char *name = code_function(code);
	return name && code->file && strcmp(part->file, code->file) == 0 &&
	       (!part->function || strcmp(part->function, name) == 0);
}

static bool code_is_called(const struct code *code, const char *wanted)
{
	const char *name = code_function(code), *dot = name ? strrchr(name, '.') : NULL;
	return name && code->file &&
	       (strcmp(name, wanted) == 0 || (dot && strcmp(dot + 1, wanted) == 0));
}

bool listing_is_traced(const struct model *model, const char *wanted)
{
	size_t count;
	const struct traced_line *rows = model_traced_lines(model, &count);
	for (size_t k = 0; k < count; k++)
		if (rows[k].code.value && code_is_called(model_code(model, rows[k].code), wanted))
			return true;
	return false;
}

/* The part of a traced function: one that is there, or if it has the wanted name a new one. *ret is
 * NULL if there is none. */
static struct error *traced_part_find(struct listing *listing, const struct code *code,
	const char *wanted, struct listing_part **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < listing->parts.len && !*ret; i++)
		if (part_has_code(&listing->parts.data[i], code))
			*ret = &listing->parts.data[i];
	if (*ret || !code_is_called(code, wanted))
		return NULL;
	const struct listing_part part = {.function = code_function(code),
		.file = code->file,
		.module_path = code->module,
		.first_line = code->first_line,
		.flat = row_empty(),
		.cum = row_empty()};
	if (!listing_parts_push(&listing->parts, part))
		return error_no_memory();
	*ret = &listing->parts.data[listing->parts.len - 1];
	return NULL;
}

/* Of a function that allocated nothing: it has lines all the same. */
static struct error *traced_part_add_lines(struct listing_part *part)
{
	for (size_t i = 0; i < part->traces.len; i++) {
		const struct listing_line line = {
			.line = part->traces.data[i].line, .flat = row_empty(), .cum = row_empty()};
		if (!listing_lines_push(&part->lines, line))
			return error_no_memory();
	}
	return NULL;
}

struct error *listing_add_traces(
	struct listing *listing, const struct model *model, const char *wanted)
{
	size_t count;
	const struct traced_line *rows = model_traced_lines(model, &count);
	struct error *error = NULL;
	for (size_t k = 0; k < count && !error; k++) {
		struct listing_part *part = NULL;
		if (!rows[k].code.value)
			listing->traces_left_out += rows[k].count;
		else
			error = traced_part_find(
				listing, model_code(model, rows[k].code), wanted, &part);
		if (!error && part && !listing_traces_push(&part->traces, rows[k]))
			error = error_no_memory();
	}
	for (size_t i = 0; i < listing->parts.len && !error; i++) {
		struct listing_part *part = &listing->parts.data[i];
		traces_merge(model, &part->traces);
		if (!part->lines.len)
			error = traced_part_add_lines(part);
	}
	return error;
}

const struct traced_line *listing_trace(const struct listing_part *part, uint32_t line)
{
	const struct traced_line key = {.line = line};
	return part->traces.len ? bsearch(&key, part->traces.data, part->traces.len, sizeof(key),
					  traced_compare)
				: NULL;
}
