/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A processed profile of Firefox's profiler, version 48 (docs-developer/CHANGELOG-formats.md and
 * src/types/profile of github.com/firefox-devtools/profiler), which newer ones bring up to date. As
 * its own import of DHAT has it, each figure is a thread whose native allocations are all stacks.
 *
 * Its tables are columns. Stacks are a tree: what is kept of it here is a node for each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/grain.h"
#include "base/cleanup.h"
#include "base/util.h"
#include "views/export.h"
#include "views/export/export_frames.h"
#include "views/report/json_parts.h"

#define FORMAT_VERSION 48u
#define GECKO_VERSION 30u

struct tree_node {
	uint32_t prefix, frame; /* NO_PREFIX: it is outermost */
};
#define NO_PREFIX UINT32_MAX

static inline uint64_t tree_node_hash(struct tree_node node)
{
	return hash_u64((uint64_t)node.prefix << 32 | node.frame);
}

static inline bool tree_node_equal(struct tree_node a, struct tree_node b)
{
	return a.prefix == b.prefix && a.frame == b.frame;
}

DEFINE_MAP(tree_nodes, struct tree_node, uint32_t, tree_node_hash, tree_node_equal)
DEFINE_VEC(tree_node_vec, struct tree_node)
DEFINE_VEC(number_vec, uint32_t)

/* Strings are numbered: names of functions come first, then their files. */
struct firefox {
	const struct exported *from;
	const struct rows *rows;
	struct json *json;
	struct export_frames frames;
	struct spots *spots;         /* functions */
	struct number_vec functions; /* by number of the frame: id of the spot */
	struct tree_nodes numbers;
	struct tree_node_vec nodes;
	struct number_vec of_row; /* its innermost node, or NO_PREFIX */
	struct text name;
};

static void firefox_deinit(struct firefox *at)
{
	free(at->json);
	export_frames_deinit(&at->frames);
	spots_destroy(at->spots);
	number_vec_deinit(&at->functions);
	tree_nodes_deinit(&at->numbers);
	tree_node_vec_deinit(&at->nodes);
	number_vec_deinit(&at->of_row);
	text_deinit(&at->name);
}

/* Frames that differ in their lines may be of one function. */
static struct error *number_frame(
	struct firefox *at, const struct shown_frame *frame, uint32_t *ret)
{
	const struct spot *spot;
	struct error *error = export_frames_number(&at->frames, frame, ret);
	if (error || *ret < at->functions.len)
		return error;
	error = spots_find(at->spots, frame, &spot);
	if (!error && !number_vec_push(&at->functions, spot->id))
		error = error_no_memory();
	return error;
}

static struct error *export_firefox_add_row(struct firefox *at, const struct row *row)
{
	uint32_t prefix = NO_PREFIX;
	for (size_t i = row->depth; i > 0; i--) {
		struct tree_node node = {.prefix = prefix};
		if (row->frames[i - 1]->mark != MARK_NONE)
			continue;
		struct error *error = number_frame(at, row->frames[i - 1], &node.frame);
		if (error)
			return error;
		bool is_new;
		uint32_t *number = tree_nodes_insert(&at->numbers, node, &is_new);
		if (!number)
			return error_no_memory();
		if (is_new) {
			*number = (uint32_t)at->nodes.len;
			if (!tree_node_vec_push(&at->nodes, node))
				return error_no_memory();
		}
		prefix = *number;
	}
	return number_vec_push(&at->of_row, prefix) ? NULL : error_no_memory();
}

static void put_empty(struct json *json, const char *key)
{
	json_key(json, key);
	json_array_begin(json);
	json_array_end(json);
}

/* A column whose cells are all alike; negative: null. */
static void put_column(struct json *json, const char *key, size_t count, int64_t value)
{
	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		if (value < 0)
			json_null(json);
		else
			json_i64(json, value);
	json_array_end(json);
}

static void put_counted(struct json *json, const char *key, size_t count)
{
	json_key(json, key);
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_u64(json, i);
	json_array_end(json);
}

static void put_optional(struct json *json, uint32_t value)
{
	if (value == NO_PREFIX)
		json_null(json);
	else
		json_u64(json, value);
}

static void begin_table(struct json *json, const char *key)
{
	json_key(json, key);
	json_object_begin(json);
}

static void end_table(struct json *json, size_t count)
{
	json_put_u64(json, "length", count);
	json_object_end(json);
}

