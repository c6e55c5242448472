/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile.proto of pprof, as github.com/google/pprof, proto/README.md wants it of heap profiles:
 * four values a sample, those of what is in use last; addresses of calls, not of what they return
 * to; a mapping for each location, that of the program first.
 */
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "views/export.h"

/* Numbers of fields. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

static inline uint64_t key_hash(const char *key)
{
	return hash_bytes(key, strlen(key));
}

static inline bool key_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* A frame stands for the run of inlined ones that begins with it. */
struct location_key {
	const struct shown_frame *first;
	size_t count;
};

static inline uint64_t location_hash(struct location_key key)
{
	return hash_u64((uintptr_t)key.first ^ key.count << 48);
}

static inline bool location_equal(struct location_key a, struct location_key b)
{
	return a.first == b.first && a.count == b.count;
}

struct function_key {
	uint64_t name, system_name, file;
};

static inline uint64_t function_hash(struct function_key key)
{
	return hash_u64(key.name ^ hash_u64(key.system_name ^ hash_u64(key.file)));
}

static inline bool function_equal(struct function_key a, struct function_key b)
{
	return a.name == b.name && a.system_name == b.system_name && a.file == b.file;
}

DEFINE_MAP(string_numbers, const char *, uint32_t, key_hash, key_equal)
DEFINE_MAP(mapping_numbers, const char *, uint32_t, key_hash, key_equal)
DEFINE_MAP(location_numbers, struct location_key, uint32_t, location_hash, location_equal)
DEFINE_MAP(function_numbers, struct function_key, uint32_t, function_hash, function_equal)

struct writing {
	const struct exported *from;
	const struct sink *sink;
	struct arena arena;
	struct buf out;     /* not yet written */
	struct buf message; /* being made */
	struct buf inner;   /* a message in it */
	struct string_numbers strings;
	struct mapping_numbers mappings;
	struct location_numbers locations;
	struct function_numbers functions;
	const char *default_type; /* what readers show first: the last one that is known */
	bool stopped;
	bool unnamed; /* frames that are remarks were left out */
};

static void writing_deinit(struct writing *at)
{
	arena_deinit(&at->arena);
	buf_deinit(&at->out);
	buf_deinit(&at->message);
	buf_deinit(&at->inner);
	string_numbers_deinit(&at->strings);
	mapping_numbers_deinit(&at->mappings);
	location_numbers_deinit(&at->locations);
	function_numbers_deinit(&at->functions);
}

#define OUT_BYTES 65536u

static struct error *export_pprof_flush(struct writing *at, size_t at_least)
{
	if (at->out.failed)
		return error_no_memory();
	if (at->out.len < at_least)
		return NULL;
	if (!at->stopped && at->out.len)
		at->stopped =
			!at->sink->write(at->sink->ctx, (const char *)at->out.data, at->out.len);
	buf_clear(&at->out);
	return NULL;
}

static void put_number(struct buf *out, unsigned field, uint64_t value)
{
	if (!value)
		return;
	buf_varint(out, field << 3);
	buf_varint(out, value);
}

static void put_bytes(struct buf *out, unsigned field, const void *data, size_t len)
{
	buf_varint(out, field << 3 | 2);
	buf_varint(out, len);
	buf_bytes(out, data, len);
}

/* The message that was made, into the profile. */
static struct error *end_message(struct writing *at, unsigned field)
{
	if (at->message.failed || at->inner.failed)
		return error_no_memory();
	put_bytes(&at->out, field, at->message.data, at->message.len);
	buf_clear(&at->message);
	return export_pprof_flush(at, OUT_BYTES);
}

/* The number of a string, which is written when it is new; of NULL 0. */
static struct error *export_pprof_intern(struct writing *at, const char *string, uint64_t *ret)
{
	*ret = 0;
	if (!string || !*string)
		return NULL;
	bool is_new;
	uint32_t *number = string_numbers_insert(&at->strings, string, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = at->strings.len;
		put_bytes(&at->out, PROFILE_STRING, string, strlen(string));
	}
	*ret = *number;
	return export_pprof_flush(at, OUT_BYTES);
}

