/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/hpw_anonymize.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "format/code_list.h"
#include "format/hpw.h"
#include "model/build.h"
#include "sources/events/hpw_columns.h"
#include "sources/recording/hpw.h"
#include "sources/recording/hpw_code.h"
#include "sources/recording/hpw_damage.h"
#include "sources/recording/hpw_file.h"
#include "sources/recording/hpw_names.h"
#include "sources/recording/hpw_out.h"
#include "sources/recording/hpw_target.h"

struct rewriting {
	struct anonymizer *anonymizer;
	const struct model *model;
	const struct hpw_chunk_sink *sink;
};

/* Names of forks are numbers that a child's recording knows. */
static bool is_fork(const uint8_t *name, size_t len)
{
	size_t own = strlen(HPW_MARK_FORK);
	if (len < own || memcmp(name, HPW_MARK_FORK, own) != 0)
		return false;
	for (size_t i = own; i < len; i++)
		if (!isxdigit(name[i]))
			return false;
	return true;
}

/* Adds the length of a token and the token, which may go to a column of its own. */
static struct error *put_token(struct rewriting *at, enum name_kind kind, const uint8_t *bytes,
	size_t len, struct buf *lengths, struct buf *tokens)
{
	_cleanup_free_ char *name = strndup((const char *)bytes, len);
	const char *token = name;
	struct error *error = name ? NULL : error_no_memory();
	if (!error && len && !(kind == NAME_MARK && is_fork(bytes, len)))
		error = anonymizer_name(at->anonymizer, kind, name, &token);
	if (error)
		return error;
	buf_varint(lengths, strlen(token));
	buf_bytes(tokens, token, strlen(token));
	return NULL;
}

/* (varint length, bytes) */
static struct error *copy_token(
	struct rewriting *at, enum name_kind kind, struct cursor *from, struct buf *to)
{
	uint64_t len;
	const uint8_t *bytes;
	struct error *error = cursor_varint(from, &len);
	if (!error)
		error = cursor_bytes(from, len, &bytes);
	return error ? error : put_token(at, kind, bytes, (size_t)len, to, to);
}

static struct error *copy_varint(struct cursor *from, struct buf *to)
{
	uint64_t value;
	struct error *error = cursor_varint(from, &value);
	if (!error)
		buf_varint(to, value);
	return error;
}

static struct error *copy_special(struct rewriting *at, struct cursor *from, struct buf *to)
{
	uint8_t special, kind;
	struct error *error = cursor_u8(from, &special);
	if (error)
		return error;
	buf_u8(to, special);
	switch (special) {
	case HPW_SP_FREE:
		error = cursor_u8(from, &kind);
		if (!error)
			buf_u8(to, kind);
		return error;
	case HPW_SP_FAILED:
		error = copy_varint(from, to);
		return error ? error : copy_varint(from, to);
	case HPW_SP_MARK:
		return copy_token(at, NAME_MARK, from, to);
	case HPW_SP_LOST:
		return copy_varint(from, to);
	case HPW_SP_THREAD_START:
	case HPW_SP_THREAD_END:
		return NULL;
	default:
		return error_create(ERROR_INPUT, "unknown special %u", special);
	}
}

static struct error *copy_specials(struct rewriting *at, struct cursor *from, struct buf *to)
{
	struct error *error = NULL;
	while (!error && cursor_left(from))
		error = copy_special(at, from, to);
	return error;
}

/* (varint step, varint length, name)* */
static struct error *copy_marks(struct rewriting *at, struct cursor *from, struct buf *to)
{
	struct error *error = NULL;
	while (!error && cursor_left(from)) {
		error = copy_varint(from, to);
		if (!error)
			error = copy_token(at, NAME_MARK, from, to);
	}
	return error;
}

static struct error *copy_rest(struct rewriting *at, struct cursor *from, struct buf *to)
{
	(void)at;
	buf_bytes(to, from->pos, cursor_left(from));
	return NULL;
}

typedef struct error *copier(struct rewriting *at, struct cursor *from, struct buf *to);

/* How a column is copied: as it is, unless it holds names; NULL: not, as nothing is known of it. */
static copier *copier_of(unsigned type, uint64_t column)
{
	if (type == HPW_SUMS)
		return column == HPW_SUMS_MARKS    ? copy_marks
		       : column < HPW_SUMS_COLUMNS ? copy_rest
						   : NULL;
	if (column == HPW_EV_GAPS || column < HPW_EV_FIRST_SLOT)
		return copy_rest;
	if (column > HPW_EV_GAPS)
		return NULL;
	return (column - HPW_EV_FIRST_SLOT) % HPW_SLOT_COLUMNS == HPW_SLOT_SPECIALS ? copy_specials
										    : copy_rest;
}

