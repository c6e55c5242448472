/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See rows.h. One pass over the sites, a hash of places finds the row. */
#include "analysis/rows.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/compare/match.h"
#include "analysis/folding.h"
#include "analysis/library_own.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

uint64_t row_key_hash(struct row_key key)
{
	uint64_t hash = key.kind;
	for (size_t i = 0; i < key.depth; i++)
		hash = (hash + key.frames[i]->place + 1) * 0x9e3779b97f4a7c15u;
	return hash_u64(hash);
}

bool row_key_equal(struct row_key a, struct row_key b)
{
	if (a.depth != b.depth || a.kind != b.kind)
		return false;
	for (size_t i = 0; i < a.depth; i++)
		if (a.frames[i]->place != b.frames[i]->place)
			return false;
	return true;
}

DEFINE_MAP(row_map, struct row_key, uint32_t, row_key_hash, row_key_equal)

void rows_init(struct rows *rows)
{
	row_vec_init(&rows->rows);
	arena_init(&rows->arena);
	text_init(&rows->remarks);
	rows->row_of_site = NULL;
}

void rows_deinit(struct rows *rows)
{
	row_vec_deinit(&rows->rows);
	arena_deinit(&rows->arena);
	text_deinit(&rows->remarks);
	free(rows->row_of_site);
}

int64_t row_value(const struct row *row, enum metric metric)
{
	return (int64_t)(metric_of_site(metric, row->sums) - metric_of_site(metric, row->base));
}

void site_add(struct site *sums, const struct site *more)
{
	site_counters_add(&sums->counters, &more->counters);
	if (more->stack.value < sums->stack.value)
		sums->stack = more->stack;
	sums->kept_blocks += more->kept_blocks;
	sums->kept_bytes += more->kept_bytes;
	spread_add(&sums->spread, &more->spread);
}

const struct site row_no_site;

struct row row_copy(const struct row *row)
{
	struct row copy = *row;
	copy.owns_sums = copy.owns_base = false;
	return copy;
}

