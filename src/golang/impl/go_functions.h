/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of functions that each Go program has in it, also a stripped one (runtime/symtab.go,
 * pcHeader and what follows it; internal/abi/symtab.go). It says of an address its function, file
 * and line, and of code that was inlined which function it is of.
 *
 *	| header | names | units | files | values | functions: offset of code, of facts | facts |
 *
 * Facts of a function refer to "values": for each range of its code a number, as differences.
 * Known are the layouts of Go 1.18 to 1.19 and of 1.20 and later, which the first word tells.
 * All of it may be anything: what does not fit is not found.
 */
#ifndef GO_FUNCTIONS_H
#define GO_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GO_TABLE_HEADER_BYTES 72u

struct go_functions {
	const uint8_t *table; /* borrowed */
	size_t bytes;
	uint64_t text;          /* the address of code that offsets are from; set by the owner */
	const uint8_t *inlines; /* trees of inlined calls, borrowed; NULL: not known */
	size_t inline_bytes;
	bool is_newer;                                   /* as from Go 1.20 on */
	uint64_t count;                                  /* of functions */
	uint64_t names, units, files, values, functions; /* offsets in the table */
};

/* What is at an address. Strings are in the table. */
struct go_place {
	const char *function;
	const char *file; /* NULL: not known */
	uint32_t line;    /* 0: not known */
	uint64_t entry;   /* of the function that the code is in */
	bool is_inlined;  /* `function` was inlined there */
};

/* Returns whether a table of a known layout begins at these bytes. */
bool go_functions_recognise(const uint8_t *head, size_t bytes);

/* Reads the header of a table of `bytes` bytes, or less: what follows it may be included. `text`
 * is that of the header. Returns false if it is none of a known layout. */
bool go_functions_open(const uint8_t *table, size_t bytes, struct go_functions *ret);

/*
 * Finds what is at the address of an instruction. Returns false if no function has it. The address
 * is that of the call, not of what it returns to.
 */
bool go_functions_find(
	const struct go_functions *functions, uint64_t address, struct go_place *ret);

/* Finds a function by its name, in as many steps as there are functions. Returns false if there is
 * none; its code is [*ret_start, *ret_end). */
bool go_functions_named(const struct go_functions *functions, const char *name, uint64_t *ret_start,
	uint64_t *ret_end);

#endif
