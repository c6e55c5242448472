/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/watch/watch_modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "process/mapped_file.h"

void module_table_init(struct module_table *table, pid_t pid)
{
	*table = (struct module_table){.pid = pid};
}

static void watch_file_deinit(struct watch_file *file)
{
	free(file->path);
	free(file->open_path);
	watch_row_vec_deinit(&file->rows);
	watched_places_deinit(&file->places);
}

static void module_deinit(struct watch_module *module)
{
	free(module->path);
	free(module->open_path);
}

void module_table_deinit(struct module_table *table)
{
	for (size_t i = 0; i < table->files.len; i++)
		watch_file_deinit(&table->files.data[i]);
	for (size_t i = 0; i < table->modules.len; i++)
		module_deinit(&table->modules.data[i]);
	watch_file_vec_deinit(&table->files);
	watch_modules_deinit(&table->modules);
}

static bool map_counts(const struct process_map *map)
{
	return map->executable && map->inode && map->path[0] == '/';
}

static uint64_t maps_hash(const struct process_maps *maps)
{
	uint64_t hash = 1;
	for (size_t i = 0; i < maps->maps.len; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (map_counts(map))
			hash = hash_u64(hash ^ hash_u64(map->start) ^ hash_u64(map->inode + 1));
	}
	return hash;
}

/* What the file has; one that can't be read has nothing. */
static struct error *file_read(struct watch_file *file)
{
	struct elf_file elf;
	struct error *error = elf_file_open(file->open_path ? file->open_path : file->path, &elf);
	if (error) {
		error_destroy(error);
		return NULL;
	}
	file->is_readable = true;
	file->build_id_len = elf_file_build_id(&elf, file->build_id);
	error = unwind_rows_read(&elf, &file->rows);
	if (!error)
		error = watched_places_find(&elf, &file->places, &file->has_malloc);
	elf_file_close(&elf);
	return error;
}

/* Returns the number of the file of a mapping, which is read if it is new. */
static struct error *file_get(
	struct module_table *table, const struct process_map *map, bool is_program, size_t *ret)
{
	for (size_t i = 0; i < table->files.len; i++) {
		const struct watch_file *file = &table->files.data[i];
		if (file->inode == map->inode && file->device == map->device_major &&
			!strcmp(file->path, map->path)) {
			*ret = i;
			return NULL;
		}
	}
	enum mapped_file_place place;
	struct watch_file *file = watch_file_vec_push_uninit(&table->files);
	if (!file)
		return error_no_memory();
	*file = (struct watch_file){.inode = map->inode,
		.device = map->device_major,
		.path = strdup(map->path),
		.open_path = mapped_file_find(table->pid, map, is_program, &place)};
	*ret = table->files.len - 1;
	return file->path ? file_read(file) : error_no_memory();
}

static bool module_bias(const struct watch_file *file, const struct process_map *map, uint64_t *ret)
{
	struct elf_file elf;
	uint64_t address;
	struct error *error = elf_file_open(file->open_path ? file->open_path : file->path, &elf);
	if (error) {
		error_destroy(error);
		return false;
	}
	bool is_found = elf_file_address(&elf, map->offset, &address);
	elf_file_close(&elf);
	*ret = map->start - address;
	return is_found;
}

static struct watch_module *module_known(
	struct module_table *table, size_t file, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < table->modules.len; i++) {
		struct watch_module *module = &table->modules.data[i];
		if (module->file == file && module->start == start && module->end == end)
			return module;
	}
	return NULL;
}

static struct error *module_add(
	struct module_table *table, const struct process_map *map, bool is_program)
{
	size_t number = 0;
	uint64_t bias;
	struct error *error = file_get(table, map, is_program, &number);
	if (error)
		return error;
	struct watch_module *known = module_known(table, number, map->start, map->end);
	if (known) {
		known->is_gone = false;
		return NULL;
	}
	const struct watch_file *file = &table->files.data[number];
	if (!module_bias(file, map, &bias))
		return NULL;
	struct watch_module module = {.path = strdup(file->path),
		.open_path = file->open_path ? strdup(file->open_path) : NULL,
		.start = map->start,
		.end = map->end,
		.bias = bias,
		.build_id_len = file->build_id_len,
		.file = number};
	memcpy(module.build_id, file->build_id, sizeof(module.build_id));
	if (module.path && (module.open_path || !file->open_path) &&
		watch_modules_push(&table->modules, module))
		return NULL;
	module_deinit(&module);
	return error_no_memory();
}

