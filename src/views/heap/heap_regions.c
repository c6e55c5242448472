/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "views/heap_regions.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "views/heap/heap_parts.h"
#include "views/heap_answers.h"

#define PIECE_BYTES (256u << 10)
#define STRING_MAX 4096u
#define LINE_BYTES 16u

/* A row: a line of bytes, or a string. */
struct region_row {
	uint64_t address;
	const uint8_t *bytes;
	size_t len;
};

struct out {
	struct answer *answer;
	struct table table; /* of one row at a time, `row` */
	struct region_row row;
	size_t left; /* rows */
};

static bool is_done(const struct out *out)
{
	return !out->left || out->answer->stopped;
}

static void heap_regions_put_row(
	struct out *out, uint64_t address, const uint8_t *bytes, size_t len)
{
	out->row = (struct region_row){address, bytes, len};
	answer_row(out->answer, &out->table, 0);
	out->left--;
}

static struct error *heap_regions_begin(struct out *out, const struct address_space *space,
	const struct region_options *options, const struct sink *sink,
	const struct answer_type *type)
{
	*out = (struct out){.answer = options->csv ? answer_csv_create(sink)
				      : options->json
					      ? answer_json_create(sink, options->json_before)
					      : answer_text_create(sink),
		.left = options->limit == VIEW_DEFAULT_LIMIT ? SIZE_MAX : options->limit};
	if (!out->answer)
		return error_no_memory();
	out->table = (struct table){type->main, &out->row, 1, .limit = TABLE_NO_LIMIT};
	answer_begin(out->answer, type);
	heap_memory_head_answer(out->answer, space, NULL);
	answer_table_begin(out->answer, &out->table);
	return NULL;
}

static struct error *heap_regions_finish(struct out *out)
{
	answer_table_end(out->answer, &out->table);
	struct error *error = answer_end(out->answer);
	answer_destroy(out->answer);
	return error;
}

/* A line of hexdump -C: 16 bytes, the same as characters. */
static void line_text(const void *context, size_t number, struct text *out)
{
	const struct region_row *row = context;
	(void)number;
	text_printf(out, "%016" PRIx64 " ", row->address);
	for (size_t i = 0; i < LINE_BYTES; i++) {
		if (i % 8 == 0)
			text_add_char(out, ' ');
		if (i < row->len)
			text_printf(out, "%02x ", row->bytes[i]);
		else
			text_add(out, "   ");
	}
	text_add(out, " |");
	for (size_t i = 0; i < row->len; i++)
		text_add_char(out,
			isprint(row->bytes[i]) && row->bytes[i] < 128 ? (char)row->bytes[i] : '.');
	text_add(out, "|\n");
}

static const struct column line_columns[] = {
	{"address", COLUMN_ADDRESS, .says = "of the first byte"},
	{"bytes", COLUMN_TEXT, .says = "up to 16, in hexadecimal"}, COLUMNS_END};

static void line_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct region_row *row = context;
	(void)number;
	ret->number = row->address;
	for (size_t i = 0; column && i < row->len; i++)
		text_printf(&ret->built, "%02x", row->bytes[i]);
	cell_take_built(ret);
}

static const struct table_type line_type = {.name = "lines",
	.says = "the bytes, in order",
	.columns = line_columns,
	.cell = line_cell,
	.row_text = line_text};

const struct answer_type heap_hexdump_type = {
	HEAP_ANSWER("hexdump", " hexdump ADDR", "memory as it lies there"),
	.tables = (const struct table_type *const[]){&heap_partial_type, &line_type, NULL},
	.main = &line_type};

/* What the last line was, to tell those that are like it. */
struct last {
	uint8_t bytes[LINE_BYTES];
	bool known, starred;
};

/* For people lines like the one before are one "*". */
static void put_bytes(
	struct out *out, uint64_t address, const uint8_t *bytes, size_t len, struct last *last)
{
	struct text *prose = answer_prose(out->answer);
	for (size_t i = 0; i < len && !is_done(out); i += LINE_BYTES) {
		size_t n = len - i < LINE_BYTES ? len - i : LINE_BYTES;
		bool same = last->known && n == LINE_BYTES && !memcmp(last->bytes, bytes + i, n);
		if (!prose || !same) {
			heap_regions_put_row(out, address + i, bytes + i, n);
			last->starred = false;
		} else if (!last->starred) {
			text_add(prose, "*\n");
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
	struct out out;
	struct last last = {.known = false};
	uint64_t at = options->start;
	if (!piece)
		return error_no_memory();
	if (!address_space_read(space, at, piece, 1))
		return error_create(ERROR_INPUT, "0x%" PRIx64 ": nothing can be read there", at);
	struct error *error = heap_regions_begin(&out, space, options, sink, &heap_hexdump_type);
	if (error)
		return error;
	bool ended = false;
	while (at < options->end && !is_done(&out) && !ended) {
		uint64_t left = options->end - at;
		size_t wanted = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
		size_t got = address_space_read(space, at, piece, wanted);
		put_bytes(&out, at, piece, got, &last);
		at += got;
		ended = got < wanted;
	}
	struct text *prose = answer_prose(out.answer);
	if (prose)
		text_printf(prose, "%016" PRIx64 "\n", at);
	if (ended)
		*ret_lacking = at;
	return heap_regions_finish(&out);
}

struct run {
	char text[STRING_MAX + 1];
	size_t len;
	uint64_t start;
};

static const struct column string_columns[] = {
	{"address", COLUMN_ADDRESS, .says = "of the first character"},
	{"text", COLUMN_TEXT, .says = "printable characters in a row"}, COLUMNS_END};

static void string_text(const void *context, size_t number, struct text *out)
{
	const struct region_row *row = context;
	(void)number;
	text_printf(out, "0x%012" PRIx64 "  %s\n", row->address, (const char *)row->bytes);
}

static void string_cell(const void *context, size_t number, unsigned column, struct cell *ret)
{
	const struct region_row *row = context;
	(void)number, (void)column;
	ret->number = row->address;
	ret->text = (const char *)row->bytes;
}

static const struct table_type string_type = {.name = "strings",
	.says = "in the order of addresses",
	.columns = string_columns,
	.cell = string_cell,
	.row_text = string_text};

const struct answer_type heap_strings_type = {
	HEAP_ANSWER("strings", " strings", "printable text in memory that the program wrote"),
	.tables = (const struct table_type *const[]){&heap_partial_type, &string_type, NULL},
	.main = &string_type};

static void put_string(struct out *out, struct run *run, size_t least)
{
	if (run->len >= least && !is_done(out)) {
		run->text[run->len] = 0;
		heap_regions_put_row(out, run->start, (const uint8_t *)run->text, run->len);
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
	for (uint64_t at = start; at < end && !is_done(out);) {
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
	struct out out;
	if (options->start != UINT64_MAX)
		*ret_lacking = first_lacking(space, options);
	if (options->start != UINT64_MAX && *ret_lacking == options->start)
		return error_create(
			ERROR_INPUT, "0x%" PRIx64 ": nothing can be read there", options->start);
	if (!piece)
		return error_no_memory();
	struct error *error = heap_regions_begin(&out, space, options, sink, &heap_strings_type);
	if (error)
		return error;
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
	return heap_regions_finish(&out);
}
