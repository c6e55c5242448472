/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of which memory says the least: they hold no pointer to a block, and nothing points at
 * them. All of them are lost. What remains to go by is what is written in them, and which blocks
 * lie beside them.
 */
#ifndef HEAP_ISOLATED_H
#define HEAP_ISOLATED_H

#include "heap/heap_scan.h"

struct heap_isolated {
	struct space_u32 blocks; /* their numbers, ascending */
	uint64_t bytes;
};

/* The scan is judged. */
struct error *heap_isolated_find(
	const struct heap_scan *scan, struct heap_isolated *ret) must_check_;
void heap_isolated_deinit(struct heap_isolated *isolated);

#endif
