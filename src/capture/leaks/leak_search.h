/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One search for leaks in a held process, and its results as chunks. */
#ifndef CAPTURE_LEAK_SEARCH_H
#define CAPTURE_LEAK_SEARCH_H

#include "base/buf.h"
#include "capture/leaks/leak_check.h"
#include "capture/leaks/leak_roots.h"

/* One chunk: its type and payload. */
struct leak_chunk {
	enum hpw_chunk_type type;
	struct buf payload;
};
#define LEAK_CHUNKS 5u

struct leak_asked {
	struct leak_place place; /* `memory` is ours to set */
	struct leak_check check;
	enum hpw_leak_moment moment;
	uint64_t tsc;        /* of the moment */
	uint64_t since_ns;   /* CLOCK_MONOTONIC: when the process was stopped for it */
	uint32_t *heartbeat; /* grows while the search goes on */
};

/* Searches. The chunks are buf_init()ed; after an error some may be empty. */
struct error *leak_search(
	const struct leak_asked *asked, struct leak_chunk ret[static LEAK_CHUNKS]) must_check_;

/* The one chunk that says that there was no search, and why. False: no memory. */
bool leak_search_failed(
	enum hpw_leak_moment moment, uint64_t tsc, const char *problem, struct leak_chunk *ret);

#endif
