/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/address_modules.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PARTS_MAX 256u
#define NOTES_MAX (64u << 10)
#define PAGE_BYTES 4096ull

/* Where a module's headers are read: in memory, or in its file. */
struct headers {
	const struct address_space *space; /* NULL: in the file */
	uint64_t start;                    /* of the module in memory */
	int fd;
	Elf64_Ehdr file;
	Elf64_Phdr parts[PARTS_MAX];
	unsigned count;
};

static bool read_at(const struct headers *h, uint64_t offset, void *ret, size_t bytes)
{
	if (h->space)
		return address_space_read(h->space, h->start + offset, ret, bytes) == bytes;
	return pread(h->fd, ret, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool read_headers(struct headers *h, uint16_t machine)
{
	if (!read_at(h, 0, &h->file, sizeof(h->file)) ||
		memcmp(h->file.e_ident, ELFMAG, SELFMAG) != 0 ||
		h->file.e_ident[EI_CLASS] != ELFCLASS64 || h->file.e_machine != machine ||
		h->file.e_phentsize != sizeof(Elf64_Phdr) || h->file.e_phnum > PARTS_MAX)
		return false;
	h->count = h->file.e_phnum;
	return read_at(h, h->file.e_phoff, h->parts, h->count * sizeof(h->parts[0]));
}

/* A build-id among notes (System V ABI: notes; NT_GNU_BUILD_ID). */
static bool take_build_id(struct address_module *module, const uint8_t *notes, size_t bytes)
{
	for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
		Elf64_Nhdr note;
		memcpy(&note, notes + at, sizeof(note));
		uint64_t data = at + sizeof(note) + (((uint64_t)note.n_namesz + 3) & ~3ull);
		uint64_t end = data + (((uint64_t)note.n_descsz + 3) & ~3ull);
		if (data + note.n_descsz > bytes)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			!memcmp(notes + at + sizeof(note), "GNU", 4) && note.n_descsz &&
			note.n_descsz <= ADDRESS_BUILD_ID_MAX) {
			memcpy(module->build_id, notes + data, note.n_descsz);
			module->build_id_len = note.n_descsz;
			return true;
		}
		at = (size_t)end;
	}
	return false;
}

static void read_build_id(const struct headers *h, struct address_module *module)
{
	_cleanup_free_ uint8_t *notes = malloc(NOTES_MAX);
	for (unsigned i = 0; notes && i < h->count; i++) {
		const Elf64_Phdr *part = &h->parts[i];
		if (part->p_type != PT_NOTE || part->p_filesz > NOTES_MAX)
			continue;
		uint64_t at = h->space ? module->bias + part->p_vaddr - h->start : part->p_offset;
		if (read_at(h, at, notes, part->p_filesz) &&
			take_build_id(module, notes, part->p_filesz))
			return;
	}
}

/* Where it lies and how far it goes, if that is said by its first part. */
static bool place_module(const struct headers *h, uint64_t start, struct address_module *module)
{
	uint64_t low = UINT64_MAX, high = 0;
	for (unsigned i = 0; i < h->count; i++) {
		const Elf64_Phdr *part = &h->parts[i];
		uint64_t end = part->p_vaddr + part->p_memsz;
		if (part->p_type == PT_TLS)
			module->tls = part->p_memsz;
		if (part->p_type != PT_LOAD || end < part->p_vaddr || end > 1ull << 48)
			continue;
		low = part->p_vaddr - part->p_offset < low ? part->p_vaddr - part->p_offset : low;
		high = end > high ? end : high;
	}
	if (low >= high)
		return false;
	module->start = start;
	module->bias = start - (low & ~(PAGE_BYTES - 1));
	module->end = (module->bias + high + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	return module->end > start;
}

static int open_file(const char *path)
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
		module->fd = open_file(path);
	if (module->fd < 0 && path)
		module->file = ADDRESS_FILE_MISSING;
}

/* A mapping of a file's beginning. False: no memory. */
static bool look_at(struct address_space *space, const struct address_files *files, uint64_t start,
	const char *path)
{
	struct headers *h = calloc(1, sizeof(*h));
	struct address_module module = {.path = path, .fd = -1};
	if (!h)
		return false;
	*h = (struct headers){.space = space, .start = start, .fd = -1};
	bool found = read_headers(h, space->machine) && place_module(h, start, &module);
	if (found)
		read_build_id(h, &module);
	if (found || files)
		find_file(files, &module);
	if (!found && module.fd >= 0) {
		*h = (struct headers){.space = NULL, .start = start, .fd = module.fd};
		found = read_headers(h, space->machine) && place_module(h, start, &module);
		if (found && !module.build_id_len)
			read_build_id(h, &module);
		if (found && module.file == ADDRESS_FILE_SAME)
			module.file = ADDRESS_FILE_UNVERIFIED;
	}
	free(h);
	if (!found) {
		if (module.fd >= 0)
			close(module.fd);
		return true;
	}
	uint64_t entry = space->auxv.entry;
	module.executable = entry >= module.start && entry < module.end;
	return address_modules_push(&space->modules, module);
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
		ok = look_at(space, vdso ? NULL : files, map->start,
			vdso ? "linux-vdso.so.1" : map->path);
		if (space->modules.len > before)
			known = space->modules.data[before].end;
	}
	return ok ? NULL : error_no_memory();
}
