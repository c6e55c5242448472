/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures of all sites, as chunk payloads: format/FORMAT.md, SITE_STATS. */
#ifndef CAPTURE_SITE_STATS_H
#define CAPTURE_SITE_STATS_H

#include "base/buf.h"
#include "capture/recorder/tally.h"

/* The number of rows of which a chunk always fits (HPW_CHUNK_RAW_MAX). */
#define SITE_STATS_ROWS (256u << 10)

/* Appends at most `rows` rows, from site `first` on. Returns false if there is no memory. */
bool site_stats_put(struct buf *ret, const struct tally *tally, uint32_t first, uint32_t rows);

#endif
