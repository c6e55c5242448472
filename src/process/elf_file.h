/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file of x86-64 as it is on disk: its functions and where they are in it. Any part of it
 * may be wrong; what does not fit the file is left out.
 */
#ifndef PROCESS_ELF_FILE_H
#define PROCESS_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct elf_file {
	const uint8_t *data; /* mapped */
	size_t bytes;
	const Elf64_Phdr *parts;
	size_t part_count;
	const Elf64_Shdr *sections; /* NULL: it has none */
	size_t section_count;
};

/* Maps the file. ERROR_INPUT: it is no ELF file of x86-64, or can't be read. */
struct error *elf_file_open(const char *path, struct elf_file *ret) must_check_;
void elf_file_close(struct elf_file *file);

/* Returns the bytes of a range of the file; NULL: it is not in it. */
const void *elf_file_at(const struct elf_file *file, uint64_t offset, uint64_t bytes);

/* Finds where an address, as linked, is in the file. Returns false if no part has it. */
bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *ret);
/* Finds the address, as linked, of an offset. Returns false if no part has it. */
bool elf_file_address(const struct elf_file *file, uint64_t offset, uint64_t *ret);

/* Returns the first section of that name; NULL: there is none. */
const Elf64_Shdr *elf_file_section(const struct elf_file *file, const char *name);

#define ELF_BUILD_ID_MAX 32u
/* Finds the build-id, at most ELF_BUILD_ID_MAX bytes. Returns how long it is; 0: it has none. */
size_t elf_file_build_id(const struct elf_file *file, uint8_t ret[ELF_BUILD_ID_MAX]);

/* Called for the symbol of each function that is defined; returns false to stop. */
typedef bool elf_symbol_found(void *context, const char *name, const Elf64_Sym *symbol);
/* Goes through the functions of both symbol tables; many are in both. Indirect functions (ifunc)
 * are left out. */
void elf_file_symbols(const struct elf_file *file, elf_symbol_found *found, void *context);

/* Called for each function that is defined; returns false to stop. */
typedef bool elf_function_found(void *context, const char *name, uint64_t address, uint64_t bytes);
/* Does as elf_file_symbols(). */
void elf_file_functions(const struct elf_file *file, elf_function_found *found, void *context);

#endif
