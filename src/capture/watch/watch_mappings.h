/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a watched process has mapped itself (mmap, mremap, munmap), from the events that tell of it,
 * in their order: a part that is unmapped or mapped over is gone, the rest stays.
 */
#ifndef CAPTURE_WATCH_MAPPINGS_H
#define CAPTURE_WATCH_MAPPINGS_H

#include "base/error.h"
#include "base/vec.h"
#include "bpf/watch_maps.h"
#include "process/interval_map.h"

struct watch_mapping {
	uint64_t site; /* key */
	uint64_t time_ns;
	uint64_t bytes;       /* that are mapped still */
	uint64_t first_bytes; /* when it was made */
};
DEFINE_VEC(watch_mapping_vec, struct watch_mapping)

/* Mappings of a site that are gone. */
struct watch_unmapped {
	uint64_t site, count, bytes;
};
DEFINE_VEC(watch_unmapped_vec, struct watch_unmapped)

struct watch_mappings {
	struct interval_map ranges;
	struct watch_mapping_vec all; /* the live ones, and some that are not */
	struct watch_unmapped_vec gone;
	size_t dead; /* of all */
};

void watch_mappings_init(struct watch_mappings *mappings);
void watch_mappings_deinit(struct watch_mappings *mappings);

/* Takes an event in. `is_own`: its site is the allocator's, so that it only takes room. */
struct error *watch_mappings_take(
	struct watch_mappings *mappings, const struct watch_event *event, bool is_own) must_check_;

#endif
