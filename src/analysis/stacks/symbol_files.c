/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/symbol_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define NO_FILE UINT32_MAX

struct found_address {
	uint32_t file; /* in the order of files */
	uint64_t address;
};

DEFINE_VEC(address_vec, struct found_address)

void symbol_files_init(struct symbol_files *files)
{
	*files = (struct symbol_files){.symbols = NULL};
	symbol_file_vec_init(&files->files);
	source_name_vec_init(&files->sources);
}

void symbol_files_deinit(struct symbol_files *files)
{
	symbol_file_vec_deinit(&files->files);
	source_name_vec_deinit(&files->sources);
	symbols_destroy(files->symbols);
	files->symbols = NULL;
}

static bool is_file(const struct symbol_file *file, const struct module *module)
{
	return strcmp(file->path, module->path) == 0 &&
	       file->build_id_len == module->build_id_len &&
	       (!file->build_id_len ||
		       memcmp(file->build_id, module->build_id, file->build_id_len) == 0);
}

/* Modules are few: hundreds in the largest programs. */
static struct error *symbol_files_find_file(
	struct symbol_files *files, const struct module *module, uint32_t *ret)
{
	*ret = NO_FILE;
	if (!module->path[0])
		return NULL;
	for (size_t i = 0; i < files->files.len; i++)
		if (is_file(&files->files.data[i], module)) {
			*ret = (uint32_t)i;
			return NULL;
		}
	struct symbol_file file = {.path = module->path,
		.build_id = module->build_id,
		.build_id_len = module->build_id_len};
	struct error *error = symbols_add_module(
		files->symbols, module->path, module->build_id, module->build_id_len, &file.module);
	if (error)
		return error;
	*ret = (uint32_t)files->files.len;
	return symbol_file_vec_push(&files->files, file) ? NULL : error_no_memory();
}

static int compare_addresses(const void *left, const void *right)
{
	const struct found_address *a = left, *b = right;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* All frames of all stacks, as return addresses are looked up; `of` has each module's file. */
static struct error *meet_addresses(
	const struct model *model, const uint32_t *of, struct address_vec *ret)
{
	size_t limit = model_stack_limit(model);
	for (uint32_t i = 1; i < limit; i++) {
		struct stack_node node = model_stack(model, (struct stack_id){i});
		uint32_t file = of[node.module.value];
		if (node.kind != FRAME_NATIVE || !node.module.value || file == NO_FILE ||
			model_embedded(model, node))
			continue;
		struct found_address met = {
			file, node.address - 1 - model_module(model, node.module)->bias};
		if (!address_vec_push(ret, met))
			return error_no_memory();
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), compare_addresses);
	return NULL;
}

/* In order of addresses many in a row are the same. */
static struct error *add_source(struct symbol_files *files, const char *name)
{
	struct source_name_vec *sources = &files->sources;
	if (!name || (sources->len && sources->data[sources->len - 1] == name))
		return NULL;
	return source_name_vec_push(sources, name) ? NULL : error_no_memory();
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void sort_sources(struct source_name_vec *sources)
{
	size_t kept = 0;
	if (sources->len)
		qsort((void *)sources->data, sources->len, sizeof(*sources->data), compare_names);
	for (size_t i = 0; i < sources->len; i++)
		if (!kept || strcmp(sources->data[kept - 1], sources->data[i]) != 0)
			sources->data[kept++] = sources->data[i];
	sources->len = kept;
}

static struct error *add_given_sources(struct symbol_files *files, const struct model *model)
{
	struct error *error = NULL;
	size_t limit = model_stack_limit(model);
	for (uint32_t i = 1; i < limit && !error; i++) {
		struct stack_node node = model_stack(model, (struct stack_id){i});
		const struct embedded_run *run = model_embedded(model, node);
		for (uint32_t k = 0; run && k < run->count && !error; k++)
			error = add_source(files, run->frames[k].file);
		if (node.code.value && !error)
			error = add_source(files, model_code(model, node.code)->file);
	}
	return error;
}

static struct error *name_addresses(struct symbol_files *files, const struct address_vec *met)
{
	for (size_t i = 0; i < met->len; i++) {
		if (i && compare_addresses(&met->data[i - 1], &met->data[i]) == 0)
			continue;
		struct symbol_file *file = &files->files.data[met->data[i].file];
		const struct symbol *symbols;
		size_t count;
		struct error *error = symbols_resolve(
			files->symbols, file->module, met->data[i].address, &symbols, &count);
		if (error)
			return error;
		file->addresses++;
		file->named += symbols[count - 1].function != NULL;
		file->placed += symbols[0].file && symbols[0].line;
		for (size_t k = 0; k < count && !error; k++)
			error = add_source(files, symbols[k].file);
		if (error)
			return error;
	}
	return NULL;
}

static void meet_roots(struct symbol_files *files, const struct model *model, const uint32_t *of)
{
	size_t count;
	const struct leak_root *roots = model_leak_roots(model, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t file = roots[i].module.value ? of[roots[i].module.value] : NO_FILE;
		if (file != NO_FILE)
			files->files.data[file].has_roots = true;
	}
}

static struct error *look_at_files(struct symbol_files *files)
{
	for (size_t i = 0; i < files->files.len; i++) {
		struct symbol_file *file = &files->files.data[i];
		struct error *error = symbols_module_lookups(
			files->symbols, file->module, &file->tried, &file->tried_count);
		if (error)
			return error;
		file->state = symbols_module_state(files->symbols, file->module);
		file->lacks = symbols_module_lacks(files->symbols, file->module);
		file->kept = symbols_module_kept(files->symbols, file->module);
		file->names_from = symbols_module_debug_path(files->symbols, file->module);
	}
	return NULL;
}

struct error *symbol_files_build(const struct model *model, struct symbol_files *ret)
{
	size_t limit = model_module_limit(model);
	_cleanup_free_ uint32_t *of = calloc(limit, sizeof(*of));
	_cleanup_(address_vec_deinit) struct address_vec met;
	address_vec_init(&met);
	if (!of)
		return error_no_memory();
	struct error *error = symbols_create(model_names_from(model), &ret->symbols);
	if (!error)
		symbols_recorded_at(ret->symbols, model_target(model)->wall_start_ns);
	for (uint32_t i = 0; i < limit && !error; i++)
		error = symbol_files_find_file(
			ret, model_module(model, (struct module_id){i}), &of[i]);
	if (!error)
		error = meet_addresses(model, of, &met);
	if (!error)
		error = name_addresses(ret, &met);
	if (!error)
		error = add_given_sources(ret, model);
	sort_sources(&ret->sources);
	meet_roots(ret, model, of);
	return error ? error : look_at_files(ret);
}
