/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap_regions.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "base/util.h"
#include "views/heap_notes.h"
#include "views/report/json_parts.h"

#define PIECE_BYTES (256u << 10)
#define FLUSH_BYTES (64u << 10)
#define STRING_MAX 4096u
#define LINE_BYTES 16u

struct out {
	const struct sink *sink;
	struct text text;
	struct json *json; /* NULL: text */
	size_t left;       /* rows */
	bool stopped;
};

static void flush(struct out *out)
{
	if (out->text.len && !out->sink->write(out->sink->ctx, out->text.data, out->text.len))
		out->stopped = true;
	text_clear(&out->text);
}

/* A row is done. */
static void end_row(struct out *out)
{
	out->left--;
	if (out->text.len >= FLUSH_BYTES)
		flush(out);
	if (out->json && out->json->failed)
		out->stopped = true;
}

static void begin(struct out *out, const struct address_space *space,
	const struct region_options *options, const struct sink *sink, struct json *json,
	const char *member)
{
	*out = (struct out){.sink = sink,
		.json = options->json ? json : NULL,
		.left = options->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : options->limit};
	text_init(&out->text);
	if (!out->json)
		return;
	json_init(json, sink->write, sink->ctx);
	json_object_begin(json);
	heap_memory_document_put(json, space);
	json_key(json, member);
	json_array_begin(json);
}

static struct error *finish(struct out *out)
{
	if (out->json) {
		json_array_end(out->json);
		json_object_end(out->json);
		json_finish(out->json);
	}
	flush(out);
	bool failed = out->text.failed;
	text_deinit(&out->text);
	return failed ? error_no_memory() : NULL;
}

/* A line of hexdump -C: 16 bytes, the same as characters. */
static void put_line(struct out *out, uint64_t address, const uint8_t *bytes, size_t len)
{
	text_printf(&out->text, "%016" PRIx64 " ", address);
	for (size_t i = 0; i < LINE_BYTES; i++) {
		if (i % 8 == 0)
			text_add_char(&out->text, ' ');
		if (i < len)
			text_printf(&out->text, "%02x ", bytes[i]);
		else
			text_add(&out->text, "   ");
	}
	text_add(&out->text, " |");
	for (size_t i = 0; i < len; i++)
		text_add_char(
			&out->text, isprint(bytes[i]) && bytes[i] < 128 ? (char)bytes[i] : '.');
	text_add(&out->text, "|\n");
	end_row(out);
}

static void put_json_line(struct out *out, uint64_t address, const uint8_t *bytes, size_t len)
{
	char hex[2 * LINE_BYTES + 1];
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	json_object_begin(out->json);
	json_put_hexadecimal(out->json, "address", address, true);
	json_put_string(out->json, "bytes", hex);
	json_object_end(out->json);
	end_row(out);
}

/* What the last line was, to tell those that are like it. */
struct last {
	uint8_t bytes[LINE_BYTES];
	bool known, starred;
};

/* Lines like the one before are one "*". */
static void put_bytes(
	struct out *out, uint64_t address, const uint8_t *bytes, size_t len, struct last *last)
{
	for (size_t i = 0; i < len && out->left && !out->stopped; i += LINE_BYTES) {
		size_t n = len - i < LINE_BYTES ? len - i : LINE_BYTES;
		bool same = last->known && n == LINE_BYTES && !memcmp(last->bytes, bytes + i, n);
		if (out->json) {
			put_json_line(out, address + i, bytes + i, n);
		} else if (!same) {
			put_line(out, address + i, bytes + i, n);
			last->starred = false;
		} else if (!last->starred) {
			text_add(&out->text, "*\n");
			last->starred = true;
		}
		last->known = n == LINE_BYTES;
		memcpy(last->bytes, bytes + i, n);
	}
}

struct error *heap_hexdump_write(const struct address_space *space,
	const struct region_options *options, const struct sink *sink, uint64_t *ret_lacking)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	struct json json;
	struct out out;
	struct last last = {.known = false};
	uint64_t at = options->start;
	if (!piece)
		return error_no_memory();
	if (!address_space_read(space, at, piece, 1))
		return error_create(ERROR_INPUT, "0x%" PRIx64 ": nothing can be read there", at);
	begin(&out, space, options, sink, &json, "lines");
	bool ended = false;
	while (at < options->end && out.left && !out.stopped && !ended) {
		uint64_t left = options->end - at;
		size_t wanted = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
		size_t got = address_space_read(space, at, piece, wanted);
		put_bytes(&out, at, piece, got, &last);
		at += got;
		ended = got < wanted;
	}
	if (!out.json)
		text_printf(&out.text, "%016" PRIx64 "\n", at);
	if (ended)
		*ret_lacking = at;
	return finish(&out);
}

