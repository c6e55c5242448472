/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/export.h"

#include <string.h>

#include "analysis/evidence.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "views/flame.h"

static const struct export_format formats[] = {
	{.name = "pprof",
		.what = "pprof's profile.proto: go tool pprof, Pyroscope, Parca",
		.packing = PACKING_GZIP,
		.first_figure = true,
		.differences = true,
		.samples = true,
		.write = export_pprof},
	{.name = "massif",
		.what = "Massif's massif.out: ms_print, massif-visualizer",
		.moments = true,
		.write = export_massif},
	{.name = "dhat", .what = "DHAT's: dh_view.html, Firefox's profiler", .write = export_dhat},
	{.name = "speedscope",
		.what = "speedscope's: one profile per figure",
		.write = export_speedscope},
	{.name = "firefox",
		.what = "Firefox's profiler: a processed profile",
		.write = export_firefox},
	{.name = "callgrind",
		.what = "Callgrind's: KCachegrind, callgrind_annotate",
		.write = export_callgrind},
	{.name = "json",
		.what = "all stacks and figures: heapwise.export/1",
		.samples = true,
		.ends = true,
		.write = export_json},
	{.name = "csv",
		.what = "one row per stack: spreadsheets, data frames",
		.write = export_csv},
	{.name = "gperftools",
		.what = "gperftools' text: google-pprof, go tool pprof",
		.samples = true,
		.write = export_gperftools},
	{.name = "jemalloc",
		.what = "jemalloc's heap_v2: jeprof",
		.samples = true,
		.write = export_jemalloc},
	{.name = "jemalloc-live",
		.what = "the same of what is live alone, as jemalloc writes without prof_accum",
		.samples = true,
		.write = export_jemalloc_live},
	/* What a server answers to google-pprof and jeprof. */
	{.name = "gperftools-served",
		.what = "gperftools' text, and never names in it",
		.samples = true,
		.hidden = true,
		.write = export_gperftools_served},
	{.name = "gperftools-names",
		.what = "the names of its addresses",
		.samples = true,
		.hidden = true,
		.write = export_gperftools_names},
	{.name = "valgrind",
		.what = "memcheck's XML, protocol 4: IDEs and CI systems",
		.leaks = true,
		.write = export_valgrind},
	{.name = "heaptrack",
		.what = "heaptrack's, version 3: heaptrack_gui, heaptrack_print",
		.packing = PACKING_ZSTD,
		.by_name = true,
		.events = true,
		.write = export_heaptrack},
	{.name = "heaptrack2",
		.what = "heaptrack's, version 2: older releases",
		.packing = PACKING_ZSTD,
		.by_name = true,
		.events = true,
		.write = export_heaptrack2},
	{.name = "heaptrack1",
		.what = "heaptrack's, version 1: releases from 1.0 on",
		.packing = PACKING_GZIP,
		.by_name = true,
		.events = true,
		.write = export_heaptrack1},
	{.name = "mtrace",
		.what = "a log as mtrace()'s: the script mtrace",
		.events = true,
		.ranges = true,
		.write = export_mtrace},
	{.name = "folded",
		.what = "one line per stack: flamegraph.pl, speedscope",
		.one_figure = true,
		.differences = true,
		.write = export_folded},
};

const struct export_format *export_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

void export_add_names(struct text *text, bool differences)
{
	const char *comma = "";
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (formats[i].hidden || (differences && !formats[i].differences))
			continue;
		text_printf(text, "%s%s", comma, formats[i].name);
		comma = ", ";
	}
}

static bool has_kinds(const struct rows *rows)
{
	for (size_t i = 0; i < rows->rows.len; i++)
		if (rows->rows.data[i].sums->kind != KIND_UNKNOWN)
			return true;
	return false;
}

static bool has_part(const struct profile *profile, enum export_part part)
{
	const struct recording *recording = model_recording(profile->model);
	switch (part) {
	case EXPORT_PEAK:
		return metric_is_known(METRIC_PEAK_BYTES, recording);
	case EXPORT_MOMENTS:
		return !(recording->unknown & UNKNOWN_SERIES);
	case EXPORT_THREADS:
		return !(recording->unknown & UNKNOWN_THREADS);
	case EXPORT_TEMPORARY:
		return metric_is_known(METRIC_TEMPORARY, recording) && !recording->sample_bytes;
	case EXPORT_FAILED:
		return metric_is_known(METRIC_FAILED, recording);
	case EXPORT_KINDS:
		return has_kinds(profile_rows(profile));
	}
	return false;
}

