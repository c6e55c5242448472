/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where blocks were allocated, of a heap that is joined with its recording. */
#ifndef VIEWS_HEAP_JOINED_VIEW_H
#define VIEWS_HEAP_JOINED_VIEW_H

#include "analysis/resolve.h"
#include "table/answer.h"
#include "views/heap_view.h"

/* How well both fit, as sentences. Nothing without a recording. */
void heap_joined_text(const struct heap_page *page, struct text *out);

/* As above, as a record: null in JSON without a recording. */
extern const struct table_type heap_joined_type;
void heap_joined_answer(const struct heap_page *page, struct answer *answer);

/* What it knows of a block, as a record; as sentences nothing without a recording. */
extern const struct table_type heap_allocation_type;
struct error *heap_allocation_answer(const struct heap_page *page, uint64_t address, uint64_t size,
	struct answer *answer) must_check_;

/* The function that a site of the recording's called, and its stack. */
struct error *heap_site_frames(const struct heap_page *page, struct resolver *resolver,
	uint32_t site, const char **ret_function, struct frame_vec *frames) must_check_;

#endif
