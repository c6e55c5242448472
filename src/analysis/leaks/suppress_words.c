/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See suppress_words.h. */
#include "analysis/leaks/suppress_words.h"

#include "base/util.h"

/* One of a list's words, up to its comma, which is taken off the list too. */
static struct slice suppress_words_take_word(struct slice *list)
{
	const char *comma = memchr(list->data, ',', list->len);
	struct slice word = {list->data, comma ? (size_t)(comma - list->data) : list->len};
	size_t taken = comma ? word.len + 1 : word.len;
	list->data += taken;
	list->len -= taken;
	return word;
}

static bool kind_of_word(struct slice word, unsigned *kinds)
{
	for (unsigned kind = 0; kind < SUPPRESS_KINDS; kind++)
		if (is_text(word, suppress_kind_name((enum suppress_kind)kind))) {
			*kinds |= 1u << kind;
			return true;
		}
	return false;
}

struct error *suppress_parse_kinds(const struct parser *parser, struct slice list, unsigned *ret)
{
	list = suppress_trim(list.data, list.data + list.len);
	unsigned kinds = 0;
	if (is_text(list, "all")) {
		kinds = SUPPRESS_KINDS_ALL;
	} else if (!is_text(list, "none")) {
		if (list.len == 0)
			return malformed(parser, "no leak kind after 'match-leak-kinds:'; expected "
						 "definite,indirect,possible,reachable, some of "
						 "them, all or none");
		while (list.len) {
			struct slice word = suppress_words_take_word(&list);
			if (!kind_of_word(word, &kinds))
				return malformed(parser,
					"invalid leak kind '%s'; expected definite, indirect, "
					"possible and reachable, separated by commas without "
					"spaces, or all or none",
					suppress_quote(word).text);
		}
	}
	*ret = kinds;
	return NULL;
}

/* Kinds of errors that Memcheck has had, until Valgrind 3.23. */
static const struct memcheck_kind memcheck_kinds[] = {
	{MEMCHECK_LEAK, false},
	{"Addr1", false},
	{"Addr2", false},
	{"Addr4", false},
	{"Addr8", false},
	{"Addr16", false},
	{"Addr32", false},
	{"AlignMismatch", false},
	{"BadAlign", false},
	{"BadSize", false},
	{"Cond", false},
	{"CoreMem", false},
	{"FishyValue", true},
	{"Free", false},
	{"Jump", false},
	{"Mempool", false},
	{"Overlap", false},
	{"Param", true},
	{"ReallocZero", false},
	{"SizeMismatch", false},
	{"UnsafeZeroSize", false},
	{"User", false},
	{"Value0", false},
	{"Value1", false},
	{"Value2", false},
	{"Value4", false},
	{"Value8", false},
	{"Value16", false},
	{"Value32", false},
};

static const struct memcheck_kind *find_memcheck_kind(struct slice name)
{
	for (size_t i = 0; i < ARRAY_SIZE(memcheck_kinds); i++)
		if (is_text(name, memcheck_kinds[i].name))
			return &memcheck_kinds[i];
	return NULL;
}

static bool names_memcheck(struct slice tools)
{
	while (tools.len)
		if (is_text(suppress_words_take_word(&tools), "Memcheck"))
			return true;
	return false;
}

struct error *suppress_parse_tools(
	const struct parser *parser, const struct memcheck_kind **ret_kind)
{
	struct slice line = parser->line;
	const char *colon = memchr(line.data, ':', line.len);
	*ret_kind = NULL;
	if (!colon)
		return malformed(parser,
			"invalid suppression kind '%s'; expected TOOL:KIND, such as Memcheck:Leak",
			suppress_quote(line).text);
	struct slice tools = {line.data, (size_t)(colon - line.data)};
	struct slice kind = {colon + 1, line.len - tools.len - 1};
	if (!names_memcheck(tools))
		return NULL;
	*ret_kind = find_memcheck_kind(kind);
	if (*ret_kind)
		return NULL;
	return malformed(parser,
		"unknown Memcheck error kind '%s'; for a leak write Memcheck:Leak, without spaces",
		suppress_quote(kind).text);
}
