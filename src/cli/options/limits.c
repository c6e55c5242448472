/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/options/limits.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool parse_percent(const char *text, double *ret)
{
	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	char *end;
	errno = 0;
	*ret = strtod(text, &end);
	return !errno && isfinite(*ret) && strcmp(end, "%") == 0 && !strpbrk(text, "xXpP");
}

bool limit_take(
	const struct options *options, const char *name, enum limit_kind kind, struct limit *ret)
{
	const char *text = options->argument;
	*ret = (struct limit){.percent = -1};
	if (options_size(text, &ret->value))
		return true;
	if (kind == LIMIT_SHARE && parse_percent(text, &ret->percent))
		return true;
	options_wrong(options->command,
		"invalid --%s '%s': expected a number or a size (K, M, G)%s", name, text,
		kind == LIMIT_SHARE ? " or a percentage" : "");
	return false;
}
