/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/names/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct error *module_create(struct symbols *symbols, const char *path, const uint8_t *build_id,
	size_t build_id_len, struct symbols_file **ret)
{
	struct symbols_file *module = arena_alloc(&symbols->strings.arena, build_id_len);
	uint8_t *id = (uint8_t *)module;
	module = id ? calloc(1, sizeof(*module)) : NULL;
	if (!module)
		return error_no_memory();
	if (build_id_len)
		memcpy(id, build_id, build_id_len);
	module->build_id = id;
	module->build_id_len = build_id_len;
	symbol_table_init(&module->table, TABLE_FUNCTIONS);
	symbol_table_init(&module->data_table, TABLE_VARIABLES);
	symbol_table_init(&module->local_table, TABLE_THREAD_LOCALS);
	variables_init(&module->variables);
	answer_map_init(&module->answers);
	struct error *error = strings_keep(&symbols->strings, path, &module->path);
	if (error)
		module_destroy(module);
	else
		*ret = module;
	return error;
}

void module_destroy(struct symbols_file *module)
{
	if (!module)
		return;
	answer_map_deinit(&module->answers);
	symbol_table_deinit(&module->table);
	symbol_table_deinit(&module->data_table);
	symbol_table_deinit(&module->local_table);
	variables_deinit(&module->variables);
	unit_index_deinit(&module->units);
	symbol_cache_close(&module->known);
	debug_files_close(&module->files);
	free(module);
}

static bool module_has_names(const struct object *object)
{
	GElf_Shdr header;
	return object && (object_section_of_type(object, SHT_SYMTAB, &header) ||
				 object_section(object, ".gnu_debugdata", &header));
}

static struct debug_query query_of(const struct symbols *symbols, const struct symbols_file *module)
{
	return (struct debug_query){
		.path = module->path,
		.build_id = module->build_id,
		.build_id_len = module->build_id_len,
		.is_here = module->is_here,
		.recorded_ns = symbols->recorded_ns,
		.settings = symbols->settings,
	};
}

void module_read(struct symbols *symbols, struct symbols_file *module)
{
	if (module->is_read)
		return;
	module->is_read = true;
	const struct debug_query query = query_of(symbols, module);
	debug_files_read(&module->files, &query);
	/* The separate file for debug information comes before the module itself. */
	struct object *main = module->files.main, *separate = module->files.separate;
	struct object *source = separate && object_dwarf(separate) ? separate : main;
	GElf_Shdr header;
	if (source && object_dwarf(source)) {
		struct split_files split;
		split_files_init(&split, symbols->settings, source, module->path);
		unit_index_init(&module->units, source->dwarf, &split);
		module->state = SYMBOLS_DWARF;
	} else if (module_has_names(separate) || module_has_names(main)) {
		source = module_has_names(separate) ? separate : main;
		module->state = SYMBOLS_SYMTAB;
	} else if (main && object_section_of_type(main, SHT_DYNSYM, &header)) {
		source = main;
		module->state = SYMBOLS_DYNSYM;
	} else {
		source = NULL;
		module->state = module->files.changed ? SYMBOLS_CHANGED : SYMBOLS_MISSING;
	}
	module->source = source;
}

void module_find(struct symbols *symbols, struct symbols_file *module)
{
	const struct debug_query query = query_of(symbols, module);
	if (!module->is_found)
		debug_files_open(&module->files, &query);
	module->is_found = true;
}

void module_open(struct symbols *symbols, struct symbols_file *module)
{
	if (module->state != SYMBOLS_UNOPENED)
		return;
	struct debug_files *files = &module->files;
	module_find(symbols, module);
	/* Where none was recorded, the file at the path is the right one. */
	bool is_recorded = module->build_id_len || !files->main;
	symbol_cache_open(&module->known, symbols->settings,
		is_recorded ? module->build_id : files->main->build_id,
		is_recorded ? module->build_id_len : files->main->build_id_len, files);
	if (module->known.data) {
		const struct names_header *header = module->known.file.header;
		module->state = (enum symbols_state)header->state;
		module->source = header->separate ? files->separate : files->main;
	} else {
		module_read(symbols, module);
	}
}

bool module_keep_names(struct symbols *symbols, struct symbols_file *module)
{
	/* A split unit that is missing may come, and one that is there go, without a sign here. */
	const struct split_files *split = &module->units.split;
	if (!module->known.name || module->answers.len == module->kept ||
		(module->state != SYMBOLS_DWARF && module->state != SYMBOLS_SYMTAB) ||
		split->found || split->missing)
		return false;
	_cleanup_(names_answer_vec_deinit) struct names_answer_vec answers;
	names_answer_vec_init(&answers);
	const uint64_t *address;
	uint32_t at = 0;
	for (struct name_answer *answer;
		(answer = answer_map_next(&module->answers, &at, &address));) {
		struct names_answer row = {*address, answer->symbols, answer->count};
		if (!names_answer_vec_push(&answers, row))
			return false;
	}
	const struct names_header as = {
		.state = module->state,
		.separate = module->source != module->files.main,
	};
	return symbol_cache_keep(&module->known, symbols->settings, &module->files, &as, &answers,
		&symbols->strings);
}