static struct site *own_site(const struct site **site, bool *owns, struct arena *arena)
{
	if (*owns)
		return (struct site *)*site;
	struct site *copy = arena_alloc(arena, sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = **site;
	*site = copy;
	*owns = true;
	return copy;
}

struct site *row_own_sums(struct row *row, struct arena *arena)
{
	return own_site(&row->sums, &row->owns_sums, arena);
}

struct site *row_own_base(struct row *row, struct arena *arena)
{
	return own_site(&row->base, &row->owns_base, arena);
}

bool row_add(struct row *row, const struct row *more, struct arena *arena)
{
	struct site *sums = row_own_sums(row, arena), *base = NULL;
	bool has_base = more->base != &row_no_site;
	if (has_base)
		base = row_own_base(row, arena);
	if (!sums || (has_base && !base))
		return false;
	site_add(sums, more->sums);
	if (base)
		site_add(base, more->base);
	row->stacks += more->stacks;
	return true;
}

bool row_is_own_doing(const struct row *row)
{
	return row->sums->allocations && row->sums->same_frame == row->sums->allocations;
}

static bool frame_counts(const struct row *row, const struct shown_frame *frame)
{
	return frame->is_program && (!frame->is_wrapper || row_is_own_doing(row));
}

size_t row_depth_of(const struct row *row, unsigned n)
{
	for (size_t i = 0; i < row->depth; i++)
		if (frame_counts(row, row->frames[i]) && --n == 0)
			return i + 1;
	return row->depth;
}

static const struct shown_frame *find_place(const struct row *row)
{
	const struct shown_frame *innermost = NULL;
	struct folding folding;
	folding_of_row(&folding, row);
	for (size_t i = 0; i < row->depth; i++) {
		if (row->frames[i]->is_unknown)
			continue;
		if (frame_counts(row, row->frames[i]))
			return row->frames[i];
		if (!innermost && !folding_hides(&folding, i))
			innermost = row->frames[i];
	}
	return innermost;
}

void row_conclude(struct row *row)
{
	const struct site *sums = row->sums;
	row->fits_on_stack = sums->allocations > 0 && sums->same_frame == sums->allocations &&
			     sums->min_size == sums->max_size &&
			     sums->max_size <= FITS_ON_STACK_BYTES;
	row->place = find_place(row);
	row->guessed = false;
	row->cut = MARK_NONE;
	for (size_t i = 0; i < row->depth; i++) {
		enum stack_mark mark = row->frames[i]->mark;
		if (mark == MARK_GUESSED)
			row->guessed = true;
		if (stack_mark_cut(mark))
			row->cut = mark;
	}
}

static bool has_counts(const struct site *site)
{
	return site->allocations || site->failed || site->live_blocks || site->peak_blocks ||
	       site->allocated_bytes || site->live_bytes || site->peak_bytes || site->temporary;
}

/* The row for a stack, added if there is none; `frames` is copied then. */
static struct error *find_row(struct rows *rows, struct row_map *map, const struct site *site,
	const struct frame_vec *frames, struct row **ret)
{
	struct row_key key = {frames->data, frames->len, site->kind};
	uint32_t *known = row_map_find(map, key);
	if (known) {
		*ret = &rows->rows.data[*known];
		return NULL;
	}
	const struct shown_frame **copy =
		arena_alloc(&rows->arena, (frames->len + 1) * sizeof(*copy));
	if (!copy)
		return error_no_memory();
	if (frames->len)
		memcpy(copy, frames->data, frames->len * sizeof(*copy));
	struct row row = {
		.frames = copy,
		.depth = (uint32_t)frames->len,
		.sums = site,
		.base = &row_no_site,
	};
	key.frames = copy;
	bool is_new;
	known = row_map_insert(map, key, &is_new);
	if (!known || !row_vec_push(&rows->rows, row))
		return error_no_memory();
	*known = (uint32_t)rows->rows.len - 1;
	*ret = &rows->rows.data[*known];
	return NULL;
}

/* Sites, one after another. */
struct site_range {
	const struct site *sites;
	size_t count;
	const uint8_t *leak_kinds; /* of each, as of struct row; NULL: no search */
	uint32_t *ret_rows;        /* of each: its row; NULL: not wanted */
};

/* A new row's figures are those of the model's site. */
static bool row_add_site(struct row *row, const struct site *site, struct arena *arena)
{
	struct site *sums = NULL;
	if (row->stacks++ == 0)
		return true;
	sums = row_own_sums(row, arena);
	if (sums)
		site_add(sums, site);
	return sums;
}

static struct error *rows_add_sites(struct site_range range, struct resolver *resolver,
	struct rows *rows, struct row_map *map, struct frame_vec *frames)
{
	const struct site *sites = range.sites;
	size_t count = range.count;
	for (size_t i = 0; i < count; i++) {
		if (range.ret_rows)
			range.ret_rows[i] = ROWS_NONE;
		if (!has_counts(&sites[i]))
			continue;
		struct error *error =
			resolver_stack(resolver, sites[i].stack, sites[i].kind, frames);
		if (error)
			return error;
		struct row *row = NULL;
		error = find_row(rows, map, &sites[i], frames, &row);
		if (error)
			return error;
		if (!row_add_site(row, &sites[i], &rows->arena))
			return error_no_memory();
		if (range.ret_rows)
			range.ret_rows[i] = (uint32_t)(row - rows->rows.data);
		if (range.leak_kinds)
			row->leak_kinds |= range.leak_kinds[i];
	}
	for (size_t i = 0; i < rows->rows.len; i++)
		row_conclude(&rows->rows.data[i]);
	return NULL;
}

static struct error *rows_build_build(
	struct site_range range, struct resolver *resolver, struct rows *ret)
{
	_cleanup_(row_map_deinit) struct row_map map;
	row_map_init(&map);
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	frame_vec_init(&frames);
	return rows_add_sites(range, resolver, ret, &map, &frames);
}

/* What a search found the blocks of each site to be. */
static void find_leak_kinds(const struct model *model, uint8_t *ret)
{
	size_t count;
	const struct leak_record *records = model_leak_records(model, &count);
	for (size_t i = 0; i < count; i++)
		if (records[i].blocks)
			ret[records[i].site.value] |= (uint8_t)(1u << records[i].kind);
}

struct error *rows_build(const struct model *model, struct resolver *resolver, struct rows *ret)
{
	struct site_range range = {.sites = NULL};
	range.sites = model_sites(model, &range.count);
	_cleanup_free_ uint8_t *leak_kinds = calloc(range.count + 1, sizeof(*leak_kinds));
	if (!leak_kinds)
		return error_no_memory();
	range.leak_kinds = leak_kinds;
	find_leak_kinds(model, leak_kinds);
	size_t merged = model_recording(model)->merged;
	bool folds = merged;
	if (!folds) {
		ret->row_of_site = malloc((range.count + 1) * sizeof(*ret->row_of_site));
		if (!ret->row_of_site)
			return error_no_memory();
		range.ret_rows = ret->row_of_site;
	}
	if (!row_vec_reserve(&ret->rows, range.count))
		return error_no_memory();
	struct error *error = rows_build_build(range, resolver, ret);
	if (!error && folds)
		error = match_fold(model, ret);
	return error ? error : library_own_mark(model, resolver, merged ? merged : 1, ret);
}

struct error *rows_build_inherited(
	const struct model *model, struct resolver *resolver, struct rows *ret)
{
	struct site_range range = {.sites = NULL};
	range.sites = model_inherited_sites(model, &range.count);
	return rows_build_build(range, resolver, ret);
}

/* A row with its sort value, so that comparing needs no context. */
struct ranked {
	uint64_t value;
	const struct row *row;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	const struct site *x = a->row->sums, *y = b->row->sums;
	if (x->stack.value != y->stack.value)
		return x->stack.value < y->stack.value ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

bool row_has_some(const struct row *row, enum metric metric)
{
	enum metric bytes = metric == METRIC_LIVE_BLOCKS   ? METRIC_LIVE_BYTES
			    : metric == METRIC_KEPT_BLOCKS ? METRIC_KEPT_BYTES
			    : metric == METRIC_PEAK_BLOCKS ? METRIC_PEAK_BYTES
							   : metric;
	return metric_of_site(metric, row->sums) || metric_of_site(bytes, row->sums);
}

struct error *rows_select(
	const struct rows *rows, enum metric filter, enum metric sort, struct row_list *ret)
{
	_cleanup_free_ struct ranked *ranked = calloc(rows->rows.len + 1, sizeof(*ranked));
	if (!ranked)
		return error_no_memory();
	size_t count = 0;
	for (size_t i = 0; i < rows->rows.len; i++) {
		const struct row *row = &rows->rows.data[i];
		if (filter != METRICS && !row_has_some(row, filter))
			continue;
		ranked[count++] = (struct ranked){metric_of_site(sort, row->sums), row};
	}
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < count; i++)
		if (!row_list_push(ret, ranked[i].row))
			return error_no_memory();
	return NULL;
}

void row_list_leave(struct row_list *list, bool libraries)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->len; i++)
		if ((list->data[i]->library != NULL) == libraries)
			list->data[kept++] = list->data[i];
	list->len = kept;
}

