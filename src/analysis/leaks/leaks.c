/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See leaks.h. Sites become stacks (each site once), records become rows by stack and kind, and
 * then each row is classified:
 *
 *   record ─site→ stack ─┐
 *          ─kind─────────┴→ row ─→ library? suppressed? else its kind
 *          ─group→ path ──────→ hold of that row
 */
#include "analysis/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/leaks/leak_libraries.h"
#include "analysis/library_own.h"
#include "analysis/rows.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/util.h"

#define NO_STACK UINT32_MAX

/* The part of a stack that tells it from others. */
struct stack_key {
	const struct shown_frame *const *frames;
	size_t depth;
	enum alloc_kind kind;
	bool by_address;
};

static inline uint64_t frame_identity(struct stack_key key, size_t i)
{
	const struct shown_frame *frame = key.frames[i];
	return key.by_address && frame->address ? frame->address : frame->place;
}

static inline uint64_t stack_key_hash(struct stack_key key)
{
	uint64_t hash = key.kind;
	for (size_t i = 0; i < key.depth; i++)
		hash = hash_u64(hash ^ frame_identity(key, i)) + i;
	return hash;
}

static inline bool stack_key_equal(struct stack_key a, struct stack_key b)
{
	if (a.depth != b.depth || a.kind != b.kind)
		return false;
	for (size_t i = 0; i < a.depth; i++)
		if (frame_identity(a, i) != frame_identity(b, i))
			return false;
	return true;
}

DEFINE_MAP(stack_map, struct stack_key, uint32_t, stack_key_hash, stack_key_equal)

static inline bool row_number_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(row_map, uint64_t, uint32_t, hash_u64, row_number_equal)

/* A hold before it is known where those of its row begin. */
struct loose_hold {
	uint32_t row;
	struct leak_hold hold;
};
DEFINE_VEC(loose_vec, struct loose_hold)

struct building {
	const struct model *model;
	struct resolver *resolver;
	const struct leaks_options *options;
	struct leaks *ret;
	struct stack_map stacks;
	struct row_map rows; /* by stack << 3 | kind */
	struct loose_vec holds;
	struct frame_vec frames; /* scratch */
};

void leaks_init(struct leaks *leaks)
{
	*leaks = (struct leaks){.model = NULL};
	leak_stack_vec_init(&leaks->stacks);
	leak_row_vec_init(&leaks->rows);
	leak_hold_vec_init(&leaks->holds);
	leak_paths_init(&leaks->paths);
	arena_init(&leaks->arena);
}

void leaks_deinit(struct leaks *leaks)
{
	leak_stack_vec_deinit(&leaks->stacks);
	free(leaks->stack_of_site);
	leak_row_vec_deinit(&leaks->rows);
	leak_hold_vec_deinit(&leaks->holds);
	leak_paths_deinit(&leaks->paths);
	arena_deinit(&leaks->arena);
}

size_t leak_frames_until(const struct shown_frame *const *frames, size_t depth, unsigned count)
{
	size_t i = 0;
	while (i < depth && count > 0) {
		bool physical = !frames[i]->inlined &&
				(frames[i]->mark == MARK_NONE || frames[i]->mark == MARK_SIGNAL);
		count -= physical;
		i++;
	}
	return i;
}

/* As above, for frames after those of the allocation function; both are counted together. */
static size_t frames_kept(
	const struct shown_frame *const *frames, size_t depth, enum alloc_kind kind, unsigned count)
{
	struct suppress_frame unused[SUPPRESS_ALLOCATION_FRAMES_MAX];
	size_t before = suppress_allocation_frames(kind, unused);
	if (count == 0)
		return depth;
	return count <= before ? 0 : leak_frames_until(frames, depth, count - (unsigned)before);
}

static struct error *leaks_add_stack(
	struct building *building, struct leak_stack stack, struct stack_key key, uint32_t *ret)
{
	const struct shown_frame **copy =
		arena_alloc(&building->ret->arena, (stack.all_depth + 1) * sizeof(*copy));
	if (!copy)
		return error_no_memory();
	if (stack.all_depth)
		memcpy(copy, stack.all, stack.all_depth * sizeof(*copy));
	size_t hidden = stack.all_depth - stack.depth;
	key.frames = copy + (key.frames - stack.all);
	stack.all = copy;
	stack.frames = copy + hidden;
	/* Blocks that stay were not freed by the frame that allocated them. */
	const struct site one = {.allocations = 1};
	struct row row = {.frames = stack.frames,
		.depth = (uint32_t)stack.depth,
		.sums = &one,
		.base = &row_no_site};
	row_conclude(&row);
	stack.place = row.place;
	stack.guessed = row.guessed;
	stack.cut = row.cut;
	uint32_t *number = stack_map_insert(&building->stacks, key, NULL);
	if (!number || !leak_stack_vec_push(&building->ret->stacks, stack))
		return error_no_memory();
	*ret = *number = (uint32_t)building->ret->stacks.len - 1;
	return NULL;
}

