/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which local variable of a function lies at an address of its stack frame, as DWARF says. */
#ifndef SYMBOLS_LOCALS_H
#define SYMBOLS_LOCALS_H

#include <stdint.h>

#include "symbols/strings.h"
#include "symbols/symbols.h"
#include "symbols/unit_index.h"

/*
 * *ret_name: the variable or parameter, of the innermost block; NULL: none that is known to lie
 * there. *ret_offset: how far the address is behind its beginning. Locations that are computed of
 * more than a register and a number are not followed.
 */
struct error *locals_find(struct unit_index *index, const struct local_frame *frame,
	uint64_t address, struct strings *strings, const char **ret_name,
	uint64_t *ret_offset) must_check_;

#endif
