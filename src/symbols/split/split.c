/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See split.h. libdw (0.188) knows .dwo files beside a program and where they were compiled, and no
 * .dwp. So a unit that lies elsewhere is found here, and copied (split_image.h).
 */
#include "symbols/split/split.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/util.h"
#include "symbols/split/split_image.h"
#include "symbols/split/split_parts.h"

static bool take_from(const struct split_wanted *wanted, const struct object *object)
{
	struct split_parts parts = {.old = false};
	return split_parts_find(object, wanted->id, &parts) && split_image_make(wanted, &parts);
}

static bool try_file(const struct split_wanted *wanted, const char *path)
{
	_cleanup_(object_cleanup) struct object *object = path ? object_open(path) : NULL;
	if (!object || !object_is_whole(object) || !take_from(wanted, object))
		return false;
	/* What is not noted will only be missing from a bundle. */
	struct split_file used = {.path = strdup(path), .id = wanted->id};
	if (!used.path || !split_file_vec_push(&wanted->files->used, used))
		free(used.path);
	return true;
}

/* FIRST/SECOND as it is on this machine. */
__attribute__((format(printf, 1, 2))) static char *path_of(const char *format, ...)
{
	char *path;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&path, format, args);
	va_end(args);
	return len < 0 ? NULL : path;
}

static bool try_here(const struct split_wanted *wanted, const char *folder, const char *name)
{
	_cleanup_free_ char *path = path_of("%s/%s", folder, name);
	return try_file(wanted, path);
}

static bool try_recorded(const struct split_wanted *wanted, const char *folder, const char *name)
{
	_cleanup_free_ char *path = name[0] == '/' ? strdup(name) : path_of("%s/%s", folder, name);
	_cleanup_free_ char *located =
		path ? symbols_settings_locate(wanted->files->settings, path) : NULL;
	return try_file(wanted, located);
}

static bool split_find_file(const struct split_wanted *wanted)
{
	Dwarf_Attribute attribute;
	const char *name =
		dwarf_formstring(dwarf_attr(wanted->skeleton, DW_AT_dwo_name, &attribute));
	if (!name)
		name = dwarf_formstring(
			dwarf_attr(wanted->skeleton, DW_AT_GNU_dwo_name, &attribute));
	const char *folder =
		dwarf_formstring(dwarf_attr(wanted->skeleton, DW_AT_comp_dir, &attribute));
	if (!name || !name[0])
		return false;
	folder = folder ? folder : "";
	const struct split_files *files = wanted->files;
	const char *path = files->source->path;
	_cleanup_free_ char *beside = strndup(path, (size_t)(path_last_part(path) - path));
	if (!beside)
		return false;
	char by_id[32]; /* as bundles have them */
	snprintf(by_id, sizeof(by_id), ".dwo/%016" PRIx64 ".dwo", wanted->id);
	bool found = try_here(wanted, beside[0] ? beside : ".", path_last_part(name)) ||
		     try_recorded(wanted, folder, name);
	for (size_t i = 0; i < files->settings->paths.len && !found; i++) {
		const char *store = files->settings->paths.data[i];
		_cleanup_free_ char *whole = path_of("%s/%s", store, folder);
		found = try_here(wanted, store, by_id) || try_here(wanted, store, name) ||
			try_here(wanted, store, path_last_part(name)) ||
			(whole && try_here(wanted, whole, name));
	}
	return found;
}

static void add_package(struct split_files *files, const char *path)
{
	_cleanup_(object_cleanup) struct object *object = path ? object_open(path) : NULL;
	if (object && object_is_whole(object) && object_vec_push(&files->packages, object))
		(void)steal_ptr(object);
}

/* PROGRAM.dwp beside the program or its debug file, and in the folders that the user names. */
static void open_packages(struct split_files *files)
{
	files->has_packages = true;
	_cleanup_free_ char *beside = path_of("%s.dwp", files->source->path);
	add_package(files, beside);
	_cleanup_free_ char *recorded = path_of("%s.dwp", files->module_path);
	_cleanup_free_ char *located =
		recorded ? symbols_settings_locate(files->settings, recorded) : NULL;
	if (beside && located && strcmp(beside, located) != 0)
		add_package(files, located);
	for (size_t i = 0; i < files->settings->paths.len; i++) {
		_cleanup_free_ char *path = path_of("%s/%s.dwp", files->settings->paths.data[i],
			path_last_part(files->module_path));
		add_package(files, path);
	}
}

bool split_open(struct split_files *files, Dwarf_Die *skeleton, uint64_t id,
	struct image *ret_image, Dwarf_Die *ret)
{
	const struct split_wanted wanted = {files, skeleton, id, ret_image, ret};
	if (!files->has_packages)
		open_packages(files);
	bool found = false;
	for (size_t i = 0; i < files->packages.len && !found; i++)
		found = take_from(&wanted, files->packages.data[i]);
	if (!found)
		found = split_find_file(&wanted);
	return found;
}

void split_files_init(struct split_files *files, const struct symbols_settings *settings,
	const struct object *source, const char *module_path)
{
	*files = (struct split_files){
		.settings = settings, .source = source, .module_path = module_path};
	object_vec_init(&files->packages);
	split_file_vec_init(&files->used);
}

void split_files_deinit(struct split_files *files)
{
	for (size_t i = 0; i < files->packages.len; i++)
		object_close(files->packages.data[i]);
	object_vec_deinit(&files->packages);
	split_bases_deinit(&files->bases);
	for (size_t i = 0; i < files->used.len; i++)
		free(files->used.data[i].path);
	split_file_vec_deinit(&files->used);
}