/* The stack of resolved frames, after the called function. */
static struct error *find_stack(struct building *building, const struct shown_frame *const *frames,
	size_t count, enum alloc_kind kind, uint32_t *ret)
{
	const struct leaks_options *options = building->options;
	size_t depth = frames_kept(frames, count, kind, options->frames);
	size_t hidden = min(shown_frames_hidden(frames, count), depth);
	struct leak_stack stack = {.frames = frames + hidden,
		.depth = depth - hidden,
		.all = frames,
		.all_depth = depth,
		.kind = kind};
	size_t depth_kept = min(depth, frames_kept(frames, count, kind, options->resolution));
	struct stack_key key = {frames, depth_kept, kind, options->by_address};
	/* What allocators do among themselves makes no difference to people. */
	if (!options->by_address) {
		key.frames += min(hidden, depth_kept);
		key.depth -= min(hidden, depth_kept);
	}
	uint32_t *same = stack_map_find(&building->stacks, key);
	if (!same)
		return leaks_add_stack(building, stack, key, ret);
	*ret = *same;
	return NULL;
}

static struct error *stack_of_site(struct building *building, struct site_id id, uint32_t *ret)
{
	uint32_t *known = &building->ret->stack_of_site[id.value];
	if (*known) {
		*ret = *known - 1;
		return NULL;
	}
	size_t count;
	const struct site *site = &model_sites(building->model, &count)[id.value];
	struct frame_vec *frames = &building->frames;
	struct error *error = resolver_stack(building->resolver, site->stack, site->kind, frames);
	size_t called = site->kind != KIND_UNKNOWN;
	if (!error)
		error = find_stack(
			building, frames->data + called, frames->len - called, site->kind, ret);
	if (!error)
		*known = *ret + 1;
	return error;
}

static struct error *find_row(
	struct building *building, uint32_t stack, enum leak_class class, uint32_t *ret)
{
	bool is_new;
	uint32_t *number =
		row_map_insert(&building->rows, (uint64_t)stack << 3 | (uint64_t) class, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		struct leak_row row = {.stack = stack,
			.kind = class < LEAK_CLASS_SUPPRESSED ? (enum leak_kind) class
							      : LEAK_REACHABLE,
			.class = class,
			.example_ns = LEAK_NO_TIME,
			.suppression = SUPPRESS_NONE};
		*number = (uint32_t)building->ret->rows.len;
		if (!leak_row_vec_push(&building->ret->rows, row))
			return error_no_memory();
	}
	*ret = *number;
	return NULL;
}

static struct error *leaks_add_record(struct building *building, const struct leak_record *record)
{
	uint32_t stack, number;
	struct error *error = stack_of_site(building, record->site, &stack);
	if (!error)
		error = find_row(building, stack, (enum leak_class)record->kind, &number);
	if (error)
		return error;
	struct leak_row *row = &building->ret->rows.data[number];
	if (row->blocks == 0 || record->example.size > row->example.size) {
		row->example = record->example;
		row->example_ns = record->example_ns;
	}
	row->blocks += record->blocks;
	row->bytes += record->bytes;
	row->indirect_blocks += record->indirect_blocks;
	row->indirect_bytes += record->indirect_bytes;
	if (record->group == LEAK_NO_GROUP)
		return NULL;
	struct loose_hold loose = {number,
		{building->ret->paths.of_group[record->group], record->blocks, record->bytes}};
	return loose_vec_push(&building->holds, loose) ? NULL : error_no_memory();
}

static struct error *add_paths(struct building *building)
{
	size_t count;
	const struct leak_group *groups = model_leak_groups(building->model, &count);
	_cleanup_free_ uint32_t *stacks = calloc(count + 1, sizeof(*stacks));
	if (!stacks)
		return error_no_memory();
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++)
		error = stack_of_site(building, groups[i].site, &stacks[i]);
	return error ? error
		     : leak_paths_build(
			       building->model, building->resolver, stacks, &building->ret->paths);
}

static struct error *add_records(struct building *building)
{
	struct error *error = add_paths(building);
	size_t count;
	const struct leak_record *records = model_leak_records(building->model, &count);
	for (size_t i = 0; i < count && !error; i++)
		if (records[i].blocks)
			error = leaks_add_record(building, &records[i]);
	return error;
}

