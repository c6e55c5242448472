/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies in a heap: all blocks in use, by classes of what looks alike, what points where, and
 * which of them nothing holds any more. What other questions are asked of begins here.
 */
#ifndef HEAP_SURVEY_H
#define HEAP_SURVEY_H

#include <assert.h>

#include "base/vec.h"
#include "heap/heap.h"
#include "heap/layouts.h"
#include "heap/survey/interior.h"
#include "heap/survey/names.h"
#include "heap/survey/roots.h"
#include "heap/survey/shapes.h"
#include "heap/survey/stack_places.h"
#include "heap/types/pools.h"
#include "heap/types/types.h"
#include "search/search.h"
#include "search/space.h"

struct survey_totals {
	uint64_t blocks[BLOCK_STATES], bytes[BLOCK_STATES];
};

/* What is known of where blocks were allocated, which somebody else numbers. */
struct survey_site {
	uint32_t type;
	uint32_t place; /* SURVEY_NO_PLACE: not known */
};
DEFINE_VEC(survey_sites, struct survey_site)
#define SURVEY_NO_PLACE UINT32_MAX

/* Bit sets of blocks whose type is a guess, by resemblance to blocks whose type is declared; NULL:
 * no block's is. */
struct survey_alike {
	uint64_t *looks;   /* nothing but the resemblance */
	uint64_t *settled; /* all that refers to such blocks agrees with the guess */
};

/* How much was asked for of a block, where somebody knows that. False: not of this one. */
struct survey_requested_size {
	bool (*of)(void *context, uint64_t address, uint64_t size, uint64_t *ret); /* or NULL */
	void *context;
};

/* stale_words.h */
struct stale_words {
	uint64_t *masks;  /* of each type: bit i: word i of its blocks may be left over; NULL: of
			   * none */
	uint64_t *blocks; /* bit set: such a word of theirs looks like a pointer */
};

/* How far a survey has come; each function says which phase it needs and begins the next. What the
 * search calls a block's site is another number in each. */
enum survey_phase {
	SURVEY_READ,   /* survey_open(): a struct block_label (types.h), its class at first */
	SURVEY_TYPED,  /* survey_type(): the number of a type */
	SURVEY_PLACED, /* survey_place(): an index of `sites` */
	SURVEY_JUDGED, /* survey_judge(): as before it; leaks are known */
};

struct survey {
	enum survey_phase phase;
	enum pointer_rule pointers;
	unsigned heuristics;      /* by which interior pointers hold: enum search_heuristic */
	struct interior interior; /* for them */
	struct survey_requested_size asked; /* set before survey_judge() */
	struct heap heap;
	struct heap_names *names; /* borrowed */
	struct survey_totals totals;
	struct heap_shapes classes; /* of blocks in use */
	struct heap_types types;
	struct heap_layouts layouts;
	struct pools pools;
	bool no_inference; /* set before survey_type(): debug information is not read for it */
	struct survey_alike alike;
	struct thread_blocks thread_blocks;
	struct heap_root_vec roots;
	struct stack_places *stacks;
	struct search *search; /* sites of its blocks: by `phase` */
	struct survey_sites sites;
	struct stale_words left;
	unsigned reached;            /* bit set of enum survey_limit */
	struct space_u32 cut;        /* blocks that end where their types do (tails.h); ascending */
	struct search_memory memory; /* for it */
};

/* Reads everything once; nothing is named or judged yet. Both must outlive the survey, which stays
 * where it is. heuristics: enum search_heuristic; with POINTERS_START none is used. */
struct error *survey_open(const struct address_space *space, struct heap_names *names,
	enum pointer_rule pointers, unsigned heuristics, struct survey *ret) must_check_;
void survey_close(struct survey *survey);

/* Says of all blocks what they are. Once, before survey_judge(). */
struct error *survey_type(struct survey *survey) must_check_;

/* The same, but if it is certain without all others what a few blocks are, only these are typed
 * (inferred_subset.h). For who asks for nothing else. */
struct inferred_subset;
struct error *survey_type_subset(struct survey *survey, struct inferred_subset *subset) must_check_;

/*
 * Says of all blocks where they were allocated, asked in their order: SURVEY_NO_PLACE if that is
 * not known. Blocks of one type that come from several places are told apart from then on. Once,
 * after survey_type() and before survey_judge().
 */
struct error *survey_place(struct survey *survey,
	uint32_t (*place_of)(
		void *context, uint64_t address, uint64_t size, uint64_t *ret_requested),
	void *context) must_check_;

/* The type of blocks of a site of the search's; from SURVEY_TYPED on. */
static inline uint32_t survey_site_type(const struct survey *survey, uint32_t site)
{
	assert(survey->phase >= SURVEY_TYPED);
	return survey->sites.len ? survey->sites.data[site].type : site;
}
static inline uint32_t survey_type_of(const struct survey *survey, uint32_t block)
{
	return survey_site_type(survey, search_block_site(survey->search, block));
}

/* Sorts the blocks into kinds of leaks: search_records() and the like tell. Once. */
struct error *survey_judge(struct survey *survey) must_check_;

#endif
