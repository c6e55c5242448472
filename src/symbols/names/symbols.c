/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modules of a recording, each opened on first use. */
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "symbols/name.h"
#include "symbols/names/frames.h"
#include "symbols/names/module.h"
#include "symbols/names/names_store.h"
#include "symbols/split/opened.h"
#include "symbols/types/locals.h"

struct error *symbols_create(const struct symbols_settings *settings, struct symbols **ret)
{
	_cleanup_(symbols_cleanup) struct symbols *symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return error_no_memory();
	strings_init(&symbols->strings);
	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_create(ERROR_ENVIRONMENT, "incompatible libelf version");
	struct error *error = settings ? NULL : symbols_settings_create(&symbols->own);
	if (error)
		return error;
	symbols->settings = settings ? settings : symbols->own;
	*ret = steal_ptr(symbols);
	return NULL;
}

static void keep_names(struct symbols *symbols)
{
	bool kept = false;
	for (size_t i = 0; i < symbols->modules.len; i++)
		kept |= module_keep_names(symbols, symbols->modules.data[i]);
	if (kept)
		names_store_trim(symbols->settings->names_folder, NAMES_STORE_BYTES_MAX,
			NAMES_STORE_FILES_MAX);
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	keep_names(symbols);
	for (size_t i = 0; i < symbols->modules.len; i++)
		module_destroy(symbols->modules.data[i]);
	module_vec_deinit(&symbols->modules);
	symbols_settings_destroy(symbols->own);
	strings_deinit(&symbols->strings);
	free(symbols);
}

static struct error *symbols_add_module_add_module(
	struct symbols *symbols, struct symbols_file *module, bool is_here, uint32_t *ret_module)
{
	module->is_here = is_here;
	if (!module_vec_push(&symbols->modules, module)) {
		module_destroy(module);
		return error_no_memory();
	}
	*ret_module = (uint32_t)symbols->modules.len - 1;
	return NULL;
}

void symbols_recorded_at(struct symbols *symbols, uint64_t wall_ns)
{
	symbols->recorded_ns = wall_ns;
}

struct error *symbols_add_module(struct symbols *symbols, const char *path, const uint8_t *build_id,
	size_t build_id_len, uint32_t *ret_module)
{
	struct symbols_file *module;
	struct error *error = module_create(symbols, path, build_id, build_id_len, &module);
	return error ? error : symbols_add_module_add_module(symbols, module, false, ret_module);
}

struct error *symbols_add_file(struct symbols *symbols, const char *path, const uint8_t *build_id,
	size_t build_id_len, uint32_t *ret_module)
{
	struct symbols_file *module;
	struct error *error = module_create(symbols, path, build_id, build_id_len, &module);
	return error ? error : symbols_add_module_add_module(symbols, module, true, ret_module);
}

static struct error *need_table(struct symbols_file *module)
{
	if (module->has_table)
		return NULL;
	module->has_table = true;
	return symbol_table_load(&module->table, module->files.main, module->files.separate);
}

/* Names what DWARF has no name for: `symbol` is that of the code itself, nothing inlined. */
static struct error *name_by_table(struct symbols *symbols, struct symbols_file *module,
	uint64_t address, struct symbol *symbol)
{
	struct error *error = need_table(module);
	const struct table_symbol *found =
		error ? NULL : symbol_table_find(&module->table, address);
	/* What is named already is to have its scopes, which C has none of. */
	if (!found || (symbol->function && !name_is_mangled(found->name)))
		return error;
	error = strings_keep(&symbols->strings, found->name, &symbol->raw_name);
	symbol->linkage_name = symbol->raw_name;
	return error ? error
		     : strings_keep_demangled(&symbols->strings, found->name, &symbol->function);
}

/* C++ functions of one unit alone have linkage names in symbol tables only. */
static struct error *find_linkage_name(struct symbols *symbols, struct symbols_file *module,
	uint64_t address, struct symbol *symbol)
{
	if (symbols->settings->names == SYMBOLS_NAMES_SHORT || symbol->linkage_name)
		return NULL;
	struct error *error = need_table(module);
	const struct table_symbol *found =
		error ? NULL : symbol_table_find(&module->table, address);
	if (!found || !name_is_mangled(found->name))
		return error;
	return strings_keep(&symbols->strings, found->name, &symbol->linkage_name);
}

static struct error *module_resolve(struct symbols *symbols, struct symbols_file *module,
	uint64_t address, struct symbol_vec *ret)
{
	module_read(symbols, module);
	struct error *error = NULL;
	bool is_vague = false;
	if (module->state == SYMBOLS_DWARF)
		error = frames_add(&module->units, address, &symbols->strings, ret, &is_vague);
	if (error)
		return error;
	if (ret->len == 0 && !symbol_vec_push(ret, (struct symbol){0}))
		return error_no_memory();
	struct symbol *outermost = &ret->data[ret->len - 1];
	return outermost->function && !is_vague
		       ? find_linkage_name(symbols, module, address, outermost)
		       : name_by_table(symbols, module, address, outermost);
}

