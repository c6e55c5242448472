/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Massif writes (Valgrind 3.19, massif/ms_main.c and coregrind/m_xtree.c), for ms_print and
 * massif-visualizer: snapshots of a timeline, trees cut as there.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "views/export.h"
#include "views/export/export_out.h"

#define RULER "#-----------\n"

struct massif {
	const struct exported *from;
	struct export_out out;
};

static void massif_deinit(struct massif *at)
{
	export_out_deinit(&at->out);
}

static void export_massif_add_head(struct massif *at)
{
	const struct timeline_options *options = at->from->timeline;
	const struct target *target = model_target(at->from->profile->model);
	struct text *out = &at->out.text;
	text_printf(out,
		"desc: --time-unit=%s --threshold=%g --detailed-freq=%zu --max-snapshots=%zu "
		"--depth=%zu --heap-admin=%" PRIu64 " --alignment=%u\ncmd:",
		timeline_unit_name(options->unit), options->threshold, options->detailed_freq,
		options->max_snapshots, options->depth,
		timeline_admin(options, at->from->profile->model), options->alignment);
	for (size_t i = 0; i < target->command_len; i++) {
		text_add_char(out, ' ');
		text_add_plain(out, target->command[i]);
	}
	if (!target->command_len)
		text_add(out, " (none)");
	text_printf(out, "\ntime_unit: %s\n", timeline_unit_name(options->unit));
}

static void add_code(const struct shown_frame *frame, struct text *out)
{
	if (frame->mark != MARK_NONE) {
		text_add(out, stack_mark_text(frame->mark));
		return;
	}
	/* Valgrind has the address of the call. */
	text_printf(out, "0x%" PRIX64 ": ", frame->address ? frame->address - 1 : 0);
	text_add_plain(out, frame->function ? frame->function : "???");
	if (frame->file) {
		text_add(out, " (");
		text_add_plain(out, path_last_part(frame->file));
		text_printf(out, ":%" PRIu32 ")", frame->line);
	} else if (frame->module_path) {
		text_add(out, " (in ");
		text_add_plain(out, frame->module_path);
		text_add(out, ")");
	}
}

static void export_massif_add_node(
	const struct massif *at, const struct timeline_node *node, struct text *out)
{
	for (uint32_t i = 0; i < node->depth; i++)
		text_add_char(out, ' ');
	text_printf(out, "n%" PRIu32 ": %" PRIu64 " ", node->children, node->bytes);
	if (!node->depth)
		text_add(out, timeline_root_name(at->from->profile->model));
	else if (node->places)
		text_printf(out, "in %" PRIu32 " place%s below massif's threshold (%.2f%%)",
			node->places, node->places == 1 ? "," : "s, all",
			at->from->timeline->threshold);
	else if (node->frame)
		add_code(node->frame, out);
	else
		text_add(out, "(no stack was recorded)");
	text_add_char(out, '\n');
}

static struct error *add_snapshot(
	struct massif *at, size_t number, const struct timeline_snapshot *snapshot)
{
	struct text *out = &at->out.text;
	bool ms = at->from->timeline->unit == TIMELINE_MS;
	text_printf(out, RULER "snapshot=%zu\n" RULER "time=%" PRIu64 "\n", number,
		ms ? snapshot->time / 1000000 : snapshot->time);
	text_printf(out,
		"mem_heap_B=%" PRIu64 "\nmem_heap_extra_B=%" PRIu64 "\nmem_stacks_B=%" PRIu64 "\n",
		snapshot->useful, snapshot->extra, snapshot->stacks);
	text_printf(out, "heap_tree=%s\n",
		!snapshot->tree.len ? "empty"
		: snapshot->peak    ? "peak"
				    : "detailed");
	struct error *error = NULL;
	for (size_t i = 0; !error && i < snapshot->tree.len; i++) {
		export_massif_add_node(at, &snapshot->tree.data[i], out);
		error = export_out_flush(&at->out);
	}
	return error ? error : export_out_flush(&at->out);
}

static void export_massif_describe_losses(
	const struct exported *from, const struct timeline *timeline)
{
	struct text *lost = from->lost;
	text_add(lost, "Massif files contain only allocations that are live at a snapshot; numbers "
		       "of blocks and threads are omitted.\n");
	size_t count;
	model_series(from->profile->model, &count);
	if (!count)
		text_add(lost,
			"Times are unknown: the snapshots are the peak, if known, and the end.\n");
	if (timeline->peak_is_highest)
		text_add(lost, "This recording has no snapshot at the true peak: the highest "
			       "snapshot replaces it.\n");
}

struct error *export_massif(const struct exported *from, const struct sink *sink)
{
	_cleanup_(timeline_deinit) struct timeline timeline;
	_cleanup_(massif_deinit) struct massif at = {.from = from};
	const struct profile *profile = from->profile;
	size_t count;
	timeline_init(&timeline);
	export_out_init(&at.out, sink);
	model_series(profile->model, &count);
	struct error *error =
		count ? timeline_build(profile->model, profile->resolver, from->timeline, &timeline)
		      : timeline_build_known(
				profile->model, profile->resolver, from->timeline, &timeline);
	if (error)
		return error;
	export_massif_add_head(&at);
	for (size_t i = 0; !error && !at.out.stopped && i < timeline.snapshots.len; i++)
		error = add_snapshot(&at, i, &timeline.snapshots.data[i]);
	if (!error)
		error = export_out_end(&at.out);
	if (!error)
		export_massif_describe_losses(from, &timeline);
	return error;
}
