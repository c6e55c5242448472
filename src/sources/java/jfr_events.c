/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java/jfr_events.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

#define WINDOW_BYTES ((size_t)1 << 20)
/* Of an event that is read. Constants of a chunk are many in one event. */
#define EVENT_BYTES_MAX ((uint64_t)1 << 29)
/* Different stacks with a class in a chunk; calls of malloc and free in it. */
#define ROWS_MAX (1u << 22)
#define CALLS_MAX (1u << 25)
/* async-profiler's, if nothing else was asked for. */
#define INTERVAL_USUAL 524287u
/* Bytes of the size and type of an event, at most. */
#define EVENT_HEAD_MAX 18u

enum { TYPE_METADATA = 0, TYPE_CHECKPOINT = 1 };

void jfr_window_init(struct jfr_window *window, const struct input *input)
{
	*window = (struct jfr_window){.input = input};
}

void jfr_window_deinit(struct jfr_window *window)
{
	free(window->data);
}

/* Finds bytes of the file, which are there. They live until the next call. */
static struct error *window_read(
	struct jfr_window *window, uint64_t offset, size_t len, const uint8_t **ret)
{
	if (offset < window->start || offset + len > window->start + window->len) {
		size_t want = len > WINDOW_BYTES ? len : WINDOW_BYTES;
		uint64_t left = window->input->bytes - offset;
		if (want > left)
			want = (size_t)left;
		if (want > window->room) {
			free(window->data);
			window->room = 0;
			window->data = malloc(want);
			if (!window->data)
				return error_no_memory();
			window->room = want;
		}
		window->len = 0;
		struct error *error =
			window->input->read(window->input, offset, window->data, want);
		if (error)
			return error;
		window->start = offset;
		window->len = want;
	}
	*ret = window->data + (offset - window->start);
	return NULL;
}

static uint64_t big_endian(const uint8_t *at, size_t len)
{
	uint64_t ret = 0;
	for (size_t i = 0; i < len; i++)
		ret = ret << 8 | at[i];
	return ret;
}

void jfr_chunk_deinit(struct jfr_chunk *chunk)
{
	jfr_types_deinit(&chunk->types);
	jfr_constants_deinit(&chunk->constants);
	jfr_rows_deinit(&chunk->rows);
	jfr_calls_deinit(&chunk->calls);
	text_deinit(&chunk->main);
}

struct error *jfr_chunk_open(
	struct jfr_chunk *chunk, struct jfr_window *window, uint64_t offset, bool *ret_whole)
{
	*chunk = (struct jfr_chunk){.offset = offset, .no_frees = true};
	jfr_types_init(&chunk->types);
	arena_init(&chunk->constants.arena);
	text_init(&chunk->main);
	*ret_whole = false;
	const uint8_t *head;
	if (window->input->bytes - offset < JFR_HEADER_BYTES)
		return NULL;
	struct error *error = window_read(window, offset, JFR_HEADER_BYTES, &head);
	if (error)
		return error;
	if (memcmp(head, "FLR", 4) != 0)
		return error_create(ERROR_INPUT, "is no chunk of JFR");
	uint64_t major = big_endian(head + 4, 2), minor = big_endian(head + 6, 2);
	if (major != 2)
		return error_create(ERROR_INPUT,
			"is of version %" PRIu64 ".%" PRIu64
			" of JFR's format; 2.0 and 2.1 (OpenJDK 8u262, 11 and later) can be read",
			major, minor);
	if (!(head[67] & 1))
		return error_create(ERROR_INPUT,
			"has numbers that are not compressed, which no recorder is known to write");
	chunk->bytes = big_endian(head + 8, 8);
	chunk->start_ns = big_endian(head + 32, 8);
	chunk->duration_ns = big_endian(head + 40, 8);
	chunk->open = head[64] != 0;
	bool has_tables = big_endian(head + 16, 8) && big_endian(head + 24, 8);
	*ret_whole = has_tables && chunk->bytes > JFR_HEADER_BYTES &&
		     chunk->bytes <= window->input->bytes - offset;
	return NULL;
}

/* An event that stands somewhere in a chunk. */
struct jfr_event {
	uint64_t bytes, type;
	size_t head; /* bytes before its values */
};

