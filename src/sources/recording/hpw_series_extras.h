/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What else is known of the moments of a series, by the sums of chunks: how large the stacks of
 * threads were, how many instructions the process had executed. */
#ifndef SOURCES_HPW_SERIES_EXTRAS_H
#define SOURCES_HPW_SERIES_EXTRAS_H

#include "sources/events/hpw_range.h"
#include "sources/events/hpw_series.h"
#include "sources/recording/hpw_footer.h"

/* Fills stack_bytes and instructions of all rows. A thread counts from the chunk on in which its
 * stack was first seen, until it has ended; as large as it was in the latest chunk that it did
 * something in. */
struct error *hpw_series_extras_fill(
	struct hpw_series *series, const struct hpw_ranges *parts, const struct hpw_footer *footer);

/* A moment at which stacks are measured. */
struct hpw_series_extras_moment {
	uint64_t step;    /* this many steps come before; UINT64_MAX: the end */
	uint64_t time_ns; /* threads that ended before do not count; not used of the end */
};

/* Sets ret_bytes[thread] of the threads below `count` as they were then, 0: not known; and the sum
 * of all threads. ERROR_INPUT: the sums are malformed. */
struct error *hpw_series_extras_stacks(const struct hpw_ranges *parts,
	const struct hpw_clock *clock, const struct hpw_footer *footer,
	const struct hpw_series_extras_moment *moment, uint64_t *ret_bytes, size_t count,
	uint64_t *ret_sum) must_check_;

#endif
