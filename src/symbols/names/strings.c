/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/strings.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "symbols/name.h"

void strings_init(struct strings *strings)
{
	arena_init(&strings->arena);
	string_map_init(&strings->kept);
	string_map_init(&strings->demangled);
	string_map_init(&strings->paths);
}

void strings_deinit(struct strings *strings)
{
	string_map_deinit(&strings->kept);
	string_map_deinit(&strings->demangled);
	string_map_deinit(&strings->paths);
	arena_deinit(&strings->arena);
}

struct error *strings_keep(struct strings *strings, const char *string, const char **ret)
{
	const char **known = string ? string_map_find(&strings->kept, string) : NULL;
	if (!string || known) {
		*ret = known ? *known : NULL;
		return NULL;
	}
	const char *copy = arena_strdup(&strings->arena, string);
	known = copy ? string_map_insert(&strings->kept, copy, NULL) : NULL;
	if (!known)
		return error_no_memory();
	*ret = *known = copy;
	return NULL;
}

/* Keeps what `make` adds for `from`, and remembers it in `map`. */
static struct error *keep_made(struct strings *strings, struct string_map *map, const char *from,
	void (*make)(struct text *, const char *), const char **ret)
{
	const char **known = from ? string_map_find(map, from) : NULL;
	if (!from || known) {
		*ret = known ? *known : NULL;
		return NULL;
	}
	_cleanup_(text_deinit) struct text made;
	text_init(&made);
	make(&made, from);
	if (made.failed)
		return error_no_memory();
	const char *key, *value;
	struct error *error = strings_keep(strings, from, &key);
	if (!error)
		error = strings_keep(strings, made.data ? made.data : "", &value);
	if (error)
		return error;
	known = string_map_insert(map, key, NULL);
	if (!known)
		return error_no_memory();
	*ret = *known = value;
	return NULL;
}

struct error *strings_keep_demangled(
	struct strings *strings, const char *linkage_name, const char **ret)
{
	return keep_made(strings, &strings->demangled, linkage_name, name_add_demangled, ret);
}

static void drop_last_part(struct text *path, size_t root)
{
	while (path->len > root && path->data[path->len - 1] != '/')
		path->len--;
	while (path->len > root && path->data[path->len - 1] == '/')
		path->len--;
	path->data[path->len] = '\0';
}

static bool ends_with_parent(const struct text *path)
{
	return path->len >= 2 && strcmp(path->data + path->len - 2, "..") == 0 &&
	       (path->len == 2 || path->data[path->len - 3] == '/');
}

static void add_clean_path(struct text *clean, const char *path)
{
	size_t root = path[0] == '/';
	text_add_n(clean, path, root);
	while (*path && !clean->failed) {
		size_t len = strcspn(path, "/");
		bool is_parent = len == 2 && path[0] == '.' && path[1] == '.';
		if (is_parent && root && clean->len == root) {
			/* The root is its own parent. */
		} else if (is_parent && clean->len > root && !ends_with_parent(clean)) {
			drop_last_part(clean, root);
		} else if (len && !(len == 1 && path[0] == '.')) {
			if (clean->len > root)
				text_add_char(clean, '/');
			text_add_n(clean, path, len);
		}
		path += len;
		path += *path == '/';
	}
}

struct error *strings_keep_path(struct strings *strings, const char *path, const char **ret)
{
	return keep_made(strings, &strings->paths, path, add_clean_path, ret);
}