static struct error *event_damaged(uint64_t offset)
{
	return error_create(ERROR_INPUT, "the event at offset %" PRIu64 " is damaged", offset);
}

static struct error *event_find(const struct jfr_chunk *chunk, struct jfr_window *window,
	uint64_t offset, struct jfr_event *ret)
{
	uint64_t left = chunk->offset + chunk->bytes - offset;
	size_t len = left < EVENT_HEAD_MAX ? (size_t)left : EVENT_HEAD_MAX;
	const uint8_t *head;
	struct error *error = window_read(window, offset, len, &head);
	if (error)
		return error;
	struct jfr_bytes bytes = {head, head + len};
	if (!jfr_number(&bytes, &ret->bytes) || !jfr_number(&bytes, &ret->type))
		return event_damaged(offset);
	ret->head = (size_t)(bytes.pos - head);
	return ret->bytes < ret->head || ret->bytes > left ? event_damaged(offset) : NULL;
}

static struct error *event_load(struct jfr_window *window, uint64_t offset,
	const struct jfr_event *event, struct jfr_bytes *ret)
{
	const uint8_t *data;
	if (event->bytes > EVENT_BYTES_MAX)
		return error_create(ERROR_INPUT,
			"the event at offset %" PRIu64 " has more than %" PRIu64
			" bytes: let the recorder write smaller chunks",
			offset, EVENT_BYTES_MAX);
	struct error *error = window_read(window, offset, (size_t)event->bytes, &data);
	if (!error)
		*ret = (struct jfr_bytes){data + event->head, data + event->bytes};
	return error;
}

static struct error *types_read(struct jfr_chunk *chunk, struct jfr_window *window)
{
	const uint8_t *head;
	struct error *error = window_read(window, chunk->offset, JFR_HEADER_BYTES, &head);
	if (error)
		return error;
	uint64_t place = big_endian(head + 24, 8);
	struct jfr_event event;
	struct jfr_bytes bytes;
	if (place < JFR_HEADER_BYTES || place >= chunk->bytes)
		return error_create(ERROR_INPUT, "the description of its types is not in it");
	error = event_find(chunk, window, chunk->offset + place, &event);
	if (!error && event.type != TYPE_METADATA)
		error = event_damaged(chunk->offset + place);
	if (!error)
		error = event_load(window, chunk->offset + place, &event, &bytes);
	return error ? error : jfr_types_read(&chunk->types, bytes);
}

/* A type of events and the fields that are wanted. */
struct event_type {
	const char *name;
	struct error *(*take)(struct jfr_chunk *chunk, const struct jfr_value *values);
	const char *wanted[5];
};
#define EVENT_WANTED 5u

static struct error *row_add(
	struct jfr_chunk *chunk, struct jfr_row_key key, const struct jfr_sums *more)
{
	if (chunk->rows.len == ROWS_MAX)
		return error_create(ERROR_INPUT,
			"has more than %u different stacks of objects in one chunk: let the "
			"recorder write smaller chunks",
			ROWS_MAX);
	struct jfr_sums *row = jfr_rows_insert(&chunk->rows, key, NULL);
	if (!row)
		return error_no_memory();
	struct jfr_sums *const sums[] = {row, &chunk->sums[key.kind]};
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
		sums[i]->events++;
		sums[i]->objects += more->objects;
		sums[i]->bytes += more->bytes;
		sums[i]->objects_spread += more->objects_spread;
		sums[i]->bytes_spread += more->bytes_spread;
	}
	return NULL;
}

/* What a sample stands for of which no more is known than its weight: the variance of a figure of
 * which each was taken by chance is at most the sum of their squares. */
static struct jfr_sums weight_of(uint64_t bytes)
{
	double weight = (double)bytes;
	return (struct jfr_sums){.bytes = weight, .bytes_spread = weight * weight};
}

/* And one of this size that was taken with this probability. */
static struct jfr_sums taken_of(uint64_t bytes, double taken)
{
	double size = (double)bytes, objects_spread = (1 - taken) / taken / taken;
	return (struct jfr_sums){.objects = 1 / taken,
		.bytes = size / taken,
		.objects_spread = objects_spread,
		.bytes_spread = objects_spread * size * size};
}

