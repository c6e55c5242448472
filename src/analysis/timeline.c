/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See timeline.h. The tree of a snapshot is a calltree by addresses, from the functions that
 * allocate outward, cut to what is worth a line: the whole one may be large, and only one of them
 * is there at a time.
 */
#include "analysis/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calltree.h"
#include "base/cleanup.h"

const char *timeline_unit_name(enum timeline_unit unit)
{
	return unit == TIMELINE_MS ? "ms" : unit == TIMELINE_BYTES ? "B" : "i";
}

void timeline_init(struct timeline *timeline)
{
	*timeline = (struct timeline){.end_time = 0};
	timeline_snapshots_init(&timeline->snapshots);
}

void timeline_deinit(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->snapshots.len; i++)
		timeline_nodes_deinit(&timeline->snapshots.data[i].tree);
	timeline_snapshots_deinit(&timeline->snapshots);
}

/* The whole name, or what stands before its parameters. */
static bool is_named(const struct shown_frame *frame, const char *const *names, size_t count)
{
	for (size_t i = 0; frame->function && i < count; i++) {
		size_t len = strlen(names[i]);
		if (strncmp(frame->function, names[i], len) == 0 &&
			(!frame->function[len] || frame->function[len] == '('))
			return true;
	}
	return false;
}

/* Part of a stack, innermost frame first. */
struct part {
	const struct shown_frame *const *frames;
	size_t len;
};

/* Without allocation functions at its inner end, one frame is left at least, and without what calls
 * main. */
static struct part cut_stack(const struct frame_vec *frames, const struct timeline_options *options)
{
	size_t first = 0, end = frames->len;
	while (first + 1 < frames->len &&
		is_named(frames->data[first], options->alloc_fns, options->alloc_fn_count))
		first++;
	static const char *const main_name[] = {"main"};
	for (size_t i = first; i < end; i++)
		if (frames->data[i]->is_program && is_named(frames->data[i], main_name, 1))
			end = i + 1;
	if (end - first > options->depth)
		end = first + options->depth;
	return (struct part){frames->data + first, end - first};
}

struct building {
	const struct model *model;
	struct resolver *resolver;
	const struct timeline_options *options;
	struct rows sites; /* by site id, figures unset */
	bool *known;       /* which of them have frames */
	struct frame_vec frames;
	bool from_sites; /* not from a series */
};

static void building_deinit(struct building *at)
{
	rows_deinit(&at->sites);
	free(at->known);
	frame_vec_deinit(&at->frames);
}

static struct error *building_begin(struct building *at)
{
	size_t count;
	model_sites(at->model, &count);
	rows_init(&at->sites);
	frame_vec_init(&at->frames);
	at->known = calloc(count + 1, sizeof(*at->known));
	if (!at->known || !row_vec_reserve(&at->sites.rows, count + 1))
		return error_no_memory();
	memset(at->sites.rows.data, 0, count * sizeof(*at->sites.rows.data));
	at->sites.rows.len = count;
	return NULL;
}

/* A site's stack as trees show it. */
static struct error *find_site(struct building *at, uint32_t id, const struct row **ret)
{
	struct row *row = &at->sites.rows.data[id];
	*ret = row;
	if (at->known[id])
		return NULL;
	size_t count;
	const struct site *site = &model_sites(at->model, &count)[id];
	struct error *error = resolver_stack(at->resolver, site->stack, site->kind, &at->frames);
	if (error)
		return error;
	struct part part = cut_stack(&at->frames, at->options);
	const struct shown_frame **frames =
		arena_alloc(&at->sites.arena, (part.len + 1) * sizeof(const struct shown_frame *));
	if (!frames)
		return error_no_memory();
	memcpy(frames, part.frames, part.len * sizeof(const struct shown_frame *));
	row->frames = frames;
	row->depth = part.len;
	at->known[id] = true;
	return NULL;
}

static struct error *add_live(
	struct building *at, uint32_t site_id, uint64_t bytes, struct rows *rows)
{
	const struct row *site;
	struct error *error = find_site(at, site_id, &site);
	if (error)
		return error;
	struct row row = *site;
	row.sums.live_bytes = bytes;
	return row_vec_push(&rows->rows, row) ? NULL : error_no_memory();
}

/* What was live at a moment of the series. */
static struct error *add_moment(
	struct building *at, const struct series_row *moment, struct rows *rows)
{
	size_t count;
	const struct series_site *sites = model_series_sites(at->model, &count);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < moment->site_count; i++) {
		const struct series_site *live = &sites[moment->first_site + i];
		error = add_live(at, live->site.value, live->live_bytes, rows);
	}
	return error;
}

