/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/pprof.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/foreign/foreign.h"
#include "sources/foreign/foreign_query.h"
#include "sources/foreign/pprof_wire.h"
#include "sources/recording/stream.h"

/* What a sample type is to us. */
enum value {
	VALUE_ALLOCATIONS,
	VALUE_ALLOCATED_BYTES,
	VALUE_LIVE_BLOCKS,
	VALUE_LIVE_BYTES,
	VALUES
};

/*
 * The names that heap profiles have for it: Go, gperftools and heapwise the first, converters of
 * jemalloc's and tcmalloc's profiles the others. The unit decides between blocks and bytes.
 */
static const struct {
	const char *type;
	const char *unit;
	enum value value;
} known_types[] = {
	{"alloc_objects", "count", VALUE_ALLOCATIONS},
	{"alloc_space", "bytes", VALUE_ALLOCATED_BYTES},
	{"inuse_objects", "count", VALUE_LIVE_BLOCKS},
	{"inuse_space", "bytes", VALUE_LIVE_BYTES},
	{"allocations", "count", VALUE_ALLOCATIONS},
	{"allocations", "bytes", VALUE_ALLOCATED_BYTES},
	{"objects", "count", VALUE_LIVE_BLOCKS},
	{"space", "bytes", VALUE_LIVE_BYTES},
	{"inuse", "bytes", VALUE_LIVE_BYTES},
};

static const struct {
	uint32_t unknown;
	size_t member;
} value_facts[VALUES] = {
	[VALUE_ALLOCATIONS] = {UNKNOWN_ALLOCATIONS, offsetof(struct site, allocations)},
	[VALUE_ALLOCATED_BYTES] = {UNKNOWN_ALLOCATED_BYTES, offsetof(struct site, allocated_bytes)},
	[VALUE_LIVE_BLOCKS] = {UNKNOWN_LIVE_BLOCKS, offsetof(struct site, live_blocks)},
	[VALUE_LIVE_BYTES] = {UNKNOWN_LIVE_BYTES, offsetof(struct site, live_bytes)},
};

DEFINE_VEC(frame_numbers, struct foreign_frame)
DEFINE_VEC(size_rows, struct size_count)
DEFINE_VEC(module_numbers, struct module_id)
DEFINE_VEC(text_vec, struct foreign_text)

struct reading {
	struct foreign foreign;
	struct pprof_profile profile;
	struct pprof_sample sample;
	const struct source_blocks *blocks;
	int index_of[VALUES];          /* of the sample types; -1: there is none */
	struct frame_numbers frames;   /* by location; 0: not yet */
	struct module_numbers modules; /* by mapping */
	struct size_rows sizes;
	struct text_vec unread; /* keys of labels that have no place here, each once */
	bool more_unread;       /* there are others */
	uint64_t period;        /* bytes between samples; 0: it is no sample of bytes */
	bool below;             /* of a difference: what is below 0 is read now */
	bool has_below;         /* there is such */
	bool all_sizes;         /* every sample says how large its blocks are */
};

static void pprof_reading_deinit(struct reading *reading)
{
	foreign_deinit(&reading->foreign);
	pprof_profile_deinit(&reading->profile);
	pprof_number_vec_deinit(&reading->sample.locations);
	pprof_number_vec_deinit(&reading->sample.values);
	pprof_label_vec_deinit(&reading->sample.labels);
	frame_numbers_deinit(&reading->frames);
	module_numbers_deinit(&reading->modules);
	size_rows_deinit(&reading->sizes);
	text_vec_deinit(&reading->unread);
}

