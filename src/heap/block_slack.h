/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where blocks end that only debug information tells the types of. glibc's malloc gives 8 bytes
 * more than what a structure has whose size is a multiple of 16, and what is there may be an
 * earlier owner's. But a program may as well have asked for these: so that word counts for nothing
 * only in nodes of containers, whose size the library alone decides, in objects whose class their
 * table of functions tells, and in blocks of which several are declared to be of a type; in the
 * last two only if few have a pointer there, and not where several do and all others have NULL:
 * that is a member. Blocks that were not declared themselves, but look like such, keep theirs.
 */
#ifndef HEAP_BLOCK_SLACK_H
#define HEAP_BLOCK_SLACK_H

#include "heap/heap_scan.h"

/* Between search_read() and search_classify(), after inference and while sites are classes. */
struct error *block_slack_cut(struct heap_scan *scan) must_check_;

/* Whether a block ends where its type does by that, and has a pointer after. */
bool block_slack_is_cut(const struct heap_scan *scan, uint32_t block);

/* Whether a block of a type may be found to end where that does: what is after is a pointer.
 */
bool block_slack_may_have(const struct heap_scan *scan, uint32_t block, uint32_t type);

#endif
