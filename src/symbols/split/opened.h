/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this room itself knows of a module that is open. */
#ifndef SYMBOLS_OPENED_H
#define SYMBOLS_OPENED_H

#include "symbols/symbols.h"
#include "symbols/types/unit_index.h"

/* Opens the module. NULL: it has no debug information. */
struct unit_index *symbols_units(struct symbols *symbols, uint32_t module);

#endif
