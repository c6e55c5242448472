/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/split/debug_file.h"

#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/util.h"
#include "symbols/symbols.h"

/* Files that are looked at in DIR/BUILD-ID/. */
#define FILES_IN_FOLDER_MAX 16u
#define HEX_MAX 160u

struct search {
	const struct debug_query *query;
	const struct symbols_settings *settings;
	const uint8_t *build_id; /* recorded, or the module's own */
	size_t build_id_len;
	char hex[HEX_MAX]; /* of the build-id; "": too short for a place in a folder */
	const char *name;  /* last part of the module's path */
	struct debug_files *files;
};

struct link {
	const struct object *main;
	const char *name;
	uint32_t crc;
};

/* What is not noted costs a line of a table, never the search. */
static void debug_file_note(struct search *search, const char *path, enum symbols_trial trial)
{
	char *kept = strdup(path);
	if (!kept || !lookup_attempt_vec_push(
			     &search->files->tried, (struct symbols_lookups){kept, trial}))
		free(kept);
}

/* The first trial that says why not; TRIAL_USED: it fits. `link` NULL: identified by build-id
 * alone. */
static enum symbols_trial debug_file_check(
	const struct search *search, const struct object *object, const struct link *link)
{
	if (!object_is_whole(object))
		return TRIAL_CUT_SHORT;
	/* Equal build-ids say the same as the CRC, without reading the whole file. */
	if (search->build_id_len && (object->build_id || !link))
		return object_has_build_id(object, search->build_id, search->build_id_len)
			       ? TRIAL_USED
			       : TRIAL_OTHER;
	if (!link)
		return TRIAL_UNSURE;
	uint32_t crc;
	return object_crc(object, &crc) && crc == link->crc ? TRIAL_USED : TRIAL_OTHER;
}

static bool has_debug_info(const struct object *object)
{
	GElf_Shdr header;
	return object_section(object, ".debug_info", &header) ||
	       object_section(object, ".zdebug_info", &header);
}

static bool debug_file_has_names(const struct object *object)
{
	GElf_Shdr header;
	return has_debug_info(object) || object_section(object, ".symtab", &header) ||
	       object_section(object, ".gnu_debugdata", &header);
}

/* Hands the object to where one is missing; TRIAL_EMPTY: it is good for nothing. */
static enum symbols_trial debug_file_place(struct debug_files *files, struct object *object)
{
	if (!files->main && object_has_code(object)) {
		files->main = object;
		return TRIAL_USED;
	}
	if (!files->separate && debug_file_has_names(object)) {
		files->separate = object;
		return TRIAL_USED;
	}
	object_close(object);
	return TRIAL_EMPTY;
}

/* Looks at one file of this machine. */
static void debug_file_look_at(struct search *search, const char *path, const struct link *link)
{
	struct debug_files *files = search->files;
	if (files->main && strcmp(path, files->main->path) == 0)
		return;
	struct object *object = object_open(path);
	if (!object) {
		debug_file_note(
			search, path, access(path, F_OK) == 0 ? TRIAL_UNREADABLE : TRIAL_ABSENT);
		return;
	}
	enum symbols_trial trial = debug_file_check(search, object, link);
	if (trial == TRIAL_USED)
		trial = debug_file_place(files, object);
	else
		object_close(object);
	debug_file_note(search, path, trial);
}

__attribute__((format(printf, 3, 4))) static void look(
	struct search *search, const struct link *link, const char *format, ...)
{
	char *path;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&path, format, args);
	va_end(args);
	if (len < 0)
		return;
	debug_file_look_at(search, path, link);
	free(path);
}

static bool is_done(const struct search *search)
{
	return search->files->separate != NULL;
}

