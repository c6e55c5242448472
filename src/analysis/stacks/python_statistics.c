/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/python_statistics.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/stacks/file_pattern.h"
#include "base/cleanup.h"
#include "base/map.h"

#define NO_FILE "<unknown>" /* tracemalloc's word */

/* Of a key its frames, outermost first. */
struct python_stack {
	const struct python_place *frames;
	size_t depth;
};

static uint64_t hash_stack(struct python_stack stack)
{
	uint64_t hash = stack.depth;
	for (size_t i = 0; i < stack.depth; i++) {
		const char *file = stack.frames[i].file;
		hash = hash_u64(hash ^ hash_bytes(file, strlen(file)) ^ stack.frames[i].line);
	}
	return hash;
}

/* In the order of Python's tuples of names and numbers: names by their characters, which in UTF-8
 * is by their bytes. */
static int compare_stacks(struct python_stack a, struct python_stack b)
{
	for (size_t i = 0; i < a.depth && i < b.depth; i++) {
		int order = strcmp(a.frames[i].file, b.frames[i].file);
		if (order)
			return order;
		if (a.frames[i].line != b.frames[i].line)
			return a.frames[i].line < b.frames[i].line ? -1 : 1;
	}
	return a.depth < b.depth ? -1 : a.depth > b.depth;
}

static bool same_stack(struct python_stack a, struct python_stack b)
{
	return a.depth == b.depth && compare_stacks(a, b) == 0;
}

/* Where the key is in the list. */
DEFINE_MAP(python_stack_map, struct python_stack, size_t, hash_stack, same_stack)
DEFINE_VEC(python_place_vec, struct python_place)
DEFINE_VEC(python_row_numbers, size_t)

struct python_building {
	const struct python_grouping *grouping;
	struct python_stack_map map;
	struct python_place_vec frames; /* of the current row, innermost first */
	size_t row;                     /* its number, from 1 */
	struct python_row_numbers last; /* that was added to each statistic */
	struct python_statistics *ret;
};

void python_statistics_init(struct python_statistics *statistics)
{
	*statistics = (struct python_statistics){.native_bytes = 0};
	python_statistic_vec_init(&statistics->list);
	arena_init(&statistics->arena);
}

void python_statistics_deinit(struct python_statistics *statistics)
{
	python_statistic_vec_deinit(&statistics->list);
	arena_deinit(&statistics->arena);
}

/* Sets at->frames; false: no memory. */
static bool collect_frames(struct python_building *at, const struct row *row)
{
	size_t depth = at->grouping->depth;
	at->frames.len = 0;
	for (size_t i = 0; i < row->depth && (!depth || at->frames.len < depth); i++) {
		const struct shown_frame *frame = row->frames[i];
		if (!frame->is_python)
			continue;
		const struct python_place found = {
			frame->file ? frame->file : NO_FILE, frame->line};
		if (!python_place_vec_push(&at->frames, found))
			return false;
	}
	return true;
}

/* The length of a name without the 'c' of ".pyc": bytecode stands for its source. */
static size_t count_source_bytes(const char *name, size_t len)
{
	return len >= 4 && memcmp(name + len - 4, ".pyc", 4) == 0 ? len - 1 : len;
}

static bool filter_fits_frame(const struct python_filter *filter, const struct python_place *frame)
{
	if (filter->has_line && frame->line != filter->line)
		return false;
	return file_pattern_match(filter->pattern, count_source_bytes(filter->pattern, filter->len),
		frame->file, count_source_bytes(frame->file, strlen(frame->file)));
}

static bool filter_fits(const struct python_building *at, const struct python_filter *filter)
{
	size_t count = at->grouping->any_frame ? at->frames.len : 1;
	for (size_t i = 0; i < count; i++)
		if (filter_fits_frame(filter, &at->frames.data[i]))
			return true;
	return false;
}

/* Whether any inclusive filter fits, if there is one, and no exclusive one does. */
static bool is_kept(const struct python_building *at)
{
	const struct python_filters *filters = &at->grouping->filters;
	bool is_wanted = false, any_wanted = false;
	for (size_t i = 0; i < filters->len; i++) {
		const struct python_filter *filter = &filters->data[i];
		bool fits = (!is_wanted || filter->exclusive) && filter_fits(at, filter);
		if (filter->exclusive && fits)
			return false;
		any_wanted |= !filter->exclusive;
		is_wanted |= !filter->exclusive && fits;
	}
	return is_wanted || !any_wanted;
}

/* Adds to the statistic of a key, which is copied if it is new; once for each row. */
static struct error *add_to(
	struct python_building *at, struct python_stack key, const struct site *sums)
{
	size_t *known = python_stack_map_find(&at->map, key);
	if (!known) {
		struct python_place *frames =
			arena_alloc(&at->ret->arena, key.depth * sizeof(*frames));
		if (!frames)
			return error_no_memory();
		memcpy(frames, key.frames, key.depth * sizeof(*frames));
		key.frames = frames;
		bool is_new;
		known = python_stack_map_insert(&at->map, key, &is_new);
		const struct python_statistic added = {frames, key.depth, 0, 0};
		if (!known || !python_statistic_vec_push(&at->ret->list, added) ||
			!python_row_numbers_push(&at->last, 0))
			return error_no_memory();
		*known = at->ret->list.len - 1;
	}
	if (at->last.data[*known] == at->row)
		return NULL;
	at->last.data[*known] = at->row;
	at->ret->list.data[*known].size += sums->live_bytes;
	at->ret->list.data[*known].count += sums->live_blocks;
	return NULL;
}

