/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/java/hprof_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define OBJECTS_MAX (1u << 28)
#define STRINGS_MAX (1u << 28)
#define ROOTS_MAX (1u << 26)
#define FRAMES_MAX (1u << 26)
#define ARRAY_NESTS_MAX 255u

void hprof_tables_deinit(struct hprof_tables *tables)
{
	hprof_records_close(&tables->records);
	managed_heap_destroy(tables->heap);
	buf_deinit(&tables->text);
	hprof_numbers_deinit(&tables->names);
	hprof_numbers_deinit(&tables->classes);
	hprof_numbers_deinit(&tables->class_serials);
	hprof_class_vec_deinit(&tables->class_rows);
	free(tables->shapes);
	hprof_field_vec_deinit(&tables->fields);
	hprof_id_vec_deinit(&tables->trace_frames);
	hprof_numbers_deinit(&tables->frames);
	hprof_numbers_deinit(&tables->traces);
	hprof_frame_vec_deinit(&tables->frame_rows);
	hprof_trace_vec_deinit(&tables->trace_rows);
	hprof_root_vec_deinit(&tables->roots);
	hprof_row_vec_deinit(&tables->rows);
}

/* ---- Names ----------------------------------------------------------------------------------- */

struct error *hprof_string_add(
	struct hprof_tables *tables, const char *text, size_t len, uint32_t *ret)
{
	struct managed_strings *strings = &tables->heap->strings;
	if (strings->len == STRINGS_MAX)
		return hprof_error(&tables->records, "has more than %u names", STRINGS_MAX);
	*ret = (uint32_t)strings->len;
	/* A NUL would end it for all who see it. */
	size_t shown = strnlen(text, len);
	return managed_strings_push(strings, tables->text.len) &&
			       buf_bytes(&tables->text, text, shown) && buf_u8(&tables->text, 0)
		       ? NULL
		       : error_no_memory();
}

static const char *string_at(const struct hprof_tables *tables, uint32_t number)
{
	return (const char *)tables->text.data + tables->heap->strings.data[number];
}

const char *hprof_name(const struct hprof_tables *tables, uint64_t id)
{
	const uint32_t *number = hprof_numbers_find(&tables->names, id);
	return number ? string_at(tables, *number) : "";
}

static struct error *number_set(struct hprof_numbers *map, uint64_t key, uint32_t value)
{
	uint32_t *place = hprof_numbers_insert(map, key, NULL);
	if (!place)
		return error_no_memory();
	*place = value;
	return NULL;
}

static struct error *text_take(struct hprof_tables *tables)
{
	struct hprof_records *records = &tables->records;
	const uint8_t *text;
	uint64_t id;
	uint32_t number;
	struct error *error = hprof_id(records, &id);
	if (!error && records->left > HPROF_TEXT_MAX)
		return hprof_error(records, "a name has more than %u bytes", HPROF_TEXT_MAX);
	size_t len = (size_t)records->left;
	if (!error)
		error = hprof_bytes(records, len, &text);
	if (!error)
		error = hprof_string_add(tables, (const char *)text, len, &number);
	return error ? error : number_set(&tables->names, id, number);
}

/* "[[Ljava/lang/String;" becomes "java.lang.String[][]", "java/lang/String" "java.lang.String". */
static char *java_name(const char *name)
{
	static const struct {
		char letter;
		const char *word;
	} primitives[] = {{'B', "byte"}, {'C', "char"}, {'D', "double"}, {'F', "float"},
		{'I', "int"}, {'J', "long"}, {'S', "short"}, {'Z', "boolean"}};
	size_t nests = strspn(name, "["), len = strlen(name + nests);
	const char *inner = name + nests;
	if (nests > ARRAY_NESTS_MAX)
		nests = 0;
	if (nests && inner[0] == 'L' && inner[len - 1] == ';') {
		inner++;
		len -= 2;
	} else if (nests && len == 1) {
		for (size_t i = 0; i < sizeof(primitives) / sizeof(*primitives); i++)
			if (*inner == primitives[i].letter && nests && len == 1)
				inner = primitives[i].word, len = strlen(inner);
	}
	char *ret = malloc(len + 2 * nests + 1);
	if (!ret)
		return NULL;
	for (size_t i = 0; i < len; i++)
		ret[i] = (char)(inner[i] == '/' ? '.' : inner[i]);
	for (size_t i = 0; i < nests; i++)
		memcpy(ret + len + 2 * i, "[]", 2);
	ret[len + 2 * nests] = '\0';
	return ret;
}

