/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/foreign/pprof_wire.h"

#include <inttypes.h>
#include <string.h>

/* How protobuf says what follows: developers.google.com/protocol-buffers, "Encoding". */
enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct field {
	uint32_t number;
	enum wire_type wire;
	uint64_t value;      /* of a number */
	const uint8_t *data; /* of bytes */
	size_t len;
};

void pprof_profile_init(struct pprof_profile *profile)
{
	*profile = (struct pprof_profile){.name = NULL};
}

void pprof_profile_deinit(struct pprof_profile *profile)
{
	pprof_type_vec_deinit(&profile->types);
	pprof_mapping_vec_deinit(&profile->mappings);
	pprof_line_vec_deinit(&profile->lines);
	pprof_location_vec_deinit(&profile->locations);
	pprof_function_vec_deinit(&profile->functions);
	pprof_slice_vec_deinit(&profile->strings);
	pprof_slice_vec_deinit(&profile->samples);
	pprof_id_map_deinit(&profile->mapping_of);
	pprof_id_map_deinit(&profile->location_of);
	pprof_id_map_deinit(&profile->function_of);
}

static struct error *next_field(struct cursor *cursor, struct field *ret)
{
	uint64_t key;
	struct error *error = cursor_varint(cursor, &key);
	if (error)
		return error;
	*ret = (struct field){.number = (uint32_t)(key >> 3), .wire = (enum wire_type)(key & 7)};
	if (!ret->number || key >> 32)
		return cursor_error(cursor, "invalid protobuf field number %" PRIu64, key >> 3);
	uint64_t len;
	uint32_t narrow;
	switch (ret->wire) {
	case WIRE_VARINT:
		return cursor_varint(cursor, &ret->value);
	case WIRE_FIXED64:
		return cursor_u64(cursor, &ret->value);
	case WIRE_FIXED32:
		error = cursor_u32(cursor, &narrow);
		ret->value = narrow;
		return error;
	case WIRE_BYTES:
		error = cursor_varint(cursor, &len);
		if (!error)
			error = cursor_bytes(cursor, len, &ret->data);
		ret->len = (size_t)len;
		return error;
	default:
		return cursor_error(
			cursor, "field %u has the unknown wire type %u", ret->number, ret->wire);
	}
}

static void open_message(
	const struct pprof_profile *profile, const uint8_t *data, size_t len, struct cursor *ret)
{
	cursor_init(ret, profile->name, data, len, (uint64_t)(data - profile->start));
}

/* A member of a message that is a plain number, 64 bits wide. */
struct number_field {
	uint32_t number;
	size_t member;
};

/* Reads the numbers of a message. */
static struct error *read_numbers(const struct pprof_profile *profile, const struct field *message,
	const struct number_field *fields, size_t count, void *ret)
{
	struct cursor cursor;
	open_message(profile, message->data, message->len, &cursor);
	while (cursor_left(&cursor)) {
		struct field field;
		struct error *error = next_field(&cursor, &field);
		if (error)
			return error;
		for (size_t i = 0; field.wire == WIRE_VARINT && i < count; i++)
			if (fields[i].number == field.number)
				memcpy((char *)ret + fields[i].member, &field.value,
					sizeof(field.value));
	}
	return NULL;
}

#define READ_NUMBERS(profile, message, fields, ret)                                                \
	read_numbers(profile, message, fields, sizeof(fields) / sizeof((fields)[0]), ret)

static struct error *read_type(
	const struct pprof_profile *profile, const struct field *message, struct pprof_type *ret)
{
	static const struct number_field fields[] = {
		{1, offsetof(struct pprof_type, type)},
		{2, offsetof(struct pprof_type, unit)},
	};
	*ret = (struct pprof_type){0};
	return READ_NUMBERS(profile, message, fields, ret);
}

static struct error *pprof_wire_read_line(
	const struct pprof_profile *profile, const struct field *message, struct pprof_line *ret)
{
	static const struct number_field fields[] = {
		{1, offsetof(struct pprof_line, function)},
		{2, offsetof(struct pprof_line, line)},
	};
	*ret = (struct pprof_line){0};
	return READ_NUMBERS(profile, message, fields, ret);
}

/* Ids are what others name it by: not 0, each once. */
static struct error *add_id(struct pprof_profile *profile, struct pprof_id_map *map, uint64_t id,
	size_t index, const char *what)
{
	if (!id)
		return error_create(ERROR_INPUT, "%s: a %s has the id 0", profile->name, what);
	bool is_new;
	uint32_t *value = pprof_id_map_insert(map, id, &is_new);
	if (!value)
		return error_no_memory();
	if (!is_new)
		return error_create(
			ERROR_INPUT, "%s: two %ss have the id %" PRIu64, profile->name, what, id);
	*value = (uint32_t)index;
	return NULL;
}

