/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/bundle_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"
#include "query/bundles.h"
#include "query/source_files.h"

/* As many parents as a report goes back to. */
#define PARENTS_MAX 64u

static struct error *add_recording(
	struct bundle_manifest *manifest, enum bundle_kind kind, const char *path)
{
	_cleanup_(text_deinit) struct text to;
	text_init(&to);
	if (!bundle_place_below(&to, BUNDLE_RECORDING, path_last_part(path)))
		return error_no_memory();
	const struct bundle_file row = {.kind = kind, .from = (char *)path, .to = to.data};
	return bundle_manifest_add(manifest, &row, NULL);
}

/* The file of a parent, beside the child's; NULL: it is not there. */
static char *parent_of(const struct model *model, const char *path)
{
	const char *name = model_target(model)->parent_file;
	char *found;
	int folder = (int)(path_last_part(path) - path);
	if (!model_target(model)->forked || !name[0] || strchr(name, '/') ||
		asprintf(&found, "%.*s%s", folder, path, name) < 0)
		return NULL;
	if (access(found, R_OK) == 0)
		return found;
	free(found);
	return NULL;
}

static struct error *add_parents(
	struct bundle_manifest *manifest, const struct model *child, const char *path)
{
	_cleanup_free_ char *parent = parent_of(child, path);
	struct error *error = NULL;
	for (unsigned i = 0; parent && !error && i < PARENTS_MAX; i++) {
		struct model *model = NULL;
		error = add_recording(manifest, BUNDLE_KIND_PARENT, parent);
		/* What can't be read has no further parents. */
		if (!error)
			error_destroy(source_open(parent, &model));
		char *next = model ? parent_of(model, parent) : NULL;
		model_destroy(model);
		free(parent);
		parent = next;
	}
	return error;
}

struct error *bundle_add_recording(
	struct query_context *context, struct bundle_manifest *manifest, const struct model *model)
{
	const char *path = bundle_recording(context, model_recording(model)->path);
	struct error *error = add_recording(manifest, BUNDLE_KIND_RECORDING, path);
	return error ? error : add_parents(manifest, model, path);
}

static const enum bundle_kind kinds[] = {
	[SYMBOLS_PART_MODULE] = BUNDLE_KIND_MODULE,
	[SYMBOLS_PART_DEBUG] = BUNDLE_KIND_DEBUG,
	[SYMBOLS_PART_SHARED] = BUNDLE_KIND_SHARED,
	[SYMBOLS_PART_PACKAGE] = BUNDLE_KIND_PACKAGE,
	[SYMBOLS_PART_SPLIT] = BUNDLE_KIND_SPLIT,
};

/* Where the module's debug link leads to, for a file without a build-id. */
static bool place_beside(const struct symbol_file *module, const char *path, struct text *to)
{
	_cleanup_free_ char *folder =
		strndup(module->path, (size_t)(path_last_part(module->path) - module->path));
	if (!folder || !bundle_place_below(to, BUNDLE_SYSROOT, module->path))
		return false;
	text_clear(to);
	(void)bundle_place_below(to, BUNDLE_SYSROOT, folder);
	text_printf(to, "/.debug/%s", path_last_part(path));
	return !to->failed;
}

static bool bundle_files_place(
	const struct symbol_file *module, const struct symbols_used *used, struct text *to)
{
	switch (used->part) {
	case SYMBOLS_PART_MODULE:
		return bundle_place_below(to, BUNDLE_SYSROOT, module->path);
	case SYMBOLS_PART_DEBUG:
		return bundle_place_by_id(to, used->build_id, used->build_id_len, ".debug") ||
		       place_beside(module, used->path, to);
	case SYMBOLS_PART_SHARED:
		return bundle_place_by_id(to, used->build_id, used->build_id_len, ".debug");
	case SYMBOLS_PART_PACKAGE:
		if (!bundle_place_below(to, BUNDLE_SYSROOT, module->path))
			return false;
		text_add(to, ".dwp");
		return !to->failed;
	case SYMBOLS_PART_SPLIT:
		bundle_place_split(to, used->unit);
		return !to->failed;
	}
	return false;
}

static struct error *add_hex(const uint8_t *id, size_t len, struct text *ret)
{
	text_clear(ret);
	for (size_t i = 0; i < len; i++)
		text_printf(ret, "%02x", id[i]);
	return ret->failed ? error_no_memory() : NULL;
}

/* Of two builds at one path, which a program may have loaded one after the other, the second one
 * lies where it is found by build-id. */
static struct error *add_other_build(struct bundle_manifest *manifest,
	const struct bundle_file *row, const struct symbols_used *used)
{
	_cleanup_(text_deinit) struct text to;
	text_init(&to);
	struct bundle_file moved = *row;
	if (!bundle_place_by_id(&to, used->build_id, used->build_id_len, ""))
		return to.failed ? error_no_memory() : NULL;
	moved.to = to.data;
	return bundle_manifest_add(manifest, &moved, NULL);
}

