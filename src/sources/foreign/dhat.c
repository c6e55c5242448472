/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file, as dh_main.c describes it; jansson reads the JSON:
 *
 *	{"dhatFileVersion":2, "mode":"heap", "bklt":true, "tu":"instrs",
 *	 "cmd":"./app", "te":238664, "tg":229962,     times of the end and of the peak
 *	 "pps":[{"tb":100000,"tbk":1000,              allocated bytes, blocks
 *	         "gb":50000,"gbk":500,                at the peak of the heap (t-gmax)
 *	         "eb":50000,"ebk":500,                at the end
 *	         "fs":[1,2,3]}],                      frames, innermost first
 *	 "ftbl":["[root]","0x48: malloc (in /usr/libexec/…)",…]}
 *
 * Sums of lifetimes, reads and writes have no place in the model and are passed over.
 */
#include "sources/foreign/dhat.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/foreign/foreign_query.h"
#include "sources/foreign/valgrind_text.h"
#include "sources/recording/stream.h"

/* A value of JSON takes up to 24 times its text in memory; objects and arrays more than that, of
 * which no writer has one in so few bytes. */
#define WHOLE_FIXED (UINT64_C(1) << 24)
#define WHOLE_FACTOR 20u
#define NESTS_FIXED 4096u
#define NEST_BYTES 32u
#define DEPTH_MAX 4096u
#define INLINED_MAX 64u
#define NS_OF_US 1000u

struct reading {
	const char *name;
	struct foreign foreign;
	json_t *root, *frames; /* the latter is borrowed */
};

static void dhat_reading_deinit(struct reading *reading)
{
	foreign_deinit(&reading->foreign);
	json_decref(reading->root);
}

bool dhat_recognise(const uint8_t *head, size_t len)
{
	static const char key[] = "\"dhatFileVersion\"";
	size_t at = 0;
	while (at < len && strchr(" \t\r\n", head[at]) && head[at])
		at++;
	return at < len && head[at] == '{' && memmem(head, len, key, strlen(key));
}

/* How many objects and arrays begin in it. */
static size_t count_nests(const struct buf *bytes)
{
	size_t nests = 0;
	bool quoted = false;
	for (size_t i = 0; i < bytes->len; i++) {
		uint8_t c = bytes->data[i];
		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\')
			i++;
		else if (!quoted && (c == '{' || c == '['))
			nests++;
	}
	return nests;
}

static struct error *dhat_parse(struct reading *reading, const struct buf *bytes)
{
	json_error_t where;
	size_t nests = count_nests(bytes);
	if (nests > NESTS_FIXED + bytes->len / NEST_BYTES)
		return error_create(ERROR_INPUT,
			"%s: has %zu objects and arrays in %zu bytes, too many for a profile",
			reading->name, nests, bytes->len);
	reading->root = json_loadb((const char *)bytes->data, bytes->len, 0, &where);
	if (reading->root)
		return NULL;
	_cleanup_(text_deinit) struct text what;
	text_init(&what);
	text_add_shown(&what, where.text, sizeof(where.text));
	bool at_end = json_error_code(&where) == json_error_premature_end_of_input ||
		      where.position < 0 || (size_t)where.position >= bytes->len;
	return error_create(ERROR_INPUT, "%s: line %d (offset %d): invalid JSON: %s%s",
		reading->name, where.line, where.position, what.data ? what.data : "",
		at_end ? "; the file ends there: it may be cut off" : "");
}

static struct error *read_file(struct reading *reading, const struct input *input)
{
	_cleanup_(stream_close) struct stream stream;
	_cleanup_(buf_deinit) struct buf bytes;
	buf_init(&bytes);
	uint64_t limit = WHOLE_FIXED + min(input->bytes, UINT64_C(1) << 32) * WHOLE_FACTOR;
	struct error *error = stream_open(&stream, input, limit);
	if (!error)
		error = stream_rest(&stream, &bytes);
	return error ? error : dhat_parse(reading, &bytes);
}

/* A number from 0 on; `where` says of what. */
static struct error *dhat_take_number(
	const struct reading *reading, const json_t *value, const char *where, uint64_t *ret)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return error_create(ERROR_INPUT, "%s: %s is missing, negative or not an integer",
			reading->name, where);
	*ret = (uint64_t)json_integer_value(value);
	return NULL;
}

static const char *dhat_text_of(const struct reading *reading, const char *key)
{
	const char *text = json_string_value(json_object_get(reading->root, key));
	return text ? text : "";
}