/* What was live at the peak, or at the end, as sites say it. */
static struct error *add_known(struct building *at, bool peak, struct rows *rows)
{
	size_t count;
	const struct site *sites = model_sites(at->model, &count);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < count; i++) {
		uint64_t bytes = peak ? sites[i].peak_bytes : sites[i].live_bytes;
		if (bytes)
			error = add_live(at, (uint32_t)i, bytes, rows);
	}
	return error;
}

static struct error *build_calltree(
	struct building *at, const struct timeline_snapshot *snapshot, struct calltree *ret)
{
	_cleanup_(rows_deinit) struct rows rows;
	rows_init(&rows);
	struct spots *spots = NULL;
	struct error *error = at->from_sites ? add_known(at, snapshot->peak, &rows)
					     : add_moment(at, snapshot->row, &rows);
	if (!error)
		error = spots_create(GRAIN_ADDRESSES, &spots);
	return error ? error
		     : calltree_build(&rows, METRIC_LIVE_BYTES, CALLTREE_UP, NULL, spots, ret);
}

struct pruning {
	const struct calltree *tree;
	struct timeline_nodes *nodes;
	double least; /* bytes */
};

/* As deep as options say at most. */
static bool add_node(struct pruning *at, const struct calltree_node *node, uint64_t bytes)
{
	size_t place = at->nodes->len;
	struct timeline_node added = {.frame = node->spot ? node->spot->frame : NULL,
		.bytes = bytes,
		.depth = node->depth};
	if (!timeline_nodes_push(at->nodes, added))
		return false;
	struct timeline_node rest = {.depth = node->depth + 1};
	uint32_t children = 0;
	for (uint32_t i = 0; i < node->children; i++) {
		const struct calltree_node *child = calltree_child(at->tree, node, i);
		if (!child->total.now)
			continue;
		if ((double)child->total.now < at->least) {
			rest.bytes += child->total.now;
			rest.places++;
		} else if (add_node(at, child, child->total.now)) {
			children++;
		} else {
			return false;
		}
	}
	if (rest.places && !timeline_nodes_push(at->nodes, rest))
		return false;
	at->nodes->data[place].children = children + (rest.places > 0);
	return true;
}

static struct error *add_tree(struct building *at, struct timeline_snapshot *snapshot)
{
	struct calltree tree;
	calltree_init(&tree);
	struct error *error = build_calltree(at, snapshot, &tree);
	struct pruning pruning = {.tree = &tree,
		.nodes = &snapshot->tree,
		.least = (double)snapshot->total * at->options->threshold / 100};
	if (!error && !add_node(&pruning, &tree.nodes.data[0], snapshot->useful))
		error = error_no_memory();
	calltree_deinit(&tree);
	return error;
}

static uint64_t time_of(const struct series_row *row, enum timeline_unit unit)
{
	switch (unit) {
	case TIMELINE_BYTES:
		return row->allocated_bytes + row->freed_bytes;
	case TIMELINE_INSTRUCTIONS:
		return row->instructions;
	default:
		return row->time_ns;
	}
}

static struct timeline_snapshot snapshot_of(
	const struct series_row *row, const struct timeline_options *options)
{
	struct timeline_snapshot ret = {
		.row = row,
		.time = time_of(row, options->unit),
		.stacks = options->stacks ? row->stack_bytes : 0,
		.useful = row->live_bytes,
		.extra = options->heap_admin * row->live_blocks +
			 (options->alignment == TIMELINE_ALIGNMENT ? row->padding : 0),
		.peak = row->peak,
	};
	ret.total = ret.useful + ret.extra + ret.stacks;
	return ret;
}

/* Sets peak of the highest one if none is the peak. */
static void choose_peak(struct timeline *timeline)
{
	struct timeline_snapshot *highest = NULL;
	for (size_t i = 0; i < timeline->snapshots.len; i++) {
		struct timeline_snapshot *snapshot = &timeline->snapshots.data[i];
		if (snapshot->peak)
			return;
		if (snapshot->useful && (!highest || snapshot->useful > highest->useful))
			highest = snapshot;
	}
	timeline->peak_is_highest = highest;
	if (highest)
		highest->peak = true;
}

static bool has_all_sites(const struct model *model)
{
	return !(model_recording(model)->unknown & UNKNOWN_SERIES_SITES);
}

