/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where names come from: as text, and as JSON "heapwise.symbols/1" (docs/schema/symbols-1.md). */
#ifndef VIEWS_SYMBOL_FILES_VIEW_H
#define VIEWS_SYMBOL_FILES_VIEW_H

#include "views/views.h"

/* NULL also when the sink stopped it: the sink knows. */
struct error *symbol_files_view_write(
	const struct model *model, bool json, const struct sink *sink) must_check_;

#endif