static struct error *hpw_anonymize_emit(
	struct rewriting *at, unsigned type, const struct hpw_out *out)
{
	_cleanup_(buf_deinit) struct buf payload;
	buf_init(&payload);
	return hpw_out_finish(out, &payload) ? at->sink->put(at->sink->ctx, type, &payload)
					     : error_no_memory();
}

struct column_head {
	uint64_t number, bytes;
};

/* Of a column set the next one's number and data. */
static struct error *next_column(
	struct cursor *list, struct cursor *data, struct column_head *ret, struct cursor *ret_data)
{
	const uint8_t *start;
	struct error *error = cursor_varint(list, &ret->number);
	if (!error)
		error = cursor_varint(list, &ret->bytes);
	if (!error)
		error = cursor_bytes(data, ret->bytes, &start);
	if (!error)
		cursor_init(ret_data, "column", start, (size_t)ret->bytes, 0);
	return error;
}

/* The list of columns and, after it, their data. */
static struct error *open_columns(const struct hpw_payload *payload, uint64_t *ret_count,
	struct cursor *ret_list, struct cursor *ret_data)
{
	*ret_list = hpw_payload_cursor(payload);
	struct error *error = cursor_varint(ret_list, ret_count);
	*ret_data = *ret_list;
	for (uint64_t i = 0, skipped; !error && i / 2 < *ret_count; i++)
		error = cursor_varint(ret_data, &skipped);
	return error;
}

/* EVENTS and SUMS: column by column. */
static struct error *rewrite_columns(
	struct rewriting *at, unsigned type, const struct hpw_payload *payload)
{
	_cleanup_(hpw_out_deinit) struct hpw_out out = {.lost = {.data = NULL}};
	struct cursor list, data;
	uint64_t count;
	struct error *error = open_columns(payload, &count, &list, &data);
	for (uint64_t i = 0; !error && i < count; i++) {
		struct column_head head;
		struct cursor column;
		error = next_column(&list, &data, &head, &column);
		copier *copy = error ? NULL : copier_of(type, head.number);
		if (copy)
			error = copy(at, &column, hpw_out_add(&out, head.number));
	}
	return error ? error : hpw_anonymize_emit(at, type, &out);
}

/* ERRORS without the functions that they name: a missing column is one of 0. */
static struct error *rewrite_errors(struct rewriting *at, const struct hpw_payload *payload)
{
	_cleanup_(hpw_out_deinit) struct hpw_out out = {.lost = {.data = NULL}};
	struct cursor list, data;
	uint64_t count;
	struct error *error = open_columns(payload, &count, &list, &data);
	for (uint64_t i = 0; !error && i < count; i++) {
		struct column_head head;
		struct cursor column;
		const uint8_t *bytes;
		error = next_column(&list, &data, &head, &column);
		if (!error && head.number < HPW_ERRORS_TEXT_BYTES)
			error = cursor_bytes(&column, head.bytes, &bytes);
		if (!error && head.number < HPW_ERRORS_TEXT_BYTES)
			buf_bytes(hpw_out_add(&out, head.number), bytes, (size_t)head.bytes);
	}
	return error ? error : hpw_anonymize_emit(at, HPW_ERRORS, &out);
}

/* Tables of rows that have one name each: its length in one column, the bytes in another. */
static const struct name_table {
	enum hpw_chunk_type type;
	unsigned lengths, bytes, columns;
	enum name_kind kind;
} name_tables[] = {
	{HPW_THREADS, 7, 8, 11, NAME_THREAD},
	{HPW_CODE_NAMES, HPW_CODE_NAMES_LENGTH, HPW_CODE_NAMES_BYTES, HPW_CODE_NAMES_COLUMNS,
		NAME_FUNCTION},
	{HPW_UNRECORDED, 3, 4, 5, NAME_MODULE},
	{HPW_LEAK_ROOTS, 5, 6, 7, NAME_MODULE},
};