static bool text_is(struct foreign_text text, const char *word)
{
	return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

/* "cpu/nanoseconds, samples/count", for a message. */
static struct error *no_heap(const struct pprof_profile *profile)
{
	_cleanup_(text_deinit) struct text types;
	text_init(&types);
	for (size_t i = 0; i < profile->types.len; i++) {
		struct foreign_text type, unit;
		struct error *error = pprof_text(profile, profile->types.data[i].type, &type);
		if (!error)
			error = pprof_text(profile, profile->types.data[i].unit, &unit);
		if (error)
			return error;
		text_add(&types, i ? ", " : "");
		text_add_n(&types, type.data, type.len);
		text_add(&types, "/");
		text_add_n(&types, unit.data, unit.len);
	}
	_cleanup_(text_deinit) struct text shown;
	text_init(&shown);
	text_add_shown(&shown, types.data ? types.data : "no samples", 200);
	return error_create(ERROR_INPUT,
		"%s: is a pprof profile, but not a heap profile: it has %s; expected inuse_space, "
		"alloc_space, inuse_objects or alloc_objects",
		profile->name, shown.data ? shown.data : "");
}

static struct error *find_values(struct reading *reading)
{
	const struct pprof_profile *profile = &reading->profile;
	bool any = false;
	for (int value = 0; value < VALUES; value++)
		reading->index_of[value] = -1;
	for (size_t i = 0; i < profile->types.len; i++) {
		struct foreign_text type, unit;
		struct error *error = pprof_text(profile, profile->types.data[i].type, &type);
		if (!error)
			error = pprof_text(profile, profile->types.data[i].unit, &unit);
		if (error)
			return error;
		for (size_t k = 0; k < ARRAY_SIZE(known_types); k++) {
			int *index = &reading->index_of[known_types[k].value];
			if (*index >= 0 || !text_is(type, known_types[k].type) ||
				!text_is(unit, known_types[k].unit))
				continue;
			*index = (int)i;
			any = true;
			break;
		}
	}
	if (!any)
		return no_heap(profile);
	uint32_t *unknown = &build_recording(reading->foreign.model)->unknown;
	for (int value = 0; value < VALUES; value++)
		if (reading->index_of[value] >= 0)
			*unknown &= ~value_facts[value].unknown;
	return NULL;
}

static bool is_read(const struct reading *reading, size_t type)
{
	for (int value = 0; value < VALUES; value++)
		if (reading->index_of[value] == (int)type)
			return true;
	return false;
}

/* Digits of a build-id; what is none is left out. */
static size_t read_build_id(struct foreign_text text, uint8_t *ret, size_t room)
{
	size_t len = 0;
	if (text.len % 2 || text.len / 2 > room)
		return 0;
	for (size_t i = 0; i < text.len; i += 2) {
		char digits[3] = {text.data[i], text.data[i + 1], '\0'};
		char *end;
		ret[len++] = (uint8_t)strtoul(digits, &end, 16);
		if (end != digits + 2)
			return 0;
	}
	return len;
}

static struct error *add_mapping(
	struct reading *reading, const struct pprof_mapping *mapping, struct module_id *ret)
{
	struct foreign_text file, build_id;
	uint8_t bytes[64];
	struct error *error = pprof_text(&reading->profile, mapping->file, &file);
	if (!error)
		error = pprof_text(&reading->profile, mapping->build_id, &build_id);
	if (error)
		return error;
	*ret = (struct module_id){0};
	if (!file.len)
		return NULL;
	struct module about = {.build_id = bytes, .start = mapping->start, .end = mapping->limit};
	about.build_id_len = read_build_id(build_id, bytes, sizeof(bytes));
	about.bias =
		foreign_bias(reading->foreign.root, file, mapping->start, mapping->file_offset);
	return foreign_module(&reading->foreign, file, &about, ret);
}

static struct error *add_mappings(struct reading *reading)
{
	for (size_t i = 0; i < reading->profile.mappings.len; i++) {
		struct module_id id;
		struct error *error = add_mapping(reading, &reading->profile.mappings.data[i], &id);
		if (error)
			return error;
		if (!module_numbers_push(&reading->modules, id))
			return error_no_memory();
	}
	return NULL;
}

/* The first mapping is that of the program, by convention. */
static struct error *name_program(struct reading *reading)
{
	struct model *model = reading->foreign.model;
	if (!reading->modules.len || !reading->modules.data[0].value)
		return NULL;
	const char *path = model_module(model, reading->modules.data[0])->path;
	build_target(model)->exe = path;
	return build_argument(model, path, strlen(path));
}

static struct error *read_function(
	struct reading *reading, const struct pprof_line *line, struct foreign_line *ret)
{
	const struct pprof_profile *profile = &reading->profile;
	*ret = (struct foreign_line){.line = 0};
	if (!line->function)
		return NULL;
	const uint32_t *index = pprof_id_map_find(&profile->function_of, line->function);
	if (!index)
		return error_create(ERROR_INPUT,
			"%s: a location refers to the missing function %" PRIu64, profile->name,
			line->function);
	const struct pprof_function *function = &profile->functions.data[*index];
	struct error *error = pprof_text(profile, function->name, &ret->function);
	if (!error)
		error = pprof_text(profile, function->system_name, &ret->raw_name);
	if (!error)
		error = pprof_text(profile, function->file, &ret->file);
	if (!ret->function.len)
		ret->function = ret->raw_name;
	if (!ret->function.len)
		ret->function.data = NULL;
	if (!ret->raw_name.len)
		ret->raw_name.data = NULL;
	if (!ret->file.len)
		ret->file.data = NULL;
	ret->line = line->line > 0 && line->line < UINT32_MAX ? (uint32_t)line->line : 0;
	return error;
}

static struct error *make_frame(
	struct reading *reading, const struct pprof_location *location, struct foreign_frame *ret)
{
	const struct pprof_profile *profile = &reading->profile;
	_cleanup_free_ struct foreign_line *lines =
		calloc(location->line_count + 1, sizeof(*lines));
	if (!lines)
		return error_no_memory();
	struct module_id module = {0};
	if (location->mapping) {
		const uint32_t *index = pprof_id_map_find(&profile->mapping_of, location->mapping);
		if (!index)
			return error_create(ERROR_INPUT,
				"%s: a location refers to the missing mapping %" PRIu64,
				profile->name, location->mapping);
		module = reading->modules.data[*index];
	}
	struct error *error = NULL;
	for (uint32_t i = 0; i < location->line_count && !error; i++)
		error = read_function(
			reading, &profile->lines.data[location->first_line + i], &lines[i]);
	if (error)
		return error;
	error = foreign_frame(&reading->foreign, module, location->address, true, lines,
		location->line_count, ret);
	return error_prefix(error, "%s", profile->name);
}

static struct error *find_frame(
	struct reading *reading, uint64_t location, struct foreign_frame *ret)
{
	const uint32_t *index = pprof_id_map_find(&reading->profile.location_of, location);
	if (!index)
		return error_create(ERROR_INPUT,
			"%s: a sample refers to the missing location %" PRIu64,
			reading->profile.name, location);
	struct foreign_frame *known = &reading->frames.data[*index];
	if (!known->value) {
		struct error *error =
			make_frame(reading, &reading->profile.locations.data[*index], known);
		if (error)
			return error;
	}
	*ret = *known;
	return NULL;
}

/* This many are named. */
#define UNREAD_MOST 12u

static struct error *keep_unread(struct reading *reading, struct foreign_text key)
{
	for (size_t i = 0; i < reading->unread.len; i++)
		if (reading->unread.data[i].len == key.len &&
			memcmp(reading->unread.data[i].data, key.data, key.len) == 0)
			return NULL;
	reading->more_unread = reading->unread.len == UNREAD_MOST;
	if (reading->more_unread)
		return NULL;
	return text_vec_push(&reading->unread, key) ? NULL : error_no_memory();
}

/* The first of that name: operators of all forms have one. */
static enum alloc_kind kind_named(struct foreign_text name)
{
	int kind = 0;
	while (kind < KIND_UNKNOWN && !text_is(name, alloc_kind_name((enum alloc_kind)kind)))
		kind++;
	return (enum alloc_kind)kind;
}

/* What labels say of a sample's blocks: their size (0: nothing) and the function that was called.
 */
static struct error *read_labels(struct reading *reading, uint64_t *ret, enum alloc_kind *ret_kind)
{
	*ret = 0;
	*ret_kind = KIND_UNKNOWN;
	for (size_t i = 0; i < reading->sample.labels.len; i++) {
		const struct pprof_label *label = &reading->sample.labels.data[i];
		struct foreign_text key, text;
		struct error *error = pprof_text(&reading->profile, label->key, &key);
		if (!error)
			error = pprof_text(&reading->profile, label->text, &text);
		if (error)
			return error;
		if (text_is(key, "bytes") && label->number > 0)
			*ret = (uint64_t)label->number;
		if (text.len && text_is(key, "kind"))
			*ret_kind = kind_named(text);
		if (!text_is(key, "bytes") && !text_is(key, "kind"))
			error = keep_unread(reading, key);
		if (error)
			return error;
	}
	return NULL;
}

static uint64_t value_of(const struct reading *reading, enum value value)
{
	int index = reading->index_of[value];
	return index < 0 ? 0 : reading->sample.values.data[index];
}

/* Blocks of a sample that says nothing of their size have the average one. */
static uint64_t average_size(const struct reading *reading)
{
	uint64_t blocks = value_of(reading, VALUE_ALLOCATIONS);
	uint64_t bytes = value_of(reading, VALUE_ALLOCATED_BYTES);
	if (!blocks || !bytes) {
		blocks = value_of(reading, VALUE_LIVE_BLOCKS);
		bytes = value_of(reading, VALUE_LIVE_BYTES);
	}
	return blocks ? bytes / blocks : 0;
}

static bool pprof_is_wanted(const struct reading *reading, uint64_t size)
{
	const struct source_blocks *blocks = reading->blocks;
	if (!blocks)
		return true;
	if (!size)
		size = average_size(reading);
	return size >= blocks->min_size && (!blocks->max_size || size <= blocks->max_size);
}

/* Of a difference what is above 0 makes one model, and what is below makes another. */
static uint64_t amount_of(struct reading *reading, enum value value)
{
	uint64_t amount = value_of(reading, value);
	bool is_below = amount >> 63;
	reading->has_below |= is_below;
	if (is_below != reading->below)
		return 0;
	return is_below ? -amount : amount;
}

static struct error *add_values(struct reading *reading, struct site *site)
{
	for (int value = 0; value < VALUES; value++) {
		uint64_t more = amount_of(reading, (enum value)value), *sum;
		sum = (uint64_t *)(void *)((char *)site + value_facts[value].member);
		if (__builtin_add_overflow(*sum, more, sum))
			return error_create(ERROR_INPUT,
				"%s: values of one stack add up to more than 2^64",
				reading->profile.name);
	}
	return NULL;
}

static struct error *add_size(struct reading *reading, uint64_t size)
{
	struct size_count row = {
		.size = size, .allocations = amount_of(reading, VALUE_ALLOCATIONS)};
	if (!size)
		reading->all_sizes = false;
	if (!size || !row.allocations)
		return NULL;
	return size_rows_push(&reading->sizes, row) ? NULL : error_no_memory();
}

static struct error *add_sample(struct reading *reading, size_t index)
{
	struct error *error = pprof_read_sample(&reading->profile, index, &reading->sample);
	uint64_t size = 0;
	enum alloc_kind called = KIND_UNKNOWN;
	if (!error)
		error = read_labels(reading, &size, &called);
	if (error || !pprof_is_wanted(reading, size))
		return error;
	struct stack_id stack = {0};
	for (size_t i = reading->sample.locations.len; i > 0 && !error; i--) {
		struct foreign_frame frame;
		error = find_frame(reading, reading->sample.locations.data[i - 1], &frame);
		if (!error)
			error = foreign_push(&reading->foreign, stack, frame, &stack);
	}
	struct site_id id;
	if (!error)
		error = foreign_site(&reading->foreign, stack, called, &id);
	/* Go has a sample for each size of a stack, and tells it. What pprof has converted, which
	 * names frames to drop, has the mean size there. */
	struct site row = {.kind = called};
	struct site *site = error ? NULL : build_site_at(reading->foreign.model, id);
	if (!error)
		error = add_values(reading, site);
	if (!error && reading->period)
		error = add_values(reading, &row);
	if (!error && reading->period) {
		foreign_estimate(&row, reading->period, size && !reading->profile.drop_frames);
		spread_add(&site->spread, &row.spread);
	}
	return error ? error : add_size(reading, size);
}

static int pprof_compare_sizes(const void *left, const void *right)
{
	const struct size_count *a = left, *b = right;
	return a->size < b->size ? -1 : a->size > b->size;
}

static struct error *build_sizes(struct reading *reading)
{
	struct size_count *rows = reading->sizes.data;
	size_t count = reading->sizes.len;
	if (!reading->all_sizes || !count)
		return NULL;
	qsort(rows, count, sizeof(*rows), pprof_compare_sizes);
	build_recording(reading->foreign.model)->unknown &= ~(uint32_t)UNKNOWN_SIZES;
	for (size_t i = 0; i < count;) {
		uint64_t size = rows[i].size, sum = 0;
		for (; i < count && rows[i].size == size; i++)
			sum += rows[i].allocations;
		struct error *error = build_size(reading->foreign.model, size, sum);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *find_period(struct reading *reading)
{
	const struct pprof_profile *profile = &reading->profile;
	struct foreign_text unit;
	struct error *error = pprof_text(profile, profile->period_type.unit, &unit);
	if (!error && text_is(unit, "bytes") && profile->period > 1)
		reading->period = (uint64_t)profile->period;
	return error;
}

static void set_estimates(const struct reading *reading)
{
	struct recording *recording = build_recording(reading->foreign.model);
	if (!reading->period)
		return;
	recording->mode = "sample";
	recording->sample_bytes = reading->period;
}

static struct error *set_facts(struct reading *reading)
{
	const struct pprof_profile *profile = &reading->profile;
	struct recording *recording = build_recording(reading->foreign.model);
	struct foreign_text drop, keep;
	if (profile->time_ns > 0)
		build_target(reading->foreign.model)->wall_start_ns = (uint64_t)profile->time_ns;
	if (profile->duration_ns > 0) {
		recording->duration_ns = (uint64_t)profile->duration_ns;
		recording->unknown &= ~(uint32_t)UNKNOWN_TIMES;
	}
	recording->whole_stacks = recording->snapshot = true;
	struct error *error = pprof_text(profile, profile->drop_frames, &drop);
	if (!error)
		error = pprof_text(profile, profile->keep_frames, &keep);
	if (!error && drop.len)
		error = foreign_string(&reading->foreign, drop, &recording->drop_frames);
	if (!error && keep.len)
		error = foreign_string(&reading->foreign, keep, &recording->keep_frames);
	return error;
}

/* What `heapwise attach` and `heapwise java` say of a profile that they have written is shown. */
static const char *const own_comments[] = {"heapwise attach: ", "heapwise java: "};
#define OWN_COMMENT_MOST 400u

/* How much of a comment is the name of who says it; 0: it is not ours. */
static size_t own_comment_head(struct foreign_text comment)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_comments); i++) {
		size_t own = strlen(own_comments[i]);
		if (comment.len > own && memcmp(comment.data, own_comments[i], own) == 0)
			return own;
	}
	return 0;
}