/* What is known without a search. */
static struct error *leaks_add_sites(struct building *building)
{
	size_t count;
	const struct site *sites = model_sites(building->model, &count);
	struct error *error = NULL;
	for (uint32_t i = 0; i < count && !error; i++) {
		uint32_t stack, number;
		if (!sites[i].live_blocks)
			continue;
		error = stack_of_site(building, (struct site_id){i}, &stack);
		if (!error)
			error = find_row(building, stack, LEAK_CLASS_NEVER_FREED, &number);
		if (error)
			break;
		building->ret->rows.data[number].blocks += sites[i].live_blocks;
		building->ret->rows.data[number].bytes += sites[i].live_bytes;
	}
	return error;
}

static int compare_loose(const void *left, const void *right)
{
	const struct loose_hold *a = left, *b = right;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return a->hold.path < b->hold.path ? -1 : a->hold.path > b->hold.path;
}

static int compare_holds(const void *left, const void *right)
{
	const struct leak_hold *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	return a->path < b->path ? -1 : a->path > b->path;
}

/* Holds of one row along one path add up; then they are kept with their rows. */
static struct error *settle_holds(struct building *building)
{
	struct loose_vec *loose = &building->holds;
	struct leak_hold_vec *holds = &building->ret->holds;
	if (loose->len)
		qsort(loose->data, loose->len, sizeof(*loose->data), compare_loose);
	for (size_t i = 0; i < loose->len;) {
		struct leak_row *row = &building->ret->rows.data[loose->data[i].row];
		row->first_hold = holds->len;
		for (uint32_t number = loose->data[i].row;
			i < loose->len && loose->data[i].row == number; i++) {
			struct leak_hold hold = loose->data[i].hold;
			struct leak_hold *last =
				row->hold_count ? &holds->data[holds->len - 1] : NULL;
			if (last && last->path == hold.path) {
				last->blocks += hold.blocks;
				last->bytes += hold.bytes;
				continue;
			}
			if (!leak_hold_vec_push(holds, hold))
				return error_no_memory();
			row->hold_count++;
		}
		qsort(holds->data + row->first_hold, row->hold_count, sizeof(*holds->data),
			compare_holds);
	}
	return NULL;
}

struct error *leaks_suppress_frames(
	const struct leaks *leaks, const struct leak_row *row, struct suppress_frame_vec *ret)
{
	const struct leak_stack *stack = &leaks->stacks.data[row->stack];
	return suppress_shown_stack(stack->all, stack->all_depth, stack->kind, ret);
}

/* Both number the kinds alike. */
static enum suppress_kind suppress_kind_of(enum leak_kind kind)
{
	static const enum suppress_kind kinds[LEAK_KINDS] = {
		[LEAK_DEFINITE] = SUPPRESS_DEFINITE,
		[LEAK_INDIRECT] = SUPPRESS_INDIRECT,
		[LEAK_POSSIBLE] = SUPPRESS_POSSIBLE,
		[LEAK_REACHABLE] = SUPPRESS_REACHABLE,
	};
	return kinds[kind];
}

/* What a search found of one stack. */
struct found {
	uint64_t blocks, bytes;
	unsigned kinds;
	bool is_kept; /* of each of its rows by what holds it: leak_library_keeps() */
};

/* What a library keeps of a stack, as it is called; NULL: it is the program's. */
static struct error *library_of(const struct building *building, struct suppressions *table,
	const struct leak_stack *stack, const struct found *found, const char **ret)
{
	size_t merged = model_recording(building->model)->merged;
	const struct row_key key = {stack->all, stack->all_depth, stack->kind};
	struct error *error = library_own_name(table, building->resolver, &key, found->kinds, ret);
	if (!error && !*ret && found->is_kept)
		*ret = "libc";
	if (!error && *ret &&
		!suppress_built_in_is_bounded(
			*ret, found->blocks, found->bytes, merged ? merged : 1))
		*ret = NULL;
	return error;
}

/* All blocks of a stack are a library's, or none: reports have them in one row. */
static struct error *find_libraries(struct building *building)
{
	struct leaks *leaks = building->ret;
	_cleanup_(suppressions_cleanup) struct suppressions *table = NULL;
	_cleanup_free_ struct found *found = calloc(leaks->stacks.len + 1, sizeof(*found));
	if (!found)
		return error_no_memory();
	for (size_t i = 0; i < leaks->rows.len; i++) {
		const struct leak_row *row = &leaks->rows.data[i];
		struct found *one = &found[row->stack];
		one->is_kept = (one->is_kept || !one->kinds) && leak_library_keeps(leaks, row);
		one->kinds |= 1u << row->kind;
		one->blocks += row->blocks;
		one->bytes += row->bytes;
	}
	struct error *error = library_own_table(&table);
	for (size_t i = 0; i < leaks->stacks.len && !error; i++) {
		struct leak_stack *stack = &leaks->stacks.data[i];
		const char *name = NULL;
		if (found[i].kinds)
			error = library_of(building, table, stack, &found[i], &name);
		if (error || !name)
			continue;
		stack->library = arena_strdup(&leaks->arena, name);
		if (!stack->library)
			error = error_no_memory();
	}
	return error;
}

