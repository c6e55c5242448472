/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of stacks as columns: frames, a tree of nodes, and rows with their figures. */
#ifndef PAGE_STACKS_H
#define PAGE_STACKS_H

#include "analysis/profile.h"
#include "base/error.h"
#include "page/parts/columns.h"
#include "page/parts/moments.h"
#include "page/parts/strings.h"

/* Bits of frame.flags. */
enum page_frame_flag {
	PAGE_FRAME_INLINED = 1,
	PAGE_FRAME_UNKNOWN = 2, /* its name was made from an address, or is a word for unknown code
				 */
	PAGE_FRAME_RUNTIME = 4, /* of libc, the C++ library or another language's runtime */
	PAGE_FRAME_REMARK = 8,  /* no code: says why a stack is not whole, or sums up others */
};

/* Rows by their importance: the largest share that they have of any metric, of what is lost, or of
 * the highest of moments. */
struct page_ranks {
	uint32_t *rows; /* numbers of rows, the most important first */
	size_t count;
};

/* Ranks rows that have some of a metric or at a moment; equals as they are. `ret` is all 0 before.
 */
struct error *page_ranks_build(const struct profile *profile, const struct page_moments *moments,
	struct page_ranks *ret) must_check_;
void page_ranks_deinit(struct page_ranks *ranks);

struct page_stacks {
	struct page_strings strings;
	struct page_columns columns;
	size_t summed_up;        /* rows that are one now, "(12 smaller stacks)" */
	size_t owners_summed_up; /* nodes of the tree of owners that are others' now (tree.h) */
	/* By number of the profile's row: of the row that it is in, or ROWS_NONE. */
	uint32_t *row_numbers;
	size_t row_count;
};

/* Returns the model because of which the stacks have no columns of the metric: it does not know it,
 * be it what is shown or what that is compared with. NULL: there are columns. */
const struct model *page_stacks_ignorant(const struct profile *profile, enum metric metric);

void page_stacks_init(struct page_stacks *stacks);
void page_stacks_deinit(struct page_stacks *stacks);

/* Fills empty ones with the first `count` rows of `ranks`, in the profile's order, and one for the
 * sum of the others if there are some. */
struct error *page_stacks_build(const struct profile *profile, const struct page_ranks *ranks,
	size_t count, struct page_stacks *ret) must_check_;

#endif