struct error *timeline_build_curve(
	const struct model *model, const struct timeline_options *options, struct timeline *ret)
{
	size_t count;
	const struct series_row *rows = model_series(model, &count);
	for (size_t i = 0; i < count; i++) {
		struct timeline_snapshot snapshot = snapshot_of(&rows[i], options);
		if (!timeline_snapshots_push(&ret->snapshots, snapshot))
			return error_no_memory();
		ret->end_time = snapshot.time;
		if (snapshot.total > ret->highest)
			ret->highest = snapshot.total;
	}
	/* Some sources have trees of some moments alone, and say which one is the peak. */
	if (has_all_sites(model))
		choose_peak(ret);
	return NULL;
}

double timeline_part(const struct timeline *timeline, uint64_t time)
{
	uint64_t first = timeline->snapshots.len ? timeline->snapshots.data[0].time : 0;
	if (time <= first)
		return 0;
	return timeline->end_time > time
		       ? (double)(time - first) / (double)(timeline->end_time - first)
		       : 1;
}

const struct timeline_snapshot *timeline_at(const struct timeline *timeline, double part)
{
	const struct timeline_snapshots *all = &timeline->snapshots;
	if (!all->len)
		return NULL;
	double most = part * (double)(timeline->end_time - all->data[0].time);
	size_t low = 0, high = all->len;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		/* Times are whole numbers, and a part of them is not exact. */
		if ((double)(all->data[middle].time - all->data[0].time) <= most + 0.5)
			low = middle;
		else
			high = middle;
	}
	return &all->data[low];
}

struct error *timeline_build(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, struct timeline *ret)
{
	struct error *error = timeline_build_curve(model, options, ret);
	if (error)
		return error;
	bool all_sites = has_all_sites(model);
	_cleanup_(building_deinit) struct building at = {
		.model = model, .resolver = resolver, .options = options};
	error = building_begin(&at);
	for (size_t i = 0; !error && i < ret->snapshots.len; i++) {
		struct timeline_snapshot *snapshot = &ret->snapshots.data[i];
		if (all_sites ? snapshot->peak || (i + 1) % options->detailed_freq == 0
			      : snapshot->row->site_count > 0)
			error = add_tree(&at, snapshot);
	}
	return error;
}

/* The peak, unless the end is, then the end. */
static struct error *add_ends(
	const struct model *model, const struct timeline_options *options, struct timeline *ret)
{
	const struct totals *totals = model_totals(model);
	const struct recording *recording = model_recording(model);
	struct series_row *peak = &ret->known[0], *end = &ret->known[1];
	*peak = (struct series_row){.time_ns = totals->peak_time_ns,
		.live_blocks = totals->peak_blocks,
		.live_bytes = totals->peak_bytes,
		.peak = true};
	*end = (struct series_row){.time_ns = recording->duration_ns,
		.live_blocks = totals->live_blocks,
		.live_bytes = totals->live_bytes};
	bool has_peak = !(recording->unknown & UNKNOWN_PEAK_BYTES) && peak->live_bytes;
	/* A sample's peak may be below its end. */
	if (has_peak && !timeline_snapshots_push(&ret->snapshots, snapshot_of(peak, options)))
		return error_no_memory();
	if (!timeline_snapshots_push(&ret->snapshots, snapshot_of(end, options)))
		return error_no_memory();
	return NULL;
}

struct error *timeline_build_known(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, struct timeline *ret)
{
	_cleanup_(building_deinit) struct building at = {
		.model = model, .resolver = resolver, .options = options, .from_sites = true};
	struct error *error = building_begin(&at);
	if (!error)
		error = add_ends(model, options, ret);
	for (size_t i = 0; !error && i < ret->snapshots.len; i++) {
		struct timeline_snapshot *snapshot = &ret->snapshots.data[i];
		ret->end_time = snapshot->time;
		if (snapshot->total > ret->highest)
			ret->highest = snapshot->total;
		error = add_tree(&at, snapshot);
	}
	return error;
}

struct error *timeline_find_sites(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, const char *const *names, size_t name_count,
	bool **ret, size_t *ret_count)
{
	_cleanup_(building_deinit) struct building at = {
		.model = model, .resolver = resolver, .options = options};
	struct error *error = building_begin(&at);
	size_t count, found = 0;
	model_sites(model, &count);
	_cleanup_free_ bool *sites = calloc(count + 1, sizeof(*sites));
	if (!error && !sites)
		error = error_no_memory();
	for (size_t i = 0; !error && i < count; i++) {
		const struct row *row;
		error = find_site(&at, (uint32_t)i, &row);
		if (!error && row->depth && is_named(row->frames[0], names, name_count)) {
			sites[i] = true;
			found++;
		}
	}
	if (error)
		return error;
	*ret = steal_ptr(sites);
	*ret_count = found;
	return NULL;
}
