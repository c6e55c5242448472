/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golang/impl/go_encode.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/util.h"

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

static inline uint64_t go_string_hash(const char *key)
{
	return hash_bytes(key, strlen(key));
}

static inline bool go_string_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* Two numbers as a key: of strings, or the first and the last address of a location. */
struct go_pair {
	uint64_t a, b;
};

static inline uint64_t go_pair_hash(struct go_pair key)
{
	return hash_u64(key.a ^ hash_u64(key.b));
}

static inline bool go_pair_equal(struct go_pair x, struct go_pair y)
{
	return x.a == y.a && x.b == y.b;
}

DEFINE_MAP(go_strings, const char *, uint32_t, go_string_hash, go_string_equal)
DEFINE_MAP(go_numbers, struct go_pair, uint32_t, go_pair_hash, go_pair_equal)

struct go_writing {
	struct buf *out;
	struct buf message, inner, locations; /* being made */
	const struct go_functions *functions;
	struct go_strings strings;
	struct go_numbers function_of, location_of;
};

static void go_writing_deinit(struct go_writing *at)
{
	buf_deinit(&at->message);
	buf_deinit(&at->inner);
	buf_deinit(&at->locations);
	go_strings_deinit(&at->strings);
	go_numbers_deinit(&at->function_of);
	go_numbers_deinit(&at->location_of);
}

static void number_put(struct buf *out, unsigned field, uint64_t value)
{
	if (!value)
		return;
	buf_varint(out, field << 3);
	buf_varint(out, value);
}

static void bytes_put(struct buf *out, unsigned field, const void *data, size_t bytes)
{
	buf_varint(out, field << 3 | 2);
	buf_varint(out, bytes);
	buf_bytes(out, data, bytes);
}

static struct error *message_end(struct go_writing *at, unsigned field)
{
	if (at->message.failed || at->inner.failed || at->locations.failed)
		return error_no_memory();
	bytes_put(at->out, field, at->message.data, at->message.len);
	buf_clear(&at->message);
	return at->out->failed ? error_no_memory() : NULL;
}

/* The number of a string that lives as long as the writing; it is written when it is new. */
static struct error *string_number(struct go_writing *at, const char *string, uint64_t *ret)
{
	bool is_new;
	*ret = 0;
	if (!string || !*string)
		return NULL;
	uint32_t *number = go_strings_insert(&at->strings, string, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = at->strings.len;
		bytes_put(at->out, PROFILE_STRING, string, strlen(string));
	}
	*ret = *number;
	return NULL;
}

static struct error *type_put(
	struct go_writing *at, unsigned field, const char *type, const char *unit)
{
	uint64_t type_number, unit_number;
	struct error *error = string_number(at, type, &type_number);
	if (!error)
		error = string_number(at, unit, &unit_number);
	if (error)
		return error;
	number_put(&at->message, 1, type_number);
	number_put(&at->message, 2, unit_number);
	return message_end(at, field);
}