static struct error *classify_row(
	struct building *building, struct suppress_frame_vec *frames, struct leak_row *row)
{
	struct suppressions *suppressions = building->options->suppressions;
	enum suppress_kind kind = suppress_kind_of(row->kind);
	struct error *error = leaks_suppress_frames(building->ret, row, frames);
	row->library = building->ret->stacks.data[row->stack].library;
	if (row->library) {
		row->class = LEAK_CLASS_LIBRARY;
		return error;
	}
	if (!error && suppressions)
		error = suppressions_match(
			suppressions, frames->data, frames->len, kind, &row->suppression);
	if (error || row->suppression == SUPPRESS_NONE)
		return error;
	/* What these would free is of the kind that it is if that is not wanted. */
	if (suppressions_get(suppressions, row->suppression)->origin == SUPPRESS_LIBRARY_OWN) {
		row->suppression = SUPPRESS_NONE;
		return NULL;
	}
	row->class = LEAK_CLASS_SUPPRESSED;
	suppressions_use(suppressions, row->suppression, row->blocks, row->bytes);
	return NULL;
}

static struct error *leaks_classify(struct building *building)
{
	struct error *error =
		building->options->separate_libraries ? find_libraries(building) : NULL;
	_cleanup_(suppress_frame_vec_deinit) struct suppress_frame_vec frames;
	suppress_frame_vec_init(&frames);
	struct leak_row_vec *rows = &building->ret->rows;
	for (size_t i = 0; i < rows->len && !error; i++)
		error = classify_row(building, &frames, &rows->data[i]);
	return error;
}

static int leaks_compare_rows(const void *left, const void *right)
{
	const struct leak_row *a = left, *b = right;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	uint64_t x = leak_row_retained(a), y = leak_row_retained(b);
	if (x != y)
		return x > y ? -1 : 1;
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

static void sum_up(struct leaks *leaks)
{
	for (size_t i = 0; i < leaks->rows.len; i++) {
		const struct leak_row *row = &leaks->rows.data[i];
		struct leak_sum *sum = &leaks->sums[row->class];
		sum->rows++;
		sum->blocks += row->blocks;
		sum->bytes += row->bytes;
	}
	if (leaks->rows.len)
		qsort(leaks->rows.data, leaks->rows.len, sizeof(*leaks->rows.data),
			leaks_compare_rows);
}

static void building_deinit(struct building *building)
{
	stack_map_deinit(&building->stacks);
	row_map_deinit(&building->rows);
	loose_vec_deinit(&building->holds);
	frame_vec_deinit(&building->frames);
}

struct error *leaks_build(const struct model *model, struct resolver *resolver,
	const struct leaks_options *options, struct leaks *ret)
{
	size_t sites;
	model_sites(model, &sites);
	_cleanup_(building_deinit) struct building building = {
		.model = model, .resolver = resolver, .options = options, .ret = ret};
	ret->model = model;
	ret->search = model_leak_search(model);
	ret->searched = ret->search && ret->search->way != LEAK_WAY_NONE;
	ret->evidence = evidence_of_leaks(model, LEAK_KINDS_ALL, options->at_end);
	ret->stack_of_site = calloc(sites + 1, sizeof(*ret->stack_of_site));
	if (!ret->stack_of_site)
		return error_no_memory();
	struct error *error = ret->searched ? add_records(&building) : leaks_add_sites(&building);
	if (!error)
		error = settle_holds(&building);
	if (!error && ret->searched)
		error = leaks_classify(&building);
	if (!error)
		sum_up(ret);
	return error;
}

const char *leak_class_name(enum leak_class class)
{
	static const char *const names[LEAK_CLASSES] = {
		[LEAK_CLASS_DEFINITE] = "definite",
		[LEAK_CLASS_INDIRECT] = "indirect",
		[LEAK_CLASS_POSSIBLE] = "possible",
		[LEAK_CLASS_REACHABLE] = "reachable",
		[LEAK_CLASS_SUPPRESSED] = "suppressed",
		[LEAK_CLASS_LIBRARY] = "library",
		[LEAK_CLASS_NEVER_FREED] = "never_freed",
	};
	return names[class];
}

uint64_t leaks_count(const struct leaks *leaks, unsigned kinds)
{
	uint64_t count = 0;
	for (unsigned kind = 0; kind < LEAK_KINDS; kind++)
		if (kinds >> kind & 1)
			count += leaks->sums[kind].rows;
	return count;
}
