/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/space/address_modules.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/module_headers.h"

static int open_module_file(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void find_file(const struct address_files *files, struct address_module *module)
{
	if (!files)
		return;
	_cleanup_free_ char *path = files->find(files->context, module, &module->file);
	if (path)
		module->fd = open_module_file(path);
	if (module->fd < 0 && path)
		module->file = ADDRESS_FILE_MISSING;
}

static void drop_file(struct address_module *module, enum address_file why)
{
	if (module->fd >= 0)
		close(module->fd);
	module->fd = -1;
	module->file = why;
}

/* Sets the state of a file that no build-id identifies. */
static void verify_module_file(const struct address_space *space, struct module_headers *scratch,
	struct address_module *module)
{
	if (module->fd < 0 || module->file == ADDRESS_FILE_SAME)
		return;
	if (!module_headers_in_file(scratch, space->machine, module->fd, module->start) ||
		module_headers_contradict(scratch, space, module))
		drop_file(module, ADDRESS_FILE_CHANGED);
}

/* What is code, in mappings that a core has no segment for (gcore), its headers alone say. */
static void mark_code(struct address_space *space, const struct module_headers *h,
	const struct address_module *module)
{
	struct process_map_vec *maps = &space->maps.maps;
	if (space->is_live)
		return;
	for (size_t i = process_maps_first(&space->maps, module->start);
		i < maps->len && maps->data[i].start < module->end; i++) {
		struct process_map *map = &maps->data[i];
		if (core_file_segment(&space->core, map->start))
			continue;
		for (unsigned k = 0; k < h->count; k++) {
			const Elf64_Phdr *part = &h->parts[k];
			uint64_t start = module->bias + part->p_vaddr;
			map->executable |= part->p_type == PT_LOAD && part->p_flags & PF_X &&
					   map->start < start + part->p_memsz && start < map->end;
		}
	}
}

/* From what is in memory. */
static bool read_module_in_memory(struct address_space *space, const struct address_files *files,
	uint64_t start, struct module_headers *h, struct address_module *module)
{
	if (!module_headers_in_memory(h, space, start) || !module_headers_place(h, module))
		return false;
	module_headers_build_id(h, module);
	mark_code(space, h, module);
	find_file(files, module);
	verify_module_file(space, h, module);
	return true;
}

/* From its file, as memory lacks its beginning. */
static bool read_file_of(struct address_space *space, const struct address_files *files,
	uint64_t start, struct module_headers *h, struct address_module *module)
{
	find_file(files, module);
	if (module->fd < 0 || !module_headers_in_file(h, space->machine, module->fd, start) ||
		!module_headers_place(h, module))
		return false;
	module_headers_build_id(h, module);
	if (module->file == ADDRESS_FILE_SAME)
		module->file = ADDRESS_FILE_UNVERIFIED;
	verify_module_file(space, h, module);
	if (module->fd >= 0)
		mark_code(space, h, module);
	return module->fd >= 0;
}

/* A file that code was mapped from, of which nothing else is known: as far as its mappings go. */
static bool guess_place(const struct address_space *space, const struct process_map *map,
	struct address_module *ret)
{
	const struct process_maps *maps = &space->maps;
	bool code = false;
	if (ret->fd >= 0)
		drop_file(ret, ADDRESS_FILE_CHANGED);
	ret->build_id_len = 0;
	ret->tls = 0;
	ret->start = ret->bias = ret->end = map->start;
	for (; map < maps->maps.data + maps->maps.len && map->start == ret->end; map++) {
		if (strcmp(map->path, ret->path) != 0)
			break;
		code |= map->executable;
		ret->end = map->end;
	}
	ret->written = ret->end;
	memset(ret->data, 0, sizeof(ret->data));
	return code;
}

/* The program itself has the address at which it began; if that is unknown, it comes first. */
static bool is_executable(
	const struct address_space *space, const struct process_map *map, const char *path)
{
	if (!space->auxv.entry)
		return !space->modules.len;
	const struct process_map *entry = address_space_map(space, space->auxv.entry);
	return entry && *path && entry >= map && !strcmp(entry->path, path);
}

/* A mapping of a file's beginning. False: no memory. */
static bool add_module(struct address_space *space, const struct address_files *files,
	const struct process_map *map, const char *path)
{
	_cleanup_free_ struct module_headers *h = malloc(sizeof(*h));
	struct address_module module = {.path = path, .fd = -1};
	if (!h)
		return false;
	module.executable = is_executable(space, map, path);
	bool found = read_module_in_memory(space, files, map->start, h, &module) ||
		     (files && read_file_of(space, files, map->start, h, &module)) ||
		     guess_place(space, map, &module);
	uint64_t entry = space->auxv.entry;
	module.executable |= entry >= module.start && entry < module.end;
	return !found || address_modules_push(&space->modules, module);
}

struct error *address_modules_find(struct address_space *space, const struct address_files *files)
{
	bool ok = true;
	uint64_t known = 0;
	for (size_t i = 0; ok && i < space->maps.maps.len; i++) {
		const struct process_map *map = &space->maps.maps.data[i];
		bool vdso = map->start && map->start == space->auxv.vdso;
		if ((!*map->path && !vdso) || map->offset || map->start < known)
			continue;
		size_t before = space->modules.len;
		ok = add_module(
			space, vdso ? NULL : files, map, vdso ? "linux-vdso.so.1" : map->path);
		if (space->modules.len > before)
			known = space->modules.data[before].end;
	}
	return ok ? NULL : error_no_memory();
}
