/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes that a program hands to the kernel and that were never written, found by comparing runs
 * with different fills of new blocks (format/check_leaves.h).
 *
 * The first run notes each byte with the value of the fill, most of which are data that have it by
 * chance. Each further run, with another fill, keeps those that have its value then. What follows
 * the fill in all runs is no data. A call is known by its function, its sizes and place in the
 * block, and by their number among those that are alike, so that calls which other threads make in
 * between matter little.
 */
#ifndef CLI_LEAVING_H
#define CLI_LEAVING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "capture/check_settings.h"

/* Calls that the last run reports. */
#define LEAVING_REPORTED_MOST 64u

struct leaving {
	struct hw_leaving_range *ranges; /* that are left; ascending by call, number, first */
	size_t count;
	unsigned fills;     /* how many different ones they have followed */
	uint64_t looked_at; /* calls of the first run */
	uint64_t calls;     /* calls with such ranges, of those that are left */
	uint64_t changed;   /* calls with ranges that a later run did not make */
	uint64_t left_out;  /* calls of the first run with more ranges than are noted, or that
			       were not looked at: a bound was reached */
	uint64_t reported;  /* calls that leaving_add_settings() has named */
};
void leaving_deinit(struct leaving *leaving);

/* Sets up the page for the next run: it notes what has `byte`; all, if `first`, else what is left.
 */
void leaving_begin(
	const struct leaving *leaving, bool first, uint8_t byte, struct hw_check_leaves *page);

/* Takes what the run has noted. ERROR_INTERNAL: no memory. */
struct error *leaving_take(struct leaving *leaving, const struct hw_check_leaves *page) must_check_;

/* Forgets all ranges: nothing is said of them. */
void leaving_drop(struct leaving *leaving);

/* Adds options of HEAPWISE_CHECK for a run that reports the first range of each call, of at most
 * LEAVING_REPORTED_MOST; of those that are alike the first ones. */
void leaving_add_settings(struct leaving *leaving, struct text *text);

#endif
