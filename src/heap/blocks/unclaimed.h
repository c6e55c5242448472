/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a program's own that no area has so far, page by page: where allocators are looked
 * for that nothing leads to. */
#ifndef HEAP_UNCLAIMED_H
#define HEAP_UNCLAIMED_H

#include "heap/blocks/areas.h"
#include "heap/blocks/window.h"

#define UNCLAIMED_PAGE_BYTES 4096ull

struct unclaimed_walk {
	const struct address_space *space;
	const struct heap_area_vec *areas; /* sorted; nothing of these is shown */
	struct window window;              /* for other readers */
	void *context;
	/*
	 * A page, with all after it up to `end` that has no owner. *ret_next is the next page, and
	 * may be set further on, to another one. False: no memory.
	 */
	bool (*look)(struct unclaimed_walk *walk, uint64_t page, uint64_t end, uint64_t *ret_next);
};

/* Opens the window and closes it. Pages that were never written are left out. */
struct error *unclaimed_walk(struct unclaimed_walk *walk) must_check_;

#endif