static struct error *put_type(
	struct writing *at, unsigned field, const char *type, const char *unit)
{
	uint64_t type_number, unit_number;
	struct error *error = export_pprof_intern(at, type, &type_number);
	if (!error)
		error = export_pprof_intern(at, unit, &unit_number);
	if (error)
		return error;
	put_number(&at->message, 1, type_number);
	put_number(&at->message, 2, unit_number);
	return end_message(at, field);
}

/* The values of a sample, in the order in which readers expect them. */
static const struct {
	enum metric metric;
	const char *type, *unit;
} sample_values[] = {
	{METRIC_ALLOCATIONS, "alloc_objects", "count"},
	{METRIC_ALLOCATED_BYTES, "alloc_space", "bytes"},
	{METRIC_LIVE_BLOCKS, "inuse_objects", "count"},
	{METRIC_LIVE_BYTES, "inuse_space", "bytes"},
};

/* A value that the source does not know is in no sample: 0 would say that there was nothing. */
static bool is_written(const struct writing *at, size_t value)
{
	return metric_is_known(
		sample_values[value].metric, model_recording(at->from->profile->model));
}

static struct error *export_pprof_put_head(struct writing *at)
{
	/* String 0 is the empty one. */
	put_bytes(&at->out, PROFILE_STRING, "", 0);
	struct error *error = NULL;
	bool chosen = false;
	for (size_t i = 0; i < ARRAY_SIZE(sample_values) && !error; i++) {
		if (!is_written(at, i))
			continue;
		if (!chosen)
			at->default_type = sample_values[i].type;
		chosen |= at->from->metric_given && sample_values[i].metric == at->from->metric;
		error = put_type(
			at, PROFILE_SAMPLE_TYPE, sample_values[i].type, sample_values[i].unit);
	}
	if (!error && at->from->metric_given && !chosen)
		error = error_create(ERROR_USAGE,
			"A pprof profile can't show %s first, which it "
			"does not contain",
			metric_name(at->from->metric));
	if (!error && !at->default_type)
		error = error_create(ERROR_INPUT, "A pprof profile contains allocated and live "
						  "memory; this file contains neither");
	if (!error)
		error = put_type(at, PROFILE_PERIOD_TYPE, "space", "bytes");
	return error;
}

/* "7f3a…"; modules that were loaded several times are identified by their path. */
static struct error *build_id_of(
	struct writing *at, const struct module *module, struct text *text, uint64_t *ret)
{
	for (size_t i = 0; i < module->build_id_len; i++)
		text_printf(text, "%02x", module->build_id[i]);
	/* What is interned must stay. */
	const char *kept = arena_strdup(&at->arena, text->data ? text->data : "");
	return text->failed || !kept ? error_no_memory() : export_pprof_intern(at, kept, ret);
}

static struct error *put_mapping(struct writing *at, const struct module *module, uint32_t id)
{
	uint64_t file, build_id = 0;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	struct error *error = export_pprof_intern(at, module->path, &file);
	if (!error)
		error = build_id_of(at, module, &text, &build_id);
	if (error)
		return error;
	put_number(&at->message, 1, id);
	put_number(&at->message, 2, module->start);
	put_number(&at->message, 3, module->end);
	put_number(&at->message, 5, file);
	put_number(&at->message, 6, build_id);
	/* Functions, files, lines, inlined ones: what could be found was, here. */
	for (unsigned field = 7; field <= 10; field++)
		put_number(&at->message, field, 1);
	return end_message(at, PROFILE_MAPPING);
}

static struct error *module_number(struct writing *at, const struct module *module, uint64_t *ret)
{
	*ret = 0;
	if (!module || module->path[0] == '\0')
		return NULL;
	bool is_new;
	uint32_t *number = mapping_numbers_insert(&at->mappings, module->path, &is_new);
	if (!number)
		return error_no_memory();
	*ret = *number;
	if (!is_new)
		return NULL;
	*ret = *number = at->mappings.len;
	return put_mapping(at, module, *number);
}

/* Which file is the program, not all files of other tools say: then it is none that is named as a
 * library. */
static bool is_program(const struct model *model, const struct module *module)
{
	const char *exe = model_target(model)->exe;
	if (exe[0])
		return strcmp(module->path, exe) == 0;
	const char *path = module->path;
	bool is_file = path[0] && path[0] != '['; /* "[vdso]" */
	return module->executable || (is_file && !path_is_library(path, strlen(path)));
}

