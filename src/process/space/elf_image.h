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

/* What stands at an offset; NULL: not all of it is there. */
const void *elf_at(const struct elf_image *image, uint64_t offset, uint64_t bytes);

/* The first program header of a type, perhaps unaligned; NULL: none. */
const Elf64_Phdr *elf_program_header(const struct elf_image *image, uint32_t type);

/* The value of a tag in the dynamic section; 0: it is not there. */
uint64_t elf_dynamic_value(const struct elf_image *image, int64_t tag);

/* Values of a tag that may be there several times: number `n` from 0 on. 0: there are no more. */
uint64_t elf_dynamic_nth(const struct elf_image *image, int64_t tag, unsigned n);

/* The dynamic string table: every name that the file defines, needs or asks for. */
struct elf_image elf_dynamic_strings(const struct elf_image *image);

/* A string of a table; NULL: it does not end there. */
const char *elf_string(const struct elf_image *strings, uint64_t offset);

#endif
