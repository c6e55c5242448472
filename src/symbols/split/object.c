/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols/split/object.h"

#include <elfutils/libdwelf.h>
#include <elfutils/version.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/symbols.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif
/* elfutils from this version on reads zstd. */
#define ZSTD_SINCE 189

static bool open_elf(struct object *object)
{
	/* What is opened by a path from a recording may be a FIFO or a device by now. */
	object->fd = open(object->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;
	if (object->fd < 0 || fstat(object->fd, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	object->elf = elf_begin(object->fd, ELF_C_READ_MMAP, NULL);
	return object->elf && elf_kind(object->elf) == ELF_K_ELF;
}

/* The kernel's image is whole: its section headers, which come last, are mapped too. */
static bool open_vdso(struct object *object)
{
	/* Only elf_memory() takes it for something that can be written; nothing here does. */
	char *image = (char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address by its contract */
	if (!image)
		return false;
	Elf64_Ehdr header;
	memcpy(&header, image, sizeof(header));
	size_t size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || size <= sizeof(header))
		return false;
	object->elf = elf_memory(image, size);
	return object->elf && elf_kind(object->elf) == ELF_K_ELF;
}

static struct object *object_create(const char *path, bool (*open_it)(struct object *object))
{
	_cleanup_(object_cleanup) struct object *object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->fd = -1;
	object->path = strdup(path);
	if (!object->path || !open_it(object))
		return NULL;
	const void *build_id;
	ssize_t len = dwelf_elf_gnu_build_id(object->elf, &build_id);
	if (len > 0) {
		object->build_id = build_id;
		object->build_id_len = (size_t)len;
	}
	return steal_ptr(object);
}

struct object *object_open(const char *path)
{
	return object_create(path, open_elf);
}

struct object *object_open_vdso(void)
{
	return object_create(SYMBOLS_VDSO, open_vdso);
}

void object_close(struct object *object)
{
	if (!object)
		return;
	dwarf_end(object->dwarf);
	elf_end(object->elf);
	if (object->fd >= 0)
		close(object->fd);
	free(object->path);
	free(object);
}

bool object_has_build_id(const struct object *object, const uint8_t *build_id, size_t len)
{
	return object->build_id && object->build_id_len == len &&
	       memcmp(object->build_id, build_id, len) == 0;
}

bool object_is_whole(const struct object *object)
{
	GElf_Ehdr header;
	size_t len, sections;
	if (!elf_rawfile(object->elf, &len) || !gelf_getehdr(object->elf, &header) ||
		elf_getshdrnum(object->elf, &sections) < 0)
		return false;
	uint64_t table_end;
	if (__builtin_add_overflow(
		    header.e_shoff, (uint64_t)sections * header.e_shentsize, &table_end) ||
		table_end > len)
		return false;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
		GElf_Shdr shdr;
		uint64_t end;
		if (!gelf_getshdr(section, &shdr))
			return false;
		if (shdr.sh_type != SHT_NOBITS && shdr.sh_type != SHT_NULL &&
			(__builtin_add_overflow(shdr.sh_offset, shdr.sh_size, &end) || end > len))
			return false;
	}
	return true;
}

bool object_has_code(const struct object *object)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR &&
			header.sh_type == SHT_PROGBITS)
			return true;
	}
	return false;
}

Elf_Scn *object_section(const struct object *object, const char *name, GElf_Shdr *ret)
{
	size_t names;
	if (elf_getshdrstrndx(object->elf, &names) < 0)
		return NULL;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		const char *its_name = elf_strptr(object->elf, names, header.sh_name);
		if (its_name && strcmp(its_name, name) == 0) {
			*ret = header;
			return section;
		}
	}
	return NULL;
}

Elf_Scn *object_section_of_type(const struct object *object, uint32_t type, GElf_Shdr *ret)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(object->elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) && header.sh_type == type) {
			*ret = header;
			return section;
		}
	}
	return NULL;
}

bool object_is_unreadable(const struct object *object)
{
	GElf_Shdr header;
	GElf_Chdr compressed;
	Elf_Scn *section = object_section(object, ".debug_info", &header);
	return !_ELFUTILS_PREREQ(0, ZSTD_SINCE) && section && header.sh_flags & SHF_COMPRESSED &&
	       gelf_getchdr(section, &compressed) && compressed.ch_type == ELFCOMPRESS_ZSTD;
}

Dwarf *object_dwarf(struct object *object)
{
	GElf_Shdr header;
	object->is_asked = true;
	if (!object->dwarf && !object_is_unreadable(object) &&
		(object_section(object, ".debug_info", &header) ||
			object_section(object, ".zdebug_info", &header)))
		object->dwarf = dwarf_begin_elf(object->elf, DWARF_C_READ, NULL);
	return object->dwarf;
}

bool object_is_damaged(struct object *object)
{
	GElf_Shdr header;
	if (!object->is_asked || object_is_unreadable(object) ||
		!object_section(object, ".debug_info", &header) || header.sh_type == SHT_NOBITS)
		return false;
	Dwarf_Off next;
	size_t bytes;
	Dwarf_Half version;
	Dwarf *dwarf = object_dwarf(object);
	return !dwarf ||
	       dwarf_next_unit(dwarf, 0, &next, &bytes, &version, NULL, NULL, NULL, NULL, NULL) ||
	       version < 2 || version > 5;
}

const char *object_debug_link(const struct object *object, uint32_t *ret_crc)
{
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(object->elf, &crc);
	/* A name with a folder in it was never made by a tool. */
	if (!name || name[0] == '\0' || strchr(name, '/'))
		return NULL;
	*ret_crc = crc;
	return name;
}

/* The CRC-32 of ISO 3309 (polynomial 0xedb88320 reflected), 8 bytes a step ("slicing by 8"). */
#define BYTE_VALUES 256u
static void make_crc_tables(uint32_t tables[8][BYTE_VALUES])
{
	for (uint32_t i = 0; i < BYTE_VALUES; i++) {
		uint32_t crc = i;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		tables[0][i] = crc;
	}
	for (int table = 1; table < 8; table++)
		for (unsigned i = 0; i < BYTE_VALUES; i++)
			tables[table][i] =
				tables[table - 1][i] >> 8 ^ tables[0][tables[table - 1][i] & 0xff];
}

bool object_crc(const struct object *object, uint32_t *ret)
{
	size_t len;
	const unsigned char *bytes = (const unsigned char *)elf_rawfile(object->elf, &len);
	if (!bytes)
		return false;
	uint32_t tables[8][256], crc = UINT32_MAX;
	make_crc_tables(tables);
	for (; len >= 8; len -= 8, bytes += 8) {
		uint32_t low, high;
		memcpy(&low, bytes, 4);
		memcpy(&high, bytes + 4, 4);
		low ^= crc;
		crc = 0;
		for (int i = 0; i < 4; i++)
			crc ^= tables[7 - i][low >> 8 * i & 0xff] ^
			       tables[3 - i][high >> 8 * i & 0xff];
	}
	for (; len; len--)
		crc = crc >> 8 ^ tables[0][(crc ^ *bytes++) & 0xff];
	*ret = ~crc;
	return true;
}