/* ---- Classes --------------------------------------------------------------------------------- */

static struct error *class_find(struct hprof_tables *tables, uint64_t id, uint32_t *ret)
{
	bool is_new;
	uint32_t *number = hprof_numbers_insert(&tables->classes, id, &is_new);
	if (!number)
		return error_no_memory();
	if (is_new) {
		*number = (uint32_t)tables->class_rows.len;
		if (!hprof_class_vec_push(&tables->class_rows, (struct hprof_class){.id = id}))
			return error_no_memory();
	}
	*ret = *number;
	return NULL;
}

static struct error *class_load(struct hprof_tables *tables)
{
	uint64_t serial, id, name, skipped;
	uint32_t class;
	struct error *error = hprof_number(&tables->records, 4, &serial);
	if (!error)
		error = hprof_id(&tables->records, &id);
	if (!error)
		error = hprof_number(&tables->records, 4, &skipped);
	if (!error)
		error = hprof_id(&tables->records, &name);
	if (!error)
		error = class_find(tables, id, &class);
	if (error)
		return error;
	_cleanup_free_ char *text = java_name(hprof_name(tables, name));
	if (!text)
		return error_no_memory();
	error = hprof_string_add(tables, text, strlen(text), &tables->class_rows.data[class].name);
	return error ? error : number_set(&tables->class_serials, serial, class);
}

struct error *hprof_value_take(
	struct hprof_records *records, bool is_constant, struct hprof_value *ret)
{
	struct error *error =
		is_constant ? hprof_number(records, 2, &ret->name) : hprof_id(records, &ret->name);
	if (!error)
		error = hprof_number(records, 1, &ret->type);
	if (error)
		return error;
	unsigned bytes = hprof_type_bytes(records, ret->type);
	if (!bytes)
		return hprof_error(
			records, "a value is of a type %" PRIu64 ", which there isn't", ret->type);
	return hprof_number(records, bytes, &ret->value);
}

/* The place of a type in struct hprof_shape. */
static unsigned shape_place(const struct hprof_records *records, uint64_t type)
{
	unsigned bytes = hprof_type_bytes(records, type);
	return type == HPROF_OBJECT ? 0 : bytes == 8 ? 4 : bytes == 4 ? 3 : bytes;
}

static struct error *statics_count(struct hprof_tables *tables, uint32_t *statics)
{
	struct hprof_records *records = &tables->records;
	for (int part = 0; part < 2; part++) {
		uint64_t count;
		struct error *error = hprof_number(records, 2, &count);
		while (!error && count--) {
			struct hprof_value value;
			error = hprof_value_take(records, part == 0, &value);
			/* "<resolved_references>" is no field. */
			if (!error && part && *hprof_name(tables, value.name) != '<')
				statics[shape_place(records, value.type)]++;
		}
		if (error)
			return error;
	}
	return NULL;
}

static struct error *fields_take(struct hprof_tables *tables, struct hprof_class *class)
{
	struct hprof_records *records = &tables->records;
	uint64_t count;
	struct error *error = hprof_number(records, 2, &count);
	class->first_field = (uint32_t)tables->fields.len;
	class->field_count = error ? 0 : (uint32_t)count;
	for (uint32_t i = 0; i < class->field_count && !error; i++) {
		uint64_t name, type;
		error = hprof_id(records, &name);
		if (!error)
			error = hprof_number(records, 1, &type);
		if (error)
			break;
		if (!hprof_type_bytes(records, type))
			return hprof_error(records,
				"a field is of a type %" PRIu64 ", which there isn't", type);
		const uint32_t *string = hprof_numbers_find(&tables->names, name);
		struct hprof_field field = {string ? *string : 0, (uint8_t)type};
		if (!hprof_field_vec_push(&tables->fields, field))
			return error_no_memory();
	}
	return error;
}

