/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/layout.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/util.h"

/* No real path is deeper, and each level takes a folder. */
#define DEPTH_MAX 64u

#define WHOLE_FIXED (UINT64_C(64) << 20)
#define WHOLE_FACTOR 100u

static const char *const kind_names[BUNDLE_KINDS] = {
	[BUNDLE_KIND_RECORDING] = "recording",
	[BUNDLE_KIND_PARENT] = "parent",
	[BUNDLE_KIND_MODULE] = "module",
	[BUNDLE_KIND_DEBUG] = "debug",
	[BUNDLE_KIND_SHARED] = "shared",
	[BUNDLE_KIND_SPLIT] = "split",
	[BUNDLE_KIND_PACKAGE] = "package",
	[BUNDLE_KIND_SOURCE] = "source",
};

static const char *const folders[] = {
	BUNDLE_RECORDING, BUNDLE_SYSROOT, ".build-id", ".dwo", BUNDLE_SOURCES};

uint64_t bundle_bytes_max(uint64_t packed_bytes)
{
	return WHOLE_FIXED + min(packed_bytes, UINT64_C(1) << 40) * WHOLE_FACTOR;
}

const char *bundle_kind_name(enum bundle_kind kind)
{
	return kind_names[kind];
}

static bool is_part(const char *part, size_t len, const char *name)
{
	return strlen(name) == len && strncmp(part, name, len) == 0;
}

bool bundle_place_below(struct text *text, const char *folder, const char *path)
{
	text_add(text, folder);
	size_t start = text->len;
	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");
		if (is_part(at, len, "..")) {
			while (text->len > start && text->data[--text->len] != '/')
				;
			if (text->data)
				text->data[text->len] = '\0';
		} else if (len && !is_part(at, len, ".")) {
			text_add_char(text, '/');
			text_add_n(text, at, len);
		}
		at += len + (at[len] == '/');
	}
	return !text->failed && text->len > start;
}

bool bundle_place_by_id(struct text *text, const uint8_t *build_id, size_t len, const char *end)
{
	if (len < 2)
		return false;
	text_printf(text, ".build-id/%02x/", build_id[0]);
	for (size_t i = 1; i < len; i++)
		text_printf(text, "%02x", build_id[i]);
	text_add(text, end);
	return !text->failed;
}

void bundle_place_split(struct text *text, uint64_t id)
{
	text_printf(text, ".dwo/%016" PRIx64 ".dwo", id);
}

static bool is_in_folder(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		size_t len = strlen(folders[i]);
		if (strncmp(path, folders[i], len) == 0 && path[len] == '/')
			return true;
	}
	return strcmp(path, BUNDLE_MANIFEST) == 0;
}

bool bundle_place_is_good(const char *path)
{
	unsigned depth = 0;
	if (strlen(path) >= PATH_MAX || !is_in_folder(path))
		return false;
	for (const char *at = path;; at++) {
		size_t len = strcspn(at, "/");
		if (!len || len > NAME_MAX || is_part(at, len, ".") || is_part(at, len, "..") ||
			++depth > DEPTH_MAX)
			return false;
		at += len;
		if (!*at)
			return true;
	}
}
