/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for src/symbols/ in tests of what is built on it: names come from a table of the test
 * instead of ELF files, so that expected output does not depend on a compiler. Link fake_symbols.c
 * into the test; the real archive is not pulled in then.
 */
#ifndef TESTS_UNIT_FAKE_SYMBOLS_H
#define TESTS_UNIT_FAKE_SYMBOLS_H

#include <stdint.h>

#include "base/error.h"
#include "symbols/symbols.h"

/* Rows of one address stand together, innermost first. */
/* Of struct symbol what views show. */
struct fake_names {
	const char *function, *raw_name, *file;
	uint32_t line;
	bool inlined;
};

struct fake_symbol {
	const char *path;
	uint64_t address; /* as looked up */
	struct fake_names symbol;
};

/* The first that holds an address counts. */
struct fake_variable {
	const char *path;
	uint64_t start, size;
	const char *name, *file;
	uint32_t line;
};

struct fake_alias {
	const char *path;
	uint64_t address;
	const char *names[4]; /* ends with NULL; for address 0 the real path */
};

struct fake_file {
	const char *path;
	enum symbols_state state;
};

/* All end with a row without a path. A test sets them before it resolves anything. */
extern const struct fake_symbol *fake_symbols;
extern const struct fake_variable *fake_variables; /* may be NULL */
extern const struct fake_file *fake_files;         /* files that are not in order; may be NULL */
extern const struct fake_alias *fake_aliases;      /* may be NULL */
/* Names that stand in each file, ended by NULL; of others nothing is there. May be NULL. */
extern const char *const *fake_mentions;

#endif
