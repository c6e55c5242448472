/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a function's local variables lie in its stack frame, as DWARF says. */
#ifndef SYMBOLS_LOCALS_H
#define SYMBOLS_LOCALS_H

#include <stdint.h>

#include "symbols/strings.h"
#include "symbols/symbols.h"
#include "symbols/types/unit_index.h"

typedef void (*locals_take)(void *context, Dwarf_Die *variable, uint64_t start, bool inlined);

/* Calls `take` with each variable and parameter that lies in memory at the frame's moment, and
 * where it does; those of inner blocks last. Locations that are computed of more than a register
 * and a number are not followed. inlined: it is of a function that was. */
struct error *locals_each(struct unit_index *index, const struct local_frame *frame,
	locals_take take, void *context) must_check_;

/*
 * *ret_name: the variable or parameter, of the innermost block; NULL: none that is known to lie
 * there. *ret_offset: how far the address is after its beginning.
 */
struct error *locals_find(struct unit_index *index, const struct local_frame *frame,
	uint64_t address, struct strings *strings, const char **ret_name,
	uint64_t *ret_offset) must_check_;

#endif