static struct error *comment_add(const struct pprof_profile *profile, struct text *remark)
{
	struct foreign_text comment;
	struct error *error = pprof_text(profile, profile->comment, &comment);
	size_t own = error ? 0 : own_comment_head(comment);
	if (!own)
		return error;
	_cleanup_(text_deinit) struct text words;
	text_init(&words);
	text_add_n(&words, comment.data + own, comment.len - own);
	text_add_shown(remark, words.data ? words.data : "", OWN_COMMENT_MOST);
	return words.failed ? error_no_memory() : NULL;
}

/* runtime.MemProfileRate above this acts as this (fastexprand() in Go's runtime/malloc.go), but
 * runtime/pprof computes with the rate that was set. */
#define GO_RATE_CEILING 0x7000000u

static void go_period_add(const struct reading *reading, struct text *remark)
{
	if (remark->len || reading->period <= GO_RATE_CEILING)
		return;
	text_printf(remark,
		"If a program in Go has written it, its figures are too high, up to %.1f times: "
		"Go's runtime takes no fewer samples than one per 112 MiB, and runtime/pprof "
		"computes as if it were one per ",
		(double)reading->period / GO_RATE_CEILING);
	text_add_bytes(remark, reading->period);
	text_add(remark, ".");
}

/* Says what figures they are, and which labels and values were passed over. */
static struct error *set_remark(struct reading *reading)
{
	const struct pprof_profile *profile = &reading->profile;
	_cleanup_(text_deinit) struct text names, shown, remark;
	text_init(&names);
	text_init(&shown);
	text_init(&remark);
	struct error *problem = comment_add(profile, &remark);
	if (problem)
		return problem;
	go_period_add(reading, &remark);
	for (size_t i = 0; i < profile->types.len; i++) {
		struct foreign_text type;
		struct error *error = pprof_text(profile, profile->types.data[i].type, &type);
		if (error)
			return error;
		if (is_read(reading, i))
			continue;
		text_add(&names, names.len ? ", " : "values ");
		text_add_n(&names, type.data, type.len);
	}
	for (size_t i = 0; i < reading->unread.len; i++) {
		text_add(&names, i ? ", " : names.len ? "; labels " : "labels ");
		text_add_n(&names, reading->unread.data[i].data, reading->unread.data[i].len);
	}
	text_add(&names, reading->more_unread ? ", …" : "");
	text_add_shown(&shown, names.len ? names.data : "", 400);
	if (names.len)
		text_printf(&remark, "%sIgnored in this profile: %s.", remark.len ? " " : "",
			shown.data ? shown.data : "");
	if (remark.failed || names.failed)
		return error_no_memory();
	if (!remark.len)
		return NULL;
	return build_string(reading->foreign.model, remark.data, remark.len,
		&build_recording(reading->foreign.model)->remark);
}