void export_omit(const struct exported *from, const char *format, unsigned parts)
{
	static const struct {
		enum export_part part;
		const char *what;
	} names[] = {
		{EXPORT_PEAK, "peak"},
		{EXPORT_MOMENTS, "times"},
		{EXPORT_THREADS, "threads"},
		{EXPORT_KINDS, "kinds of allocations"},
		{EXPORT_TEMPORARY, "temporary allocations"},
		{EXPORT_FAILED, "failed allocations"},
	};
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(parts & names[i].part) || !has_part(from->profile, names[i].part))
			continue;
		if (!any)
			text_printf(from->lost, "Not representable in %s, omitted: ", format);
		text_printf(from->lost, "%s%s", any ? ", " : "", names[i].what);
		any = true;
	}
	text_add(from->lost, any ? ".\n" : "");
	/* Massif's peak is one of its snapshots; files that can be read at any time have
	 * allocations. */
	if ((parts & EXPORT_PEAK) && has_part(from->profile, EXPORT_PEAK) &&
		has_part(from->profile, EXPORT_MOMENTS) &&
		metric_is_known(METRIC_ALLOCATIONS, model_recording(from->profile->model)))
		text_add(from->lost, "'export --at peak' writes what was live at the peak.\n");
}

struct error *export_folded(const struct exported *from, const struct sink *sink)
{
	struct spots *spots;
	struct error *error = spots_create(GRAIN_FUNCTIONS, &spots);
	if (error)
		return error;
	struct calltree tree;
	calltree_init(&tree);
	error = calltree_build(
		profile_rows(from->profile), from->metric, CALLTREE_DOWN, NULL, spots, &tree);
	if (!error)
		error = flame_write_folded(from->profile, &tree, sink);
	if (!error)
		text_printf(from->lost,
			"Folded stacks contain only one figure, here %s (--metric); files, lines "
			"and modules are omitted.\n",
			metric_name(from->metric));
	calltree_deinit(&tree);
	return error;
}

struct packed_sink {
	struct packer *packer;
	const struct sink *to;
	struct error *error;
	bool stopped;
};

static void write_packed(void *ctx, const char *data, size_t len)
{
	struct packed_sink *sink = ctx;
	if (!sink->stopped)
		sink->stopped = !sink->to->write(sink->to->ctx, data, len);
}

static bool export_pack(void *ctx, const char *data, size_t len)
{
	struct packed_sink *sink = ctx;
	if (!sink->error)
		sink->error = packer_run(sink->packer, data, len, false, write_packed, sink);
	return !sink->error && !sink->stopped;
}

/* Why figures are not all that there was, or not exactly: who reads the file takes them for that.
 */
static void describe_evidence(const struct export_format *format, const struct exported *from)
{
	const struct model *model = from->profile->model;
	struct evidence live = evidence_of_metric(model, METRIC_LIVE_BYTES, EVIDENCE_OF_TOTAL);
	const char *why = live.more ? live.more : live.less;
	if (model_recording(model)->sample_bytes && !format->samples)
		text_add(from->lost, "Figures are estimates of a sample; this format can't mark "
				     "them, and readers will show them as exact.\n");
	if (!live.unknown && why && !format->ends && !format->leaks)
		text_printf(from->lost,
			"Live memory may differ from what was never freed, and this format can't "
			"mark that: %s.\n",
			why);
}

enum packing export_packing(const struct export_format *format, const char *name)
{
	bool is_named = name && strcmp(name, "-") != 0;
	enum packing by_name = is_named ? packing_by_name(name) : PACKING_NONE;
	return by_name || (is_named && format->by_name) ? by_name : format->packing;
}

struct error *export_write(const struct export_format *format, enum packing packing,
	const struct exported *from, const struct sink *sink)
{
	_cleanup_(packer_cleanup) struct packer *packer = NULL;
	struct error *error = packer_create(packing, &packer);
	if (error)
		return error;
	struct packed_sink packed = {.packer = packer, .to = sink};
	const struct sink unpacked = {.write = export_pack, .ctx = &packed};
	error = format->write(from, &unpacked);
	const char *remark = model_recording(from->profile->model)->remark;
	if (remark)
		text_printf(from->lost, "%s\n", remark);
	describe_evidence(format, from);
	if (error) {
		error_destroy(packed.error);
		return error;
	}
	if (packed.error)
		return packed.error;
	return packer_run(packer, NULL, 0, true, write_packed, &packed);
}