static struct error *add_used(struct bundle_manifest *manifest, const struct symbol_file *module,
	const struct symbols_used *used)
{
	_cleanup_(text_deinit) struct text to;
	_cleanup_(text_deinit) struct text hex;
	text_init(&to);
	text_init(&hex);
	bool added, has_place = bundle_files_place(module, used, &to);
	struct error *error = add_hex(used->build_id, used->build_id_len, &hex);
	if (error || !has_place)
		return error;
	const struct bundle_file row = {.kind = kinds[used->part],
		.from = (char *)used->path,
		.to = to.data,
		.of = (char *)module->path,
		.build_id = hex.len ? hex.data : NULL};
	error = bundle_manifest_add(manifest, &row, &added);
	if (error || added || used->part != SYMBOLS_PART_MODULE)
		return error;
	return add_other_build(manifest, &row, used);
}

static const char *bundle_files_reason(const struct symbol_file *module)
{
	bool absent = true;
	for (size_t i = 0; i < module->tried_count; i++) {
		if (module->tried[i].trial == TRIAL_OTHER)
			return "another build is there";
		absent &= module->tried[i].trial == TRIAL_ABSENT;
	}
	return absent ? "not found" : "cannot be read";
}

static struct error *add_missing(struct bundle_manifest *manifest, const struct symbol_file *module)
{
	_cleanup_(text_deinit) struct text hex;
	text_init(&hex);
	struct error *error = add_hex(module->build_id, module->build_id_len, &hex);
	const struct bundle_missing row = {.kind = BUNDLE_KIND_MODULE,
		.path = (char *)module->path,
		.build_id = hex.len ? hex.data : NULL,
		.why = bundle_files_reason(module)};
	return error ? error : bundle_manifest_lack(manifest, &row);
}

static struct error *add_lacks(struct bundle_manifest *manifest, const struct symbol_file *module)
{
	static const struct {
		enum symbols_lack lack;
		enum bundle_kind kind;
		const char *why;
	} lacks[] = {
		{SYMBOLS_LACK_SHARED, BUNDLE_KIND_SHARED, "what it shares (dwz) was not found"},
		{SYMBOLS_LACK_SPLIT, BUNDLE_KIND_SPLIT,
			"split files (.dwo, .dwp) were not found, or are not of DWARF 5"},
	};
	struct error *error = NULL;
	for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks) && !error; i++) {
		const struct bundle_missing row = {
			.kind = lacks[i].kind, .path = (char *)module->path, .why = lacks[i].why};
		if (module->lacks & lacks[i].lack)
			error = bundle_manifest_lack(manifest, &row);
	}
	return error;
}

static struct error *bundle_files_add_module(
	struct bundle_manifest *manifest, const struct symbol_file *module, struct symbols *symbols)
{
	_cleanup_(symbols_used_vec_deinit) struct symbols_used_vec used;
	symbols_used_vec_init(&used);
	struct error *error = symbols_module_used(symbols, module->module, &used);
	bool itself = strcmp(module->path, SYMBOLS_VDSO) == 0;
	for (size_t i = 0; i < used.len && !error; i++) {
		itself |= used.data[i].part == SYMBOLS_PART_MODULE;
		error = add_used(manifest, module, &used.data[i]);
	}
	/* Its debug file alone may do. */
	if (!error && !itself && module->state != SYMBOLS_DWARF)
		error = add_missing(manifest, module);
	return error ? error : add_lacks(manifest, module);
}

struct error *bundle_add_symbols(struct bundle_manifest *manifest, const struct symbol_files *files)
{
	struct error *error = NULL;
	for (size_t i = 0; i < files->files.len && !error; i++) {
		const struct symbol_file *module = &files->files.data[i];
		if (module->addresses || module->has_roots)
			error = bundle_files_add_module(manifest, module, files->symbols);
	}
	return error;
}

static struct error *add_source(
	struct bundle_manifest *manifest, const struct source_search *search)
{
	struct listing_source source;
	_cleanup_(text_deinit) struct text to;
	text_init(&to);
	struct error *error = source_file_find(search, &source);
	bool has_place = bundle_place_below(&to, BUNDLE_SOURCES, search->file);
	const struct bundle_file row = {
		.kind = BUNDLE_KIND_SOURCE, .from = (char *)source.found, .to = to.data};
	const struct bundle_missing missing = {.kind = BUNDLE_KIND_SOURCE,
		.path = (char *)search->file,
		.why = source.refused ? "its name is none of source code" : "not found"};
	if (!error && to.failed)
		error = error_no_memory();
	else if (!error && source.found && has_place)
		error = bundle_manifest_add(manifest, &row, NULL);
	else if (!error)
		error = bundle_manifest_lack(manifest, &missing);
	source_file_deinit(&source);
	return error;
}

struct error *bundle_add_sources(struct query_context *context, struct bundle_manifest *manifest,
	const struct model *model, const struct symbol_files *files,
	const struct bundle_folders *where)
{
	const struct target *target = model_target(model);
	struct error *error = NULL;
	for (size_t i = 0; i < files->sources.len && !error; i++) {
		const struct source_search search = {.file = files->sources.data[i],
			.cwd = target->cwd,
			.bundle = bundle_folder(context, model_recording(model)->path),
			.folders = where->folders,
			.folder_count = where->count,
			.recorded_ns = target->wall_start_ns};
		error = add_source(manifest, &search);
	}
	return error;
}