/* The program's first, since readers take the first one for it; then all others. */
static struct error *put_mappings(struct writing *at)
{
	const struct model *model = at->from->profile->model;
	struct error *error = NULL;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i < model_module_limit(model) && !error; i++) {
			const struct module *module = model_module(model, (struct module_id){i});
			uint64_t number;
			if (round || is_program(model, module))
				error = module_number(at, module, &number);
		}
	return error;
}

/* What has no name is found by its address; a name for it would keep readers from looking. */
static struct error *function_number(
	struct writing *at, const struct shown_frame *frame, uint64_t *ret)
{
	struct function_key key = {0};
	struct error *error = export_pprof_intern(at, frame->function, &key.name);
	if (!error)
		error = export_pprof_intern(at, frame->raw_name, &key.system_name);
	if (!error)
		error = export_pprof_intern(at, frame->file, &key.file);
	*ret = 0;
	if (error || !key.name)
		return error;
	bool is_new;
	uint32_t *number = function_numbers_insert(&at->functions, key, &is_new);
	if (!number)
		return error_no_memory();
	*ret = *number;
	if (!is_new)
		return NULL;
	*ret = *number = at->functions.len;
	put_number(&at->message, 1, *number);
	put_number(&at->message, 2, key.name);
	put_number(&at->message, 3, key.system_name);
	put_number(&at->message, 4, key.file);
	return end_message(at, PROFILE_FUNCTION);
}

/* "Line" messages of a location, into `inner`, before the location itself is begun. */
static struct error *put_lines(
	struct writing *at, const struct shown_frame *const *frames, size_t count)
{
	_cleanup_(buf_deinit) struct buf lines;
	buf_init(&lines);
	for (size_t i = 0; i < count; i++) {
		uint64_t function;
		struct error *error = function_number(at, frames[i], &function);
		if (error)
			return error;
		if (!function)
			continue;
		buf_clear(&at->inner);
		put_number(&at->inner, 1, function);
		put_number(&at->inner, 2, frames[i]->line);
		put_bytes(&lines, 4, at->inner.data, at->inner.len);
	}
	buf_clear(&at->inner);
	buf_bytes(&at->inner, lines.data, lines.len);
	return lines.failed || at->inner.failed ? error_no_memory() : NULL;
}

static struct error *put_location(
	struct writing *at, const struct shown_frame *const *frames, size_t count, uint32_t id)
{
	const struct shown_frame *frame = frames[count - 1];
	const uint32_t *mapping =
		frame->module_path ? mapping_numbers_find(&at->mappings, frame->module_path) : NULL;
	struct error *error = put_lines(at, frames, count);
	if (error)
		return error;
	put_number(&at->message, 1, id);
	put_number(&at->message, 2, mapping ? *mapping : 0);
	put_number(&at->message, 3, frame->address ? frame->address - 1 : 0);
	buf_bytes(&at->message, at->inner.data, at->inner.len);
	return end_message(at, PROFILE_LOCATION);
}

/* The location of the frames from the first on, and how many it stands for. */
static struct error *location_number(struct writing *at, const struct shown_frame *const *frames,
	size_t count, uint32_t *ret, size_t *ret_used)
{
	size_t used = 1;
	while (used < count && frames[used - 1]->inlined)
		used++;
	struct location_key key = {.first = frames[0], .count = used};
	bool is_new;
	uint32_t *number = location_numbers_insert(&at->locations, key, &is_new);
	if (!number)
		return error_no_memory();
	*ret_used = used;
	*ret = *number;
	if (!is_new)
		return NULL;
	*ret = *number = at->locations.len;
	return put_location(at, frames, used, *number);
}

static struct error *put_size(struct writing *at, const struct site *sums)
{
	if (!sums->max_size || sums->min_size != sums->max_size)
		return NULL;
	uint64_t key;
	struct error *error = export_pprof_intern(at, "bytes", &key);
	if (error)
		return error;
	buf_clear(&at->inner);
	put_number(&at->inner, 1, key);
	put_number(&at->inner, 3, sums->min_size);
	put_number(&at->inner, 4, key);
	put_bytes(&at->message, 3, at->inner.data, at->inner.len);
	return NULL;
}

