/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lives of all blocks of a recording → model/lives.h. */
#ifndef SOURCES_HPW_LIFE_SUMS_H
#define SOURCES_HPW_LIFE_SUMS_H

#include "base/error.h"
#include "sources/events/event_replay.h"
#include "sources/events/hpw_clock.h"

struct model;

/*
 * Adds the lives of blocks that are allocated, or reallocated, in that span. The model has all
 * sites; `clock` is right from the first event on. Goes through all events.
 */
struct error *hpw_life_sums_put(const struct event_replay *story, const struct hpw_clock *clock,
	const struct hpw_span *span, struct model *model) must_check_;

#endif
