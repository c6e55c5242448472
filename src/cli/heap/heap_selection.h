/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a line says beside its verb: which blocks and rows it wants, and how they are shown. */
#ifndef CLI_HEAP_WISHES_H
#define CLI_HEAP_WISHES_H

#include "cli/options/options.h"
#include "heap/block_filter.h"
#include "table/select.h"

enum heap_wish {
	HEAP_SELECTION_TYPE = 300,
	HEAP_SELECTION_SIZE,
	HEAP_SELECTION_USED,
	HEAP_SELECTION_FREE,
	HEAP_SELECTION_CACHED,
	HEAP_SELECTION_LEAKED,
	HEAP_SELECTION_LEAK,
	HEAP_SELECTION_REFERENCED_BY,
	HEAP_SELECTION_REFERENCES,
	HEAP_SELECTION_CONTAINING,
	HEAP_SELECTION_SORT,
	HEAP_SELECTION_WHERE,
	HEAP_SELECTION_COUNT,
	HEAP_SELECTION_LIST,
	HEAP_SELECTION_RAW,
	HEAP_SELECTION_ANYWHERE,
	HEAP_SELECTION_WIDTH,
	HEAP_SELECTION_TEXT,
	HEAP_SELECTION_IN,
	HEAP_SELECTION_END
};
#define HEAP_SELECTION_BIT(selected) (1u << ((selected)-HEAP_SELECTION_TYPE))
/* What verbs take: which blocks, of these also others than used ones, and which rows. */
#define HEAP_SELECTIONES_USED                                                                      \
	(HEAP_SELECTION_BIT(HEAP_SELECTION_TYPE) | HEAP_SELECTION_BIT(HEAP_SELECTION_SIZE) |       \
		HEAP_SELECTION_BIT(HEAP_SELECTION_LEAKED) |                                        \
		HEAP_SELECTION_BIT(HEAP_SELECTION_LEAK) |                                          \
		HEAP_SELECTION_BIT(HEAP_SELECTION_REFERENCED_BY) |                                 \
		HEAP_SELECTION_BIT(HEAP_SELECTION_REFERENCES))
#define HEAP_SELECTIONES_BLOCKS                                                                    \
	(HEAP_SELECTIONES_USED | HEAP_SELECTION_BIT(HEAP_SELECTION_USED) |                         \
		HEAP_SELECTION_BIT(HEAP_SELECTION_FREE) |                                          \
		HEAP_SELECTION_BIT(HEAP_SELECTION_CACHED) |                                        \
		HEAP_SELECTION_BIT(HEAP_SELECTION_CONTAINING))
#define HEAP_SELECTIONES_ROWS                                                                      \
	(HEAP_SELECTION_BIT(HEAP_SELECTION_SORT) | HEAP_SELECTION_BIT(HEAP_SELECTION_WHERE) |      \
		HEAP_SELECTION_BIT(HEAP_SELECTION_COUNT))

#define HEAP_SELECTION_SPECS                                                                       \
	{HEAP_SELECTION_TYPE, "type", "TYPE",                                                      \
		"blocks of a type, spelled as in source code; * matches any characters"},          \
		{HEAP_SELECTION_SIZE, "size", "RANGE",                                             \
			"blocks with this many usable bytes: 24, 1k.., ..64k, 1m..2m"},            \
		{HEAP_SELECTION_USED, "used", NULL, "blocks in use"},                              \
		{HEAP_SELECTION_FREE, "free", NULL, "free blocks"},                                \
		{HEAP_SELECTION_CACHED, "cached", NULL,                                            \
			"free blocks in a thread cache or a fast bin"},                            \
		{HEAP_SELECTION_LEAKED, "leaked", NULL,                                            \
			"leaked blocks: definite, indirect and possible"},                         \
		{HEAP_SELECTION_LEAK, "leak", "KIND[,KIND]",                                       \
			"blocks of these leak kinds: definite, indirect, possible, reachable"},    \
		{HEAP_SELECTION_REFERENCED_BY, "referenced-by", "ADDR",                            \
			"blocks that the block (or the word) at ADDR points to"},                  \
		{HEAP_SELECTION_REFERENCES, "references", "ADDR",                                  \
			"blocks that point to the block at ADDR"},                                 \
		{HEAP_SELECTION_CONTAINING, "containing", "ADDR", "the block that contains ADDR"}, \
		{HEAP_SELECTION_SORT, "sort", "COLUMN",                                            \
			"sort a table by a column; -COLUMN reverses the order"},                   \
		{HEAP_SELECTION_WHERE, "where", "CONDITION",                                       \
			"rows of a table: bytes>=1m, 'type=node*', state!=free, type~string (may " \
			"be repeated: all must match)"},                                           \
		{HEAP_SELECTION_COUNT, "count", NULL, "show only the number of matches"},          \
		{HEAP_SELECTION_LIST, "list", NULL, "of `follow`: list the blocks"},               \
		{HEAP_SELECTION_RAW, "raw", NULL,                                                  \
			"of `show`: show the raw members of containers"},                          \
		{HEAP_SELECTION_ANYWHERE, "anywhere", NULL, "of `find`: at any address"},          \
		{HEAP_SELECTION_WIDTH, "width", "BYTES",                                           \
			"of `find`: size of the value: 1, 2, 4 or 8 (default)"},                   \
		{HEAP_SELECTION_TEXT, "text", NULL,                                                \
			"of `find`: search for text, even if it is a number"},                     \
		{HEAP_SELECTION_IN, "in", "WHERE",                                                 \
			"of `find`: used (blocks in use), free (free blocks) or all (default)"},

struct heap_selection {
	unsigned given; /* HEAP_SELECTION_BIT() of each */
	const char *type, *size, *leak, *referenced_by, *references, *containing;
	struct table_asked rows;
	unsigned width; /* 0: not given */
	enum heap_wish_in { HEAP_IN_ALL, HEAP_IN_USED, HEAP_IN_FREE } in;
	struct heap_block_filter chosen; /* what heap_selection_choose() has made of it */
	unsigned kinds;                  /* of leaks */
};

void heap_selection_init(struct heap_selection *selection);
void heap_selection_deinit(struct heap_selection *selection);

static inline bool heap_selection_has(
	const struct heap_selection *selection, enum heap_wish selected)
{
	return selection->given & HEAP_SELECTION_BIT(selected);
}

/* Takes an option. False, after saying so: its value is wrong. *ret_known false: it is none of
 * these. */
bool heap_selection_take(
	struct heap_selection *selection, const struct options *options, int id, bool *ret_known);

/* The first of what was given that is none of `allowed`, as it is written without "--"; NULL: none.
 */
const char *heap_selection_beyond(const struct heap_selection *selection, unsigned allowed);
/* Adds "--type TYPE  …" of each that is allowed, a line each. */
void heap_selection_describe(unsigned allowed, struct text *text);

/* For completion: the n-th option, "--type", of those that are allowed or that every verb takes, in
 * `ret`; NULL: there are no more. */
const char *heap_selection_option(unsigned allowed, size_t n, char *ret, size_t room);
/* What the value of an option, "--leak", may be, ended by NULL; NULL: anything. */
const char *const *heap_selection_values(const char *option, size_t len);

/* Finds out what `chosen` is, in a heap that is judged. */
struct heap_look;
struct error *heap_selection_choose(struct heap_look *look) must_check_;

#endif