static struct error *keep_answer(
	struct symbols *symbols, const struct symbol_vec *found, struct name_answer *ret)
{
	size_t bytes = found->len * sizeof(*found->data);
	struct symbol *copy = arena_alloc(&symbols->strings.arena, bytes);
	if (!copy)
		return error_no_memory();
	memcpy(copy, found->data, bytes);
	*ret = (struct name_answer){.symbols = copy, .count = found->len};
	return NULL;
}

/* As earlier commands found it, or anew. */
static struct error *find_answer(struct symbols *symbols, struct symbols_file *module,
	uint64_t address, struct name_answer *ret)
{
	module_open(symbols, module);
	struct error *error = symbol_cache_find(
		&module->known, &symbols->strings, address, &ret->symbols, &ret->count);
	module->kept += ret->count > 0;
	if (error || ret->count)
		return error;
	_cleanup_(symbol_vec_deinit) struct symbol_vec found;
	symbol_vec_init(&found);
	error = module_resolve(symbols, module, address, &found);
	return error ? error : keep_answer(symbols, &found, ret);
}

struct error *symbols_resolve(struct symbols *symbols, uint32_t module_index, uint64_t address,
	const struct symbol **ret, size_t *ret_count)
{
	if (module_index >= symbols->modules.len)
		return error_create(ERROR_INTERNAL, "symbols: no module %u", module_index);
	struct symbols_file *module = symbols->modules.data[module_index];
	struct name_answer *known = answer_map_find(&module->answers, address);
	if (!known) {
		struct name_answer answer;
		struct error *error = find_answer(symbols, module, address, &answer);
		if (error)
			return error;
		known = answer_map_insert(&module->answers, address, NULL);
		if (!known)
			return error_no_memory();
		*known = answer;
	}
	*ret = known->symbols;
	*ret_count = known->count;
	return NULL;
}

/* Which file a variable is defined in, if there is debug information. */
static struct error *add_variable_place(struct symbols *symbols, struct symbols_file *module,
	uint64_t start, struct symbol_variable *variable)
{
	module_open(symbols, module);
	module_read(symbols, module);
	if (module->state != SYMBOLS_DWARF)
		return NULL;
	const char *file;
	struct error *error = variables_find(
		&module->variables, module->units.dwarf, start, &file, &variable->line);
	return error ? error : strings_keep_path(&symbols->strings, file, &variable->file);
}

/* A static variable of a C function is called name.NUMBER by compilers. */
static struct error *name_variable(
	struct symbols *symbols, const char *linkage_name, const char **ret)
{
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	const char *dot = strrchr(linkage_name, '.');
	bool is_numbered = dot && dot[1] && dot[1 + strspn(dot + 1, "0123456789")] == '\0';
	text_add_n(&name, linkage_name,
		is_numbered ? (size_t)(dot - linkage_name) : strlen(linkage_name));
	return name.failed ? error_no_memory()
			   : strings_keep_demangled(&symbols->strings, name.data, ret);
}

/* Its name alone, by one of the module's symbol tables; *ret_start: where it begins, if it has one.
 */
static struct error *find_in_table(struct symbols *symbols, struct symbols_file *module,
	struct symbol_table *table, bool *has_table, uint64_t address, struct symbol_variable *ret,
	uint64_t *ret_start)
{
	*ret = (struct symbol_variable){.name = NULL};
	module_find(symbols, module);
	struct error *error = NULL;
	if (!*has_table) {
		*has_table = true;
		error = symbol_table_load(table, module->files.main, module->files.separate);
	}
	const struct table_symbol *found = error ? NULL : symbol_table_find(table, address);
	if (!found)
		return error;
	*ret_start = found->start;
	ret->offset = address - found->start;
	return name_variable(symbols, found->name, &ret->name);
}

static struct error *find_variable(struct symbols *symbols, struct symbols_file *module,
	uint64_t address, struct symbol_variable *ret, uint64_t *ret_start)
{
	return find_in_table(symbols, module, &module->data_table, &module->has_data_table, address,
		ret, ret_start);
}

struct error *symbols_thread_local(struct symbols *symbols, uint32_t module_index, uint64_t offset,
	struct symbol_variable *ret)
{
	uint64_t start;
	if (module_index >= symbols->modules.len)
		return error_create(ERROR_INTERNAL, "symbols: no module %u", module_index);
	struct symbols_file *module = symbols->modules.data[module_index];
	return find_in_table(symbols, module, &module->local_table, &module->has_local_table,
		offset, ret, &start);
}

