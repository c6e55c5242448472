/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was live at moments all along a recording. Which moments: as many as fit, evenly by time,
 * bytes or events, found without knowing how much there will be: when there are too many every
 * other one goes, and the distance doubles. So there are at last at most as many as were asked for,
 * and the peak, and the end.
 *
 * A row says what was live at its time (hpw_clock.h), and from then on until something happened. By
 * time, rows are at whole multiples of the distance, and only where that differs from the row
 * before: the next event may be far away, and idle time is as long as it was. Each row is what the
 * moment of its time is.
 */
#ifndef SOURCES_HPW_SERIES_H
#define SOURCES_HPW_SERIES_H

#include "base/error.h"
#include "base/vec.h"
#include "model/build.h"
#include "sources/events/hpw_clock.h"
#include "sources/events/hpw_range.h"
#include "sources/events/hpw_replay.h"
#include "sources/source.h"

struct hpw_series_row {
	struct series_row row; /* first_site and site_count unset */
	struct series_site *sites;
	size_t sites_len;
};
DEFINE_VEC(hpw_series_rows, struct hpw_series_row)

struct hpw_series {
	const struct source_series *wanted;
	const struct hpw_clock *clock; /* borrowed; is right from the first event on */
	struct hpw_series_rows rows;
	uint64_t from_ns, to_ns; /* to_ns 0: it ends with its last step */
	uint64_t interval, due;  /* on the axis; due: not by time */
	/* What the peak's stamp ends with, if that is much less. */
	struct hpw_series_row after_peak;
	uint64_t after_number; /* of that peak, as in struct hpw_replay; 0: there is none */
	/* Of samples: how many steps lead to the peak that they point to, and what they say of that
	 * moment. */
	uint64_t estimated_step; /* UINT64_MAX: no samples, or it has been noted */
	struct hpw_series_row estimated;
	bool ended; /* the last row is there */
	bool no_memory;
};

/* Initialises a series from one time to another; to_ns 0: to the last step. */
void hpw_series_init(struct hpw_series *series, const struct source_series *wanted,
	const struct hpw_clock *clock, uint64_t from_ns, uint64_t to_ns);
void hpw_series_deinit(struct hpw_series *series);

/* Watches a replay that is about to begin, of a part if it is set to one: then the moments are in
 * it, and the peak is the part's. */
void hpw_series_watch(struct hpw_series *series, struct hpw_replay *replay);
/* As above, for samples, whose peak is not where the rows are highest (hpw_estimate.h): that is
 * where `figures`, another replay of the same part that is settled, found it. */
void hpw_series_watch_samples(
	struct hpw_series *series, struct hpw_replay *replay, const struct hpw_replay *figures);
/* Adds the end and the peak; called after hpw_replay_settle(). */
struct error *hpw_series_conclude(struct hpw_series *series, struct hpw_replay *replay);

/* Fills it from the sums, for a recording of many chunks. ERROR_INPUT: they do not fit. */
struct error *hpw_series_sum_up(struct hpw_series *series, const struct hpw_ranges *parts);
/* Returns whether there are enough chunks for that. */
bool hpw_series_suits(const struct hpw_series *series, const struct hpw_ranges *parts);

#endif
