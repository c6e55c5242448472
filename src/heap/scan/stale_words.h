/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libstdc++ leaves in memory that it keeps: after the characters of a short std::string,
 * which are in its object, after the last element of a std::vector, and in the table of a
 * std::deque's blocks before and after those that it has. That is no pointer, though it may look
 * like one.
 */
#ifndef HEAP_LEFT_OVER_H
#define HEAP_LEFT_OVER_H

#include "heap/heap_scan.h"

/* Finds which types have short strings in them; blocks of these that have something there which
 * looks like a pointer are noted as they are taken. Sites are classes, or types of single blocks.
 */
struct error *stale_words_open(struct heap_scan *scan) must_check_;
void stale_words_close(struct stale_words *left);
void stale_words_take_block(struct heap_scan *scan, uint32_t block, uint64_t mask);

/* Of a type of the heap's, before search_classify(). */
static inline void stale_words_take(struct heap_scan *scan, uint32_t block, uint32_t type)
{
	if (scan->left.masks && scan->left.masks[type])
		stale_words_take_block(scan, block, scan->left.masks[type]);
}

/* Returns whether any word of a block may be left over. */
bool stale_words_has(const struct heap_scan *scan, uint32_t block);

#endif
