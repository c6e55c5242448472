/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/heuristics.h"

#include <string.h>

#include "base/util.h"
#include "search/search.h"

static const struct {
	const char *name;
	unsigned bits;
} heuristics[] = {
	{"all", SEARCH_HEURISTICS_ALL},
	{"none", 0},
	{"stdstring", SEARCH_STDSTRING},
	{"length64", SEARCH_LENGTH64},
	{"newarray", SEARCH_NEWARRAY},
	{"multipleinheritance", SEARCH_MULTIPLEINHERITANCE},
};

struct error *heuristics_parse(const char *text, unsigned *ret)
{
	*ret = 0;
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ","), i = 0;
		while (i < ARRAY_SIZE(heuristics) &&
			(strlen(heuristics[i].name) != len || strncmp(heuristics[i].name, at, len)))
			i++;
		if (i == ARRAY_SIZE(heuristics))
			return error_create(ERROR_USAGE,
				"invalid --leak-check-heuristics '%s': expected all, none, or a "
				"list of stdstring, length64, newarray and multipleinheritance",
				text);
		*ret |= heuristics[i].bits;
		at += len + (at[len] == ',');
	}
	return NULL;
}