/* An object, of which HotSpot takes samples at random distances; interval 0: not of it. */
static struct jfr_sums object_of(uint64_t bytes, uint64_t interval)
{
	return taken_of(bytes, interval && bytes ? -expm1(-(double)bytes / (double)interval) : 1);
}

struct jfr_sums jfr_block_of(uint64_t bytes, uint64_t interval)
{
	return taken_of(bytes, bytes && bytes < interval ? (double)bytes / (double)interval : 1);
}

static struct error *sampled_take(struct jfr_chunk *chunk, const struct jfr_value *values)
{
	struct jfr_row_key key = {values[0].number, values[1].number, JFR_SAMPLED};
	struct jfr_sums more = weight_of(values[2].number);
	return row_add(chunk, key, &more);
}

static struct error *in_tlab_take(struct jfr_chunk *chunk, const struct jfr_value *values)
{
	struct jfr_row_key key = {values[0].number, values[1].number, JFR_IN_TLAB};
	uint64_t size = values[2].number, buffer = values[3].number, interval = chunk->interval;
	struct jfr_sums more = weight_of(buffer);
	/* async-profiler writes its samples so, also where they have nothing to do with TLABs. */
	if (interval && buffer == (size > interval ? size : interval)) {
		key.kind = JFR_INTERVAL;
		more = object_of(size, interval);
	}
	return row_add(chunk, key, &more);
}

static struct error *outside_take(struct jfr_chunk *chunk, const struct jfr_value *values)
{
	struct jfr_row_key key = {values[0].number, values[1].number, JFR_OUTSIDE};
	struct jfr_sums more = object_of(values[2].number, 0);
	return row_add(chunk, key, &more);
}

static struct error *live_take(struct jfr_chunk *chunk, const struct jfr_value *values)
{
	struct jfr_row_key key = {values[0].number, values[1].number, JFR_LIVE};
	struct jfr_sums more = object_of(values[2].number, chunk->interval);
	return row_add(chunk, key, &more);
}

/* The class is that of a constant, which may come later: its key stands for it. */
static struct error *old_take(struct jfr_chunk *chunk, const struct jfr_value *values)
{
	struct jfr_row_key key = {values[0].number, values[1].number, JFR_OLD};
	struct jfr_sums more = object_of(values[2].number, 0);
	chunk->sizeless |= !values[2].data.pos;
	return row_add(chunk, key, &more);
}

static struct error *call_keep(struct jfr_chunk *chunk, const struct jfr_call *call)
{
	if (chunk->calls.len == CALLS_MAX)
		return error_create(ERROR_INPUT,
			"has more than %u calls of malloc and free in one chunk: let the recorder "
			"write smaller chunks",
			CALLS_MAX);
	return jfr_calls_push(&chunk->calls, *call) ? NULL : error_no_memory();
}

static struct error *malloc_take(struct jfr_chunk *chunk, const struct jfr_value *values)
{
	struct jfr_row_key key = {.stack = values[0].number, .kind = JFR_MALLOC};
	const struct jfr_call call = {.stack = values[0].number,
		.address = values[1].number,
		.size = values[2].number,
		.time = values[3].number};
	struct jfr_sums more = jfr_block_of(call.size, chunk->malloc_interval);
	struct error *error = row_add(chunk, key, &more);
	return error || !call.size ? error : call_keep(chunk, &call);
}

static struct error *free_take(struct jfr_chunk *chunk, const struct jfr_value *values)
{
	const struct jfr_call call = {.address = values[1].number, .time = values[3].number};
	chunk->no_frees = false;
	return call_keep(chunk, &call);
}

static struct error *text_read(
	const struct jfr_chunk *chunk, const struct jfr_value *value, struct text *ret)
{
	struct jfr_bytes bytes = value->data;
	struct jfr_string string;
	text_clear(ret);
	if (bytes.pos && jfr_string(&bytes, &string))
		jfr_text_add(&chunk->constants, &string, ret);
	return ret->failed ? error_no_memory() : NULL;
}

