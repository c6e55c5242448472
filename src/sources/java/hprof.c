/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap dump as objects and references. The objects are known after the first reading
 * (hprof_tables.h), in the order of the file, and found by their ids; the second one takes their
 * references. Objects of the heap: the root, one for each group of roots, then those of the file.
 */
#include "sources/java/hprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "sources/java/hprof_roots.h"
#include "sources/java/hprof_tables.h"
#include "sources/managed_heap_file.h"

#define EDGES_MAX (1u << 30)
#define SUPERCLASSES_MAX 4096u
#define THREAD_NAME_BYTES_MAX 256u

enum { TYPE_ROOT, TYPE_OBJECT, TYPE_CLASS, TYPES };

struct making {
	const struct input *input;
	struct hprof_tables tables;
	struct hprof_roots roots;
	struct hprof_reference_vec references; /* of classes */
	struct hprof_sorted *sorted;           /* rows by id */
	uint32_t *starts;                      /* in `sorted`, by the high bits of ids */
	unsigned shift;
	uint64_t least;
	uint32_t start_count;
	struct hprof_layout_of of;
	struct hprof_layout layout;
	uint32_t base; /* number of the first object of the file */
	uint32_t array_names[HPROF_TYPES];
	uint32_t name_class, name_super, name_loader, name_signers, name_domain;
	uint32_t next; /* row whose references come next */
};

static void hprof_making_deinit(struct making *making)
{
	hprof_tables_deinit(&making->tables);
	hprof_roots_deinit(&making->roots);
	hprof_reference_vec_deinit(&making->references);
	free(making->sorted);
	free(making->starts);
}

/* ---- Objects by id --------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct hprof_sorted *)a)->id, y = ((const struct hprof_sorted *)b)->id;
	return x < y ? -1 : x > y;
}

/* Where in `sorted` ids begin that have the same high bits: about four objects each. */
static struct error *starts_make(struct making *making, size_t count)
{
	making->least = making->sorted[0].id;
	uint64_t span = making->sorted[count - 1].id - making->least;
	while (span >> making->shift > count / 4 + 1)
		making->shift++;
	making->start_count = (uint32_t)(span >> making->shift) + 1;
	making->starts = malloc((making->start_count + 1ul) * sizeof(*making->starts));
	if (!making->starts)
		return error_no_memory();
	uint32_t at = 0;
	for (uint32_t i = 0; i <= making->start_count; i++) {
		while (at < count && (making->sorted[at].id - making->least) >> making->shift < i)
			at++;
		making->starts[i] = at;
	}
	return NULL;
}

static struct error *rows_sort(struct making *making)
{
	const struct hprof_row_vec *rows = &making->tables.rows;
	bool is_sorted = true;
	making->sorted = malloc((rows->len + 1) * sizeof(*making->sorted));
	if (!making->sorted)
		return error_no_memory();
	for (size_t i = 0; i < rows->len; i++) {
		making->sorted[i] = (struct hprof_sorted){rows->data[i].id, (uint32_t)i};
		is_sorted = is_sorted && (!i || rows->data[i - 1].id <= rows->data[i].id);
	}
	if (!is_sorted)
		qsort(making->sorted, rows->len, sizeof(*making->sorted), by_id);
	return starts_make(making, rows->len);
}

