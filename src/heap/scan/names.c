/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/scan/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct error *heap_names_open(
	const struct symbols_settings *settings, const char *exe, struct heap_names *ret)
{
	*ret = (struct heap_names){.exe = exe};
	arena_init(&ret->arena);
	return symbols_create(settings, &ret->symbols);
}

void heap_names_close(struct heap_names *names)
{
	types_destroy(names->types);
	names->types = NULL;
	symbols_destroy(names->symbols);
	names->symbols = NULL;
	named_modules_deinit(&names->modules);
	arena_deinit(&names->arena);
}

static const struct named_module *find_module(const struct heap_names *names, const char *path)
{
	for (size_t i = 0; i < names->modules.len; i++) {
		if (!strcmp(names->modules.data[i].path, path))
			return &names->modules.data[i];
	}
	return NULL;
}

/* live: the path of the file of a process that runs; NULL: the module's own. */
static bool add_module_as(struct heap_names *names, const struct address_module *module,
	const char *live, uint32_t *ret)
{
	const struct named_module *known = find_module(names, module->path);
	if (known) {
		*ret = known->symbols;
		return true;
	}
	struct named_module fresh = {
		.path = arena_strdup(&names->arena, module->path), .symbols = 0};
	const char *stands = names->exe && module->executable ? names->exe : live;
	struct error *error =
		!fresh.path ? error_no_memory()
		: stands    ? symbols_add_file(names->symbols, stands, module->build_id,
				      module->build_id_len, &fresh.symbols)
			    : symbols_add_module(names->symbols, module->path, module->build_id,
				      module->build_id_len, &fresh.symbols);
	if (error || !named_modules_push(&names->modules, fresh)) {
		error_destroy(error);
		return false;
	}
	*ret = fresh.symbols;
	return true;
}

static bool names_add_module(
	struct heap_names *names, const struct address_module *module, uint32_t *ret)
{
	return add_module_as(names, module, NULL, ret);
}

struct error *heap_names_live(struct heap_names *names, const struct address_space *space,
	pid_t readable,
	void (*listen)(
		void *ctx, const struct address_module *module, enum mapped_file_place where),
	void *ctx)
{
	for (size_t i = 0; i < space->modules.len; i++) {
		const struct address_module *module = &space->modules.data[i];
		const struct process_map *map = address_space_map(space, module->start);
		enum mapped_file_place where = MAPPED_FILE_AT_PATH;
		_cleanup_free_ char *path =
			map ? mapped_file_find(readable, map, module->executable, &where) : NULL;
		uint32_t number;
		if (!add_module_as(names, module, path, &number))
			return error_no_memory();
		if (where != MAPPED_FILE_AT_PATH)
			listen(ctx, module, where);
	}
	return NULL;
}

static char *names_find_file(
	void *context, const struct address_module *module, enum address_file *ret)
{
	struct heap_names *names = context;
	uint32_t number;
	*ret = ADDRESS_FILE_MISSING;
	if (!names_add_module(names, module, &number))
		return NULL;
	const char *path = symbols_module_file(names->symbols, number);
	if (path)
		*ret = module->build_id_len ? ADDRESS_FILE_SAME : ADDRESS_FILE_UNVERIFIED;
	else if (symbols_module_changed(names->symbols, number))
		*ret = ADDRESS_FILE_CHANGED;
	return path ? strdup(path) : NULL;
}

struct address_files heap_names_files(struct heap_names *names)
{
	return (struct address_files){names, names_find_file};
}

const char *heap_names_changed(struct heap_names *names, const struct address_module *module)
{
	uint32_t number;
	if (!names_add_module(names, module, &number))
		return module->path;
	const char *path = symbols_module_changed(names->symbols, number);
	if (!path)
		path = symbols_module_file(names->symbols, number);
	return path ? path : module->path;
}

bool heap_names_symbols(
	struct heap_names *names, const struct address_module *module, uint32_t *ret)
{
	return names_add_module(names, module, ret);
}

struct error *heap_names_place(struct heap_names *names, const struct address_space *space,
	uint64_t address, struct heap_place *ret)
{
	const struct address_module *module = address_space_module(space, address);
	*ret = (struct heap_place){.module = module};
	uint32_t number;
	if (!module)
		return NULL;
	ret->offset = address - module->start;
	if (!names_add_module(names, module, &number))
		return error_no_memory();
	const struct process_map *map = address_space_map(space, address);
	uint64_t own = address - module->bias;
	ret->is_code = map && map->executable;
	struct symbol_variable variable;
	struct error *error = symbols_variable_name(names->symbols, number, own, &variable);
	if (error)
		return error;
	ret->name = variable.name;
	if (variable.name) {
		ret->offset = variable.offset;
		return NULL;
	}
	if (!ret->is_code)
		return NULL;
	const struct symbol *symbols;
	size_t count;
	error = symbols_resolve(names->symbols, number, own, &symbols, &count);
	if (!error && symbols[count - 1].function) {
		ret->name = symbols[count - 1].function;
		ret->offset = 0;
	}
	return error;
}

struct error *heap_names_types(struct heap_names *names, struct types **ret)
{
	struct error *error = names->types ? NULL : types_create(names->symbols, &names->types);
	*ret = names->types;
	return error;
}

struct error *heap_names_all_types(struct heap_names *names, const struct address_space *space,
	struct types **ret, bool *ret_any)
{
	struct error *error = heap_names_types(names, ret);
	*ret_any = false;
	for (size_t i = 0; i < space->modules.len && !error; i++) {
		uint32_t number;
		if (heap_names_symbols(names, &space->modules.data[i], &number) &&
			types_add_module(*ret, number))
			*ret_any = true;
	}
	return !error && types_failed(*ret) ? error_no_memory() : error;
}
