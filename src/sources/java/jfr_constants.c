/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java/jfr_constants.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Of one chunk. The JDK's have a few hundred thousand, in some megabytes. */
#define CONSTANTS_MAX (1u << 24)
#define CONSTANT_BYTES_MAX (UINT64_C(1) << 29)

static const struct {
	const char *type;
	const char *wanted[JFR_WANTED];
} pools[JFR_POOLS] = {
	[JFR_STRINGS] = {"java.lang.String", {NULL}},
	[JFR_SYMBOLS] = {"jdk.types.Symbol", {"string"}},
	[JFR_CLASSES] = {"java.lang.Class", {"name"}},
	[JFR_METHODS] = {"jdk.types.Method", {"type", "name"}},
	[JFR_STACKS] = {"jdk.types.StackTrace", {"truncated", "frames"}},
	[JFR_OLD_OBJECTS] = {"jdk.types.OldObject", {"type"}},
};
static const char *const frame_wanted[JFR_WANTED] = {"method", "lineNumber"};

static struct jfr_shape shape_of(
	const struct jfr_types *types, const char *type, const char *const *wanted)
{
	struct jfr_shape ret = {.type = jfr_type_named(types, type)};
	for (size_t i = 0; i < JFR_WANTED; i++)
		ret.wanted[i] = wanted[i] ? jfr_field_named(types, ret.type, wanted[i]) : JFR_NONE;
	return ret;
}

void jfr_constants_init(struct jfr_constants *constants, const struct jfr_types *types)
{
	*constants = (struct jfr_constants){.types = types};
	arena_init(&constants->arena);
	for (size_t i = 0; i < JFR_POOLS; i++)
		constants->shapes[i] = shape_of(types, pools[i].type, pools[i].wanted);
	constants->frame = shape_of(types, "jdk.types.StackFrame", frame_wanted);
}

void jfr_constants_deinit(struct jfr_constants *constants)
{
	arena_deinit(&constants->arena);
	jfr_constant_map_deinit(&constants->map);
}

static struct error *checkpoint_damaged(void)
{
	return error_create(ERROR_INPUT, "a table of its constants is damaged");
}

static enum jfr_pool pool_of(const struct jfr_constants *constants, uint32_t type)
{
	int pool = 0;
	while (pool < JFR_POOLS && constants->shapes[pool].type != type)
		pool++;
	return (enum jfr_pool)pool;
}

static struct error *constant_keep(
	struct jfr_constants *constants, struct jfr_constant key, struct jfr_bytes data)
{
	if (constants->map.len == CONSTANTS_MAX)
		return error_create(ERROR_INPUT,
			"has more than %u constants in one chunk: let the recorder write smaller "
			"chunks",
			CONSTANTS_MAX);
	struct jfr_bytes *known = jfr_constant_map_insert(&constants->map, key, NULL);
	if (!known)
		return error_no_memory();
	*known = data;
	return NULL;
}

/* The constants of one type. */
static struct error *pool_add(
	struct jfr_constants *constants, uint32_t type, struct jfr_bytes *bytes)
{
	uint64_t count;
	struct jfr_constant key = {.pool = pool_of(constants, type)};
	if (!jfr_number(bytes, &count))
		return checkpoint_damaged();
	for (uint64_t i = 0; i < count; i++) {
		struct jfr_bytes data;
		struct jfr_value value;
		if (!jfr_number(bytes, &key.key))
			return checkpoint_damaged();
		data.pos = bytes->pos;
		if (!jfr_value_read(constants->types, type, bytes, NULL, 0, &value))
			return checkpoint_damaged();
		data.end = bytes->pos;
		struct error *error =
			key.pool == JFR_POOLS ? NULL : constant_keep(constants, key, data);
		if (error)
			return error;
	}
	return NULL;
}

static struct error *bytes_keep(struct jfr_constants *constants, struct jfr_bytes *bytes)
{
	size_t len = (size_t)(bytes->end - bytes->pos);
	constants->bytes += len;
	if (constants->bytes > CONSTANT_BYTES_MAX)
		return error_create(ERROR_INPUT,
			"has more than %" PRIu64 " bytes of constants in one chunk: let the "
			"recorder write smaller chunks",
			CONSTANT_BYTES_MAX);
	uint8_t *copy = arena_alloc(&constants->arena, len + 1);
	if (!copy)
		return error_no_memory();
	memcpy(copy, bytes->pos, len);
	*bytes = (struct jfr_bytes){copy, copy + len};
	return NULL;
}

struct error *jfr_constants_add(struct jfr_constants *constants, struct jfr_bytes bytes)
{
	uint64_t number, count;
	struct error *error = bytes_keep(constants, &bytes);
	if (error)
		return error;
	/* When it was, how long that took, where the last one is, what kind it is. */
	for (int i = 0; i < 4; i++)
		if (!jfr_number(&bytes, &number))
			return checkpoint_damaged();
	if (!jfr_number(&bytes, &count))
		return checkpoint_damaged();
	for (uint64_t i = 0; i < count && !error; i++) {
		uint64_t id;
		uint32_t type = JFR_NONE;
		if (jfr_number(&bytes, &id))
			type = jfr_type_of(constants->types, id);
		error = type == JFR_NONE ? checkpoint_damaged() : pool_add(constants, type, &bytes);
	}
	return error;
}

