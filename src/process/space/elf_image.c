/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/space/elf_image.h"

#include <string.h>

const void *elf_at(const struct elf_image *image, uint64_t offset, uint64_t bytes)
{
	if (offset > image->bytes || bytes > image->bytes - offset)
		return NULL;
	return image->data + offset;
}

/* The program headers, as many as e_phnum says. */
static const Elf64_Phdr *program_headers(const struct elf_image *image, unsigned *ret_count)
{
	Elf64_Ehdr e;
	const void *start = elf_at(image, 0, sizeof(e));
	if (!start)
		return NULL;
	memcpy(&e, start, sizeof(e));
	*ret_count = e.e_phnum;
	return e.e_phentsize == sizeof(Elf64_Phdr)
		       ? elf_at(image, e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr))
		       : NULL;
}

const Elf64_Phdr *elf_program_header(const struct elf_image *image, uint32_t type)
{
	unsigned count = 0;
	const Elf64_Phdr *p = program_headers(image, &count);
	for (unsigned i = 0; p && i < count; i++) {
		Elf64_Phdr copy;
		memcpy(&copy, &p[i], sizeof(copy));
		if (copy.p_type == type)
			return &p[i];
	}
	return NULL;
}

static uint64_t offset_of(const struct elf_image *image, uint64_t address)
{
	unsigned count = 0;
	const Elf64_Phdr *p = program_headers(image, &count);
	for (unsigned i = 0; p && i < count; i++) {
		Elf64_Phdr copy;
		memcpy(&copy, &p[i], sizeof(copy));
		if (copy.p_type == PT_LOAD && address - copy.p_vaddr < copy.p_filesz)
			return copy.p_offset + (address - copy.p_vaddr);
	}
	return UINT64_MAX;
}

uint64_t elf_dynamic_nth(const struct elf_image *image, int64_t tag, unsigned n)
{
	const Elf64_Phdr *found = elf_program_header(image, PT_DYNAMIC);
	if (!found)
		return 0;
	Elf64_Phdr dynamic;
	memcpy(&dynamic, found, sizeof(dynamic));
	const uint8_t *at = elf_at(image, dynamic.p_offset, dynamic.p_filesz);
	for (uint64_t i = 0; at && i < dynamic.p_filesz / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn d;
		memcpy(&d, at + i * sizeof(d), sizeof(d));
		if (d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag == tag && !n--)
			return d.d_un.d_val;
	}
	return 0;
}

uint64_t elf_dynamic_value(const struct elf_image *image, int64_t tag)
{
	return elf_dynamic_nth(image, tag, 0);
}

struct elf_image elf_dynamic_strings(const struct elf_image *image)
{
	uint64_t address = elf_dynamic_value(image, DT_STRTAB),
		 bytes = elf_dynamic_value(image, DT_STRSZ);
	const uint8_t *strings = address ? elf_at(image, offset_of(image, address), bytes) : NULL;
	return strings ? (struct elf_image){strings, bytes} : (struct elf_image){NULL, 0};
}

const char *elf_string(const struct elf_image *strings, uint64_t offset)
{
	if (!strings->data || offset >= strings->bytes ||
		!memchr(strings->data + offset, 0, strings->bytes - offset))
		return NULL;
	return (const char *)strings->data + offset;
}
