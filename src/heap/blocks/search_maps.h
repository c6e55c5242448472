/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which memory is of files, and which of that is code: where a search for blocks may find vtables.
 */
#ifndef HEAP_SEARCH_MAPS_H
#define HEAP_SEARCH_MAPS_H

#include "base/vec.h"
#include "process/address_space.h"
#include "search/memory.h"

DEFINE_VEC(search_map_vec, struct search_map)

/* Adds them, ascending. */
struct error *search_maps_find(
	const struct address_space *space, struct search_map_vec *ret) must_check_;

#endif