static struct error *add_mapping(struct pprof_profile *profile, const struct field *message)
{
	static const struct number_field fields[] = {
		{1, offsetof(struct pprof_mapping, id)},
		{2, offsetof(struct pprof_mapping, start)},
		{3, offsetof(struct pprof_mapping, limit)},
		{4, offsetof(struct pprof_mapping, file_offset)},
		{5, offsetof(struct pprof_mapping, file)},
		{6, offsetof(struct pprof_mapping, build_id)},
	};
	struct pprof_mapping row = {0};
	struct error *error = READ_NUMBERS(profile, message, fields, &row);
	if (!error)
		error = add_id(
			profile, &profile->mapping_of, row.id, profile->mappings.len, "mapping");
	if (error)
		return error;
	return pprof_mapping_vec_push(&profile->mappings, row) ? NULL : error_no_memory();
}

static struct error *pprof_wire_add_function(
	struct pprof_profile *profile, const struct field *message)
{
	static const struct number_field fields[] = {
		{1, offsetof(struct pprof_function, id)},
		{2, offsetof(struct pprof_function, name)},
		{3, offsetof(struct pprof_function, system_name)},
		{4, offsetof(struct pprof_function, file)},
	};
	struct pprof_function row = {0};
	struct error *error = READ_NUMBERS(profile, message, fields, &row);
	if (!error)
		error = add_id(
			profile, &profile->function_of, row.id, profile->functions.len, "function");
	if (error)
		return error;
	return pprof_function_vec_push(&profile->functions, row) ? NULL : error_no_memory();
}

static struct error *add_location_field(
	struct pprof_profile *profile, const struct field *field, struct pprof_location *row)
{
	if (field->number == 4 && field->wire == WIRE_BYTES) {
		struct pprof_line line;
		struct error *error = pprof_wire_read_line(profile, field, &line);
		if (error)
			return error;
		row->line_count++;
		return pprof_line_vec_push(&profile->lines, line) ? NULL : error_no_memory();
	}
	if (field->wire != WIRE_VARINT)
		return NULL;
	switch (field->number) {
	case 1:
		row->id = field->value;
		return NULL;
	case 2:
		row->mapping = field->value;
		return NULL;
	case 3:
		row->address = field->value;
		return NULL;
	default:
		return NULL;
	}
}

static struct error *add_location(struct pprof_profile *profile, const struct field *message)
{
	struct pprof_location row = {.first_line = (uint32_t)profile->lines.len};
	struct cursor cursor;
	open_message(profile, message->data, message->len, &cursor);
	while (cursor_left(&cursor)) {
		struct field field;
		struct error *error = next_field(&cursor, &field);
		if (!error)
			error = add_location_field(profile, &field, &row);
		if (error)
			return error;
	}
	struct error *error =
		add_id(profile, &profile->location_of, row.id, profile->locations.len, "location");
	if (error)
		return error;
	return pprof_location_vec_push(&profile->locations, row) ? NULL : error_no_memory();
}

static struct error *add_slice(struct pprof_slice_vec *slices, const struct field *field)
{
	struct pprof_slice slice = {.data = field->data, .len = (uint32_t)field->len};
	return pprof_slice_vec_push(slices, slice) ? NULL : error_no_memory();
}

static struct error *add_message(struct pprof_profile *profile, const struct field *field)
{
	struct pprof_type type;
	struct error *error;
	switch (field->number) {
	case 1:
		error = read_type(profile, field, &type);
		if (error)
			return error;
		return pprof_type_vec_push(&profile->types, type) ? NULL : error_no_memory();
	case 2:
		return add_slice(&profile->samples, field);
	case 3:
		return add_mapping(profile, field);
	case 4:
		return add_location(profile, field);
	case 5:
		return pprof_wire_add_function(profile, field);
	case 6:
		return add_slice(&profile->strings, field);
	case 11:
		return read_type(profile, field, &profile->period_type);
	default:
		return NULL;
	}
}

static void set_number(struct pprof_profile *profile, const struct field *field)
{
	switch (field->number) {
	case 7:
		profile->drop_frames = field->value;
		break;
	case 8:
		profile->keep_frames = field->value;
		break;
	case 9:
		profile->time_ns = (int64_t)field->value;
		break;
	case 10:
		profile->duration_ns = (int64_t)field->value;
		break;
	case 12:
		profile->period = (int64_t)field->value;
		break;
	case 13:
		if (!profile->comment)
			profile->comment = field->value;
		break;
	case 14:
		profile->default_type = field->value;
		break;
	default:
		break;
	}
}

