/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/time/timeline_tree.h"
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

/* What was live at a moment of the series. */
static struct error *add_moment(
	const struct model *model, const struct series_row *moment, struct timeline_trees *trees)
{
	size_t count;
	const struct series_site *sites = model_series_sites(model, &count);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < moment->site_count; i++) {
		const struct series_site *live = &sites[moment->first_site + i];
		error = timeline_trees_add(trees, live->site.value, live->live_bytes);
	}
	return error;
}

/* What was live at the peak, or at the end, as sites say it. */
static struct error *add_known(const struct model *model, bool peak, struct timeline_trees *trees)
{
	size_t count;
	const struct site *sites = model_sites(model, &count);
	struct error *error = NULL;
	for (size_t i = 0; !error && i < count; i++) {
		uint64_t bytes = peak ? sites[i].peak_bytes : sites[i].live_bytes;
		if (bytes)
			error = timeline_trees_add(trees, (uint32_t)i, bytes);
	}
	return error;
}

/* The tree of what was added. */
static struct error *make_tree(struct timeline_trees *trees, const struct timeline_options *options,
	struct timeline_snapshot *snapshot)
{
	double least = (double)snapshot->total * options->threshold / 100;
	return timeline_trees_make(trees, least, snapshot->useful, &snapshot->tree);
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

static bool is_of_mappings(const struct model *model)
{
	return model_recording(model)->what == RECORDED_MAPPINGS;
}

uint64_t timeline_admin(const struct timeline_options *options, const struct model *model)
{
	return is_of_mappings(model) ? 0 : options->heap_admin;
}

const char *timeline_root_name(const struct model *model)
{
	return is_of_mappings(model)
		       ? "(page allocation syscalls) mmap/mremap/brk, --alloc-fns, etc."
		       : "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.";
}

static struct timeline_snapshot snapshot_of(const struct model *model, const struct series_row *row,
	const struct timeline_options *options)
{
	struct timeline_snapshot ret = {
		.row = row,
		.time = time_of(row, options->unit),
		.stacks = options->stacks ? row->stack_bytes : 0,
		.useful = row->live_bytes,
		.extra = timeline_admin(options, model) * row->live_blocks +
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
		struct timeline_snapshot snapshot = snapshot_of(model, &rows[i], options);
		if (!timeline_snapshots_push(&ret->snapshots, snapshot))
			return error_no_memory();
		ret->end_time = snapshot.time;
		if (snapshot.total > ret->highest)
			ret->highest = snapshot.total;
	}
	/* Some sources have trees of some moments only, and say which one is the peak. */
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
	_cleanup_(timeline_trees_cleanup) struct timeline_trees *trees = NULL;
	error = timeline_trees_create(model, resolver, options, &trees);
	for (size_t i = 0; !error && i < ret->snapshots.len; i++) {
		struct timeline_snapshot *snapshot = &ret->snapshots.data[i];
		if (!(all_sites ? snapshot->peak || (i + 1) % options->detailed_freq == 0
				: snapshot->row->site_count > 0))
			continue;
		error = add_moment(model, snapshot->row, trees);
		if (!error)
			error = make_tree(trees, options, snapshot);
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
	if (has_peak &&
		!timeline_snapshots_push(&ret->snapshots, snapshot_of(model, peak, options)))
		return error_no_memory();
	if (!timeline_snapshots_push(&ret->snapshots, snapshot_of(model, end, options)))
		return error_no_memory();
	return NULL;
}

struct error *timeline_build_known(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, struct timeline *ret)
{
	_cleanup_(timeline_trees_cleanup) struct timeline_trees *trees = NULL;
	struct error *error = timeline_trees_create(model, resolver, options, &trees);
	if (!error)
		error = add_ends(model, options, ret);
	for (size_t i = 0; !error && i < ret->snapshots.len; i++) {
		struct timeline_snapshot *snapshot = &ret->snapshots.data[i];
		ret->end_time = snapshot->time;
		if (snapshot->total > ret->highest)
			ret->highest = snapshot->total;
		error = add_known(model, snapshot->peak, trees);
		if (!error)
			error = make_tree(trees, options, snapshot);
	}
	return error;
}

struct error *timeline_find_sites(const struct model *model, struct resolver *resolver,
	const struct timeline_options *options, const char *const *names, size_t name_count,
	bool **ret, size_t *ret_count)
{
	_cleanup_(timeline_trees_cleanup) struct timeline_trees *trees = NULL;
	struct error *error = timeline_trees_create(model, resolver, options, &trees);
	size_t count, found = 0;
	model_sites(model, &count);
	_cleanup_free_ bool *sites = calloc(count + 1, sizeof(*sites));
	if (!error && !sites)
		error = error_no_memory();
	for (size_t i = 0; !error && i < count; i++) {
		const struct shown_frame *innermost = NULL;
		error = timeline_trees_innermost(trees, (uint32_t)i, &innermost);
		if (innermost && timeline_is_named(innermost, names, name_count)) {
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
