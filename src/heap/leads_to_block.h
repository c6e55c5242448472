/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds types only for the blocks that lead to one block, which is all that heap_why() needs for
 * it. */
#ifndef HEAP_LEADS_TO_BLOCK_H
#define HEAP_LEADS_TO_BLOCK_H

#include "heap/heap_scan.h"
#include "search/reverse.h"

/*
 * Replaces heap_scan_find_types(): finds the types of the block at `address` and of all blocks that
 * lead to it, if these are few and their types are certain without all others. Then *ret_reverse is
 * filled, which the caller frees, and only heap_why() for that block may be called. Otherwise finds
 * the types of all blocks, and *ret_reverse is empty.
 */
struct error *leads_to_block_type(
	struct heap_scan *scan, uint64_t address, struct reverse *ret_reverse) must_check_;

#endif
