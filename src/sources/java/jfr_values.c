/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java/jfr_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Values in values, and elements of metadata: the JDK's have five at most. */
#define NESTS_MAX 16u
#define TYPES_MAX (1u << 20)

bool jfr_number(struct jfr_bytes *bytes, uint64_t *ret)
{
	uint64_t value = 0;
	for (unsigned shift = 0; bytes->pos < bytes->end; shift += 7) {
		uint64_t byte = *bytes->pos++;
		bool is_last = shift == 56 || byte < 0x80;
		value |= (shift == 56 ? byte : byte & 0x7f) << shift;
		if (!is_last)
			continue;
		*ret = value;
		return true;
	}
	return false;
}

static bool jfr_take(struct jfr_bytes *bytes, uint64_t len)
{
	if (len > (size_t)(bytes->end - bytes->pos))
		return false;
	bytes->pos += len;
	return true;
}

bool jfr_string(struct jfr_bytes *bytes, struct jfr_string *ret)
{
	if (bytes->pos == bytes->end || *bytes->pos > JFR_LATIN1)
		return false;
	*ret = (struct jfr_string){.encoding = *bytes->pos++};
	if (ret->encoding == JFR_CONSTANT)
		return jfr_number(bytes, &ret->key);
	if (ret->encoding < JFR_CONSTANT)
		return true;
	if (!jfr_number(bytes, &ret->count))
		return false;
	ret->data.pos = bytes->pos;
	if (ret->encoding == JFR_UTF16) {
		uint64_t unit;
		for (uint64_t i = 0; i < ret->count; i++)
			if (!jfr_number(bytes, &unit))
				return false;
	} else if (!jfr_take(bytes, ret->count)) {
		return false;
	}
	ret->data.end = bytes->pos;
	return true;
}

static void code_point_add(struct text *text, uint32_t code)
{
	if (code < 0x80) {
		text_add_char(text, (char)code);
		return;
	}
	unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
	text_add_char(text, (char)(heads[more] | code >> (6 * more)));
	while (more-- > 0)
		text_add_char(text, (char)(0x80 | (code >> (6 * more) & 0x3f)));
}

/* Two units are one character, if they are a pair. */
static void utf16_add(const struct jfr_string *string, struct text *text)
{
	struct jfr_bytes bytes = string->data;
	uint64_t unit;
	uint32_t high = 0;
	while (jfr_number(&bytes, &unit)) {
		uint32_t code = unit & 0xffff;
		if (code >= 0xd800 && code < 0xdc00) {
			high = code;
			continue;
		}
		bool is_low = code >= 0xdc00 && code < 0xe000;
		if (is_low)
			code = high ? 0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00) : 0xfffd;
		high = 0;
		code_point_add(text, code);
	}
}

void jfr_string_add(const struct jfr_string *string, struct text *text)
{
	const char *data = (const char *)string->data.pos;
	if (string->encoding == JFR_UTF8)
		text_add_n(text, data, (size_t)string->count);
	else if (string->encoding == JFR_UTF16)
		utf16_add(string, text);
	else if (string->encoding == JFR_LATIN1)
		for (const uint8_t *at = string->data.pos; at < string->data.end; at++)
			code_point_add(text, *at);
}

void jfr_types_init(struct jfr_types *types)
{
	*types = (struct jfr_types){.fields = {0}};
	arena_init(&types->arena);
}

void jfr_types_deinit(struct jfr_types *types)
{
	arena_deinit(&types->arena);
	jfr_fields_deinit(&types->fields);
	jfr_type_vec_deinit(&types->types);
	jfr_type_map_deinit(&types->by_id);
}

static enum jfr_form form_named(const char *name)
{
	static const struct {
		const char *name;
		enum jfr_form form;
	} forms[] = {
		{"boolean", JFR_FORM_BYTE},
		{"byte", JFR_FORM_BYTE},
		{"char", JFR_FORM_NUMBER},
		{"short", JFR_FORM_NUMBER},
		{"int", JFR_FORM_NUMBER},
		{"long", JFR_FORM_NUMBER},
		{"float", JFR_FORM_FLOAT},
		{"double", JFR_FORM_DOUBLE},
		{"java.lang.String", JFR_FORM_STRING},
	};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (!strcmp(name, forms[i].name))
			return forms[i].form;
	return JFR_FORM_FIELDS;
}

DEFINE_VEC(jfr_words, const char *)

