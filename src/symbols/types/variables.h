/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where DWARF says that variables of static storage are defined, by their addresses. */
#ifndef SYMBOLS_VARIABLES_H
#define SYMBOLS_VARIABLES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"

struct variable_place {
	const char *file; /* in the file's debug information */
	uint32_t line;
};

static inline bool variable_equal(uint64_t a, uint64_t b)
{
	return a == b;
}

DEFINE_MAP(variable_map, uint64_t, struct variable_place, hash_u64, variable_equal)

struct variables {
	struct variable_map places; /* by the address at which they start */
	bool scanned;
};

void variables_init(struct variables *variables);
void variables_deinit(struct variables *variables);

/*
 * Finds the place of the variable that starts at the address; NULL in *ret_file: unknown. The first
 * call reads all of the debug information, unless that is large beyond what a name is worth.
 */
struct error *variables_find(struct variables *variables, Dwarf *dwarf, uint64_t start,
	const char **ret_file, uint32_t *ret_line) must_check_;

/* Finds the address of a variable that has one for the whole run, as the ELF file has it. */
bool variable_static_address(Dwarf_Die *die, uint64_t *ret);
/* Finds the offset of a thread-local variable in its module's thread-local memory (DWARF 5,
 * 2.5.1.3: DW_OP_form_tls_address; GCC and clang write DW_OP_GNU_push_tls_address as well). */
bool variable_thread_offset(Dwarf_Die *die, uint64_t *ret);

#endif
