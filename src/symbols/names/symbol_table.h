/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names by address from the symbol tables of ELF files: of functions, for code without debug
 * information, of variables, or of thread-local ones. Names stay in the files, which must outlive
 * the table.
 */
#ifndef SYMBOLS_SYMBOL_TABLE_H
#define SYMBOLS_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "symbols/split/object.h"

struct table_symbol {
	uint64_t start, end; /* equal: the size is unknown */
	uint64_t reach;      /* the highest end of this and all before it */
	const char *name;
	uint32_t section;
	uint8_t rank; /* of names for one place the highest is shown */
};

DEFINE_VEC(table_symbol_vec, struct table_symbol)

struct table_section {
	uint64_t start, end;
	uint32_t index;
};

DEFINE_VEC(table_section_vec, struct table_section)

/* Addresses of thread-local variables are offsets in their module's thread-local memory. */
enum table_content { TABLE_FUNCTIONS, TABLE_VARIABLES, TABLE_THREAD_LOCALS };

struct symbol_table {
	enum table_content content;
	struct table_symbol_vec symbols; /* by start, then rank */
	struct table_section_vec sections;
	Dwfl *mini; /* holds the names of .gnu_debugdata; NULL: none */
};

void symbol_table_init(struct symbol_table *table, enum table_content content);
void symbol_table_deinit(struct symbol_table *table);

/*
 * Reads the best that the files offer: .symtab of either, else .dynsym and what .gnu_debugdata
 * adds. Either may be NULL.
 */
struct error *symbol_table_load(struct symbol_table *table, const struct object *main,
	const struct object *separate) must_check_;

/* Returns what is at the address; NULL: unknown. */
const struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

/*
 * Returns all names of the function at the address, the one that symbol_table_find() returns first;
 * at most `max` of them. Returns their number.
 */
size_t symbol_table_names(
	const struct symbol_table *table, uint64_t address, const char **names, size_t max);

#endif
