/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events behind a model's figures, one by one, for those who write them down again. Models hold
 * sums alone; a source that has events can be asked to tell them (sources/source.h), and who tells
 * them needs not know where they come from.
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
	/* Tells live blocks apart: from 0, and that of a block that is gone is given out again. */
	uint32_t block;
};

struct event_sink {
	void *context;
	struct error *(*take)(void *context, const struct event *event);
};

struct event_stream {
	void *context;
	/* Tells all of them in their order. An error that the sink returns ends it. */
	struct error *(*each)(void *context, const struct event_sink *sink);
};

#endif
