/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folding: frames that say nothing of the program are a remark ("… 6 std frames") in a stack that
 * a person reads, or are taken out where figures are added up over stacks. Folded are
 *
 *   frames of the standard libraries of C++ and Rust, and of Go's runtime, anywhere;
 *   what calls main and the functions of threads, also where libc has no names for it;
 *   frames of Python's interpreter, in a stack with frames of Python that shows them;
 *   wrappers of allocators, where all frames inward of them are folded, too, unless the blocks were
 *   freed by the frame that allocated them: then it is no wrapper's doing.
 *
 * Of a stack with nothing else the outermost frames stay. Stacks themselves are as they were: what
 * compares or writes them sees all of their frames.
 */
#ifndef ANALYSIS_FOLDING_H
#define ANALYSIS_FOLDING_H

#include "analysis/filter.h"

struct folding {
	const struct shown_frame *const *frames;
	size_t depth;
	size_t wrappers;  /* innermost frames in which wrappers are folded */
	size_t outermost; /* from here on frames are of what calls main */
	size_t kept;      /* frames from here on stay, whatever they are */
	bool interpreter; /* its frames are folded, too: of folding_init_whole() */
};

/* Prepares the folding of a stack, innermost frame first; `own_doing` as of row_is_own_doing().
 * Borrows `frames`. */
void folding_init(struct folding *folding, const struct shown_frame *const *frames, size_t depth,
	bool own_doing);
/* As folding_init(), of a stack of a resolver that shows all frames. */
void folding_init_whole(struct folding *folding, const struct shown_frame *const *frames,
	size_t depth, bool own_doing);
void folding_of_row(struct folding *folding, const struct row *row);

/* Returns whether a frame is folded. */
bool folding_hides(const struct folding *folding, size_t frame);

/* Returns how many frames from one on are folded, up to the next that is not. */
size_t folding_run(const struct folding *folding, size_t frame);

/* Adds what stands for a run: "6 std frames", "2 allocator frames (xmalloc)"; not `counted`: for
 * runs of several stacks, which may differ, "std frames". */
void folding_add_words(
	const struct folding *folding, size_t frame, size_t count, bool counted, struct text *out);

/* Adds what is taken out of rows, as a sentence; nothing if nothing is. */
void folding_add_note(const struct rows *rows, struct text *notes);

enum folding_way {
	FOLDING_REMARKS,  /* stacks that read the same are one row, whose stack is that of the first
			   */
	FOLDING_TAKES_OUT /* rows have no folded frames any more */
};

/*
 * Fills an empty one with rows as people read them; `from` must outlive it. Where FOLDING_REMARKS
 * finds no two that are read alike, these are the rows of `from`, and there may be a million of
 * them: *ret_same is true, and none is filled in.
 */
struct error *folding_rows(const struct rows *from, enum folding_way way, struct filtered *ret,
	bool *ret_same) must_check_;

#endif
