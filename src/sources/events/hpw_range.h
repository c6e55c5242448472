/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of any part of a recording from the sums that its writer left with each chunk of events
 * (FORMAT.md, SUMS and DEATHS). Only the chunks at both ends of the part, and the one with the
 *peak, are walked event by event:
 *
 *	sums │ sums │ sums │ events │ sums │ sums │ sums │ events │
 *	  what was live before ──▶ from ──────────────────▶ to
 *
 * That is done by the same replay that would go through all of them (hpw_replay.h): it begins with
 * the books as the sums have them, and the older blocks that die in the chunk. So the result is
 * what it would be, exactly.
 */
#ifndef SOURCES_HPW_RANGE_H
#define SOURCES_HPW_RANGE_H

#include "base/error.h"
#include "base/vec.h"
#include "sources/events/hpw_replay.h"
#include "sources/events/hpw_sums.h"
#include "sources/recording/hpw_file.h"

/* A chunk of events with what belongs to it: places in the file's list. */
struct hpw_range_chunk {
	size_t events, sums, deaths; /* deaths SIZE_MAX: there are none */
	uint64_t head[HPW_SUMS_HEADS];
};
DEFINE_VEC(hpw_range_chunks, struct hpw_range_chunk)

struct hpw_range_mark {
	uint64_t step;
	char *name;
	bool has_figures; /* the next three are known */
	uint64_t stamp, live_blocks, live_bytes;
};
DEFINE_VEC(hpw_range_marks, struct hpw_range_mark)

struct hpw_ranges {
	const struct hpw_file *file; /* borrowed */
	const struct model *model;   /* borrowed; has all sites */
	struct hpw_range_chunks chunks;
	struct hpw_range_marks marks; /* in their order */
	uint64_t steps;               /* of all chunks */
};

/* Opens the sums of a file. Returns ERROR_INPUT if sums are missing or inconsistent. */
struct error *hpw_ranges_open(
	const struct hpw_file *file, const struct model *model, struct hpw_ranges *ret);
void hpw_ranges_deinit(struct hpw_ranges *parts);

/* Returns the chunk with a step; the last one if none has. There is one. */
size_t hpw_ranges_chunk(const struct hpw_ranges *parts, uint64_t step);

/* Goes through one chunk of events. */
struct error *hpw_ranges_visit(
	const struct hpw_ranges *parts, size_t chunk, const struct hpw_visitor *visitor);

/* Finds the sums of one chunk; they stay valid as long as the payload, which the caller gives back.
 */
struct error *hpw_ranges_sums(const struct hpw_ranges *parts, size_t number,
	struct hpw_payload *payload, struct hpw_sums *ret);

/* Finds the step after which the process's peak is reached, and its stamp. */
struct error *hpw_ranges_peak(
	const struct hpw_ranges *parts, uint64_t *ret_step, uint64_t *ret_stamp);

/*
 * Fills an empty replay chunk by chunk, and tells before each one: sites and totals, but for peaks,
 * are those of that moment. `before` says whether the chunk is to be gone through event by event.
 */
struct error *hpw_ranges_each(const struct hpw_ranges *parts,
	bool (*before)(void *context, size_t chunk, struct hpw_replay *replay), void *context,
	struct hpw_replay *replay);

/* Fills an empty replay as of the part that one chunk is, and settles it. */
struct error *hpw_ranges_replay_one(
	const struct hpw_ranges *parts, size_t number, struct hpw_replay *ret);

/* Fills a new replay with from_step and to_step set as if it had gone through everything and was
 * settled. ERROR_INPUT: the sums do not fit the events. */
struct error *hpw_ranges_fill(const struct hpw_ranges *parts, struct hpw_replay *replay);

#endif
