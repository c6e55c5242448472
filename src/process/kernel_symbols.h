/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the kernel's functions, as /proc/kallsyms has them. */
#ifndef PROCESS_KERNEL_SYMBOLS_H
#define PROCESS_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct kernel_symbols;

struct kernel_symbol {
	const char *name;
	const char *module; /* NULL: the kernel itself */
	uint64_t offset;    /* of the address in it */
};

/*
 * Reads a list of symbols in the form of /proc/kallsyms: of functions, and where what follows them
 * begins. ERROR_ENVIRONMENT: it can't be read. *ret belongs to the caller.
 */
struct error *kernel_symbols_read(const char *path, struct kernel_symbols **ret) must_check_;
void kernel_symbols_destroy(struct kernel_symbols *symbols);

/* Whether the kernel shows no addresses to this process (kptr_restrict): nothing is found. */
bool kernel_symbols_are_hidden(const struct kernel_symbols *symbols);

/*
 * Finds the function that a return address leads into: the one with the call before it. Returns
 * false if there is none. The strings belong to the symbols.
 */
bool kernel_symbols_find(
	const struct kernel_symbols *symbols, uint64_t return_address, struct kernel_symbol *ret);

#endif
