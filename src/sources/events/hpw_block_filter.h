/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks count, if not all do: by size, thread, site, by how long they live. The last of
 * these is not known when a block is allocated: then all events are walked once before, and each
 * allocation gets a bit.
 */
#ifndef SOURCES_HPW_BLOCK_FILTER_H
#define SOURCES_HPW_BLOCK_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/build.h"
#include "sources/events/event_replay.h"
#include "sources/events/hpw_clock.h"
#include "sources/events/hpw_events.h"
#include "sources/source.h"

struct hpw_block_filter {
	const struct source_blocks *wanted; /* borrowed */
	bool *threads;                      /* by index; NULL: all */
	size_t threads_len;
	/* By name: threads that have none that is known, and how much they allocated. */
	uint64_t unnamed, unnamed_allocations, unnamed_bytes;
	uint8_t *bits; /* by number of the allocation; NULL: all */
	size_t bits_len;
};

void hpw_block_filter_deinit(struct hpw_block_filter *choice);

/* Selects blocks by lifetime, up to the end of that span. `clock` is right from the first event on.
 */
struct error *hpw_block_filter_by_life(struct hpw_block_filter *choice,
	const struct event_replay *story, const struct hpw_clock *clock,
	const struct hpw_span *span) must_check_;

/* Says in the model which blocks its figures are of. */
struct error *hpw_block_filter_describe(
	const struct hpw_block_filter *choice, struct model *model) must_check_;

/* Returns whether a block is selected. number: of the allocation in the recording, from 0. */
static inline bool hpw_block_filter_has(
	const struct hpw_block_filter *choice, uint64_t number, const struct hpw_step *step)
{
	const struct source_blocks *wanted = choice->wanted;
	if (step->size < wanted->min_size || (wanted->max_size && step->size > wanted->max_size) ||
		(step->site < wanted->hidden_frames_len && wanted->hidden_frames[step->site]))
		return false;
	if (choice->threads &&
		(step->thread >= choice->threads_len || !choice->threads[step->thread]))
		return false;
	return !choice->bits ||
	       (number / 8 < choice->bits_len && choice->bits[number / 8] >> number % 8 & 1);
}

#endif
