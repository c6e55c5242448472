/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wildcards against a matcher that is too simple to be wrong, over all short patterns and names. */
#include "analysis/stacks/glob.h"
#include "lib/tap.h"

static bool simple(const char *pattern, const char *name, bool question)
{
	if (!*pattern)
		return !*name;
	if (*pattern == '*')
		return simple(pattern + 1, name, question) ||
		       (*name && simple(pattern, name + 1, question));
	return *name && (*pattern == *name || (question && *pattern == '?')) &&
	       simple(pattern + 1, name + 1, question);
}

/* The number'th string over an alphabet, shortest first. */
static void spell(char *to, unsigned number, const char *alphabet)
{
	unsigned letters = (unsigned)strlen(alphabet);
	for (; number; number = (number - 1) / letters)
		*to++ = alphabet[(number - 1) % letters];
	*to = '\0';
}

static void check(const char *pattern, const char *name, bool question)
{
	size_t pattern_len = strlen(pattern), name_len = strlen(name);
	bool expected = simple(pattern, name, question);
	if (glob_match(pattern, pattern_len, name, name_len, question) != expected)
		tap_fail("'%s' %s '%s'", pattern, expected ? "does not fit" : "fits", name);
	struct glob_pairs part = glob_pairs_of_pattern(pattern, pattern_len, question);
	struct glob_pairs whole = glob_pairs_of_name(name, name_len);
	if (expected && !glob_pairs_within(&part, &whole))
		tap_fail("the pairs of '%s' refuse '%s'", pattern, name);
}

CASE(all_short, "every pattern of up to 5 bytes agrees with the simplest matcher on every name")
{
	char pattern[16], name[16];
	for (unsigned p = 0; p < 1365; p++)
		for (unsigned n = 0; n < 127; n++) {
			spell(pattern, p, "ab*?");
			spell(name, n, "ab");
			check(pattern, name, true);
			check(pattern, name, false);
		}
	CHECK(glob_match("a?c", 3, "a?c", 3, false));
	CHECK(!glob_match("a?c", 3, "abc", 3, false));
}

CASE(no_explosion, "many stars against a name that nearly fits end at once")
{
	static char pattern[2001], name[20001];
	for (size_t i = 0; i + 1 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 2);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 2] = 'b';
	/* Backtracking to each star would take longer than the world lasts. */
	CHECK(!glob_match(pattern, 2000, name, 20000, true));
	name[sizeof(name) - 2] = 'a';
	CHECK(glob_match(pattern, 2000, name, 20000, true));
}

CASE(pairs_refuse, "pairs refuse names that lack a part of the pattern")
{
	struct glob_pairs part = glob_pairs_of_pattern("*hash_table*", 12, true);
	struct glob_pairs other = glob_pairs_of_name("xml_parse_document", 18);
	CHECK(!glob_pairs_within(&part, &other));
	other = glob_pairs_of_name("my_hash_table_add", 17);
	CHECK(glob_pairs_within(&part, &other));
}

TAP_MAIN
