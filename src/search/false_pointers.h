/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * False pointers: words that point into blocks by chance more often than on purpose. A word that
 * points into the middle of a block and is no multiple of 8 may be a pointer to a character. It may
 * also be a hash, the end of an array of characters, or a pointer of which a byte was overwritten.
 * Words of text are never pointers, except for stale ones. If something else holds the block
 * anyway, such a word is a *false pointer*: it is no holder of the block. In a search for leaks it
 * still counts, as memcheck's "possibly lost" requires.
 *
 * Something else holds a block if a path leads to it from a root without such words. So no block
 * becomes unreachable because false pointers are left out, and the result does not depend on the
 * order in which words are examined.
 */
#ifndef SEARCH_FALSE_POINTERS_H
#define SEARCH_FALSE_POINTERS_H

#include "search/search.h"

/* What is known of a word. */
enum word_evidence {
	WORD_UNKNOWN,
	WORD_POINTER, /* a pointer is declared there: the word counts */
	WORD_OTHER,   /* something else is declared there */
	WORD_STALE,   /* stale, or the link of a list of all objects: it holds nothing,
		       * not even if it points to a start */
};

/* How a block's pointers to starts of other blocks count. */
enum start_pointers {
	START_POINTERS_COUNT, /* all are pointers */
	START_POINTERS_ASK,   /* in_block() says of each whether it is stale */
	START_POINTERS_STALE, /* the block is text: they are stale, and its interior pointers too */
};

struct graph_root;
/* How the caller says what it knows of words. */
struct false_pointer_rule {
	void *context; /* passed to each function */
	/* Returns whether anything is known of a block's words; only then in_block() is called. */
	bool (*knows)(void *context, uint32_t block);
	enum word_evidence (*in_block)(void *context, uint32_t block, uint64_t offset);
	enum word_evidence (*in_root)(void *context, const struct graph_root *word);
	/* Returns whether a root's word holds nothing, whatever is declared there: it is stale, or
	 * the head of a list of all objects. NULL: none is. */
	bool (*is_stale)(void *context, const struct graph_root *word);
	/* NULL: START_POINTERS_COUNT for all blocks. */
	enum start_pointers (*starts)(void *context, uint32_t block);
	bool has_tags; /* pointers may have tags in their last three bits, whatever is declared */
};

/*
 * Finds the false pointers, for graph_is_false_pointer() and graph_root.is_false_pointer. Called
 * once, after search_read() and all calls of search_ignore_tail(). If `few` is not NULL, only
 * pointers to these blocks are examined; the list is ascending and contains every block that points
 * to one of them. A pointer into a block's first 8 bytes counts unless something else is declared
 * where it is, since a tagged pointer to the start looks like that.
 */
struct error *search_find_false_pointers(struct search *search,
	const struct false_pointer_rule *rule, const struct space_u32 *few) must_check_;

#endif
