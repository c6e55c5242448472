/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/recording/hpw_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "sources/events/hpw_columns.h"
#include "sources/recording/hpw_out.h"
#include "symbols/strings.h"

/* A chunk is handed on when it has this many places. */
#define PLACES_IN_CHUNK 65536u

DEFINE_VEC(name_vec, const char *)
DEFINE_MAP(name_numbers, const char *, uint32_t, string_hash, string_equal)

static struct error *read_strings(
	struct model *model, struct hpw_column *columns, struct name_vec *ret)
{
	size_t count;
	struct error *error =
		hpw_columns_rows(columns, HPW_NAMES_COLUMNS, 1u << HPW_NAMES_LENGTH, &count);
	if (!error && !name_vec_reserve(ret, count + 1))
		error = error_no_memory();
	for (size_t i = 0; i < count && !error; i++) {
		uint64_t len;
		const uint8_t *bytes;
		const char *string = NULL;
		error = hpw_column_next(&columns[HPW_NAMES_LENGTH], &len);
		if (!error)
			error = cursor_bytes(&columns[HPW_NAMES_BYTES].cursor, len, &bytes);
		if (!error)
			error = build_string(model, (const char *)bytes, (size_t)len, &string);
		if (!error && !name_vec_push(ret, string))
			error = error_no_memory();
	}
	return error;
}

static struct error *next_string(
	struct hpw_column *column, const struct name_vec *strings, const char **ret)
{
	uint64_t number;
	struct error *error = hpw_column_next(column, &number);
	if (!error && number > strings->len)
		error = error_create(ERROR_INPUT, "name %" PRIu64 " is not there", number);
	if (!error)
		*ret = number ? strings->data[number - 1] : NULL;
	return error;
}

static struct error *read_run(struct model *model, struct hpw_column *columns,
	const struct name_vec *strings, struct module_id module, uint64_t address)
{
	uint64_t count, line, inlined;
	struct error *error = hpw_column_next(&columns[HPW_NAMES_COUNT], &count);
	if (!error && (count == 0 || count > HPW_NAMES_FRAMES_MAX))
		error = error_create(ERROR_INPUT, "%" PRIu64 " functions are at one place", count);
	if (error)
		return error;
	struct embedded_frame frames[HPW_NAMES_FRAMES_MAX];
	for (uint64_t i = 0; i < count && !error; i++) {
		frames[i] = (struct embedded_frame){.function = NULL};
		error = next_string(&columns[HPW_NAMES_FUNCTION], strings, &frames[i].function);
		if (!error)
			error = next_string(&columns[HPW_NAMES_FILE], strings, &frames[i].file);
		if (!error)
			error = hpw_column_next(&columns[HPW_NAMES_LINE], &line);
		if (!error)
			error = hpw_column_next(&columns[HPW_NAMES_INLINED], &inlined);
		if (!error) {
			frames[i].line = frames[i].file ? (uint32_t)line : 0;
			frames[i].inlined = inlined != 0 && i + 1 < count;
		}
	}
	const struct embedded_run run = {.frames = frames, .count = (uint32_t)count};
	return error ? error : build_embedded_names(model, module, address, &run);
}

struct error *hpw_names_decode(struct model *model, const struct hpw_payload *payload)
{
	struct hpw_column columns[HPW_NAMES_COLUMNS];
	_cleanup_(name_vec_deinit) struct name_vec strings;
	name_vec_init(&strings);
	size_t count = 0;
	struct error *error = hpw_columns_open(payload, columns, HPW_NAMES_COLUMNS);
	if (!error)
		error = read_strings(model, columns, &strings);
	if (!error)
		error = hpw_columns_rows(columns, HPW_NAMES_COLUMNS,
			1u << HPW_NAMES_MODULE | 1u << HPW_NAMES_ADDRESS, &count);
	uint64_t address = 0;
	for (size_t i = 0; i < count && !error; i++) {
		uint64_t module, step;
		error = hpw_column_next(&columns[HPW_NAMES_MODULE], &module);
		if (!error)
			error = hpw_column_next(&columns[HPW_NAMES_ADDRESS], &step);
		if (!error && module >= BUILD_MODULES_MAX)
			error = error_create(
				ERROR_INPUT, "module %" PRIu64 " is out of range", module);
		if (error)
			break;
		address += (uint64_t)zigzag_decode(step);
		error = read_run(
			model, columns, &strings, (struct module_id){(uint32_t)module}, address);
	}
	return error;
}