struct error *symbols_variable_name(struct symbols *symbols, uint32_t module_index,
	uint64_t address, struct symbol_variable *ret)
{
	uint64_t start;
	if (module_index >= symbols->modules.len)
		return error_create(ERROR_INTERNAL, "symbols: no module %u", module_index);
	return find_variable(symbols, symbols->modules.data[module_index], address, ret, &start);
}

struct error *symbols_variable(struct symbols *symbols, uint32_t module_index, uint64_t address,
	struct symbol_variable *ret)
{
	if (module_index >= symbols->modules.len)
		return error_create(ERROR_INTERNAL, "symbols: no module %u", module_index);
	struct symbols_file *module = symbols->modules.data[module_index];
	uint64_t start;
	struct error *error = find_variable(symbols, module, address, ret, &start);
	return error || !ret->name ? error : add_variable_place(symbols, module, start, ret);
}

struct error *symbols_local(struct symbols *symbols, uint32_t module_index,
	const struct local_frame *frame, uint64_t address, const char **ret_name,
	uint64_t *ret_offset)
{
	if (module_index >= symbols->modules.len)
		return error_create(ERROR_INTERNAL, "symbols: no module %u", module_index);
	struct symbols_file *module = symbols->modules.data[module_index];
	*ret_name = NULL;
	module_open(symbols, module);
	module_read(symbols, module);
	return module->state == SYMBOLS_DWARF ? locals_find(&module->units, frame, address,
							&symbols->strings, ret_name, ret_offset)
					      : NULL;
}

struct unit_index *symbols_units(struct symbols *symbols, uint32_t module_index)
{
	if (module_index >= symbols->modules.len)
		return NULL;
	struct symbols_file *module = symbols->modules.data[module_index];
	module_open(symbols, module);
	module_read(symbols, module);
	return module->state == SYMBOLS_DWARF ? &module->units : NULL;
}

/* Its files are known; what is wrong with it, too, if it has none. */
static struct symbols_file *symbols_find(struct symbols *symbols, uint32_t module_index)
{
	struct symbols_file *module = symbols->modules.data[module_index];
	module_find(symbols, module);
	if (!module->files.main)
		module_open(symbols, module);
	return module;
}

struct error *symbols_real_path(struct symbols *symbols, uint32_t module_index, const char **ret)
{
	if (module_index >= symbols->modules.len)
		return error_create(ERROR_INTERNAL, "symbols: no module %u", module_index);
	const struct symbols_file *module = symbols_find(symbols, module_index);
	*ret = NULL;
	const struct symbols_settings *settings = symbols->settings;
	const char *found = module->files.main ? module->files.main->path : NULL;
	_cleanup_free_ char *located =
		found ? symbols_settings_locate(settings, module->path) : NULL;
	/* A copy elsewhere tells nothing of links where it was recorded. */
	if (!located || strcmp(located, found) != 0)
		return NULL;
	if (settings->sysroot)
		return strings_keep(&symbols->strings, located + strlen(settings->sysroot), ret);
	_cleanup_free_ char *path = realpath(located, NULL);
	return strings_keep(&symbols->strings, path, ret);
}

const char *symbols_module_file(struct symbols *symbols, uint32_t module_index)
{
	const struct debug_files *files = &symbols_find(symbols, module_index)->files;
	if (files->main)
		return files->main->path;
	return files->separate && object_has_code(files->separate) ? files->separate->path : NULL;
}

const char *symbols_module_changed(struct symbols *symbols, uint32_t module_index)
{
	const struct debug_files *files = &symbols_find(symbols, module_index)->files;
	for (size_t i = 0; files->changed && i < files->tried.len; i++) {
		if (files->tried.data[i].trial == TRIAL_OTHER)
			return files->tried.data[i].path;
	}
	return NULL;
}

const char *symbols_inner_name(struct symbols *symbols, uint32_t module_index, uint64_t address)
{
	struct symbols_file *module = symbols_find(symbols, module_index);
	const char *base = strrchr(module->path, '/');
	base = base ? base + 1 : module->path;
	if (strncmp(base, "libc.so", 7) != 0 && strncmp(base, "libc-2", 6) != 0)
		return NULL;
	if (!module->has_inner && module->files.main)
		inner_names_read(module->files.main, &module->inner);
	module->has_inner = true;
	return inner_names_find(&module->inner, address);
}

#define ALIASES_MAX 16u

