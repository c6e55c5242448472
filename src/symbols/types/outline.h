/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What debug information declares, without the types themselves: where the description of each
 * named type stands and in which namespace or class, and which variable begins at an address. One
 * pass over all entries gives it; types are read when they are asked for (types.h).
 */
#ifndef SYMBOLS_OUTLINE_H
#define SYMBOLS_OUTLINE_H

#include <elfutils/libdw.h>

#include "base/arena.h"
#include "symbols/types/unit_index.h"

struct outline_type {
	Dwarf_Die die;
	const char *scope; /* "space::Outer::"; "" */
	const char *name;  /* without the scope; NULL: it has none */
	uint32_t module;   /* as the caller numbers them */
	uint32_t within;   /* the class around it, if that only stands for a type unit's */
	bool is_c;         /* its unit is written in C … */
	bool is_rust;      /* … or in Rust */
	bool stands_for;   /* a type unit describes it */
};
#define OUTLINE_NONE UINT32_MAX
DEFINE_VEC(outline_types, struct outline_type)

struct outline_variable {
	uint64_t start; /* as the ELF file has it */
	Dwarf_Die die;
	uint32_t module;
	bool is_local; /* of one unit or function */
};
DEFINE_VEC(outline_variables, struct outline_variable)

static inline bool outline_same(const void *a, const void *b)
{
	return a == b;
}
static inline uint64_t outline_hash(const void *address)
{
	return hash_u64((uint64_t)(uintptr_t)address);
}
/* By the address of an entry: its number in `types`. */
DEFINE_MAP(outline_map, const void *, uint32_t, outline_hash, outline_same)

struct outline {
	struct outline_types types;
	struct outline_variables variables; /* of a module: ascending */
	/* As above, for thread-local variables; they start at offsets in their module's
	 * thread-local memory.
	 */
	struct outline_variables thread_locals;
	struct outline_map numbers;
	struct arena arena;
	size_t scope_bytes; /* of it */
	unsigned entries;   /* that were looked at */
	bool cut;           /* there are more than anybody waits for */
};

void outline_init(struct outline *outline);
void outline_deinit(struct outline *outline);

/* Adds what the module declares, until `most` entries were looked at in all. */
struct error *outline_add(struct outline *outline, struct unit_index *units, uint32_t module,
	unsigned most) must_check_;

/* Of a module's the variable with the highest start that is not above the address; NULL: none. */
const struct outline_variable *outline_variable_before(
	const struct outline_variables *variables, uint32_t module, uint64_t address);

#endif
