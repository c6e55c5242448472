/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a block is a pool, by the places that are known in it (inferred_pools.h). Private to
 * pool_check.c and inferred_pools.c.
 */
#ifndef HEAP_POOL_CHECK_H
#define HEAP_POOL_CHECK_H

#include "heap/inferred/inferred_places.h"

/* Fewer structures may be members of something without a description. */
#define PLACES_LEAST 4u

/* Of a block the places that count: none in another one. */
struct pool_check {
	struct inferring *f;
	uint32_t block;
	struct pool_objects objects; /* ascending by offset */
	size_t broken;               /* places that are something else, or overlap */
	size_t sure;
};

/* Gathers the objects of a block, which pool_objects_deinit() frees whatever it returns: whether it
 * is a pool by all places that are known in it. */
bool inferred_classify(struct pool_check *check, const struct pool_block *in);

#endif
