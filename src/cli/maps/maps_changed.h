/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pages of a running process were written to: contents at the first and at the last look are
 * compared, by a checksum for each page. That needs nothing of the process: what the kernel could
 * say (soft-dirty, pages written since a protection) has to be prepared in it, and slows it down.
 * A page that was written to and has what it had before counts as unchanged.
 */
#ifndef CLI_MAPS_MAPS_CHANGED_H
#define CLI_MAPS_MAPS_CHANGED_H

#include "base/vec.h"
#include "sources/live_look.h"
#include "views/maps_view.h"

struct page_sum {
	uint64_t page; /* its address */
	uint64_t sum;  /* XXH3-64 of its contents */
};
DEFINE_VEC(page_sums, struct page_sum)

struct maps_written {
	struct page_sums first; /* pages at the first look, ascending */
	struct maps_changes changes;
};

void maps_written_deinit(struct maps_written *written);

/* Reads the writable pages that are in memory, at the first look. That they can't be read is said
 * in `changes.unknown` and is no error. */
struct error *maps_written_begin(struct maps_written *written, struct live_looker *looker,
	const struct memory_look *look) must_check_;

/* Reads them again, and fills in `changes`. `series` is finished. */
struct error *maps_written_end(struct maps_written *written, struct live_looker *looker,
	const struct mapping_series *series) must_check_;

#endif
