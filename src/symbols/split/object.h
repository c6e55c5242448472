/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One opened ELF file. */
#ifndef SYMBOLS_OBJECT_H
#define SYMBOLS_OBJECT_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
	int fd;
	Elf *elf;
	Dwarf *dwarf; /* NULL until object_dwarf() */
	char *path;
	const uint8_t *build_id; /* in elf; NULL if it has none */
	size_t build_id_len;
	bool is_asked;    /* object_dwarf() was called */
	bool alt_missing; /* the debug information refers to a shared file (dwz) that is not there
			   */
};

/* NULL: no such file, not ELF, damaged, or no memory. */
struct object *object_open(const char *path);
/* Returns the vdso of this very process, which is in no file: that of any program on the same
 * kernel. */
struct object *object_open_vdso(void);
void object_close(struct object *object);

static inline void object_cleanup(struct object **object)
{
	object_close(*object);
}

/* Returns whether the file is as long as its header, its sections and their table say. */
bool object_is_whole(const struct object *object);
/* Returns whether it is a program or library with its code, not what was split off from one. */
bool object_has_code(const struct object *object);

bool object_has_build_id(const struct object *object, const uint8_t *build_id, size_t len);

/* The first section of that name that has content in the file; NULL: none. */
Elf_Scn *object_section(const struct object *object, const char *name, GElf_Shdr *ret);
/* The first section of that type with content. */
Elf_Scn *object_section_of_type(const struct object *object, uint32_t type, GElf_Shdr *ret);

/* Returns whether its debug information is packed as this build of elfutils can't read it: by zstd.
 */
bool object_is_unreadable(const struct object *object);

/* Debug information; NULL: none, or unreadable. */
Dwarf *object_dwarf(struct object *object);

/* Returns whether it has debug information whose beginning is not what it should be. Unread
 * sections are not read for this: false. */
bool object_is_damaged(struct object *object);

/* Returns the file that .gnu_debuglink names, without folder, and its CRC-32; NULL: none. */
const char *object_debug_link(const struct object *object, uint32_t *ret_crc);
/* Finds the CRC-32 of the whole file; false if it cannot be read. */
bool object_crc(const struct object *object, uint32_t *ret);

#endif
