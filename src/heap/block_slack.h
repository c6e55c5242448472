/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ends of blocks whose types only debug information gives. glibc's malloc gives 8 bytes more
 * than a structure needs whose size is a multiple of 16, and these bytes may be stale. But a
 * program may also have requested them: so that word is ignored only in nodes of containers, whose
 * size only the library decides, in objects whose class their vtable gives, and in blocks of which
 * several are declared to be of a type; in the last two only if few have a pointer there, and not
 * where several do and all others have NULL: that is a member. Blocks that were not declared
 * themselves, but look like such, keep theirs.
 */
#ifndef HEAP_BLOCK_SLACK_H
#define HEAP_BLOCK_SLACK_H

#include "heap/heap_scan.h"

/* Finds these ends. Called between search_read() and search_classify(), after inference and while
 * sites are classes. */
struct error *block_slack_cut(struct heap_scan *scan) must_check_;

/* Returns whether a block was found to end where its type does, and has a pointer after that. */
bool block_slack_is_cut(const struct heap_scan *scan, uint32_t block);

/* Returns whether a block of a type may be found to end where the type does: a pointer follows.
 */
bool block_slack_may_have(const struct heap_scan *scan, uint32_t block, uint32_t type);

#endif