/* What a frame is where it alone is the key. */
static struct python_place key_of(const struct python_building *at, size_t number)
{
	struct python_place frame = at->frames.data[number];
	if (at->grouping->key == PYTHON_BY_FILE)
		frame.line = 0;
	return frame;
}

static struct error *add_row_frames(struct python_building *at, const struct row *row)
{
	size_t count = at->grouping->cum ? at->frames.len : 1;
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		struct python_place frame = key_of(at, i);
		error = add_to(at, (struct python_stack){&frame, 1}, row->sums);
	}
	return error;
}

static void turn_frames(struct python_place_vec *frames)
{
	for (size_t i = 0; i < frames->len / 2; i++) {
		struct python_place frame = frames->data[i];
		frames->data[i] = frames->data[frames->len - 1 - i];
		frames->data[frames->len - 1 - i] = frame;
	}
}

static struct error *python_statistics_add_row(struct python_building *at, const struct row *row)
{
	if (!row->sums->live_blocks)
		return NULL;
	if (!collect_frames(at, row))
		return error_no_memory();
	if (!at->frames.len) {
		at->ret->native_bytes += row->sums->live_bytes;
		at->ret->native_blocks += row->sums->live_blocks;
		return NULL;
	}
	if (!is_kept(at))
		return NULL;
	if (at->grouping->key != PYTHON_BY_TRACEBACK)
		return add_row_frames(at, row);
	turn_frames(&at->frames);
	return add_to(at, (struct python_stack){at->frames.data, at->frames.len}, row->sums);
}

/* Of the largest first: equals by the key that comes last, as reversed order has it. */
static int compare_statistics(const void *left, const void *right)
{
	const struct python_statistic *a = left, *b = right;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return -compare_stacks((struct python_stack){a->frames, a->depth},
		(struct python_stack){b->frames, b->depth});
}

struct error *python_statistics_build(const struct rows *rows,
	const struct python_grouping *grouping, struct python_statistics *ret)
{
	struct python_building at = {.grouping = grouping, .ret = ret};
	python_stack_map_init(&at.map);
	python_place_vec_init(&at.frames);
	python_row_numbers_init(&at.last);
	struct error *error = NULL;
	for (size_t i = 0; i < rows->rows.len && !error; i++) {
		at.row = i + 1;
		error = python_statistics_add_row(&at, &rows->rows.data[i]);
	}
	if (!error && ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), compare_statistics);
	python_stack_map_deinit(&at.map);
	python_place_vec_deinit(&at.frames);
	python_row_numbers_deinit(&at.last);
	return error;
}

static uint64_t count_units(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static int compare_changes(const void *left, const void *right)
{
	const struct python_change *a = left, *b = right;
	const uint64_t of_a[] = {
		count_units(a->size_change), a->size, count_units(a->count_change), a->count};
	const uint64_t of_b[] = {
		count_units(b->size_change), b->size, count_units(b->count_change), b->count};
	for (size_t i = 0; i < sizeof(of_a) / sizeof(of_a[0]); i++)
		if (of_a[i] != of_b[i])
			return of_a[i] > of_b[i] ? -1 : 1;
	return -compare_stacks((struct python_stack){a->frames, a->depth},
		(struct python_stack){b->frames, b->depth});
}

/* One side's statistics: of the newer one first. */
static struct error *add_side(const struct python_statistics *side, bool is_newer,
	struct python_stack_map *map, struct python_changes *ret)
{
	for (size_t i = 0; i < side->list.len; i++) {
		const struct python_statistic *from = &side->list.data[i];
		bool is_new;
		size_t *known = python_stack_map_insert(
			map, (struct python_stack){from->frames, from->depth}, &is_new);
		if (!known)
			return error_no_memory();
		const struct python_change added = {.frames = from->frames, .depth = from->depth};
		if (is_new && !python_changes_push(ret, added))
			return error_no_memory();
		if (is_new)
			*known = ret->len - 1;
		struct python_change *change = &ret->data[*known];
		change->size = is_newer ? from->size : change->size;
		change->count = is_newer ? from->count : change->count;
		change->size_change += is_newer ? (int64_t)from->size : -(int64_t)from->size;
		change->count_change += is_newer ? (int64_t)from->count : -(int64_t)from->count;
	}
	return NULL;
}

struct error *python_statistics_compare(const struct python_statistics *older,
	const struct python_statistics *newer, struct python_changes *ret)
{
	struct python_stack_map map;
	python_stack_map_init(&map);
	struct error *error = add_side(newer, true, &map, ret);
	if (!error)
		error = add_side(older, false, &map, ret);
	if (!error && ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), compare_changes);
	python_stack_map_deinit(&map);
	return error;
}
