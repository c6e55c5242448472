/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What leads to one block: all that a question about it needs to know of a heap. */
#ifndef HEAP_LEADS_TO_BLOCK_H
#define HEAP_LEADS_TO_BLOCK_H

#include "heap/heap_scan.h"
#include "search/reverse.h"

/*
 * In place of heap_scan_find_types(): says what the block is that an address points into, and all
 * blocks from which pointers lead there, if these are few and it is certain without all others.
 * Then *ret_reverse is filled, the caller's to free, and nothing else may be asked of the scan than
 * heap_why() for that block. Else all blocks are typed, and it is empty.
 */
struct error *leads_to_block_type(
	struct heap_scan *scan, uint64_t address, struct reverse *ret_reverse) must_check_;

#endif