struct error *symbols_aliases(struct symbols *symbols, uint32_t module_index, uint64_t address,
	const char *const **ret, size_t *ret_count)
{
	if (module_index >= symbols->modules.len)
		return error_create(ERROR_INTERNAL, "symbols: no module %u", module_index);
	struct symbols_file *module = symbols->modules.data[module_index];
	module_open(symbols, module);
	struct error *error = need_table(module);
	if (error)
		return error;
	const char *names[ALIASES_MAX];
	size_t count = symbol_table_names(&module->table, address, names, ALIASES_MAX);
	const char **kept = arena_alloc(&symbols->strings.arena, count * sizeof(*kept));
	if (!kept)
		return error_no_memory();
	for (size_t i = 0; i < count && !error; i++)
		error = strings_keep(&symbols->strings, names[i], &kept[i]);
	if (error)
		return error;
	*ret = kept;
	*ret_count = count;
	return NULL;
}

enum symbols_state symbols_module_state(const struct symbols *symbols, uint32_t module)
{
	return module < symbols->modules.len ? symbols->modules.data[module]->state
					     : SYMBOLS_MISSING;
}

const char *symbols_module_debug_path(const struct symbols *symbols, uint32_t module)
{
	const struct object *source =
		module < symbols->modules.len ? symbols->modules.data[module]->source : NULL;
	return source ? source->path : NULL;
}

size_t symbols_module_kept(const struct symbols *symbols, uint32_t module)
{
	return module < symbols->modules.len ? symbols->modules.data[module]->kept : 0;
}

static bool is_damaged(struct object *object)
{
	return object && object_is_damaged(object);
}

static bool is_unreadable(const struct object *object)
{
	return object && object_is_unreadable(object);
}

unsigned symbols_module_lacks(const struct symbols *symbols, uint32_t index)
{
	const struct symbols_file *module =
		index < symbols->modules.len ? symbols->modules.data[index] : NULL;
	if (!module)
		return 0;
	const struct debug_files *files = &module->files;
	unsigned lacks =
		is_damaged(files->main) || is_damaged(files->separate) ? SYMBOLS_LACK_DAMAGED : 0;
	for (size_t i = 0; i < files->tried.len; i++) {
		if (files->tried.data[i].trial == TRIAL_CUT_SHORT)
			lacks |= SYMBOLS_LACK_CUT;
	}
	if (module->state != SYMBOLS_DWARF &&
		(is_unreadable(files->main) || is_unreadable(files->separate)))
		lacks |= SYMBOLS_LACK_ZSTD;
	if ((files->main && files->main->alt_missing) ||
		(files->separate && files->separate->alt_missing))
		lacks |= SYMBOLS_LACK_SHARED;
	if (module->units.split.missing)
		lacks |= SYMBOLS_LACK_SPLIT;
	return lacks;
}

bool symbols_module_has_id(const struct symbols *symbols, uint32_t module)
{
	return module < symbols->modules.len && symbols->modules.data[module]->build_id_len;
}

struct error *symbols_module_lookups(struct symbols *symbols, uint32_t index,
	const struct symbols_lookups **ret, size_t *ret_count)
{
	if (index >= symbols->modules.len)
		return error_create(ERROR_INTERNAL, "symbols: no module %u", index);
	struct symbols_file *module = symbols->modules.data[index];
	module_open(symbols, module);
	*ret = module->files.tried.data;
	*ret_count = module->files.tried.len;
	return NULL;
}

/* The kernel's own code is in no file. */
static bool add_used(
	struct symbols_used_vec *ret, enum symbols_part part, const struct object *object)
{
	if (!object || object->fd < 0)
		return true;
	struct symbols_used used = {.part = part,
		.path = object->path,
		.build_id = object->build_id,
		.build_id_len = object->build_id_len};
	return symbols_used_vec_push(ret, used);
}

struct error *symbols_module_used(
	struct symbols *symbols, uint32_t index, struct symbols_used_vec *ret)
{
	if (index >= symbols->modules.len)
		return error_create(ERROR_INTERNAL, "symbols: no module %u", index);
	struct symbols_file *module = symbols->modules.data[index];
	module_open(symbols, module);
	const struct debug_files *files = &module->files;
	const struct split_files *split = &module->units.split;
	bool good = add_used(ret, SYMBOLS_PART_MODULE, files->main) &&
		    add_used(ret, SYMBOLS_PART_DEBUG, files->separate) &&
		    add_used(ret, SYMBOLS_PART_SHARED, files->alt);
	for (size_t i = 0; good && i < split->packages.len; i++)
		good = add_used(ret, SYMBOLS_PART_PACKAGE, split->packages.data[i]);
	for (size_t i = 0; good && i < split->used.len; i++)
		good = symbols_used_vec_push(ret, (struct symbols_used){.part = SYMBOLS_PART_SPLIT,
							  .path = split->used.data[i].path,
							  .unit = split->used.data[i].id});
	return good ? NULL : error_no_memory();
}