static struct error *number_rows(const struct rows *rows, struct row_map *ret)
{
	for (size_t i = 0; i < rows->rows.len; i++) {
		const struct row *row = &rows->rows.data[i];
		uint32_t *number = row_map_insert(
			ret, (struct row_key){row->frames, row->depth, row->sums->kind}, NULL);
		if (!number)
			return error_no_memory();
		*number = (uint32_t)i;
	}
	return NULL;
}

/* A site without counts of its own may read like one that has some. */
static bool all_have_rows(const uint32_t *row_of_site, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (row_of_site[i] == ROWS_NONE)
			return false;
	return true;
}

struct error *rows_of_sites(const struct model *model, struct resolver *resolver,
	const struct rows *rows, uint32_t **ret)
{
	_cleanup_(row_map_deinit) struct row_map map;
	row_map_init(&map);
	_cleanup_(frame_vec_deinit) struct frame_vec frames;
	frame_vec_init(&frames);
	size_t count;
	const struct site *sites = model_sites(model, &count);
	_cleanup_free_ uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));
	if (numbers && rows->row_of_site && all_have_rows(rows->row_of_site, count)) {
		memcpy(numbers, rows->row_of_site, count * sizeof(*numbers));
		*ret = steal_ptr(numbers);
		return NULL;
	}
	struct error *error = numbers ? number_rows(rows, &map) : error_no_memory();
	for (size_t i = 0; !error && i < count; i++) {
		error = resolver_stack(resolver, sites[i].stack, sites[i].kind, &frames);
		if (error)
			break;
		uint32_t *number = row_map_find(
			&map, (struct row_key){frames.data, frames.len, sites[i].kind});
		numbers[i] = number ? *number : ROWS_NONE;
	}
	if (!error)
		*ret = steal_ptr(numbers);
	return error;
}
