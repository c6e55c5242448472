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

static bool kind_of_word(struct slice word, uint64_t *kinds)
{
	for (unsigned kind = 0; kind < SUPPRESS_KINDS; kind++)
		if (is_text(word, suppress_kind_name((enum suppress_kind)kind))) {
			*kinds |= SUPPRESS_BIT(kind);
			return true;
		}
	return false;
}

struct error *suppress_parse_kinds(const struct parser *parser, struct slice list, uint64_t *ret)
{
	list = suppress_trim(list.data, list.data + list.len);
	uint64_t kinds = 0;
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

/* Kinds of errors that Memcheck has had, until Valgrind 3.23; those of one kind: the first is the
 * one that is written. */
static const struct memcheck_kind memcheck_kinds[] = {
	{MEMCHECK_LEAK, SUPPRESS_ALL_KINDS, false},
	{"Addr1", SUPPRESS_ADDR1, false},
	{"Addr2", SUPPRESS_ADDR2, false},
	{"Addr4", SUPPRESS_ADDR4, false},
	{"Addr8", SUPPRESS_ADDR8, false},
	{"Addr16", SUPPRESS_ADDR16, false},
	{"Addr32", SUPPRESS_ADDR32, false},
	{"AlignMismatch", SUPPRESS_ALIGN_MISMATCH, false},
	{"BadAlign", SUPPRESS_BAD_ALIGN, false},
	{"BadSize", SUPPRESS_BAD_SIZE, false},
	{"Cond", SUPPRESS_COND, false},
	{"CoreMem", SUPPRESS_CORE_MEM, false},
	{"FishyValue", SUPPRESS_FISHY_VALUE, true},
	{"Free", SUPPRESS_FREE, false},
	{"Jump", SUPPRESS_JUMP, false},
	{"Mempool", SUPPRESS_MEMPOOL, false},
	{"Overlap", SUPPRESS_OVERLAP, false},
	{"Param", SUPPRESS_PARAM, true},
	{"ReallocZero", SUPPRESS_REALLOC_ZERO, false},
	{"SizeMismatch", SUPPRESS_SIZE_MISMATCH, false},
	{"UnsafeZeroSize", SUPPRESS_UNSAFE_ZERO_SIZE, false},
	{"User", SUPPRESS_USER, false},
	{"Value0", SUPPRESS_COND, false},
	{"Value1", SUPPRESS_VALUE1, false},
	{"Value2", SUPPRESS_VALUE2, false},
	{"Value4", SUPPRESS_VALUE4, false},
	{"Value8", SUPPRESS_VALUE8, false},
	{"Value16", SUPPRESS_VALUE16, false},
	{"Value32", SUPPRESS_VALUE32, false},
};

const char *suppress_error_kind_name(enum suppress_error_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(memcheck_kinds); i++)
		if (memcheck_kinds[i].kind == (unsigned)kind)
			return memcheck_kinds[i].name;
	return NULL;
}

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
