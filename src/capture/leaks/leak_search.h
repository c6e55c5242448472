/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches a paused process for leaks and makes chunks of the results. */
#ifndef CAPTURE_LEAK_SEARCH_H
#define CAPTURE_LEAK_SEARCH_H

#include "base/buf.h"
#include "capture/leaks/check_starts.h"
#include "capture/leaks/leak_check.h"
#include "capture/leaks/leak_roots.h"

/* One chunk: its type and payload. */
struct leak_chunk {
	enum hpw_chunk_type type;
	struct buf payload;
};
#define LEAK_CHUNKS 5u

struct leak_search_request {
	struct leak_target place; /* `memory` is ours to set */
	struct leak_check check;
	enum hpw_leak_moment moment;
	/* What was there then can't be a leak; borrowed. NULL: all can. */
	const struct check_start *since;
	uint64_t tsc;        /* of the moment */
	uint64_t since_ns;   /* CLOCK_MONOTONIC: when the process was stopped for it */
	uint32_t *heartbeat; /* incremented while the search goes on */
};

/* Searches. The caller has called buf_init() for the chunks; after an error some may be empty. */
struct error *leak_search(const struct leak_search_request *asked,
	struct leak_chunk ret[static LEAK_CHUNKS]) must_check_;

/* Makes the only chunk of a search that failed, with the reason. Returns false if there is no
 * memory. */
bool leak_search_failed(
	enum hpw_leak_moment moment, uint64_t tsc, const char *problem, struct leak_chunk *ret);

#endif