static struct error *rewrite_names(
	struct rewriting *at, const struct name_table *table, const struct hpw_payload *payload)
{
	_cleanup_(hpw_out_deinit) struct hpw_out out = {.lost = {.data = NULL}};
	struct hpw_column columns[16];
	struct buf lengths, tokens;
	size_t rows = 0;
	struct error *error = hpw_columns_open(payload, columns, table->columns);
	if (!error)
		error = hpw_columns_rows(columns, table->columns, 1u << table->lengths, &rows);
	buf_init(&lengths);
	buf_init(&tokens);
	for (size_t i = 0; i < rows && !error; i++) {
		uint64_t len;
		const uint8_t *bytes;
		error = hpw_column_next(&columns[table->lengths], &len);
		if (!error)
			error = cursor_bytes(&columns[table->bytes].cursor, len, &bytes);
		if (!error)
			error = put_token(at, table->kind, bytes, (size_t)len, &lengths, &tokens);
	}
	for (unsigned i = 0; i < table->columns && !error; i++) {
		struct buf *to = columns[i].present ? hpw_out_column(&out, i) : NULL;
		const struct buf *made = i == table->lengths ? &lengths
					 : i == table->bytes ? &tokens
							     : NULL;
		if (to && made)
			to->failed |= !buf_bytes(to, made->data, made->len) || made->failed;
		else if (to)
			buf_bytes(to, columns[i].cursor.pos, cursor_left(&columns[i].cursor));
	}
	buf_deinit(&lengths);
	buf_deinit(&tokens);
	return error ? error : hpw_anonymize_emit(at, table->type, &out);
}

/* Texts of CODE in the order of their columns. What a language is called says nothing. */
static const enum name_kind code_names[HPW_CODE_TEXTS] = {
	NAME_KINDS, NAME_FUNCTION, NAME_FUNCTION, NAME_FUNCTION, NAME_FILE, NAME_MODULE};

/* One text of each row, whose token is put; of nothing there is none. */
static struct error *rewrite_code_text(struct rewriting *at, struct hpw_column *columns,
	unsigned column, size_t rows, struct hpw_out *out)
{
	enum name_kind kind = code_names[column - HPW_CODE_LANGUAGE];
	struct buf lengths, tokens;
	struct error *error = NULL;
	buf_init(&lengths);
	buf_init(&tokens);
	for (size_t i = 0; i < rows && !error; i++) {
		uint64_t len;
		const uint8_t *bytes;
		error = hpw_column_next(&columns[column], &len);
		if (!error)
			error = cursor_bytes(&columns[column + HPW_CODE_TEXTS].cursor, len, &bytes);
		if (!error && kind != NAME_KINDS) {
			error = put_token(at, kind, bytes, (size_t)len, &lengths, &tokens);
		} else if (!error) {
			buf_varint(&lengths, len);
			buf_bytes(&tokens, bytes, len);
		}
	}
	struct buf *to = hpw_out_column(out, column);
	to->failed |= !buf_bytes(to, lengths.data, lengths.len) || lengths.failed;
	to = hpw_out_column(out, column + HPW_CODE_TEXTS);
	to->failed |= !buf_bytes(to, tokens.data, tokens.len) || tokens.failed;
	buf_deinit(&lengths);
	buf_deinit(&tokens);
	return error;
}

static struct error *rewrite_code(struct rewriting *at, const struct hpw_payload *payload)
{
	_cleanup_(hpw_out_deinit) struct hpw_out out = {.lost = {.data = NULL}};
	struct hpw_column columns[HPW_CODE_COLUMNS];
	size_t rows = 0;
	struct error *error = hpw_columns_open(payload, columns, HPW_CODE_COLUMNS);
	if (!error)
		error = hpw_columns_rows(columns, HPW_CODE_COLUMNS, HPW_CODE_ROW_COLUMNS, &rows);
	for (unsigned i = 0; i < HPW_CODE_COLUMNS && !error; i++) {
		bool is_text = i >= HPW_CODE_LANGUAGE && i < HPW_CODE_LANGUAGE + HPW_CODE_TEXTS;
		bool is_bytes = i >= HPW_CODE_LANGUAGE + HPW_CODE_TEXTS &&
				i < HPW_CODE_LANGUAGE + 2 * HPW_CODE_TEXTS;
		if (is_text && columns[i].present)
			error = rewrite_code_text(at, columns, i, rows, &out);
		else if (!is_bytes && columns[i].present)
			buf_bytes(hpw_out_column(&out, i), columns[i].cursor.pos,
				cursor_left(&columns[i].cursor));
	}
	return error ? error : hpw_anonymize_emit(at, HPW_CODE, &out);
}

static void hpw_anonymize_put_text(struct buf *to, uint64_t key, const char *text)
{
	buf_varint(to, key);
	buf_varint(to, strlen(text));
	buf_bytes(to, text, strlen(text));
}