/* The wanted fields of a constant. */
static bool constant_read(const struct jfr_constants *constants, enum jfr_pool pool, uint64_t key,
	struct jfr_value *ret)
{
	const struct jfr_bytes *known = jfr_constant_map_find(
		&constants->map, (struct jfr_constant){.key = key, .pool = pool});
	if (!known)
		return false;
	struct jfr_bytes bytes = *known;
	const struct jfr_shape *shape = &constants->shapes[pool];
	return jfr_value_read(
		constants->types, shape->type, &bytes, shape->wanted, JFR_WANTED, ret);
}

void jfr_text_add(
	const struct jfr_constants *constants, const struct jfr_string *string, struct text *text)
{
	jfr_string_add(string, text);
	if (string->encoding != JFR_CONSTANT)
		return;
	const struct jfr_bytes *known = jfr_constant_map_find(
		&constants->map, (struct jfr_constant){.key = string->key, .pool = JFR_STRINGS});
	struct jfr_string constant;
	struct jfr_bytes bytes;
	if (known)
		bytes = *known;
	if (known && jfr_string(&bytes, &constant))
		jfr_string_add(&constant, text);
}

static bool symbol_add(const struct jfr_constants *constants, uint64_t key, struct text *text)
{
	struct jfr_value values[JFR_WANTED];
	struct jfr_string string;
	size_t len = text->len;
	if (constant_read(constants, JFR_SYMBOLS, key, values) && values[0].data.pos &&
		jfr_string(&values[0].data, &string))
		jfr_text_add(constants, &string, text);
	return text->len > len;
}

static const char *primitive_named(char letter)
{
	static const char letters[] = "ZBCDFIJS";
	static const char *const names[] = {
		"boolean", "byte", "char", "double", "float", "int", "long", "short"};
	const char *at = letter ? strchr(letters, letter) : NULL;
	return at ? names[at - letters] : NULL;
}

bool jfr_class_add(const struct jfr_constants *constants, uint64_t key, struct text *text)
{
	struct jfr_value values[JFR_WANTED];
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	if (!constant_read(constants, JFR_CLASSES, key, values) ||
		!symbol_add(constants, values[0].number, &name) || name.failed)
		return false;
	size_t dimensions = strspn(name.data, "["), len = name.len - dimensions;
	const char *inner = name.data + dimensions;
	const char *primitive = dimensions && len == 1 ? primitive_named(*inner) : NULL;
	if (primitive) {
		inner = primitive;
		len = strlen(primitive);
	} else if (dimensions && len > 2 && *inner == 'L' && inner[len - 1] == ';') {
		inner++;
		len -= 2;
	}
	for (size_t i = 0; i < len; i++)
		text_add_n(text, inner[i] == '/' ? "." : &inner[i], 1);
	for (; dimensions; dimensions--)
		text_add(text, "[]");
	return true;
}

bool jfr_method_find(const struct jfr_constants *constants, uint64_t key, struct jfr_method *ret)
{
	struct jfr_value values[JFR_WANTED];
	if (!constant_read(constants, JFR_METHODS, key, values))
		return false;
	*ret = (struct jfr_method){.class = values[0].number, .name = values[1].number};
	return true;
}

bool jfr_method_add(const struct jfr_constants *constants, uint64_t key, struct text *text,
	size_t *ret_class_len)
{
	struct jfr_method method;
	size_t start = text->len;
	*ret_class_len = 0;
	if (!jfr_method_find(constants, key, &method))
		return false;
	/* Native code has a class without a name. */
	if (jfr_class_add(constants, method.class, text)) {
		*ret_class_len = text->len - start;
		text_add_char(text, '.');
	}
	return symbol_add(constants, method.name, text);
}

uint64_t jfr_old_object_class(const struct jfr_constants *constants, uint64_t key)
{
	struct jfr_value values[JFR_WANTED];
	return constant_read(constants, JFR_OLD_OBJECTS, key, values) ? values[0].number : 0;
}

bool jfr_stack_read(const struct jfr_constants *constants, uint64_t key, struct jfr_frame_vec *ret,
	bool *ret_truncated, bool *ret_no_memory)
{
	struct jfr_value values[JFR_WANTED], parts[JFR_WANTED];
	uint64_t count;
	const struct jfr_shape *frame = &constants->frame;
	jfr_frame_vec_clear(ret);
	*ret_truncated = *ret_no_memory = false;
	if (frame->type == JFR_NONE || !constant_read(constants, JFR_STACKS, key, values))
		return false;
	struct jfr_bytes bytes = values[1].data;
	if (!bytes.pos || !jfr_number(&bytes, &count))
		return false;
	*ret_truncated = values[0].number != 0;
	for (uint64_t i = 0; i < count; i++) {
		if (!jfr_value_read(constants->types, frame->type, &bytes, frame->wanted,
			    JFR_WANTED, parts))
			return false;
		struct jfr_frame row = {.method = parts[0].number};
		/* A line that is not known is 0, or -1. */
		if (parts[1].number <= INT32_MAX)
			row.line = (uint32_t)parts[1].number;
		if (!jfr_frame_vec_push(ret, row)) {
			*ret_no_memory = true;
			return false;
		}
	}
	return true;
}
