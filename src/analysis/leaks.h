/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was never freed, by kind: the records of a search for leaks as people read them. Records of
 * one kind whose stacks read the same are one row; rows that a suppression fits, and rows of what
 * the C and C++ libraries keep for themselves and would free if they were asked, are distinguished.
 * What is reachable or possible has its holders: leak_paths.h.
 *
 * A recording without a search has only rows of the class LEAK_CLASS_NEVER_FREED.
 */
#ifndef ANALYSIS_LEAKS_H
#define ANALYSIS_LEAKS_H

#include "analysis/evidence.h"
#include "analysis/leaks/leak_paths.h"
#include "analysis/leaks/suppress_stack.h"
#include "analysis/resolve.h"
#include "base/arena.h"
#include "base/text.h"
#include "base/vec.h"
#include "model/model.h"

/* The first four are those of enum leak_kind. */
enum leak_class {
	LEAK_CLASS_DEFINITE = LEAK_DEFINITE,
	LEAK_CLASS_INDIRECT = LEAK_INDIRECT,
	LEAK_CLASS_POSSIBLE = LEAK_POSSIBLE,
	LEAK_CLASS_REACHABLE = LEAK_REACHABLE,
	LEAK_CLASS_SUPPRESSED,
	LEAK_CLASS_LIBRARY,     /* kept by libc or libstdc++ for themselves */
	LEAK_CLASS_NEVER_FREED, /* no search */
	LEAK_CLASSES
};

/* Sets of kinds: bits 1 << enum leak_kind. */
#define LEAK_KINDS_ALL ((1u << LEAK_KINDS) - 1)

struct leaks_options {
	/* Of a stack this many frames count as Valgrind counts them: the allocation function is the
	 * first, inlined functions are none. 0: all. */
	unsigned frames;
	unsigned resolution; /* stacks that agree in this many frames are one row; 0: in all */
	bool by_address;     /* they agree if their addresses do, as in Valgrind; else as read */
	bool at_end;         /* the question is what was lost when the program had ended */
	bool separate_libraries;           /* else what these keep counts as what it is */
	struct suppressions *suppressions; /* NULL: none; what they were good for is counted in */
};

/* A place of allocation. */
struct leak_stack {
	const struct shown_frame *const *frames; /* innermost first, without those of allocators */
	size_t depth;
	const struct shown_frame *const *all; /* with these, as Valgrind shows it */
	size_t all_depth;
	enum alloc_kind kind;
	const struct shown_frame *place; /* the frame to blame, as in struct row; NULL: none */
	bool guessed;
	enum stack_mark cut;
	const char *library; /* all of its blocks are what that is; NULL: the program's */
};

/* This many blocks of a row are held along a path. */
struct leak_hold {
	uint32_t path; /* in leaks.paths */
	uint64_t blocks, bytes;
};

struct leak_row {
	uint32_t stack;
	enum leak_kind kind; /* what the search said; nothing of LEAK_CLASS_NEVER_FREED */
	enum leak_class class;
	uint64_t blocks, bytes;
	uint64_t indirect_blocks, indirect_bytes; /* of definite ones: lost with them */
	struct live_block example;                /* the largest; address 0: none is known */
	uint64_t example_ns;                      /* LEAK_NO_TIME */
	uint32_t suppression;                     /* SUPPRESS_NONE, or which one */
	const char *library;                      /* LEAK_CLASS_LIBRARY: what it is */
	size_t first_hold, hold_count;            /* in leaks.holds, largest first */
};

struct leak_sum {
	uint64_t rows, blocks, bytes;
};

DEFINE_VEC(leak_stack_vec, struct leak_stack)
DEFINE_VEC(leak_row_vec, struct leak_row)
DEFINE_VEC(leak_hold_vec, struct leak_hold)

struct leaks {
	const struct model *model;
	const struct leak_search *search; /* NULL: there was none, nor an attempt */
	bool searched;                    /* kinds are known */
	struct evidence evidence;         /* what their sums rest on */
	struct leak_stack_vec stacks;
	uint32_t *stack_of_site;  /* from 1, by site id; 0: nothing was asked of it */
	struct leak_row_vec rows; /* by class, then largest retained bytes first */
	struct leak_hold_vec holds;
	struct leak_paths paths;
	struct leak_sum sums[LEAK_CLASSES];
	struct arena arena; /* frame arrays */
};

void leaks_init(struct leaks *leaks);
void leaks_deinit(struct leaks *leaks);

/*
 * Fills empty ones; they stay valid as long as the resolver, which shows all frames and their
 * aliases.
 */
struct error *leaks_build(const struct model *model, struct resolver *resolver,
	const struct leaks_options *options, struct leaks *ret) must_check_;

/* Returns "definite", …, "suppressed", "library", "never_freed". */
const char *leak_class_name(enum leak_class class);

/* Returns what becomes free with the blocks of a row: these and those that are lost with them. */
static inline uint64_t leak_row_retained(const struct leak_row *row)
{
	return row->bytes + row->indirect_bytes;
}

/* Returns the number of rows of these kinds that are neither suppressed nor a library's. */
uint64_t leaks_count(const struct leaks *leaks, unsigned kinds);

/*
 * Replaces what is in `ret` by the stack of a row as suppressions see it, allocation function
 * first; it borrows from `leaks`.
 */
struct error *leaks_suppress_frames(const struct leaks *leaks, const struct leak_row *row,
	struct suppress_frame_vec *ret) must_check_;

/* Returns how many shown frames the first `count` physical ones are. */
size_t leak_frames_until(const struct shown_frame *const *frames, size_t depth, unsigned count);

/* Returns "while the program ran". */
const char *leak_moment_words(enum leak_moment moment);

/* Returns why there is no copy, "Cannot allocate memory"; NULL if none was wanted, or it was
 * searched. */
const char *leak_uncopied_words(const struct leak_search *search);

/* Adds the verdict as sentences, each with a newline, the most important first. */
void leaks_verdict(const struct leaks *leaks, struct text *ret);
/* Returns whether some blocks' holders are known less precisely: what holds a block may be near the
 * one that is named, or is not named. */
bool leak_ways_are_partial(const struct model *model);
/* Adds when and how the search was made, and what limits it, as sentences, each with a newline. */
void leaks_circumstances(const struct leaks *leaks, struct text *ret);

#endif