struct error *pprof_read(
	struct pprof_profile *profile, const char *name, const void *data, size_t len)
{
	profile->name = name;
	profile->start = data;
	if (len > UINT32_MAX)
		return error_create(ERROR_INPUT,
			"%s: the profile is larger than 4 GiB, which is not supported", name);
	struct cursor cursor;
	open_message(profile, data, len, &cursor);
	while (cursor_left(&cursor)) {
		struct field field;
		struct error *error = next_field(&cursor, &field);
		if (!error && field.wire == WIRE_BYTES)
			error = add_message(profile, &field);
		else if (!error)
			set_number(profile, &field);
		if (error)
			return error;
	}
	if (profile->strings.len && profile->strings.data[0].len)
		return error_create(
			ERROR_INPUT, "%s: the first string of the table is not empty", name);
	return NULL;
}

/* A list of numbers: packed, or one at a time. */
static struct error *add_numbers(const struct pprof_profile *profile, const struct field *field,
	struct pprof_number_vec *ret)
{
	if (field->wire != WIRE_BYTES)
		return pprof_number_vec_push(ret, field->value) ? NULL : error_no_memory();
	struct cursor cursor;
	open_message(profile, field->data, field->len, &cursor);
	while (cursor_left(&cursor)) {
		uint64_t value;
		struct error *error = cursor_varint(&cursor, &value);
		if (error)
			return error;
		if (!pprof_number_vec_push(ret, value))
			return error_no_memory();
	}
	return NULL;
}

static struct error *add_label(const struct pprof_profile *profile, const struct field *message,
	struct pprof_label_vec *ret)
{
	static const struct number_field fields[] = {
		{1, offsetof(struct pprof_label, key)},
		{2, offsetof(struct pprof_label, text)},
		{3, offsetof(struct pprof_label, number)},
	};
	struct pprof_label row = {0};
	struct error *error = READ_NUMBERS(profile, message, fields, &row);
	if (error)
		return error;
	return pprof_label_vec_push(ret, row) ? NULL : error_no_memory();
}

struct error *pprof_read_sample(
	const struct pprof_profile *profile, size_t index, struct pprof_sample *ret)
{
	const struct pprof_slice *slice = &profile->samples.data[index];
	ret->locations.len = ret->values.len = ret->labels.len = 0;
	struct cursor cursor;
	open_message(profile, slice->data, slice->len, &cursor);
	while (cursor_left(&cursor)) {
		struct field field;
		struct error *error = next_field(&cursor, &field);
		if (!error && field.number == 1)
			error = add_numbers(profile, &field, &ret->locations);
		else if (!error && field.number == 2)
			error = add_numbers(profile, &field, &ret->values);
		else if (!error && field.number == 3 && field.wire == WIRE_BYTES)
			error = add_label(profile, &field, &ret->labels);
		if (error)
			return error;
	}
	if (ret->values.len == profile->types.len)
		return NULL;
	return error_create(ERROR_INPUT,
		"%s: offset %zu: a sample has %zu values, but the profile has %zu value types",
		profile->name, (size_t)(slice->data - profile->start), ret->values.len,
		profile->types.len);
}

struct error *pprof_text(
	const struct pprof_profile *profile, uint64_t number, struct foreign_text *ret)
{
	*ret = (struct foreign_text){.data = ""};
	if (number == 0)
		return NULL;
	if (number >= profile->strings.len)
		return error_create(ERROR_INPUT,
			"%s: string %" PRIu64 " is named, and the table has %zu", profile->name,
			number, profile->strings.len);
	const struct pprof_slice *slice = &profile->strings.data[number];
	*ret = (struct foreign_text){.data = (const char *)slice->data, .len = slice->len};
	return NULL;
}

/* The fields that a profile has, and how each is written. */
static bool field_fits(uint32_t number, enum wire_type wire)
{
	if (number == 0 || number > 15)
		return false;
	bool is_number = (number >= 7 && number <= 10) || number == 12 || number == 14;
	if (number == 13)
		return wire == WIRE_VARINT || wire == WIRE_BYTES;
	if (number == 15)
		return wire == WIRE_VARINT;
	return wire == (is_number ? WIRE_VARINT : WIRE_BYTES);
}

/* A profile has small numbers all over, and its first string is empty; a text has neither. */
static bool pprof_wire_is_text(const uint8_t *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!head[i] || (head[i] < ' ' && !strchr("\t\n\v\f\r\033", head[i])))
			return false;
	return true;
}

bool pprof_looks_like(const uint8_t *head, size_t len)
{
	struct cursor cursor;
	if (pprof_wire_is_text(head, len))
		return false;
	cursor_init(&cursor, "", head, len, 0);
	unsigned fields = 0;
	while (cursor_left(&cursor) && fields < 8) {
		uint64_t key, value;
		if (!cursor_try_varint(&cursor, &key) ||
			!field_fits((uint32_t)(key >> 3), (enum wire_type)(key & 7)))
			return false;
		/* A number, or the length of what follows; cut off: all fits so far. */
		if (!cursor_try_varint(&cursor, &value))
			return fields > 0;
		fields++;
		if ((key & 7) != WIRE_BYTES)
			continue;
		if (value > cursor_left(&cursor))
			break;
		cursor.pos += value;
	}
	return fields > 0;
}
