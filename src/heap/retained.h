/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Retained memory: the bytes that are referenced only through one global, stack or block
 * (search/dominators.h).
 */
#ifndef HEAP_RETAINED_H
#define HEAP_RETAINED_H

#include "base/vec.h"
#include "heap/heap_scan.h"
#include "search/dominators.h"

/* A root that references blocks: a variable, a thread's stack, a mapping. */
struct retained_holder {
	enum heap_root_kind kind;
	uint64_t start;                /* of the variable, the mapping; of others 0. So it is of
					* thread-local storage that no variable's name is known of */
	pid_t tid;                     /* of stacks, thread-local storage and registers */
	struct heap_place place;       /* of variables; its offset is 0 if it has a name */
	const struct process_map *map; /* of mappings */
};
DEFINE_VEC(retained_holders, struct retained_holder)

/* A holder, or a block; of the nodes of a list or a tree the first, of a chain's the first of each
 * type. */
struct retained_row {
	uint32_t node;  /* of the dominators: a block's number, or after them a holder's */
	uint32_t above; /* index of the row that dominates it; UINT32_MAX: none */
	uint64_t bytes; /* retained; of a block its own included */
	/* This many blocks below it are left out, as they follow each other without a branch and
	 * their types come again and again: those of the `period` blocks from `cycle` upwards. */
	uint64_t folded;
	uint32_t cycle, period;
};
DEFINE_VEC(retained_rows, struct retained_row)

struct retained {
	struct retained_holders holders;
	struct dominators dominators;
	struct retained_rows rows; /* rows that retain at least `least` bytes, the largest first */
	size_t left_out;           /* further such rows, beyond the limit */
	uint64_t least;            /* bytes: a thousandth of what is in use */
	uint64_t shared_bytes;     /* of blocks that only several roots together dominate */
};

/* Computes retained memory, at most `limit` rows. The scan has types. */
struct error *heap_retained(
	const struct heap_scan *scan, size_t limit, struct retained *ret) must_check_;
void heap_retained_deinit(struct retained *retained);

#endif