static struct error *modules_read(struct module_table *table, const struct process_maps *maps,
	uint64_t *ret_inode, uint64_t *ret_start)
{
	struct error *error = NULL;
	*ret_inode = 0;
	*ret_start = 0;
	for (size_t i = 0; i < table->modules.len; i++)
		table->modules.data[i].is_gone = true;
	for (size_t i = 0; i < maps->maps.len && !error; i++) {
		const struct process_map *map = &maps->maps.data[i];
		if (!map_counts(map))
			continue;
		/* The first mapping with code is usually the program's; a wrong guess only costs
		 * another way to open the file. */
		bool is_program = !*ret_inode;
		if (is_program) {
			*ret_inode = map->inode;
			*ret_start = map->start;
		}
		error = module_add(table, map, is_program);
	}
	return error;
}

struct error *module_table_refresh(
	struct module_table *table, bool *ret_changed, bool *ret_other_program)
{
	struct process_maps maps;
	uint64_t inode, start;
	*ret_changed = false;
	*ret_other_program = false;
	struct error *error = process_maps_read(table->pid, &maps);
	if (error)
		return error;
	uint64_t state = maps_hash(&maps);
	if (state != table->state && maps.maps.len) {
		error = modules_read(table, &maps, &inode, &start);
		*ret_changed = true;
		*ret_other_program = table->state && (inode != table->program_inode ||
							     start != table->program_start);
		table->program_inode = inode;
		table->program_start = start;
		table->state = state;
	}
	process_maps_deinit(&maps);
	return error;
}

static int modules_compare(const void *left, const void *right)
{
	const struct watch_module *a = *(const struct watch_module *const *)left;
	const struct watch_module *b = *(const struct watch_module *const *)right;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Rows outside of the mapping are those of another one of the file. */
static bool module_add_rows(const struct watch_module *module, const struct watch_row_vec *from,
	struct watch_row_vec *rows)
{
	if (!watch_row_vec_reserve(rows, rows->len + from->len + 2))
		return false;
	for (size_t i = 0; i < from->len; i++) {
		struct watch_row row = from->data[i];
		row.pc += module->bias;
		if (row.pc >= module->start && row.pc < module->end)
			rows->data[rows->len++] = row;
	}
	rows->data[rows->len++] = (struct watch_row){.pc = module->end, .cfa = WATCH_ROW_NONE};
	return true;
}

struct error *module_table_rows(const struct module_table *table, struct watch_row_vec *rows)
{
	size_t count = 0;
	_cleanup_free_ const struct watch_module **modules =
		calloc(table->modules.len + 1, sizeof(const struct watch_module *));
	if (!modules)
		return error_no_memory();
	for (size_t i = 0; i < table->modules.len; i++) {
		if (!table->modules.data[i].is_gone)
			modules[count++] = &table->modules.data[i];
	}
	qsort(modules, count, sizeof(modules[0]), modules_compare);
	for (size_t i = 0; i < count; i++) {
		if (!module_add_rows(modules[i], &table->files.data[modules[i]->file].rows, rows))
			return error_no_memory();
	}
	return NULL;
}

size_t watch_modules_find(const struct watch_modules *modules, uint64_t address)
{
	size_t gone = SIZE_MAX;
	for (size_t i = modules->len; i-- > 0;) {
		const struct watch_module *module = &modules->data[i];
		if (address < module->start || address >= module->end)
			continue;
		if (!module->is_gone)
			return i;
		if (gone == SIZE_MAX)
			gone = i;
	}
	return gone;
}

bool module_table_is_allocator(const struct module_table *table, uint64_t address, bool is_caller)
{
	size_t number = watch_modules_find(&table->modules, address);
	if (number == SIZE_MAX)
		return false;
	const struct watch_module *module = &table->modules.data[number];
	const struct watch_file *file = &table->files.data[module->file];
	bool has_mmap = false;
	for (size_t i = 0; i < file->places.len; i++) {
		const struct watched_place *place = &file->places.data[i];
		const struct watched_function *function = &watched_functions[place->function];
		uint64_t from = place->address + module->bias;
		has_mmap |= function->where == WATCHED_LIBC;
		if (function->where == WATCHED_ALLOCATOR && address >= from &&
			address < from + place->bytes)
			return true;
	}
	/* libc does other things, too, and so may the program itself. */
	return is_caller && file->has_malloc && !has_mmap && file->inode != table->program_inode;
}