static int is_shown_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* DIR/BUILD-ID/…: whatever lies there, in the order of names. */
static void look_in_own_folder(struct search *search, const char *folder)
{
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	text_printf(&path, "%s/%s", folder, search->hex);
	struct dirent **entries;
	int count = path.failed ? -1 : scandir(path.data, &entries, is_shown_file, alphasort);
	if (count < 0)
		return;
	for (int i = 0; i < count; i++) {
		if (i < (int)FILES_IN_FOLDER_MAX && !is_done(search))
			look(search, NULL, "%s/%s", path.data, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

/* As PPROF_BINARY_PATH has it, and perf and debuggers. */
static void look_in_path(struct search *search, const char *folder)
{
	const char *hex = search->hex;
	if (hex[0]) {
		look(search, NULL, "%s/.build-id/%.2s/%s.debug", folder, hex, hex + 2);
		if (!is_done(search))
			look(search, NULL, "%s/.build-id/%.2s/%s", folder, hex, hex + 2);
		if (!is_done(search))
			look(search, NULL, "%s/%.2s/%s.debug", folder, hex, hex + 2);
		if (!is_done(search))
			look_in_own_folder(search, folder);
	}
	if (!is_done(search))
		look(search, NULL, "%s/%s.debug", folder, search->name);
	if (!is_done(search))
		look(search, NULL, "%s/%s", folder, search->name);
	if (!is_done(search) && search->query->path[0] == '/')
		look(search, NULL, "%s%s", folder, search->query->path);
}

/* A debug folder on this machine: the default one lies below the system root. */
static char *debug_folder(const struct search *search, size_t i)
{
	const struct symbols_settings *settings = search->settings;
	const char *folder = settings->debug.data[i];
	return settings->default_debug ? symbols_settings_locate(settings, folder) : strdup(folder);
}

static void look_by_build_id(struct search *search)
{
	const struct folder_vec *paths = &search->settings->paths;
	for (size_t i = 0; i < paths->len && !is_done(search); i++)
		look_in_path(search, paths->data[i]);
	for (size_t i = 0; i < search->settings->debug.len && !is_done(search); i++) {
		_cleanup_free_ char *folder = search->hex[0] ? debug_folder(search, i) : NULL;
		if (folder)
			look(search, NULL, "%s/.build-id/%.2s/%s.debug", folder, search->hex,
				search->hex + 2);
	}
}

/* Looks at what the recorded machine calls FOLDER/BELOW/LINK. */
static void look_beside(
	struct search *search, const struct link *link, const char *folder, const char *below)
{
	_cleanup_(text_deinit) struct text path;
	text_init(&path);
	text_printf(&path, "%s%s/%s", folder, below, link->name);
	_cleanup_free_ char *located =
		path.failed ? NULL : symbols_settings_locate(search->settings, path.data);
	if (located)
		debug_file_look_at(search, located, link);
}

/* `path` names the module, in the words of the recorded machine; its folder is where to look. */
static void look_by_link(struct search *search, const struct link *link, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	if (!folder)
		return;
	look_beside(search, link, folder, "");
	if (!is_done(search))
		look_beside(search, link, folder, "/.debug");
	for (size_t i = 0; i < search->settings->debug.len && path[0] == '/'; i++) {
		_cleanup_free_ char *debug = is_done(search) ? NULL : debug_folder(search, i);
		if (debug)
			look(search, link, "%s%s/%s", debug, folder, link->name);
	}
}

/* The module's path without links in it, as the recorded machine has it; NULL: it is the same. */
static char *real_path(const struct search *search)
{
	const char *sysroot = search->settings->sysroot, *opened = search->files->main->path;
	if (!sysroot)
		return realpath(opened, NULL);
	size_t len = strlen(sysroot);
	return strncmp(opened, sysroot, len) == 0 ? strdup(opened + len) : NULL;
}

static void look_by_links(struct search *search)
{
	struct link link = {.main = search->files->main};
	link.name = object_debug_link(link.main, &link.crc);
	if (!link.name)
		return;
	look_by_link(search, &link, search->query->path);
	/* /lib may be a link to /usr/lib; debug files are stored by the real path. */
	_cleanup_free_ char *real = is_done(search) ? NULL : real_path(search);
	if (real && strcmp(real, search->query->path) != 0)
		look_by_link(search, &link, real);
	for (size_t i = 0; i < search->settings->paths.len && !is_done(search); i++)
		look(search, &link, "%s/%s", search->settings->paths.data[i], link.name);
}

/* Asks servers, if that is allowed, for what is in no folder. */
static void look_at_servers(struct search *search)
{
	struct fetch *fetch = search->settings->fetch;
	if (!fetch || !search->hex[0] || search->query->path[0] != '/')
		return;
	_cleanup_free_ char *path =
		fetch_debug_file(fetch, search->build_id, search->build_id_len, search->name);
	if (path)
		debug_file_look_at(search, path, NULL);
}

/* Whether a file that has nothing else to be identified by is too young to be what was recorded.
 * Files that users point to (--sysroot, --symbol-path) may be younger: they vouch for them. */
static bool is_younger(const struct debug_query *query, const char *path)
{
	struct stat st;
	if (!query->recorded_ns || strcmp(path, query->path) != 0 || stat(path, &st))
		return false;
	uint64_t ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return ns > query->recorded_ns;
}

/* What is at the module's own path, if it is what was recorded. */
static void open_main(struct search *search)
{
	const struct debug_query *query = search->query;
	struct debug_files *files = search->files;
	if (strcmp(query->path, SYMBOLS_VDSO) == 0)
		files->main = object_open_vdso();
	_cleanup_free_ char *path =
		files->main      ? NULL
		: query->is_here ? strdup(query->path)
				 : symbols_settings_locate(search->settings, query->path);
	if (path)
		files->main = object_open(path);
	if (!files->main) {
		bool there = path && access(path, F_OK) == 0;
		debug_file_note(
			search, path ? path : query->path, there ? TRIAL_UNREADABLE : TRIAL_ABSENT);
		return;
	}
	files->changed = query->build_id_len ? !object_has_build_id(files->main, query->build_id,
						       query->build_id_len)
					     : path && is_younger(query, path);
	debug_file_note(search, files->main->path, files->changed ? TRIAL_OTHER : TRIAL_USED);
	if (files->changed) {
		object_close(files->main);
		files->main = NULL;
	} else if (!query->build_id_len) {
		search->build_id = files->main->build_id;
		search->build_id_len = files->main->build_id_len;
	}
}

static void set_hex(const uint8_t *id, size_t len, char ret[HEX_MAX])
{
	ret[0] = '\0';
	for (size_t i = 0; i < len && len > 1 && 2 * len < HEX_MAX; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

/* The shared file of debug information that a debug file names. */
struct alt {
	const char *name;
	const uint8_t *build_id;
	size_t build_id_len;
	char hex[HEX_MAX];
};

__attribute__((format(printf, 3, 4))) static void look_for_alt(
	struct search *search, const struct alt *alt, const char *format, ...)
{
	char *path;
	va_list args;
	va_start(args, format);
	int len = search->files->alt ? -1 : vasprintf(&path, format, args);
	va_end(args);
	if (len < 0)
		return;
	struct object *object = object_open(path);
	enum symbols_trial trial =
		!object ? (access(path, F_OK) == 0 ? TRIAL_UNREADABLE : TRIAL_ABSENT)
		: !object_is_whole(object)                                       ? TRIAL_CUT_SHORT
		: !object_has_build_id(object, alt->build_id, alt->build_id_len) ? TRIAL_OTHER
		: !object_dwarf(object)                                          ? TRIAL_EMPTY
										 : TRIAL_USED;
	if (trial == TRIAL_USED)
		search->files->alt = object;
	else
		object_close(object);
	debug_file_note(search, path, trial);
	free(path);
}

/* As the debug file names it: from its own folder on, or from the root. */
static void look_for_alt_by_name(
	struct search *search, const struct alt *alt, const struct object *debug)
{
	const char *sysroot = search->settings->sysroot;
	_cleanup_free_ char *real = realpath(debug->path, NULL);
	_cleanup_free_ char *real_root = sysroot ? realpath(sysroot, NULL) : NULL;
	if (!real || (sysroot && !real_root))
		return;
	size_t root_len = real_root ? strlen(real_root) : 0;
	bool below = root_len && strncmp(real, real_root, root_len) == 0 && real[root_len] == '/';
	char *slash = strrchr(real, '/');
	*slash = '\0';
	_cleanup_(text_deinit) struct text name;
	text_init(&name);
	if (alt->name[0] != '/')
		text_printf(&name, "%s/", real + (below ? root_len : 0));
	text_add(&name, alt->name);
	bool is_here = alt->name[0] != '/' && !below;
	_cleanup_free_ char *located =
		name.failed ? NULL
		: is_here   ? strdup(name.data)
			    : symbols_settings_locate(search->settings, name.data);
	if (located)
		look_for_alt(search, alt, "%s", located);
}

static void look_for_alt_in_folders(struct search *search, const struct alt *alt)
{
	const struct folder_vec *paths = &search->settings->paths;
	const char *slash = strrchr(alt->name, '/'), *name = slash ? slash + 1 : alt->name;
	for (size_t i = 0; i < paths->len; i++) {
		const char *folder = paths->data[i];
		look_for_alt(
			search, alt, "%s/.build-id/%.2s/%s.debug", folder, alt->hex, alt->hex + 2);
		look_for_alt(search, alt, "%s/%s/%s", folder, alt->hex, name);
		look_for_alt(search, alt, "%s/.dwz/%s", folder, name);
		look_for_alt(search, alt, "%s/%s", folder, name);
	}
	for (size_t i = 0; i < search->settings->debug.len; i++) {
		_cleanup_free_ char *folder = debug_folder(search, i);
		if (folder)
			look_for_alt(search, alt, "%s/.build-id/%.2s/%s.debug", folder, alt->hex,
				alt->hex + 2);
	}
}

/*
 * libdw would look for it too, and take what it finds at the path without asking for its build-id:
 * an empty one keeps it from that.
 */
static void keep_from_looking(struct debug_files *files, Dwarf *dwarf)
{
	static const uint8_t nothing[4];
	if (!files->no_alt.dwarf) {
		image_init(&files->no_alt);
		image_add(&files->no_alt, ".debug_info", nothing, sizeof(nothing));
		image_add(&files->no_alt, ".debug_str", nothing, 1);
		image_dwarf(&files->no_alt);
	}
	dwarf_setalt(dwarf, files->no_alt.dwarf);
}

/* Opens debug information with the file that it shares with others. */
static void open_dwarf(struct search *search, struct object *object)
{
	Dwarf *dwarf = object ? object_dwarf(object) : NULL;
	struct alt alt = {.name = NULL};
	const void *build_id;
	ssize_t len = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf, &alt.name, &build_id) : 0;
	if (len <= 0)
		return;
	alt.build_id = build_id;
	alt.build_id_len = (size_t)len;
	set_hex(alt.build_id, alt.build_id_len, alt.hex);
	look_for_alt_by_name(search, &alt, object);
	look_for_alt_in_folders(search, &alt);
	struct fetch *fetch = search->settings->fetch;
	_cleanup_free_ char *fetched =
		fetch && !search->files->alt
			? fetch_debug_file(fetch, alt.build_id, alt.build_id_len, search->name)
			: NULL;
	if (fetched)
		look_for_alt(search, &alt, "%s", fetched);
	object->alt_missing = !search->files->alt;
	if (search->files->alt)
		dwarf_setalt(dwarf, search->files->alt->dwarf);
	else
		keep_from_looking(search->files, dwarf);
}

static struct search begin_search(struct debug_files *files, const struct debug_query *query)
{
	const char *slash = strrchr(query->path, '/');
	return (struct search){
		.query = query,
		.settings = query->settings,
		.build_id = query->build_id,
		.build_id_len = query->build_id_len,
		.name = slash ? slash + 1 : query->path,
		.files = files,
	};
}

static bool debug_file_shares(const struct object *object)
{
	GElf_Shdr header;
	return object && object_section(object, ".gnu_debugaltlink", &header);
}

void debug_files_open(struct debug_files *ret, const struct debug_query *query)
{
	*ret = (struct debug_files){.main = NULL};
	struct search search = begin_search(ret, query);
	open_main(&search);
	set_hex(search.build_id, search.build_id_len, search.hex);
	look_by_build_id(&search);
	if (ret->main && !ret->separate && !has_debug_info(ret->main))
		look_by_links(&search);
	if (!ret->separate && !(ret->main && has_debug_info(ret->main)))
		look_at_servers(&search);
	if (debug_file_shares(ret->separate) || debug_file_shares(ret->main))
		debug_files_read(ret, query);
}

void debug_files_read(struct debug_files *files, const struct debug_query *query)
{
	if (files->read)
		return;
	files->read = true;
	struct search search = begin_search(files, query);
	open_dwarf(&search, files->separate);
	if (!files->separate || !files->separate->dwarf)
		open_dwarf(&search, files->main);
}

void debug_files_close(struct debug_files *files)
{
	object_close(files->main);
	object_close(files->separate);
	object_close(files->alt);
	image_deinit(&files->no_alt);
	for (size_t i = 0; i < files->tried.len; i++)
		free(files->tried.data[i].path);
	lookup_attempt_vec_deinit(&files->tried);
	*files = (struct debug_files){0};
}
