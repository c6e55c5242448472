/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/split/image.h"

#include <elf.h>
#include <gelf.h>
#include <stddef.h>
#include <string.h>

#define ALIGNMENT 8u

void image_init(struct image *image)
{
	*image = (struct image){.count = 0};
	buf_init(&image->bytes);
	static const Elf64_Ehdr nothing;
	buf_bytes(&image->bytes, &nothing, sizeof(nothing));
}

void image_deinit(struct image *image)
{
	dwarf_end(image->dwarf);
	elf_end(image->elf);
	buf_deinit(&image->bytes);
	*image = (struct image){.count = 0};
}

static void image_align(struct image *image)
{
	while (image->bytes.len % ALIGNMENT && !image->bytes.failed)
		buf_u8(&image->bytes, 0);
}

/* Ends the last section, with what follows it aligned. */
static void end_section(struct image *image)
{
	struct image_section *last = image->count ? &image->sections[image->count - 1] : NULL;
	if (last)
		last->len = image->bytes.len - last->start;
	image_align(image);
}

void image_begin(struct image *image, const char *name)
{
	end_section(image);
	if (image->count == IMAGE_SECTIONS_MAX)
		image->bytes.failed = true;
	else
		image->sections[image->count++] =
			(struct image_section){.name = name, .start = image->bytes.len};
}

void image_add(struct image *image, const char *name, const void *data, size_t len)
{
	image_begin(image, name);
	buf_bytes(&image->bytes, data, len);
}

/* Section 0 is none, the last one has the names. */
static void add_headers(struct image *image)
{
	static const char names_section[] = ".shstrtab";
	Elf64_Shdr headers[IMAGE_SECTIONS_MAX + 2] = {{.sh_name = 0}};
	size_t names_start = image->bytes.len;
	buf_u8(&image->bytes, 0);
	for (unsigned i = 0; i < image->count; i++) {
		const struct image_section *section = &image->sections[i];
		headers[i + 1] = (Elf64_Shdr){
			.sh_name = (Elf64_Word)(image->bytes.len - names_start),
			.sh_type = SHT_PROGBITS,
			.sh_offset = section->start,
			.sh_size = section->len,
			.sh_addralign = 1,
		};
		buf_bytes(&image->bytes, section->name, strlen(section->name) + 1);
	}
	size_t own_name = image->bytes.len - names_start;
	buf_bytes(&image->bytes, names_section, sizeof(names_section));
	headers[image->count + 1] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)own_name,
		.sh_type = SHT_STRTAB,
		.sh_offset = names_start,
		.sh_size = image->bytes.len - names_start,
		.sh_addralign = 1,
	};
	image_align(image);
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = image->bytes.len,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(headers[0]),
		.e_shnum = (Elf64_Half)(image->count + 2),
		.e_shstrndx = (Elf64_Half)(image->count + 1),
	};
	buf_bytes(&image->bytes, headers, (image->count + 2) * sizeof(headers[0]));
	if (!image->bytes.failed)
		memcpy(image->bytes.data, &header, sizeof(header));
}

Dwarf *image_dwarf(struct image *image)
{
	end_section(image);
	add_headers(image);
	if (image->bytes.failed)
		return NULL;
	image->elf = elf_memory((char *)image->bytes.data, image->bytes.len);
	image->dwarf = image->elf ? dwarf_begin_elf(image->elf, DWARF_C_READ, NULL) : NULL;
	return image->dwarf;
}