static void put_meta(struct firefox *at)
{
	struct json *json = at->json;
	const struct model *model = at->from->profile->model;
	json_key(json, "meta");
	json_object_begin(json);
	json_put_u64(json, "interval", 1);
	json_put_u64(json, "startTime", model_target(model)->wall_start_ns / 1000000);
	json_put_u64(json, "processType", 0);
	json_put_string(json, "product", at->name.data ? at->name.data : "");
	json_put_string(json, "importedFrom", "heapwise");
	json_put_u64(json, "stackwalk", 1);
	json_put_u64(json, "version", GECKO_VERSION);
	json_put_u64(json, "preprocessedProfileVersion", FORMAT_VERSION);
	json_put_bool(json, "symbolicated", true);
	json_key(json, "categories");
	json_array_begin(json);
	json_object_begin(json);
	json_put_string(json, "name", "Other");
	json_put_string(json, "color", "grey");
	json_key(json, "subcategories");
	json_array_begin(json);
	json_string(json, "Other");
	json_array_end(json);
	json_object_end(json);
	json_array_end(json);
	put_empty(json, "markerSchema");
	json_object_end(json);
}

static void put_samples(struct json *json)
{
	begin_table(json, "samples");
	json_put_string(json, "weightType", "samples");
	json_key(json, "weight");
	json_null(json);
	put_empty(json, "stack");
	put_empty(json, "time");
	end_table(json, 0);
	begin_table(json, "markers");
	static const char *const columns[] = {
		"data", "name", "startTime", "endTime", "phase", "category"};
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		put_empty(json, columns[i]);
	end_table(json, 0);
}

/*
 * A table without a line would have no first time, and with it the whole profile no range of time:
 * the profiler shows nothing of it then. So there is a line of no bytes where nothing else is.
 */
static void put_allocations(struct firefox *at, enum metric metric)
{
	struct json *json = at->json;
	const struct row_vec *rows = &at->rows->rows;
	size_t count = 0;
	begin_table(json, "nativeAllocations");
	json_put_string(json, "weightType", "bytes");
	json_key(json, "weight");
	json_array_begin(json);
	for (size_t i = 0; i < rows->len; i++) {
		uint64_t value = metric_of_site(metric, rows->data[i].sums);
		if (value)
			json_u64(json, value);
		count += value != 0;
	}
	if (!count)
		json_u64(json, 0);
	json_array_end(json);
	json_key(json, "stack");
	json_array_begin(json);
	for (size_t i = 0; i < rows->len; i++)
		if (metric_of_site(metric, rows->data[i].sums))
			put_optional(json, at->of_row.data[i]);
	if (!count)
		put_optional(json, NO_PREFIX);
	json_array_end(json);
	count += !count;
	put_column(json, "time", count, 0);
	end_table(json, count);
}

static void put_stacks(struct firefox *at)
{
	struct json *json = at->json;
	size_t count = at->nodes.len;
	begin_table(json, "stackTable");
	json_key(json, "frame");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_u64(json, at->nodes.data[i].frame);
	json_array_end(json);
	json_key(json, "prefix");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		put_optional(json, at->nodes.data[i].prefix);
	json_array_end(json);
	put_column(json, "category", count, 0);
	put_column(json, "subcategory", count, 0);
	end_table(json, count);
}

static void put_frames(struct firefox *at)
{
	struct json *json = at->json;
	size_t count = at->frames.list.len;
	begin_table(json, "frameTable");
	put_column(json, "address", count, 0);
	put_column(json, "inlineDepth", count, 0);
	put_column(json, "category", count, 0);
	put_column(json, "subcategory", count, 0);
	json_key(json, "func");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_u64(json, at->functions.data[i]);
	json_array_end(json);
	static const char *const unknown[] = {
		"nativeSymbol", "innerWindowID", "implementation", "column"};
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		put_column(json, unknown[i], count, -1);
	json_key(json, "line");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		if (at->frames.list.data[i]->file)
			json_u64(json, at->frames.list.data[i]->line);
		else
			json_null(json);
	json_array_end(json);
	end_table(json, count);
}