struct metadata {
	struct jfr_types *types;
	struct jfr_bytes bytes;
	struct jfr_words words;
	bool no_memory, has_too_many;
};

/* A string of the table that the elements refer to. */
static bool word_read(struct metadata *metadata, const char **ret)
{
	uint64_t index;
	if (!jfr_number(&metadata->bytes, &index) || index >= metadata->words.len)
		return false;
	*ret = metadata->words.data[index];
	return true;
}

static bool words_read(struct metadata *metadata)
{
	uint64_t count;
	if (!jfr_number(&metadata->bytes, &count))
		return false;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	for (uint64_t i = 0; i < count; i++) {
		struct jfr_string string;
		if (!jfr_string(&metadata->bytes, &string))
			return false;
		text_clear(&text);
		jfr_string_add(&string, &text);
		const char *copy = arena_strndup(
			&metadata->types->arena, text.data ? text.data : "", text.len);
		if (text.failed || !copy || !jfr_words_push(&metadata->words, copy)) {
			metadata->no_memory = true;
			return false;
		}
	}
	return true;
}

static bool type_add(struct metadata *metadata, const char *name, uint64_t id)
{
	struct jfr_types *types = metadata->types;
	struct jfr_type row = {.name = name,
		.id = id,
		.form = form_named(name),
		.first_field = (uint32_t)types->fields.len};
	bool is_new;
	uint32_t *number = jfr_type_map_insert(&types->by_id, id, &is_new);
	metadata->no_memory = !number || !jfr_type_vec_push(&types->types, row);
	if (metadata->no_memory)
		return false;
	if (is_new)
		*number = (uint32_t)types->types.len - 1;
	return true;
}

/* A field is of the type that came last. */
static bool field_add(struct metadata *metadata, const struct jfr_field *field)
{
	struct jfr_types *types = metadata->types;
	if (!types->types.len)
		return true;
	metadata->no_memory = !jfr_fields_push(&types->fields, *field);
	if (metadata->no_memory)
		return false;
	types->types.data[types->types.len - 1].field_count++;
	return true;
}

/* What elements say of themselves. */
struct attributes {
	const char *name;
	uint64_t id, type;
	bool is_key, is_array;
};

static bool attributes_read(struct metadata *metadata, struct attributes *ret)
{
	uint64_t count;
	*ret = (struct attributes){.name = ""};
	if (!jfr_number(&metadata->bytes, &count))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		const char *key, *value;
		if (!word_read(metadata, &key) || !word_read(metadata, &value))
			return false;
		if (!strcmp(key, "name"))
			ret->name = value;
		else if (!strcmp(key, "id"))
			ret->id = strtoull(value, NULL, 10);
		else if (!strcmp(key, "class"))
			ret->type = strtoull(value, NULL, 10);
		else if (!strcmp(key, "constantPool"))
			ret->is_key = !strcmp(value, "true");
		else if (!strcmp(key, "dimension"))
			ret->is_array = strcmp(value, "0") != 0;
	}
	return true;
}

static bool element_read(struct metadata *metadata, unsigned depth)
{
	const char *what;
	struct attributes attributes;
	uint64_t children;
	bool is_read = depth < NESTS_MAX && word_read(metadata, &what) &&
		       attributes_read(metadata, &attributes);
	if (!is_read)
		return false;
	struct jfr_types *types = metadata->types;
	metadata->has_too_many = types->types.len + types->fields.len >= TYPES_MAX;
	if (metadata->has_too_many)
		return false;
	struct jfr_field field = {.name = attributes.name,
		.type_id = attributes.type,
		.is_key = attributes.is_key,
		.is_array = attributes.is_array};
	if (!strcmp(what, "class"))
		is_read = type_add(metadata, attributes.name, attributes.id);
	else if (!strcmp(what, "field"))
		is_read = field_add(metadata, &field);
	if (!is_read || !jfr_number(&metadata->bytes, &children))
		return false;
	for (uint64_t i = 0; i < children && is_read; i++)
		is_read = element_read(metadata, depth + 1);
	return is_read;
}

static bool metadata_read(struct metadata *metadata)
{
	uint64_t start, duration, id;
	return jfr_number(&metadata->bytes, &start) && jfr_number(&metadata->bytes, &duration) &&
	       jfr_number(&metadata->bytes, &id) && words_read(metadata) &&
	       element_read(metadata, 0);
}

