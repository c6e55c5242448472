/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ELF header and program headers of a module (elf(5)), as they lie in memory or in its file.
 * Either may be anything.
 */
#ifndef PROCESS_MODULE_HEADERS_H
#define PROCESS_MODULE_HEADERS_H

#include <elf.h>

#include "process/address_space.h"

#define MODULE_PARTS_MAX 256u

struct module_headers {
	const struct address_space *space; /* NULL: they are a file's */
	uint64_t start;                    /* of the module in memory */
	int fd;                            /* borrowed */
	Elf64_Ehdr file;
	Elf64_Phdr parts[MODULE_PARTS_MAX];
	unsigned count;
};

/* Read the headers of a module from memory or from its file. Return false if there are none, or
 * they are of another machine. */
bool module_headers_in_memory(
	struct module_headers *ret, const struct address_space *space, uint64_t start);
bool module_headers_in_file(struct module_headers *ret, uint16_t machine, int fd, uint64_t start);

/* Sets the module's addresses and its thread-local storage. Returns false if no part of it is to be
 * loaded. */
bool module_headers_place(const struct module_headers *headers, struct address_module *module);

/* Sets the module's build-id, if it has one; after module_headers_place(). */
void module_headers_build_id(const struct module_headers *headers, struct address_module *module);

/* Returns the first program header of a type; NULL if there is none. */
const Elf64_Phdr *module_headers_part(const struct module_headers *headers, uint32_t type);

/*
 * Returns whether a file can't be the one that the program has mapped as this module: where its
 * dynamic section would be, memory has other entries, or none although the data around is there.
 * Returns false if the file has no dynamic section, since nothing is known then.
 */
bool module_headers_contradict(const struct module_headers *of_file,
	const struct address_space *space, const struct address_module *module);

#endif
