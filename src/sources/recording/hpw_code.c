/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_code.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "format/traced.h"
#include "sources/events/hpw_columns.h"

/* Columns with one varint a row of code. */
#define LINE_COLUMNS (1u << HPW_CODE_INSTRUCTION | 1u << HPW_CODE_LINE)

struct decoding {
	struct hpw_code *code;
	struct model *model;
	struct hpw_column columns[HPW_CODE_COLUMNS];
	struct code_line *lines; /* room for those of a row */
	size_t lines_left;
};

void hpw_code_deinit(struct hpw_code *code)
{
	hpw_code_map_deinit(&code->ids);
}

/* "" says nothing. */
static struct error *next_text(struct decoding *at, unsigned column, const char **ret)
{
	uint64_t len;
	const uint8_t *bytes;
	*ret = NULL;
	struct error *error = hpw_column_next(&at->columns[column], &len);
	if (error || !len)
		return error;
	error = cursor_bytes(&at->columns[column + HPW_CODE_TEXTS].cursor, len, &bytes);
	return error ? error : build_string(at->model, (const char *)bytes, (size_t)len, ret);
}

static struct error *next_lines(struct decoding *at, uint64_t count, struct code *row)
{
	uint64_t instruction = 0, step = 0, change = 0;
	int64_t line = row->first_line;
	struct error *error = NULL;
	if (count > HPW_CODE_LINES_MAX || count > at->lines_left)
		return error_create(ERROR_INPUT, "%" PRIu64 " lines of code are too many", count);
	for (uint64_t i = 0; i < count; i++) {
		error = hpw_column_next(&at->columns[HPW_CODE_INSTRUCTION], &step);
		if (!error)
			error = hpw_column_next(&at->columns[HPW_CODE_LINE], &change);
		if (error)
			return error;
		instruction += step;
		if (step > UINT32_MAX || instruction > UINT32_MAX)
			return error_create(ERROR_INPUT, "instructions of code overflow");
		line = (int64_t)((uint64_t)line + (uint64_t)zigzag_decode(change));
		at->lines[i] = (struct code_line){
			(uint32_t)instruction, line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0};
	}
	at->lines_left -= (size_t)count;
	row->lines = at->lines;
	row->line_count = (size_t)count;
	return NULL;
}

static enum frame_kind hpw_code_kind_of(uint64_t stored)
{
	return stored == HPW_FRAME_CODE_OBJECT ? FRAME_CODE_OBJECT
	       : stored == HPW_FRAME_METHOD    ? FRAME_METHOD
					       : FRAME_NAME;
}

static struct error *next_row(struct decoding *at, struct code *ret)
{
	uint64_t kind, line, lines;
	struct error *error = hpw_column_next(&at->columns[HPW_CODE_KIND], &kind);
	if (!error)
		error = hpw_column_next(&at->columns[HPW_CODE_FIRST_LINE], &line);
	if (!error)
		error = hpw_column_next(&at->columns[HPW_CODE_LINES], &lines);
	if (error)
		return error;
	*ret = (struct code){.kind = hpw_code_kind_of(kind),
		.first_line = line <= UINT32_MAX ? (uint32_t)line : 0};
	const char **const texts[HPW_CODE_TEXTS] = {
		&ret->language, &ret->name, &ret->outer, &ret->signature, &ret->file, &ret->module};
	for (unsigned i = 0; i < HPW_CODE_TEXTS && !error; i++)
		error = next_text(at, HPW_CODE_LANGUAGE + i, texts[i]);
	return error ? error : next_lines(at, lines, ret);
}

static struct error *add_rows(struct decoding *at, uint64_t first, size_t count)
{
	struct error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		struct code row;
		struct code_id id;
		bool is_new = false;
		error = next_row(at, &row);
		uint32_t *known =
			error ? NULL : hpw_code_map_insert(&at->code->ids, first + i, &is_new);
		if (!error && !known)
			error = error_no_memory();
		if (error || !is_new)
			continue;
		*known = 0;
		error = build_code(at->model, &row, &id);
		if (!error)
			*known = id.value;
	}
	return error;
}

