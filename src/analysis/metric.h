/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of a site by name: what lists are sorted, filtered and weighed by. */
#ifndef ANALYSIS_METRIC_H
#define ANALYSIS_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

enum metric {
	METRIC_ALLOCATIONS,
	METRIC_ALLOCATED_BYTES,
	METRIC_LIVE_BYTES,
	METRIC_LIVE_BLOCKS,
	METRIC_KEPT_BYTES,
	METRIC_KEPT_BLOCKS,
	METRIC_PEAK_BYTES,
	METRIC_PEAK_BLOCKS,
	METRIC_TEMPORARY,
	METRIC_FAILED,
	METRICS
};

/* As on the command line and in JSON: "live_bytes"… */
const char *metric_name(enum metric metric);
/* Finds a metric by name. Returns false if there is none. */
bool metric_find(const char *name, enum metric *ret);

/* As a heading: "Live at the peak"… */
const char *metric_title(enum metric metric);
/* Returns whether the metric is in bytes; otherwise it counts. */
bool metric_is_bytes(enum metric metric);
/* Returns whether the metric is of blocks that are live at the end, which include those that
 * libraries keep. */
bool metric_is_of_live(enum metric metric);

/* Returns whether the source contains the metric; otherwise its figures are 0. */
bool metric_is_known(enum metric metric, const struct recording *recording);
/* Returns the metric itself if it is known, else the known one that is nearest to it. */
enum metric metric_or_known(enum metric metric, const struct recording *recording);

uint64_t metric_of_site(enum metric metric, const struct site *site);
/* Returns the metric's figure for the whole process. */
uint64_t metric_of_totals(enum metric metric, const struct totals *totals);

#endif
