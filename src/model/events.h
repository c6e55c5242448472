/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The single events from which a model's figures come, for exporters. A model has only sums; a
 * source that has events can emit them (sources/source.h), and the receiver does not need to know
 * where they come from.
 */
#ifndef MODEL_EVENTS_H
#define MODEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model.h"

enum event_kind { EVENT_ALLOC, EVENT_FREE, EVENT_FAILED };

/* A realloc is a free and, as the next event of its thread, an allocation. */
struct event {
	enum event_kind kind;
	bool of_realloc;
	struct site_id site; /* of the model; of a free: where the block was allocated */
	uint64_t size;       /* likewise */
	uint64_t time_ns;    /* since the recording began; never goes back */
	/* Identifies a live block: numbers begin at 0, and that of a freed block is used again. */
	uint32_t block;
};

struct event_sink {
	void *context;
	struct error *(*take)(void *context, const struct event *event);
};

struct event_stream {
	void *context;
	/* Calls sink->take() for each event in order; returns its first error. */
	struct error *(*each)(void *context, const struct event_sink *sink);
};

#endif
