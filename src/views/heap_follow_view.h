/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a walk along members reaches: as text and as JSON. */
#ifndef VIEWS_HEAP_FOLLOW_VIEW_H
#define VIEWS_HEAP_FOLLOW_VIEW_H

#include "heap/follow.h"
#include "views/heap_view.h"

/* The blocks that were reached, by type, or (lists) one by one; from: so many were the beginning.
 */
struct error *heap_follow_write(const struct heap_page *page, const struct follow *follow,
	uint64_t from, bool lists, const struct sink *sink) must_check_;

#endif
