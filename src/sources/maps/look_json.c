/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sources/maps/look_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char schema_start[] = "heapwise.maps/1";

/* An address, "0x7f12…"; false: it is none. */
static bool address_read(const json_t *row, const char *key, uint64_t *ret)
{
	const char *text = json_string_value(json_object_get(row, key));
	char *end;
	if (!text || strncmp(text, "0x", 2) != 0)
		return false;
	*ret = strtoull(text, &end, 16);
	return end != text && !*end;
}

static void figure_read(
	const json_t *row, const char *key, enum look_figure figure, struct look_mapping *ret)
{
	const json_t *value = json_object_get(row, key);
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		look_set_figure(ret, figure, (uint64_t)json_integer_value(value));
}

static void owner_read(const json_t *row, struct look_mapping *ret)
{
	const char *owner = json_string_value(json_object_get(row, "owner"));
	ret->owner = look_owner_of(ret);
	for (unsigned i = 0; owner && i < LOOK_OWNERS; i++) {
		if (!strcmp(owner, look_owner_name(i)))
			ret->owner = i;
	}
}

static const char *word_copy(struct memory_look *look, const char *text)
{
	return arena_strdup(&look->words, text ? text : "");
}

/* False: no memory; *ret_taken: it is a mapping, above the one before. */
static bool row_read(const json_t *row, struct memory_look *look, bool *ret_taken)
{
	struct look_mapping mapping = {.start = 0};
	size_t count = look->mappings.len;
	const char *flags = json_string_value(json_object_get(row, "flags"));
	const json_t *inode = json_object_get(row, "inode");
	*ret_taken = address_read(row, "start", &mapping.start) &&
		     address_read(row, "end", &mapping.end) && mapping.start < mapping.end &&
		     flags && strlen(flags) == 4 &&
		     (!count || look->mappings.data[count - 1].end <= mapping.start);
	if (!*ret_taken)
		return true;
	memcpy(mapping.flags, flags, sizeof(mapping.flags));
	if (json_is_integer(inode) && json_integer_value(inode) > 0)
		mapping.inode = (uint64_t)json_integer_value(inode);
	const json_t *offset = json_object_get(row, "offset");
	if (json_is_integer(offset) && json_integer_value(offset) >= 0)
		mapping.offset = (uint64_t)json_integer_value(offset);
	const json_t *device = json_object_get(row, "device");
	if (json_is_integer(device) && json_integer_value(device) >= 0)
		mapping.device = (uint32_t)json_integer_value(device);
	mapping.name = word_copy(look, json_string_value(json_object_get(row, "name")));
	const char *whose = json_string_value(json_object_get(row, "whose"));
	mapping.whose = whose ? word_copy(look, whose) : NULL;
	figure_read(row, "rss_bytes", LOOK_RSS, &mapping);
	figure_read(row, "pss_bytes", LOOK_PSS, &mapping);
	figure_read(row, "private_bytes", LOOK_PRIVATE, &mapping);
	figure_read(row, "dirty_bytes", LOOK_DIRTY, &mapping);
	figure_read(row, "swapped_bytes", LOOK_SWAPPED, &mapping);
	figure_read(row, "huge_bytes", LOOK_HUGE, &mapping);
	return mapping.name && (!whose || mapping.whose) &&
	       (owner_read(row, &mapping), look_mapping_vec_push(&look->mappings, mapping));
}

static int by_start(const void *left, const void *right)
{
	uint64_t a = 0, b = 0;
	address_read(*(json_t *const *)left, "start", &a);
	address_read(*(json_t *const *)right, "start", &b);
	return (a > b) - (a < b);
}

/* Rows of a series come by growth; those that are gone have no place any more. */
static struct error *rows_read(const json_t *rows, struct memory_look *look, size_t *ret_left_out)
{
	size_t count = json_array_size(rows), kept = 0;
	const json_t **sorted = calloc(count + 1, sizeof(*sorted));
	bool ok = sorted;
	for (size_t i = 0; ok && i < count; i++) {
		const json_t *row = json_array_get(rows, i);
		if (!json_is_true(json_object_get(row, "gone")))
			sorted[kept++] = row;
	}
	if (ok)
		qsort(sorted, kept, sizeof(*sorted), by_start);
	for (size_t i = 0; ok && i < kept; i++) {
		bool taken;
		ok = row_read(sorted[i], look, &taken);
		*ret_left_out += !taken;
	}
	free(sorted);
	return ok ? NULL : error_no_memory();
}

struct error *look_json_read(const char *name, const char *text, size_t len,
	struct memory_look *look, size_t *ret_left_out)
{
	json_error_t wrong;
	json_t *document = json_loadb(text, len, 0, &wrong);
	*ret_left_out = 0;
	if (!document)
		return error_create(ERROR_INPUT, "%s: line %d: %s: JSON is expected", name,
			wrong.line, wrong.text);
	const char *schema = json_string_value(json_object_get(document, "schema"));
	const json_t *rows = json_object_get(document, "mappings");
	const json_t *processes = json_object_get(document, "processes");
	struct error *error = NULL;
	if (!schema || strcmp(schema, schema_start) != 0 || !json_is_array(rows))
		error = error_create(ERROR_INPUT,
			"%s: this is not what 'heapwise maps --json' writes: its schema is no %s",
			name, schema_start);
	else if (json_array_size(processes) > 1)
		error = error_create(ERROR_INPUT,
			"%s: it has %zu processes; save each with a command of its own", name,
			json_array_size(processes));
	else
		error = rows_read(rows, look, ret_left_out);
	json_decref(document);
	return error;
}