static struct error *head_put(
	struct go_writing *at, const struct go_mapping *mapping, uint64_t rate)
{
	uint64_t file;
	bytes_put(at->out, PROFILE_STRING, "", 0); /* string 0 */
	struct error *error = type_put(at, PROFILE_PERIOD_TYPE, "space", "bytes");
	if (!error)
		error = type_put(at, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	if (!error)
		error = type_put(at, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	if (!error)
		error = type_put(at, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	if (!error)
		error = type_put(at, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	if (!error)
		error = string_number(at, mapping->path, &file);
	if (error)
		return error;
	number_put(at->out, PROFILE_PERIOD, rate);
	number_put(&at->message, 1, 1);
	number_put(&at->message, 2, mapping->start);
	number_put(&at->message, 3, mapping->end);
	number_put(&at->message, 4, mapping->offset);
	number_put(&at->message, 5, file);
	number_put(&at->message, 7, 1); /* functions, files, lines, inlined ones: all are here */
	number_put(&at->message, 8, 1);
	number_put(&at->message, 9, 1);
	number_put(&at->message, 10, 1);
	return message_end(at, PROFILE_MAPPING);
}

static struct error *function_number(
	struct go_writing *at, const struct go_place *place, uint64_t *ret)
{
	uint64_t name = 0, file = 0;
	bool is_new;
	struct error *error = string_number(at, place->function, &name);
	if (!error)
		error = string_number(at, place->file, &file);
	if (error)
		return error;
	const struct go_pair key = {name, file};
	uint32_t *number = go_numbers_insert(&at->function_of, key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new)
		*number = at->function_of.len;
	*ret = *number;
	if (!is_new)
		return NULL;
	number_put(&at->message, 1, *ret);
	number_put(&at->message, 2, name);
	number_put(&at->message, 3, name);
	number_put(&at->message, 4, file);
	return message_end(at, PROFILE_FUNCTION);
}

/* What was inlined into what it is called by, and that, are one location. Returns how many frames
 * from `frames` on one has. */
static size_t location_frames(
	const struct go_functions *functions, const uint64_t *frames, size_t count)
{
	struct go_place place, next;
	size_t used = 1;
	if (!go_functions_find(functions, frames[0] - 1, &place))
		return 1;
	while (used < count && place.is_inlined &&
		go_functions_find(functions, frames[used] - 1, &next) &&
		next.entry == place.entry) {
		place = next;
		used++;
	}
	return used;
}

static struct error *lines_put(struct go_writing *at, const uint64_t *frames, size_t count)
{
	_cleanup_(buf_deinit) struct buf lines;
	buf_init(&lines);
	for (size_t i = 0; i < count; i++) {
		struct go_place place;
		uint64_t function = 0;
		if (!go_functions_find(at->functions, frames[i] - 1, &place))
			continue;
		struct error *error = function_number(at, &place, &function);
		if (error)
			return error;
		buf_clear(&at->inner);
		number_put(&at->inner, 1, function);
		number_put(&at->inner, 2, place.line);
		bytes_put(&lines, 4, at->inner.data, at->inner.len);
	}
	buf_clear(&at->inner);
	buf_bytes(&at->inner, lines.data, lines.len);
	return lines.failed || at->inner.failed ? error_no_memory() : NULL;
}

static struct error *location_number(
	struct go_writing *at, const uint64_t *frames, size_t count, uint64_t *ret)
{
	const struct go_pair key = {frames[0], frames[count - 1]};
	bool is_new;
	uint32_t *number = go_numbers_insert(&at->location_of, key, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new)
		*number = at->location_of.len;
	*ret = *number;
	struct error *error = is_new ? lines_put(at, frames, count) : NULL;
	if (error || !is_new)
		return error;
	number_put(&at->message, 1, *ret);
	number_put(&at->message, 2, 1);
	number_put(&at->message, 3, frames[0] - 1);
	buf_bytes(&at->message, at->inner.data, at->inner.len);
	return message_end(at, PROFILE_LOCATION);
}

static bool frame_begins(const struct go_writing *at, uint64_t frame, const char *words)
{
	struct go_place place;
	return go_functions_find(at->functions, frame - 1, &place) &&
	       strncmp(place.function, words, strlen(words)) == 0;
}

static bool frame_is(const struct go_writing *at, uint64_t frame, const char *name)
{
	struct go_place place;
	return go_functions_find(at->functions, frame - 1, &place) &&
	       strcmp(place.function, name) == 0;
}

/* The first frames, up to the one that called the runtime, are not shown, unless there are no
 * others; nor is the one that all goroutines end at. */
static struct error *stack_put(struct go_writing *at, const uint64_t *frames, size_t count)
{
	size_t first = 0;
	while (first < count && frame_begins(at, frames[first], "runtime."))
		first++;
	if (first == count)
		first = 0;
	buf_clear(&at->locations);
	for (size_t i = first, used; i < count; i += used) {
		uint64_t location = 0;
		used = location_frames(at->functions, frames + i, count - i);
		if (frame_is(at, frames[i], "runtime.goexit"))
			continue;
		struct error *error = location_number(at, frames + i, used, &location);
		if (error)
			return error;
		buf_varint(&at->locations, location);
	}
	return NULL;
}

static struct error *sample_put(struct go_writing *at, const struct go_buckets *buckets,
	const struct go_bucket *bucket, uint64_t rate, enum go_state state)
{
	const struct go_figures *figures =
		state == GO_STATE_NOW ? &bucket->now : &bucket->published;
	uint64_t values[4], key = 0;
	if (!figures->allocations)
		return NULL;
	go_figures_estimate(
		figures->allocations, figures->allocated_bytes, rate, &values[0], &values[1]);
	go_figures_estimate(figures->allocations - figures->frees,
		figures->allocated_bytes - figures->freed_bytes, rate, &values[2], &values[3]);
	struct error *error =
		stack_put(at, buckets->frames.data + bucket->first_frame, bucket->frame_count);
	if (!error)
		error = string_number(at, "bytes", &key);
	if (error)
		return error;
	buf_clear(&at->inner);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		buf_varint(&at->inner, values[i]);
	bytes_put(&at->message, 1, at->locations.data, at->locations.len);
	bytes_put(&at->message, 2, at->inner.data, at->inner.len);
	buf_clear(&at->inner);
	number_put(&at->inner, 1, key);
	number_put(&at->inner, 3, figures->allocated_bytes / figures->allocations);
	bytes_put(&at->message, 3, at->inner.data, at->inner.len);
	return message_end(at, PROFILE_SAMPLE);
}

static struct error *tail_put(struct go_writing *at, const struct go_encoding *encoding)
{
	uint64_t type = 0, comment = 0;
	struct error *error = string_number(at, "inuse_space", &type);
	if (!error)
		error = string_number(at, encoding->comment, &comment);
	if (error)
		return error;
	number_put(at->out, PROFILE_TIME, encoding->time_ns);
	number_put(at->out, PROFILE_DURATION, encoding->duration_ns);
	number_put(at->out, PROFILE_DEFAULT_TYPE, type);
	number_put(at->out, PROFILE_COMMENT, comment);
	return at->out->failed ? error_no_memory() : NULL;
}

struct error *go_encode(const struct go_buckets *buckets, const struct go_functions *functions,
	const struct go_mapping *mapping, uint64_t rate, const struct go_encoding *encoding,
	struct buf *out)
{
	_cleanup_(go_writing_deinit) struct go_writing at = {.out = out, .functions = functions};
	struct error *error = head_put(&at, mapping, rate);
	for (size_t i = 0; i < buckets->buckets.len && !error; i++)
		error = sample_put(&at, buckets, &buckets->buckets.data[i], rate, encoding->state);
	return error ? error : tail_put(&at, encoding);
}
