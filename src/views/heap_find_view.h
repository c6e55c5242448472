/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where bytes stand in memory: as text and as JSON. */
#ifndef VIEWS_HEAP_FIND_VIEW_H
#define VIEWS_HEAP_FIND_VIEW_H

#include "heap/find.h"
#include "views/heap_view.h"

/* Looks for what `find` says (all but who takes it), and lists the places. is_text: what stands
 * there is shown. */
struct error *heap_find_write(const struct heap_page *page, struct heap_find *find, bool is_text,
	const struct sink *sink) must_check_;

#endif
