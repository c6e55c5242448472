/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program maps, on request (run --mmap): rows for MAPPINGS, and a map of what is mapped
 * now. Sums of it are never among those of the heap.
 */
#ifndef CAPTURE_MAPPINGS_H
#define CAPTURE_MAPPINGS_H

#include "base/buf.h"
#include "base/vec.h"
#include "capture/recorder/merge.h"
#include "format/hpw.h"
#include "process/interval_map.h"

#include <stdbool.h>
#include <stdint.h>

struct mapping_row {
	uint64_t stamp, page, pages;
	uint32_t thread; /* + 1; 0: none */
	uint32_t stack;
	uint8_t what, flags; /* enum hpw_mapping, enum hpw_mapping_flag */
};
DEFINE_VEC(mapping_row_vec, struct mapping_row)

/* What an owner in the map is: the number of a row, and what that row is. */
static inline uint32_t mapping_owner(uint64_t number, uint8_t what)
{
	return (uint32_t)number | (uint32_t)what << 24;
}
_Static_assert(HPW_MAPPINGS_MAX <= 1u << 24, "numbers have 24 bits");

static inline uint8_t mapping_owner_what(uint32_t owner)
{
	return (uint8_t)(owner >> 24);
}

static inline uint32_t mapping_owner_number(uint32_t owner)
{
	return owner & ((1u << 24) - 1);
}

/* Of each row, also of those that are written. */
struct mapping_info {
	uint32_t stack;
	uint8_t flags;
};
DEFINE_VEC(mapping_info_vec, struct mapping_info)

/* Rows that wait to be written; then they are. */
#define MAPPING_ROWS_KEPT 16384u

struct mappings {
	struct mapping_row_vec rows;   /* not yet written */
	uint64_t written;              /* rows so far, at most HPW_MAPPINGS_MAX */
	uint64_t lost;                 /* changes without a row */
	struct mapping_info_vec infos; /* by number of the row */
	struct interval_map live;      /* owner: mapping_owner() */
	struct buf kept;               /* all chunks written so far, for dumps; failed: not all */
	uint64_t mapped_bytes;         /* live now */
	uint64_t peak_bytes;
	uint64_t look_next_ns; /* when the process's mappings are to be looked at again */
};

void mappings_init(struct mappings *mappings);
void mappings_deinit(struct mappings *mappings);

/* Adds what a thread (MERGE_NO_THREAD: none) says that it has done. Returns false if it makes no
 * sense. */
bool mappings_add(
	struct mappings *mappings, uint32_t thread, const struct merge_mapping *mapping, bool own);

/* Keeps the payload of a chunk of rows: a dump contains them all, and the recording's own file may
 * be on its way to another place, or full. */
void mappings_keep(struct mappings *mappings, const struct buf *payload);

/* Reads the chunk that was kept at *at, and advances *at past it. Returns its bytes, NULL after the
 * last one; valid until the next mappings_keep(). */
const uint8_t *mappings_kept(const struct mappings *mappings, size_t *at, size_t *ret_bytes);

/* Notes that [start, end) was not mapped any more at a stamp. */
void mappings_gone(struct mappings *mappings, uint64_t start, uint64_t end, uint64_t stamp);

#endif
