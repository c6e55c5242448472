/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"

void bundle_manifest_init(struct bundle_manifest *manifest, const char *writer)
{
	*manifest = (struct bundle_manifest){.writer = writer};
	bundle_file_vec_init(&manifest->files);
	bundle_missing_vec_init(&manifest->missing);
}

static void file_deinit(struct bundle_file *file)
{
	free(file->from);
	free(file->to);
	free(file->of);
	free(file->build_id);
}

static void missing_deinit(struct bundle_missing *missing)
{
	free(missing->path);
	free(missing->build_id);
}

void bundle_manifest_deinit(struct bundle_manifest *manifest)
{
	for (size_t i = 0; i < manifest->files.len; i++)
		file_deinit(&manifest->files.data[i]);
	for (size_t i = 0; i < manifest->missing.len; i++)
		missing_deinit(&manifest->missing.data[i]);
	bundle_file_vec_deinit(&manifest->files);
	bundle_missing_vec_deinit(&manifest->missing);
}

/* False: no memory. */
static bool copy_string(const char *string, char **ret)
{
	*ret = string ? strdup(string) : NULL;
	return *ret || !string;
}

static struct error *measure_member(const char *path, uint64_t *ret_bytes)
{
	struct stat status;
	if (stat(path, &status) < 0)
		return error_errno(ERROR_INPUT, errno, "%s: cannot be packed", path);
	if (!S_ISREG(status.st_mode))
		return error_create(ERROR_INPUT, "%s: cannot be packed: not a regular file", path);
	*ret_bytes = (uint64_t)status.st_size;
	return NULL;
}

static bool is_taken(const struct bundle_manifest *manifest, const char *to)
{
	for (size_t i = 0; i < manifest->files.len; i++)
		if (strcmp(manifest->files.data[i].to, to) == 0)
			return true;
	return false;
}

struct error *bundle_manifest_add(
	struct bundle_manifest *manifest, const struct bundle_file *row, bool *ret_added)
{
	struct bundle_file file = {.kind = row->kind};
	bool taken = is_taken(manifest, row->to);
	if (ret_added)
		*ret_added = !taken;
	if (taken)
		return NULL;
	if (manifest->files.len >= BUNDLE_FILES_MAX - 1)
		return error_create(ERROR_INPUT, "a bundle has no room for more than %u files",
			BUNDLE_FILES_MAX);
	struct error *error = measure_member(row->from, &file.bytes);
	if (error)
		return error;
	if (copy_string(row->from, &file.from) && copy_string(row->to, &file.to) &&
		copy_string(row->of, &file.of) && copy_string(row->build_id, &file.build_id) &&
		bundle_file_vec_push(&manifest->files, file))
		return NULL;
	file_deinit(&file);
	return error_no_memory();
}

struct error *bundle_manifest_lack(
	struct bundle_manifest *manifest, const struct bundle_missing *row)
{
	struct bundle_missing missing = {.kind = row->kind, .why = row->why};
	if (copy_string(row->path, &missing.path) &&
		copy_string(row->build_id, &missing.build_id) &&
		bundle_missing_vec_push(&manifest->missing, missing))
		return NULL;
	missing_deinit(&missing);
	return error_no_memory();
}

static void put_member(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	if (value)
		json_string(json, value);
	else
		json_null(json);
}

static void write_file(const struct bundle_file *file, struct json *json)
{
	json_object_begin(json);
	put_member(json, "path", file->to);
	put_member(json, "kind", bundle_kind_name(file->kind));
	json_key(json, "bytes");
	json_u64(json, file->bytes);
	put_member(json, "of", file->of);
	put_member(json, "build_id", file->build_id);
	json_object_end(json);
}

void bundle_manifest_write(const struct bundle_manifest *manifest, struct json *json)
{
	json_object_begin(json);
	put_member(json, "schema", BUNDLE_SCHEMA "1");
	put_member(json, "writer", manifest->writer);
	json_key(json, "anonymous");
	json_bool(json, manifest->anonymous);
	put_member(json, "recording", manifest->files.data[0].to);
	json_key(json, "files");
	json_array_begin(json);
	for (size_t i = 0; i < manifest->files.len; i++)
		write_file(&manifest->files.data[i], json);
	json_array_end(json);
	json_key(json, "missing");
	json_array_begin(json);
	for (size_t i = 0; i < manifest->missing.len; i++) {
		const struct bundle_missing *missing = &manifest->missing.data[i];
		json_object_begin(json);
		put_member(json, "path", missing->path);
		put_member(json, "kind", bundle_kind_name(missing->kind));
		put_member(json, "build_id", missing->build_id);
		put_member(json, "why", missing->why);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}