struct error *jfr_types_read(struct jfr_types *types, struct jfr_bytes bytes)
{
	struct metadata metadata = {.types = types, .bytes = bytes};
	bool is_read = metadata_read(&metadata);
	jfr_words_deinit(&metadata.words);
	if (metadata.no_memory)
		return error_no_memory();
	if (metadata.has_too_many)
		return error_create(
			ERROR_INPUT, "describes more than %u types and fields", TYPES_MAX);
	if (!is_read)
		return error_create(ERROR_INPUT, "the description of its types is damaged");
	for (size_t i = 0; i < types->fields.len; i++)
		types->fields.data[i].type = jfr_type_of(types, types->fields.data[i].type_id);
	return NULL;
}

uint32_t jfr_type_named(const struct jfr_types *types, const char *name)
{
	for (size_t i = 0; i < types->types.len; i++)
		if (!strcmp(types->types.data[i].name, name))
			return (uint32_t)i;
	return JFR_NONE;
}

uint32_t jfr_type_of(const struct jfr_types *types, uint64_t id)
{
	const uint32_t *number = jfr_type_map_find(&types->by_id, id);
	return number ? *number : JFR_NONE;
}

uint32_t jfr_field_named(const struct jfr_types *types, uint32_t type, const char *name)
{
	if (type == JFR_NONE)
		return JFR_NONE;
	const struct jfr_type *row = &types->types.data[type];
	for (uint32_t i = 0; i < row->field_count; i++)
		if (!strcmp(types->fields.data[row->first_field + i].name, name))
			return i;
	return JFR_NONE;
}

static bool fields_read(const struct jfr_types *types, const struct jfr_type *type,
	struct jfr_bytes *bytes, unsigned depth);

static bool one_read(const struct jfr_types *types, uint32_t type, bool is_key,
	struct jfr_bytes *bytes, unsigned depth, uint64_t *ret)
{
	*ret = 0;
	if (is_key)
		return jfr_number(bytes, ret);
	if (type == JFR_NONE)
		return false;
	const struct jfr_type *row = &types->types.data[type];
	struct jfr_string string;
	switch (row->form) {
	case JFR_FORM_BYTE:
		*ret = bytes->pos < bytes->end ? *bytes->pos : 0;
		return jfr_take(bytes, 1);
	case JFR_FORM_NUMBER:
		return jfr_number(bytes, ret);
	case JFR_FORM_FLOAT:
		return jfr_take(bytes, 4);
	case JFR_FORM_DOUBLE:
		return jfr_take(bytes, 8);
	case JFR_FORM_STRING:
		return jfr_string(bytes, &string);
	case JFR_FORM_FIELDS:
		break;
	}
	return fields_read(types, row, bytes, depth + 1);
}

static bool field_read(const struct jfr_types *types, const struct jfr_field *field,
	struct jfr_bytes *bytes, unsigned depth, uint64_t *ret)
{
	uint64_t count = 1;
	if (field->is_array && !jfr_number(bytes, &count))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (!one_read(types, field->type, field->is_key, bytes, depth, ret))
			return false;
	return true;
}

/* A value of no field would take no byte, and an array of them no end. */
static bool fields_read(const struct jfr_types *types, const struct jfr_type *type,
	struct jfr_bytes *bytes, unsigned depth)
{
	uint64_t number;
	bool is_read = type->field_count > 0 && depth < NESTS_MAX;
	for (uint32_t i = 0; i < type->field_count && is_read; i++)
		is_read = field_read(
			types, &types->fields.data[type->first_field + i], bytes, depth, &number);
	return is_read;
}

bool jfr_value_read(const struct jfr_types *types, uint32_t type, struct jfr_bytes *bytes,
	const uint32_t *wanted, size_t count, struct jfr_value *ret)
{
	memset(ret, 0, count * sizeof(*ret));
	const struct jfr_type *row = &types->types.data[type];
	uint64_t number;
	if (row->form != JFR_FORM_FIELDS)
		return one_read(types, type, false, bytes, 0, &number);
	if (!row->field_count)
		return false;
	for (uint32_t i = 0; i < row->field_count; i++) {
		struct jfr_bytes data = *bytes;
		if (!field_read(
			    types, &types->fields.data[row->first_field + i], bytes, 0, &number))
			return false;
		data.end = bytes->pos;
		for (size_t k = 0; k < count; k++)
			if (wanted[k] == i)
				ret[k] = (struct jfr_value){.number = number, .data = data};
	}
	return true;
}
