/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in the order of a recording's steps a moment is. A place p is the state after all steps
 * whose number is less than p. Steps have no stamps of their own: those between two stamps of TIME
 * (FORMAT.md) belong to the earlier one, so a time falls between two groups of HPW_TIME_STEP steps.
 */
#ifndef SOURCES_HPW_MOMENTS_H
#define SOURCES_HPW_MOMENTS_H

#include "base/error.h"
#include "model/model.h"
#include "sources/events/event_replay.h"
#include "sources/events/hpw_clock.h"
#include "sources/events/hpw_estimate.h"
#include "sources/events/hpw_range.h"
#include "sources/source.h"

struct hpw_moments {
	const struct event_replay *story; /* borrowed; of events in RING chunks too */
	const struct model *model;        /* borrowed; its sites are known */
	const struct hpw_clock *clock;    /* borrowed */
	const struct hpw_ranges *parts;   /* borrowed; NULL: all events have to be looked at */
	/* What samples say of the peak, if it is searched by them; the caller's, all 0 before, and
	 * hpw_estimate_deinit() after. NULL: not wanted. */
	struct hpw_estimate *peak;
};

/* Finds the steps of a query's times. Returns ERROR_INPUT if there is no such time, or the later
 * one comes first; the message lists the valid ones. */
struct error *hpw_moments_find(const struct hpw_moments *moments, const struct source_query *query,
	struct hpw_span *ret) must_check_;

/* Both ends of a part on the time axis (hpw_clock.h); query NULL: the part is all. *ret_to_ns: 0 if
 * it is unknown when the recording ended. */
void hpw_span_times(const struct hpw_span *span, const struct source_query *query,
	const struct hpw_clock *clock, uint64_t *ret_from_ns, uint64_t *ret_to_ns);

/* Says in the model which part figures are of; its duration is known. */
struct error *hpw_span_put(const struct hpw_span *span, const struct source_query *query,
	const struct hpw_clock *clock, struct model *model) must_check_;

#endif