/* Who the program is, the model knows by its token. */
static struct error *rewrite_target(struct rewriting *at, const struct hpw_payload *payload)
{
	_cleanup_(buf_deinit) struct buf to;
	buf_init(&to);
	struct cursor from = hpw_payload_cursor(payload);
	struct error *error = hpw_target_nameless(&from, &to);
	const struct target *target = model_target(at->model);
	if (target->command_len)
		hpw_anonymize_put_text(&to, HPW_TARGET_ARG, target->command[0]);
	if (target->exe[0])
		hpw_anonymize_put_text(&to, HPW_TARGET_EXE, target->exe);
	hpw_anonymize_put_text(&to, HPW_TARGET_WRITER, model_recording(at->model)->writer);
	if (!error && to.failed)
		error = error_no_memory();
	return error ? error : at->sink->put(at->sink->ctx, HPW_TARGET, &to);
}

static struct error *rewrite_small(struct rewriting *at, const struct hpw_payload *payload)
{
	_cleanup_(buf_deinit) struct buf to;
	buf_init(&to);
	struct cursor from = hpw_payload_cursor(payload);
	struct error *error = hpw_small_nameless(&from, &to);
	return error ? error : at->sink->put(at->sink->ctx, HPW_SMALL, &to);
}

/* Paths and build-ids are those that the model has now. */
static struct error *rewrite_modules(struct rewriting *at, const struct hpw_payload *payload)
{
	_cleanup_(buf_deinit) struct buf to;
	buf_init(&to);
	struct cursor from = hpw_payload_cursor(payload);
	struct error *error = NULL;
	while (!error && cursor_left(&from)) {
		uint64_t id, len;
		error = cursor_varint(&from, &id);
		if (!error)
			buf_varint(&to, id);
		for (unsigned i = 0; i < 3 && !error; i++)
			error = copy_varint(&from, &to);
		for (unsigned i = 0; i < 2 && !error; i++) {
			error = cursor_varint(&from, &len);
			if (!error)
				error = cursor_skip(&from, len);
		}
		if (!error && id >= model_module_limit(at->model))
			error = error_create(ERROR_INPUT, "module %" PRIu64 " is not known", id);
		if (error)
			break;
		const struct module *module =
			model_module(at->model, (struct module_id){(uint32_t)id});
		buf_varint(&to, module->build_id_len);
		buf_bytes(&to, module->build_id, module->build_id_len);
		buf_varint(&to, strlen(module->path));
		buf_bytes(&to, module->path, strlen(module->path));
	}
	if (!error && to.failed)
		error = error_no_memory();
	return error ? error : at->sink->put(at->sink->ctx, HPW_MODULES, &to);
}

static struct error *rewrite_search(struct rewriting *at, const struct hpw_payload *payload)
{
	_cleanup_(buf_deinit) struct buf to;
	buf_init(&to);
	struct cursor from = hpw_payload_cursor(payload);
	struct error *error = NULL;
	while (!error && cursor_left(&from)) {
		uint64_t key, value;
		error = cursor_varint(&from, &key);
		if (!error)
			error = cursor_varint(&from, &value);
		if (!error && key == HPW_LEAK_PROBLEM)
			error = cursor_skip(&from, value);
		if (error)
			break;
		if (key == HPW_LEAK_PROBLEM) {
			const struct leak_search *search = model_leak_search(at->model);
			hpw_anonymize_put_text(
				&to, key, search && search->problem ? search->problem : "");
		} else {
			buf_varint(&to, key);
			buf_varint(&to, value);
		}
	}
	if (!error && to.failed)
		error = error_no_memory();
	return error ? error : at->sink->put(at->sink->ctx, HPW_LEAK_SEARCH, &to);
}

static struct error *copy_chunk(
	struct rewriting *at, unsigned type, const struct hpw_payload *payload)
{
	const struct buf whole = {.data = payload->data, .len = payload->len, .cap = payload->len};
	return at->sink->put(at->sink->ctx, type, &whole);
}