struct error *hpw_code_decode(
	struct hpw_code *code, struct model *model, const struct hpw_payload *payload)
{
	struct decoding at = {.code = code, .model = model};
	size_t count = 0;
	uint64_t first = 0;
	struct error *error = hpw_columns_open(payload, at.columns, HPW_CODE_COLUMNS);
	if (!error)
		error = hpw_columns_rows(
			at.columns, HPW_CODE_COLUMNS, HPW_CODE_ROW_COLUMNS, &count);
	if (!error)
		error = hpw_columns_rows(
			at.columns, HPW_CODE_COLUMNS, LINE_COLUMNS, &at.lines_left);
	if (!error)
		error = hpw_column_next(&at.columns[HPW_CODE_FIRST], &first);
	if (!error && (!first || first >= HPW_CODE_MAX || count > HPW_CODE_MAX - first))
		error = error_create(
			ERROR_INPUT, "code from %" PRIu64 " on is out of range", first);
	if (error)
		return error;
	_cleanup_free_ struct code_line *lines = calloc(at.lines_left + 1, sizeof(*lines));
	if (!lines)
		return error_no_memory();
	at.lines = lines;
	return add_rows(&at, first, count);
}

struct error *hpw_code_find(struct hpw_code *code, struct model *model, uint64_t row, uint32_t *ret)
{
	const uint32_t *known = hpw_code_map_find(&code->ids, row);
	if (known && *known) {
		*ret = *known;
		return NULL;
	}
	static const struct code nothing = {.kind = FRAME_NAME};
	struct code_id id = {code->unknown};
	struct error *error = id.value ? NULL : build_code(model, &nothing, &id);
	*ret = code->unknown = id.value;
	return error;
}

static struct error *traced_line_next(struct hpw_code *code, struct model *model,
	struct hpw_column *columns, struct traced_line *ret)
{
	uint64_t values[HPW_TRACED_COLUMNS];
	struct error *error = NULL;
	for (unsigned k = 0; !error && k < HPW_TRACED_COLUMNS; k++)
		error = hpw_column_next(&columns[k], &values[k]);
	if (error)
		return error;
	if (values[HPW_TRACED_LINE] > UINT32_MAX ||
		values[HPW_TRACED_COUNT] > HPW_TRACED_COUNT_MAX ||
		values[HPW_TRACED_LARGEST] > INT64_MAX)
		return error_create(ERROR_INPUT, "a traced line makes no sense");
	*ret = (struct traced_line){.line = (uint32_t)values[HPW_TRACED_LINE],
		.count = values[HPW_TRACED_COUNT],
		.unsized = values[HPW_TRACED_UNSIZED],
		.growth_bytes = zigzag_decode(values[HPW_TRACED_GROWTH]),
		.largest_bytes = values[HPW_TRACED_LARGEST]};
	uint64_t row = values[HPW_TRACED_CODE];
	return row ? hpw_code_find(code, model, row, &ret->code.value) : NULL;
}

struct error *hpw_code_decode_traced(
	struct hpw_code *code, struct model *model, const struct hpw_payload *payload, size_t *rows)
{
	struct hpw_column columns[HPW_TRACED_COLUMNS];
	size_t count = 0;
	struct error *error = hpw_columns_open(payload, columns, HPW_TRACED_COLUMNS);
	if (!error)
		error = hpw_columns_rows(
			columns, HPW_TRACED_COLUMNS, (1u << HPW_TRACED_COLUMNS) - 1, &count);
	if (!error && count > HPW_TRACED_MAX - *rows)
		error = error_create(ERROR_INPUT, "more than %u traced lines", HPW_TRACED_MAX);
	for (size_t i = 0; !error && i < count; i++) {
		struct traced_line line;
		error = traced_line_next(code, model, columns, &line);
		if (!error)
			error = build_traced_line(model, &line);
	}
	*rows += count;
	return error;
}
