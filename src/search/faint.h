/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words that lead into blocks by chance more often than on purpose. What leads into the middle of a
 * block, and is no multiple of 8, may be a pointer to a character; or what is left of a pointer
 * below a byte that was written over it, the end of an array of characters, a hash. What text has
 * in it never is a pointer, but for what was there before. Where something else holds the block
 * anyway such a word is *faint*: it is none of its holders. Of leaks it counts like any other: what
 * memcheck calls possibly lost is.
 *
 * Something else holds a block if there is a way to it from a root without such words. So none is
 * lost for want of faint ones, and whether one is does not depend on the order in which they are
 * looked at.
 */
#ifndef SEARCH_FAINT_H
#define SEARCH_FAINT_H

#include "search/search.h"

enum faint_word {
	FAINT_UNKNOWN,
	FAINT_POINTER, /* one is declared there: it counts */
	FAINT_OTHER,   /* something else is declared there */
	FAINT_LEFT,    /* what was there before, or a list of everything: it holds nothing, by its
			* start neither */
};

/* Of a block's pointers to starts. */
enum faint_starts {
	FAINT_STARTS_COUNT,
	FAINT_STARTS_ASKED, /* of each in_block() says whether it was left */
	FAINT_STARTS_NONE,  /* the block is text: all were, and so were other pointers */
};

struct graph_root;
/* What is known of words. */
struct faint_rule {
	void *context;
	/* Whether anything is known of a block's words; then of each that is asked about. */
	bool (*knows)(void *context, uint32_t block);
	enum faint_word (*in_block)(void *context, uint32_t block, uint64_t offset);
	enum faint_word (*in_root)(void *context, const struct graph_root *word);
	/* Whether a root's word holds nothing, whatever is declared there: it is left from before,
	 * or the head of a list of everything; NULL: none is. */
	bool (*is_left)(void *context, const struct graph_root *word);
	/* NULL: they count in all blocks. */
	enum faint_starts (*starts)(void *context, uint32_t block);
	bool has_tags; /* in its last three bits a pointer may have marks, whatever is declared */
};

/*
 * Once, after search_read(), search_cut() and the like: lets graph_is_faint() and
 * graph_root.is_faint tell faint words. few: of these blocks alone, ascending, with all from which
 * pointers lead to them; NULL: of all. A pointer to a block's first word counts unless something
 * else is declared where it stands: marks in a pointer to the start look so.
 */
struct error *search_find_faint(struct search *search, const struct faint_rule *rule,
	const struct space_u32 *few) must_check_;

#endif
