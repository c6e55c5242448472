/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was mapped at moments all along a recording. Moments are chosen as of the heap
 * (hpw_series.h); since all changes of mappings are known here, so is the distance of moments.
 */
#ifndef SOURCES_HPW_MAPPING_SERIES_H
#define SOURCES_HPW_MAPPING_SERIES_H

#include "base/error.h"
#include "model/build.h"
#include "sources/events/hpw_clock.h"
#include "sources/mappings/hpw_mappings.h"
#include "sources/source.h"

struct hpw_mapping_series {
	const struct source_series *wanted;
	const struct hpw_mappings *mappings; /* with sites */
	const struct hpw_clock *clock;
	size_t from, to; /* the part: so many rows come before it, and before its end */
	size_t peak;     /* so many come before the part's peak */
	uint64_t from_ns, to_ns;
	uint32_t first_site; /* of those of mappings */
	size_t sites;        /* how many */
};

/* Puts the moments into the model, which has the sites. */
struct error *hpw_mapping_series_put(
	const struct hpw_mapping_series *series, struct model *model) must_check_;

#endif