static void put_functions(struct firefox *at)
{
	struct json *json = at->json;
	size_t count = spots_count(at->spots);
	begin_table(json, "funcTable");
	static const char *const flags[] = {"isJS", "relevantForJS"};
	for (size_t k = 0; k < ARRAY_SIZE(flags); k++) {
		json_key(json, flags[k]);
		json_array_begin(json);
		for (size_t i = 0; i < count; i++)
			json_bool(json, false);
		json_array_end(json);
	}
	put_counted(json, "name", count);
	json_key(json, "resource");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_i64(json, -1);
	json_array_end(json);
	json_key(json, "fileName");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		if (spots_at(at->spots, i)->frame->file)
			json_u64(json, count + i);
		else
			json_null(json);
	json_array_end(json);
	put_column(json, "lineNumber", count, -1);
	put_column(json, "columnNumber", count, -1);
	end_table(json, count);
}

static void put_unused(struct json *json)
{
	static const char *const tables[][5] = {{"resourceTable", "lib", "name", "host", "type"},
		{"nativeSymbols", "libIndex", "address", "name", "functionSize"}};
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		begin_table(json, tables[i][0]);
		for (size_t k = 1; k < ARRAY_SIZE(tables[i]); k++)
			put_empty(json, tables[i][k]);
		end_table(json, 0);
	}
}

/* Names, then files: those that there are not are never named. */
static struct error *put_strings(struct firefox *at)
{
	struct json *json = at->json;
	size_t count = spots_count(at->spots);
	json_key(json, "stringArray");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		const struct shown_frame *frame = spots_at(at->spots, i)->frame;
		struct error *error = export_json_name(json, &at->name, frame);
		if (error)
			return error;
	}
	for (size_t i = 0; i < count; i++) {
		const char *file = spots_at(at->spots, i)->frame->file;
		json_string(json, file ? file : "");
	}
	json_array_end(json);
	return NULL;
}

static struct error *put_thread(struct firefox *at, enum metric metric, uint32_t number)
{
	struct json *json = at->json;
	uint32_t pid = model_target(at->from->profile->model)->pid;
	char pid_text[16];
	snprintf(pid_text, sizeof(pid_text), "%" PRIu32, pid);
	json_object_begin(json);
	json_put_string(json, "processType", "default");
	json_put_u64(json, "processStartupTime", 0);
	json_key(json, "processShutdownTime");
	json_null(json);
	json_put_u64(json, "registerTime", 0);
	json_key(json, "unregisterTime");
	json_null(json);
	put_empty(json, "pausedRanges");
	json_put_string(json, "name", metric_title(metric));
	json_put_bool(json, "isMainThread", true);
	json_put_string(json, "pid", pid_text);
	json_put_u64(json, "tid", number);
	put_samples(json);
	put_allocations(at, metric);
	put_stacks(at);
	put_frames(at);
	put_functions(at);
	put_unused(json);
	struct error *error = put_strings(at);
	if (!error)
		json_object_end(json);
	return error;
}

static struct error *export_firefox_put_threads(struct firefox *at)
{
	static const enum metric order[] = {
		METRIC_PEAK_BYTES, METRIC_LIVE_BYTES, METRIC_ALLOCATED_BYTES};
	const struct recording *recording = model_recording(at->from->profile->model);
	struct error *error = NULL;
	uint32_t number = 0;
	json_key(at->json, "threads");
	json_array_begin(at->json);
	for (size_t i = 0; !error && i < ARRAY_SIZE(order); i++)
		if (metric_is_known(order[i], recording))
			error = put_thread(at, order[i], number++);
	if (!error)
		json_array_end(at->json);
	return error;
}

struct error *export_firefox(const struct exported *from, const struct sink *sink)
{
	_cleanup_(firefox_deinit) struct firefox at = {
		.from = from, .rows = profile_rows(from->profile)};
	struct error *error = spots_create(GRAIN_FUNCTIONS, &at.spots);
	for (size_t i = 0; !error && i < at.rows->rows.len; i++)
		error = export_firefox_add_row(&at, &at.rows->rows.data[i]);
	at.json = malloc(sizeof(*at.json));
	if (!error && !at.json)
		error = error_no_memory();
	if (error)
		return error;
	export_add_command(&at.name, from->profile->model);
	json_init(at.json, sink->write, sink->ctx);
	json_object_begin(at.json);
	put_meta(&at);
	put_empty(at.json, "libs");
	error = export_firefox_put_threads(&at);
	if (error)
		return error;
	json_object_end(at.json);
	json_finish(at.json);
	text_add(from->lost, "Firefox's profiler gets only bytes (at the peak, at the end, "
			     "allocated), each as a thread; numbers of blocks, threads, moments, "
			     "modules and remarks on stacks are omitted.\n");
	return NULL;
}
