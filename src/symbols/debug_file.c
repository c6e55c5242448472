/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/debug_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "symbols/symbols.h"

/* FOLDER/.build-id/xx/yyyy….debug */
static struct object *open_by_build_id(const char *folder, const struct debug_query *query)
{
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	text_printf(&path, "%s/.build-id/", folder);
	for (size_t i = 0; i < query->build_id_len; i++)
		text_printf(&path, i == 1 ? "/%02x" : "%02x", query->build_id[i]);
	text_add(&path, ".debug");
	_cleanup_(object_cleanup) struct object *object =
		path.failed ? NULL : object_open(path.data);
	if (!object || !object_has_build_id(object, query->build_id, query->build_id_len))
		return NULL;
	return steal_ptr(object);
}

struct link {
	const struct object *main;
	const char *name;
	uint32_t crc;
};

static bool link_matches(const struct link *link, const struct object *object)
{
	/* Equal build-ids say the same as the CRC, without reading the whole file. */
	if (object->build_id && link->main->build_id)
		return object_has_build_id(object, link->main->build_id, link->main->build_id_len);
	uint32_t crc;
	return object_crc(object, &crc) && crc == link->crc;
}

static struct object *open_link_in(
	const struct link *link, const char *root, const char *folder, const char *below)
{
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	text_printf(&path, "%s%s%s/%s", root, folder, below, link->name);
	if (path.failed || strcmp(path.data, link->main->path) == 0)
		return NULL;
	_cleanup_(object_cleanup) struct object *object = object_open(path.data);
	return object && link_matches(link, object) ? steal_ptr(object) : NULL;
}

/* `path` names the module; its folder is where to look. */
static struct object *open_link_of(
	const struct link *link, const char *path, const struct debug_query *query)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	if (!folder)
		return NULL;
	struct object *found = open_link_in(link, "", folder, "");
	if (!found)
		found = open_link_in(link, "", folder, "/.debug");
	for (size_t i = 0; i < query->folder_count && !found && path[0] == '/'; i++)
		found = open_link_in(link, query->folders[i], folder, "");
	return found;
}

static struct object *open_by_link(const struct object *main, const struct debug_query *query)
{
	struct link link = {.main = main};
	link.name = object_debug_link(main, &link.crc);
	if (!link.name)
		return NULL;
	struct object *found = open_link_of(&link, main->path, query);
	/* /lib may be a link to /usr/lib; debug files are stored by the real path. */
	_cleanup_free_ char *real = found ? NULL : realpath(main->path, NULL);
	if (real && strcmp(real, main->path) != 0)
		found = open_link_of(&link, real, query);
	return found;
}

/* By the build-id in all folders; a shorter one than 2 bytes has no place there. */
static struct object *open_in_folders(const struct debug_query *query)
{
	struct object *found = NULL;
	for (size_t i = 0; i < query->folder_count && !found && query->build_id_len > 1; i++)
		found = open_by_build_id(query->folders[i], query);
	return found;
}

void debug_files_open(struct debug_files *ret, const struct debug_query *query)
{
	bool vdso = strcmp(query->path, SYMBOLS_VDSO) == 0;
	struct debug_files files = {.main = vdso ? object_open_vdso() : object_open(query->path)};
	struct debug_query by_id = *query;
	if (files.main && !query->build_id_len) {
		by_id.build_id = files.main->build_id;
		by_id.build_id_len = files.main->build_id_len;
	} else if (files.main &&
		   !object_has_build_id(files.main, query->build_id, query->build_id_len)) {
		files.changed = true;
		object_close(files.main);
		files.main = NULL;
	}
	files.separate = open_in_folders(&by_id);
	GElf_Shdr header;
	if (files.main && !files.separate && !object_section(files.main, ".debug_info", &header))
		files.separate = open_by_link(files.main, query);
	*ret = files;
}

void debug_files_close(struct debug_files *files)
{
	object_close(files->main);
	object_close(files->separate);
	*files = (struct debug_files){0};
}
