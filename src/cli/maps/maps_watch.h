/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at running processes again and again, until a time has passed, they have ended, or ^C. */
#ifndef CLI_MAPS_MAPS_WATCH_H
#define CLI_MAPS_MAPS_WATCH_H

#include "base/ranges.h"
#include "cli/maps/maps_changed.h"
#include "sources/live_look.h"
#include "views/maps_view.h"

struct maps_target {
	struct live_looker looker;
	struct memory_look look; /* the last one */
	struct mapping_series series;
	char *command;
	char *end;                         /* why looks ended; NULL: they did not */
	struct address_ranges first_pages; /* in memory at the first look; of maps_plan.explains */
	const char *pages_unknown;         /* why first_pages are not known, or NULL */
	struct maps_pages **pages;         /* what was found in new ones */
	size_t page_count;
	struct maps_written written; /* of maps_plan.compares */
	bool has_ended;
};

struct maps_plan {
	uint64_t every_ns; /* 0: one look */
	uint64_t for_ns;   /* 0: until ^C */
	enum live_look_way way;
	bool explains;
	bool compares; /* which pages were written to */
	bool reads_nodes;
};

/* Looks at all of them at the same times. `targets` are zeroed; their `looker.pid` is set. Errors
 * are those of the first look. */
struct error *maps_watch(
	const struct maps_plan *plan, struct maps_target *targets, size_t count) must_check_;
void maps_target_deinit(struct maps_target *target);

#endif
