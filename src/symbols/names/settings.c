/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

/* As the kernel's own limit (MAXSYMLINKS). */
#define LINKS_MAX 40u

static void folders_deinit(struct folder_vec *folders)
{
	for (size_t i = 0; i < folders->len; i++)
		free(folders->data[i]);
	folder_vec_deinit(folders);
}

static struct error *add_folder(struct folder_vec *folders, const char *folder, size_t len)
{
	_cleanup_free_ char *kept = strndup(folder, len);
	if (!kept || !folder_vec_push(folders, kept))
		return error_no_memory();
	(void)steal_ptr(kept);
	return NULL;
}

struct error *symbols_settings_create(struct symbols_settings **ret)
{
	_cleanup_(symbols_settings_cleanup) struct symbols_settings *settings =
		calloc(1, sizeof(*settings));
	if (!settings)
		return error_no_memory();
	settings->default_debug = true;
	struct error *error =
		add_folder(&settings->debug, SYMBOLS_DEBUG_FOLDER, strlen(SYMBOLS_DEBUG_FOLDER));
	if (!error)
		*ret = steal_ptr(settings);
	return error;
}

void symbols_settings_destroy(struct symbols_settings *settings)
{
	if (!settings)
		return;
	folders_deinit(&settings->paths);
	folders_deinit(&settings->debug);
	if (!settings->shared)
		fetch_destroy(settings->fetch);
	free(settings->sysroot);
	free(settings->names_folder);
	free(settings);
}

static struct error *copy_folders(struct folder_vec *to, const struct folder_vec *from)
{
	struct error *error = NULL;
	for (size_t i = 0; !error && i < from->len; i++)
		error = add_folder(to, from->data[i], strlen(from->data[i]));
	return error;
}

struct error *symbols_settings_create_for(
	const struct symbols_settings *others, const char *folder, struct symbols_settings **ret)
{
	_cleanup_(symbols_settings_cleanup) struct symbols_settings *settings =
		calloc(1, sizeof(*settings));
	if (!settings)
		return error_no_memory();
	settings->names = others->names;
	settings->fetch = others->fetch;
	settings->shared = true;
	settings->default_debug = others->default_debug && others->sysroot;
	/* Debug files of this machine may fit, by build-id. */
	struct error *error = copy_folders(&settings->debug, &others->debug);
	if (!error)
		error = add_folder(&settings->paths, folder, strlen(folder));
	if (!error)
		error = copy_folders(&settings->paths, &others->paths);
	if (!error && others->sysroot)
		settings->sysroot = strdup(others->sysroot);
	else if (!error && asprintf(&settings->sysroot, "%s/sysroot", folder) < 0)
		settings->sysroot = NULL;
	if (!error && !settings->sysroot)
		error = error_no_memory();
	if (!error)
		*ret = steal_ptr(settings);
	return error;
}

static bool is_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static struct error *no_folder(const char *option, const char *path)
{
	return error_create(ERROR_USAGE, "%s: '%s' is not a directory", option, path);
}

struct error *symbols_settings_sysroot(struct symbols_settings *settings, const char *folder)
{
	if (!is_folder(folder))
		return no_folder("--sysroot", folder);
	free(settings->sysroot);
	settings->sysroot = strdup(folder);
	return settings->sysroot ? NULL : error_no_memory();
}

/* Empty parts stand for nothing. */
static struct error *add_folders(
	struct folder_vec *folders, const char *list, const char *option, bool lenient)
{
	struct error *error = NULL;
	for (const char *at = list; !error && *at;) {
		size_t len = strcspn(at, ":");
		_cleanup_free_ char *folder = strndup(at, len);
		if (!folder)
			return error_no_memory();
		bool usable = len && is_folder(folder);
		if (usable)
			error = add_folder(folders, folder, len);
		else if (len && !lenient)
			error = no_folder(option, folder);
		at += len + (at[len] == ':');
	}
	return error;
}

struct error *symbols_settings_add_paths(
	struct symbols_settings *settings, const char *folders, bool lenient)
{
	return add_folders(&settings->paths, folders, "--symbol-path", lenient);
}

struct error *symbols_settings_debug_folders(struct symbols_settings *settings, const char *folders)
{
	folders_deinit(&settings->debug);
	settings->default_debug = false;
	return add_folders(&settings->debug, folders, "--debug-file-directory", false);
}

struct error *symbols_settings_keep_names(struct symbols_settings *settings, const char *folder)
{
	free(settings->names_folder);
	settings->names_folder = folder ? strdup(folder) : NULL;
	return folder && !settings->names_folder ? error_no_memory() : NULL;
}

struct error *symbols_settings_fetch(
	struct symbols_settings *settings, unsigned seconds, const struct fetch_listener *listener)
{
	fetch_destroy(settings->fetch);
	settings->fetch = NULL;
	return fetch_create(seconds, listener, &settings->fetch);
}

/* A path below a root while its links are followed: what is done has none. */
struct walk {
	char done[PATH_MAX], rest[PATH_MAX];
	unsigned links;
};

static bool set_path(char *to, const char *first, const char *second)
{
	/* `second` may lie in `to`. */
	char joined[PATH_MAX];
	int len = snprintf(joined, sizeof(joined), "%s/%s", first, second);
	if (len < 0 || len >= PATH_MAX)
		return false;
	memcpy(to, joined, (size_t)len + 1);
	return true;
}

/* Goes on by one part of the path: a name, or the link that it is. */
static bool settings_step(struct walk *walk, const char *root, const char *name, const char *after)
{
	char inside[PATH_MAX], outside[PATH_MAX], target[PATH_MAX];
	if (strcmp(name, "..") == 0) {
		char *slash = strrchr(walk->done, '/');
		walk->done[slash ? slash - walk->done : 0] = '\0';
		return set_path(walk->rest, "", after);
	}
	if (!set_path(inside, walk->done, name) || !set_path(outside, root, inside))
		return false;
	ssize_t len = readlink(outside, target, sizeof(target) - 1);
	if (len < 0) {
		memcpy(walk->done, inside, strlen(inside) + 1);
		return set_path(walk->rest, "", after);
	}
	target[len] = '\0';
	if (target[0] == '/')
		walk->done[0] = '\0';
	return ++walk->links <= LINKS_MAX && set_path(walk->rest, target, after);
}

/* The path below `root` with links followed as if that were "/". */
static char *locate_below(const char *root, const char *path)
{
	struct walk walk = {.done = ""};
	if (!set_path(walk.rest, "", path))
		return NULL;
	for (;;) {
		const char *name = walk.rest + strspn(walk.rest, "/");
		size_t len = strcspn(name, "/");
		if (!len)
			break;
		char part[PATH_MAX], after[PATH_MAX];
		memcpy(part, name, len);
		part[len] = '\0';
		memcpy(after, name + len, strlen(name + len) + 1);
		bool stays = strcmp(part, ".") == 0;
		if (stays ? !set_path(walk.rest, "", after)
			  : !settings_step(&walk, root, part, after))
			return NULL;
	}
	_cleanup_(text_deinit) struct text located;
	text_init(&located);
	text_printf(&located, "%s%s", root, walk.done);
	return located.failed ? NULL : text_steal(&located);
}

char *symbols_settings_locate(const struct symbols_settings *settings, const char *path)
{
	return settings->sysroot ? locate_below(settings->sysroot, path) : strdup(path);
}