static struct error *row_add(struct hprof_tables *tables, uint64_t id, enum hprof_what what,
	uint32_t class, uint64_t length)
{
	struct hprof_entry_row row = {
		.id = id, .what = what, .class = class, .length = (uint32_t)length};
	if (tables->rows.len == OBJECTS_MAX)
		return hprof_error(&tables->records, "has more than %u objects", OBJECTS_MAX);
	return hprof_row_vec_push(&tables->rows, row) ? NULL : error_no_memory();
}

/* Statics are counted in the fields' place of the shape; the shapes come when all classes are
 * known, so that they are kept with the class until then. */
static struct error *class_take(struct hprof_tables *tables, uint32_t (**statics)[5], size_t *room)
{
	struct hprof_records *records = &tables->records;
	uint64_t id, super, skipped;
	uint32_t number, counts[5] = {0};
	struct error *error = hprof_id(records, &id);
	if (!error)
		error = hprof_number(records, 4, &skipped);
	if (!error)
		error = hprof_id(records, &super);
	if (!error)
		error = hprof_skip(records, 5ull * records->id_bytes + 4);
	if (!error)
		error = class_find(tables, id, &number);
	if (error)
		return error;
	if (tables->class_rows.data[number].is_described)
		return hprof_error(records, "the class 0x%" PRIx64 " is described twice", id);
	error = statics_count(tables, counts);
	if (!error)
		error = fields_take(tables, &tables->class_rows.data[number]);
	if (error)
		return error;
	tables->class_rows.data[number].super_id = super;
	tables->class_rows.data[number].is_described = true;
	if (number >= *room) {
		size_t more = 2 * (size_t)number + 64;
		void *grown = realloc(*statics, more * sizeof(**statics));
		if (!grown)
			return error_no_memory();
		*statics = grown;
		memset(*statics + *room, 0, (more - *room) * sizeof(**statics));
		*room = more;
	}
	memcpy((*statics)[number], counts, sizeof(counts));
	return row_add(tables, id, HPROF_IS_CLASS, number, 0);
}

/* ---- Stacks and roots ------------------------------------------------------------------------ */

static struct error *frame_take(struct hprof_tables *tables)
{
	struct hprof_records *records = &tables->records;
	struct hprof_frame frame;
	uint64_t id, signature, serial, line;
	struct error *error = hprof_id(records, &id);
	if (!error)
		error = hprof_id(records, &frame.method);
	if (!error)
		error = hprof_id(records, &signature);
	if (!error)
		error = hprof_id(records, &frame.file);
	if (!error)
		error = hprof_number(records, 4, &serial);
	if (!error)
		error = hprof_number(records, 4, &line);
	if (error)
		return error;
	frame.class_serial = (uint32_t)serial;
	frame.line = (int32_t)(uint32_t)line;
	if (tables->frame_rows.len == FRAMES_MAX)
		return hprof_error(records, "has more than %u frames", FRAMES_MAX);
	error = number_set(&tables->frames, id, (uint32_t)tables->frame_rows.len);
	if (!error && !hprof_frame_vec_push(&tables->frame_rows, frame))
		error = error_no_memory();
	return error;
}

static struct error *trace_take(struct hprof_tables *tables)
{
	struct hprof_records *records = &tables->records;
	uint64_t serial, thread, count, id;
	struct error *error = hprof_number(records, 4, &serial);
	if (!error)
		error = hprof_number(records, 4, &thread);
	if (!error)
		error = hprof_number(records, 4, &count);
	if (error)
		return error;
	struct hprof_trace trace = {.thread = (uint32_t)thread,
		.first = (uint32_t)tables->trace_frames.len,
		.count = (uint32_t)count};
	for (uint64_t i = 0; i < count && !error; i++) {
		error = hprof_id(records, &id);
		if (!error && tables->trace_frames.len == FRAMES_MAX)
			error = hprof_error(records, "has more than %u frames", FRAMES_MAX);
		if (!error && !hprof_id_vec_push(&tables->trace_frames, id))
			error = error_no_memory();
	}
	if (!error)
		error = number_set(&tables->traces, serial, (uint32_t)tables->trace_rows.len);
	if (!error && !hprof_trace_vec_push(&tables->trace_rows, trace))
		error = error_no_memory();
	return error;
}