static struct error *check_kind(const struct reading *reading)
{
	json_int_t version = json_integer_value(json_object_get(reading->root, "dhatFileVersion"));
	const char *mode = dhat_text_of(reading, "mode");
	if (version != 2)
		return error_create(ERROR_INPUT,
			"%s: unsupported DHAT format %" JSON_INTEGER_FORMAT
			"; expected 2, which Valgrind 3.15 and later write",
			reading->name, version);
	/* The crate dhat of Rust has names of its own for the same. */
	bool heap = strcmp(mode, "heap") == 0 || strcmp(mode, "rust-heap") == 0;
	if (strcmp(mode, "copy") == 0 || strcmp(mode, "ad-hoc") == 0 ||
		strcmp(mode, "rust-ad-hoc") == 0)
		return error_create(ERROR_INPUT,
			"%s: is a DHAT profile of mode %s, which contains no heap data; use "
			"--mode=heap, or what dhat::Profiler::new_heap() "
			"writes",
			reading->name, mode);
	if (!heap || !json_is_true(json_object_get(reading->root, "bklt")))
		return error_create(ERROR_INPUT,
			"%s: is a DHAT profile, but not of a heap with lifetimes (expected mode "
			"heap or rust-heap, and bklt true)",
			reading->name);
	return NULL;
}

/* Frame n of the table. */
static struct error *take_frame(
	const struct reading *reading, uint64_t number, struct valgrind_frame *ret)
{
	const json_t *text = number < json_array_size(reading->frames)
				     ? json_array_get(reading->frames, (size_t)number)
				     : NULL;
	if (!json_is_string(text))
		return error_create(ERROR_INPUT,
			"%s: a stack has frame %" PRIu64 ", which is not in ftbl", reading->name,
			number);
	*ret = valgrind_frame_of(json_string_value(text), json_string_length(text));
	return NULL;
}

/* One point of the program and its stack. */
struct point {
	size_t number;
	const json_t *object, *stack;
	uint64_t numbers[DEPTH_MAX];
	struct valgrind_frame frames[DEPTH_MAX];
	size_t count;
};

static struct error *take_stack(const struct reading *reading, struct point *point)
{
	point->stack = json_object_get(point->object, "fs");
	point->count = json_array_size(point->stack);
	if (!json_is_array(point->stack) || point->count > DEPTH_MAX)
		return error_create(ERROR_INPUT,
			"%s: pps[%zu] has no stack (fs), or one of more than %u frames",
			reading->name, point->number, DEPTH_MAX);
	struct error *error = NULL;
	for (size_t i = 0; i < point->count && !error; i++) {
		error = dhat_take_number(reading, json_array_get(point->stack, i),
			"a frame of a stack (fs)", &point->numbers[i]);
		if (!error)
			error = take_frame(reading, point->numbers[i], &point->frames[i]);
	}
	return error;
}

/* Where the functions begin that are inlined into frame `last`: others at its address. */
static size_t find_inlined(const struct point *point, size_t last)
{
	size_t first = last;
	while (point->frames[last].address && first > 0 && last - first < INLINED_MAX - 1 &&
		point->frames[first - 1].address == point->frames[last].address) {
		for (size_t i = first; i <= last; i++)
			if (point->numbers[i] == point->numbers[first - 1])
				return first;
		first--;
	}
	return first;
}

/* The allocator's own function is the site's kind, and no frame of it. */
static struct error *dhat_make_site(
	struct reading *reading, const struct point *point, struct site_id *ret)
{
	struct foreign *foreign = &reading->foreign;
	enum alloc_kind kind =
		point->count ? valgrind_kind_of(point->frames[0].line.function) : KIND_UNKNOWN;
	size_t skipped = kind != KIND_UNKNOWN && point->count > 1;
	struct stack_id stack = {0};
	struct error *error = NULL;
	for (size_t end = point->count; end > skipped && !error;) {
		size_t first = find_inlined(point, end - 1);
		struct foreign_frame frame;
		if (first < skipped)
			first = skipped;
		error = valgrind_frame_make(foreign, &point->frames[first], end - first, &frame);
		if (!error)
			error = foreign_push(foreign, stack, frame, &stack);
		end = first;
	}
	return error ? error : foreign_site(foreign, stack, kind, ret);
}

static const struct {
	const char *key;
	size_t member;
} figures[] = {
	{"tb", offsetof(struct site, allocated_bytes)},
	{"tbk", offsetof(struct site, allocations)},
	{"gb", offsetof(struct site, peak_bytes)},
	{"gbk", offsetof(struct site, peak_blocks)},
	{"eb", offsetof(struct site, live_bytes)},
	{"ebk", offsetof(struct site, live_blocks)},
};

