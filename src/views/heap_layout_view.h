/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types as debug information describes them, and blocks as values of such types: as text and as
 * JSON "heapwise.heap/1". */
#ifndef VIEWS_HEAP_LAYOUT_VIEW_H
#define VIEWS_HEAP_LAYOUT_VIEW_H

#include "heap/survey.h"
#include "symbols/types.h"
#include "views/views.h"

/* Members with their offsets and sizes, holes between them; as gdb's `ptype /o`. */
struct error *heap_layout_write(
	struct types *types, uint32_t type, bool as_json, const struct sink *sink) must_check_;

#endif
