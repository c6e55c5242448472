/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/elf_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/io.h"
#include "process/space/elf_image.h"

/* Section number `i`. False: there is none. */
static bool section_get(const struct elf_image *image, unsigned i, Elf64_Shdr *ret)
{
	Elf64_Ehdr e;
	const void *at = elf_at(image, 0, sizeof(e));
	if (!at)
		return false;
	memcpy(&e, at, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_ident[EI_CLASS] != ELFCLASS64 ||
		e.e_shentsize != sizeof(*ret) || i >= e.e_shnum || e.e_shoff > image->bytes)
		return false;
	at = elf_at(image, e.e_shoff + (uint64_t)i * sizeof(*ret), sizeof(*ret));
	if (at)
		memcpy(ret, at, sizeof(*ret));
	return at;
}

static struct elf_image bytes_of_section(const struct elf_image *image, const Elf64_Shdr *section)
{
	return (struct elf_image){
		elf_at(image, section->sh_offset, section->sh_size), section->sh_size};
}

/* Where an address is in the file; `bytes`: how many follow it there at least. NULL: nowhere. */
static const void *at_address(const struct elf_image *image, uint64_t address, uint64_t bytes)
{
	Elf64_Ehdr e;
	memcpy(&e, image->data, sizeof(e));
	for (unsigned i = 0; i < e.e_phnum && e.e_phentsize == sizeof(Elf64_Phdr); i++) {
		Elf64_Phdr p;
		const void *at = e.e_phoff > image->bytes
					 ? NULL
					 : elf_at(image, e.e_phoff + i * sizeof(p), sizeof(p));
		if (!at)
			return NULL;
		memcpy(&p, at, sizeof(p));
		if (p.p_type == PT_LOAD && address >= p.p_vaddr &&
			address - p.p_vaddr < p.p_filesz &&
			p.p_filesz - (address - p.p_vaddr) >= bytes && p.p_offset <= image->bytes)
			return elf_at(image, p.p_offset + (address - p.p_vaddr), bytes);
	}
	return NULL;
}

/* The address of an exported variable; 0: there is none. */
static uint64_t address_of_variable(const struct elf_image *image, const char *name)
{
	Elf64_Shdr section, strings;
	for (unsigned i = 0; section_get(image, i, &section); i++) {
		if (section.sh_type != SHT_DYNSYM || !section_get(image, section.sh_link, &strings))
			continue;
		struct elf_image table = bytes_of_section(image, &section),
				 names = bytes_of_section(image, &strings);
		Elf64_Sym symbol;
		for (size_t at = 0; table.data && names.data && at + sizeof(symbol) <= table.bytes;
			at += sizeof(symbol)) {
			memcpy(&symbol, table.data + at, sizeof(symbol));
			const char *known = elf_string(&names, symbol.st_name);
			if (symbol.st_shndx != SHN_UNDEF && symbol.st_size == sizeof(char *) &&
				ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && known &&
				!strcmp(known, name))
				return symbol.st_value;
		}
	}
	return 0;
}

/* What the dynamic linker adds the program's place to, and stores at an address; 0: nothing. */
static uint64_t relocated_value(const struct elf_image *image, uint64_t address)
{
	Elf64_Shdr section;
	for (unsigned i = 0; section_get(image, i, &section); i++) {
		if (section.sh_type != SHT_RELA)
			continue;
		struct elf_image table = bytes_of_section(image, &section);
		Elf64_Rela one;
		for (size_t at = 0; table.data && at + sizeof(one) <= table.bytes;
			at += sizeof(one)) {
			memcpy(&one, table.data + at, sizeof(one));
			if (one.r_offset == address &&
				ELF64_R_TYPE(one.r_info) == R_X86_64_RELATIVE)
				return (uint64_t)one.r_addend;
		}
	}
	return 0;
}

static char *find_text(const struct elf_image *image, const char *variable)
{
	uint64_t address = address_of_variable(image, variable), value = 0;
	const void *stored = address ? at_address(image, address, sizeof(value)) : NULL;
	if (!stored)
		return NULL;
	memcpy(&value, stored, sizeof(value));
	if (!value)
		value = relocated_value(image, address);
	const char *text = value ? at_address(image, value, 1) : NULL;
	if (!text)
		return NULL;
	const uint8_t *end = image->data + image->bytes;
	return memchr(text, 0, (size_t)(end - (const uint8_t *)text)) ? strdup(text) : NULL;
}

char *elf_find_text(const char *program, const char *variable)
{
	struct file_map map;
	struct error *error = file_map_open(program, &map);
	if (error) {
		error_destroy(error);
		return NULL;
	}
	const struct elf_image image = {map.data, map.len};
	char *ret = find_text(&image, variable);
	file_map_deinit(&map);
	return ret;
}
