/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/util.h"

#define PAGE_BYTES 4096ull

const void *elf_file_at(const struct elf_file *file, uint64_t offset, uint64_t bytes)
{
	return offset <= file->bytes && bytes <= file->bytes - offset ? file->data + offset : NULL;
}

static bool header_check(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == EM_X86_64;
}

static struct error *headers_find(const char *path, struct elf_file *file)
{
	const Elf64_Ehdr *header = elf_file_at(file, 0, sizeof(*header));
	if (!header || !header_check(header))
		return error_create(ERROR_INPUT, "%s is no program or library of x86-64", path);
	file->part_count = header->e_phnum;
	if (header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phoff % 8 == 0)
		file->parts =
			elf_file_at(file, header->e_phoff, file->part_count * sizeof(Elf64_Phdr));
	if (!file->parts)
		return error_create(ERROR_INPUT, "%s has no program headers", path);
	file->section_count = header->e_shnum;
	if (header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shoff % 8 == 0 &&
		header->e_shoff)
		file->sections = elf_file_at(
			file, header->e_shoff, file->section_count * sizeof(Elf64_Shdr));
	if (!file->sections)
		file->section_count = 0;
	return NULL;
}

struct error *elf_file_open(const char *path, struct elf_file *ret)
{
	struct stat info;
	*ret = (struct elf_file){0};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info))
		return error_errno(ERROR_INPUT, errno, "can't read %s", path);
	if (!S_ISREG(info.st_mode) || !info.st_size)
		return error_create(ERROR_INPUT, "%s is no program or library", path);
	void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return error_errno(ERROR_ENVIRONMENT, errno, "can't map %s", path);
	ret->data = data;
	ret->bytes = (size_t)info.st_size;
	struct error *error = headers_find(path, ret);
	if (error)
		elf_file_close(ret);
	return error;
}

void elf_file_close(struct elf_file *file)
{
	if (file->data)
		munmap((void *)file->data, file->bytes);
	*file = (struct elf_file){0};
}

bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < file->part_count; i++) {
		const Elf64_Phdr *part = &file->parts[i];
		if (part->p_type != PT_LOAD || address < part->p_vaddr ||
			address - part->p_vaddr >= part->p_filesz)
			continue;
		*ret = address - part->p_vaddr + part->p_offset;
		return *ret < file->bytes;
	}
	return false;
}

bool elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < file->part_count; i++) {
		const Elf64_Phdr *part = &file->parts[i];
		uint64_t start = part->p_offset & ~(PAGE_BYTES - 1);
		/* Two parts may share a page of the file; that with code is the one meant. */
		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || offset < start ||
			offset - start >= part->p_filesz + (part->p_offset - start))
			continue;
		*ret = offset - part->p_offset + part->p_vaddr;
		return true;
	}
	return false;
}

const Elf64_Shdr *elf_file_section(const struct elf_file *file, const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file->data;
	if (header->e_shstrndx >= file->section_count)
		return NULL;
	const Elf64_Shdr *names = &file->sections[header->e_shstrndx];
	size_t room = strlen(name) + 1;
	for (size_t i = 0; i < file->section_count; i++) {
		const Elf64_Shdr *section = &file->sections[i];
		if (section->sh_name > names->sh_size || names->sh_size - section->sh_name < room)
			continue;
		const char *at = elf_file_at(file, names->sh_offset + section->sh_name, room);
		if (at && !memcmp(at, name, room))
			return section;
	}
	return NULL;
}

/* One part with notes (gABI, chapter 5, "Note Section"). */
static size_t notes_build_id(const uint8_t *notes, uint64_t bytes, uint8_t *ret)
{
	Elf64_Nhdr note;
	for (uint64_t at = 0; bytes - at >= sizeof(note);) {
		memcpy(&note, notes + at, sizeof(note));
		uint64_t name = at + sizeof(note), content = name + align_up(note.n_namesz, 4);
		uint64_t next = content + align_up(note.n_descsz, 4);
		if (next > bytes)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
			!memcmp(notes + name, "GNU", sizeof("GNU")) &&
			note.n_descsz <= ELF_BUILD_ID_MAX) {
			memcpy(ret, notes + content, note.n_descsz);
			return note.n_descsz;
		}
		at = next;
	}
	return 0;
}

size_t elf_file_build_id(const struct elf_file *file, uint8_t ret[ELF_BUILD_ID_MAX])
{
	size_t bytes = 0;
	for (size_t i = 0; i < file->part_count && !bytes; i++) {
		const Elf64_Phdr *part = &file->parts[i];
		const uint8_t *notes = elf_file_at(file, part->p_offset, part->p_filesz);
		if (part->p_type == PT_NOTE && notes)
			bytes = notes_build_id(notes, part->p_filesz, ret);
	}
	return bytes;
}

static bool table_functions(const struct elf_file *file, const Elf64_Shdr *section,
	elf_symbol_found *found, void *context)
{
	if (section->sh_link >= file->section_count || section->sh_offset % 8)
		return true;
	const Elf64_Shdr *text = &file->sections[section->sh_link];
	size_t count = section->sh_size / sizeof(Elf64_Sym);
	const Elf64_Sym *symbols = elf_file_at(file, section->sh_offset, count * sizeof(Elf64_Sym));
	const char *strings = elf_file_at(file, text->sh_offset, text->sh_size);
	if (!symbols || !strings || !text->sh_size || strings[text->sh_size - 1])
		return true;
	for (size_t i = 0; i < count; i++) {
		const Elf64_Sym *symbol = &symbols[i];
		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
			symbol->st_name >= text->sh_size)
			continue;
		if (!found(context, strings + symbol->st_name, symbol))
			return false;
	}
	return true;
}

void elf_file_symbols(const struct elf_file *file, elf_symbol_found *found, void *context)
{
	for (size_t i = 0; i < file->section_count; i++) {
		const Elf64_Shdr *section = &file->sections[i];
		if (section->sh_type != SHT_DYNSYM && section->sh_type != SHT_SYMTAB)
			continue;
		if (!table_functions(file, section, found, context))
			return;
	}
}

struct function_caller {
	elf_function_found *found;
	void *context;
};

static bool call_function(void *context, const char *name, const Elf64_Sym *symbol)
{
	const struct function_caller *caller = context;
	return caller->found(caller->context, name, symbol->st_value, symbol->st_size);
}

void elf_file_functions(const struct elf_file *file, elf_function_found *found, void *context)
{
	struct function_caller caller = {found, context};
	elf_file_symbols(file, call_function, &caller);
}