static struct error *setting_take(struct jfr_chunk *chunk, const struct jfr_value *values)
{
	_cleanup_(text_deinit) struct text name, value;
	text_init(&name);
	text_init(&value);
	struct error *error = text_read(chunk, &values[0], &name);
	if (!error)
		error = text_read(chunk, &values[1], &value);
	if (error || !name.data || !value.data)
		return error;
	uint64_t number = strtoull(value.data, NULL, 10);
	if (!strcmp(name.data, "alloc"))
		chunk->interval = number ? number : INTERVAL_USUAL;
	if (!strcmp(name.data, "nativemem"))
		chunk->malloc_interval = number;
	return NULL;
}

static struct error *jvm_take(struct jfr_chunk *chunk, const struct jfr_value *values)
{
	chunk->pid = values[1].number <= INT32_MAX ? (uint32_t)values[1].number : 0;
	return text_read(chunk, &values[0], &chunk->main);
}

static const struct event_type event_types[] = {
	{"jdk.ObjectAllocationSample", sampled_take, {"stackTrace", "objectClass", "weight"}},
	{"jdk.ObjectAllocationInNewTLAB", in_tlab_take,
		{"stackTrace", "objectClass", "allocationSize", "tlabSize"}},
	{"jdk.ObjectAllocationOutsideTLAB", outside_take,
		{"stackTrace", "objectClass", "allocationSize"}},
	{"profiler.LiveObject", live_take, {"stackTrace", "objectClass", "allocationSize"}},
	{"jdk.OldObjectSample", old_take, {"stackTrace", "object", "objectSize"}},
	{"profiler.Malloc", malloc_take, {"stackTrace", "address", "size", "startTime"}},
	{"profiler.Free", free_take, {"stackTrace", "address", "size", "startTime"}},
	{"jdk.ActiveSetting", setting_take, {"name", "value"}},
	{"jdk.JVMInformation", jvm_take, {"javaArguments", "pid"}},
};

/* The types of a chunk that are of interest, by their ids. */
struct known_types {
	struct {
		uint64_t id;
		uint32_t type, wanted[EVENT_WANTED];
	} rows[ARRAY_SIZE(event_types)];
};

static void known_types_find(const struct jfr_chunk *chunk, struct known_types *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(event_types); i++) {
		uint32_t type = jfr_type_named(&chunk->types, event_types[i].name);
		ret->rows[i].type = type;
		ret->rows[i].id = type == JFR_NONE ? 0 : chunk->types.types.data[type].id;
		for (size_t k = 0; k < EVENT_WANTED; k++) {
			const char *name = event_types[i].wanted[k];
			ret->rows[i].wanted[k] =
				name ? jfr_field_named(&chunk->types, type, name) : JFR_NONE;
		}
	}
}

static struct error *event_take(struct jfr_chunk *chunk, struct jfr_window *window,
	const struct known_types *known, uint64_t offset, const struct jfr_event *event)
{
	struct jfr_bytes bytes;
	struct jfr_value values[EVENT_WANTED];
	if (event->type == TYPE_CHECKPOINT) {
		struct error *error = event_load(window, offset, event, &bytes);
		return error ? error : jfr_constants_add(&chunk->constants, bytes);
	}
	chunk->events += event->type != TYPE_METADATA;
	size_t i = 0;
	while (i < ARRAY_SIZE(event_types) &&
		(known->rows[i].type == JFR_NONE || known->rows[i].id != event->type))
		i++;
	if (i == ARRAY_SIZE(event_types))
		return NULL;
	struct error *error = event_load(window, offset, event, &bytes);
	if (error)
		return error;
	if (!jfr_value_read(&chunk->types, known->rows[i].type, &bytes, known->rows[i].wanted,
		    EVENT_WANTED, values))
		return event_damaged(offset);
	return event_types[i].take(chunk, values);
}

struct error *jfr_chunk_read(struct jfr_chunk *chunk, struct jfr_window *window)
{
	struct error *error = types_read(chunk, window);
	if (error)
		return error;
	jfr_constants_init(&chunk->constants, &chunk->types);
	struct known_types known;
	known_types_find(chunk, &known);
	uint64_t offset = chunk->offset + JFR_HEADER_BYTES, end = chunk->offset + chunk->bytes;
	while (offset < end && !error) {
		struct jfr_event event;
		error = event_find(chunk, window, offset, &event);
		if (!error)
			error = event_take(chunk, window, &known, offset, &event);
		if (!error)
			offset += event.bytes;
	}
	return error;
}
