/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What DWARF says of one address: the function, what was inlined into it, names and lines. */
#ifndef SYMBOLS_FRAMES_H
#define SYMBOLS_FRAMES_H

#include "base/vec.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"
#include "symbols/types/unit_index.h"

DEFINE_VEC(symbol_vec, struct symbol)

/*
 * Adds the symbols of an address, innermost first; nothing if DWARF knows nothing of it. Functions
 * without a name there have none here. *ret_vague: the outermost is named in words of ours (a
 * lambda has no name in DWARF) or without what is around it, and a symbol table may know better.
 */
struct error *frames_add(struct unit_index *index, uint64_t address, struct strings *strings,
	struct symbol_vec *ret, bool *ret_vague) must_check_;

#endif
