/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where blocks were allocated, of a heap that is joined with its recording. */
#ifndef VIEWS_HEAP_JOINED_VIEW_H
#define VIEWS_HEAP_JOINED_VIEW_H

#include "analysis/resolve.h"
#include "base/json.h"
#include "table/answer.h"
#include "views/heap_view.h"

/* How well both fit, as sentences. Nothing without a recording. */
void heap_joined_text(const struct heap_page *page, struct text *out);

/* The same as a record: null in JSON without a recording. */
extern const struct table_type heap_joined_type;
void heap_joined_answer(const struct heap_page *page, struct answer *answer);

/* "allocated by malloc of 40 bytes in thread 12, at", and the stack; or that this is not known.
 * Nothing without a recording. */
struct error *heap_allocation_text(const struct heap_page *page, uint64_t address, uint64_t size,
	struct text *out) must_check_;
/* The same as members "requested" and "allocated"; null each if it is not known. */
struct error *heap_allocation_put(const struct heap_page *page, uint64_t address, uint64_t size,
	struct json *json) must_check_;

/* The function that a site of the recording's called, and its stack. */
struct error *heap_site_frames(const struct heap_page *page, struct resolver *resolver,
	uint32_t site, const char **ret_function, struct frame_vec *frames) must_check_;
/* The stack of a site of the recording's as members "function" (which allocated) and "stack". */
struct error *heap_site_put(const struct heap_page *page, struct resolver *resolver, uint32_t site,
	struct json *json) must_check_;

#endif
