/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"

/* Nothing larger is kept. */
#define REPEAT_MOST ((size_t)8 << 10)

struct repeat {
	const char *text;
	size_t len;
};

static inline bool number_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(repeat_map, uint64_t, struct repeat, hash_u64, number_equal)

struct json_repeats {
	struct repeat_map known;
	struct arena arena;
	size_t bytes;          /* of texts */
	size_t start, flushed; /* of the buffer, where json_again() said no */
};

void json_init(struct json *json, json_write_fn *write, void *ctx)
{
	/* The buffer and closed levels need no clearing. */
	json->write = write;
	json->ctx = ctx;
	json->failed = json->has_key = false;
	json->depth = 0;
	json->len = json->flushed = 0;
	json->repeats = NULL;
}

static void flush_buffer(struct json *json)
{
	if (json->len && !json->failed)
		json->failed = !json->write(json->ctx, json->buffer, json->len);
	json->len = 0;
	json->flushed++;
}

static void put_bytes(struct json *json, const char *data, size_t len)
{
	while (len > JSON_BUFFER_BYTES - json->len) {
		size_t part = JSON_BUFFER_BYTES - json->len;
		memcpy(json->buffer + json->len, data, part);
		json->len += part;
		data += part;
		len -= part;
		flush_buffer(json);
	}
	memcpy(json->buffer + json->len, data, len);
	json->len += len;
}

static void put_char(struct json *json, char c)
{
	if (json->len == JSON_BUFFER_BYTES)
		flush_buffer(json);
	json->buffer[json->len++] = c;
}

static bool in_object(const struct json *json)
{
	return json->depth && json->levels[json->depth - 1].is_object;
}

/* Of deep trees the lines would be mostly spaces. */
#define INDENT_MAX 16u

static void put_line(struct json *json)
{
	static const char line[1 + INDENT_MAX + 1] = "\n                ";
	put_bytes(json, line, 1 + (json->depth < INDENT_MAX ? json->depth : INDENT_MAX));
}

/* What separates a member from the one before it. */
static void next_member(struct json *json, bool on_new_line)
{
	bool is_filled = json->levels[json->depth - 1].is_filled;
	if (is_filled)
		put_char(json, ',');
	if (on_new_line)
		put_line(json);
	else if (is_filled)
		put_char(json, ' ');
	json->levels[json->depth - 1].is_filled = true;
}

void json_key(struct json *json, const char *key)
{
	assert(in_object(json) && !json->has_key);
	next_member(json, json->depth == 1);
	json->has_key = true;
	json_string(json, key);
	put_bytes(json, ": ", 2);
	json->has_key = true;
}

static void value_begin(struct json *json, bool is_object)
{
	assert(!in_object(json) || json->has_key);
	if (json->depth && !json->has_key)
		next_member(json, is_object);
	json->has_key = false;
}

static void open_level(struct json *json, char bracket, bool is_object)
{
	value_begin(json, is_object);
	assert(json->depth < JSON_DEPTH_MAX);
	json->levels[json->depth++] = (struct json_level){.is_object = is_object};
	put_char(json, bracket);
}

static void close_level(struct json *json, char bracket)
{
	assert(json->depth && !json->has_key);
	json->depth--;
	if (json->depth == 0)
		put_line(json);
	put_char(json, bracket);
}

void json_object_begin(struct json *json)
{
	open_level(json, '{', true);
}

void json_object_end(struct json *json)
{
	assert(in_object(json));
	close_level(json, '}');
}

void json_array_begin(struct json *json)
{
	open_level(json, '[', false);
}

void json_array_end(struct json *json)
{
	assert(!in_object(json));
	close_level(json, ']');
}

void json_repeats_begin(struct json *json)
{
	json->repeats = calloc(1, sizeof(*json->repeats));
	if (!json->repeats)
		return;
	repeat_map_init(&json->repeats->known);
	arena_init(&json->repeats->arena);
}

void json_repeats_end(struct json *json)
{
	if (!json->repeats)
		return;
	repeat_map_deinit(&json->repeats->known);
	arena_deinit(&json->repeats->arena);
	free(json->repeats);
	json->repeats = NULL;
}

bool json_again(struct json *json, uint64_t number)
{
	struct json_repeats *repeats = json->repeats;
	if (!repeats)
		return false;
	const struct repeat *known = repeat_map_find(&repeats->known, number);
	if (known) {
		value_begin(json, true);
		put_bytes(json, known->text, known->len);
		return true;
	}
	if (JSON_BUFFER_BYTES - json->len < REPEAT_MOST)
		flush_buffer(json);
	repeats->start = json->len;
	repeats->flushed = json->flushed;
	return false;
}

