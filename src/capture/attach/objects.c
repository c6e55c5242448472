/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/attach/objects.h"

#include <elf.h>
#include <string.h>

#define PAGE 4096ull
#define PARTS_MAX 64u

/* Where an object's program headers are; returns how many there are, 0: it has none. */
static uint64_t find_parts(
	const struct linked_objects *objects, const struct linked_object *object, uint64_t *ret_at)
{
	Elf64_Ehdr head;
	if (object == objects->objects.data) {
		*ret_at = objects->program_headers;
		return objects->program_header_count;
	}
	if (process_memory_read(&objects->memory, object->bias, &head, sizeof(head)) !=
			sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	*ret_at = object->bias + head.e_phoff;
	return head.e_phnum;
}

/* False: it has no parts that are loaded. */
static bool describe_object(const struct linked_objects *objects,
	const struct linked_object *object, struct hw_attach_object *ret)
{
	uint64_t at = 0, count = find_parts(objects, object, &at);
	*ret = (struct hw_attach_object){
		.start = UINT64_MAX, .bias = object->bias, .identity = object->map};
	for (uint64_t i = 0; i < count && i < PARTS_MAX; i++) {
		Elf64_Phdr part;
		if (process_memory_read(&objects->memory, at + i * sizeof(part), &part,
			    sizeof(part)) != sizeof(part))
			return false;
		uint64_t start = (object->bias + part.p_vaddr) / PAGE * PAGE,
			 end = object->bias + part.p_vaddr + part.p_memsz;
		if (part.p_type == PT_GNU_EH_FRAME)
			ret->eh_frame_hdr = object->bias + part.p_vaddr;
		if (part.p_type != PT_LOAD)
			continue;
		ret->start = start < ret->start ? start : ret->start;
		ret->end = end > ret->end ? end : ret->end;
	}
	if (ret->eh_frame_hdr < ret->start || ret->eh_frame_hdr >= ret->end ||
		process_memory_read(&objects->memory, ret->eh_frame_hdr, &ret->eh_frame_word, 8) !=
			8)
		ret->eh_frame_hdr = 0;
	return ret->start < ret->end;
}

/* The executable has no name, wherever linkers call it by one; the kernel's part may have none
 * (musl). */
static const char *path_of(const struct linked_objects *objects, const struct linked_object *object)
{
	const struct process_map *map = process_maps_find(&objects->maps, object->bias);
	if (object == objects->objects.data)
		return "";
	return map && !strcmp(map->path, "[vdso]") ? "linux-vdso.so.1" : object->path;
}

struct error *attach_objects_list(
	const struct linked_objects *objects, struct attach_object_vec *ret)
{
	for (size_t i = 0; i < objects->objects.len; i++) {
		const struct linked_object *object = &objects->objects.data[i];
		struct attach_object one = {.path = path_of(objects, object)};
		if (describe_object(objects, object, &one.row) && !attach_object_vec_push(ret, one))
			return error_no_memory();
	}
	return NULL;
}

static bool is_same_row(const struct hw_attach_objects *table, const struct hw_attach_object *row,
	const struct attach_object *object)
{
	return row->start == object->row.start && row->end == object->row.end &&
	       row->identity == object->row.identity && row->path < HW_ATTACH_PATHS_MAX &&
	       !strncmp(&table->paths[row->path], object->path, HW_ATTACH_PATHS_MAX - row->path);
}

static bool is_in_table(const struct hw_attach_objects *table, const struct attach_object *object)
{
	for (uint32_t i = 0; i < table->count; i++) {
		if (!table->rows[i].gone && is_same_row(table, &table->rows[i], object))
			return true;
	}
	return false;
}

static bool is_loaded(const struct hw_attach_objects *table, const struct hw_attach_object *row,
	const struct attach_object_vec *now)
{
	for (size_t i = 0; i < now->len; i++) {
		if (is_same_row(table, row, &now->data[i]))
			return true;
	}
	return false;
}

static bool add_row(struct hw_attach_objects *table, const struct attach_object *object)
{
	size_t bytes = strlen(object->path) + 1;
	if (table->count >= HW_ATTACH_OBJECTS_MAX ||
		bytes > HW_ATTACH_PATHS_MAX - table->path_bytes)
		return false;
	struct hw_attach_object *row = &table->rows[table->count++];
	*row = object->row;
	row->path = table->path_bytes;
	memcpy(&table->paths[row->path], object->path, bytes);
	table->path_bytes += (uint32_t)bytes;
	return true;
}

bool attach_objects_update(
	struct hw_attach_objects *table, const struct attach_object_vec *now, uint32_t *ret_gone)
{
	bool all = true;
	*ret_gone = 0;
	if (table->count > HW_ATTACH_OBJECTS_MAX || table->path_bytes > HW_ATTACH_PATHS_MAX)
		return false; /* the process has overwritten it */
	for (uint32_t i = 0; i < table->count; i++) {
		struct hw_attach_object *row = &table->rows[i];
		if (row->gone || is_loaded(table, row, now))
			continue;
		row->gone = 1;
		++*ret_gone;
	}
	for (size_t i = 0; i < now->len; i++) {
		if (!is_in_table(table, &now->data[i]))
			all = add_row(table, &now->data[i]) && all;
	}
	return all;
}