static struct error *read_model(struct reading *reading)
{
	struct error *error = find_values(reading);
	if (!error)
		error = find_period(reading);
	if (!error)
		error = add_mappings(reading);
	if (!error)
		error = name_program(reading);
	if (!error && !frame_numbers_reserve(&reading->frames, reading->profile.locations.len + 1))
		error = error_no_memory();
	if (error)
		return error;
	memset(reading->frames.data, 0,
		reading->profile.locations.len * sizeof(*reading->frames.data));
	reading->all_sizes = true;
	for (size_t i = 0; i < reading->profile.samples.len && !error; i++)
		error = add_sample(reading, i);
	if (!error)
		error = build_sizes(reading);
	if (!error)
		error = set_facts(reading);
	if (!error)
		error = set_remark(reading);
	if (error)
		return error;
	set_estimates(reading);
	return foreign_total(&reading->foreign);
}

bool pprof_recognise(const uint8_t *head, size_t len)
{
	return pprof_looks_like(head, len);
}

static struct error *pprof_read_bytes(const struct input *input, struct buf *ret)
{
	_cleanup_(stream_close) struct stream stream;
	struct error *error = stream_open(&stream, input, stream_whole_limit(input));
	return error ? error : stream_rest(&stream, ret);
}

static struct error *read_part(const struct input *input, const struct buf *bytes,
	struct reading *reading, struct model **ret)
{
	pprof_profile_init(&reading->profile);
	struct error *error = foreign_create(&reading->foreign, "pprof", input);
	if (!error)
		error = pprof_read(&reading->profile, input->name, bytes->data, bytes->len);
	if (!error)
		error = foreign_describe(&reading->foreign, reading->blocks);
	if (!error)
		error = read_model(reading);
	if (error)
		return error;
	build_finish(reading->foreign.model);
	*ret = steal_ptr(reading->foreign.model);
	return NULL;
}

