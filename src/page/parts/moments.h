/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What rows of stacks had live at moments all along a recording: what a range is chosen from in a
 * page. Kept as one sparse table for each moment; written as columns of changes, since most rows
 * are at a moment what they were at the one before.
 */
#ifndef PAGE_MOMENTS_H
#define PAGE_MOMENTS_H

#include "analysis/profile.h"
#include "base/error.h"
#include "base/vec.h"
#include "page/page.h"
#include "page/parts/columns.h"

/* Bits of moment.flags. */
enum page_moment_flag {
	PAGE_MOMENT_PEAK = 1, /* the recording's peak */
	PAGE_MOMENT_END = 2,  /* what rows have at the end */
};

struct page_cell {
	uint32_t row; /* of the profile's rows */
	uint64_t bytes, blocks;
};
DEFINE_VEC(page_cells, struct page_cell)

struct page_moment {
	uint64_t time_ns;
	uint8_t flags;       /* of enum page_moment_flag */
	uint32_t mark;       /* that it is at: its number, from 1; 0: none */
	size_t first, count; /* of the cells; several may be of one row */
};
DEFINE_VEC(page_moment_vec, struct page_moment)

struct page_moments {
	struct page_moment_vec moments; /* in order of time */
	struct page_cells cells;
	uint64_t *most;      /* bytes, by row: at its highest moment */
	const char *problem; /* why there are none, static; NULL: there are */
	bool has_blocks;     /* blocks are known */
	size_t rows;         /* of the profile */
};

void page_moments_init(struct page_moments *moments);
void page_moments_deinit(struct page_moments *moments);

/*
 * Fills empty ones with what wanted->over_time (NULL: nothing), a model of the same file as the
 * profile's with a series, and wanted->marks know of moments. Not an error: there are none, see
 * `problem`.
 */
struct error *page_moments_build(
	const struct page_wanted *wanted, struct page_moments *ret) must_check_;

/* Returns how many of them are left if only every `step`-th is kept, and the peak, the last and
 * marks. */
size_t page_moments_left(const struct page_moments *moments, size_t step);

/*
 * Adds the columns of these to `columns`. number_of[row]: the number of the page's row that a row
 * of the profile is in, or ROWS_NONE; there are `count` numbers. NULL: each is its own. False: no
 * memory.
 */
bool page_moments_put(const struct page_moments *moments, size_t step, const uint32_t *number_of,
	size_t count, struct page_columns *columns);

#endif
