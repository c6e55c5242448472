/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chunks of a search for leaks: LEAK_SEARCH and the LEAK_ROOTS, LEAK_GROUPS, LEAK_RECORDS that
 * follow it. Of several searches the last counts. What a damaged part would have named is
 * left out (references) or replaced (allocation sites), so that the kinds stay.
 */
#ifndef SOURCES_HPW_LEAKS_H
#define SOURCES_HPW_LEAKS_H

#include "model/build.h"
#include "sources/events/hpw_clock.h"
#include "sources/recording/hpw_damage.h"
#include "sources/recording/hpw_file.h"

struct hpw_leaks {
	struct model *model;           /* borrowed; has its modules, sites and threads */
	const struct hpw_clock *clock; /* borrowed */
	bool has_unknown_site;
	struct site_id unknown_site; /* stands for sites that are not known */
	uint64_t ways_lost; /* records whose holders are not known because their chunk is damaged */
};

/* True if chunks of this type are decoded here. */
bool hpw_leaks_takes(uint16_t type);
/* Returns the place in the list of the last search's first chunk; chunks.len if there is none. */
size_t hpw_leaks_first(const struct hpw_file *file);
struct error *hpw_leaks_decode(
	struct hpw_leaks *leaks, uint16_t type, const struct hpw_payload *payload) must_check_;
/* Says what is missing of what was decoded. */
struct error *hpw_leaks_check(const struct hpw_leaks *leaks, struct hpw_damage *damage) must_check_;

/*
 * Sets the times at which the examples of all records were allocated, as far as EVENTS has them:
 * decodes the chunks that do. Damaged ones are passed over.
 */
struct error *hpw_leaks_date(struct hpw_leaks *leaks, const struct hpw_file *file) must_check_;

#endif
