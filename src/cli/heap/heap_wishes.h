/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a line says beside its verb: which blocks and rows it wants, and how they are shown. */
#ifndef CLI_HEAP_WISHES_H
#define CLI_HEAP_WISHES_H

#include "cli/options/options.h"
#include "heap/chosen.h"
#include "table/select.h"

enum heap_wish {
	HEAP_WISH_TYPE = 300,
	HEAP_WISH_SIZE,
	HEAP_WISH_USED,
	HEAP_WISH_FREE,
	HEAP_WISH_CACHED,
	HEAP_WISH_LEAKED,
	HEAP_WISH_LEAK,
	HEAP_WISH_REFERENCED_BY,
	HEAP_WISH_REFERENCES,
	HEAP_WISH_CONTAINING,
	HEAP_WISH_SORT,
	HEAP_WISH_WHERE,
	HEAP_WISH_COUNT,
	HEAP_WISH_LIST,
	HEAP_WISH_RAW,
	HEAP_WISH_ANYWHERE,
	HEAP_WISH_WIDTH,
	HEAP_WISH_TEXT,
	HEAP_WISH_IN,
	HEAP_WISH_END
};
#define HEAP_WISH_BIT(wish) (1u << ((wish)-HEAP_WISH_TYPE))
/* What verbs take: which blocks, of these also others than used ones, and which rows. */
#define HEAP_WISHES_USED                                                                           \
	(HEAP_WISH_BIT(HEAP_WISH_TYPE) | HEAP_WISH_BIT(HEAP_WISH_SIZE) |                           \
		HEAP_WISH_BIT(HEAP_WISH_LEAKED) | HEAP_WISH_BIT(HEAP_WISH_LEAK) |                  \
		HEAP_WISH_BIT(HEAP_WISH_REFERENCED_BY) | HEAP_WISH_BIT(HEAP_WISH_REFERENCES))
#define HEAP_WISHES_BLOCKS                                                                         \
	(HEAP_WISHES_USED | HEAP_WISH_BIT(HEAP_WISH_USED) | HEAP_WISH_BIT(HEAP_WISH_FREE) |        \
		HEAP_WISH_BIT(HEAP_WISH_CACHED) | HEAP_WISH_BIT(HEAP_WISH_CONTAINING))
#define HEAP_WISHES_ROWS                                                                           \
	(HEAP_WISH_BIT(HEAP_WISH_SORT) | HEAP_WISH_BIT(HEAP_WISH_WHERE) |                          \
		HEAP_WISH_BIT(HEAP_WISH_COUNT))

#define HEAP_WISH_SPECS                                                                            \
	{HEAP_WISH_TYPE, "type", "TYPE",                                                           \
		"blocks of a type, spelled as in source code; * matches any characters"},          \
		{HEAP_WISH_SIZE, "size", "RANGE",                                                  \
			"blocks with this many usable bytes: 24, 1k.., ..64k, 1m..2m"},            \
		{HEAP_WISH_USED, "used", NULL, "blocks in use"},                                   \
		{HEAP_WISH_FREE, "free", NULL, "free blocks"},                                     \
		{HEAP_WISH_CACHED, "cached", NULL, "free blocks in a thread cache or a fast bin"}, \
		{HEAP_WISH_LEAKED, "leaked", NULL,                                                 \
			"leaked blocks: definite, indirect and possible"},                         \
		{HEAP_WISH_LEAK, "leak", "KIND[,KIND]",                                            \
			"blocks of these leak kinds: definite, indirect, possible, reachable"},    \
		{HEAP_WISH_REFERENCED_BY, "referenced-by", "ADDR",                                 \
			"blocks that the block (or the word) at ADDR points to"},                  \
		{HEAP_WISH_REFERENCES, "references", "ADDR",                                       \
			"blocks that point to the block at ADDR"},                                 \
		{HEAP_WISH_CONTAINING, "containing", "ADDR", "the block that contains ADDR"},      \
		{HEAP_WISH_SORT, "sort", "COLUMN",                                                 \
			"sort a table by a column; -COLUMN reverses the order"},                   \
		{HEAP_WISH_WHERE, "where", "CONDITION",                                            \
			"rows of a table: bytes>=1m, 'type=node*', state!=free, type~string (may " \
			"be repeated: all must match)"},                                           \
		{HEAP_WISH_COUNT, "count", NULL, "show only the number of matches"},               \
		{HEAP_WISH_LIST, "list", NULL, "of `follow`: list the blocks"},                    \
		{HEAP_WISH_RAW, "raw", NULL, "of `show`: show the raw members of containers"},     \
		{HEAP_WISH_ANYWHERE, "anywhere", NULL, "of `find`: at any address"},               \
		{HEAP_WISH_WIDTH, "width", "BYTES",                                                \
			"of `find`: size of the value: 1, 2, 4 or 8 (default)"},                   \
		{HEAP_WISH_TEXT, "text", NULL,                                                     \
			"of `find`: search for text, even if it is a number"},                     \
		{HEAP_WISH_IN, "in", "WHERE",                                                      \
			"of `find`: used (blocks in use), free (free blocks) or all (default)"},

struct heap_wishes {
	unsigned given; /* HEAP_WISH_BIT() of each */
	const char *type, *size, *leak, *referenced_by, *references, *containing;
	struct table_asked rows;
	unsigned width; /* 0: not given */
	enum heap_wish_in { HEAP_IN_ALL, HEAP_IN_USED, HEAP_IN_FREE } in;
	struct heap_chosen chosen; /* what heap_wishes_choose() has made of it */
	unsigned kinds;            /* of leaks */
};

void heap_wishes_init(struct heap_wishes *wishes);
void heap_wishes_deinit(struct heap_wishes *wishes);

static inline bool heap_wishes_has(const struct heap_wishes *wishes, enum heap_wish wish)
{
	return wishes->given & HEAP_WISH_BIT(wish);
}

/* Takes an option. False, after saying so: its value is wrong. *ret_known false: it is none of
 * these. */
bool heap_wishes_take(
	struct heap_wishes *wishes, const struct options *options, int id, bool *ret_known);

/* The first of what was given that is none of `allowed`, as it is written without "--"; NULL: none.
 */
const char *heap_wishes_beyond(const struct heap_wishes *wishes, unsigned allowed);
/* Adds "--type TYPE  …" of each that is allowed, a line each. */
void heap_wishes_describe(unsigned allowed, struct text *text);

/* For completion: the n-th option, "--type", of those that are allowed or that every verb takes, in
 * `ret`; NULL: there are no more. */
const char *heap_wishes_option(unsigned allowed, size_t n, char *ret, size_t room);
/* What the value of an option, "--leak", may be, ended by NULL; NULL: anything. */
const char *const *heap_wishes_values(const char *option, size_t len);

/* Finds out what `chosen` is, in a heap that is judged. */
struct heap_look;
struct error *heap_wishes_choose(struct heap_look *look) must_check_;

#endif
