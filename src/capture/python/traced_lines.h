/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of traced Python functions (`run --line-rss`): how often each ran, and by how much the
 * resident memory of the process grew meanwhile, callees included. The runtime says when a line
 * begins and when its function ends; which line that ends is found here, by a list of open calls
 * for each thread. What grows while several calls are in one line (recursion, threads) counts once
 * for it.
 */
#ifndef CAPTURE_TRACED_LINES_H
#define CAPTURE_TRACED_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "format/shm.h"

/* Calls of traced functions that are open in all threads together. Those beyond it count as
 * left out. */
#define TRACED_OPEN_MAX (1u << 20)

struct traced_place {
	uint32_t code, line;
};

/* A call of a function: where it is, and since when. */
struct traced_call {
	struct traced_place place;
	uint64_t pages; /* resident when the line began; 0: not known */
};

/* Of a line, since they were written last: as in FORMAT.md, TRACED_LINES. */
struct traced_figures {
	uint64_t count, unsized;
	int64_t growth_pages;
	uint64_t largest_pages;
	uint64_t since_pages; /* while it is open: resident when it was opened; 0: not known */
	uint32_t open;        /* calls that are in it */
};

static inline uint64_t traced_place_hash(struct traced_place place)
{
	return hash_u64((uint64_t)place.code << 32 | place.line);
}

static inline bool traced_place_equal(struct traced_place a, struct traced_place b)
{
	return a.code == b.code && a.line == b.line;
}

DEFINE_VEC(traced_call_vec, struct traced_call)
DEFINE_VEC(traced_thread_vec, struct traced_call_vec)
DEFINE_MAP(traced_map, struct traced_place, struct traced_figures, traced_place_hash,
	traced_place_equal)

/* All 0: nothing was traced. */
struct traced_lines {
	struct traced_map
		rows; /* at most HPW_TRACED_MAX / 2 - 1: one more is for what is left out */
	struct traced_thread_vec open;
	size_t open_count;
	uint64_t written;  /* rows so far, at most HPW_TRACED_MAX */
	uint64_t left_out; /* lines that found no room */
};

void traced_lines_deinit(struct traced_lines *lines);

/* Takes what an HW_ANNOTATE_LINE says, its two numbers as they came. Returns false for want of
 * memory. */
bool traced_lines_add(
	struct traced_lines *lines, uint32_t thread, uint64_t place, uint64_t size_and_what);

/* Whether there is something to write. Before the end only while the file has room for all rows at
 * the end, too. */
bool traced_lines_due(const struct traced_lines *lines, bool end);

/* Appends a TRACED_LINES chunk of what is new. Returns false for want of memory. */
bool traced_lines_put(struct traced_lines *lines, struct buf *ret);

#endif