/* A chunk that is being made. */
struct making {
	struct hpw_out out;
	struct name_numbers numbers;
	uint64_t address;
	size_t places;
};

static struct error *hpw_names_add_name(struct making *making, unsigned column, const char *name)
{
	bool is_new = false;
	uint32_t *number = name ? name_numbers_insert(&making->numbers, name, &is_new) : NULL;
	if (name && !number)
		return error_no_memory();
	if (is_new) {
		*number = (uint32_t)making->numbers.len;
		buf_varint(hpw_out_column(&making->out, HPW_NAMES_LENGTH), strlen(name));
		buf_bytes(hpw_out_column(&making->out, HPW_NAMES_BYTES), name, strlen(name));
	}
	buf_varint(hpw_out_column(&making->out, column), number ? *number : 0);
	return NULL;
}

static struct error *add_run(
	struct making *making, struct stack_node node, const struct embedded_run *run)
{
	struct hpw_out *out = &making->out;
	uint32_t count = run->count < HPW_NAMES_FRAMES_MAX ? run->count : HPW_NAMES_FRAMES_MAX;
	struct error *error = NULL;
	buf_varint(hpw_out_column(out, HPW_NAMES_MODULE), node.module.value);
	buf_varint(hpw_out_column(out, HPW_NAMES_ADDRESS),
		zigzag_encode((int64_t)(node.address - making->address)));
	buf_varint(hpw_out_column(out, HPW_NAMES_COUNT), count);
	making->address = node.address;
	making->places++;
	for (uint32_t i = 0; i < count && !error; i++) {
		const struct embedded_frame *frame = &run->frames[i];
		error = hpw_names_add_name(making, HPW_NAMES_FUNCTION, frame->function);
		if (!error)
			error = hpw_names_add_name(making, HPW_NAMES_FILE, frame->file);
		buf_varint(hpw_out_column(out, HPW_NAMES_LINE), frame->line);
		buf_varint(hpw_out_column(out, HPW_NAMES_INLINED), frame->inlined);
	}
	return error;
}

static struct error *hpw_names_flush(struct making *making, hpw_names_put *put, void *ctx)
{
	_cleanup_(buf_deinit) struct buf payload;
	buf_init(&payload);
	struct error *error = NULL;
	if (making->places)
		error = hpw_out_finish(&making->out, &payload) ? put(ctx, &payload)
							       : error_no_memory();
	hpw_out_deinit(&making->out);
	name_numbers_deinit(&making->numbers);
	making->address = making->places = 0;
	return error;
}

struct error *hpw_names_encode(const struct model *model, hpw_names_put *put, void *ctx)
{
	struct making making = {.places = 0};
	struct error *error = NULL;
	size_t limit = model_stack_limit(model);
	/* Many stacks go through a place. */
	_cleanup_free_ bool *done = calloc(limit + 1, sizeof(*done));
	if (!done)
		return error_no_memory();
	for (uint32_t i = 1; i < limit && !error; i++) {
		struct stack_node node = model_stack(model, (struct stack_id){i});
		const struct embedded_run *run =
			node.code.value ? NULL : model_embedded(model, node);
		size_t number = run ? model_embedded_number(model, run) : 0;
		if (!run || number > limit || done[number])
			continue;
		done[number] = true;
		error = add_run(&making, node, run);
		if (!error && making.places == PLACES_IN_CHUNK)
			error = hpw_names_flush(&making, put, ctx);
	}
	struct error *last = hpw_names_flush(&making, put, ctx);
	if (error)
		error_destroy(last);
	return error ? error : last;
}