/* What is below 0, into the model of the rest. */
static struct error *read_below(const struct input *input, const struct buf *bytes,
	const struct source_blocks *blocks, struct model *model)
{
	_cleanup_(pprof_reading_deinit) struct reading reading = {.blocks = blocks, .below = true};
	struct model *below = NULL;
	struct error *error = read_part(input, bytes, &reading, &below);
	if (!error)
		build_subtracted(model, below);
	return error;
}

struct error *pprof_open(const struct input *input, unsigned flags,
	const struct source_query *query, struct model **ret)
{
	(void)flags;
	struct error *error = foreign_refuse(input, query, FOREIGN_BY_SIZE, "a pprof profile");
	if (error)
		return error;
	_cleanup_(buf_deinit) struct buf bytes;
	buf_init(&bytes);
	error = pprof_read_bytes(input, &bytes);
	if (error)
		return error;
	const struct source_blocks *blocks = query ? query->blocks : NULL;
	_cleanup_(pprof_reading_deinit) struct reading reading = {.blocks = blocks};
	struct model *model = NULL;
	error = read_part(input, &bytes, &reading, &model);
	if (!error && reading.has_below)
		error = read_below(input, &bytes, blocks, model);
	if (error) {
		model_destroy(model);
		return error;
	}
	*ret = model;
	return NULL;
}
