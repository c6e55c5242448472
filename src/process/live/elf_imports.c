/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks where the dynamic linker looks, in the order of ld.so(8): DT_RPATH, LD_LIBRARY_PATH,
 * DT_RUNPATH, its cache, the usual folders. Variants for newer processors are passed over: they
 * have the same names in them.
 */
#include "process/elf_imports.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/vec.h"
#include "process/space/elf_image.h"

#define LIBRARIES_MAX 1000u
#define CACHE "/etc/ld.so.cache"
#define USUAL_FOLDERS                                                                              \
	"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib"

DEFINE_VEC(needed_paths, char *)

struct elf_imports {
	struct needed_paths paths; /* owned; the program is the first */
	struct file_map cache;
};

static bool add_library(struct elf_imports *n, const char *path)
{
	for (size_t i = 0; i < n->paths.len; i++)
		if (!strcmp(n->paths.data[i], path))
			return true;
	char *copy = n->paths.len < LIBRARIES_MAX ? strdup(path) : NULL;
	if (copy && needed_paths_push(&n->paths, copy))
		return true;
	free(copy);
	return false;
}

/* "$ORIGIN" or "${ORIGIN}" at the start of a folder stands for that of the file that names it. */
static void expand_origin(
	const char *folder, size_t len, const char *origin, char *ret, size_t room)
{
	static const char *const forms[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(origin, '/');
	int origin_len = slash ? (int)(slash - origin) : 0;
	for (size_t i = 0; i < 2; i++) {
		size_t form = strlen(forms[i]);
		if (len >= form && !strncmp(folder, forms[i], form)) {
			snprintf(ret, room, "%.*s%.*s", origin_len, origin, (int)(len - form),
				folder + form);
			return;
		}
	}
	snprintf(ret, room, "%.*s", (int)len, folder);
}

/* In a list of folders. */
static bool find_in(
	struct elf_imports *n, const char *folders, const char *name, const char *origin)
{
	for (const char *at = folders; at && *at;) {
		char folder[PATH_MAX], path[PATH_MAX + NAME_MAX];
		size_t len = strcspn(at, ":");
		expand_origin(at, len, origin, folder, sizeof(folder));
		snprintf(path, sizeof(path), "%s/%s", *folder ? folder : ".", name);
		if (!access(path, R_OK))
			return add_library(n, path);
		at += len + (at[len] == ':');
	}
	return false;
}

/* sysdeps/generic/dl-cache.h of glibc: struct cache_file_new. */
struct cache_head {
	char magic[20];
	uint32_t count, strings_bytes, reserved[5];
};
struct cache_entry {
	uint32_t flags, name, path, os_version; /* names: offsets from the head on */
	uint64_t hardware;
};
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
#define CACHE_X86_64 0x0303u

static bool find_in_cache(struct elf_imports *n, const char *name)
{
	const struct elf_image file = {n->cache.data, n->cache.len};
	struct cache_head head;
	const void *start = file.data ? elf_at(&file, 0, sizeof(head)) : NULL;
	if (!start)
		return false;
	memcpy(&head, start, sizeof(head));
	uint64_t bytes = (uint64_t)head.count * sizeof(struct cache_entry);
	const uint8_t *entries = elf_at(&file, sizeof(head), bytes);
	if (!entries || memcmp(head.magic, CACHE_MAGIC, sizeof(head.magic)))
		return false;
	for (uint32_t i = 0; i < head.count; i++) {
		struct cache_entry entry;
		memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
		const char *known =
			entry.flags == CACHE_X86_64 ? elf_string(&file, entry.name) : NULL;
		const char *path =
			known && !strcmp(known, name) ? elf_string(&file, entry.path) : NULL;
		if (path)
			return add_library(n, path);
	}
	return false;
}

static void find_library(struct elf_imports *n, const struct elf_image *image,
	const struct elf_image *strings, const char *name, const char *origin)
{
	uint64_t runpath = elf_dynamic_value(image, DT_RUNPATH),
		 rpath = runpath ? 0 : elf_dynamic_value(image, DT_RPATH);
	if (strchr(name, '/')) {
		add_library(n, name);
		return;
	}
	if ((rpath && find_in(n, elf_string(strings, rpath), name, origin)) ||
		find_in(n, getenv("LD_LIBRARY_PATH"), name, origin) ||
		(runpath && find_in(n, elf_string(strings, runpath), name, origin)) ||
		find_in_cache(n, name))
		return;
	find_in(n, USUAL_FOLDERS, name, origin);
}

/* The table of symbols that a file has for debuggers and linkers, and their names; NULL data: it
 * has none. */
struct symbols {
	struct elf_image table, names;
};

static struct symbols find_symbols(const struct elf_image *image)
{
	struct symbols ret = {{NULL, 0}, {NULL, 0}};
	Elf64_Ehdr e;
	const void *start = elf_at(image, 0, sizeof(e));
	if (!start)
		return ret;
	memcpy(&e, start, sizeof(e));
	uint64_t bytes = (uint64_t)e.e_shnum * sizeof(Elf64_Shdr);
	bool usual = e.e_shentsize == sizeof(Elf64_Shdr);
	const uint8_t *sections = usual ? elf_at(image, e.e_shoff, bytes) : NULL;
	for (unsigned i = 0; sections && i < e.e_shnum; i++) {
		Elf64_Shdr s;
		memcpy(&s, sections + i * sizeof(s), sizeof(s));
		if (s.sh_type != SHT_SYMTAB || s.sh_link >= e.e_shnum)
			continue;
		ret.table = (struct elf_image){elf_at(image, s.sh_offset, s.sh_size), s.sh_size};
		memcpy(&s, sections + s.sh_link * sizeof(s), sizeof(s));
		ret.names = (struct elf_image){elf_at(image, s.sh_offset, s.sh_size), s.sh_size};
		break;
	}
	return ret;
}

static bool strings_mention(const struct elf_image *strings, const char *text)
{
	return strings->data && memmem(strings->data, strings->bytes, text, strlen(text));
}

static bool is_elf(const struct file_map *map)
{
	return map->len > SELFMAG && !memcmp(map->data, ELFMAG, SELFMAG) &&
	       map->data[EI_CLASS] == ELFCLASS64;
}

static bool file_mentions(struct elf_imports *n, size_t number, const char *text)
{
	const char *path = n->paths.data[number];
	struct file_map map;
	struct error *error = file_map_open(path, &map);
	if (error) {
		error_destroy(error);
		return false;
	}
	const struct elf_image image = {map.data, map.len};
	struct elf_image strings = {NULL, 0}, others = {NULL, 0};
	if (is_elf(&map))
		strings = elf_dynamic_strings(&image);
	if (is_elf(&map) && !number)
		others = find_symbols(&image).names;
	bool found = strings_mention(&strings, text) || strings_mention(&others, text);
	uint64_t at;
	for (unsigned i = 0; strings.data && !found && (at = elf_dynamic_nth(&image, DT_NEEDED, i));
		i++) {
		const char *name = elf_string(&strings, at);
		if (name && *name)
			find_library(n, &image, &strings, name, path);
	}
	file_map_deinit(&map);
	return found;
}

bool elf_mentions_name(const char *program, const char *text)
{
	struct elf_imports n = {.cache = {NULL, 0}};
	needed_paths_init(&n.paths);
	struct error *error = file_map_open(CACHE, &n.cache);
	if (error) {
		error_destroy(error);
		n.cache = (struct file_map){NULL, 0};
	}
	bool found = false;
	if (add_library(&n, program))
		for (size_t i = 0; !found && i < n.paths.len; i++)
			found = file_mentions(&n, i, text);
	for (size_t i = 0; i < n.paths.len; i++)
		free(n.paths.data[i]);
	needed_paths_deinit(&n.paths);
	file_map_deinit(&n.cache);
	return found;
}

/* The function's place among the names; count: it is none of them. */
static size_t function_index(const Elf64_Sym *symbol, const struct elf_image *strings,
	const char *const *names, size_t count)
{
	bool fits = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
		    ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && symbol->st_shndx != SHN_UNDEF;
	for (size_t i = 0; fits && i < count; i++) {
		size_t bytes = strlen(names[i]) + 1;
		const char *name = elf_at(strings, symbol->st_name, bytes);
		if (name && !memcmp(name, names[i], bytes))
			return i;
	}
	return count;
}

void elf_find_functions(
	const char *program, const char *const *names, size_t count, uint64_t *ret_addresses)
{
	struct file_map map;
	memset(ret_addresses, 0, count * sizeof(*ret_addresses));
	struct error *error = file_map_open(program, &map);
	if (error) {
		error_destroy(error);
		return;
	}
	const struct elf_image image = {map.data, map.len};
	struct symbols symbols = {{NULL, 0}, {NULL, 0}};
	if (is_elf(&map))
		symbols = find_symbols(&image);
	for (size_t at = 0; symbols.table.data && symbols.names.data &&
			    at + sizeof(Elf64_Sym) <= symbols.table.bytes;
		at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		memcpy(&symbol, symbols.table.data + at, sizeof(symbol));
		size_t i = function_index(&symbol, &symbols.names, names, count);
		if (i < count)
			ret_addresses[i] = symbol.st_value;
	}
	file_map_deinit(&map);
}
