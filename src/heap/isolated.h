/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Isolated blocks: they contain no pointer to a block, and nothing points to them. All of them are
 * leaked. Only their contents and neighbours give hints.
 */
#ifndef HEAP_ISOLATED_H
#define HEAP_ISOLATED_H

#include "heap/heap_scan.h"

struct heap_isolated {
	struct space_u32 blocks; /* their numbers, ascending */
	uint64_t bytes;
};

/* Finds the isolated blocks. The scan has leaks. */
struct error *heap_isolated_find(
	const struct heap_scan *scan, struct heap_isolated *ret) must_check_;
void heap_isolated_deinit(struct heap_isolated *isolated);

#endif
