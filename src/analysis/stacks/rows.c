/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See rows.h. One pass over the sites, a hash of places finds the row. */
#include "analysis/rows.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/compare/match.h"
#include "analysis/folding.h"
#include "analysis/library_own.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/util.h"

uint64_t row_key_hash(struct row_key key)
{
	uint64_t hash = key.kind;
	for (size_t i = 0; i < key.depth; i++)
		hash = shown_frame_hash_add(hash, key.frames[i]->place);
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

static inline bool frame_counts(const struct shown_frame *frame, bool own_doing)
{
	return frame->is_program && (!frame->is_wrapper || own_doing);
}

size_t row_depth_of(const struct row *row, unsigned n)
{
	bool own_doing = row_is_own_doing(row);
	for (size_t i = 0; i < row->depth; i++)
		if (frame_counts(row->frames[i], own_doing) && --n == 0)
			return i + 1;
	return row->depth;
}

static const struct shown_frame *find_place(const struct row *row)
{
	const struct shown_frame *innermost = NULL;
	struct folding folding = {.frames = NULL};
	bool own_doing = row_is_own_doing(row);
	/* Nearly always it is the innermost frame. */
	for (size_t i = 0; i < row->depth; i++) {
		if (row->frames[i]->is_unknown)
			continue;
		if (frame_counts(row->frames[i], own_doing))
			return row->frames[i];
		if (innermost)
			continue;
		if (!folding.frames)
			folding_init(&folding, row->frames, row->depth, own_doing);
		if (!folding_hides(&folding, i))
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
	if (row->unmarked)
		return;
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

static struct row_key key_of_row(const struct row *row)
{
	return (struct row_key){row->frames, row->depth, row->sums->kind};
}

/* Finds the row that reads like a stack; *ret is ROWS_NONE if there is none, and `place` is where
 * it belongs. */
static struct error *find_number(const struct rows *rows, struct hash_index *index,
	struct row_key key, uint64_t hash, struct hash_index_place *place, uint32_t *ret)
{
	uint32_t number;
	if (!hash_index_seek(index, hash, place))
		return error_no_memory();
	do {
		number = hash_index_next(index, place);
	} while (number && !row_key_equal(key_of_row(&rows->rows.data[number - 1]), key));
	*ret = number - 1;
	return NULL;
}

/* Sites, one after another. */
struct site_range {
	const struct site *sites;
	size_t count;
	const uint8_t *leak_kinds; /* of each, as of struct row; NULL: no search */
	uint32_t *ret_rows;        /* of each: its row; NULL: not wanted */
};

/* Sites are taken some at a time, so that the memory that one of them needs comes while the others
 * are seen to. */
#define BATCH RESOLVER_BATCH

struct row_maker {
	const struct site_range *range;
	struct resolver *resolver;
	struct rows *rows;
	struct hash_index index;
	/* Of a batch: */
	size_t count;
	size_t sites[BATCH]; /* their numbers */
	struct resolved_stack stacks[BATCH];
};

static struct error *row_maker_init(struct row_maker *maker, const struct site_range *range,
	struct resolver *resolver, struct rows *rows)
{
	*maker = (struct row_maker){.range = range, .resolver = resolver, .rows = rows};
	return hash_index_init(&maker->index, range->count) ? NULL : error_no_memory();
}

static void row_maker_deinit(struct row_maker *maker)
{
	hash_index_deinit(&maker->index);
	for (size_t i = 0; i < BATCH; i++)
		frame_vec_deinit(&maker->stacks[i].frames);
}

/* Adds a row for the stack of a site, whose frames are copied. */
static struct error *add_row(struct row_maker *maker, const struct site *site,
	const struct resolved_stack *stack, const struct hash_index_place *place)
{
	struct rows *rows = maker->rows;
	const struct frame_vec *frames = &stack->frames;
	const struct shown_frame **copy = arena_alloc(&rows->arena, frames->len * sizeof(*copy));
	if (!copy)
		return error_no_memory();
	if (frames->len)
		memcpy(copy, frames->data, frames->len * sizeof(*copy));
	struct row row = {
		.frames = copy,
		.depth = (uint32_t)frames->len,
		.sums = site,
		.base = &row_no_site,
		.unmarked = stack->unmarked,
	};
	hash_index_put(&maker->index, place, (uint32_t)rows->rows.len);
	return row_vec_push(&rows->rows, row) ? NULL : error_no_memory();
}

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

/* Puts the i-th site of a batch into its row. */
static struct error *add_site(struct row_maker *maker, size_t i)
{
	const struct site_range *range = maker->range;
	struct rows *rows = maker->rows;
	const struct site *site = &range->sites[maker->sites[i]];
	const struct resolved_stack *stack = &maker->stacks[i];
	struct row_key key = {stack->frames.data, stack->frames.len, site->kind};
	struct hash_index_place place;
	uint32_t number;
	struct error *error =
		find_number(rows, &maker->index, key, hash_u64(stack->hash), &place, &number);
	if (!error && number == ROWS_NONE) {
		number = (uint32_t)rows->rows.len;
		error = add_row(maker, site, stack, &place);
	}
	if (error)
		return error;
	struct row *row = &rows->rows.data[number];
	if (!row_add_site(row, site, &rows->arena))
		return error_no_memory();
	if (range->ret_rows)
		range->ret_rows[maker->sites[i]] = number;
	if (range->leak_kinds)
		row->leak_kinds |= range->leak_kinds[maker->sites[i]];
	row_conclude(row);
	return NULL;
}

static struct error *add_batch(struct row_maker *maker)
{
	const struct site *sites = maker->range->sites;
	struct stack_id stacks[BATCH];
	struct error *error = NULL;
	for (size_t i = 0; i < maker->count; i++)
		stacks[i] = sites[maker->sites[i]].stack;
	resolver_fetch(maker->resolver, stacks, maker->count);
	for (size_t i = 0; !error && i < maker->count; i++) {
		struct resolved_stack *stack = &maker->stacks[i];
		error = resolver_stack_hashed(
			maker->resolver, stacks[i], sites[maker->sites[i]].kind, stack);
		hash_index_fetch(&maker->index, hash_u64(stack->hash));
	}
	for (size_t i = 0; !error && i < maker->count; i++)
		error = add_site(maker, i);
	maker->count = 0;
	return error;
}

static struct error *rows_build_build(
	struct site_range range, struct resolver *resolver, struct rows *ret)
{
	_cleanup_(row_maker_deinit) struct row_maker maker;
	struct error *error = row_maker_init(&maker, &range, resolver, ret);
	for (size_t i = 0; !error && i < range.count; i++) {
		if (range.ret_rows)
			range.ret_rows[i] = ROWS_NONE;
		if (!has_counts(&range.sites[i]))
			continue;
		maker.sites[maker.count++] = i;
		if (maker.count == BATCH)
			error = add_batch(&maker);
	}
	return error ? error : add_batch(&maker);
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

/* A row with what it is sorted by, so that comparing needs no context, and no other memory. */
struct ranked {
	uint64_t value;
	const struct row *row;
	uint32_t stack, kind;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (int)a->kind - (int)b->kind;
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
		ranked[count++] = (struct ranked){metric_of_site(sort, row->sums), row,
			row->sums->stack.value, (uint32_t)row->sums->kind};
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

static struct error *number_rows(const struct rows *rows, struct hash_index *ret)
{
	for (size_t i = 0; i < rows->rows.len; i++) {
		struct row_key key = key_of_row(&rows->rows.data[i]);
		struct hash_index_place place;
		uint32_t known;
		struct error *error =
			find_number(rows, ret, key, row_key_hash(key), &place, &known);
		if (error)
			return error;
		if (known == ROWS_NONE)
			hash_index_put(ret, &place, (uint32_t)i);
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
	_cleanup_(hash_index_deinit) struct hash_index index = {.cap = 0};
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
	struct error *error = numbers ? number_rows(rows, &index) : error_no_memory();
	for (size_t i = 0; !error && i < count; i++) {
		error = resolver_stack(resolver, sites[i].stack, sites[i].kind, &frames);
		if (error)
			break;
		struct row_key key = {frames.data, frames.len, sites[i].kind};
		struct hash_index_place place;
		error = find_number(rows, &index, key, row_key_hash(key), &place, &numbers[i]);
	}
	if (!error)
		*ret = steal_ptr(numbers);
	return error;
}
