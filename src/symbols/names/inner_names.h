/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of libc that only its debug files name, found without these: by the exported functions
 * that do nothing but go on as one of them (localtime jumps to __tz_convert), or that call them.
 */
#ifndef SYMBOLS_INNER_NAMES_H
#define SYMBOLS_INNER_NAMES_H

#include "symbols/split/object.h"

#define INNER_NAMES_MOST 64u

struct inner_names {
	struct inner_range {
		uint64_t start, end;
		const char *name; /* static */
	} ranges[INNER_NAMES_MOST];
	size_t count;
};

/* Reads them from a file of libc; of others, and of damaged ones, there are none. */
void inner_names_read(const struct object *libc, struct inner_names *ret);

/* Returns the name of the function that has the address, as debug files give it; NULL: not known.
 */
const char *inner_names_find(const struct inner_names *names, uint64_t address);

#endif
