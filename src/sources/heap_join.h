/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap that was read from memory, joined with the recording of the same process: each block gets
 * the place where it was allocated.
 */
#ifndef SOURCES_HEAP_JOIN_H
#define SOURCES_HEAP_JOIN_H

#include "heap/heap_scan.h"
#include "model/build.h"
#include "model/joined.h"

/*
 * NULL: the recording is of the process whose memory this is, by where its modules are.
 * ERROR_INPUT: it is not; the message says why.
 */
struct error *heap_join_check(const struct address_space *space, const struct model *recording,
	const char *name) must_check_;

/*
 * Places the blocks of a typed scan (heap_scan_set_sites()), and counts. The recording, name and
 * blocks of `joined` are set; ERROR_INPUT: it has no blocks with addresses.
 */
struct error *heap_join(struct heap_scan *scan, struct joined *joined) must_check_;

/*
 * Of a model that is being made: adds the stacks, threads and sites of the recording, and sets
 * ret[i] to the site of each of scan->sites that has a place. Live figures of the model's sites
 * are those of the heap.
 */
struct error *heap_join_put(const struct heap_scan *scan, const struct joined *joined,
	struct model *model, struct site_id *ret) must_check_;

#endif
