/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an address is, what a block holds, and who holds it: as text and as JSON. */
#ifndef VIEWS_HEAP_WHERE_VIEW_H
#define VIEWS_HEAP_WHERE_VIEW_H

#include "heap/where.h"
#include "heap/why.h"
#include "views/heap_view.h"

/* All words of the block around an address, with what each of them is. ERROR_INPUT: none is there.
 */
struct error *heap_words_write(
	const struct heap_page *page, uint64_t address, const struct sink *sink) must_check_;
/* What the block is alone, and where it was allocated if that is known. */
struct error *heap_block_write(
	const struct heap_page *page, uint64_t address, const struct sink *sink) must_check_;
/* Of its words only those that point somewhere. */
struct error *heap_refs_write(
	const struct heap_page *page, uint64_t address, const struct sink *sink) must_check_;

/* What an object of Python's holds. ERROR_INPUT: none is at the address. */
struct error *heap_python_write(
	const struct heap_page *page, uint64_t address, const struct sink *sink) must_check_;

/* Who points at it; `what` says what was asked for: a block, or (not NULL) these types. */
struct error *heap_why_write(const struct heap_page *page, const char *what,
	const struct subtype_set *types, const struct why *why,
	const struct sink *sink) must_check_;

#endif
