/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of a core or a process without a recording, as a model: instead of call stacks it has
 * types, each a site whose only frame is called like it; what is live, and what of it has leaked.
 */
#ifndef SOURCES_HEAP_MODEL_H
#define SOURCES_HEAP_MODEL_H

#include "heap/heap_scan.h"
#include "model/joined.h"
#include "model/model.h"
#include "sources/recording/input.h"

/*
 * The scan is typed and judged. `name` stands for the path. joined: of a scan that heap_join()
 * has placed: blocks that the recording knows have their call stacks then; else NULL.
 */
struct error *heap_model_make(const struct heap_scan *scan, const char *name,
	const struct joined *joined, struct model **ret) must_check_;

/* Makes a model of the scan, with leaks of some types only: of those whose byte (by type) is not 0.
 * Figures of what is in use are those of all. types NULL: of all. */
struct error *heap_model_make_of(const struct heap_scan *scan, const char *name,
	const struct joined *joined, const uint8_t *types, struct model **ret) must_check_;

/* Makes a model by owners instead of types (heap_owners.h), without leaks; the scan need not have
 * searched for them. */
struct error *heap_model_make_owners(
	const struct heap_scan *scan, const char *name, struct model **ret) must_check_;

/* As a source: opens a core with files as they are at their paths. */
struct error *heap_model_of_core(const struct input *input, struct model **ret) must_check_;

#endif