struct run {
	char text[STRING_MAX + 1];
	size_t len;
	uint64_t start;
};

static void put_string(struct out *out, struct run *run, size_t least)
{
	if (run->len >= least && out->left && !out->stopped) {
		run->text[run->len] = 0;
		if (out->json) {
			json_object_begin(out->json);
			json_put_hexadecimal(out->json, "address", run->start, true);
			json_put_string(out->json, "text", run->text);
			json_object_end(out->json);
		} else {
			text_printf(&out->text, "0x%012" PRIx64 "  %s\n", run->start, run->text);
		}
		end_row(out);
	}
	run->len = 0;
}

static void take_bytes(struct out *out, struct run *run, uint64_t address, const uint8_t *bytes,
	size_t len, size_t least)
{
	for (size_t i = 0; i < len; i++) {
		bool printable = (bytes[i] >= 32 && bytes[i] < 127) || bytes[i] == '\t';
		if (!printable) {
			put_string(out, run, least);
			continue;
		}
		if (!run->len)
			run->start = address + i;
		run->text[run->len++] = (char)bytes[i];
		if (run->len == STRING_MAX)
			put_string(out, run, least);
	}
}

/* *lacking: the first address where something is wanted and not there, so far. */
static void find_strings(struct out *out, const struct address_space *space,
	const struct region_options *options, uint64_t start, uint64_t end, uint8_t *piece,
	uint64_t *lacking)
{
	struct run run = {.len = 0};
	for (uint64_t at = start; at < end && out->left && !out->stopped;) {
		size_t room = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
		size_t empty = address_space_empty(space, at, end - at);
		if (empty >= 4096) {
			put_string(out, &run, options->least);
			if (!address_space_untouched(space, at, 1))
				*lacking = min(*lacking, at);
			at += empty;
			continue;
		}
		size_t got = address_space_read(space, at, piece, room);
		take_bytes(out, &run, at, piece, got, options->least);
		if (got < room) {
			put_string(out, &run, options->least);
			*lacking = min(*lacking, at + got);
		}
		at = got == room ? at + got : (at + got + 4096) & ~4095ull;
	}
	put_string(out, &run, options->least);
}

/* Where what is wanted is first missing: between mappings, or in one that can't be read. */
static uint64_t first_lacking(
	const struct address_space *space, const struct region_options *options)
{
	uint64_t at = options->start;
	uint8_t byte;
	for (size_t i = 0; i < space->maps.maps.len && at < options->end; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		if (map->end <= at)
			continue;
		if (map->start > at || !map->readable || !address_space_read(space, at, &byte, 1))
			break;
		at = map->end;
	}
	return at < options->end ? at : REGION_ALL_THERE;
}

struct error *heap_strings_write(const struct address_space *space,
	const struct region_options *options, const struct sink *sink, uint64_t *ret_lacking)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	uint64_t lacking = REGION_ALL_THERE;
	struct json json;
	struct out out;
	if (options->start != UINT64_MAX)
		*ret_lacking = first_lacking(space, options);
	if (options->start != UINT64_MAX && *ret_lacking == options->start)
		return error_create(
			ERROR_INPUT, "0x%" PRIx64 ": nothing can be read there", options->start);
	if (!piece)
		return error_no_memory();
	begin(&out, space, options, sink, &json, "strings");
	for (size_t i = 0; i < space->maps.maps.len; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		uint64_t start = options->start == UINT64_MAX || map->start > options->start
					 ? map->start
					 : options->start;
		uint64_t end = map->end < options->end ? map->end : options->end;
		/* All of it: of what the program wrote itself. */
		if (start < end && map->readable && (options->start != UINT64_MAX || map->writable))
			find_strings(&out, space, options, start, end, piece, &lacking);
	}
	if (options->start != UINT64_MAX)
		*ret_lacking = min(*ret_lacking, lacking);
	return finish(&out);
}
