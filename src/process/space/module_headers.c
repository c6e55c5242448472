/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/module_headers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NOTES_MAX (64u << 10)
#define PAGE_BYTES 4096ull
#define ENTRIES_MAX 256u

static bool read_header_bytes(
	const struct module_headers *h, uint64_t offset, void *ret, size_t bytes)
{
	if (h->space)
		return address_space_read(h->space, h->start + offset, ret, bytes) == bytes;
	return offset <= INT64_MAX && pread(h->fd, ret, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool read_elf_headers(struct module_headers *h, uint16_t machine)
{
	if (!read_header_bytes(h, 0, &h->file, sizeof(h->file)) ||
		memcmp(h->file.e_ident, ELFMAG, SELFMAG) != 0 ||
		h->file.e_ident[EI_CLASS] != ELFCLASS64 || h->file.e_machine != machine ||
		h->file.e_phentsize != sizeof(Elf64_Phdr) || h->file.e_phnum > MODULE_PARTS_MAX)
		return false;
	h->count = h->file.e_phnum;
	return read_header_bytes(h, h->file.e_phoff, h->parts, h->count * sizeof(h->parts[0]));
}

bool module_headers_in_memory(
	struct module_headers *ret, const struct address_space *space, uint64_t start)
{
	*ret = (struct module_headers){.space = space, .start = start, .fd = -1};
	return read_elf_headers(ret, space->machine);
}

bool module_headers_in_file(struct module_headers *ret, uint16_t machine, int fd, uint64_t start)
{
	*ret = (struct module_headers){.start = start, .fd = fd};
	return read_elf_headers(ret, machine);
}

static void take_data(const struct module_headers *h, struct address_module *module)
{
	unsigned count = 0;
	memset(module->data, 0, sizeof(module->data));
	for (unsigned i = 0; i < h->count && count < ADDRESS_DATA_MAX; i++) {
		const Elf64_Phdr *part = &h->parts[i];
		uint64_t start = module->bias + part->p_vaddr;
		if (part->p_type == PT_LOAD && part->p_flags & PF_W && start >= module->start &&
			start < module->end)
			module->data[count++] = start;
	}
}

/* Its parts say where it ends; the first one, where it begins. */
bool module_headers_place(const struct module_headers *h, struct address_module *module)
{
	uint64_t low = UINT64_MAX, high = 0, written = UINT64_MAX;
	for (unsigned i = 0; i < h->count; i++) {
		const Elf64_Phdr *part = &h->parts[i];
		uint64_t end = part->p_vaddr + part->p_memsz;
		if (part->p_type == PT_TLS) {
			module->tls = part->p_memsz;
			module->tls_image = part->p_vaddr;
			module->tls_image_bytes = part->p_filesz;
			module->tls_align = part->p_align;
		}
		if (part->p_type != PT_LOAD || end < part->p_vaddr || end > 1ull << 48)
			continue;
		low = part->p_vaddr - part->p_offset < low ? part->p_vaddr - part->p_offset : low;
		high = end > high ? end : high;
		if (part->p_flags & PF_W && part->p_vaddr < written)
			written = part->p_vaddr;
	}
	if (low >= high)
		return false;
	module->start = h->start;
	module->bias = h->start - (low & ~(PAGE_BYTES - 1));
	module->end = (module->bias + high + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	module->written =
		written == UINT64_MAX ? module->end : (module->bias + written) & ~(PAGE_BYTES - 1);
	take_data(h, module);
	return module->end > h->start;
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

void module_headers_build_id(const struct module_headers *h, struct address_module *module)
{
	_cleanup_free_ uint8_t *notes = malloc(NOTES_MAX);
	for (unsigned i = 0; notes && i < h->count; i++) {
		const Elf64_Phdr *part = &h->parts[i];
		if (part->p_type != PT_NOTE || part->p_filesz > NOTES_MAX)
			continue;
		uint64_t at = h->space ? module->bias + part->p_vaddr - h->start : part->p_offset;
		if (read_header_bytes(h, at, notes, part->p_filesz) &&
			take_build_id(module, notes, part->p_filesz))
			return;
	}
}

const Elf64_Phdr *module_headers_part(const struct module_headers *h, uint32_t type)
{
	for (unsigned i = 0; i < h->count; i++) {
		if (h->parts[i].p_type == type)
			return &h->parts[i];
	}
	return NULL;
}

/* The loader writes addresses where the file has those of its own, and where DT_DEBUG stands. */
static bool is_same_entry(const Elf64_Dyn *file, const Elf64_Dyn *memory, uint64_t bias)
{
	return file->d_tag == memory->d_tag &&
	       (file->d_tag == DT_DEBUG || file->d_un.d_val == memory->d_un.d_val ||
		       file->d_un.d_val + bias == memory->d_un.d_val);
}

/* Whether a core has more of a module than its headers: what the loader has written to. */
static bool has_written(const struct address_space *space, const struct address_module *module)
{
	const struct core_segments *segments = &space->core.segments;
	for (size_t i = 0; i < segments->len; i++) {
		const struct core_segment *s = &segments->data[i];
		if (s->start > module->start && s->start < module->end && s->file_bytes)
			return !space->core.missing_bytes;
	}
	return false;
}

bool module_headers_contradict(const struct module_headers *of_file,
	const struct address_space *space, const struct address_module *module)
{
	Elf64_Dyn file[ENTRIES_MAX], memory[ENTRIES_MAX];
	const Elf64_Phdr *part = module_headers_part(of_file, PT_DYNAMIC);
	if (!part)
		return false;
	size_t most = part->p_filesz < sizeof(file) ? part->p_filesz : sizeof(file);
	size_t count = most / sizeof(file[0]);
	size_t bytes = count * sizeof(file[0]);
	if (!read_header_bytes(of_file, part->p_offset, file, bytes))
		return false;
	if (address_space_read(space, module->bias + part->p_vaddr, memory, bytes) != bytes)
		return has_written(space, module);
	for (size_t i = 0; i < count && file[i].d_tag != DT_NULL; i++) {
		if (!is_same_entry(&file[i], &memory[i], module->bias))
			return true;
	}
	return false;
}