/* Returns the row of an object; HPROF_NO_CLASS: there is none. */
static uint32_t row_find(const void *context, uint64_t id)
{
	const struct making *making = context;
	uint64_t start = (id - making->least) >> making->shift;
	if (id < making->least || start >= making->start_count)
		return HPROF_NO_CLASS;
	uint32_t low = making->starts[start], high = making->starts[start + 1];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (making->sorted[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < making->tables.rows.len && making->sorted[low].id == id
		       ? making->sorted[low].row
		       : HPROF_NO_CLASS;
}

/* ---- References of classes ------------------------------------------------------------------- */

static const char *class_name_of(const struct making *making, uint32_t class)
{
	return (const char *)making->tables.text.data +
	       making->tables.heap->strings.data[making->tables.class_rows.data[class].name];
}

/* Whether a field holds nothing: what a reference refers to, but for soft ones. */
static bool field_is_weak(const struct making *making, uint32_t class, uint32_t name, bool is_soft)
{
	const char *text =
		(const char *)making->tables.text.data + making->tables.heap->strings.data[name];
	return !is_soft && strcmp(text, "referent") == 0 &&
	       strcmp(class_name_of(making, class), "java.lang.ref.Reference") == 0;
}

/* The references in the bytes of an instance: of its class, then of its superclass, … */
static struct error *references_find(struct making *making, uint32_t number)
{
	struct hprof_tables *tables = &making->tables;
	struct hprof_class *row = &tables->class_rows.data[number];
	uint32_t offset = 0, steps = 0;
	bool is_soft = false;
	row->first_reference = (uint32_t)making->references.len;
	for (uint32_t at = number; at != HPROF_NO_CLASS; at = tables->shapes[at].super) {
		const struct hprof_class *class = &tables->class_rows.data[at];
		if (!class->is_described || steps++ == SUPERCLASSES_MAX)
			return hprof_error(&tables->records,
				"the class 0x%" PRIx64 " is not described, or it is its own "
				"superclass",
				class->id);
		is_soft |= strcmp(class_name_of(making, at), "java.lang.ref.SoftReference") == 0;
		for (uint32_t i = 0; i < class->field_count; i++) {
			const struct hprof_field *field =
				&tables->fields.data[class->first_field + i];
			struct hprof_reference reference = {offset, field->name,
				field_is_weak(making, at, field->name, is_soft)};
			if (field->type == HPROF_OBJECT &&
				!hprof_reference_vec_push(&making->references, reference))
				return error_no_memory();
			offset += hprof_type_bytes(&tables->records, field->type);
		}
	}
	row->reference_count = (uint32_t)making->references.len - row->first_reference;
	row->value_bytes = offset;
	row->has_references = true;
	return NULL;
}

/* ---- Second reading -------------------------------------------------------------------------- */

static struct error *edge_push(
	struct making *making, uint32_t row, enum managed_reference kind, uint32_t name)
{
	struct managed_edges *edges = &making->tables.heap->edges;
	struct managed_edge edge = {.to = making->base + row, .name = name, .kind = kind};
	if (edges->len == EDGES_MAX)
		return hprof_error(
			&making->tables.records, "has more than %u references", EDGES_MAX);
	return managed_edges_push(edges, edge) ? NULL : error_no_memory();
}

/* Null, and objects that the file does not have, are no references. */
static struct error *edge_add(
	struct making *making, uint64_t id, enum managed_reference kind, uint32_t name)
{
	uint32_t row = id ? row_find(making, id) : HPROF_NO_CLASS;
	return row == HPROF_NO_CLASS ? NULL : edge_push(making, row, kind, name);
}

/* An object holds its class. That matters only for those that can be unloaded. */
static struct error *class_edge_add(struct making *making, uint32_t class)
{
	const struct hprof_class *row = &making->tables.class_rows.data[class];
	return row->is_root ? NULL
			    : edge_add(making, row->id, MANAGED_INTERNAL, making->name_class);
}

static struct error *object_begin(struct making *making, uint64_t id)
{
	struct hprof_tables *tables = &making->tables;
	if (making->next >= tables->rows.len || tables->rows.data[making->next].id != id)
		return hprof_error(&tables->records, "the file was changed while it was read");
	tables->heap->objects.data[making->base + making->next++].first_edge =
		(uint32_t)tables->heap->edges.len;
	return NULL;
}

static struct error *instance_read(struct making *making)
{
	struct hprof_records *records = &making->tables.records;
	uint64_t id, bytes;
	const uint8_t *data;
	struct error *error = hprof_id(records, &id);
	if (!error)
		error = object_begin(making, id);
	if (!error)
		error = hprof_skip(records, 4ull + records->id_bytes);
	if (!error)
		error = hprof_number(records, 4, &bytes);
	if (error)
		return error;
	uint32_t number = making->tables.rows.data[making->next - 1].class;
	struct hprof_class *class = &making->tables.class_rows.data[number];
	if (!class->has_references)
		error = references_find(making, number);
	if (!error && (bytes != class->value_bytes || bytes > HPROF_INSTANCE_MAX))
		error = hprof_error(records,
			"an object has %" PRIu64 " bytes of fields, and its class %u", bytes,
			class->value_bytes);
	if (!error)
		error = hprof_bytes(records, (size_t)bytes, &data);
	if (!error)
		error = class_edge_add(making, number);
	for (uint32_t i = 0; i < class->reference_count && !error; i++) {
		const struct hprof_reference *reference =
			&making->references.data[class->first_reference + i];
		error = edge_add(making, hprof_decode(data + reference->offset, records->id_bytes),
			reference->is_weak ? MANAGED_WEAK : MANAGED_PROPERTY, reference->name);
	}
	return error;
}

static struct error *array_read(struct making *making, bool of_objects)
{
	struct hprof_records *records = &making->tables.records;
	uint64_t id, count, class;
	struct error *error = hprof_id(records, &id);
	if (!error)
		error = object_begin(making, id);
	if (!error)
		error = hprof_skip(records, 4);
	if (!error)
		error = hprof_number(records, 4, &count);
	if (!error)
		error = of_objects ? hprof_id(records, &class) : hprof_number(records, 1, &class);
	if (!error && !of_objects)
		error = hprof_skip(records, count * hprof_type_bytes(records, class));
	if (!error && of_objects)
		error = class_edge_add(making, making->tables.rows.data[making->next - 1].class);
	for (uint64_t i = 0; of_objects && i < count && !error; i++) {
		error = hprof_id(records, &id);
		if (!error)
			error = edge_add(making, id, MANAGED_ELEMENT, (uint32_t)i);
	}
	return error;
}

static struct error *class_values_read(struct making *making)
{
	struct hprof_tables *tables = &making->tables;
	struct error *error = NULL;
	for (int part = 0; part < 2 && !error; part++) {
		uint64_t count;
		error = hprof_number(&tables->records, 2, &count);
		while (!error && count--) {
			struct hprof_value value;
			error = hprof_value_take(&tables->records, part == 0, &value);
			if (error || value.type != HPROF_OBJECT)
				continue;
			const uint32_t *name =
				part ? hprof_numbers_find(&tables->names, value.name) : NULL;
			error = edge_add(making, value.value, MANAGED_PROPERTY, name ? *name : 0);
		}
	}
	return error;
}

static struct error *class_read(struct making *making)
{
	struct hprof_records *records = &making->tables.records;
	const uint32_t names[] = {
		making->name_super, making->name_loader, making->name_signers, making->name_domain};
	uint64_t id, count;
	struct error *error = hprof_id(records, &id);
	if (!error)
		error = object_begin(making, id);
	if (!error)
		error = hprof_skip(records, 4);
	for (size_t i = 0; i < ARRAY_SIZE(names) && !error; i++) {
		error = hprof_id(records, &id);
		if (!error)
			error = edge_add(making, id, MANAGED_INTERNAL, names[i]);
	}
	if (!error)
		error = hprof_skip(records, 2ull * records->id_bytes + 4);
	if (!error)
		error = class_values_read(making);
	if (!error)
		error = hprof_number(records, 2, &count);
	return error ? error : hprof_skip(records, count * (records->id_bytes + 1));
}

static struct error *root_pass(struct hprof_records *records, unsigned tag, int numbers)
{
	uint64_t ids = tag == HPROF_ROOT_JNI_GLOBAL ? 2 : 1;
	return hprof_skip(records, ids * records->id_bytes + 4ull * (unsigned)numbers);
}

static struct error *dump_read(struct making *making)
{
	struct hprof_records *records = &making->tables.records;
	struct error *error = NULL;
	while (!error) {
		unsigned tag;
		error = hprof_entry_next(records, &tag);
		if (error || !tag)
			break;
		int numbers = hprof_root_numbers(tag);
		if (numbers >= 0)
			error = root_pass(records, tag, numbers);
		else if (tag == HPROF_CLASS)
			error = class_read(making);
		else if (tag == HPROF_INSTANCE)
			error = instance_read(making);
		else
			error = array_read(making, tag == HPROF_OBJECT_ARRAY);
	}
	return error;
}

static struct error *references_read(struct making *making)
{
	struct hprof_records *records = &making->tables.records;
	hprof_records_close(records);
	struct error *error = hprof_records_open(records, making->input);
	while (!error) {
		unsigned tag;
		error = hprof_record_next(records, &tag);
		if (error || !tag)
			break;
		if (tag == HPROF_HEAP_DUMP || tag == HPROF_HEAP_DUMP_SEGMENT)
			error = dump_read(making);
	}
	if (!error && making->next != making->tables.rows.len)
		error = hprof_error(records, "the file was changed while it was read");
	return error;
}

/* ---- Names of threads ------------------------------------------------------------------------ */

/* The row that a reference of that name leads to. */
static uint32_t reference_follow(const struct making *making, uint32_t row, const char *name)
{
	const struct managed_heap *heap = making->tables.heap;
	uint32_t object = making->base + row;
	if (row == HPROF_NO_CLASS)
		return row;
	for (uint32_t i = heap->objects.data[object].first_edge;
		i < managed_heap_edges_end(heap, object); i++) {
		const struct managed_edge *edge = &heap->edges.data[i];
		const char *text = edge->kind == MANAGED_PROPERTY
					   ? (const char *)making->tables.text.data +
						     heap->strings.data[edge->name]
					   : "";
		if (strcmp(text, name) == 0)
			return edge->to - making->base;
	}
	return HPROF_NO_CLASS;
}

static int by_text(const void *a, const void *b, void *context)
{
	const struct hprof_thread *threads = context;
	uint32_t x = threads[*(const uint32_t *)a].text, y = threads[*(const uint32_t *)b].text;
	return x < y ? -1 : x > y;
}

/* Latin-1 unless there is a NUL in it, which a name has as UTF-16 alone. */
static char *thread_name_make(const uint8_t *data, size_t len, unsigned unit)
{
	struct text name;
	bool is_wide = unit == 1 && memchr(data, 0, len);
	size_t step = is_wide ? 2 : unit;
	text_init(&name);
	text_add(&name, "");
	for (size_t i = 0; i + step <= len; i += step) {
		unsigned code = is_wide     ? data[i] | (unsigned)data[i + 1] << 8
				: unit == 2 ? (unsigned)data[i] << 8 | data[i + 1]
					    : data[i];
		if (code < 0x80)
			text_add_char(&name, (char)code);
		else if (code < 0x800)
			text_printf(&name, "%c%c", (int)(0xc0 | code >> 6),
				(int)(0x80 | (code & 0x3f)));
		else
			text_add_char(&name, '?');
	}
	return name.data;
}

static struct error *text_read(struct making *making, struct hprof_thread *thread)
{
	struct hprof_records *records = &making->tables.records;
	uint64_t count, type;
	const uint8_t *data;
	struct error *error = hprof_skip(records, records->id_bytes + 4ull);
	if (!error)
		error = hprof_number(records, 4, &count);
	if (!error)
		error = hprof_number(records, 1, &type);
	if (error)
		return error;
	unsigned unit = hprof_type_bytes(records, type);
	size_t bytes = (size_t)min(count * unit, (uint64_t)THREAD_NAME_BYTES_MAX);
	error = hprof_bytes(records, bytes, &data);
	if (error)
		return error;
	if (!thread->name && (type == HPROF_BYTE || type == HPROF_CHAR))
		thread->name = thread_name_make(data, bytes, unit);
	return hprof_skip(records, count * unit - bytes);
}

static struct error *entry_pass(struct hprof_records *records, unsigned tag)
{
	uint64_t count, type = HPROF_OBJECT, values;
	struct error *error;
	int numbers = hprof_root_numbers(tag);
	if (numbers >= 0)
		return root_pass(records, tag, numbers);
	if (tag == HPROF_CLASS) {
		error = hprof_skip(records, 7ull * records->id_bytes + 8);
		for (int part = 0; part < 2 && !error; part++) {
			error = hprof_number(records, 2, &values);
			for (struct hprof_value value; !error && values; values--)
				error = hprof_value_take(records, part == 0, &value);
		}
		if (!error)
			error = hprof_number(records, 2, &count);
		return error ? error : hprof_skip(records, count * (records->id_bytes + 1));
	}
	error = hprof_skip(records, records->id_bytes + 4ull);
	if (!error && tag == HPROF_INSTANCE)
		error = hprof_skip(records, records->id_bytes);
	if (!error)
		error = hprof_number(records, 4, &count);
	if (error || tag == HPROF_INSTANCE)
		return error ? error : hprof_skip(records, count);
	error = tag == HPROF_OBJECT_ARRAY ? hprof_skip(records, records->id_bytes)
					  : hprof_number(records, 1, &type);
	return error ? error : hprof_skip(records, count * hprof_type_bytes(records, type));
}

/* Reads the file up to the last text that is wanted. `order`: threads by the rows of their names.
 */
static struct error *texts_read(struct making *making, const uint32_t *order, size_t count)
{
	struct hprof_records *records = &making->tables.records;
	uint32_t row = 0;
	size_t done = 0;
	hprof_records_close(records);
	struct error *error = hprof_records_open(records, making->input);
	while (!error && done < count) {
		unsigned tag = 0;
		error = hprof_entry_next(records, &tag);
		if (!error && !tag) {
			do {
				error = hprof_record_next(records, &tag);
			} while (!error && tag && tag != HPROF_HEAP_DUMP &&
				 tag != HPROF_HEAP_DUMP_SEGMENT);
			if (!tag)
				break;
			continue;
		}
		bool is_object = !error && hprof_root_numbers(tag) < 0;
		struct hprof_thread *thread = &making->roots.threads.data[order[done]];
		bool is_wanted = is_object && row == thread->text && tag == HPROF_PRIMITIVE_ARRAY;
		if (!error)
			error = is_wanted ? text_read(making, thread) : entry_pass(records, tag);
		for (; is_object && done < count &&
			making->roots.threads.data[order[done]].text <= row;)
			done++;
		row += is_object;
	}
	return error;
}

static struct error *thread_names_read(struct making *making)
{
	struct hprof_thread_vec *threads = &making->roots.threads;
	_cleanup_free_ uint32_t *order = malloc((threads->len + 1) * sizeof(*order));
	size_t count = 0;
	if (!order)
		return error_no_memory();
	for (uint32_t i = 0; i < threads->len; i++) {
		struct hprof_thread *thread = &threads->data[i];
		uint32_t string = reference_follow(making, thread->row, "name");
		thread->text = reference_follow(making, string, "value");
		if (thread->text != HPROF_NO_CLASS)
			order[count++] = i;
	}
	if (count)
		qsort_r(order, count, sizeof(*order), by_text, threads->data);
	return texts_read(making, order, count);
}

/* ---- The heap -------------------------------------------------------------------------------- */

static struct error *names_add(struct making *making)
{
	static const char *const arrays[HPROF_TYPES] = {[HPROF_BOOLEAN] = "boolean[]",
		[HPROF_CHAR] = "char[]",
		[HPROF_FLOAT] = "float[]",
		[HPROF_DOUBLE] = "double[]",
		[HPROF_BYTE] = "byte[]",
		[HPROF_SHORT] = "short[]",
		[HPROF_INT] = "int[]",
		[HPROF_LONG] = "long[]"};
	const struct {
		uint32_t *number;
		const char *text;
	} names[] = {{&making->name_class, "<class>"}, {&making->name_super, "<superclass>"},
		{&making->name_loader, "<class loader>"}, {&making->name_signers, "<signers>"},
		{&making->name_domain, "<protection domain>"}};
	struct error *error = NULL;
	for (size_t i = 0; i < HPROF_TYPES && !error; i++)
		if (arrays[i])
			error = hprof_string_add(&making->tables, arrays[i], strlen(arrays[i]),
				&making->array_names[i]);
	for (size_t i = 0; i < ARRAY_SIZE(names) && !error; i++)
		error = hprof_string_add(
			&making->tables, names[i].text, strlen(names[i].text), names[i].number);
	return error;
}

/* "class Shop", which a class is called on ways. */
static struct error *class_title(struct making *making, uint32_t class, uint32_t *ret)
{
	_cleanup_(text_deinit) struct text title;
	text_init(&title);
	text_printf(&title, "class %s", class_name_of(making, class));
	return title.data ? hprof_string_add(&making->tables, title.data, strlen(title.data), ret)
			  : error_no_memory();
}

static struct error *object_push(struct making *making, const struct hprof_entry_row *row)
{
	struct managed_object object = {
		.bytes = hprof_layout_bytes(&making->of, &making->layout, row),
		.type = TYPE_OBJECT};
	struct error *error = NULL;
	if (row->what == HPROF_IS_PRIMITIVES)
		object.name = making->array_names[row->class];
	else
		object.name = making->tables.class_rows.data[row->class].name;
	if (row->what == HPROF_IS_CLASS) {
		object.type = TYPE_CLASS;
		error = class_title(making, row->class, &object.name);
	}
	if (!error && !managed_objects_push(&making->tables.heap->objects, object))
		error = error_no_memory();
	return error;
}

/* The heap's root and the groups of roots, with their references; then objects without theirs. */
static struct error *objects_make(struct making *making)
{
	struct managed_heap *heap = making->tables.heap;
	const struct hprof_hold_vec *holds = &making->roots.holds;
	size_t hold = 0;
	struct error *error = NULL;
	making->base = (uint32_t)making->roots.groups.len + 1;
	for (uint32_t group = 0; group < making->base && !error; group++) {
		struct managed_object root = {
			.type = TYPE_ROOT, .first_edge = (uint32_t)heap->edges.len};
		if (!managed_objects_push(&heap->objects, root))
			return error_no_memory();
		for (uint32_t i = 1; !group && i < making->base && !error; i++) {
			struct managed_edge edge = {.to = i, .kind = MANAGED_BY_ROOT};
			if (!managed_edges_push(&heap->edges, edge))
				return error_no_memory();
		}
		for (; hold < holds->len && holds->data[hold].group == group && !error; hold++)
			error = edge_push(making, holds->data[hold].row, MANAGED_BY_ROOT, 0);
	}
	for (size_t i = 0; i < making->tables.rows.len && !error; i++)
		error = object_push(making, &making->tables.rows.data[i]);
	return error;
}

static struct error *root_names_set(struct making *making)
{
	struct error *error = thread_names_read(making);
	for (uint32_t i = 0; i < making->roots.groups.len && !error; i++)
		error = hprof_root_name(&making->tables, &making->roots,
			&making->roots.groups.data[i],
			&making->tables.heap->objects.data[i + 1].name);
	return error;
}

static struct error *sizes_say(struct making *making)
{
	const struct hprof_layout *layout = &making->layout;
	_cleanup_(text_deinit) struct text text;
	text_init(&text);
	text_printf(&text,
		"The file has no sizes of objects: they are as HotSpot lays objects out, with "
		"headers of %u bytes, %s references and an alignment of %u bytes",
		layout->header,
		making->tables.records.id_bytes == 4 ? "32-bit"
		: layout->reference == 4             ? "compressed"
						     : "64-bit",
		layout->alignment);
	if (layout->overlaps)
		text_printf(&text,
			". They are estimates: %" PRIu64 " of %" PRIu64
			" objects would reach into the next one",
			layout->overlaps, layout->looked_at);
	else if (layout->looked_at && layout->fits * 2 > layout->looked_at)
		text_printf(&text, "; %.1f%% of objects end where the next one begins",
			100.0 * (double)layout->fits / (double)layout->looked_at);
	else
		text_add(&text, ". They are estimates: too few objects lie side by side to confirm "
				"that");
	text_add(&text, ".");
	making->tables.heap->sizes = text.data ? strdup(text.data) : NULL;
	return making->tables.heap->sizes ? NULL : error_no_memory();
}

static struct error *layout_find(struct making *making)
{
	struct hprof_tables *tables = &making->tables;
	making->of = (struct hprof_layout_of){.shapes = tables->shapes,
		.shape_count = tables->class_rows.len,
		.class_class = HPROF_NO_CLASS,
		.id_bytes = tables->records.id_bytes,
		.rows = tables->rows.data,
		.sorted = making->sorted,
		.row_count = tables->rows.len};
	for (uint32_t i = 0; i < tables->class_rows.len; i++)
		if (strcmp(tables->shapes[i].name, "java.lang.Class") == 0)
			making->of.class_class = i;
	hprof_layout_find(&making->of, &making->layout);
	return sizes_say(making);
}

static struct error *heap_make(struct making *making)
{
	struct hprof_tables *tables = &making->tables;
	struct managed_heap *heap = tables->heap;
	if (!tables->rows.len)
		return hprof_error(&tables->records, "has no objects");
	heap->types[TYPE_ROOT] = MANAGED_SYNTHETIC;
	heap->types[TYPE_OBJECT] = MANAGED_OBJECT;
	heap->types[TYPE_CLASS] = MANAGED_CLASS;
	heap->type_count = TYPES;
	struct error *error = rows_sort(making);
	if (!error)
		error = layout_find(making);
	if (!error)
		error = names_add(making);
	if (!error)
		error = hprof_roots_make(tables, row_find, making, &making->roots);
	if (!error)
		error = objects_make(making);
	if (!error)
		error = references_read(making);
	if (!error)
		error = root_names_set(making);
	return error;
}

struct error *hprof_read(const struct input *input, struct managed_heap **ret)
{
	_cleanup_(hprof_making_deinit) struct making making = {.input = input};
	struct error *error = hprof_tables_read(&making.tables, input);
	if (!error)
		error = heap_make(&making);
	if (error)
		return error;
	struct managed_heap *heap = steal_ptr(making.tables.heap);
	heap->text = (char *)making.tables.text.data;
	buf_init(&making.tables.text);
	error = managed_heap_classify(heap);
	if (error)
		managed_heap_destroy(heap);
	else
		*ret = heap;
	return error;
}

struct error *hprof_file_read(const char *path, const char *name, struct managed_heap **ret)
{
	_cleanup_(input_close) struct input input = {.fd = -1};
	struct error *error = input_open_file(&input, path);
	if (!error && name)
		input.name = name;
	return error ? error : hprof_read(&input, ret);
}
