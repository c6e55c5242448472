/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows: sites as people read them. Sites whose stacks read the same (equal functions, files and
 * lines, innermost to outermost) and that have the same kind are one row; counters add up.
 */
#ifndef ANALYSIS_ROWS_H
#define ANALYSIS_ROWS_H

#include "analysis/metric.h"
#include "analysis/resolve.h"
#include "base/arena.h"
#include "base/text.h"
#include "base/vec.h"

struct row {
	const struct shown_frame *const *frames; /* innermost first */
	/*
	 * Figures; of its stack: the smallest of those merged; min and max over all. A row of one
	 * site has those of the model, others have their own: row_add(). Never NULL.
	 */
	const struct site *sums;
	const struct site *base; /* of the base of a comparison; row_no_site: none. Never NULL */
	/*
	 * The frame to blame: the innermost of the program's own code that is no wrapper (unless
	 * the wrapper freed the blocks itself), else the innermost that is code, known, and not
	 * folded (folding.h); NULL if there is none.
	 */
	const struct shown_frame *place;
	/* Blocks that a library keeps for itself: which, as "stdio-buffer"; NULL: the program's. */
	const char *library;
	uint32_t depth;
	uint32_t stacks;         /* recorded sites in this row */
	enum stack_mark cut : 8; /* why the stack is not whole; MARK_NONE if it is */
	uint8_t leak_kinds; /* that a search found live blocks to be: bits 1 << enum leak_kind */
	bool owns_sums, owns_base;
	bool beyond_library; /* it would be one's, but has more of it than one keeps */
	bool varies;         /* folding_rows(): of the other stacks other frames are folded */
	bool partial;        /* frames are only the innermost part that all of them share */
	/*
	 * Every block had the same size, at most FITS_ON_STACK_BYTES, and was freed by the frame
	 * that allocated it: a local variable would do.
	 */
	bool fits_on_stack;
	bool guessed;  /* some frames were found by frame pointers alone */
	bool unmarked; /* no frame is a mark; false also where that is not known */
};

/* Figures of nothing: all 0. */
extern const struct site row_no_site;

#define FITS_ON_STACK_BYTES 1024u

DEFINE_VEC(row_vec, struct row)
DEFINE_VEC(row_list, const struct row *)

struct rows {
	struct row_vec rows;
	struct arena arena;    /* frame arrays */
	struct text remarks;   /* sentences on what makes several places one, each with a newline */
	uint32_t *row_of_site; /* as rows_of_sites() gives them; NULL: to be looked up */
};

void rows_init(struct rows *rows);
void rows_deinit(struct rows *rows);

/* Fills empty rows with all sites of the model that have counts; stays valid as long as the
 * resolver. Of several recordings that were added up, rows are one as match.h says. */
struct error *rows_build(const struct model *model, struct resolver *resolver, struct rows *ret);

/* As `sums`, for the blocks that the process was forked with. */
struct error *rows_build_inherited(
	const struct model *model, struct resolver *resolver, struct rows *ret);

#define ROWS_NONE UINT32_MAX
/* Sets ret[site id] to the number of the row that each site of the model is in, or ROWS_NONE; the
 * caller frees it. The rows are those of rows_build(). */
struct error *rows_of_sites(const struct model *model, struct resolver *resolver,
	const struct rows *rows, uint32_t **ret) must_check_;

/*
 * Fills the empty list with the rows that have any `filter` (all rows if it is METRICS), largest
 * `sort` first, equals by stack and kind.
 */
struct error *rows_select(
	const struct rows *rows, enum metric filter, enum metric sort, struct row_list *ret);

/* Leaves rows of what libraries keep for themselves alone, or all others. */
void row_list_leave(struct row_list *list, bool libraries);

/* Returns the figure of a row, minus that of its base. */
int64_t row_value(const struct row *row, enum metric metric);

/* Adds one site's counters to others. */
void site_add(struct site *sums, const struct site *more);

/* Returns a row without frames and figures, to be added to. */
static inline struct row row_empty(void)
{
	return (struct row){.sums = &row_no_site, .base = &row_no_site};
}

/* Returns a copy that can be added to without changing the original, which must outlive it. */
struct row row_copy(const struct row *row);
/* Give a row figures of its own, which the caller may change; they are as long-lived as the arena.
 * NULL: no memory. */
struct site *row_own_sums(struct row *row, struct arena *arena);
struct site *row_own_base(struct row *row, struct arena *arena);
/* Adds another row's figures, and its number of stacks. Figures that the row gets of its own are
 * as long-lived as the arena. */
bool row_add(struct row *row, const struct row *more, struct arena *arena) must_check_;

/* Sets what follows from the sums and frames: place, fits_on_stack, guessed, cut. */
void row_conclude(struct row *row);

/* Returns whether a row has some of the metric. Files that know bytes and no blocks have 0 of
 * these. */
bool row_has_some(const struct row *row, enum metric metric);

/* Returns whether there were blocks, and all were freed by the very frame that allocated them. */
bool row_is_own_doing(const struct row *row);
/*
 * Returns how many frames reach up to the n-th frame that counts for a row: of the program's own
 * code, and no wrapper unless the row is its own doing. All of them if it has fewer.
 */
size_t row_depth_of(const struct row *row, unsigned n);

/* The first `depth` frames of a stack and a kind, as a key that compares by what is read. */
struct row_key {
	const struct shown_frame *const *frames;
	size_t depth;
	enum alloc_kind kind;
};
uint64_t row_key_hash(struct row_key key);
bool row_key_equal(struct row_key a, struct row_key b);

#endif
