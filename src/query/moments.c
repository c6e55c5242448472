/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/moments.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

static const struct unit {
	const char *name;
	double ns;
} units[] = {
	{"", 1e9},
	{"s", 1e9},
	{"ms", 1e6},
	{"us", 1e3},
	{"ns", 1},
	{"min", 60e9},
	{"h", 3600e9},
};

/* Longer than any recording. */
#define TIME_NS_MAX 1e18

bool duration_parse(const char *text, uint64_t *ret_ns)
{
	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	char *end;
	errno = 0;
	double number = strtod(text, &end);
	if (errno || !isfinite(number) || strpbrk(text, "xXpP"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(end, units[i].name) == 0 && number * units[i].ns <= TIME_NS_MAX) {
			*ret_ns = (uint64_t)(number * units[i].ns + 0.5);
			return true;
		}
	return false;
}

static bool parse_time(const char *text, struct source_moment *ret)
{
	*ret = (struct source_moment){.kind = SOURCE_TIME};
	return duration_parse(text, &ret->time_ns);
}

/* "NAME" or "NAME#2". */
static bool parse_mark(const char *text, struct source_moment *ret, char **storage)
{
	*storage = strdup(text);
	if (!*storage || !text[0])
		return false;
	*ret = (struct source_moment){.kind = SOURCE_MARK, .mark = *storage, .nth = 1};
	char *hash = strrchr(*storage, '#');
	if (!hash || hash == *storage || !isdigit((unsigned char)hash[1]))
		return true;
	char *end;
	errno = 0;
	unsigned long long nth = strtoull(hash + 1, &end, 10);
	if (*end || errno || !nth)
		return true; /* a part of the name */
	*hash = '\0';
	ret->nth = nth;
	return true;
}

bool moment_parse(const char *text, struct source_moment *ret, char **storage)
{
	static const struct {
		const char *name;
		enum source_moment_kind kind;
	} words[] = {{"start", SOURCE_START}, {"end", SOURCE_END}, {"peak", SOURCE_PEAK}};
	static const char mark[] = "mark:";
	*storage = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(text, words[i].name) == 0) {
			*ret = (struct source_moment){.kind = words[i].kind};
			return true;
		}
	if (strncmp(text, mark, strlen(mark)) == 0)
		return parse_mark(text + strlen(mark), ret, storage);
	return parse_time(text, ret);
}

const char *moment_after(const char *argument)
{
	const char *at = strrchr(argument, '@');
	if (!at || at == argument || access(argument, F_OK) == 0)
		return NULL;
	return at + 1;
}

void moments_deinit(struct moments *moments)
{
	free(moments->storage[0]);
	free(moments->storage[1]);
	*moments = (struct moments){0};
}

struct error *moments_set(struct moments *moments, const char *text, bool from)
{
	struct source_query *query = &moments->query;
	if (!moments->given)
		query->to.kind = SOURCE_END;
	moments->given = true;
	const char **given = from ? &query->from_text : &query->to_text;
	if (*given && strcmp(*given, text) != 0)
		return error_create(ERROR_USAGE, "%s: '%s' and '%s'",
			from ? "--from is given twice"
			     : "--at, --to and FILE@MOMENT set the same moment",
			*given, text);
	char **storage = &moments->storage[from];
	free(*storage);
	if (!moment_parse(text, from ? &query->from : &query->to, storage))
		return error_create(ERROR_USAGE,
			"invalid moment '%s': expected start, end, peak, a time (3.2s, 150ms, "
			"2min) or mark:NAME (mark:NAME#2: the second of that name)",
			text);
	*given = text;
	return NULL;
}

const struct source_query *moments_query(const struct moments *moments)
{
	return moments->given ? &moments->query : NULL;
}