int hprof_root_numbers(unsigned tag)
{
	switch (tag) {
	case HPROF_ROOT_UNKNOWN:
	case HPROF_ROOT_STICKY_CLASS:
	case HPROF_ROOT_MONITOR:
	case HPROF_ROOT_JNI_GLOBAL:
		return 0;
	case HPROF_ROOT_NATIVE_STACK:
	case HPROF_ROOT_THREAD_BLOCK:
		return 1;
	case HPROF_ROOT_JNI_LOCAL:
	case HPROF_ROOT_JAVA_FRAME:
	case HPROF_ROOT_THREAD:
		return 2;
	default:
		return -1;
	}
}

static struct error *root_take(struct hprof_tables *tables, unsigned tag, int numbers)
{
	struct hprof_records *records = &tables->records;
	uint64_t thread = 0, frame = HPROF_NO_CLASS;
	struct hprof_root root = {.kind = (uint8_t)tag};
	struct error *error = hprof_id(records, &root.id);
	if (!error && tag == HPROF_ROOT_JNI_GLOBAL)
		error = hprof_skip(records, records->id_bytes);
	if (!error && numbers > 0)
		error = hprof_number(records, 4, &thread);
	if (!error && numbers > 1)
		error = hprof_number(records, 4, &frame);
	if (error)
		return error;
	root.thread = (uint32_t)thread;
	root.frame = (uint32_t)frame;
	if (tables->roots.len == ROOTS_MAX)
		return hprof_error(records, "has more than %u roots", ROOTS_MAX);
	return hprof_root_vec_push(&tables->roots, root) ? NULL : error_no_memory();
}

/* ---- Objects --------------------------------------------------------------------------------- */

static struct error *instance_take(struct hprof_tables *tables)
{
	struct hprof_records *records = &tables->records;
	uint64_t id, skipped, class, bytes;
	uint32_t number;
	struct error *error = hprof_id(records, &id);
	if (!error)
		error = hprof_number(records, 4, &skipped);
	if (!error)
		error = hprof_id(records, &class);
	if (!error)
		error = hprof_number(records, 4, &bytes);
	if (!error)
		error = hprof_skip(records, bytes);
	if (!error)
		error = class_find(tables, class, &number);
	return error ? error : row_add(tables, id, HPROF_IS_INSTANCE, number, bytes);
}

static struct error *array_take(struct hprof_tables *tables, bool of_objects)
{
	struct hprof_records *records = &tables->records;
	uint64_t id, skipped, count, class;
	uint32_t number;
	struct error *error = hprof_id(records, &id);
	if (!error)
		error = hprof_number(records, 4, &skipped);
	if (!error)
		error = hprof_number(records, 4, &count);
	if (!error)
		error = of_objects ? hprof_id(records, &class) : hprof_number(records, 1, &class);
	if (error)
		return error;
	unsigned bytes = of_objects ? records->id_bytes : hprof_type_bytes(records, class);
	if (!bytes || (!of_objects && class == HPROF_OBJECT))
		return hprof_error(
			records, "an array is of a type %" PRIu64 ", which there isn't", class);
	error = hprof_skip(records, count * bytes);
	number = (uint32_t) class;
	if (!error && of_objects)
		error = class_find(tables, class, &number);
	return error ? error
		     : row_add(tables, id, of_objects ? HPROF_IS_OBJECTS : HPROF_IS_PRIMITIVES,
			       number, count);
}

struct error *hprof_entry_next(struct hprof_records *records, unsigned *ret)
{
	uint64_t tag;
	*ret = 0;
	if (!records->left)
		return NULL;
	struct error *error = hprof_number(records, 1, &tag);
	if (error)
		return error;
	*ret = (unsigned)tag;
	return tag ? NULL : hprof_error(records, "an entry of the heap dump has the tag 0");
}