/* What is not known here, or is all words (LSAN_STRINGS), is left out. */
static struct error *rewrite_chunk(
	struct rewriting *at, unsigned type, const struct hpw_payload *payload)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_tables); i++)
		if (name_tables[i].type == type)
			return rewrite_names(at, &name_tables[i], payload);
	switch (type) {
	case HPW_TARGET:
		return rewrite_target(at, payload);
	case HPW_SMALL:
		return rewrite_small(at, payload);
	case HPW_MODULES:
		return rewrite_modules(at, payload);
	case HPW_CODE:
		return rewrite_code(at, payload);
	case HPW_EVENTS:
	case HPW_SUMS:
		return rewrite_columns(at, type, payload);
	case HPW_LEAK_SEARCH:
		return rewrite_search(at, payload);
	case HPW_ERRORS:
		return rewrite_errors(at, payload);
	case HPW_STACKS:
	case HPW_SITES:
	case HPW_SITE_STATS:
	case HPW_ESTIMATES:
	case HPW_SIZES:
	case HPW_LIVE:
	case HPW_SUMMARY:
	case HPW_DEATHS:
	case HPW_LEAK_GROUPS:
	case HPW_LEAK_RECORDS:
	case HPW_BAD_FREES:
	case HPW_MAPPINGS:
	case HPW_CHECK:
	case HPW_TRACED_LINES:
		return copy_chunk(at, type, payload);
	default:
		return NULL;
	}
}

static struct error *put_names(void *ctx, const struct buf *payload)
{
	const struct rewriting *at = ctx;
	return at->sink->put(at->sink->ctx, HPW_NAMES, payload);
}

static struct error *rewrite_all(struct rewriting *at, const struct hpw_file *file)
{
	bool named = false;
	struct error *error = NULL;
	for (size_t i = 0; i < file->chunks.len && !error; i++) {
		const struct hpw_chunk *chunk = &file->chunks.data[i];
		/* Parts of the recording are read without what comes after the events. */
		if (!named && (chunk->type == HPW_THREADS || chunk->type == HPW_SUMMARY)) {
			named = true;
			error = hpw_names_encode(at->model, put_names, at);
		}
		_cleanup_(hpw_payload_deinit) struct hpw_payload payload = {0};
		if (!error && chunk->type != HPW_CHECKPOINT && chunk->type != HPW_NAMES)
			error = hpw_file_payload(file, chunk, &payload);
		if (!error && payload.data)
			error = rewrite_chunk(at, chunk->type, &payload);
	}
	return error;
}

/* An open file, and a model that gets notes of damage. */
struct opened {
	struct input input;
	struct hpw_file file;
	struct model *model;
};

static void opened_deinit(struct opened *opened)
{
	hpw_file_deinit(&opened->file);
	model_destroy(opened->model);
	input_close(&opened->input);
}

static struct error *hpw_anonymize_check(const struct opened *opened, const char *name)
{
	size_t damage;
	(void)model_damage(opened->model, &damage);
	const char *wrong = damage || !opened->file.closed ? "is incomplete" : NULL;
	for (size_t i = 0; i < opened->file.chunks.len; i++)
		if (opened->file.chunks.data[i].type == HPW_RING)
			wrong = "contains only the last events";
	return wrong ? error_create(ERROR_INPUT,
			       "%s: %s, so it can't be rewritten without names; "
			       "'heapwise export --anonymize' writes its figures",
			       name, wrong)
		     : NULL;
}

static struct error *open_file(struct opened *opened, const struct source_place *place)
{
	bool matches = false;
	struct error *error = input_open_file(&opened->input, place->path);
	if (error) {
		opened->input.fd = -1;
		return error;
	}
	opened->input.name = place->name;
	error = hpw_recognise(&opened->input, &matches);
	if (!error && !matches)
		error = error_create(ERROR_INPUT,
			"%s: only heapwise recordings can be rewritten without names; "
			"'heapwise export --anonymize' writes others",
			place->name);
	if (!error)
		error = build_create(&opened->model);
	struct hpw_damage damage = {.model = opened->model};
	if (!error)
		error = hpw_file_open(&opened->file, &opened->input, &damage);
	return error ? error : hpw_anonymize_check(opened, place->name);
}

struct error *hpw_anonymize_begin(const struct source_place *place, unsigned *ret_features)
{
	_cleanup_(opened_deinit) struct opened opened = {.input = {.fd = -1}};
	struct error *error = open_file(&opened, place);
	if (!error)
		*ret_features = opened.file.features;
	return error;
}

struct error *hpw_anonymize(const struct source_place *place, struct anonymizer *anonymizer,
	const struct model *model, const struct hpw_chunk_sink *sink)
{
	_cleanup_(opened_deinit) struct opened opened = {.input = {.fd = -1}};
	struct rewriting at = {.anonymizer = anonymizer, .model = model, .sink = sink};
	struct error *error = open_file(&opened, place);
	if (!error)
		error = rewrite_all(&at, &opened.file);
	return error && error->code == ERROR_INPUT ? error_prefix(error, "%s", place->name) : error;
}