static struct error *dhat_add_figures(
	const struct reading *reading, const struct point *point, struct site *site)
{
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		uint64_t more = 0, *sum = (uint64_t *)(void *)((char *)site + figures[i].member);
		char where[64];
		snprintf(where, sizeof(where), "pps[%zu].%s", point->number, figures[i].key);
		struct error *error = dhat_take_number(
			reading, json_object_get(point->object, figures[i].key), where, &more);
		if (error)
			return error;
		if (__builtin_add_overflow(*sum, more, sum))
			return error_create(ERROR_INPUT,
				"%s: %s: figures of one stack add up to more than 2^64",
				reading->name, where);
	}
	return NULL;
}

static struct error *add_points(struct reading *reading, struct point *point)
{
	const json_t *points = json_object_get(reading->root, "pps");
	reading->frames = json_object_get(reading->root, "ftbl");
	if (!json_is_array(points) || !json_is_array(reading->frames))
		return error_create(ERROR_INPUT,
			"%s: has no table of stacks (pps) or of frames (ftbl)", reading->name);
	struct error *error = NULL;
	for (point->number = 0; point->number < json_array_size(points) && !error;
		point->number++) {
		struct site_id id;
		point->object = json_array_get(points, point->number);
		error = take_stack(reading, point);
		if (!error)
			error = dhat_make_site(reading, point, &id);
		if (!error)
			error = dhat_add_figures(
				reading, point, build_site_at(reading->foreign.model, id));
	}
	return error;
}

/* Times are instructions mostly; the crate dhat of Rust has microseconds. */
static struct error *take_times(const struct reading *reading)
{
	struct model *model = reading->foreign.model;
	struct recording *recording = build_recording(model);
	const char *unit = dhat_text_of(reading, "tu");
	uint64_t end = 0, peak = 0;
	if (strcmp(unit, "µs") != 0 && strcmp(unit, "μs") != 0)
		return NULL;
	struct error *error =
		dhat_take_number(reading, json_object_get(reading->root, "te"), "te", &end);
	if (!error)
		error = dhat_take_number(
			reading, json_object_get(reading->root, "tg"), "tg", &peak);
	if (error || __builtin_mul_overflow(end, NS_OF_US, &recording->duration_ns) ||
		__builtin_mul_overflow(peak, NS_OF_US, &build_totals(model)->peak_time_ns))
		return error ? error
			     : error_create(ERROR_INPUT, "%s: its times are above 2^64 ns",
				       reading->name);
	recording->unknown &= ~(uint32_t)UNKNOWN_TIMES;
	return NULL;
}

static struct error *take_facts(const struct reading *reading)
{
	struct model *model = reading->foreign.model;
	struct recording *recording = build_recording(model);
	recording->mode = "exact";
	recording->unknown &=
		~(uint32_t)(UNKNOWN_ALLOCATIONS | UNKNOWN_ALLOCATED_BYTES | UNKNOWN_LIVE_BLOCKS |
			    UNKNOWN_LIVE_BYTES | UNKNOWN_PEAK_BLOCKS | UNKNOWN_PEAK_BYTES);
	json_int_t pid = json_integer_value(json_object_get(reading->root, "pid"));
	if (pid > 0 && pid <= INT32_MAX)
		build_target(model)->pid = (uint32_t)pid;
	const char *command = dhat_text_of(reading, "cmd");
	struct error *error = valgrind_command(model, command, strlen(command));
	return error ? error : take_times(reading);
}

struct error *dhat_open(const struct input *input, unsigned flags, const struct source_query *query,
	struct model **ret)
{
	(void)flags;
	struct error *error = foreign_refuse(input, query, 0, "a DHAT profile");
	if (error)
		return error;
	_cleanup_free_ struct point *point = calloc(1, sizeof(*point));
	_cleanup_(dhat_reading_deinit) struct reading reading = {.name = input->name};
	error = point ? foreign_create(&reading.foreign, "dhat", input) : error_no_memory();
	if (!error)
		error = read_file(&reading, input);
	if (!error)
		error = check_kind(&reading);
	if (!error)
		error = add_points(&reading, point);
	if (!error)
		error = take_facts(&reading);
	if (error)
		return error;
	error = foreign_total(&reading.foreign);
	if (error)
		return error_prefix(error, "%s", input->name);
	build_finish(reading.foreign.model);
	*ret = steal_ptr(reading.foreign.model);
	return NULL;
}