static struct error *dump_take(struct hprof_tables *tables, uint32_t (**statics)[5], size_t *room)
{
	struct error *error = NULL;
	while (!error) {
		unsigned tag;
		error = hprof_entry_next(&tables->records, &tag);
		if (error || !tag)
			break;
		int numbers = hprof_root_numbers(tag);
		if (numbers >= 0)
			error = root_take(tables, tag, numbers);
		else if (tag == HPROF_CLASS)
			error = class_take(tables, statics, room);
		else if (tag == HPROF_INSTANCE)
			error = instance_take(tables);
		else if (tag == HPROF_OBJECT_ARRAY || tag == HPROF_PRIMITIVE_ARRAY)
			error = array_take(tables, tag == HPROF_OBJECT_ARRAY);
		else
			error = hprof_error(&tables->records,
				"an entry of the heap dump is of a kind 0x%x, which there isn't",
				tag);
	}
	return error;
}

static struct error *records_read(
	struct hprof_tables *tables, uint32_t (**statics)[5], size_t *room)
{
	struct error *error = NULL;
	while (!error) {
		unsigned tag;
		error = hprof_record_next(&tables->records, &tag);
		if (error || !tag)
			break;
		tables->has_dump |= tag == HPROF_HEAP_DUMP;
		tables->has_segments |= tag == HPROF_HEAP_DUMP_SEGMENT;
		tables->has_end |= tag == HPROF_HEAP_DUMP_END;
		if (tag == HPROF_UTF8)
			error = text_take(tables);
		else if (tag == HPROF_LOAD_CLASS)
			error = class_load(tables);
		else if (tag == HPROF_FRAME)
			error = frame_take(tables);
		else if (tag == HPROF_TRACE)
			error = trace_take(tables);
		else if (tag == HPROF_HEAP_DUMP || tag == HPROF_HEAP_DUMP_SEGMENT)
			error = dump_take(tables, statics, room);
	}
	if (!error && !tables->has_dump && !tables->has_segments)
		error = hprof_error(&tables->records, "has no heap dump in it: only %s",
			"names or samples of HPROF");
	if (!error && tables->has_segments && !tables->has_end)
		error = hprof_error(
			&tables->records, "the heap dump is cut off: its end record is missing");
	return error;
}

static uint32_t super_find(const struct hprof_tables *tables, const struct hprof_class *class)
{
	const uint32_t *super = hprof_numbers_find(&tables->classes, class->super_id);
	return class->super_id && super ? *super : HPROF_NO_CLASS;
}

static struct error *shapes_make(
	struct hprof_tables *tables, const uint32_t (*statics)[5], size_t room)
{
	tables->shapes = calloc(tables->class_rows.len + 1, sizeof(*tables->shapes));
	if (!tables->shapes)
		return error_no_memory();
	for (size_t i = 0; i < tables->class_rows.len; i++) {
		const struct hprof_class *class = &tables->class_rows.data[i];
		struct hprof_shape *shape = &tables->shapes[i];
		shape->name = string_at(tables, class->name);
		shape->super = super_find(tables, class);
		for (uint32_t k = 0; k < class->field_count; k++) {
			uint8_t type = tables->fields.data[class->first_field + k].type;
			shape->fields[shape_place(&tables->records, type)]++;
		}
		if (i < room)
			memcpy(shape->statics, statics[i], sizeof(shape->statics));
	}
	return NULL;
}

struct error *hprof_tables_read(struct hprof_tables *tables, const struct input *input)
{
	uint32_t none, (*statics)[5] = NULL;
	size_t room = 0;
	*tables = (struct hprof_tables){.heap = NULL};
	buf_init(&tables->text);
	struct error *error = hprof_records_open(&tables->records, input);
	if (!error)
		error = managed_heap_create(&tables->heap);
	if (!error)
		error = hprof_string_add(tables, "", 0, &none);
	if (!error)
		error = records_read(tables, &statics, &room);
	if (!error)
		error = shapes_make(tables, (const uint32_t(*)[5])statics, room);
	free(statics);
	return error;
}
