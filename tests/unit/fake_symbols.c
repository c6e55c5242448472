/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/fake_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/mentions.h"
#include "symbols/types.h"

#define FILES_MAX 16
#define CHAIN_MAX 8

const struct fake_symbol *fake_symbols;
const struct fake_variable *fake_variables;
const struct fake_file *fake_files;
const struct fake_alias *fake_aliases;
const char *const *fake_mentions;

struct symbols {
	const char *paths[FILES_MAX];
	uint32_t count;
	struct symbol chain[CHAIN_MAX];
};

struct error *symbols_create(const struct symbols_settings *settings, struct symbols **ret)
{
	(void)settings;
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : error_no_memory();
}

void symbols_destroy(struct symbols *symbols)
{
	free(symbols);
}

void symbols_recorded_at(struct symbols *symbols, uint64_t wall_ns)
{
	(void)symbols;
	(void)wall_ns;
}

struct error *symbols_add_module(struct symbols *symbols, const char *path, const uint8_t *build_id,
	size_t build_id_len, uint32_t *ret_module)
{
	(void)build_id, (void)build_id_len;
	if (symbols->count == FILES_MAX)
		return error_create(ERROR_INTERNAL, "more than %d files", FILES_MAX);
	symbols->paths[symbols->count] = path;
	*ret_module = symbols->count++;
	return NULL;
}

static struct symbol symbol_of(const struct fake_names *names)
{
	return (struct symbol){
		.function = names->function,
		.raw_name = names->raw_name,
		.file = names->file,
		.line = names->line,
		.inlined = names->inlined,
	};
}

struct error *symbols_resolve(struct symbols *symbols, uint32_t module, uint64_t addr,
	const struct symbol **ret, size_t *ret_count)
{
	size_t count = 0;
	for (const struct fake_symbol *row = fake_symbols; row->path; row++)
		if (row->address == addr && strcmp(row->path, symbols->paths[module]) == 0 &&
			count < CHAIN_MAX)
			symbols->chain[count++] = symbol_of(&row->symbol);
	if (count == 0)
		symbols->chain[count++] = (struct symbol){0};
	*ret = symbols->chain;
	*ret_count = count;
	return NULL;
}

struct error *symbols_variable(
	struct symbols *symbols, uint32_t module, uint64_t address, struct symbol_variable *ret)
{
	*ret = (struct symbol_variable){.name = NULL};
	for (const struct fake_variable *row = fake_variables; row && row->path; row++) {
		if (strcmp(row->path, symbols->paths[module]) != 0 || address < row->start ||
			address - row->start >= row->size)
			continue;
		*ret = (struct symbol_variable){
			row->name, address - row->start, row->file, row->line};
		break;
	}
	return NULL;
}

struct error *symbols_variable_name(
	struct symbols *symbols, uint32_t module, uint64_t address, struct symbol_variable *ret)
{
	struct error *error = symbols_variable(symbols, module, address, ret);
	ret->file = NULL;
	ret->line = 0;
	return error;
}

struct error *symbols_aliases(struct symbols *symbols, uint32_t module, uint64_t address,
	const char *const **ret, size_t *ret_count)
{
	*ret = NULL;
	*ret_count = 0;
	for (const struct fake_alias *row = fake_aliases; row && row->path; row++)
		if (row->address == address && strcmp(row->path, symbols->paths[module]) == 0)
			for (*ret = row->names; (*ret)[*ret_count];)
				++*ret_count;
	return NULL;
}

const char *symbols_inner_name(struct symbols *symbols, uint32_t module, uint64_t address)
{
	(void)symbols;
	(void)module;
	(void)address;
	return NULL;
}

struct error *symbols_real_path(struct symbols *symbols, uint32_t module, const char **ret)
{
	*ret = NULL;
	for (const struct fake_alias *row = fake_aliases; row && row->path; row++)
		if (row->address == 0 && strcmp(row->path, symbols->paths[module]) == 0)
			*ret = row->names[0];
	return NULL;
}

struct error *symbols_mention(
	struct symbols *symbols, uint32_t module, const char *name, struct symbols_mention *ret)
{
	(void)symbols, (void)module;
	*ret = (struct symbols_mention){.known = true, .functions = 1};
	for (const char *const *one = fake_mentions; one && *one; one++)
		if (strcmp(*one, name) == 0)
			*ret = (struct symbols_mention){
				.known = true, .found = true, .functions = 2};
	return NULL;
}

enum symbols_state symbols_module_state(const struct symbols *symbols, uint32_t module)
{
	for (const struct fake_file *file = fake_files; file && file->path; file++)
		if (strcmp(file->path, symbols->paths[module]) == 0)
			return file->state;
	return SYMBOLS_DWARF;
}

size_t symbols_module_kept(const struct symbols *symbols, uint32_t module)
{
	(void)symbols, (void)module;
	return 0;
}

const char *symbols_module_file(struct symbols *symbols, uint32_t module)
{
	(void)symbols, (void)module;
	return NULL;
}

unsigned symbols_module_lacks(const struct symbols *symbols, uint32_t module)
{
	(void)symbols, (void)module;
	return 0;
}

/* No module has types. */

struct error *types_create(struct symbols *symbols, struct types **ret)
{
	(void)symbols;
	*ret = calloc(1, 1);
	return *ret ? NULL : error_no_memory();
}

void types_destroy(struct types *types)
{
	free(types);
}

bool types_failed(const struct types *types)
{
	(void)types;
	return false;
}

bool types_add_module(struct types *types, uint32_t module)
{
	(void)types, (void)module;
	return false;
}

bool types_allocation(struct types *types, uint32_t module, uint64_t address, uint64_t bytes,
	struct types_allocation *ret)
{
	(void)types, (void)module, (void)address, (void)bytes, (void)ret;
	return false;
}

const struct type *types_get(const struct types *types, uint32_t number)
{
	(void)types, (void)number;
	abort(); /* there is none to be asked for */
}

void types_locate(struct types *types, uint32_t number, uint64_t offset, struct types_place *ret,
	struct text *path)
{
	(void)types, (void)number, (void)offset, (void)ret, (void)path;
	abort();
}

void types_declare(struct types *types, uint32_t number, const char *name, struct text *text)
{
	(void)types, (void)number, (void)name, (void)text;
	abort();
}
