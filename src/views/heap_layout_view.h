/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types as debug information describes them, and blocks as values of such types. */
#ifndef VIEWS_HEAP_LAYOUT_VIEW_H
#define VIEWS_HEAP_LAYOUT_VIEW_H

#include "heap/candidates.h"
#include "heap/heap_scan.h"
#include "heap/layouts.h"
#include "heap/subtypes.h"
#include "table/answer.h"
#include "views/heap_view.h"

/* Members with their offsets and sizes, holes between them; as gdb's `ptype /o`. `space`: whose
 * types they are. Structures that are not opened any more are said to be left closed. */
struct error *heap_layout_answer(struct types *types, uint32_t type,
	const struct address_space *space, struct answer *answer) must_check_;

/* The members of one block with their values, or (block SPACE_NONE) a table of those of all blocks
 * of these types; laid out so, from where that begins in them; an array of TYPE_VOID is text, one
 * object of TYPE_VOID a pool, of which the object that `header` leads to is shown, or (0) all; any
 * other begins at `header`. The scan knows the types. */
struct error *heap_show_write(const struct heap_page *page, uint32_t block,
	const struct subtype_set *types, const struct heap_layout *layout,
	const struct sink *sink) must_check_;

/* What blocks may be, with reasons; `what` says what was asked for. `sampled`: of them were looked
 * at; 0, though there are some: they can't be read. */
struct error *heap_candidates_write(const struct heap_page *page, const char *what,
	const struct candidate_vec *found, uint32_t sampled, bool has_blocks,
	const struct sink *sink) must_check_;

/* What a block is, and the members that are declared to point to such. */
struct error *heap_holders_write(const struct heap_page *page, const char *what, uint32_t layout,
	const struct holding_members *found, const struct sink *sink) must_check_;

/* What a pool is: the types of what lies in it, with what speaks for them. */
struct error *heap_pool_write(const struct heap_page *page, const char *what, uint32_t block,
	const struct sink *sink) must_check_;

#endif
