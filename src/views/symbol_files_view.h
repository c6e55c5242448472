/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where names come from: as text, as CSV, and as JSON "heapwise.symbols/1"
 * (docs/schema/symbols-1.md). */
#ifndef VIEWS_SYMBOL_FILES_VIEW_H
#define VIEWS_SYMBOL_FILES_VIEW_H

#include "views/views.h"

/* Of the options the form counts alone. NULL also when the sink stopped it: the sink knows. */
struct error *symbol_files_view_write(const struct model *model, const struct view_options *options,
	const struct sink *sink) must_check_;

#endif