void json_keep(struct json *json, uint64_t number)
{
	struct json_repeats *repeats = json->repeats;
	if (!repeats || repeats->flushed != json->flushed || repeats->bytes >= JSON_REPEATS_BYTES)
		return;
	/* What separates it from the member before it is not its own. */
	const char *end = json->buffer + json->len;
	const char *text = memchr(json->buffer + repeats->start, '{', json->len - repeats->start);
	size_t len = text ? (size_t)(end - text) : 0;
	char *copy = len ? arena_alloc(&repeats->arena, len) : NULL;
	struct repeat *kept = copy ? repeat_map_insert(&repeats->known, number, NULL) : NULL;
	if (!kept)
		return;
	memcpy(copy, text, len);
	*kept = (struct repeat){copy, len};
	repeats->bytes += len;
}

/*
 * The length of the character at `s`, or minus the number of bytes that one U+FFFD stands for: the
 * longest start of a character, as Unicode 15 section 3.9 advises. `len` > 0.
 */
static int utf8_next(const unsigned char *s, size_t len)
{
	/* By lead byte: how many follow, and the range of the first of them. */
	static const struct {
		unsigned char last, follow, low, high;
	} leads[] = {
		{0x7f, 0, 0, 0},
		{0xc1, 0, 1, 0},
		{0xdf, 1, 0x80, 0xbf},
		{0xe0, 2, 0xa0, 0xbf},
		{0xec, 2, 0x80, 0xbf},
		{0xed, 2, 0x80, 0x9f},
		{0xef, 2, 0x80, 0xbf},
		{0xf0, 3, 0x90, 0xbf},
		{0xf3, 3, 0x80, 0xbf},
		{0xf4, 3, 0x80, 0x8f},
		{0xff, 0, 1, 0},
	};
	size_t row = 0;
	while (s[0] > leads[row].last)
		row++;
	if (leads[row].low > leads[row].high)
		return -1;
	unsigned char low = leads[row].low, high = leads[row].high;
	for (int i = 1; i <= leads[row].follow; i++) {
		if ((size_t)i >= len || s[i] < low || s[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return leads[row].follow + 1;
}

static void put_escaped(struct json *json, unsigned char c)
{
	static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	for (size_t i = 0; i + 1 < sizeof(names); i += 2) {
		if (c == (unsigned char)names[i]) {
			char escape[2] = {'\\', names[i + 1]};
			put_bytes(json, escape, 2);
			return;
		}
	}
	char escape[8];
	put_bytes(json, escape, (size_t)snprintf(escape, sizeof(escape), "\\u%04x", c));
}

/* U+0080 to U+009F, of which terminals take U+009B for ESC [. */
static bool is_control(const unsigned char *at, int step)
{
	return step == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

void json_string_n(struct json *json, const char *bytes, size_t len)
{
	const unsigned char *s = (const unsigned char *)bytes;
	value_begin(json, false);
	put_char(json, '"');
	for (size_t i = 0, run = 0; i < len; i += run) {
		run = 0;
		int step = 1;
		/* Plain bytes go in one piece. */
		while (i + run < len && s[i + run] >= ' ' && s[i + run] != '"' &&
			s[i + run] != '\\' && s[i + run] != 0x7f) {
			step = s[i + run] < 0x80 ? 1 : utf8_next(s + i + run, len - i - run);
			if (step < 0 || is_control(s + i + run, step))
				break;
			run += (size_t)step;
		}
		if (run)
			put_bytes(json, bytes + i, run);
		if (i + run == len)
			break;
		if (step < 0) {
			put_bytes(json, "\xef\xbf\xbd", 3);
			run += (size_t)-step;
		} else if (is_control(s + i + run, step)) {
			put_escaped(json, s[i + run + 1]);
			run += (size_t)step;
		} else {
			put_escaped(json, s[i + run]);
			run++;
		}
	}
	put_char(json, '"');
}

void json_string(struct json *json, const char *string)
{
	json_string_n(json, string, strlen(string));
}

static void put_value(struct json *json, const char *text)
{
	value_begin(json, false);
	put_bytes(json, text, strlen(text));
}

void json_u64(struct json *json, uint64_t value)
{
	char text[20];
	size_t at = sizeof(text);
	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	value_begin(json, false);
	put_bytes(json, text + at, sizeof(text) - at);
}

void json_i64(struct json *json, int64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRId64, value);
	put_value(json, text);
}

/* The shortest of the forms that read back as the same number. */
void json_double(struct json *json, double value)
{
	char text[32] = "null";
	if (isfinite(value))
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, value);
			if (strtod(text, NULL) == value)
				break;
		}
	put_value(json, text);
}

void json_bool(struct json *json, bool value)
{
	put_value(json, value ? "true" : "false");
}

void json_null(struct json *json)
{
	put_value(json, "null");
}

void json_raw(struct json *json, const char *document, size_t len)
{
	value_begin(json, false);
	put_bytes(json, document, len);
}

bool json_finish(struct json *json)
{
	assert(json->depth == 0);
	put_char(json, '\n');
	flush_buffer(json);
	return !json->failed;
}
