/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rings of a process that has the runtime in it, as a source of events: each ring is a lane. */
#ifndef CAPTURE_RING_SOURCE_H
#define CAPTURE_RING_SOURCE_H

#include "base/buf.h"
#include "capture/python/line_table.h"
#include "capture/recorder/event_source.h"

/* Frames that are names alone, which the recorder adds to the process's own. */
struct ring_code {
	uint32_t count;
	const char **names;
};

struct ring_source {
	struct event_source source;
	struct hw_shm *shm;
	const struct ring_code *code; /* borrowed; NULL: none */
	uint32_t changes; /* of the mode: other producers' words are of other recordings */
	/* Of the row of code that was asked for last: its table, copied and decoded. */
	struct buf table;
	struct event_line_vec lines;
};

/* shm: HW_SHM_BYTES, borrowed for as long as the source is used. tsc_hz: of the processor. */
void ring_source_init(struct ring_source *rings, struct hw_shm *shm, uint64_t tsc_hz);
void ring_source_deinit(struct ring_source *rings);

#endif
