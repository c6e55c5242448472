/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A 64-bit ELF file's bytes, read with checked access: the file may be anything. */
#ifndef PROCESS_ELF_IMAGE_H
#define PROCESS_ELF_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes, borrowed; data NULL: none. */
struct elf_image {
	const uint8_t *data;
	size_t bytes;
};

/* Returns the `bytes` bytes at an offset; NULL if not all of them are there. */
const void *elf_at(const struct elf_image *image, uint64_t offset, uint64_t bytes);

/* Returns the first program header of a type, which may be unaligned; NULL if there is none. */
const Elf64_Phdr *elf_program_header(const struct elf_image *image, uint32_t type);

/* Returns the value of a tag in the dynamic section; 0 if it is not there. */
uint64_t elf_dynamic_value(const struct elf_image *image, int64_t tag);

/* Returns value number `n`, from 0, of a tag that may occur several times; 0 if there are no more.
 */
uint64_t elf_dynamic_nth(const struct elf_image *image, int64_t tag, unsigned n);

/* Returns the dynamic string table: all names that the file defines, needs or imports. */
struct elf_image elf_dynamic_strings(const struct elf_image *image);

/* Returns the string at an offset of a table; NULL if it does not end within the table. */
const char *elf_string(const struct elf_image *strings, uint64_t offset);

#endif