static struct error *put_kind(struct writing *at, enum alloc_kind kind)
{
	uint64_t key, value;
	if (kind == KIND_UNKNOWN)
		return NULL;
	struct error *error = export_pprof_intern(at, "kind", &key);
	if (!error)
		error = export_pprof_intern(at, alloc_kind_name(kind), &value);
	if (error)
		return error;
	buf_clear(&at->inner);
	put_number(&at->inner, 1, key);
	put_number(&at->inner, 2, value);
	put_bytes(&at->message, 3, at->inner.data, at->inner.len);
	return NULL;
}

static struct error *export_pprof_put_row(struct writing *at, const struct row *row)
{
	_cleanup_(buf_deinit) struct buf locations, values;
	buf_init(&locations);
	buf_init(&values);
	for (size_t i = 0, used; i < row->depth; i += used) {
		uint32_t number = 0;
		used = 1;
		if (row->frames[i]->mark != MARK_NONE) {
			at->unnamed = true;
			continue;
		}
		struct error *error =
			location_number(at, row->frames + i, row->depth - i, &number, &used);
		if (error)
			return error;
		buf_varint(&locations, number);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sample_values); i++)
		if (is_written(at, i))
			buf_varint(&values, (uint64_t)row_value(row, sample_values[i].metric));
	put_bytes(&at->message, 1, locations.data, locations.len);
	put_bytes(&at->message, 2, values.data, values.len);
	struct error *error = put_size(at, row->sums);
	if (!error)
		error = put_kind(at, row->sums->kind);
	if (!error && (locations.failed || values.failed))
		error = error_no_memory();
	return error ? error : end_message(at, PROFILE_SAMPLE);
}

static struct error *put_command(struct writing *at)
{
	const struct target *target = model_target(at->from->profile->model);
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_add(&text, "heapwise:");
	for (size_t i = 0; i < target->command_len; i++) {
		text_add(&text, " ");
		text_add_plain(&text, target->command[i]);
	}
	if (text.failed)
		return error_no_memory();
	put_bytes(&at->out, PROFILE_STRING, text.data, text.len);
	/* Nothing else is interned after it: its number is that of the next one. */
	put_number(&at->out, PROFILE_COMMENT, at->strings.len + 1);
	return NULL;
}

static struct error *put_tail(struct writing *at)
{
	const struct model *model = at->from->profile->model;
	const struct recording *recording = model_recording(model);
	uint64_t type;
	struct error *error = export_pprof_intern(at, at->default_type, &type);
	if (error)
		return error;
	put_number(&at->out, PROFILE_TIME, model_target(model)->wall_start_ns);
	put_number(&at->out, PROFILE_DURATION, recording->duration_ns);
	put_number(&at->out, PROFILE_PERIOD, recording->sample_bytes ? recording->sample_bytes : 1);
	put_number(&at->out, PROFILE_DEFAULT_TYPE, type);
	return put_command(at);
}

static void export_pprof_describe_losses(const struct writing *at)
{
	export_omit(at->from, "pprof",
		EXPORT_PEAK | EXPORT_MOMENTS | EXPORT_THREADS | EXPORT_TEMPORARY | EXPORT_FAILED);
	const char *before = "Unknown and therefore omitted: ";
	for (size_t i = 0; i < ARRAY_SIZE(sample_values); i++) {
		if (is_written(at, i))
			continue;
		text_printf(at->from->lost, "%s%s", before, sample_values[i].type);
		before = ", ";
	}
	text_add(at->from->lost, before[0] == ',' ? ".\n" : "");
	if (at->unnamed)
		text_add(at->from->lost, EXPORT_REMARKS_LOST);
}

struct error *export_pprof(const struct exported *from, const struct sink *sink)
{
	_cleanup_(writing_deinit) struct writing at = {.from = from, .sink = sink};
	const struct rows *rows = profile_rows(from->profile);
	struct error *error = export_pprof_put_head(&at);
	if (!error)
		error = put_mappings(&at);
	for (size_t i = 0; i < rows->rows.len && !error && !at.stopped; i++)
		error = export_pprof_put_row(&at, &rows->rows.data[i]);
	if (!error)
		error = put_tail(&at);
	if (!error)
		error = export_pprof_flush(&at, 0);
	if (!error)
		export_pprof_describe_losses(&at);
	return error;
}
